"""``ordinality serve``: a page that asks people about items, such as which of two is better."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import secrets
import sys
import webbrowser
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from .options import Names, check_input, may_write
from .output import say, show_text

if TYPE_CHECKING:
    from ordinality.panel.item_sources import ItemSource
    from ordinality.panel.managed_store import ManagedStore
    from ordinality.panel.served_store import ServedStudy

__all__ = ["serve"]

EXAMPLE = """\b
Example:
  ordinality serve films.csv
  ordinality serve @baseball
  ordinality serve essays/ --judges judges.csv --public-url https://rank.example.org
"""

SUFFIX = ".ordinality"
PORT = 8642
LOOPBACK = ("127.0.0.1", "::1", "localhost")
# Kinds of question of ordinality.panel.set_questions, copied so that --help imports nothing.
ASKED, ORDERED = ("pair", "best-worst", "rating", "order"), ("3", "4", "5")
ME = "me"  # the judge of a study that has no others


@click.command(epilog=EXAMPLE)
@click.argument("items")
@click.option("--key", metavar="COLUMN", help="Column of names. [default: the first of text]")
@click.option(
    "--features",
    type=Names(),
    metavar="A,B",
    help="Columns that describe items, of numbers or of text. [default: those of numbers]",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, show_default=True,
    help="Port to listen on; 0 takes any that is free.",
)  # fmt: skip
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--public-url", metavar="URL", help="Address that judges see, such as that of a proxy."
)
@click.option(
    "--store", metavar="FILE_OR_URL",
    help="File of the answers, or postgresql://... [default: ITEMS.ordinality]",
)  # fmt: skip
@click.option(
    "--judges", metavar="FILE", help="Table of judges (name[, quota]); each gets a link."
)
@click.option(
    "--question", "asked", metavar="KIND",
    help="What is asked: pair, best-worst (of four), rating (1 to 5) or order[:N] (of 3 to 5 "
    "items). [default: pair, or as the study has it]",
)  # fmt: skip
@click.option("--no-open", is_flag=True, help="Do not open the page in a browser.")
@click.option("--json", "as_json", is_flag=True, help="Print the links as one line of JSON.")
def serve(
    items: str,
    key: str | None,
    features: list[str] | None,
    port: int,
    host: str,
    public_url: str | None,
    store: str | None,
    judges: str | None,
    asked: str | None,
    no_open: bool,
    as_json: bool,
) -> None:
    """Ask people about ITEMS in the browser: which of two is better, or another question.

    ITEMS is a table with a column of names, a text file with one name a line, a folder of texts
    and pictures, or the items of a table of the package (@baseball, @citations). The page is
    for this machine only, unless --host and --public-url open it. Every answer is stored before
    the next question appears; stop with Ctrl-C, and the same command goes on.
    """
    public = _checked_url(host, public_url)
    kind = _kind_of_question(asked)
    if not (Path(items).is_dir() or items.startswith("@")):
        check_input(items)
    named_by = Path(items.removeprefix("@"))
    where = store or str(_beside(named_by))
    if "://" not in where:
        may_write(where)
    try:
        from ordinality.panel.item_sources import read_source
        from ordinality.panel.managed_store import ManagedStore
        from ordinality.web.media import look_at
        from ordinality.web.serving import listening, only_server
        from ordinality.web.serving import serve as run
        from ordinality.web.visits import RefusedError, Site
    except ModuleNotFoundError as missing:
        raise click.UsageError(
            f"Pages need {missing.name}, which is not installed; "
            'type: pip install "ordinality[web]"'
        ) from None
    try:
        source = read_source(items, key, look_at, features)
    except RefusedError as problem:
        raise click.UsageError(problem.sentence) from None
    named = _read_judges(judges)
    with (
        ManagedStore(where) as opened,
        only_server(opened, public or _address(host, port)) as holder,
        listening(host, port) as taken,
    ):
        address = public or _address(host, taken.getsockname()[1])
        task, notes = _study(opened, _slug(named_by), source, bool(named), kind)
        say([*source.notes, *notes])
        links, judge = _invite(opened, task, named, address, where)
        site = Site(
            opened, address, _hosts(address, taken.getsockname()[1]), opened.mark(),
            source.folder,
        )  # fmt: skip
        admin = f"{address}/a/{opened.issue(None)}"
        with contextlib.suppress(KeyboardInterrupt):  # also one before the server listens
            _print(address, admin, judge, links, as_json)
            if not no_open and not as_json:
                webbrowser.open(judge or admin)
            run(site, taken, holder)
        _end(opened, task, where)


def _checked_url(host: str, public: str | None) -> str | None:
    """The public address without a slash at its end; refuses one that is missing or odd."""
    if public is None:
        if host not in LOOPBACK:
            raise click.UsageError(
                f"--host {host} opens the page to other machines, so that --public-url must "
                "say by which address they come; everybody who has a link can then use it."
            )
        return None
    parts = urlsplit(public)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.path.strip("/"):
        raise click.UsageError(
            f"--public-url {public} is not an address such as https://rank.example.org."
        )
    return f"{parts.scheme}://{parts.netloc}"


def _beside(items: Path) -> Path:
    """The default store: beside the file, or beside the folder."""
    whole = items.resolve() if items.is_dir() else items
    return whole.with_name(whole.name + SUFFIX) if items.is_dir() else items.with_suffix(SUFFIX)


def _slug(items: Path) -> str:
    return items.resolve().name if items.is_dir() else items.stem


def _kind_of_question(asked: str | None) -> dict[str, Any]:
    """Settings for a kind of question, such as "order:5"; none if it is not stated."""
    if asked is None:
        return {}
    kind, _, size = asked.partition(":")
    if kind == "order" and size in ("", *ORDERED):
        return {"kind": kind} | ({"size": int(size)} if size else {})
    if kind not in ASKED or size:
        raise click.UsageError(
            f"--question {asked} is not known; choose of {', '.join(ASKED)}, or order:N for "
            f"an order of {ORDERED[0]} to {ORDERED[-1]} items."
        )
    return {"kind": kind}


def _address(host: str, port: int) -> str:
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}"


def _hosts(address: str, port: int) -> tuple[str, ...]:
    """Host headers besides that of the address: those of this machine, as a proxy uses."""
    own = [f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")]
    return tuple(own if urlsplit(address).scheme == "http" else own[:1])


# ---------------------------------------------------------------- study and judges


def _study(
    store: ManagedStore, slug: str, source: ItemSource, several: bool, kind: dict[str, Any]
) -> tuple[ServedStudy, list[str]]:
    """The study of these items, begun or found, and notes."""
    from ordinality.panel.set_questions import QUESTIONS

    task, notes = store.served(slug), []
    if task is None:
        count = len(source.items)
        settings = {
            "ties": True, "grades": 1, "seed": secrets.randbits(32),
            "top": 5 if count > 10 else 0,
            # One person alone is steered by nobody else's ranking.
            "show_ranking": not several,
        } | kind  # fmt: skip
        question = QUESTIONS[kind.get("kind", "pair")]
        made = store.create_study(slug, {}, question=question, settings=settings)
        store.add(made.id, source.items)
    else:
        known = {each.key: each for each in task.items.values()}
        new = [each for each in source.items if each.key not in known]
        old = (each for each in source.items if each.key in known)
        if any(each.features != known[each.key].features for each in old):
            notes.append("Items that are there keep the features that they had.")
        if new:
            store.add(task.id, new)
            notes.append(f"New items: {len(new)}.")
        changed = replace(task.settings, **kind)
        if changed != task.settings:
            default = task.question == QUESTIONS[task.settings.kind]
            question = QUESTIONS[changed.kind] if default else task.question
            store.change_study(task.id, changed, question, task.consent_text or "")
            notes += ["The kind of question is another one; answers that are there count."]
        store.begin_questions(task.id)
    found = store.served(slug)
    assert found is not None
    return found, notes


def _read_judges(path: str | None) -> list[tuple[str, int | None]]:
    """Names of judges, and quotas where there is such a column."""
    if path is None:
        return []
    check_input(path)
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    column = "name" if rows and "name" in rows[0] else next(iter(rows[0]), "") if rows else ""
    found = {}
    for line, row in enumerate(rows, start=2):
        name, quota = (row.get(column) or "").strip(), (row.get("quota") or "").strip()
        if not name or name in found:
            raise click.UsageError(f"{path} has no name, or one again, in line {line}.")
        if quota and not quota.isdigit():
            raise click.UsageError(f"{path} has {quota!r} as a quota in line {line}.")
        found[name] = int(quota) if quota else None
    if not found:
        raise click.UsageError(f"{path} names no judges; wanted a column of names.")
    return list(found.items())


def _invite(
    store: ManagedStore,
    task: ServedStudy,
    named: list[tuple[str, int | None]],
    address: str,
    where: str,
) -> tuple[Mapping[str, str], str | None]:
    """Links for judges who have none yet, and one to begin with."""
    links = {}
    for name, quota in named:
        number = store.judge(task.id, name)
        if quota is not None:
            store.change_judge(number, quota=quota)
        if not store.has_link(number):
            links[name] = f"{address}/j/{store.issue(number)}"
    if named:
        if links:
            _write_links(_links_file(where, task.slug), links)
        return links, next(iter(links.values()), None)
    return {}, f"{address}/j/{store.issue(store.judge(task.id, ME))}"


def _links_file(where: str, slug: str) -> Path:
    return Path(f"{slug}.links.csv" if "://" in where else where).with_suffix(".links.csv")


def _write_links(path: Path, links: Mapping[str, str]) -> None:
    """Append links to a file that only its owner may read."""
    new = not path.exists()
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with open(handle, "a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([*([("judge", "link")] if new else []), *links.items()])
    say([f"Wrote the links of {len(links)} judges to {path}; keep it to yourself."])


def _print(
    address: str, admin: str, judge: str | None, links: Mapping[str, str], as_json: bool
) -> None:
    if as_json:
        line = {"address": address, "admin": admin, "judge": judge}
        show_text(json.dumps(line | ({"judges": dict(links)} if links else {})) + "\n")
    else:
        show_text(f"Address        {address}\nAdmin's link   {admin}\n")
        if judge is not None:
            show_text(f"Judge's link   {judge}\n")
        say(["Ctrl-C ends the server; all answers are kept."])
    sys.stdout.flush()


def _end(store: ManagedStore, task: ServedStudy, where: str) -> None:
    count = store.count_answers(task.id)
    shown = where if "://" not in where else "The database"
    say([f"Ended; {shown} keeps {count} answer{'s' if count != 1 else ''}, and the same "
         "command goes on."])  # fmt: skip
