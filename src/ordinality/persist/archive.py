"""The zip archive of a model file: sizes and headers are checked before anything is built."""

from __future__ import annotations

import io
import json
import math
import zipfile
from typing import Any, BinaryIO

import numpy as np

from ordinality._text import nested_deeper

from .trust import ModelFileError

__all__ = ["ABOUT", "SCHEMA", "check_arrays", "corrupt", "members", "opened", "read_json"]

ABOUT, SCHEMA = "ordinality.json", "schema.json"

# No member of a saved model packs better than this: schemas reach a factor of about 60.
LARGEST_RATIO, UNSUSPICIOUS = 400, 2**24
LARGEST_FILE, LARGEST_TEXT = 2**34, 2**28  # bytes once unpacked: all members; one of text
# Levels of a schema; that of a pipeline with a table of encoders has 24. skops follows a schema
# by recursion, and the depth that fits on the stack differs between versions of Python.
DEEPEST = 200


def opened(file: BinaryIO, name: str) -> zipfile.ZipFile:
    """The archive of a model file: our members, each name once, and plausible sizes."""
    try:
        archive = zipfile.ZipFile(file)
    except Exception:  # zipfile reports by many kinds of error that this is not an archive
        raise ModelFileError(
            f"{name} is not a model file: it is not a zip archive, or it is truncated; "
            "write it again with ordinality.save."
        ) from None
    found = archive.infolist()
    names = [member.filename for member in found]
    for wanted in (SCHEMA, ABOUT):
        if wanted not in names:
            raise ModelFileError(
                f"{name} is not a model file of ordinality: there is no {wanted} in it; "
                "write it with ordinality.save."
            )
    if len(set(names)) < len(names):
        raise ModelFileError(
            f"{name} has two members of the same name, as no saved model has; it was not "
            "opened."
        )
    _check_sizes(found, name)
    return archive


def _check_sizes(found: list[zipfile.ZipInfo], name: str) -> None:
    total = sum(member.file_size for member in found)
    for member in found:
        packed_well = member.file_size > LARGEST_RATIO * max(member.compress_size, 1)
        text = member.filename.endswith(".json")
        if (
            total > LARGEST_FILE
            or (packed_well and member.file_size > UNSUSPICIOUS)
            or (text and member.file_size > LARGEST_TEXT)
        ):
            raise ModelFileError(
                f"{name} would unpack {member.filename} to {member.file_size:,} bytes of "
                f"{total:,} in all, which no saved model does; it was not opened."
            )


def read_json(archive: zipfile.ZipFile, member: str, name: str) -> dict[str, Any]:
    """One member of text as a dict."""
    try:
        found = json.loads(archive.read(member))
    except Exception as error:  # zlib, encoding, encryption, recursion: the file is corrupt
        raise corrupt(name, error) from None
    if not isinstance(found, dict):
        raise ModelFileError(f"{name} is corrupt: {member} is not a JSON object.")
    if nested_deeper(found, DEEPEST):
        raise ModelFileError(
            f"{name} is not valid: {member} is nested too deeply, as no saved model is."
        )
    return found


def members(archive: zipfile.ZipFile, name: str) -> dict[str, bytes]:
    """The content of every member but our description."""
    try:
        return {each: archive.read(each) for each in archive.namelist() if each != ABOUT}
    except Exception as error:
        raise corrupt(name, error) from None


def check_arrays(found: dict[str, bytes], name: str) -> None:
    """Refuse members that are not arrays, and headers that claim another size.

    NumPy allocates what a header claims before it reads the rest.
    """
    for member, content in found.items():
        if member == SCHEMA:
            continue
        try:
            file = io.BytesIO(content)
            header = {(1, 0): np.lib.format.read_array_header_1_0,
                      (2, 0): np.lib.format.read_array_header_2_0}  # fmt: skip
            shape, _, dtype = header[np.lib.format.read_magic(file)](file)
            wanted = math.prod(shape) * dtype.itemsize
            sound = dtype.itemsize > 0 and not dtype.hasobject and min(shape, default=1) >= 0
        except Exception as error:
            raise corrupt(name, error) from None
        if not sound or wanted != len(content) - file.tell():
            raise ModelFileError(
                f"{name} is corrupt: the header of {member} claims {shape} values of {dtype}, "
                f"but {len(content) - file.tell():,} bytes follow."
            )


def corrupt(name: str, error: BaseException) -> ModelFileError:
    """The error for a file that cannot be read."""
    return ModelFileError(
        f"{name} is truncated or corrupt ({type(error).__name__}: {error}); copy it again, or "
        "fit and save the model again."
    )
