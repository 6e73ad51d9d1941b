"""Gradient-boosted trees of rows in partitions, grown by LightGBM on the workers of Dask.

LightGBM's Dask estimators evaluate a loss of one's own on each worker, with the rows that are
there. Only the thresholds need sums over all rows, and they are fixed for 25 rounds. So the
rounds between two re-fits are one estimator, which starts at the scores so far; the scores of a
partition then get its trees, and Newton steps by sums over partitions re-fit the thresholds.
Rounds, thresholds and floor are chosen as `boosting.cumulative_trees` does for rows in memory,
without the noise of a row and without a pool.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..boosting.cumulative_loss import (
    gradients,
    log_proba,
    newton_thresholds,
    threshold_terms,
    thresholds_of_shares,
)
from ..boosting.cumulative_trees import (
    FLOORS,
    REFIT_EVERY,
    REFIT_STEPS,
    CumulativeTrees,
    Growth,
    Settings,
    level_frequencies,
)
from ..boosting.forest import Forest, forests_of, gains_of
from .cluster import computed, dask_module, persisted
from .partitions import Part, PartitionedRows, mapped, summed

__all__ = ["StageLoss", "check_workers", "grow_partitions"]

_NONE = np.empty(0)  # no scores of the noise


def check_workers(client: Any) -> None:
    """Refuse to begin without a cluster, or with a worker that has no LightGBM."""
    if client is None:
        raise ValueError(
            "OrdinalTrees learns from Dask collections on the workers of a cluster, and there "
            "is no Dask client; make one, for instance distributed.Client(), or pass the rows "
            "in memory, for instance X.compute()."
        )
    for worker, has in client.run(_has_lightgbm).items():
        if not has:
            raise ModuleNotFoundError(
                f"worker {worker} has no LightGBM, which grows the trees; run there: "
                "pip install 'ordinality[trees,dask]'.",
                name="lightgbm",
            )


def _has_lightgbm() -> bool:
    return find_spec("lightgbm") is not None


def grow_partitions(
    rows: PartitionedRows,
    totals: np.ndarray,
    share: float | None,
    settings: Settings,
    log: Any,
) -> Growth:
    """Fit trees to encoded partitions, of which a share of each level chooses the rounds.

    ``totals`` is the weight of each level, (K,); ``log`` as in `boosting.cumulative_trees`.
    """
    seen = np.flatnonzero(totals)
    rows = replace(rows, parts=mapped(rows, _placed, seen)).persist()
    frequencies = level_frequencies(totals)
    rounds, floor, history = settings.rounds, float(FLOORS[0]), _NONE
    if share is not None:
        seed = settings.parameters["seed"]
        learnt, held = (
            replace(rows, parts=mapped(rows, _split, share, seed, part)).persist()
            for part in (False, True)
        )
        rounds, floor, history = _chosen(learnt, held, frequencies[seen], settings, log)
    model = _Staged(rows, settings)
    while model.round < rounds:
        model.advance(min(REFIT_EVERY, rounds - model.round))
        log.step("round %d of %d on all rows", model.round, rounds)
    log.stage("%d rounds on all rows", rounds)
    trees = CumulativeTrees(
        model.forest, None, model.thresholds, (), 1.0, floor, frequencies, seen
    )
    return Growth(trees, rounds, model.gains, history)


# ---------------------------------------------------------------- stages of fixed thresholds


@dataclass(frozen=True, eq=False)
class StageLoss:
    """Derivatives of the cumulative loss at given thresholds, as LightGBM calls for them."""

    thresholds: np.ndarray

    def __call__(
        self, y: np.ndarray | None, scores: np.ndarray, weights: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """First and second derivatives in the scores of the rows of one worker."""
        assert y is not None
        # LightGBM keeps labels and weights in single precision, and no weights if all are one.
        w = np.ones(len(y)) if weights is None else weights.astype(np.float64)
        f = np.asarray(scores, dtype=np.float64)
        return gradients(y.astype(np.int64), w, f, _NONE, self.thresholds, _NONE)


class _Staged:
    """Trees under way, and the scores of all rows, which stay with their partitions."""

    def __init__(self, rows: PartitionedRows, settings: Settings) -> None:
        self.settings, self.round, self.forest = settings, 0, Forest.constant()
        sizes, totals = _sizes(rows)
        # A worker that had only empty partitions would keep LightGBM waiting.
        full = np.flatnonzero(sizes).tolist()
        self.rows = replace(rows, parts=[rows.parts[i] for i in full])
        self.data = {
            name: _array(self.rows, name, sizes[full]) for name in ("X", "y", "weights")
        }
        self.sizes = sizes[full]
        self.d = int(self.data["X"].shape[1])
        self.gains = np.zeros(self.d)
        self.thresholds = thresholds_of_shares(totals)
        self.scores = persisted(mapped(self.rows, _no_scores), rows.client)

    def advance(self, rounds: int) -> Forest:
        """Re-fit the thresholds and grow trees for some rounds; the new trees alone."""
        if self.round:
            self.thresholds = newton_thresholds(self._terms, self.thresholds, REFIT_STEPS)
        booster = self._boosted(rounds)
        (new,) = forests_of(booster)
        self.gains += gains_of(booster, self.d)[0]
        self.forest = _joined(self.forest, new) if self.round else new
        self.scores = _advanced(self.rows, self.scores, new)
        self.round += rounds
        return new

    def _boosted(self, rounds: int) -> Any:
        """A trained booster of LightGBM that starts at the scores so far."""
        from lightgbm import DaskLGBMRegressor

        parameters = self.settings.parameters | {
            # Every stage would draw the same rows and columns as the first.
            "seed": self.settings.parameters["seed"] + self.round,
        }
        del parameters["num_threads"]  # those of the workers
        model = DaskLGBMRegressor(
            objective=StageLoss(self.thresholds), n_estimators=rounds, **parameters,
            client=self.rows.client,
        )  # fmt: skip
        scores = _array(self.rows, None, self.sizes, self.scores)
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            # It prints that it looks for ports, and warns that it ignores its own n_jobs.
            warnings.filterwarnings("ignore", "Parameter n_jobs will be ignored", UserWarning)
            model.fit(
                self.data["X"], self.data["y"], sample_weight=self.data["weights"],
                init_score=scores, categorical_feature=list(self.settings.categorical),
            )  # fmt: skip
        return model.booster_

    def _terms(self, thresholds: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Log-likelihood of all rows at some thresholds, with its derivatives."""
        tasks = mapped(self.rows, _terms_of, thresholds, each=self.scores)
        (found,) = computed([summed(tasks, _plus)], self.rows.client)
        return found


# ---------------------------------------------------------------- choice by held-out rows


def _chosen(
    learnt: PartitionedRows,
    held: PartitionedRows,
    frequencies: np.ndarray,  # of the levels seen
    settings: Settings,
    log: Any,
) -> tuple[int, float, np.ndarray]:
    """Rounds and floor of the best log score on held-out rows, and the score of each round."""
    model, total = _Staged(learnt, settings), _sizes(held)[1].sum()
    scores = persisted(mapped(held, _no_scores), held.client)
    best, rounds, history, kept = -np.inf, 0, np.empty(0), None
    while model.round < settings.rounds and model.round - rounds < settings.patience:
        before, done = scores, model.round
        new = model.advance(min(REFIT_EVERY, settings.rounds - model.round))
        tasks = mapped(held, _judged, new, model.thresholds, each=before)
        (found,) = computed([summed(tasks, np.add)], held.client)
        scores, found = _advanced(held, before, new), found / total
        # LightGBM drops the trees of rounds that find no split.
        history = np.append(
            history, np.pad(found, (0, model.round - done - len(found)), "edge")
        )
        if found.max() > best:
            at = int(found.argmax()) + 1
            best, rounds = float(found.max()), done + at
            kept = (replace(new, root=new.root[:at]), model.thresholds, frequencies), before
        log.step("round %d: log score %.4g", model.round, -best)
    log.stage("best after %d rounds", rounds)
    assert kept is not None  # a stage at least was grown
    tasks = mapped(held, _floored, *kept[0], each=kept[1])
    (by_floor,) = computed([summed(tasks, np.add)], held.client)
    return rounds, float(FLOORS[by_floor.argmax()]), history


# ---------------------------------------------------------------- tasks of one partition


def _placed(place: int, part: Part, seen: np.ndarray) -> Part:
    """A partition with the places of its ranks among the levels that occur."""
    return replace(part, y=np.searchsorted(seen, part.y))


def _split(place: int, part: Part, share: float, seed: int, held: bool) -> Part:
    """The rows to choose by or those to learn from, of which every level keeps one."""
    rng, chosen = np.random.default_rng([seed, place]), np.zeros(len(part.y), dtype=bool)
    for k in np.unique(part.y):
        rows = np.flatnonzero(part.y == k)
        n = min(int(share * len(rows) + rng.random()), len(rows) - 1)
        chosen[rng.permutation(rows)[:n]] = True
    taken = chosen if held else ~chosen
    return replace(part, X=part.X[taken], y=part.y[taken], weights=part.weights[taken])


def _counted(place: int, part: Part) -> tuple[int, np.ndarray]:
    return len(part.y), np.bincount(part.y, part.weights)


def _no_scores(place: int, part: Part) -> np.ndarray:
    return np.zeros(len(part.y))


def _scored(place: int, part: Part, trees: Forest, before: np.ndarray) -> np.ndarray:
    return before + trees.score(part.X)


def _terms_of(
    place: int, part: Part, thresholds: np.ndarray, f: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    return threshold_terms(part.y, part.weights, f, _NONE, thresholds)


def _judged(
    place: int, part: Part, trees: Forest, thresholds: np.ndarray, before: np.ndarray
) -> np.ndarray:
    """Weighted sum of the log-probabilities after each tree."""
    f, found = before, np.empty(len(trees.root))
    for t in range(len(found)):
        f = f + replace(trees, root=trees.root[t : t + 1]).score(part.X)
        found[t] = part.weights @ log_proba(part.y, f, _NONE, thresholds)
    return found


def _floored(
    place: int,
    part: Part,
    trees: Forest,
    thresholds: np.ndarray,
    frequencies: np.ndarray,
    before: np.ndarray,
) -> np.ndarray:
    """Weighted sum of the log-probabilities under each floor."""
    f = before + trees.score(part.X)
    p = np.exp(log_proba(part.y, f, _NONE, thresholds))
    mixed = (1 - FLOORS[:, None]) * p + FLOORS[:, None] * frequencies[part.y]
    return np.log(mixed) @ part.weights


# ---------------------------------------------------------------- arrays and sums


def _sizes(rows: PartitionedRows) -> tuple[np.ndarray, np.ndarray]:
    """Rows of each partition, and the weight of each level in all of them."""
    counted = computed(mapped(rows, _counted), rows.client)
    totals = np.zeros(max(len(weights) for _, weights in counted))
    for _, weights in counted:
        totals[: len(weights)] += weights
    return np.array([n for n, _ in counted]), totals


def _array(
    rows: PartitionedRows, name: str | None, sizes: np.ndarray, given: list[Any] | None = None
) -> Any:
    """A Dask array of a field of all partitions, or of what is given for each."""
    import dask.array as da

    take: Callable[..., Any] = dask_module().delayed(getattr)
    blocks = given if given is not None else [take(part, name) for part in rows.parts]
    if given is None:
        blocks = persisted(blocks, rows.client)
    shape = (rows.n_features,) if name == "X" else ()
    dtype = np.int64 if name == "y" else np.float64
    return da.concatenate([
        da.from_delayed(block, (int(n), *shape), dtype)
        for block, n in zip(blocks, sizes, strict=True)
    ])  # fmt: skip


def _advanced(rows: PartitionedRows, scores: list[Any], trees: Forest) -> list[Any]:
    """Scores with some trees more, started on the workers."""
    return persisted(mapped(rows, _scored, trees, each=scores), rows.client)


def _plus(one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(a + b for a, b in zip(one, other, strict=True))


def _joined(one: Forest, other: Forest) -> Forest:
    """The trees of both, in this order."""
    nodes, leaves = len(one.feature), len(one.leaf)
    moved = {
        name: getattr(other, name) + np.where(getattr(other, name) < 0, -leaves, nodes)
        for name in ("root", "left", "right")
    }
    words = np.where(other.n_words > 0, other.first_word + len(one.words), 0)
    parts = vars(other) | moved | {"first_word": words}
    return Forest(**{
        name: np.concatenate([values, parts[name]]) for name, values in vars(one).items()
    })  # fmt: skip
