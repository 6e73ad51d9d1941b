"""Gradient-boosted trees under the cumulative or the multinomial loss, grown by LightGBM.

Under the cumulative logit loss the trees see gradients and second derivatives of
`cumulative_loss`. Thresholds start at the frequencies of the levels and are re-fitted by five
Newton steps every 25 rounds: re-fitted in every round they spread too fast, and held fixed they
keep the widths of a model that knows nothing. Held-out rows choose the number of rounds, and
whether three refinements are kept:

- a second score for the log of the noise, whose steps are ten times shorter (thirty times
  beside a pool), because at equal speed it overfits first;
- a pool ``x P + (1 - x) Q`` with K - 1 boosters of the events ``y > k``, for effects that
  differ between thresholds;
- a floor ``(1 - e) P + e pi`` by the frequencies pi.

What was kept is then grown again from all rows. Under the multinomial loss each level has a
score of its own, and held-out rows choose the rounds and the floor.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from .cumulative_loss import (
    fitted_thresholds,
    gradients,
    level_proba,
    log_proba,
    scale_information,
    thresholds_of_shares,
)
from .forest import Forest, forests_of, gains_of

__all__ = [
    "FLOORS",
    "REFIT_EVERY",
    "REFIT_STEPS",
    "CumulativeTrees",
    "Growth",
    "MultinomialTrees",
    "Settings",
    "grow",
    "level_frequencies",
]

REFIT_EVERY, REFIT_STEPS = 25, 5  # rounds between re-fits of the thresholds; steps of each
_STALE = 5  # rounds for which the information of the noise, half of a round's cost, is kept
# With a level of one row or two LightGBM may add a leaf of enormous value to a multinomial
# model, from which it does not recover. Then the trees are grown again with more information in
# each leaf: on a split of nursery, one row of 9720 at a level, log score 0.003 in place of 3.3.
_LOOK, _DIVERGED = 25, 0.1  # rounds between looks at the training loss; rise of a divergence
_LIMIT = {"min_sum_hessian_in_leaf": 0.1}
_EVENT_SPEED = 2.0  # learning rate of the pool's boosters, in units of the others'
# Two models under way are compared by the log scores of held-out rows, pair by pair: one that
# is behind by so many standard errors after so many rounds is given up.
_BEHIND, _EARLIEST = 5.0, 150
_SLOWNESS, _SLOWNESS_BESIDE_POOL = 10.0, 30.0
FLOORS = np.array([1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2])
_SHARES = np.linspace(0.0, 1.0, 21)
_NONE = np.empty(0)  # no scores of the noise


@dataclass(frozen=True)
class Settings:
    """How trees are grown."""

    rounds: int  # at most
    patience: int
    scale: bool | None  # None: if held-out rows say so
    nonparallel: bool | None
    categorical: tuple[int, ...]
    parameters: dict[str, Any]  # LightGBM's
    multinomial: bool = False  # the loss; without noise score and pool


@dataclass(frozen=True, eq=False)
class CumulativeTrees:
    """Probabilities of the levels: a cumulative model, perhaps pooled, above a floor."""

    location: Forest
    log_scale: Forest | None
    thresholds: np.ndarray  # (L-1,), ascending
    above: tuple[Forest, ...]  # log odds of y > k, L-1 of them; none without a pool
    share: float  # of the cumulative model in the pool
    floor: float
    frequencies: np.ndarray  # (K,), positive
    seen: np.ndarray  # (L,), the levels that the rows learnt from have; L = K if all

    def proba(self, X: np.ndarray) -> np.ndarray:
        """Probability of every level, shape (n, K)."""
        log_s = _NONE if self.log_scale is None else self.log_scale.score(X)
        proba = level_proba(self.location.score(X), log_s, self.thresholds)
        if self.above:
            events = expit(np.column_stack([forest.score(X) for forest in self.above]))
            proba = self.share * proba + (1 - self.share) * _levels_of(events)
        return _above_floor(proba, self)


@dataclass(frozen=True, eq=False)
class MultinomialTrees:
    """Probabilities of the levels: softmax of a score for each level seen, above a floor."""

    scores: tuple[Forest, ...]  # L of them
    floor: float
    frequencies: np.ndarray  # (K,), positive
    seen: np.ndarray  # (L,)

    def proba(self, X: np.ndarray) -> np.ndarray:
        """Probability of every level, shape (n, K)."""
        scores = np.column_stack([forest.score(X) for forest in self.scores])
        return _above_floor(softmax(scores, axis=1), self)


def _above_floor(proba: np.ndarray, trees: CumulativeTrees | MultinomialTrees) -> np.ndarray:
    """Probabilities of all levels from those of the levels seen."""
    every = np.zeros((len(proba), len(trees.frequencies)))
    every[:, trees.seen] = (1 - trees.floor) * proba
    return every + trees.floor * trees.frequencies


@dataclass(frozen=True, eq=False)
class Growth:
    """A fitted model, and what was seen on the way."""

    trees: CumulativeTrees | MultinomialTrees
    rounds: int  # of the scores
    gains: np.ndarray  # (d,), by how much the cuts of each feature lowered the loss
    history: np.ndarray  # log score of the held-out rows after each round


def grow(
    X: np.ndarray,
    y: np.ndarray,
    n_levels: int,
    weights: np.ndarray,
    held: np.ndarray,
    settings: Settings,
    log: Any,
) -> Growth:
    """Fit trees to ranks ``0..K-1``; ``held`` is the share of each row's weight to choose by.

    The rest of the weights must hold all levels that occur.
    ``log`` has functions ``stage`` and ``step`` that take a text and values.
    """
    seen, places = np.unique(y, return_inverse=True)
    rows = _Rows(X, places, weights, settings)
    frequencies = level_frequencies(np.bincount(y, weights, n_levels))
    if settings.multinomial:
        return _grown_scores(rows, held, frequencies, seen, log)
    if not _varies(X):  # LightGBM refuses rows that are all alike
        thresholds = thresholds_of_shares(np.bincount(places, weights))
        trees = CumulativeTrees(
            Forest.constant(), None, thresholds, (), 1.0, float(FLOORS[0]), frequencies, seen
        )
        return Growth(trees, 0, np.zeros(X.shape[1]), _NONE)
    plan = _planned(rows, held, frequencies[seen], settings, log)
    binned = rows.binned()  # of all boosters in turn: each sets its labels
    model = _Cumulative(binned, settings, plan.slowness)
    for _ in range(plan.rounds):
        model.advance()
    above = []
    for k, rounds in enumerate(plan.event_rounds):
        event = _Event(binned, settings, k)
        for _ in range(rounds):
            event.advance()
        above += forests_of(event.booster)
    log.stage("%d rounds on all rows", plan.rounds)
    location, *scale = forests_of(model.booster)
    trees = CumulativeTrees(
        location, scale[0] if scale else None, model.thresholds, tuple(above), plan.share,
        plan.floor, frequencies, seen,
    )  # fmt: skip
    return Growth(trees, plan.rounds, gains_of(model.booster, X.shape[1])[0], plan.history)


def _grown_scores(
    rows: _Rows, held: np.ndarray, frequencies: np.ndarray, seen: np.ndarray, log: Any
) -> Growth:
    """The model of the multinomial loss."""
    d = rows.X.shape[1]
    if not _varies(rows.X):  # LightGBM refuses rows that are all alike
        shares = np.bincount(rows.y, rows.weights) / rows.weights.sum()
        constant = tuple(Forest.constant(float(np.log(share))) for share in shares)
        trees = MultinomialTrees(constant, float(FLOORS[0]), frequencies, seen)
        return Growth(trees, 0, np.zeros(d), _NONE)
    settings = rows.settings
    plan = _Plan(settings.rounds)
    learnt = rows.take(np.flatnonzero(held < 1), 1 - held)
    if np.any(held) and _varies(learnt.X):
        plan = _planned_scores(
            learnt, rows.take(np.flatnonzero(held > 0), held), frequencies[seen], log
        )
    model = _Multinomial(rows.binned(), settings)
    if not model.advance_soundly(plan.rounds):
        log.stage("diverged after %d rounds; grown again with a limit", model.round)
        settings = replace(settings, parameters=settings.parameters | _LIMIT)
        model = _Multinomial(rows.binned(), settings)
        model.advance_soundly(plan.rounds)
    log.stage("%d rounds on all rows", model.round)
    trees = MultinomialTrees(tuple(forests_of(model.booster)), plan.floor, frequencies, seen)
    return Growth(trees, model.round, gains_of(model.booster, d).sum(axis=0), plan.history)


# ---------------------------------------------------------------- rows and boosters


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows to learn from."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    settings: Settings

    def take(self, index: np.ndarray, share: np.ndarray) -> _Rows:
        """Some of the rows, with a share of their weights."""
        weights = (self.weights * share)[index]
        return _Rows(self.X[index], self.y[index], weights, self.settings)

    def binned(self, like: _Binned | None = None) -> _Binned:
        """The rows as LightGBM holds them; rows to be judged in the bins of those learnt."""
        import lightgbm

        data = lightgbm.Dataset(
            self.X,
            label=self.y,
            weight=self.weights,
            reference=None if like is None else like.data,
            categorical_feature=list(self.settings.categorical),
            params=self.settings.parameters,
        )
        return _Binned(data, self.y, self.weights)


@dataclass(frozen=True, eq=False)
class _Binned:
    data: Any  # lightgbm.Dataset
    y: np.ndarray
    weights: np.ndarray


class _Boosted:
    """A booster under way, with the rows it learns from and those it is judged by."""

    def __init__(
        self, rows: _Binned, settings: Settings, held: _Binned | None, **more: Any
    ) -> None:
        import lightgbm

        self.rows, self.held, self.round = rows, held, 0
        self.booster = lightgbm.Booster(settings.parameters | more, rows.data)
        if held is not None:
            self.booster.add_valid(held.data, "held")

    def held_scores(self) -> np.ndarray:
        """Scores of the held-out rows, as LightGBM keeps them."""
        found = []

        def keep(scores: np.ndarray, _: Any) -> tuple[str, float, bool]:
            found.append(scores)
            return "", 0.0, True

        self.booster.eval_valid(keep)
        return found[0]


class _Cumulative(_Boosted):
    """The score that thresholds cut; with ``slowness``, one for the noise too."""

    def __init__(
        self, rows: _Binned, settings: Settings, slowness: float, held: _Binned | None = None
    ) -> None:
        more = {"objective": "none", "num_class": 2 if slowness else 1, "metric": "none"}
        super().__init__(rows, settings, held, **more)
        self.slowness, self.information = slowness, _NONE
        self.thresholds = thresholds_of_shares(np.bincount(rows.y, rows.weights))

    def advance(self) -> None:
        """Add a tree to every score."""
        self.booster.update(fobj=self._gradients)
        self.round += 1

    def judged(self) -> tuple[np.ndarray, np.ndarray]:
        """Log-probability of each held-out row's level, twice: judged by it, and kept."""
        assert self.held is not None
        found = log_proba(self.held.y, *self._parts(self.held_scores()), self.thresholds)
        return found, found

    def _parts(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return (scores[:, 0], scores[:, 1]) if self.slowness else (scores, _NONE)

    def _gradients(self, scores: np.ndarray, _: Any) -> tuple[np.ndarray, np.ndarray]:
        y, weights = self.rows.y, self.rows.weights
        parts = self._parts(scores)
        if self.round and self.round % REFIT_EVERY == 0:
            self.thresholds = fitted_thresholds(
                y, weights, *parts, self.thresholds, REFIT_STEPS
            )
        if self.slowness and self.round % _STALE == 0:
            self.information = self.slowness * scale_information(*parts, self.thresholds)
        return gradients(y, weights, *parts, self.thresholds, self.information)


class _Event(_Boosted):
    """The log odds of ``y > k``."""

    def __init__(
        self, rows: _Binned, settings: Settings, k: int, held: _Binned | None = None
    ) -> None:
        self.k = k
        rows.data.construct().set_label(rows.y > k)
        if held is not None:
            held.data.construct().set_label(held.y > k)
        rate = _EVENT_SPEED * settings.parameters["learning_rate"]
        more = {"objective": "binary", "metric": "none", "learning_rate": rate}
        super().__init__(rows, settings, held, **more)

    def advance(self) -> None:
        """Add a tree."""
        self.booster.update()
        self.round += 1

    def judged(self) -> tuple[np.ndarray, np.ndarray]:
        """Log-probability of what each held-out row shows, and the probability of the event."""
        assert self.held is not None
        p = self.held_scores().copy()
        return np.log(np.maximum(np.where(self.held.y > self.k, p, 1 - p), 1e-300)), p


class _Multinomial(_Boosted):
    """A score for each level; their softmax are the probabilities."""

    def __init__(self, rows: _Binned, settings: Settings, held: _Binned | None = None) -> None:
        levels = int(rows.y.max()) + 1
        more = {"objective": "multiclass", "num_class": levels, "metric": "none"}
        super().__init__(rows, settings, held, **more)

    def advance(self) -> None:
        """Add a tree to every score."""
        self.booster.update()
        self.round += 1

    def advance_soundly(self, rounds: int) -> bool:
        """Add trees; if they diverge, take those back that did, and return False."""
        least, best = np.inf, 1
        while self.round < rounds:
            self.advance()
            if self.round % _LOOK and self.round < rounds:
                continue
            loss = self._training_loss()
            if loss < least:
                least, best = loss, self.round
            elif loss > least + _DIVERGED:
                while self.round > best:
                    self.booster.rollback_one_iter()
                    self.round -= 1
                return False
        return True

    def _training_loss(self) -> float:
        """Mean negative log-probability of the levels of the rows."""
        found: list[np.ndarray] = []

        def keep(proba: np.ndarray, _: Any) -> tuple[str, float, bool]:
            found.append(proba)
            return "", 0.0, True

        self.booster.eval_train(keep)
        y, weights = self.rows.y, self.rows.weights
        p = np.nan_to_num(found[0][np.arange(len(y)), y])
        return float(-np.average(np.log(np.maximum(p, 1e-300)), weights=weights))

    def judged(self) -> tuple[np.ndarray, np.ndarray]:
        """Log-probability of each held-out row's level, twice: judged by it, and kept."""
        assert self.held is not None
        p = self.held_scores()[np.arange(len(self.held.y)), self.held.y]
        found = np.log(np.maximum(p, 1e-300))
        return found, found


# ---------------------------------------------------------------- choice by held-out rows


@dataclass(frozen=True, eq=False)
class _Plan:
    """What to grow from all rows."""

    rounds: int
    slowness: float = 0.0  # zero: no score for the noise
    event_rounds: tuple[int, ...] = ()
    share: float = 1.0
    floor: float = float(FLOORS[0])
    history: np.ndarray = field(default_factory=lambda: _NONE)


class _Watched:
    """A booster that is stopped when the log score of its held-out rows has ceased to rise."""

    def __init__(self, model: Any, settings: Settings) -> None:
        self.model, self.settings = model, settings
        self.history: list[float] = []
        self.best, self.rounds, self.kept = -np.inf, 0, _NONE

    @property
    def running(self) -> bool:
        """Whether there is hope of a better round."""
        done = self.model.round
        return done < self.settings.rounds and done - self.rounds < self.settings.patience

    def advance(self, rounds: int = 1) -> None:
        """Boost for some rounds, or fewer."""
        for _ in range(rounds):
            if not self.running:
                return
            self.model.advance()
            log_p, state = self.model.judged()
            self.history.append(float(np.average(log_p, weights=self.model.held.weights)))
            if self.history[-1] > self.best:
                self.best, self.rounds, self.kept = self.history[-1], self.model.round, state


def _raced(models: list[_Watched], log: Any) -> _Watched:
    """The better of two models, boosted in turn until both stop or one is far behind."""
    while any(model.running for model in models):
        for model in models:
            model.advance(REFIT_EVERY)
            log.step("round %d: log score %.4g", model.model.round, -model.best)
        models.sort(key=lambda model: -model.best)
        if len(models) > 1 and models[0].model.round >= _EARLIEST:
            ahead = models[0].kept - models[1].kept
            if np.mean(ahead) > _BEHIND * np.std(ahead) / np.sqrt(len(ahead)):
                models = models[:1]
    return models[0]


def _planned(
    rows: _Rows,
    held: np.ndarray,
    frequencies: np.ndarray,  # of the levels seen
    settings: Settings,
    log: Any,
) -> _Plan:
    """Rounds, refinements and floor of least loss on the held-out rows."""
    beside_pool = settings.nonparallel is not False
    slowness = _SLOWNESS_BESIDE_POOL if beside_pool else _SLOWNESS
    K = int(rows.y.max()) + 1
    learnt = rows.take(np.flatnonzero(held < 1), 1 - held)
    if not np.any(held) or not _varies(learnt.X):
        rounds, pooled = settings.rounds, settings.nonparallel is True
        return _Plan(
            rounds, slowness if settings.scale else 0.0, (rounds,) * (K - 1) * pooled,
            0.5 if pooled else 1.0,
        )  # fmt: skip
    train, test = learnt.binned(), rows.take(np.flatnonzero(held > 0), held)
    judge = test.binned(train)
    wanted = {None: (0.0, slowness), True: (slowness,), False: (0.0,)}[settings.scale]
    chosen = _raced(
        [_Watched(_Cumulative(train, settings, s, judge), settings) for s in wanted], log
    )
    slowness = chosen.model.slowness
    log.stage(
        "best after %d rounds%s",
        chosen.rounds,
        " with a score for the noise" if slowness else "",
    )
    events, other = [], _NONE
    if beside_pool:
        events = [
            _raced([_Watched(_Event(train, settings, k, judge), settings)], log)
            for k in range(K - 1)
        ]
        Q = _levels_of(np.column_stack([event.kept for event in events]))
        other = Q[np.arange(len(Q)), test.y]
    share, floor = _pooled(np.exp(chosen.kept), other, frequencies[test.y], test.weights)
    event_rounds = tuple(event.rounds for event in events) if share < 1 else ()
    return _Plan(chosen.rounds, slowness, event_rounds, share, floor, np.array(chosen.history))


def _planned_scores(learnt: _Rows, test: _Rows, frequencies: np.ndarray, log: Any) -> _Plan:
    """Rounds and floor of the multinomial loss."""
    train = learnt.binned()
    model = _Multinomial(train, learnt.settings, test.binned(train))
    chosen = _raced([_Watched(model, learnt.settings)], log)
    log.stage("best after %d rounds", chosen.rounds)
    _, floor = _pooled(np.exp(chosen.kept), _NONE, frequencies[test.y], test.weights)
    return _Plan(chosen.rounds, floor=floor, history=np.array(chosen.history))


def _pooled(
    p: np.ndarray, q: np.ndarray, frequency: np.ndarray, weights: np.ndarray
) -> tuple[float, float]:
    """Share of p in the pool, and floor, of the best log score; p and q of what was seen."""
    best = (-np.inf, 1.0, 0.0)
    for share in _SHARES if q.size else [1.0]:
        mixed = share * p + (1 - share) * q if q.size else p
        for floor in FLOORS:
            value = np.average(np.log((1 - floor) * mixed + floor * frequency), weights=weights)
            best = max(best, (float(value), float(share), float(floor)))
    return best[1], best[2]


def _varies(X: np.ndarray) -> bool:
    """Whether any column has two values; a missing one counts."""
    return bool(np.any((X[0] != X) & ~(np.isnan(X) & np.isnan(X[0]))))


def level_frequencies(totals: np.ndarray) -> np.ndarray:
    """Share of each level, never zero: one more row is spread over all of them."""
    return (totals + 1 / len(totals)) / (totals.sum() + 1)


def _levels_of(above: np.ndarray) -> np.ndarray:
    """Probabilities of the levels from those of ``y > k``, put in order where they cross."""
    above = -np.sort(-above, axis=1)
    edges = np.column_stack([np.ones(len(above)), above, np.zeros(len(above))])
    return edges[:, :-1] - edges[:, 1:]
