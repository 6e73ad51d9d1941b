"""``ordinality data``: the data sets, those that are missing, and the contents of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .options import json_option
from .output import progress, results, say, show, show_json

if TYPE_CHECKING:
    from ordinality.datasets import Check, Dataset, Entry

__all__ = ["data"]

EXAMPLE = """\b
Example:
  ordinality data
  ordinality data cheese
  ordinality data --verify
"""
MAX_LISTED = 20  # levels, items or inputs of a set that are listed; the rest is counted


@click.command(epilog=EXAMPLE)
@click.argument("name", required=False)
@click.option(
    "--verify", "checking", is_flag=True, help="Read the files and check their shapes."
)
@json_option
def data(name: str | None, checking: bool, as_json: bool) -> None:
    """List data sets, or show one.

    Some tables come with the package. The benchmark sets of the papers are read from the folder
    in the environment variable ORDINALITY_DATA. Without NAME, both are listed, with the files
    that are missing and where to get them. NAME shows one set; if two have the same name, add
    the folder, as in label_ranking/wine. With --verify, the exit code is 1 if a file has the
    wrong shape.
    """
    if checking:
        return _verify(name, as_json)
    if name is None:
        return _list(as_json)
    found = _about(name)
    show_json(found) if as_json else _show_one(found)
    return None


# ---------------------------------------------------------------- list


def _list(as_json: bool) -> None:
    from ordinality import datasets

    here = {entry.key for entry in datasets.available()}
    found: dict[str, Any] = {
        "folder": str(datasets.data_folder()),
        "embedded": [_summary(datasets.load_embedded(name)) for name in datasets.CLASSICS],
        "files": [{**_entry(e), "here": e.key in here} for e in datasets.INVENTORY],
    }
    if as_json:
        return show_json(found)
    console = results()
    rows = [[e["name"], str(e["rows"]), e["size"], e["about"]] for e in found["embedded"]]
    show(console, ["in the package", "rows", "size", ""], rows)
    show(console, [f"in {found['folder']}", "present", "missing", ""], _folders(found["files"]))
    _show_missing(console, [file for file in found["files"] if not file["here"]])
    if len(here) < len(found["files"]):
        say([f"Set {datasets.VARIABLE} to the folder that holds the files."])
    return None


def _folders(files: list[dict[str, Any]]) -> list[list[str]]:
    """For each folder, how many of its files are present and how many are missing."""
    from ordinality.datasets import FOLDERS

    rows = []
    for folder, about in FOLDERS.items():
        here = [file["here"] for file in files if file["file"].startswith(f"{folder}/")]
        missing = str(len(here) - sum(here)) if not all(here) else ""
        rows.append([folder, str(sum(here)), missing, about.about])
    return rows


def _show_missing(console: Any, missing: list[dict[str, Any]]) -> None:
    """The missing files by their source."""
    from rich.padding import Padding

    by_source: dict[str, list[str]] = {}
    for file in missing:
        place = f"{file['source']} (licence: {file['licence']})"
        by_source.setdefault(place, []).append(file["file"])
    for place, names in by_source.items():
        console.print(f"missing, available from {place}:")
        console.print(Padding(", ".join(names), (0, 0, 0, 2), expand=False))
        console.print()


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.key,
        "file": entry.file,
        "kind": entry.kind,
        "rows": entry.rows,
        "columns": entry.columns,
        "about": entry.about,
        "papers": list(entry.papers),
        "source": entry.origin.where,
        "licence": entry.origin.licence,
    }


# ---------------------------------------------------------------- one set


def _about(name: str) -> dict[str, Any]:
    """The contents of a set, as JSON can hold them."""
    from ordinality import datasets

    if name.removeprefix("@") in datasets.CLASSICS:
        return _described(datasets.load_embedded(name.removeprefix("@")))
    partitions = [e for e in datasets.INVENTORY if e.kind == "partitions"]
    if name in {entry.key for entry in partitions}:
        return _entry(datasets.find(name))
    return _described(datasets.load(name))


def _summary(found: Dataset) -> dict[str, Any]:
    rows = len(found.y) if found.pairs is not None or not len(found.X) else len(found.X)
    size = f"{len(found.items)} items" if found.items else f"{len(found.levels)} levels"
    return {
        "name": found.name,
        "kind": found.kind,
        "rows": rows,
        "inputs": found.X.shape[1],
        "size": size,
        "about": found.description,
        "source": found.source,
        "licence": found.licence,
    }


def _described(found: Dataset) -> dict[str, Any]:
    import numpy as np

    about = _summary(found)
    about["missing cells"] = int(np.isnan(found.X).sum())
    about["input names"] = list(found.feature_names)
    if found.kind == "metric":
        about["target"] = {"from": float(found.y.min()), "to": float(found.y.max())}
    elif found.kind in ("ordinal", "ratings"):
        counts = np.bincount(found.y - 1, found.weight, len(found.levels))
        about["levels"] = dict(zip(found.levels, counts.astype(int).tolist(), strict=True))
    elif found.kind == "classes":
        values, counts = np.unique(found.y, return_counts=True)
        about["levels"] = dict(zip(map(str, values.tolist()), counts.tolist(), strict=True))
    elif found.kind == "rankings":
        first = np.sum(found.y == 1, axis=0).tolist()
        about["ranked first"] = dict(zip(found.levels, first, strict=True))
    elif found.pairs is not None:
        about["wins"] = dict(zip(found.items, _wins(found), strict=True))
    return about


def _wins(found: Dataset) -> list[int]:
    import numpy as np

    assert found.pairs is not None
    winner = np.where(found.y > 0, found.pairs[:, 0], found.pairs[:, 1])
    return np.bincount(winner, found.weight, len(found.items)).astype(int).tolist()


def _show_one(about: dict[str, Any]) -> None:
    console = results()
    facts = [
        [key, str(about[key])]
        for key in ("kind", "about", "rows", "columns", "inputs", "missing cells")
        if about.get(key) not in (None, "", 0)
    ]
    if "target" in about:
        facts.append(["target", f"{about['target']['from']:g} to {about['target']['to']:g}"])
    facts += [[key, about[key]] for key in ("source", "licence")]
    show(console, [about["name"], ""], facts)
    for key, of in (("levels", "level"), ("ranked first", "label"), ("wins", "item")):
        if key in about:
            counted = list(about[key].items())
            title = "cases" if key == "levels" else key
            show(console, [of, title], [[name, str(n)] for name, n in counted[:MAX_LISTED]])
            if len(counted) > MAX_LISTED:
                console.print(f"and {len(counted) - MAX_LISTED} more")
    if about.get("input names"):
        names = about["input names"]
        more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
        console.print(f"Inputs: {', '.join(names[:MAX_LISTED])}{more}")


# ---------------------------------------------------------------- check of shapes


def _verify(name: str | None, as_json: bool) -> None:
    """Check one file, or all that are present; the exit code is 1 if one is wrong."""
    from ordinality import datasets

    entries = datasets.available() if name is None else (datasets.find(name),)
    checks: list[Check] = []
    with progress("reading") as tick:
        for i, entry in enumerate(entries):
            tick(entry.key, i / len(entries))
            checks.append(datasets.verify(entry.key))
    wrong = [check for check in checks if not check.ok]
    if as_json:
        show_json([_checked(check) for check in checks])
    else:
        if wrong:
            show(results(), ["file", ""], [[c.entry.file, c.problem] for c in wrong])
        click.echo(f"{len(checks) - len(wrong)} of {len(checks)} files have the right shape.")
    if not entries:
        say([f"{datasets.data_folder()} contains none of the files."])
    if wrong:
        raise SystemExit(1)


def _checked(check: Check) -> dict[str, Any]:
    return {
        "file": check.entry.file,
        "rows": check.rows,
        "columns": check.columns,
        "ok": check.ok,
        "problem": check.problem,
    }
