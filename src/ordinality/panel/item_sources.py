"""Items to show: a table, a list of names, or a folder of texts and pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from ..tables import TableError, read
from ..tables.columns import column, words
from .item_list import TEXT, read_items
from .managed_store import MediaFile, NewItem

__all__ = ["ItemSource", "read_source"]

MANY = 20_000
SHOWN = ("title", "text", "group", "not_for", "image")  # columns that are no features
PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".avif")
WRITTEN = (".txt", ".text", ".md")
LONGEST = 200_000  # characters of a text


class ItemSource(NamedTuple):
    """Items, what was left out, and the folder that the pictures are in."""

    items: list[NewItem]
    notes: tuple[str, ...]
    folder: Path


def read_source(
    path: str | Path,
    key: str | None = None,
    picture: Callable[[Path, str], MediaFile] | None = None,
    features: Sequence[str] | None = None,
) -> ItemSource:
    """Read items; ``picture`` looks at a file of a folder and refuses what is no picture."""
    path = Path(path)
    if path.is_dir():
        if features:
            raise TableError(f"{path} is a folder, and has no columns, and so no features.")
        return _of_folder(path, picture)
    listing = read_items(path, key, MANY, features)
    columns = {} if path.suffix.lower() in TEXT else _shown_columns(path)
    folder = path.parent
    items = []
    for row, (name, described) in enumerate(listing.features.items()):
        cell = {title: cells[row] for title, cells in columns.items()}
        image = cell.get("image")
        items.append(
            NewItem(
                name, {k: v for k, v in described.items() if k not in SHOWN},
                cell.get("title"), cell.get("text"),
                picture(folder, image) if image and picture else None, cell.get("group"),
                [each.strip() for each in (cell.get("not_for") or "").split(";") if each],
            )
        )  # fmt: skip
    return ItemSource(items, listing.notes, folder)


def _shown_columns(path: Path) -> dict[str, list[str | None]]:
    table = read(path)
    return {name: words(column(table, name)) for name in SHOWN if name in table.names}


def _of_folder(path: Path, picture: Callable[[Path, str], MediaFile] | None) -> ItemSource:
    """Each text and each picture of a folder, by the name of its file."""
    items, others = [], 0
    for file in sorted(path.iterdir()):
        suffix = file.suffix.lower()
        if suffix in WRITTEN:
            items.append(NewItem(file.stem, {}, text=_text_of(file)))
        elif suffix in PICTURES and picture is not None:
            items.append(NewItem(file.stem, {}, media=picture(path, file.name)))
        else:
            others += 1
    names = [each.key for each in items]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise TableError(f"{path} has two files named {twice!r}; give them different names.")
    if not 2 <= len(items) <= MANY:
        raise TableError(
            f"{path} has {len(items)} texts and pictures; wanted from 2 to {MANY} of them."
        )
    notes = (f"Files that are neither text nor picture: {others}.",) if others else ()
    return ItemSource(items, notes, path)


def _text_of(file: Path) -> str:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise TableError(f"{file} is not text in UTF-8; save it as such.") from None
    if len(text) > LONGEST:
        raise TableError(f"{file} is longer than {LONGEST} characters; shorten it.")
    return text
