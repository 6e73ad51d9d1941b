"""Atomic file writes: the new content is written beside the file, then moved into place."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

__all__ = ["put", "writing"]


def put(path: Path, content: bytes) -> None:
    """Write bytes to a file so that readers see the old content or the new, never a part."""
    with writing(path) as file:
        file.write(content)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which takes its place when the block ends and is gone if it fails.

    A symbolic link is followed, and a file that is replaced keeps its mode. The content is on
    the disk before it takes the file's place.
    """
    path = Path(os.path.realpath(path))
    if path.is_symlink():  # realpath gives up on a loop of links
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    if path.exists() and not path.is_file():  # a device or a pipe cannot be replaced
        with open(path, "wb") as file:
            yield file
        return
    beside = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with open(beside, "xb") as file:
            yield file
            if path.exists():
                os.chmod(beside, stat.S_IMODE(path.stat().st_mode))
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Write the new name of a moved file to the disk."""
    # Windows cannot open folders, and some network file systems cannot sync them. The file is
    # in place already, so neither is a failure.
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
