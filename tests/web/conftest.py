"""A small study served within this process, as browsers see it."""

import re
from dataclasses import dataclass

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from ordinality.panel.managed_store import ManagedStore, NewItem
from ordinality.web.application import application
from ordinality.web.safety import Rates
from ordinality.web.visits import Site

ADDRESS = "http://127.0.0.1:8642"
FILMS = ["Ran", "Stalker", "Solaris", "Ikiru", "Mirror", "Playtime", "Persona", "Vertigo"]


class Browser(TestClient):
    """A browser: it says where requests come from, keeps cookies and reads forms."""

    def __init__(self, app):
        super().__init__(app, ADDRESS, headers={"sec-fetch-site": "same-origin"})
        self.follow_redirects = True

    def submit(self, address, page, **fields):
        """Send a form that has the hidden fields of a page."""
        return self.post(address, data={**self.hidden(page), **fields})

    def hidden(self, page):
        """The hidden fields of the forms of a page."""
        return dict(re.findall(r'name="(form|shown|undoes)" value="([^"]*)"', page.text))


@dataclass
class Served:
    store: ManagedStore
    site: Site
    app: object

    @property
    def study(self):
        self.store.forget_cached()
        return self.store.served("films")

    @property
    def store_folder(self):
        return self.site.media

    def judge(self, name="ann"):
        """A browser that has opened the link of a judge."""
        number = self.store.judge(self.study.id, name)
        return self.opened(f"/j/{self.store.issue(number)}")

    def admin(self):
        return self.opened(f"/a/{self.store.issue(None)}")

    def opened(self, link):
        browser = Browser(self.app)
        assert browser.get(link).status_code == httpx.codes.OK
        return browser


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A study of eight films; what is read is never old, and no rate is too high."""
    monkeypatch.setattr(Rates, "allow", lambda *_: True)
    monkeypatch.setattr("ordinality.panel.served_store.FRESH", 0.0)
    with ManagedStore(tmp_path / "films.ordinality") as store:
        made = store.create_study("films", {}, settings={"seed": 7, "top": 0})
        store.add(made.id, [NewItem(name, {}) for name in FILMS])
        site = Site(store, ADDRESS, mark=store.mark(), media=tmp_path)
        yield Served(store, site, application(site))
