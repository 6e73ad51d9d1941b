"""Write what the pages show and the repository does not keep.

    python docs/build.py              # all of it
    python docs/build.py api results  # the reference of public names, the tables of the papers
    python docs/build.py figures      # the pictures of the pages; some read the data folder

The figures need the extra `plot`. Everything is written below this folder, or `--out FOLDER`.
"""

from __future__ import annotations

import argparse
import inspect
import subprocess
import sys
from pathlib import Path

import ordinality
from ordinality.cli import main as command

HERE = Path(__file__).parent
PARTS = ("api", "results", "figures")


def api(out: Path) -> None:
    """The reference: every public name with its signature and docstring."""
    names = [name for name in ordinality.__all__ if name != "__version__"]
    modules = [name for name in names if inspect.ismodule(getattr(ordinality, name))]
    lines = ["# API reference", "", "Every public name, from the docstrings.", ""]
    lines += _section("ordinality", sorted(set(names) - set(modules)), ordinality)
    for module in modules:
        room = getattr(ordinality, module)
        lines += _section(f"ordinality.{module}", sorted(room.__all__), room)
    (out / "api.md").write_text("\n".join(lines), encoding="utf-8")


def _section(title: str, names: list[str], room: object) -> list[str]:
    lines = [f"## {title}", ""]
    if inspect.ismodule(room) and title != "ordinality":
        lines += [inspect.getdoc(room) or "", ""]
    for name in names:
        value = getattr(room, name)
        if not callable(value):
            lines += [f"### `{title}.{name}`", "", f"A constant: {type(value).__name__}.", ""]
            continue
        lines += [f"### `{title}.{name}{_signature(value)}`", ""]
        lines += ["```text", inspect.getdoc(value) or "", "```", ""]
        if inspect.isclass(value):
            lines += _methods(value)
    return lines


def _methods(value: type) -> list[str]:
    lines = []
    for name, method in inspect.getmembers(value, callable):
        home = getattr(inspect.unwrap(method), "__module__", None) or ""
        if not name.startswith("_") and home.startswith("ordinality"):
            summary = (inspect.getdoc(method) or "").partition("\n")[0]
            lines.append(f"- `{name}{_signature(method)}`: {summary}")
    return [*lines, ""] if lines else []


def _signature(value: object) -> str:
    try:
        parameters = inspect.signature(value).parameters.values()  # type: ignore[arg-type]
    except ValueError:
        return "(...)"
    plain = [p.replace(annotation=p.empty) for p in parameters if p.name != "self"]
    return str(inspect.Signature(plain))


def results(out: Path) -> None:
    """The tables of the papers beside ours, from the rows in ``results``."""
    page, rows = str(out / "results.md"), str(HERE.parent / "results")
    command(["reproduce", "--page", page, "--results", rows, "--force"], standalone_mode=False)


def figures(out: Path) -> None:
    """The pictures of the pages, each by its script."""
    for script in sorted((HERE / "figures").glob("*.py")):
        print(script.name, file=sys.stderr)
        subprocess.run([sys.executable, str(script)], check=True)


def main() -> None:
    """Write the parts that were named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--out", type=Path, default=HERE, help="folder for the pages")
    given = parser.parse_args()
    if unknown := set(given.parts) - set(PARTS):
        parser.error(f"{', '.join(sorted(unknown))} is not known; choose from {PARTS}")
    for part in given.parts or PARTS:
        {"api": api, "results": results, "figures": figures}[part](given.out)


if __name__ == "__main__":
    main()
