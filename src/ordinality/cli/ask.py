"""``ordinality ask``: the next best question in the terminal, every answer stored at once."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from . import Interruption
from .options import Names, check_input, may_write
from .output import progress, results, say, show, tell

if TYPE_CHECKING:
    from ordinality.panel import RankedItem
    from ordinality.panel.asking import Question, Session, Standing
    from ordinality.panel.store import Answer, AnswerStore, StudyRecord

__all__ = ["ask"]

EXAMPLE = """\b
Example:
  ordinality ask films.csv
  ordinality ask films.txt --goal best --plain
"""

SUFFIX = ".ordinality"
GUARD = 0.25  # seconds: an answer that comes sooner is a key held down
LISTED = 20  # items of the ranking that are printed

# What is typed, by what it means; single keys, what terminals send for arrows, and words.
MEANING = {
    "left": ("1", "left", "\x1b[D", "\x1bOD"),
    "right": ("2", "right", "\x1b[C", "\x1bOC"),
    "equal": ("=", "0", "equal", "\x1b[B", "\x1bOB"),
    "left!": ("!1", "\x1b[1;2D"),
    "right!": ("!2", "\x1b[1;2C"),
    "skip": ("s", "skip"),
    "undo": ("u", "undo", "\x7f", "\x08"),
    "ranking": ("p", "ranking"),
    "stop": ("q", "quit"),
    "help": ("?", "help"),
}
KEYS = {key: meaning for meaning, keys in MEANING.items() for key in keys}
VALUES = {"left": 1, "right": -1, "equal": 0, "left!": 2, "right!": -2}


class _Goal(click.ParamType):
    """``order``, ``best`` or ``top:5``, as how many of the best matter; 0 is the order."""

    name = "goal"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        """Read the number."""
        if isinstance(value, int):
            return value
        known = {"order": 0, "best": 1}
        if value in known:
            return known[value]
        found = re.fullmatch(r"top:([1-9]\d{0,5})", value)
        if not found:
            self.fail(f"{value!r} is not a goal; the goals are order, best and top:5.")
        return int(found[1])


@click.command(epilog=EXAMPLE)
@click.argument("items")
@click.option("--key", metavar="COLUMN", help="Column of names. [default: the first of text]")
@click.option(
    "--features",
    type=Names(),
    metavar="A,B",
    help="Columns that describe items, of numbers or of text. [default: those of numbers]",
)
@click.option(
    "--goal",
    type=_Goal(),
    metavar="order|top:K|best",
    help="What to find out. [default: top:5; of 10 items or fewer, order]",
)
@click.option(
    "--stop",
    type=click.FloatRange(0.5, 1.0, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Probability at which the goal is reached.",
)
@click.option(
    "--most",
    type=click.IntRange(min=1),
    default=200,
    show_default=True,
    help="Answers of one judge, at most.",
)
@click.option(
    "--ties/--no-ties", default=None, help="Whether 'equal' is an answer. [default: yes]"
)
@click.option("--grades", is_flag=True, default=None, help="Have 'much better' as an answer.")
@click.option("--judge", default="me", show_default=True, help="Name of who answers.")
@click.option(
    "--store", metavar="FILE", help="File of the answers. [default: ITEMS.ordinality]"
)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), help="Seed of chance. [default: 0]")
@click.option("--plain", is_flag=True, help="Read lines in place of single keys.")
def ask(
    items: str,
    key: str | None,
    features: list[str] | None,
    goal: int | None,
    stop: float,
    most: int,
    ties: bool | None,
    grades: bool | None,
    judge: str,
    store: str | None,
    seed: int | None,
    plain: bool,
) -> None:
    """Rank ITEMS by questions: which of two is better?

    ITEMS is a table with a column of names (its columns of numbers are features), a text file
    with one name a line, or the items of a table of the package (@baseball, @citations). The
    question whose answer matters most comes first. Every answer is stored before the next
    question appears; stop at any time, and the same command goes on. At the end the ranking,
    the answers and a report are written beside the store.
    """
    _refuse(items, judge)
    named_by = Path(items.removeprefix("@"))
    where = Path(store) if store is not None else named_by.with_suffix(SUFFIX)
    asked = {"ties": ties, "grades": None if grades is None else 2, "seed": seed}
    with progress("Preparing the questions") as tick:
        tick("items", 0.0)
        from ordinality.panel.asking import Session
        from ordinality.panel.item_list import read_items
        from ordinality.panel.store import AnswerStore

        listing = read_items(items, key, features=features)
        if goal is None:
            goal = 5 if len(listing.features) > 10 else 0
        _refuse_goal(goal, len(listing.features))
        for path in (where, *_results(where)):
            may_write(str(path))
        opened = AnswerStore(where)
    with opened:
        study, notes = _study(opened, named_by.stem, items, listing.features, asked)
        say([*listing.notes, *notes])
        session = Session(study, judge.strip(), goal, stop)
        talk = _Talk(opened, session, opened.judge(study.id, session.judge), plain)
        try:
            reason = talk.run(most)
        except KeyboardInterrupt:
            raise Interruption(
                f"Interrupted; {where} keeps {talk.count}, and the same command goes on."
            ) from None
        _finish(talk, reason, where)


def _refuse(items: str, judge: str) -> None:
    """Refuse what can be refused before anything is loaded."""
    if items == "-":
        raise click.UsageError("Standard input has the answers; name a file with the items.")
    if not items.startswith("@"):
        check_input(items)
    if not judge.strip():
        raise click.UsageError(
            "The name of the judge is empty; leave out --judge, or name one."
        )


def _refuse_goal(goal: int, n: int) -> None:
    """Refuse so many of the best that all but one of any of them would be among these."""
    if goal > max(n - 2, 1):
        raise click.UsageError(
            f"There are {n} items, so that the best {goal} of them are no question; choose "
            f"{'--goal best or --goal order' if n < 4 else f'--goal top:{n - 2} or less'}."
        )


# ---------------------------------------------------------------- the study in its store


def _study(
    store: AnswerStore,
    slug: str,
    items: str,
    features: dict[str, dict[str, float]],
    asked: dict[str, Any],
) -> tuple[StudyRecord, list[str]]:
    """The study of these items, begun or found, and notes."""
    study = store.study(slug)
    if study is None:
        if others := store.slugs():
            raise click.UsageError(
                f"{store.where} holds the answers about {others[0]!r}, not {slug!r}; name the "
                "file of those items, or begin another file with --store."
            )
        _refuse_results(Path(store.where))
        settings = {"ties": True, "grades": 1, "seed": 0}
        settings |= {name: value for name, value in asked.items() if value is not None}
        return store.create_study(slug, features, settings=settings), []
    for name, value in asked.items():
        if value is not None and value != study.settings[name]:
            raise click.UsageError(
                f"{store.where} was begun with other {name}; leave out what says so, or begin "
                "another file with --store."
            )
    known = {item.key: item.features for item in study.items}
    for name in known:
        if name not in features:
            raise click.UsageError(
                f"{items} no longer has {name!r}, which {store.where} has; put it back, or "
                "begin another file with --store."
            )
        if features[name] != known[name]:
            raise click.UsageError(
                f"The numbers of {name!r} in {items} are not those in {store.where}; put them "
                "back, or begin another file with --store."
            )
    new = {name: values for name, values in features.items() if name not in known}
    if not new:
        return study, []
    return store.add_items(slug, new), [f"New items: {len(new)}."]


def _results(where: Path) -> tuple[Path, Path, Path]:
    """Files of the ranking, of the answers and of the report, beside the store."""
    stem = where.with_suffix("") if where.suffix == SUFFIX else where
    ranking, answers, report = (
        stem.with_name(f"{stem.name}.{end}")
        for end in ("ranking.csv", "answers.csv", "ranking.html")
    )
    return ranking, answers, report


def _refuse_results(where: Path) -> None:
    """Refuse to begin where results of others would be replaced at the end."""
    for path in _results(where):
        if path.exists():
            raise click.UsageError(
                f"{path} exists, and the results would replace it; move it, or name another "
                "file with --store."
            )


# ---------------------------------------------------------------- the dialogue


class _Said(NamedTuple):
    """What was typed: its meaning, and after how many seconds."""

    meaning: str
    seconds: float


class _Talk:
    """Questions and answers of one judge, until something ends them."""

    def __init__(
        self, store: AnswerStore, session: Session, judge_id: int, plain: bool
    ) -> None:
        self.store, self.session, self.judge_id = store, session, judge_id
        self.plain = plain or not (sys.stdin.isatty() and sys.stderr.isatty())
        settings = session.study.settings
        self.ties, self.graded = bool(settings["ties"]), settings["grades"] > 1
        self.warned = self.explained = False

    @property
    def answers(self) -> list[Answer]:
        """What counts, as the store has it now: others may write to it too."""
        return self.store.answers(self.session.study.id)

    @property
    def own(self) -> list[Answer]:
        """What this judge has answered and skipped."""
        return [given for given in self.answers if given.judge == self.session.judge]

    @property
    def count(self) -> str:
        """How many answers there are, in words."""
        found = sum(given.kind == "pair" for given in self.answers)
        return f"{found} answer{'s' if found != 1 else ''}"

    def run(self, most: int) -> str:
        """Ask until the goal is reached, there is nothing to ask, or the judge stops."""
        while True:
            answers = self.answers
            standing = self.session.standing(answers)
            if standing.settled:
                return ""
            if sum(given.kind == "pair" for given in self.own) >= most:
                return f"These were {most} answers; go on with a larger --most."
            question = self.session.question(answers)
            if question is None:
                return "Every pair has been asked about."
            self._warn(standing)
            self._show(question, standing)
            if not self._answered(question):
                return ""

    def _warn(self, standing: Standing) -> None:
        if not self.warned and (standing.trust.warning or standing.trust.contradicted):
            self.warned = True
            say([standing.sentence])

    def _show(self, question: Question, standing: Standing) -> None:
        study = self.session.study
        left, right = (study.items[i].key for i in question[:2])
        # Before every item has been asked about, there is nothing to be said.
        short = standing.short if question.purpose != "start" else ""
        say(["", f"{study.question:<44}  {self.count:>11}   {short}".rstrip()])
        say([f"  1 / left    {left}", f"  2 / right   {right}"])
        if not (self.plain and self.explained):
            self._explain()

    def _explain(self) -> None:
        keys = ["[1] [2]", "[s] skip", "[u] undo", "[p] ranking", "[q] stop", "[?]"]
        if self.graded:
            keys.insert(1, "[!1 !2] much")
        if self.ties:
            keys.insert(1, "[=] equal")
        say(["  ".join(keys)])
        self.explained = True

    def _answered(self, question: Question) -> bool:
        """Store what the judge does with a question; whether to go on."""
        study = self.session.study
        left, right = (study.items[i] for i in question[:2])
        shown = self.store.show(
            study.id, self.judge_id, left.id, right.id, question.purpose,
            {"proba": question.proba, "number": question.number},
        )  # fmt: skip
        while True:
            said = self._heard()
            if said.meaning in VALUES:
                self.store.answer(shown, VALUES[said.meaning], seconds=said.seconds)
                winner = {"l": left.key, "r": right.key, "e": "equal"}[said.meaning[0]]
                say([f"  saved: {winner}{', much better' if '!' in said.meaning else ''}"])
                return True
            if said.meaning == "skip":
                self.store.skip(shown, seconds=said.seconds)
                say(["  skipped"])
                return True
            if said.meaning == "stop":
                return False
            if said.meaning == "undo" and self._undone():
                return True
            if said.meaning == "ranking":
                say(_lines(self.session.ranking(self.answers).items))
            if said.meaning == "help":
                self._help()

    def _undone(self) -> bool:
        own = self.own
        if not own:
            say(["There is nothing to undo."])
            return False
        self.store.undo(own[-1].id)
        say(["  undone"])
        return True

    def _help(self) -> None:
        say(["1 or the left arrow: the first is better. 2 or the right arrow: the second."])
        if self.ties:
            say(["= or 0 or the down arrow: both are equal."])
        if self.graded:
            say(["!1 and !2, or the arrows with Shift: much better."])
        say(["s: skip this pair. u or Backspace: undo, as often as you like."])
        say(["p: the ranking so far. q: stop, and write the results."])
        if self.session.top > 1:
            k = self.session.top
            best = f"how likely {k - 1} of the first {k} in the ranking are among the best {k}"
            say([f"{k - 1} of these {k}: {best}."])
        say(["Ctrl-C: stop at once; all answers are kept."])

    # Keys and lines

    def _heard(self) -> _Said:
        """The next thing typed that has a meaning here."""
        began = time.monotonic()
        while True:
            typed = self._line() if self.plain else _key()
            seconds = time.monotonic() - began
            meaning = KEYS.get(typed) or KEYS.get(typed.lower(), "")
            if not self.plain and meaning in VALUES and seconds < GUARD:
                continue
            refusal = self._refusal(typed, meaning)
            if not refusal:
                return _Said(meaning, round(seconds, 3))
            say([refusal])

    def _refusal(self, typed: str, meaning: str) -> str:
        if not meaning:
            return f"{typed!r} is not an answer here; ? explains the keys."
        if meaning == "equal" and not self.ties:
            return "'equal' is not an answer in this study; skip with s."
        if meaning.endswith("!") and not self.graded:
            return "'much better' is not an answer in this study; type 1 or 2."
        return ""

    def _line(self) -> str:
        """A line without blanks; the end of the input is a wish to stop."""
        while True:
            line = sys.stdin.readline()
            if not line:
                return "q"
            if line.strip():
                return line.strip()


def _key() -> str:
    """One key; an exclamation mark waits for the next one."""
    try:
        typed: str = click.getchar()
        return typed + str(click.getchar()) if typed == "!" else typed
    except EOFError:  # Ctrl-D
        return "q"


# ---------------------------------------------------------------- results


def _lines(places: Sequence[RankedItem]) -> list[str]:
    """The ranking as plain lines."""
    rows = [f"{p.rank:>4}  {p.item}  (place {_interval(p)})" for p in places[:LISTED]]
    more = len(places) - LISTED
    return [*rows, *([f"      and {more} more"] if more > 0 else [])]


def _interval(found: RankedItem) -> str:
    first, last = found.places
    return f"{first} to {last}" if first < last else f"{first}"


def _finish(talk: _Talk, reason: str, where: Path) -> None:
    """Write the results and print the ranking."""
    from ordinality.tables import write

    answers, session = talk.answers, talk.session
    if not any(given.kind == "pair" for given in answers):
        say(["There are no answers yet, so no results; the same command begins again."])
        return
    found, standing = session.ranking(answers), session.standing(answers, final=True)
    places = found.items
    ranking, given, report = _results(where)
    write(ranking, _ranking_columns(places), force=True)
    write(given, _answer_columns(session.study, answers), force=True)
    try:
        found.report(report, command=f"ordinality rank {given.name}", force=True)
        written = f"{ranking}, {given} and {report}"
    except ModuleNotFoundError as missing:  # the answers are worth more than a page
        say([str(missing)])
        written = f"{ranking} and {given}"
    console = results()
    rows = [
        [str(p.rank), p.item, f"{p.utility:.2f}", _interval(p), str(p.answers)]
        for p in places[:LISTED]
    ]
    titles = ["rank", "item", "utility", "90 % of places", "answers"]
    show(console, titles, rows, text=[1])
    tell(console, standing.sentence)
    say([reason] if reason else [])
    say([f"Wrote {written}; {where} keeps {talk.count} for the same command."])


def _ranking_columns(places: Sequence[RankedItem]) -> dict[str, list[Any]]:
    """The ranking as a table."""
    return {
        "rank": [p.rank for p in places],
        "item": [p.item for p in places],
        "utility": [p.utility for p in places],
        "first": [p.places[0] for p in places],
        "last": [p.places[1] for p in places],
        "answers": [p.answers for p in places],
    }


def _answer_columns(study: StudyRecord, answers: list[Answer]) -> dict[str, list[Any]]:
    """Answers as a table, sides as they were shown; a repeat has no weight."""
    said = [given for given in answers if given.kind == "pair"]
    name = {item.id: item.key for item in study.items}
    graded = study.settings["grades"] > 1

    def winner(given: Answer) -> str:
        if graded:
            return f"{given.value:+d}" if given.value else "0"
        if given.value == 0:
            return "tie"
        return name[given.left if given.value > 0 else given.right]

    return {
        "left": [name[given.left] for given in said],
        "right": [name[given.right] for given in said],
        "winner": [winner(given) for given in said],
        "judge": [given.judge for given in said],
        "weight": [0 if given.purpose == "repeat" else 1 for given in said],
        "seconds": [given.seconds for given in said],
    }
