"""Draw the figures of the page on displays: python docs/figures/make_displays.py

The page is the source: its examples are run in order, and where a figure follows an example,
what the example drew is saved under the figure's name. ``--png FOLDER`` also saves pictures
there, in colour and in grey.
"""

from __future__ import annotations

import argparse
import doctest
import io
import os
import re
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import matplotlib as mpl

mpl.use("agg")

HERE = Path(__file__).parent
PAGE = HERE.parent / "displays.md"
# An example, and perhaps a figure below it.
BLOCK = re.compile(
    r"```python\n(.*?)```(?:\s*!\[[^\]]*\]\(figures/([\w-]+)\.svg\))?", re.DOTALL
)


def main() -> None:
    """Run the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--png", type=Path, metavar="FOLDER")
    folder = parser.parse_args().png
    mpl.rcParams["svg.hashsalt"] = "ordinality"  # the same drawing gives the same file
    os.chdir(HERE.parent.parent)  # where the page's paths begin
    names: dict[str, object] = {}
    for code, figure in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        for example in doctest.DocTestParser().get_examples(code):
            exec(compile(example.source, str(PAGE), "single"), names)
        if figure:
            save(names["display"].figure_, figure, folder)  # type: ignore[attr-defined]


def rounded(path: str) -> str:
    """The same coordinates with two decimals at most."""
    return re.sub(
        r"\d+\.\d+", lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."), path
    )


def save(figure: mpl.figure.Figure, name: str, folder: Path | None) -> None:
    """As SVG beside this file, and as pictures if they are wanted."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    # Hundredths of a point are finer than any screen, and half the bytes.
    short = re.sub(r' (d|x|y)="[^"]*"', lambda path: rounded(path[0]), text.getvalue())
    (HERE / f"{name}.svg").write_text(short, encoding="utf-8")
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(folder / f"{name}.png", dpi=110)
        from PIL import Image

        with Image.open(folder / f"{name}.png") as picture:
            picture.convert("L").save(folder / f"{name}-grey.png")


if __name__ == "__main__":
    main()
