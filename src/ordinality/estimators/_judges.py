"""Who answered, and on which scale: the parts of the likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from .. import levels as _levels
from ..gp.likelihoods import Likelihood, Ordinal, Several, Symmetric

__all__ = ["Panel", "check_ratings"]


@dataclass(frozen=True, eq=False)
class Panel:
    """The judges (None: one, unnamed) and the order of the levels of ratings (None: none).

    The likelihood has a part for each judge, then one for ratings.
    """

    judges: np.ndarray | None
    order: _levels.Order | None

    @classmethod
    def of(cls, judges: Any, labels: Any, levels: Any) -> Panel:
        """From the columns of the data."""
        try:
            order = None if labels is None else _levels.resolve(labels, levels)
        except ValueError as error:
            raise ValueError(f"in ratings, {error}") from None
        if order is not None and order.guessed:
            raise ValueError(
                f"the ratings {order.levels.tolist()} are text without an order; state it with "
                "`levels=[...]`, lowest first."
            )
        return cls(None if judges is None else np.unique(np.asarray(judges)), order)

    @property
    def n_judges(self) -> int:
        return 1 if self.judges is None else len(self.judges)

    def places(self, judges: Any, m: int) -> np.ndarray:
        """Number of the judge of each of m answers."""
        if (judges is None) != (self.judges is None):
            raise ValueError(
                "judges must be named either for all answers, in fit and in update, or for "
                "none of them."
            )
        if self.judges is None:
            return np.zeros(m, dtype=int)
        given = np.asarray(judges)
        if given.shape != (m,):
            raise ValueError(
                f"judges has shape {given.shape}, but there are {m} pairs; name one for each."
            )
        return np.array([self.place(judge) for judge in given], dtype=int)

    def place(self, judge: Any) -> int:
        """Number of one judge."""
        known = [] if self.judges is None else self.judges.tolist()
        judge = judge.item() if hasattr(judge, "item") else judge
        if judge not in known:
            who = known or "one, unnamed"
            raise ValueError(f"there is no judge {judge!r}; the model was fitted to {who}.")
        return known.index(judge)

    def rank(self, labels: Any) -> np.ndarray:
        """Ratings as levels from 0."""
        assert self.order is not None
        return self.order.encode(labels)

    def likelihood(
        self, model: Any, part: np.ndarray, level: np.ndarray, weight: np.ndarray
    ) -> Likelihood:
        """Where learning starts: every judge alike, thresholds of ratings from frequencies."""
        noise = float(model.noise)
        # A tie is where a judge's noise decides; each further grade is one noise further.
        steps = noise * np.concatenate([[0.5] * model.ties, np.ones(model.grades - 1)])
        one = Symmetric.of(steps, ties=model.ties, sigma=noise, link=model.link)
        parts: list[Ordinal] = [one] * self.n_judges
        if self.order is not None:
            rated = part == self.n_judges
            counts = np.bincount(level[rated], weight[rated], self.order.n_levels) + 0.5
            share = np.cumsum(counts)[:-1] / counts.sum()
            thresholds = np.sqrt(1.0 + noise**2) * ndtri(share)
            parts.append(Ordinal(thresholds, noise, model.link))
        return parts[0] if len(parts) == 1 else Several(tuple(parts), part)


def check_ratings(ratings: Any) -> tuple[Any, Any]:
    """Items and labels of ``ratings=(items, labels)``; two times None without."""
    if ratings is None:
        return None, None
    if not (isinstance(ratings, (tuple, list)) and len(ratings) == 2):
        raise ValueError(
            "ratings must be a pair (items, levels): the numbers of the items that were rated, "
            "and the level that each got."
        )
    items, labels = ratings
    if np.ndim(items) != 1 or len(items) != len(labels) or not len(items):
        raise ValueError(
            f"ratings has {np.size(items)} items and {len(labels)} levels; wanted one level "
            "for each of one item or more."
        )
    return items, labels
