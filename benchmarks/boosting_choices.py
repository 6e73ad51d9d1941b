"""The tables of docs/thresholded-ensembles.md: which margins, and what left-out rows are worth.

    python benchmarks/boosting_choices.py           # both
    python benchmarks/boosting_choices.py links     # or one: margins, links

`margins`: test errors of 200 sigmoids with all margins, with left and right ones, and of
RankBoost, over ten published partitions. `links`: log score on test rows of the frequencies, of
a link fitted to the training rows' own scores, and of the link fitted to left-out rows. Needs
the data folder (ORDINALITY_DATA); some minutes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from rich.progress import track

from ordinality import OrdinalBoost, RankBoost, datasets
from ordinality.estimators.calibration import learn_link

MODELS = {
    "all": OrdinalBoost("all"),
    "left-right": OrdinalBoost("left-right"),
    "rank": RankBoost(),
}
PUBLISHED = ("era", "esl", "car")  # levels of their own; the others are cut into ten
CUT = ("abalone", "boston_housing", "stocks")


def parts(name: str, count: int) -> Iterator[datasets.Split]:
    """X, y, X_test, y_test of the first partitions, labels from 1."""
    kind, bins = ("equal-frequency", 10) if name in CUT else ("orca", None)
    yield from track(datasets.partitions(name, kind, bins)[:count], description=name)


def levels_of(*labels: np.ndarray) -> np.ndarray:
    return np.arange(1, max(y.max() for y in labels) + 1)


def margins() -> None:
    print(
        "| set | rows | " + " | ".join(f"{m}: errors, off" for m in MODELS) + " | difference |"
    )
    print("|---|--:|--:|--:|--:|--:|")
    for name in (*PUBLISHED, *CUT):
        errors: dict[str, list] = {m: [] for m in MODELS}
        for X, y, X_test, y_test in parts(name, 10):
            for m, model in MODELS.items():
                model.set_params(
                    learner="sigmoid", calibration_folds=None, levels=levels_of(y, y_test)
                )
                off = np.abs(model.fit(X, y).predict(X_test) - y_test)
                errors[m].append((np.mean(off > 0), off.mean()))
        means = {m: np.mean(e, axis=0).round(3) for m, e in errors.items()}
        paired = np.array(errors["left-right"]) - np.array(errors["all"])
        error = paired.std(axis=0, ddof=1) / np.sqrt(len(paired))
        shown = " | ".join(f"{a:.3f}, {b:.3f}" for a, b in means.values())
        difference = ", ".join(
            f"{d:+.3f} ± {e:.3f}" for d, e in zip(paired.mean(axis=0), error, strict=True)
        )
        print(f"| {name} | {len(y)} | {shown} | {difference} |", flush=True)


def links() -> None:
    print("| set | rows | frequencies | link on training rows | link on left-out rows |")
    print("|---|--:|--:|--:|--:|")
    for name in ("esl", "balance_scale", "automobile", "bondrate"):
        scores = []
        for X, y, X_test, y_test in parts(name, 5):
            levels = levels_of(y, y_test)
            K, rows = len(levels), np.arange(len(y_test))
            model = OrdinalBoost(levels=levels).fit(X, y)
            seen = np.bincount(y - 1, minlength=K)
            frequencies = np.tile((seen + 1 / K) / (len(y) + 1), (len(y_test), 1))
            own = learn_link(model.predict_latent(X), y - 1, K).proba(
                model.predict_latent(X_test)
            )
            rivals = (frequencies, own, model.predict_level_proba(X_test))
            scores.append([-np.mean(np.log(p[rows, y_test - 1])) for p in rivals])
        shown = " | ".join(f"{score:.2f}" for score in np.mean(scores, axis=0))
        print(f"| {name} | {len(y)} | {shown} |", flush=True)


if __name__ == "__main__":
    chosen = sys.argv[1:] or ["margins", "links"]
    for table in (margins, links):
        if table.__name__ in chosen:
            table()
