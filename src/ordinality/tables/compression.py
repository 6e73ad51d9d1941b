"""Compressed tables: gzip, unpacked in pieces and only up to a limit.

A gzip file of one megabyte can hold a gigabyte of zeros, and a Parquet file of one kilobyte a
billion equal rows. Both are refused before the memory is taken.
"""

from __future__ import annotations

import gzip
import io
import os
import zlib

from .frames import TableError

__all__ = ["GZIP", "refuse_size", "unpacked"]

GZIP = b"\x1f\x8b"
VARIABLE = "ORDINALITY_MAX_UNPACKED"
MAX_UNPACKED = 2 * 2**30  # bytes; reading a table takes several times its size in memory
MAX_RATIO = 200  # text tables compress 3 to 30 times; gzip reaches 1032 on equal bytes
RATIO_FROM = 64 * 2**20  # bytes; what unpacks to less is harmless at any ratio
PIECE = 2**20


def unpacked(raw: bytes, source: str) -> bytes:
    """Contents of a gzip file of one or several members; other bytes are returned unchanged."""
    if not raw.startswith(GZIP):
        return raw
    pieces, size, packed = [], 0, io.BytesIO(raw)
    try:
        with gzip.GzipFile(fileobj=packed) as file:
            while piece := file.read(PIECE):
                pieces.append(piece)
                size += len(piece)
                refuse_size(size, source, packed=packed.tell())
    except (EOFError, zlib.error, OSError):
        raise TableError(
            f"{source} is truncated or corrupt (gzip); download or compress it again."
        ) from None
    return b"".join(pieces)


def refuse_size(size: int, source: str, packed: int | None = None) -> None:
    """Refuse a table that takes `size` bytes unpacked, if it is too large to be meant.

    `packed` is how many bytes of the file it took, where the ratio of the two says something:
    Parquet and Arrow store repeated values at any ratio.
    """
    limit = _stated_limit()
    if size > (MAX_UNPACKED if limit is None else limit):
        what = f"more than {_bytes(limit or MAX_UNPACKED)}"
    elif limit is None and packed and size > max(RATIO_FROM, MAX_RATIO * packed):
        what = f"more than {MAX_RATIO} times its compressed size"
    else:
        return
    raise TableError(
        f"{source} unpacks to {what}, the limit for compressed tables; if you trust the file, "
        f"set the environment variable {VARIABLE} to the number of bytes it may take."
    )


def _stated_limit() -> int | None:
    """The limit that the environment states, or None."""
    stated = os.environ.get(VARIABLE, "")
    if not stated:
        return None
    if not (stated.isdecimal() and stated.isascii() and len(stated) < 20):
        raise TableError(f"{VARIABLE} is {stated!r}; set it to a number of bytes or unset it.")
    return int(stated)


def _bytes(size: int) -> str:
    """A number of bytes in a unit that suits it."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size = round(size / 1000, 1)  # type: ignore[assignment]
    return f"{size:.1f} GB"
