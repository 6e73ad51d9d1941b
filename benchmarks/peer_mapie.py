"""Sizes and coverages of MAPIE's sets, from the probabilities that `conformal.py` hands over.

Runs inside an environment that has MAPIE (1.6): reads an .npz file of probabilities and ranks,
prints JSON. `filled` counts a set with the levels between its first and last, and the mode.
"""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np
from mapie.classification import SplitConformalClassifier
from sklearn.base import BaseEstimator, ClassifierMixin


class Given(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose rows are their own probabilities."""

    def __init__(self, n_levels):
        self.n_levels = n_levels
        self.classes_ = np.arange(n_levels)

    def fit(self, X, y):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict_proba(self, X):
        return X

    def predict(self, X):
        return X.argmax(axis=1)


def measured(member: np.ndarray, y: np.ndarray) -> dict[str, float]:
    held = member[np.arange(len(y)), y]
    ends = member.argmax(axis=1), member.shape[1] - 1 - member[:, ::-1].argmax(axis=1)
    filled = np.where(member.any(axis=1), ends[1] - ends[0] + 1, 1)
    return {
        "coverage": held.mean(), "size": member.sum(axis=1).mean(), "filled": filled.mean()
    }  # fmt: skip


def main() -> None:
    warnings.simplefilter("ignore")
    data, found = np.load(sys.argv[1]), {}
    for score in ("lac", "aps", "top_k"):
        sets = SplitConformalClassifier(
            Given(data["calibration"].shape[1]), confidence_level=float(data["coverage"]),
            conformity_score=score, prefit=True, random_state=0,
        )  # fmt: skip
        sets.conformalize(data["calibration"], data["y_calibration"])
        member = sets.predict_set(data["test"])[1][:, :, 0]
        found[score] = measured(member, data["y_test"])
    print(json.dumps(found))


if __name__ == "__main__":
    main()
