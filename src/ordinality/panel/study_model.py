"""What a server's model knows of one study: it folds answers in, and refits behind.

Three posteriors follow one another. A fit learns the parameters too, at every doubling of the
answers. An update computes the posterior anew at the same parameters. Between them each answer
is folded into the snapshot of the last of the two by a step of rank one. Fits and updates run
in a thread; what came meanwhile is then folded into their snapshot.

Answers about sets are learnt as pairs with weights, which a step of rank one does not know, and
ratings are no pairs. Both are learnt by the next update, which does not wait for long.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from copy import copy
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from ..elicitation import (
    Snapshot,
    Trust,
    expected_rank_changes,
    next_pair,
    top_k_probability,
)
from ..elicitation.gains import believed
from ..elicitation.stopping import intervals_and_members
from ..estimators.preference_gp import PreferenceGP
from ..metrics import scale_separation
from .asking import Standing, probability_of_order
from .feature_worths import feature_worths
from .item_misfits import item_misfits
from .judges import GivenAnswers, judge_summaries
from .managed_store import GivenRow, ManagedStore, compared_rows
from .served_store import ServedItem, ServedStudy, pair_of
from .set_questions import LEVELS
from .snapshot_bytes import packed, unpacked
from .split_halves import split_half
from .store import NOT_PAIRED, moment

__all__ = ["StudyModel"]

FIRST_FIT, FIRST_PAIRS = 10, 20  # answers, or pairs that fewer of them compare
MANY = 1000  # answers from which a fit is made after a tenth more of them
UPDATE, QUIET = 50, 5.0  # new answers, or seconds with some, after which an update is made
SOON = 0.5  # seconds after which one is made if some cannot be folded in
LIGHT = 1e-11  # ratios of signal to noise with a smaller weight are left to the next fit
FEWEST, EACH = 64, 4  # questions that wait: at least, and for each judge seen lately
SEEN = timedelta(minutes=5)
FACTS = 1.0  # seconds between two looks at items and judges
BETWEEN = 1.0  # seconds between two looks at the whole ranking
SHARE = 0.3  # of the time that may be spent on them
LEVEL = 0.9  # of the intervals of places
OWN_NOISE = 100  # judges with a noise of their own
CAMPS, QUICK = 4, 0.1  # judges, and seconds of a fit, from and to which halves are ranked
SEPARATE = 400  # draws for places of items whose covariances are not at hand
DRAWS, LOOK = 4000, 5  # for the goal; answers between two looks at it
KEY = "\n"  # a column of names that cannot be one of the features


_Ratings = tuple[list[str], list[int]]  # names of items, and levels


class _Learnt(NamedTuple):
    """What a fit or an update brings."""

    kind: str  # "fit" or "update"
    model: PreferenceGP
    belief: Any
    rows: tuple[GivenRow, ...]  # that it knows
    seconds: float  # of the processor
    halves: dict[str, Any] | None = None  # as of the last fit
    beside: tuple[dict[str, int], ...] = ()  # as of the last fit: places of all answers
    judged: tuple[dict[str, Any], ...] = ()  # what the answers of each judge are like
    misfits: tuple[float | None, ...] = ()  # of the items, in the order of the model
    worths: tuple[dict[str, Any], ...] = ()  # of the features


@dataclass(frozen=True)
class _Shape:
    """What a model cannot change without a fit: its items, and whose answers count."""

    keys: tuple[int, ...]  # ids of the items, in the order of the model
    out: frozenset[int]  # judges that are left out
    gone: frozenset[int]  # judges whose answers were deleted


class StudyModel:
    """The model of one study; `step` brings it up to date and fills the queue."""

    def __init__(self, store: ManagedStore, study_id: int, pool: ThreadPoolExecutor) -> None:
        self.store, self.study_id, self.pool = store, study_id, pool
        self.task: ServedStudy = store.served_by_id(study_id)
        self.names: dict[int, str] = {}  # of judges
        self.rows: dict[int, GivenRow] = {}
        self.undone: set[int] = set()
        self.now = _Shape((), frozenset(), frozenset())  # of the store
        self.undos = False  # whether some are new
        self.last = 0  # number of the newest row
        self.looked = -np.inf
        self.learnt: _Learnt | None = None
        self.base: tuple[Any, frozenset[int]] = (None, frozenset())  # a posterior, its answers
        self.belief: Any = None
        self.told: set[int] = set()  # numbers of rows that the belief knows
        self.shape: _Shape | None = None  # of the belief
        self.job: Future[_Learnt] | None = None
        self.job_shape: _Shape | None = None
        self.refit, self.settled = False, False
        self.changed = True  # since the queue was filled
        self.filled: dict[str, int] = {}  # by purpose, when it was
        self.job_ended = self.summed = 0.0
        self.cost_of_job = self.cost_of_summary = 0.0
        self.summed_rows = -1
        self.rng = np.random.default_rng()
        self._restore()

    def step(self) -> bool:
        """Do what there is to do; whether there was something."""
        self._read()
        worked = self._adopt() | self._fold()
        # First what people look at: a job would take the processor from it.
        worked |= self._summarise()
        self._start_job()
        if self.changed or self._few_waiting():
            self._fill()
            worked = True
        return worked

    # Answers

    def _read(self) -> None:
        """Take in what is new in the store."""
        if time.monotonic() - self.looked > FACTS:
            self._read_facts()
        for row in self.store.given_after(self.study_id, self.last):
            if row.id not in self.rows:
                self.rows[row.id] = row
                self.last = max(self.last, row.id)
                self.undos |= row.kind == "undo"
        if self.undos:
            self.undos, gone = False, set[int]()
            for number in sorted(self.rows, reverse=True):
                row = self.rows[number]
                if row.kind == "undo" and number not in gone and row.undoes is not None:
                    gone.add(row.undoes)
            self.undone = gone

    def _read_facts(self) -> None:
        """Take in what the admin may have changed."""
        self.looked = time.monotonic()
        self.task = self.store.served_by_id(self.study_id)
        judges = self.store.judges(self.study_id)
        self.names = {each.id: each.name for each in judges}
        now = _Shape(
            tuple(self._ordered_items()),
            frozenset(each.id for each in judges if each.left_out),
            frozenset(each.id for each in judges if each.withdrawn),
        )
        if self.shape is not None and now != self.shape:
            self.refit = True
            if now.gone != self.now.gone:  # rows that we hold were emptied
                self.rows.clear()
                self.undone.clear()
                self.last = 0
        self.now = now

    def _name(self, judge_id: int) -> str:
        """Name of a judge, who may have come a moment ago."""
        if judge_id not in self.names:
            self._read_facts()
        return self.names[judge_id]

    def _ordered_items(self) -> list[int]:
        """Ids of the items; by name if there are no features, as `rank_answers` has them."""
        items = list(self.task.items.values())
        if any(each.features for each in items):
            return [each.id for each in items]
        return [each.id for each in sorted(items, key=lambda each: each.key)]

    def _given(self) -> tuple[GivenRow, ...]:
        """Answers that count, of all kinds, in order."""
        return tuple(
            self.rows[number]
            for number in sorted(self.rows)
            if self.rows[number].kind in ("pair", *NOT_PAIRED) and number not in self.undone
        )

    def _weight(self, row: GivenRow) -> float:
        """Repeats, and judges who are left out, have none; pairs of a set less than one."""
        none = row.purpose == "repeat" or row.judge_id in self.now.out
        return 0.0 if none else row.weight

    def _ratings(self, given: Sequence[GivenRow]) -> _Ratings | None:
        """Ratings that count; None unless they differ: one level has no threshold."""
        found = self._rated(given, np.array(LEVELS))
        return None if found is None or len(set(found[1])) < 2 else found

    def _rated(self, given: Sequence[GivenRow], levels: np.ndarray | None) -> _Ratings | None:
        """Names of rated items, and their ratings, of some levels; None if there are none."""
        known = [] if levels is None else levels.tolist()
        rated = [
            (self.task.items[row.left or 0].key, int(row.value or 0))
            for row in given
            if row.kind == "rating" and row.value in known and self._weight(row)
        ]
        return ([name for name, _ in rated], [level for _, level in rated]) if rated else None

    def _fold(self) -> bool:
        """Tell the belief what it does not know; take back what was undone."""
        if self.belief is None or self.shape != self.now:
            return False
        known = self.base[1]
        if known & self.undone:
            self.refit = True
        if (self.told - known) & self.undone:  # start again from the last fit or update
            self.belief, self.told = self.base[0], set(known)
        every = [row for row in self._given() if row.id not in self.told]
        if self._new_level(every):
            self.refit = True
        new = [row for row in every if row.kind == "pair"]
        if not new or not self._can_tell():
            return False
        classes = set(self.belief.classes_.tolist())
        if any(int(row.value or 0) not in classes for row in new):
            self.refit = True  # the first tie
        told = [r for r in new if self._weight(r) and int(r.value or 0) in classes]
        if told:
            place = {number: k for k, number in enumerate(self.now.keys)}
            self.belief = self.belief.told(
                [[place[r.left or 0], place[r.right or 0]] for r in told],
                [int(r.value or 0) for r in told],
                [self._name(r.judge_id) for r in told],
            )
            self.changed = True
        self.told.update(row.id for row in new)
        return bool(told)

    def _new_level(self, new: Sequence[GivenRow]) -> bool:
        """Whether there are ratings that the model has no thresholds for."""
        if self.learnt is None or not any(row.kind == "rating" for row in new):
            return False
        ratings = self._ratings((*self.learnt.rows, *new))
        levels = self.learnt.model.rating_levels_
        return ratings is not None and not set(ratings[1]) <= set(
            [] if levels is None else levels.tolist()
        )

    def _can_tell(self) -> bool:
        """Whether answers can be folded in; of too many items only a model is at hand."""
        return isinstance(self.belief, Snapshot)

    # Fits and updates

    def _start_job(self) -> None:
        """Begin a fit or an update if one is due and none is running."""
        if self.job is not None:
            return
        given = self._given()
        known = 0 if self.learnt is None else len(self.learnt.rows)
        fresh, waited = len(given) - known, time.monotonic() - self.job_ended
        quiet = SOON if any(row.kind != "pair" for row in given[known:]) else QUIET
        if waited < self.cost_of_job and not self.refit:
            return  # half of the time is for the questions
        if self._fit_due(given) or (self.refit and given):
            self.refit, self.job_shape = False, self.now
            self.job = self.pool.submit(self._fitted, given)
        elif self.learnt is not None and (fresh >= UPDATE or (fresh > 0 and waited > quiet)):
            self.job_shape = self.now
            self.job = self.pool.submit(self._updated, self.learnt, given)

    def _fit_due(self, given: Sequence[GivenRow]) -> bool:
        if self.learnt is None:
            count = len(given)
            return count >= FIRST_FIT or len(compared_rows(given)) >= FIRST_PAIRS
        return len(given) >= self._next_fit

    @property
    def _next_fit(self) -> int:
        """Number of answers at which the next fit is due."""
        done = self._fitted_at
        return max(2 * done, FIRST_FIT) if done < MANY else done + done // 10

    def _fitted(self, given: Sequence[GivenRow]) -> _Learnt:
        """A fit to answers, the same as `rank_answers` makes of their export."""
        began, pairs = time.thread_time(), compared_rows(given)
        model = self._model(pairs, [self._weight(row) for row in pairs], self._ratings(given))
        belief = _lighter(believed(model))
        halves, spent = None, time.thread_time() - began
        heard = {row.judge_id for row in pairs if self._weight(row)}
        if len(heard) >= CAMPS and spent < QUICK:
            halves = self._halves(pairs)
        beside = self._beside(given)
        found = _Learnt("fit", model, belief, tuple(given), 0.0, halves, beside)
        return self._looked_at(found, began)

    def _model(
        self,
        pairs: Sequence[GivenRow],
        weights: list[float],
        ratings: _Ratings | None,
    ) -> PreferenceGP:
        """A model that is fitted to answers."""
        value, judges = self._said(pairs)
        own = 1 < len(set(judges)) <= OWN_NOISE
        items, key = self._frame()
        return PreferenceGP(
            items, key=key, ties=0 in value, grades=max([1, *map(abs, value)])
        ).fit(
            self._named(pairs), value, judges=judges if own else None, sample_weight=weights,
            ratings=ratings,
        )  # fmt: skip

    def _said(self, pairs: Sequence[GivenRow]) -> tuple[list[int], list[str]]:
        """Answers to pairs, and who gave them."""
        judges = [self._name(row.judge_id) for row in pairs]
        return [int(row.value or 0) for row in pairs], judges

    def _beside(self, given: Sequence[GivenRow]) -> tuple[dict[str, int], ...]:
        """Places by the answers of all judges, by another fit; none if none is left out."""
        out = self.now.out
        if not any(row.judge_id in out for row in given):
            return ()
        pairs = compared_rows(given)
        weights = [0.0 if row.purpose == "repeat" else row.weight for row in pairs]
        rated = [row._replace(judge_id=0) for row in given]  # nobody, who is not left out
        mean = believed(self._model(pairs, weights, self._ratings(rated))).utility()[0]
        order = np.argsort(-mean, kind="stable").tolist()
        return tuple({"id": self.now.keys[k], "rank": r} for r, k in enumerate(order, 1))

    def _halves(self, pairs: Sequence[GivenRow]) -> dict[str, Any]:
        """How far rankings by halves of the judges agree: camps are seen here alone."""
        weights = [self._weight(row) for row in pairs]
        found = split_half(self._named(pairs), *self._said(pairs), weights=weights)
        return _finite({"mean": found.pearson, **asdict(found)})

    def _updated(self, learnt: _Learnt, given: Sequence[GivenRow]) -> _Learnt:
        """The posterior at the parameters of the last fit."""
        began, known = time.thread_time(), {row.id for row in learnt.rows}
        new = [row for row in given if row.id not in known]
        classes = set(learnt.model.classes_.tolist())
        pairs = [r for r in compared_rows(new) if int(r.value or 0) in classes]
        value, judges = self._said(pairs)
        model = copy(learnt.model).update(
            self._named(pairs), value, sample_weight=[self._weight(row) for row in pairs],
            judges=None if learnt.model.judges_ is None else judges,
            ratings=self._rated(new, learnt.model.rating_levels_),
        )  # fmt: skip
        belief = _lighter(believed(model))
        left_out = {row.id for row in new if row.kind == "pair"} - {row.id for row in pairs}
        rows = (*learnt.rows, *(row for row in new if row.id not in left_out))
        found = learnt._replace(kind="update", model=model, belief=belief, rows=rows)
        return self._looked_at(found, began)

    def _looked_at(self, found: _Learnt, began: float) -> _Learnt:
        """With what judges and items are like, and what all of it cost."""
        judged, misfits = self._judges(found)
        found = found._replace(judged=judged, misfits=misfits, worths=self._worths(found))
        return found._replace(seconds=time.thread_time() - began)

    def _worths(self, found: _Learnt) -> tuple[dict[str, Any], ...]:
        """What features are worth, while covariances of all items are at hand."""
        items, names = self._features()
        if (
            not names
            or not isinstance(found.belief, Snapshot)
            or len(items) > len(found.belief)
        ):
            return ()  # an item came meanwhile: the next fit knows it
        columns = np.array([[each.features.get(name, 0.0) for name in names] for each in items])
        return tuple(each._asdict() for each in feature_worths(found.belief, columns, names))

    def _named(self, given: Sequence[GivenRow]) -> list[list[str]]:
        items = self.task.items
        return [[items[r.left or 0].key, items[r.right or 0].key] for r in given]

    def _frame(self) -> tuple[Any, str | None]:
        """Names of the items, or a data frame of names and features."""
        items, names = self._features()
        if not names:
            return np.array([each.key for each in items]), None
        columns: dict[str, list[Any]] = {KEY: [each.key for each in items]}
        for name in names:
            columns[name] = [each.features.get(name, 0.0) for each in items]
        return nw.from_dict(columns, backend="polars").to_native(), KEY

    def _features(self) -> tuple[list[ServedItem], list[str]]:
        """The items in the order of the model, and the names of their features."""
        items = [self.task.items[number] for number in self.now.keys]
        return items, sorted({name for each in items for name in each.features})

    def _adopt(self) -> bool:
        """Take what a job has brought."""
        if self.job is None or not self.job.done():
            return False
        job, self.job = self.job, None
        self.learnt = job.result()
        self.shape, self.belief = self.job_shape, self.learnt.belief
        self.told = {row.id for row in self.learnt.rows}
        self.base = self.belief, frozenset(self.told)
        self.job_ended, self.cost_of_job = time.monotonic(), self.learnt.seconds
        self.changed = True
        if self.shape != self.now:  # an item came, or a judge went, while it was made
            self.refit = True
            return True
        if self.learnt.kind == "fit":
            self._fitted_at = len(self.learnt.rows)
            self._fold()
            self._summarise(fit=True)
        return True

    # Questions

    def _few_waiting(self) -> bool:
        if self.belief is None:
            return False
        waiting = self.store.waiting(self.study_id)
        return any(waiting.get(what, 0) < count // 2 for what, count in self.filled.items())

    def _fill(self) -> None:
        """Put the best questions into the queue, and random ones for checks."""
        self.changed = False
        if self.belief is None or self.shape != self.now or len(self.task.active) < 2:
            return
        if self.task.settings.kind == "rating":  # asked by what is known of each item
            return
        judges = max(1, self.store.active_judges(self.study_id, moment(-SEEN)))
        wanted = max(FEWEST, EACH * judges)
        place = {number: k for k, number in enumerate(self.now.keys)}
        taken = {pair_of(place[a], place[b]) for a, b in self.store.reserved(self.study_id)}
        taken |= self._asked_by_all(judges, place)
        random = self._random_pairs(wanted, place, self.rng)
        chosen = self._best(wanted, judges, taken, place, self.rng)
        self._queue("check", random[: max(16, wanted // 4)])
        self._queue("chosen", chosen)

    def _queue(self, purpose: str, pairs: Any) -> None:
        pairs = np.asarray(pairs, dtype=np.intp).reshape(-1, 2)
        proba = self.belief.predict_proba(pairs) if len(pairs) else ()
        rows = [
            (self.now.keys[i], self.now.keys[j], [round(float(each), 9) for each in p])
            for (i, j), p in zip(pairs.tolist(), proba, strict=True)
        ]
        self.store.replace_queue(self.study_id, purpose, rows)
        self.filled[purpose] = len(rows)

    def _asked_by_all(self, judges: int, place: dict[int, int]) -> set[tuple[int, int]]:
        """Pairs that as many judges have answered as there are: nobody may get them."""
        by: Counter[tuple[int, int]] = Counter()
        said = {
            (pair_of(r.left or 0, r.right or 0), r.judge_id)
            for r in compared_rows(self._given())
        }
        by.update(pair for pair, _ in said)
        found = (pair for pair, count in by.items() if count >= judges)
        return {pair_of(place[a], place[b]) for a, b in found}

    def _best(
        self,
        wanted: int,
        judges: int,
        taken: set[tuple[int, int]],
        place: dict[int, int],
        rng: np.random.Generator,
    ) -> np.ndarray:
        """The best questions, and behind them random ones."""
        top = min(self.task.settings.top, len(self.task.active) - 1)
        groups = {each.group for each in self.task.items.values()}
        candidates: Any = np.array([place[i] for i in self.task.active])
        if groups != {None}:
            candidates = self._random_pairs(20_000, place, rng)
        exclude = np.array(sorted(taken)).reshape(-1, 2) if taken else None
        more = self._random_pairs(wanted, place, rng)
        for few in (min(wanted, 2 * judges + 2), 2, 1):
            try:
                best = next_pair(
                    self.belief, "top" if top else "order", candidates, batch=few,
                    random_state=rng, k=max(top, 1), exclude=exclude,
                )  # fmt: skip
            except ValueError:  # fewer pairs are left than wanted
                continue
            best = np.asarray(self.belief.item_numbers(best), dtype=np.intp)
            return np.concatenate([best, more[: wanted - few]])
        return more

    def _random_pairs(
        self, count: int, place: dict[int, int], rng: np.random.Generator
    ) -> np.ndarray:
        """Different random pairs of items that are asked about, within groups."""
        active = np.array(self.task.active)
        group = [self.task.items[i].group for i in active.tolist()]
        if len(active) ** 2 <= 8 * count:
            i, j = np.triu_indices(len(active), 1)
            order = rng.permutation(len(i))
            i, j = i[order], j[order]
        else:
            i, j = rng.integers(0, len(active), (2, 2 * count))
        found = {
            pair_of(int(a), int(b)): None
            for a, b in zip(i, j, strict=True)
            if a != b and group[a] == group[b]
        }
        pairs = [[place[int(active[a])], place[int(active[b])]] for a, b in list(found)[:count]]
        return np.array(pairs, dtype=np.intp).reshape(-1, 2)

    # What is said

    def _summarise(self, fit: bool = False) -> bool:
        """Store what the pages show, if something changed and it is time."""
        count = len(self._given())
        if self.belief is None or self.shape != self.now or self.learnt is None:
            return False
        waited = time.monotonic() - self.summed
        due = count != self.summed_rows and waited > max(BETWEEN, self.cost_of_summary / SHARE)
        if not (due or fit):
            return False
        began = time.thread_time()  # what it costs, however busy the machine is
        summary = self._summary(fit)
        state = packed(self.belief, self.told, self.now.keys, self._fitted_at) if fit else None
        kind = "fit" if fit else "update"
        self.store.put_snapshot(
            self.study_id, kind, self.last, summary, state, self.learnt.seconds
        )
        self.summed, self.summed_rows = time.monotonic(), count
        self.cost_of_summary = time.thread_time() - began
        return True

    def _summary(self, fit: bool) -> dict[str, Any]:
        given = self._given()
        standing = self._standing(given, fit)
        return {
            "answers": len(given), "last": self.last, "made": moment(), "kind": "fit" if fit
            else "update", "items": self._places(given), "top": len(standing.best),
            "probability": standing.probability, "wrong": standing.wrong,
            "short": standing.short, "sentence": standing.sentence,
            "settled": standing.settled, "trust": self._trust_page(given, standing.trust),
            "judges": list(self.learnt.judged) if self.learnt else [], "notes": [],
            "halves": self.learnt and self.learnt.halves,
            "beside": list(self.learnt.beside) if self.learnt else [],
            "worths": list(self.learnt.worths) if self.learnt else [],
            "separation": _separation(*self.belief.utility()),
        }  # fmt: skip

    def _places(self, given: Sequence[GivenRow]) -> list[dict[str, Any]]:
        """The items in order, retired ones left out, as `rank_answers` has them."""
        mean, sd = self.belief.utility()
        top = min(max(self.task.settings.top, 1), len(mean) - 1)
        if self._can_tell():
            places, best = intervals_and_members(self.belief, LEVEL, top, random_state=0)
        else:
            places, best = _separate_places(mean, sd, top)
        asked = Counter(i for row in given for i in row.items)
        misfits = (self.learnt and self.learnt.misfits) or (None,) * len(mean)
        return [
            {
                "id": self.now.keys[k], "rank": rank, "utility": float(mean[k]),
                "sd": float(sd[k]), "first": int(places[k, 0]), "last": int(places[k, 1]),
                "answers": asked[self.now.keys[k]], "p_best": float(best[k]),
                "misfit": misfits[k],
            }
            for rank, k in enumerate(np.argsort(-mean, kind="stable").tolist(), 1)
        ]  # fmt: skip

    def _standing(self, given: Sequence[GivenRow], fit: bool) -> Standing:
        """How far the goal is; settled only by a fit to all answers, as in `Session`."""
        settings, n, m = self.task.settings, len(self.now.keys), len(given)
        top = min(settings.top, n - 1)
        if top:
            event = "but-one" if top > 1 else "exact"
            probability = top_k_probability(self.belief, top, DRAWS, 0, event=event)
        else:
            known = self._can_tell()
            probability = probability_of_order(self.belief) if known else 0.0
        mean = self.belief.utility()[0]
        keys = [self.task.items[self.now.keys[k]].title for k in np.argsort(-mean)[:top]]
        trust = self._trust(given)
        reached = m >= n and trust.settled(probability, settings.level)
        if fit and self.learnt is not None and len(self.learnt.rows) == m:
            self.settled = reached
        elif reached and not self.settled and m % LOOK == 0:
            self.refit = True  # to be confirmed by a fit to all answers
        elif not reached:
            self.settled = False
        wrong = 2.0 * float(expected_rank_changes(self.belief, 0)) / (n * (n - 1))
        tested = any(row.kind != "rating" for row in given)
        return Standing(
            m, tuple(keys), float(probability), wrong, trust, self.settled and reached, tested
        )

    def _trust(self, given: Sequence[GivenRow]) -> Trust:
        """The two tests, from the probabilities that were stored with the questions.

        Of a set the pair that the question began with is tested, if the answer compares it: a
        coin orders it either way. Ratings compare nothing.

        A pair counts where nobody has compared it before; that of a set where this judge has
        not. Some sets hold all pairs, and the coins of different judges are independent.
        """
        tested: list[tuple[GivenRow, bool]] = []
        seen: set[tuple[int, int, int]] = set()
        for row in given:
            pairs = {pair_of(r.left or 0, r.right or 0) for r in row.compared()}
            own = pair_of(row.left or 0, row.right or 0)
            who = 0 if row.kind == "pair" else row.judge_id  # 0 is anybody
            if own in pairs:
                tested.append((row, (*own, who) not in seen))
            seen |= {(*pair, who) for pair in pairs for who in (0, row.judge_id)}
        return Trust.of(
            [_probability_of_side(row) for row, _ in tested],
            [first for _, first in tested],
            [row.purpose == "check" for row, _ in tested],
        )

    def _trust_page(self, given: Sequence[GivenRow], trust: Trust) -> dict[str, Any]:
        """Checks beside what was expected of them, and the two bets."""
        checks = [r for r in given if r.purpose == "check" and r.value and r.proba]
        p = np.array([_probability_of_side(row) for row in checks])
        expected = np.maximum(p, 1.0 - p)
        right = p > 0.5
        low, high = _wilson(int(right.sum()), len(p))
        return {
            "contradicted": trust.contradicted, "warning": trust.warning,
            "better_than_coin": trust.better_than_coin,
            "checks": {
                "count": trust.n_checks, "right": float(right.mean()) if len(p) else None,
                "low": low, "high": high,
                "expected": float(expected.mean()) if len(p) else None,
                "log_score": float(-np.log(p).mean()) if len(p) else None,
            },
            "bins": _calibration(expected, right),
            "tests": {
                "against_coin": trust.log_peak, "against_model": trust.log_against_model,
                "threshold": float(np.log(50.0)),
            },
        }  # fmt: skip

    def _judges(
        self, learnt: _Learnt
    ) -> tuple[tuple[dict[str, Any], ...], tuple[float | None, ...]]:
        """What each judge's answers are like, and how odd each item is."""
        classes = set(learnt.model.classes_.tolist())
        known = [r for r in compared_rows(learnt.rows) if int(r.value or 0) in classes]
        if not known:
            return (), ()
        seconds = [np.nan if row.seconds is None else row.seconds for row in known]
        answers = GivenAnswers(
            np.asarray(learnt.belief.item_numbers(self._named(known)), dtype=np.intp),
            np.array([int(r.value or 0) for r in known]),
            np.array([self._name(r.judge_id) for r in known]),
            np.array([0.0 if r.purpose == "repeat" else r.weight for r in known]),
            np.array([self._weight(r) for r in known]),
            np.array(seconds), True,
        )  # fmt: skip
        found = judge_summaries(learnt.belief, learnt.model, answers)
        odd = item_misfits(learnt.belief, learnt.model.classes_, answers)
        misfits = tuple(each if np.isfinite(each) else None for each in odd.tolist())
        return tuple(_finite(asdict(each)) for each in found), misfits

    # Starting again

    _fitted_at = 0  # answers at the last fit

    def _restore(self) -> None:
        """Go on from the newest fit of the store, without fitting."""
        self._read()
        kept = self.store.newest_fit(self.study_id)
        if kept is None:
            return
        try:
            belief, told, keys, count = unpacked(kept[1])
        except (ValueError, KeyError, OSError):
            return  # of another version: the next fit replaces it
        if keys != self.now.keys:
            return
        self.belief, self.told, self.shape = belief, told, self.now
        self.base = belief, frozenset(told)
        self._fitted_at = count
        self.settled = bool(kept[0].get("settled"))
        self.refit = True  # soon, but questions come before


def _lighter(belief: Any) -> Any:
    """A snapshot without the ratios that hardly count; it is faster in proportion."""
    if not isinstance(belief, Snapshot):
        return belief
    kept = belief.weights > LIGHT
    return replace(
        belief, ratios=belief.ratios[kept], slope=belief.slope[kept],
        weights=belief.weights[kept] / belief.weights[kept].sum(),
        mean=belief.mean[kept], cov=belief.cov[kept],
        sites=None if belief.sites is None else belief.sites.at(kept),
    )  # fmt: skip


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    """A row without NaN and infinity, which JSON does not have."""
    return {
        key: None if isinstance(value, float) and not np.isfinite(value) else value
        for key, value in row.items()
    }


def _separation(mean: np.ndarray, sd: np.ndarray) -> float | None:
    """Scale separation reliability; None where nothing varies."""
    found = scale_separation(mean, sd, posterior=True)
    return found if np.isfinite(found) else None


def _separate_places(
    mean: np.ndarray, sd: np.ndarray, top: int
) -> tuple[np.ndarray, np.ndarray]:
    """Intervals of places, (n, 2), and P(in the best k), as if utilities were independent.

    The covariances of more than 2000 items take too much memory. Those of items that were
    seldom compared are small.
    """
    rng = np.random.default_rng(0)
    drawn = mean + sd * rng.standard_normal((SEPARATE, len(mean)))
    places = 1 + np.argsort(np.argsort(-drawn, axis=1), axis=1)
    tails = [0.5 - LEVEL / 2, 0.5 + LEVEL / 2]
    low, high = np.quantile(places.astype(np.int32), tails, axis=0)
    between = np.column_stack([np.floor(low), np.ceil(high)]).astype(int)
    return between, np.mean(places <= top, axis=0)


def _probability_of_side(row: GivenRow) -> float:
    """What the model gave to the side that was taken; one half for a tie."""
    if not row.value or not row.proba:
        return 0.5
    half = len(row.proba) // 2
    right, left = sum(row.proba[:half]), sum(row.proba[-half:])
    p = (left if row.value > 0 else right) / (left + right)
    return min(max(p, 1e-9), 1.0 - 1e-9)  # it was rounded to nine digits


def _wilson(count: int, of: int, z: float = 1.645) -> tuple[float | None, float | None]:
    """Wilson's interval of a share, 90 %."""
    if not of:
        return None, None
    p, square = count / of, z * z
    middle = (p + square / (2 * of)) / (1 + square / of)
    half = z / (1 + square / of) * np.sqrt(p * (1 - p) / of + square / (4 * of * of))
    return float(max(0.0, middle - half)), float(min(1.0, middle + half))


def _calibration(expected: np.ndarray, right: np.ndarray) -> list[dict[str, Any]]:
    """Expected and found shares in five bins of equal width from one half to one."""
    found = []
    for k in range(5):
        low = 0.5 + 0.1 * k
        inside = (expected >= low) & (expected < low + 0.1 + (k == 4))
        if inside.any():
            found.append(
                {
                    "expected": float(expected[inside].mean()),
                    "right": float(right[inside].mean()), "count": int(inside.sum()),
                }
            )  # fmt: skip
    return found
