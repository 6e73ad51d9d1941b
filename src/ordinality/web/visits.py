"""A site, and one request to it as the functions that make pages see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..panel.managed_store import ManagedStore
from ..panel.served_store import JudgeRecord, ServedStudy
from .safety import form_token

__all__ = ["Download", "Leads", "RefusedError", "Site", "Visit"]


@dataclass(frozen=True)
class Site:
    """A store and the address under which it is served."""

    store: ManagedStore
    address: str  # without a slash at the end
    hosts: tuple[str, ...] = ()  # besides that of the address
    mark: str = "0"  # of the store, in the names of cookies, which all ports of a host share
    media: Path | None = None  # folder of pictures

    @property
    def secure(self) -> bool:
        """Whether pages come by https."""
        return self.address.startswith("https://")

    def knows(self, host: str) -> bool:
        """Whether a Host header, or the host of an Origin, is ours."""
        return host.lower() in {urlsplit(self.address).netloc.lower(), *self.hosts}


@dataclass(frozen=True)
class Visit:
    """A request whose sender is known."""

    site: Site
    token: str  # of the cookie or of a program
    task: ServedStudy | None = None
    judge: JudgeRecord | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)  # of a form or of JSON
    files: Mapping[str, Any] = field(default_factory=dict)  # uploads, as open files
    path: Mapping[str, Any] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    wants_json: bool = False

    @property
    def store(self) -> ManagedStore:
        """The store of the site."""
        return self.site.store

    @property
    def form(self) -> str:
        """The form token of this session."""
        return form_token(self.token)

    @property
    def here(self) -> ServedStudy:
        """The study that the address names."""
        assert self.task is not None
        return self.task

    @property
    def me(self) -> JudgeRecord:
        """The judge who asks."""
        assert self.judge is not None
        return self.judge


@dataclass(frozen=True)
class Leads:
    """An answer that leads the browser to another page."""

    to: str


@dataclass(frozen=True)
class Download:
    """A file to keep."""

    name: str
    mime: str
    content: bytes


class RefusedError(Exception):
    """A request that cannot be carried out: a status of HTTP and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence
