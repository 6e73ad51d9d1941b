"""What each page shows, as frozen values: templates hold no logic beyond loops and tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "AdminView",
    "Card",
    "FinishedView",
    "HomeView",
    "ItemView",
    "ItemsView",
    "JudgesView",
    "MessageView",
    "MineView",
    "PlacesView",
    "QuestionView",
    "RankingView",
    "SettingsView",
    "TrustView",
    "WelcomeView",
]


@dataclass(frozen=True)
class Card:
    """One of the items of a question."""

    item: int  # its number
    letter: str  # "A", "B", to "E"
    title: str
    text: str | None
    image: str | None  # address


@dataclass(frozen=True)
class QuestionView:
    """The question page."""

    slug: str
    question: str
    shown: int  # number of the showing; goes back with the answer
    form: str  # form token
    cards: tuple[Card, ...]
    ties: bool
    grades: int  # 2 has "much better"
    number: int  # of this question, from 1
    quota: int | None
    share: float | None  # of the quota that is done, from 0 to 1
    standing: str  # "4 of these 5: 71 %", or empty
    said: str  # what became of the last act, for the live region; or empty
    undoes: int  # 0: there is nothing to undo
    see_ranking: bool
    kind: str = "pair"  # "best-worst", "rating" or "order"
    levels: tuple[int, ...] = ()  # of a rating
    picked: dict[str, int] = field(default_factory=dict)  # best and worst, so far
    moved: str = ""  # the button by which an item was moved
    problem: str = ""  # why an answer was not taken


@dataclass(frozen=True)
class WelcomeView:
    """A judge's first screen, and the open link's."""

    slug: str
    question: str
    form: str
    consent: str
    version: int | None
    quota: int | None
    action: str  # where the form goes
    task: str  # what a judge does, in a sentence


@dataclass(frozen=True)
class FinishedView:
    """A judge's last screen."""

    slug: str
    question: str
    form: str
    title: str
    sentence: str
    answers: int
    thanks: str
    code: str
    back: str
    undoes: int
    see_ranking: bool


@dataclass(frozen=True)
class MineView:
    """A judge's own answers, newest first."""

    slug: str
    question: str
    form: str
    rows: tuple[dict[str, Any], ...]  # items (titles), said, seconds
    see_ranking: bool
    paired: bool = True  # whether all are about pairs


@dataclass(frozen=True)
class PlacesView:
    """The ranking for judges, where the study shows it; rows as in `RankingView`."""

    slug: str
    question: str
    sentence: str
    top: int
    rows: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class MessageView:
    """A page with a sentence, such as "there is no such page"."""

    title: str
    sentence: str


@dataclass(frozen=True)
class HomeView:
    """The admin's list of studies."""

    studies: tuple[dict[str, Any], ...]  # slug, question, items, judges, answers, closed
    notes: tuple[str, ...]  # what should be known, such as a model process that was restarted


@dataclass(frozen=True)
class AdminView:
    """What all pages of the admin about a study have."""

    slug: str
    question: str
    page: str  # "ranking", "judges", "trust", "items", "settings"
    form: str
    answers: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class RankingView:
    """The ranking."""

    head: AdminView
    sentence: str
    made: str  # when, or empty
    top: int
    rows: tuple[dict[str, Any], ...]  # rank, item, utility, sd, first, last, answers, p_best,
    # and low, high, middle: the interval of utilities as shares of the widest, 0 to 1
    beside: tuple[dict[str, Any], ...] = ()  # id, rank: with the judges that are left out
    standing: str = ""  # "4 of these 5: 71 %", or empty
    alarm: bool = False  # checks contradict the model
    worths: tuple[dict[str, Any], ...] = ()  # feature, step, worth, sd, least, most, and low,
    # high, middle as above


@dataclass(frozen=True)
class JudgesView:
    """The judges and their links."""

    head: AdminView
    rows: tuple[dict[str, Any], ...]  # id, name, kind, answers, quota, seconds, left, equal,
    # skipped, noise, misfit, misfit_z, repeats, checks, flag, left_out, withdrawn, linked
    link: str  # a new one, shown once; or empty
    link_of: str
    qr: (
        tuple[int, str] | None
    )  # the link as a QR code: modules on a side, path of the dark ones
    join: str  # the open link, or empty


@dataclass(frozen=True)
class TrustView:
    """How far the ranking can be trusted."""

    head: AdminView
    sentence: str
    alarm: bool  # checks contradict the model
    checks: dict[str, Any]  # count, right, low, high, expected, log_score
    bins: tuple[dict[str, Any], ...]  # expected, right, count: calibration
    halves: dict[str, Any] | None
    separation: float | None
    wrong: float | None  # expected share of pairs in the wrong order
    tests: dict[str, Any]  # log stakes of the two bets, and the threshold


@dataclass(frozen=True)
class ItemsView:
    """The items."""

    head: AdminView
    rows: tuple[dict[str, Any], ...]  # id, key, title, answers, group, not_for, retired, image,
    # misfit
    reports: tuple[dict[str, Any], ...]  # item, judge, text, at
    odd: bool  # whether those of the largest misfit come first


@dataclass(frozen=True)
class ItemView:
    """What was said of one item, newest first."""

    head: AdminView
    title: str
    rows: tuple[dict[str, Any], ...]  # against, said, judge, seconds, expected, residual
    count: int  # how many there are
    misfit: float | None


@dataclass(frozen=True)
class SettingsView:
    """The settings of a study."""

    head: AdminView
    settings: dict[str, Any]
    consent: str
    version: int | None
    closed: bool
    errors: tuple[str, ...] = field(default=())
