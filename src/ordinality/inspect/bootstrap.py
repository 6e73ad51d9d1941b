"""Standard errors of average probabilities from refits to rows drawn with replacement.

Rows are drawn within each level, so that every refit knows all levels. Each refit has a seed of
its own and is written as soon as it is done.

Efron & Tibshirani (1993), "An Introduction to the Bootstrap".
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from ordinality.levels import as_labels

from .model_inputs import column, level_proba, names_in, rows_at

__all__ = ["Refits", "averaged", "centred"]


@dataclass(frozen=True)
class Refits:
    """A model, and the rows that it is fitted to again and again."""

    model: Any
    X: Any
    y: Any
    sample_weight: Any
    count: int
    seed: int
    path: Any = None  # of a file with a line for each refit

    def roots(
        self,
        questions: Sequence[tuple[Any, int]],
        progress: Callable[[str, float], Any] = lambda what, share: None,
    ) -> list[np.ndarray]:
        """A root (count, size, K) of the covariance of averages, for each question.

        A question is a table of rows under each of several settings, and their number, size.
        """
        self._check()
        key = self._key([table for table, _ in questions]) if self.path is not None else ""
        done = self._read(key)
        for number in range(self.count):
            if number in done:
                continue
            progress(f"refit {number + 1} of {self.count}", number / self.count)
            refit = self._refit(number)
            done[number] = [
                averaged(level_proba(refit, table)[None], size)[0] for table, size in questions
            ]
            self._write(key, number, done[number])
        every = [done[number] for number in range(self.count)]
        return [centred(np.array([one[k] for one in every])) for k in range(len(questions))]

    def _check(self) -> None:
        if self.count < 2:
            raise ValueError(f"n_refits={self.count} gives no standard error; use 2 or more.")
        if len(self.y) != len(self.X):
            raise ValueError(
                f"y has {len(self.y)} labels, but X has {len(self.X)} rows; pass the rows and "
                "labels that the model was fitted to."
            )

    def _refit(self, number: int) -> Any:
        """The model fitted to rows drawn by the seed of this refit."""
        rng, labels = np.random.default_rng([self.seed, number]), as_labels(self.y)
        _, ranks = np.unique(labels, return_inverse=True)
        parts = (np.flatnonzero(ranks == rank) for rank in range(int(ranks.max()) + 1))
        drawn = np.sort(np.concatenate([rng.choice(part, len(part)) for part in parts]))
        fitted, weights = clone(self.model), {}
        if self.sample_weight is not None:
            step = f"{fitted.steps[-1][0]}__" if isinstance(fitted, Pipeline) else ""
            weights = {f"{step}sample_weight": np.asarray(self.sample_weight)[drawn]}
        return fitted.fit(rows_at(self.X, drawn), _taken(self.y, drawn), **weights)

    def _key(self, tables: Sequence[Any]) -> str:
        """What the lines of a file belong to: model, data, seed and question."""

        def cells(table: Any) -> list[np.ndarray]:
            return [column(table, j) for j in range(len(names_in(self.model, table)))]

        parts = [cells(table) for table in (self.X, *tables)]
        weights = None if self.sample_weight is None else np.asarray(self.sample_weight)
        found = joblib.hash([repr(self.model), self.seed, as_labels(self.y), weights, parts])
        return str(found)

    def _read(self, key: str) -> dict[int, list[np.ndarray]]:
        """Refits that are done. Lines that were cut off or belong to others are left out."""
        done: dict[int, list[np.ndarray]] = {}
        if self.path is None or not Path(self.path).exists():
            return done
        for line in Path(self.path).read_text(encoding="utf-8").splitlines():
            try:
                found = json.loads(line)
                if found["key"] == key:
                    done[int(found["refit"])] = [np.array(one) for one in found["proba"]]
            except (ValueError, KeyError, TypeError):
                continue
        return done

    def _write(self, key: str, number: int, proba: list[np.ndarray]) -> None:
        """Append a refit to the file."""
        if self.path is None:
            return
        line = {"key": key, "refit": number, "proba": [one.tolist() for one in proba]}
        with open(self.path, "a+b") as file:
            if file.tell():  # a line that an interrupt cut off ends here
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    file.write(b"\n")
            file.write(json.dumps(line).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())


def averaged(proba: np.ndarray, size: int) -> np.ndarray:
    """Averages over the rows of each of several settings, (b, size, K), from (b, rows, K)."""
    b, _, K = proba.shape
    return np.asarray(proba.reshape(b, size, -1, K).mean(axis=2))


def centred(draws: np.ndarray) -> np.ndarray:
    """Draws as a root of their covariance: squares sum to it over the first axis."""
    return np.asarray((draws - draws.mean(axis=0)) / np.sqrt(len(draws) - 1))


def _taken(y: Any, at: np.ndarray) -> Any:
    """Some labels, in a container that keeps their order, if it had one."""
    if hasattr(y, "iloc"):
        return y.iloc[at]
    return [y[i] for i in at] if isinstance(y, list | tuple) else y[at]
