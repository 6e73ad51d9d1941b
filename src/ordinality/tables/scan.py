"""Tables that need not fit in memory: read block by block, as often as they are needed.

A `Scan` is a data file or a folder of Parquet files, nested or not. It knows its columns and
its rows, draws a random sample in one pass, and gives its rows in order, in blocks. Blocks are
read as whole tables are: Parquet and Arrow in a process of their own, text by the same rules
of encoding, separators and quotes. `open_table` reads what is small and scans what is large.
"""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

import narwhals as nw
import numpy as np

from .binary import CELL, Described, UnreadableError, blocks_apart, described
from .columns import Table, TableError, column
from .read import (
    FORMATS,
    GZIP,
    MAX_RATIO,
    MAX_UNPACKED,
    RATIO_FROM,
    Delimited,
    format_suffix,
    json_lines,
    need_polars,
    printable,
    read,
    refuse_binary,
    stated_limit,
    suffix_of,
    too_large,
)

__all__ = ["IN_MEMORY", "Scan", "lowest", "open_table", "scan"]

IN_MEMORY = 2**28  # bytes of cells; reading takes several times as much, which any machine has
BLOCK_ROWS, BLOCK_CELLS = 2**16, 2**21  # of Parquet and Arrow, at most
BLOCK_BYTES, LONGEST_ROW = 2**23, 2**26  # of text
OF_LEVEL = 10  # rows of each label in a sample, so that none is missed
MOST_LEVELS = 1000  # more labels than these are numbers, not levels


@dataclass(frozen=True)
class Scan:
    """A table that is read in blocks, as often as it is needed.

    Made by `scan` or `open_table`.

    Parameters
    ----------
    source : str
        What messages call the table.
    names : tuple of str
        Column names; of JSON lines, those of the first block.
    blocks : callable
        ``blocks(columns)`` gives the rows in order as an iterator of `Table`; all columns if
        `columns` is None.
    files : tuple of (str, int), default=()
        The files of Parquet or Arrow, each with its number of rows; none for text.

    Examples
    --------
    >>> import pathlib, polars, tempfile
    >>> from ordinality.tables import scan
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for i in range(3):
    ...         frame = polars.DataFrame({"dose": [1.0, 2.0], "effect": [i, i + 1]})
    ...         frame.write_parquet(pathlib.Path(folder, f"part-{i}.parquet"))
    ...     table = scan(folder)
    ...     table.rows, table.names, [len(block) for block in table.batches()]
    (6, ('dose', 'effect'), [2, 2, 2])
    """

    source: str
    names: tuple[str, ...]
    blocks: Callable[[Sequence[str] | None], Iterator[Table]] = field(repr=False)
    files: tuple[tuple[str, int], ...] = ()

    @cached_property
    def rows(self) -> int:
        """Number of rows; of text, they are counted by reading it."""
        if self.files:
            return sum(rows for _, rows in self.files)
        return sum(len(block) for block in self.blocks(None))

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[Table]:
        """Read the rows in order.

        Parameters
        ----------
        columns : sequence of str, optional
            The columns to read; by default all.

        Yields
        ------
        Table
            Some rows; its source says where they are.
        """
        if columns is not None and (unknown := [c for c in columns if c not in self.names]):
            column(next(self.blocks(None)), unknown[0])
        yield from self.blocks(columns)

    def sample(
        self,
        count: int,
        seed: int = 0,
        columns: Sequence[str] | None = None,
        target: str | None = None,
    ) -> Table:
        """Draw rows at random, each with the same probability, in one pass.

        Parameters
        ----------
        count : int
            Number of rows; all if there are not as many.
        seed : int, default=0
            Seed of the random numbers. The same seed draws the same rows, and more of them if
            `count` is larger.
        columns : sequence of str, optional
            The columns to read; by default all.
        target : str, optional
            A column of labels of which no value may be missed: of each, ten rows or all are
            drawn, even if that makes more than `count`.

        Returns
        -------
        Table
            The rows drawn, in order.
        """
        import polars

        rng, total = np.random.default_rng(seed), 0
        kept, keys, notes = None, np.empty(0), dict[str, None]()
        for block in self.batches(columns):
            frame, total = block.frame.to_native(), total + len(block)
            notes.update(dict.fromkeys(block.notes))
            try:
                frames = [frame] if kept is None else [kept, frame]
                kept = polars.concat(frames, how="diagonal_relaxed")
            except polars.exceptions.PolarsError as wrong:
                raise TableError(
                    f"{block.source} has columns of other types than the rows before it "
                    f"({' '.join(str(wrong).split())[:80]}); write them in one way."
                ) from None
            keys = np.append(keys, rng.random(len(frame)))
            if len(keys) > count:
                labels = None
                if target is not None:
                    ranks = kept[target].cast(polars.String).rank("dense").fill_null(0)
                    labels = ranks.cast(polars.Int64).to_numpy()
                taken = lowest(keys, labels, count)
                kept, keys = kept[taken], keys[taken]
        vars(self)["rows"] = total
        return Table(nw.from_native(kept, eager_only=True), self.source, tuple(notes))

    def parts(self) -> list[Scan]:
        """Divide the table by its files.

        Returns
        -------
        list of Scan
            One for each file of Parquet or Arrow; the table itself if it is text.
        """
        if not isinstance(self.blocks, _BinaryBlocks):
            return [self]
        return [
            replace(self, blocks=replace(self.blocks, files=(one,)), files=(one,))
            for one in self.files
        ]

    def whole(self) -> Table:
        """Read all rows into memory.

        Returns
        -------
        Table
            The rows in order.
        """
        return self.sample(self.rows)


def lowest(keys: np.ndarray, labels: np.ndarray | None, count: int) -> np.ndarray:
    """Places of the lowest keys, and of the ten lowest of each label, 0, 1, ..., in order."""
    taken = np.zeros(len(keys), dtype=bool)
    order = np.argsort(keys)
    taken[order[:count]] = True
    if labels is not None and labels.max(initial=0) < MOST_LEVELS:
        for label in np.unique(labels):
            taken[order[labels[order] == label][:OF_LEVEL]] = True
    return np.flatnonzero(taken)


# ---------------------------------------------------------------- opening


def open_table(path: str | Path) -> Table | Scan:
    r"""Read a data file or a folder of Parquet files, or scan it if it is large.

    Parameters
    ----------
    path : str or Path
        As for `read`, or a folder of Parquet files.

    Returns
    -------
    Table or Scan
        A scan if the cells would take more than 256 MB as numbers.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from ordinality.tables import open_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "trial.csv")
    ...     _ = path.write_text("dose,effect\n1,none\n2,some\n")
    ...     len(open_table(path))
    2
    """
    where = Path(path)
    if str(path) == "-" or not os.path.exists(path):  # false for names no file can have
        return read(path)
    if where.is_dir():
        found = scan(path)
        return found if found.rows * len(found.names) * CELL > IN_MEMORY else found.whole()
    size, packed = where.stat().st_size, where.suffix.lower() == ".gz"
    if FORMATS.get(format_suffix(where)) in ("parquet", "ipc"):
        # A tenth: what is packed more densely, `read` refuses if it is too large.
        if packed or size <= IN_MEMORY // 10:
            return read(path)
        found = scan(path)
        return found if found.rows * len(found.names) * CELL > IN_MEMORY else read(path)
    return scan(path) if size > IN_MEMORY // (8 if packed else 1) else read(path)


def scan(path: str | Path) -> Scan:
    r"""Open a data file or a folder of Parquet files to be read in blocks.

    Parameters
    ----------
    path : str or Path
        A file as for `read`, but neither standard input nor a compressed Parquet or Arrow file;
        or a folder whose files are all Parquet. Names that begin with a dot or an underscore
        are passed over. Folders within it named ``key=value`` give a column each.

    Returns
    -------
    Scan
        The table, of which no more than the names has been read.

    Raises
    ------
    TableError
        If a file cannot be read, or the files of a folder do not have the same columns.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from ordinality.tables import scan
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "trial.csv")
    ...     _ = path.write_text("dose,effect\n1,none\n2,some\n3,some\n")
    ...     scan(path).sample(2, seed=1).frame["dose"].to_list()
    [1, 3]
    """
    need_polars()
    where, source = Path(path), printable(path)
    if where.is_dir():
        return _of_binary(_parquet_files(where, source), "parquet", source, where)
    suffix = suffix_of(where, source)
    if FORMATS[suffix] not in ("text", "lines"):
        if where.suffix.lower() == ".gz":
            raise TableError(f"{source} is compressed as a whole; unpack it to read its rows.")
        refuse_binary(_first_bytes(where, source), FORMATS[suffix], suffix, source)
        return _of_binary([where], FORMATS[suffix], source, where.parent)

    def blocks(columns: Sequence[str] | None) -> Iterator[Table]:
        return _text_blocks(where, suffix, source, columns)

    first = next(blocks(None), None)
    if first is None:
        raise TableError(f"{source} is empty; expected a table with a line of column names.")
    return Scan(source, first.names, blocks)


# ---------------------------------------------------------------- Parquet and Arrow


def _parquet_files(folder: Path, source: str) -> list[Path]:
    """The Parquet files below a folder, in order; any other file is refused."""
    found = sorted(p for p in folder.rglob("*") if p.is_file() and _counts(p, folder))
    odd = next((p for p in found if p.suffix.lower() != ".parquet"), None)
    if not found:
        raise TableError(f"{source} is an empty folder; name a file, or a folder of Parquet.")
    if all(p.suffix.lower() != ".parquet" for p in found):
        raise TableError(
            f"{source} is a folder without a Parquet file; name one of its files, such as "
            f"{printable(found[0].relative_to(folder))}."
        )
    if odd is not None:
        raise TableError(
            f"{source} holds {printable(odd.relative_to(folder))} beside Parquet files; move "
            "it elsewhere, or begin its name with an underscore to have it passed over."
        )
    return found


def _counts(path: Path, folder: Path) -> bool:
    """Whether a file is part of a table: not hidden, not a mark that Spark leaves."""
    return not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)


def _first_bytes(path: Path, source: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(8)
    except OSError as problem:
        raise TableError(f"{source} cannot be read ({problem.strerror}).") from None


def _of_binary(files: list[Path], kind: str, source: str, folder: Path) -> Scan:
    names = [printable(path) for path in files]
    for path, name in zip(files, names, strict=True):
        refuse_binary(_first_bytes(path, name), kind, path.suffix, name)
    hive = any("=" in part for p in files for part in p.relative_to(folder).parent.parts)
    paths = [str(path) for path in files]
    try:
        found = described(paths, kind, hive)
    except UnreadableError as wrong:
        raise _corrupt(names[wrong.args[0]], kind) from None
    for name, one in zip(names, found, strict=True):
        _refuse_other_columns(name, one, names[0], found[0])
    rows, columns = sum(one.rows for one in found), tuple(found[0].kinds)
    _refuse_bomb(sum(one.size for one in found), sum(p.stat().st_size for p in files), source)
    if not rows or not columns:
        raise TableError(f"{source} names columns but has no rows; add the data below them.")
    some = max(1, min(BLOCK_ROWS, BLOCK_CELLS // len(columns)))
    each = tuple((path, one.rows) for path, one in zip(paths, found, strict=True))
    return Scan(source, columns, _BinaryBlocks(each, kind, some, hive), each)


@dataclass(frozen=True)
class _BinaryBlocks:
    """Blocks of files of Parquet or Arrow; a value, so that other machines can have it."""

    files: tuple[tuple[str, int], ...]
    kind: str
    rows: int
    hive: bool

    def __call__(self, columns: Sequence[str] | None) -> Iterator[Table]:
        paths = [path for path, _ in self.files]
        try:
            for file, first, frame in blocks_apart(
                paths, self.kind, self.rows, columns, self.hive
            ):
                if len(frame):
                    where = f" from row {first + 1:,} on" if first else ""
                    table = nw.from_native(frame, eager_only=True)
                    yield Table(table, printable(paths[file]) + where)
        except UnreadableError as wrong:
            raise _corrupt(printable(paths[wrong.args[0]]), self.kind) from None


def _corrupt(name: str, kind: str) -> TableError:
    what = "Parquet" if kind == "parquet" else "Arrow"
    return TableError(
        f"{name} cannot be read: the {what} file is truncated or corrupt; write or download it "
        "again."
    )


def _refuse_other_columns(name: str, one: Described, first: str, wanted: Described) -> None:
    """Refuse a file whose columns or their kinds are not those of the first file."""
    for has, lacks, names in (
        (first, name, [c for c in wanted.kinds if c not in one.kinds]),
        (name, first, [c for c in one.kinds if c not in wanted.kinds]),
    ):
        if names:
            raise TableError(
                f"{lacks} has no column {names[0]!r}, which {has} has; all files of a folder "
                "need the same columns."
            )
    for each, kind in wanted.kinds.items():
        here = one.kinds[each]
        if here != kind and "nothing" not in (here, kind):
            raise TableError(
                f"{name} holds {here}s in {each}, but {first} holds {kind}s; write the "
                "column in one way in all files."
            )


def _refuse_bomb(size: int, packed: int, source: str) -> None:
    """Refuse files that unpack to far more than honest tables of their size do."""
    stated = stated_limit()
    if size > (MAX_UNPACKED if stated is None else stated) and size > MAX_RATIO * packed:
        raise too_large(source, f"more than {MAX_RATIO} times its compressed size")


# ---------------------------------------------------------------- text


def _text_blocks(
    path: Path, suffix: str, source: str, columns: Sequence[str] | None
) -> Iterator[Table]:
    """Blocks of whole rows of delimited text or of JSON lines."""
    delimited, line = Delimited("\t" if suffix == ".tsv" else ""), 1
    of_text = FORMATS[suffix] == "text"
    for raw in _row_pieces(path, source, quotes=of_text):
        before, line = line - 1, line + raw.count(b"\n")
        if not raw.strip():
            continue
        try:
            native, notes = (delimited.frame if of_text else json_lines)(raw, source)
        except TableError as wrong:
            # Further pieces of delimited text are read below a copy of the first line.
            raise _moved(wrong, before - 1 if of_text and before else before) from None
        frame = nw.from_native(native, eager_only=True)
        if columns is not None:
            absent = [c for c in columns if c not in frame.columns]  # JSON may leave keys out
            frame = frame.with_columns(nw.lit(None).alias(c) for c in absent).select(*columns)
        if len(frame):
            where = source + (f" from line {before + 1:,} on" if before else "")
            yield Table(frame, where, tuple(notes))


def _moved(wrong: TableError, lines: int) -> TableError:
    """The error of a piece of text, with lines counted from the first of the file."""

    def line(found: re.Match[str]) -> str:
        number = int(found[1])
        return f"line {number + lines if number > 1 else number}"

    return TableError(re.sub(r"\bline (\d+)", line, str(wrong)) if lines else str(wrong))


def _row_pieces(path: Path, source: str, quotes: bool) -> Iterator[bytes]:
    """The bytes of a text file in pieces that end with a row."""
    rest = b""
    for piece in _pieces(path, source):
        rest += piece
        end = _row_end(rest, quotes)
        if end:
            yield rest[:end]
            rest = rest[end:]
        elif len(rest) > LONGEST_ROW:
            raise TableError(
                f"{source} has a row of more than {LONGEST_ROW // 10**6} MB, or opens a "
                "quotation mark that is never closed; correct it, and end every row with a "
                "line feed."
            )
    if rest:
        yield rest


def _row_end(raw: bytes, quotes: bool) -> int:
    """Where the last whole row ends: after a line feed with an even number of quotes before."""
    end = raw.rfind(b"\n")
    open_quotes = raw.count(b'"', 0, max(end, 0)) if quotes else 0
    while end >= 0 and open_quotes % 2:
        before = raw.rfind(b"\n", 0, end)
        open_quotes -= raw.count(b'"', max(before, 0), end)
        end = before
    return end + 1


def _pieces(path: Path, source: str) -> Iterator[bytes]:
    """The bytes of a file, unpacked, some at a time."""
    try:
        with open(path, "rb") as file:
            head = file.read(4)
            if head.startswith((b"\xff\xfe", b"\xfe\xff")):
                raise TableError(
                    f"{source} is UTF-16 text and too large to convert; save it as UTF-8."
                )
            file.seek(0)
            if head.startswith(GZIP):
                yield from _unpacked_pieces(file, source)
            else:
                while piece := file.read(BLOCK_BYTES):
                    yield piece
    except OSError as problem:
        raise TableError(f"{source} cannot be read ({problem.strerror or problem}).") from None


def _unpacked_pieces(file: BinaryIO, source: str) -> Iterator[bytes]:
    size = 0
    try:
        with gzip.GzipFile(fileobj=file) as packed:
            while piece := packed.read(BLOCK_BYTES):
                size += len(piece)
                if size > max(RATIO_FROM, MAX_RATIO * file.tell(), stated_limit() or 0):
                    raise too_large(source, f"more than {MAX_RATIO} times its compressed size")
                yield piece
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise TableError(
            f"{source} is truncated or corrupt (gzip); download or compress it again."
        ) from None
