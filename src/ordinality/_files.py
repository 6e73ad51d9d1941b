"""Files that appear when they are whole: written beside, then moved into place."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

__all__ = ["put"]


def put(path: Path, content: bytes) -> None:
    """Put bytes in a file's place all at once, so that nobody ever sees half of them.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     put(Path(folder, "a.txt"), b"whole")
    ...     [(file.name, file.read_text()) for file in Path(folder).iterdir()]
    [('a.txt', 'whole')]
    """
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with open(beside, "xb") as file:
            file.write(content)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
