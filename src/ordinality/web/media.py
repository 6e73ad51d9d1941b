"""Pictures: by number only, from one folder only, and of the types that their bytes say."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from starlette.responses import FileResponse, Response

from ..panel.managed_store import MediaFile
from .visits import RefusedError, Site

__all__ = ["look_at", "response", "type_of"]

LARGEST = 20 * 1024 * 1024
NOWHERE = "There is no such picture."


def type_of(start: bytes) -> str | None:
    """Type of a picture by its first bytes; None for what is not shown, SVG among it."""
    for mime, marks in {
        "image/png": (b"\x89PNG\r\n\x1a\n",),
        "image/jpeg": (b"\xff\xd8\xff",),
        "image/gif": (b"GIF87a", b"GIF89a"),
    }.items():
        if start.startswith(marks):
            return mime
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "image/webp"
    if start[4:12] in (b"ftypavif", b"ftypavis"):
        return "image/avif"
    return None


def look_at(folder: Path, name: str) -> MediaFile:
    """A picture of a folder, with its type and hash; refuses what is not one of its files."""
    content = _inside(folder, name).read_bytes()
    mime = type_of(content[:16])
    if mime is None:
        raise RefusedError(
            400, f"{name} is not a picture in PNG, JPEG, WebP, GIF or AVIF; convert it."
        )
    return MediaFile(name, mime, len(content), hashlib.sha256(content).hexdigest())


def _inside(folder: Path, name: str) -> Path:
    """The file of a name, if it lies in the folder itself and is not too large."""
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()) or not path.is_file():
        raise RefusedError(404, NOWHERE)
    if path.stat().st_size > LARGEST:
        raise RefusedError(400, f"{name} is larger than 20 MB; make it smaller.")
    return path


def response(
    site: Site, number: int, cookies: Mapping[str, str], cookie: Callable[[str], str]
) -> Response:
    """A picture, for the admin and the judges of its study."""
    found = site.store.media_file(number)
    if found is None or site.media is None:
        raise RefusedError(404, NOWHERE)
    study_id, kept = found
    if not _may_see(site, study_id, cookies, cookie):
        raise RefusedError(404, NOWHERE)
    path = _inside(site.media, kept.path)
    with open(path, "rb") as file:
        mime = type_of(file.read(16))
    if mime != kept.mime:  # another file has taken its place
        raise RefusedError(404, NOWHERE)
    headers = {"cache-control": "private, max-age=86400", "etag": f'"{kept.sha256}"'}
    return FileResponse(path, media_type=mime, headers=headers)


def _may_see(
    site: Site, study_id: int, cookies: Mapping[str, str], cookie: Callable[[str], str]
) -> Any:
    admin = cookies.get(cookie("admin"), "")
    if admin and site.store.is_admin(admin):
        return True
    token = cookies.get(cookie(f"judge-{study_id}"), "")
    judge = site.store.judge_by_token(token) if token else None
    return judge is not None and judge.study_id == study_id
