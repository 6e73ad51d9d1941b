"""What stands before every page: hosts, origins, sizes, rates and headers.

A page may load and send only to its own host, and holds no script and no style of its own. A
request with a body must come from a page of ours: browsers say from where, and a form token
proves it where they do not.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["BODY", "UPLOAD", "Guard", "Rates", "form_token", "same_origin"]

BODY, UPLOAD = 64 * 1024, 50 * 1024 * 1024  # bytes of a request; of an upload of the admin

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "x-content-type-options": "nosniff",
    # With "no-referrer" browsers send the forms of a page with the origin "null".
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


def form_token(session: str) -> str:
    """What the forms of a session carry; who does not have the cookie cannot know it."""
    return hashlib.sha256(f"form/{session}".encode()).hexdigest()[:32]


def same_origin(headers: Headers, hosts: Callable[[str], bool]) -> bool:
    """Whether a request comes from a page of this server, as far as the browser says."""
    site = headers.get("sec-fetch-site")
    if site is not None and site not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    if origin is None:
        return site is not None  # a browser sends one of the two
    parts = urlsplit(origin)
    return parts.scheme in ("http", "https") and hosts(parts.netloc)


class Rates:
    """How often something may happen: ``rate`` a second, after a burst."""

    def __init__(self, rate: float, burst: int) -> None:
        self.rate, self.burst = rate, burst
        self._left: dict[str, tuple[float, float]] = {}

    def allow(self, who: str) -> bool:
        """Whether once more is allowed now."""
        now = time.monotonic()
        left, at = self._left.get(who, (float(self.burst), now))
        left = min(self.burst, left + (now - at) * self.rate)
        if len(self._left) > 10_000:  # those who have been quiet have their full burst again
            calm = self.burst / self.rate
            self._left = {k: v for k, v in self._left.items() if now - v[1] < calm}
        self._left[who] = (left - 1.0 if left >= 1.0 else left, now)
        return left >= 1.0


class Guard:
    """Refuses requests for other hosts and bodies that are too large; adds the headers."""

    def __init__(self, app: ASGIApp, hosts: Callable[[str], bool], secure: bool) -> None:
        self.app, self.hosts = app, hosts
        self.headers = dict(HEADERS)
        if secure:
            self.headers["strict-transport-security"] = "max-age=31536000"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if not self.hosts(headers.get("host", "")):
            refusal = PlainTextResponse("This server does not answer for that host.\n", 421)
            await refusal(scope, receive, self._with_headers(send, scope))
            return
        upload = scope["path"].startswith("/admin/") and scope["path"].endswith("/import")
        most = UPLOAD if upload else BODY
        if int(headers.get("content-length") or 0) > most:
            await _too_large(scope, receive, self._with_headers(send, scope))
            return
        try:
            await self.app(scope, _bounded(receive, most), self._with_headers(send, scope))
        except _TooLargeError:
            await _too_large(scope, receive, self._with_headers(send, scope))

    def _with_headers(self, send: Send, scope: Scope) -> Send:
        # The style and the script are asked for again by their hash, and sent if it is new.
        kept = "no-cache" if scope["path"].startswith("/static/") else "no-store"

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                found = MutableHeaders(scope=message)
                for name, value in self.headers.items():
                    found[name] = value
                if "cache-control" not in found:
                    found["cache-control"] = kept
            await send(message)

        return sending


class _TooLargeError(Exception):
    """A body that grew beyond its limit while it was read."""


async def _too_large(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("The request is too large.\n", 413)(scope, receive, send)


def _bounded(receive: Receive, most: int) -> Receive:
    """Receive a body up to a size."""
    seen = 0

    async def receiving() -> Any:
        nonlocal seen
        message = await receive()
        if message["type"] == "http.request":
            seen += len(message.get("body", b""))
            if seen > most:
                raise _TooLargeError
        return message

    return receiving
