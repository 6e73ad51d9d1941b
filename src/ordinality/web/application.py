"""The application: its routes, and who may use them.

Handlers are plain functions of a `Visit`. They run in threads: those of judges one after
another on SQLite, which has one writer, those of the admin beside them, so that a large export
delays no answer.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import jinja2
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from ..panel.store import StoreError
from . import admin_pages, judge_pages, media, programs
from .safety import Guard, Rates, form_token, same_origin
from .views import MessageView
from .visits import Download, Leads, RefusedError, Site, Visit

__all__ = ["application"]

FOLDER = Path(__file__).parent
NOT_FOUND = "There is no such page, or your link does not lead here."
YEAR = 365 * 24 * 3600
log = logging.getLogger("ordinality.web")


def application(site: Site, lifespan: Any = None) -> Starlette:
    """The application of a site."""
    made = _Handlers(site)
    judge, admin = made.judge, made.admin
    routes = [
        Route("/", made.home),
        Route("/healthz", made.health),
        Route("/j/{token}", made.enter),
        Route("/a/{token}", made.enter),
        Route("/join/{slug}", made.join, methods=["GET", "POST"]),
        Route("/s/{slug}", judge(judge_pages.question)),
        Route("/s/{slug}/start", judge(judge_pages.welcome), methods=["GET", "POST"]),
        Route("/s/{slug}/answer", judge(judge_pages.answer), methods=["POST"]),
        Route("/s/{slug}/mine", judge(judge_pages.mine)),
        Route("/s/{slug}/ranking", judge(judge_pages.ranking)),
        Route("/s/{slug}/forget", judge(judge_pages.forget), methods=["POST"]),
        Route("/s/{slug}/events", made.events),
        Route("/m/{number:int}", made.picture),
        Route("/api/v1/{slug}/answers", made.programs(programs.answers), methods=["POST"]),
        Route("/api/v1/{slug}/question", made.programs(programs.question)),
        Route("/admin", admin(admin_pages.home)),
        Route("/admin/{slug}/export.zip", admin(admin_pages.export)),
        Route("/admin/{slug}/{page}", admin(admin_pages.page)),
        Route("/admin/{slug}/{act}", admin(admin_pages.act), methods=["POST"]),
        Mount("/static", StaticFiles(directory=FOLDER / "static")),
    ]
    guard = Middleware(Guard, hosts=site.knows, secure=site.secure)
    return Starlette(
        routes=routes, middleware=[guard], lifespan=lifespan,
        exception_handlers={
            RefusedError: made.refused, HTTPException: made.refused, StoreError: made.failed,
        },
    )  # fmt: skip


class _Handlers:
    """Requests to a site, as functions that Starlette calls."""

    def __init__(self, site: Site) -> None:
        self.site = site
        # SQLite has one writer: a second thread would only wait for the first.
        writers = 1 if "://" not in site.store.where else 8
        self.judging = anyio.CapacityLimiter(writers)
        self.rates = Rates(rate=5.0, burst=20)  # of a judge
        self.entries = Rates(rate=20 / 60, burst=20)  # of an address, to links
        self.pages = jinja2.Environment(
            loader=jinja2.FileSystemLoader(FOLDER / "templates"), autoescape=True,
            undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        )  # fmt: skip
        self.pages.filters["address"] = lambda text: quote(str(text), safe="")

    # Who asks

    def judge(self, page: Callable[[Visit], Any]) -> Callable[..., Any]:
        """A page for the judges of the study that its address names."""

        async def handle(request: Request) -> Response:
            fields, _ = await self._sent(request)

            def work() -> Any:
                token, bearer = self._token(request)
                if not self.rates.allow(token):
                    raise RefusedError(429, "This is too fast; wait a moment and try again.")
                visit = self._judge_visit(request, token, fields)
                if request.method == "POST" and not bearer:
                    self._check_form(request, visit)
                return self._shown(page(visit), visit)

            return await self._worked(request, work, self.judging)

        return handle

    def admin(self, page: Callable[[Visit], Any]) -> Callable[..., Any]:
        """A page for the admin."""

        async def handle(request: Request) -> Response:
            token = request.cookies.get(self._cookie("admin"), "")

            def is_admin() -> bool:
                return bool(token) and self.site.store.is_admin(token)

            # Before the body is read: nobody else may send 50 MB.
            if not await anyio.to_thread.run_sync(is_admin):
                raise RefusedError(404, NOT_FOUND)
            fields, files = await self._sent(request)

            def work() -> Any:
                slug = request.path_params.get("slug")
                task = None if slug is None else self.site.store.served(slug)
                if slug is not None and task is None:
                    raise RefusedError(404, NOT_FOUND)
                visit = Visit(
                    self.site, token, task, None, fields, files, request.path_params,
                    request.query_params, _wants_json(request),
                )  # fmt: skip
                if request.method == "POST":
                    self._check_form(request, visit)
                return self._shown(page(visit), visit)

            return await self._worked(request, work)

        return handle

    def programs(self, page: Callable[[Visit], Any]) -> Callable[..., Any]:
        """A function for programs, which send their token in a header."""

        async def handle(request: Request) -> Response:
            body = await request.body()

            def work() -> Any:
                token, bearer = self._token(request)
                if not bearer:
                    raise RefusedError(401, "Send your token as: Authorization: Bearer TOKEN.")
                if not self.rates.allow(token):
                    raise RefusedError(429, "This is too fast; wait a moment and try again.")
                fields = _json_object(body) if body else {}
                return JSONResponse(page(self._judge_visit(request, token, fields)))

            return await anyio.to_thread.run_sync(work, limiter=self.judging)

        return handle

    async def _worked(
        self, request: Request, work: Callable[[], Response], limiter: Any = None
    ) -> Response:
        """What a thread answers; uploads are closed behind it."""
        try:
            return await anyio.to_thread.run_sync(work, limiter=limiter)
        finally:
            await request.close()

    def _token(self, request: Request) -> tuple[str, bool]:
        """The token of a request, and whether it came in a header."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and token:
            return token.strip(), True
        task = self.site.store.served(request.path_params["slug"])
        name = self._cookie(f"judge-{task.id}") if task else ""
        return request.cookies.get(name, ""), False

    def _judge_visit(self, request: Request, token: str, fields: Mapping[str, Any]) -> Visit:
        store, slug = self.site.store, request.path_params["slug"]
        task, judge = store.served(slug), store.judge_by_token(token) if token else None
        if task is None or judge is None or judge.study_id != task.id:
            raise RefusedError(404, NOT_FOUND)
        return Visit(
            self.site, token, task, judge, fields, {}, request.path_params,
            request.query_params, _wants_json(request),
        )  # fmt: skip

    def _check_form(self, request: Request, visit: Visit) -> None:
        """Refuse what does not come from a page of ours."""
        known = same_origin(request.headers, self.site.knows)
        if not known or visit.fields.get("form") != visit.form:
            raise RefusedError(403, "This came from no page of this server; load it again.")

    def _cookie(self, name: str) -> str:
        return f"{name}-{self.site.mark}"

    async def _sent(self, request: Request) -> tuple[dict[str, Any], dict[str, Any]]:
        """Fields and files of a form, or the fields of a JSON object."""
        if request.method != "POST":
            return {}, {}
        if request.headers.get("content-type", "").startswith("application/json"):
            return _json_object(await request.body()), {}
        form = await request.form(max_files=10, max_fields=200)
        files = {name: value for name, value in form.items() if not isinstance(value, str)}
        return {name: v for name, v in form.items() if isinstance(v, str)}, files

    # What is answered

    def _shown(self, found: Any, visit: Visit) -> Response:
        """What a page function returned, as a response."""
        if isinstance(found, Response):
            return found
        if isinstance(found, Leads):
            return RedirectResponse(found.to, 303)
        if isinstance(found, Download):
            name = quote(found.name)
            return Response(
                found.content, media_type=found.mime,
                headers={"content-disposition": f"attachment; filename*=UTF-8''{name}"},
            )  # fmt: skip
        # Of an answer that was not taken, the question comes again and says why.
        status = 400 if getattr(found, "problem", "") else 200
        if visit.wants_json and is_dataclass(found) and not isinstance(found, type):
            return JSONResponse({"page": _name_of(found), **asdict(found)}, status)
        return self._html(found, status)

    def _html(self, view: Any, status: int = 200) -> HTMLResponse:
        page = self.pages.get_template(f"{_name_of(view)}.html").render(view=view)
        return HTMLResponse(page, status)

    async def refused(self, request: Request, problem: Exception) -> Response:
        """A page with a sentence on what cannot be done."""
        if isinstance(problem, RefusedError):
            status, sentence = problem.status, problem.sentence
        else:
            assert isinstance(problem, HTTPException)
            status = problem.status_code
            sentence = NOT_FOUND if status == 404 else str(problem.detail)
        if _wants_json(request) or request.url.path.startswith("/api/"):
            return JSONResponse({"error": sentence}, status)
        return self._html(MessageView("This did not work", sentence), status)

    async def failed(self, request: Request, problem: Exception) -> Response:
        """The store cannot be used just now; nothing was acknowledged."""
        log.error("%s", problem)
        sentence = "The answers cannot be stored just now; please try again in a moment."
        if _wants_json(request):
            return JSONResponse({"error": sentence}, 503)
        return self._html(MessageView("This did not work", sentence), 503)

    # Pages without a study

    async def home(self, request: Request) -> Response:
        """Lead to where the cookie belongs."""

        def work() -> Response:
            token = request.cookies.get(self._cookie("admin"), "")
            if token and self.site.store.is_admin(token):
                return RedirectResponse("/admin", 303)
            for slug in self.site.store.slugs():
                task = self.site.store.served(slug)
                name = self._cookie(f"judge-{task.id}") if task else ""
                if request.cookies.get(name):
                    return RedirectResponse(f"/s/{quote(slug, safe='')}", 303)
            raise RefusedError(404, "Open the link that you were given.")

        return await anyio.to_thread.run_sync(work)

    async def enter(self, request: Request) -> Response:
        """Take a link: set the cookie, and lead away from the address with the token."""
        client = request.client.host if request.client else ""
        if not self.entries.allow(client):
            raise RefusedError(429, "Too many links were tried from here; wait a minute.")

        def work() -> Response:
            store, token = self.site.store, request.path_params["token"]
            if request.url.path.startswith("/a/"):
                if not store.is_admin(token):
                    raise RefusedError(404, NOT_FOUND)
                return self._with_cookie(RedirectResponse("/admin", 303), "admin", token)
            judge = store.judge_by_token(token)
            if judge is None:
                raise RefusedError(404, "This link does not work any more; ask for a new one.")
            task = store.served_by_id(judge.study_id)
            response = RedirectResponse(f"/s/{quote(task.slug, safe='')}", 303)
            return self._with_cookie(response, f"judge-{task.id}", token)

        return await anyio.to_thread.run_sync(work)

    def _with_cookie(self, response: Response, name: str, token: str) -> Response:
        response.set_cookie(
            self._cookie(name), token, max_age=YEAR, httponly=True, samesite="lax",
            secure=self.site.secure,
        )  # fmt: skip
        return response

    async def join(self, request: Request) -> Response:
        """The open link: whoever comes and starts is a new judge."""
        fields, _ = await self._sent(request)
        client = request.client.host if request.client else ""
        if request.method == "POST" and not self.entries.allow(client):
            raise RefusedError(429, "Too many judges came from here; wait a minute.")

        def work() -> Response:
            store = self.site.store
            task = store.served(request.path_params["slug"])
            if task is None or not task.settings.open or task.closed:
                raise RefusedError(404, NOT_FOUND)
            known = request.cookies.get(self._cookie(f"judge-{task.id}"), "")
            if known and store.judge_by_token(known):
                return RedirectResponse(f"/s/{quote(task.slug, safe='')}", 303)
            door = f"join/{task.id}/{self.site.mark}"  # nobody has a session here yet
            visit = Visit(self.site, door, task, None, fields)
            address = f"/join/{quote(task.slug, safe='')}"
            if request.method == "GET":
                return self._html(judge_pages.welcome_view(visit, address, form_token(door)))
            self._check_form(request, visit)
            if task.consent_version is not None and not fields.get("agree"):
                raise RefusedError(400, "Please tick the box to agree, or close the page.")
            number = store.new_guest(task.id)
            store.consent(number, task.consent_version)
            response = RedirectResponse(f"/s/{quote(task.slug, safe='')}", 303)
            return self._with_cookie(response, f"judge-{task.id}", store.issue(number))

        return await anyio.to_thread.run_sync(work, limiter=self.judging)

    async def picture(self, request: Request) -> Response:
        """A picture, for those who may see its study."""

        def work() -> Response:
            return media.response(
                self.site, request.path_params["number"], request.cookies, self._cookie
            )

        return await anyio.to_thread.run_sync(work)

    async def health(self, request: Request) -> Response:
        """Whether the store answers, and how the model is."""

        def work() -> Response:
            return JSONResponse(self.site.store.health())

        return await anyio.to_thread.run_sync(work)

    async def events(self, request: Request) -> Response:
        """The number of the newest snapshot, whenever it changes."""

        def find() -> int:
            store, task = self.site.store, self.site.store.served(request.path_params["slug"])
            admin = request.cookies.get(self._cookie("admin"), "")
            if task is None:
                raise RefusedError(404, NOT_FOUND)
            if not (admin and store.is_admin(admin)):
                self._judge_visit(request, self._token(request)[0], {})
            return task.id

        study_id = await anyio.to_thread.run_sync(find)

        async def numbers() -> Any:
            last = -1
            while not await request.is_disconnected():
                newest = await anyio.to_thread.run_sync(
                    self.site.store.newest_snapshot, study_id
                )
                # A comment keeps the connection where proxies close silent ones.
                yield f"data: {newest}\n\n" if newest != last else ": \n\n"
                last = newest
                await asyncio.sleep(2.0)

        return StreamingResponse(numbers(), media_type="text/event-stream")


def _name_of(view: Any) -> str:
    """Name of the template of a view: ``QuestionView`` has question.html."""
    return type(view).__name__.removesuffix("View").lower()


def _wants_json(request: Request) -> bool:
    return "application/json" in request.headers.get("accept", "")


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise RefusedError(400, "The body is not a JSON object.")
    return found
