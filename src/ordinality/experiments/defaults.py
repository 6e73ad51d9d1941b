"""The defaults of the Gaussian processes beside their rivals, on the same splits.

- ``defaults/prior``: the default kernel, which is linear plus smooth with shrunken relative
  scales, beside isotropic, ARD and linear kernels. All have the logit link and the weak prior.
- ``defaults/link``: the default beside probit, and beside the papers' isotropic kernel with
  probit.
- ``defaults/preferences``: the default kernel of `LabelRankingGP` and `PreferenceGP`.

A difference is a rival's score less the default's, split by split, so that how hard a split is
has no part in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinality import metrics
from ordinality.datasets import (
    Split,
    equal_frequency,
    fresh_partitions,
    load,
    utility_pairs,
)
from ordinality.experiments.compare import listed
from ordinality.experiments.papers.problems import Pairs
from ordinality.experiments.results_page import ResultTable, shown
from ordinality.experiments.spec import Method, Metric, Spec

__all__ = [
    "SPECS",
    "Gap",
    "gaps",
    "item_comparisons",
    "label_rankings",
    "ordinal_gp",
    "paired_table",
    "preference_gp",
    "preference_problem",
    "smooth_functions",
    "split_of",
]

Floats = NDArray[np.float64]
Rows = Mapping[str, Mapping[str, Any]]

SEED = 2100  # of the splits here; the prior was chosen on splits drawn otherwise
SPLITS = 4
N_TEST = 1500
FAR = 2.0  # standard errors from which a score is ahead or behind

# Rows to learn from, and the levels that a metric target is cut into.
METRIC = {
    "abalone": (400, 10),
    "auto_mpg": (200, 5),
    "bank32nh": (400, 5),
    "boston_housing": (300, 5),
    "california_housing": (400, 10),
    "cpu_act": (400, 5),
    "diabetes": (30, 5),
    "house_16h": (400, 5),
    "machine_cpu": (150, 10),
    "pyrimidines": (50, 5),
    "stocks": (400, 5),
    "triazines": (100, 5),
}
ORDINAL = {
    "affairs": 400,
    "automobile": 150,
    "balance_scale": 400,
    "car": 400,
    "era": 400,
    "esl": 366,
    "heart_cleveland": 225,
    "housing_satisfaction": 400,
    "nursery": 400,
    "skillcraft": 400,
    "tae": 113,
    "wesdr_retinopathy": 400,
    "winequality_white": 400,
}
MADE_UP = {"smooth_200": 200, "smooth_500": 500, "linear_logistic": 400, "survey": 400}


# ------------------------------------------------------------------------------ ordered labels


@lru_cache(maxsize=2)  # the methods of one split come one after another
def split_of(name: str, partition: int) -> Split:
    """Rows to learn from and to test on, labels 1..K.

    Empty cells have the mean of the training rows. Columns that are constant there are left
    out.
    """
    if name in MADE_UP:
        kind, _, _ = name.partition("_")
        return _DRAWN[kind](MADE_UP[name], np.random.default_rng([SEED, partition]))
    if name in METRIC:
        n, levels = METRIC[name]
        table = load(f"regression/{name}")
        X, y = table.X, equal_frequency(table.y, levels)
    else:
        n = ORDINAL[name]
        table = load(f"ordinal/{name}").repeated()
        X, y = table.X, table.y
    size = min(N_TEST, len(y) - n)
    rows = fresh_partitions(len(y), n, partition, SEED, test_size=size)[-1]
    return _filled(rows.of(X, y))


def _filled(split: Split) -> Split:
    mean = np.nanmean(split.X, axis=0)
    X, X_test = (np.where(np.isnan(part), mean, part) for part in (split.X, split.X_test))
    varies = np.ptp(X, axis=0) > 0
    return Split(X[:, varies], split.y, X_test[:, varies], split.y_test)


def _smooth(n: int, rng: np.random.Generator) -> Split:
    """A smooth function of eight inputs that matter less and less, with normal noise."""
    X = rng.standard_normal((n + N_TEST, 8))
    f = smooth_functions(X, 1, rng)[:, 0]
    return _cut(X, f + 0.3 * rng.standard_normal(len(f)), 5, n)


def _linear(n: int, rng: np.random.Generator) -> Split:
    """A linear function of six inputs with logistic noise."""
    X = rng.standard_normal((n + N_TEST, 6))
    f = X @ rng.standard_normal(6)
    return _cut(X, f + rng.logistic(size=len(f)), 5, n)


def _survey(n: int, rng: np.random.Generator) -> Split:
    """Multinomial logits of six inputs: the slopes of the four levels have no order."""
    X = rng.standard_normal((n + N_TEST, 6))
    utility = np.outer(X @ rng.standard_normal(6), [-0.6, -0.2, 0.2, 0.6])
    utility += X @ rng.normal(scale=0.5, size=(6, 4)) + rng.gumbel(size=(len(X), 4))
    y = 1 + np.argmax(utility, axis=1)
    return Split(X[:n], y[:n], X[n:], y[n:])


_DRAWN: dict[str, Callable[[int, np.random.Generator], Split]] = {
    "smooth": _smooth,
    "linear": _linear,
    "survey": _survey,
}


def smooth_functions(X: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Random smooth functions, (n, count), of unit variance over the rows.

    Length scales grow from 1.5 to 24: of eight inputs about four matter. By 500 random Fourier
    features.
    """
    scales = np.geomspace(1.5, 24.0, X.shape[1])
    frequency = rng.standard_normal((X.shape[1], 500)) / scales[:, None]
    phase, weight = rng.uniform(0, 2 * np.pi, 500), rng.standard_normal((500, count))
    f = np.cos(X @ frequency + phase) @ weight
    return (f - f.mean(axis=0)) / f.std(axis=0)


def _cut(X: Floats, seen: Floats, levels: int, n: int) -> Split:
    y = equal_frequency(seen, levels)
    return Split(X[:n], y[:n], X[n:], y[n:])


def ordinal_gp(split: Split, seed: int, **options: Any) -> dict[str, float]:
    """Scores of `OrdinalGP`, and what its search took."""
    from ordinality.estimators import OrdinalGP
    from ordinality.estimators.base_ordinal import decided

    K = int(max(split.y.max(), split.y_test.max()))
    model = OrdinalGP(levels=range(1, K + 1), random_state=seed, **options)
    model.fit(split.X, split.y)
    proba, y = model.predict_level_proba(split.X_test), split.y_test
    away = {rule: np.abs(1 + decided(proba, rule) - y) for rule in ("median", "mode")}
    return {
        "rps": metrics.ranked_probability_score(y, proba, levels=model.levels_),
        "log_score": metrics.log_score(y, proba, levels=model.levels_),
        "mae_median": float(away["median"].mean()),
        "mae_mode": float(away["mode"].mean()),
        "evaluations": sum(count for _, count in model.fit_.path),
        "log_evidence": model.log_evidence_,
    }


# ------------------------------------------------------------------------------ preferences


LABELS, INPUTS = 5, 6


def preference_problem(name: str, partition: int) -> Any:
    """Rankings of labels or comparisons of items; the name ends with how many are learnt from.

    ``labels_50`` are rankings of five labels by smooth functions of six inputs, of which some
    matter more; ``items_100`` comparisons of 60 items with such features. Other names are sets
    of the folder ``label_ranking``.
    """
    stem, _, count = name.rpartition("_")
    n, rng = int(count), np.random.default_rng([SEED, partition])
    if stem == "items":
        X = rng.standard_normal((60, INPUTS))
        utility = smooth_functions(X, 1, rng)[:, 0]
        pairs = utility_pairs(utility, n, 1000, noise=0.2, seed=[SEED, partition])
        return Pairs(X, pairs.train, pairs.test)
    if stem == "labels":
        X = rng.standard_normal((n + N_TEST, INPUTS))
        f = smooth_functions(X, LABELS, rng)
        f[:n] += 0.2 * rng.standard_normal((n, LABELS))
        y = 1 + np.argsort(np.argsort(-f, axis=1), axis=1)
        return Split(X[:n], y[:n], X[n:], y[n:])
    table = load(f"label_ranking/{stem}")
    size = min(N_TEST, len(table.y) - n)
    return fresh_partitions(len(table.y), n, partition, SEED, test_size=size)[-1].of(
        table.X, table.y
    )


def preference_gp(problem: Any, seed: int, kernel: Any = None) -> dict[str, float]:
    """Errors of `LabelRankingGP` or `PreferenceGP`, whichever the problem is for."""
    if isinstance(problem, Pairs):
        return item_comparisons(problem, kernel)
    return label_rankings(problem, seed, kernel)


def label_rankings(split: Split, seed: int, kernel: Any = None) -> dict[str, float]:
    """Errors over all pairs of labels of the test rows."""
    from ordinality.estimators import LabelRankingGP

    model = LabelRankingGP(kernel, random_state=seed).fit(split.X, split.y)
    proba = model.predict_pairs_proba(split.X_test)
    ahead = split.y_test[:, :, None] < split.y_test[:, None, :]
    return {
        "pair_error": 1.0 - model.score(split.X_test, split.y_test),
        "log_score": -float(np.mean(np.log(proba[ahead]))),
        "evaluations": sum(count for _, count in model.fit_.path),
    }


def item_comparisons(pairs: Pairs, kernel: Any = None) -> dict[str, float]:
    """Errors over the test pairs, in which the first item is preferred."""
    from ordinality.estimators import PreferenceGP

    model = PreferenceGP(pairs.X, kernel=kernel).fit(pairs.train)
    first = model.predict_proba(pairs.test)[:, 1]
    return {
        "pair_error": float(np.mean(first < 0.5)),
        "log_score": -float(np.mean(np.log(first))),
        "evaluations": sum(count for _, count in model.fit_.path),
    }


# ------------------------------------------------------------------------------ differences


class Gap(NamedTuple):
    """How much worse a rival is than the default on one set, split by split."""

    set: str
    method: Method
    metric: Metric
    values: Floats  # of the splits that both have

    @property
    def mean(self) -> float:
        """Above zero where the default is better."""
        return float(self.values.mean())

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return float(self.values.std(ddof=1) / np.sqrt(self.values.size))

    @property
    def verdict(self) -> int:
        """1 if the default is ahead by two standard errors, -1 if it is behind, else 0."""
        return int(np.sign(self.mean)) if abs(self.mean) > FAR * self.error else 0

    def __str__(self) -> str:
        scale, digits = 1000.0, 1
        return (
            f"{shown(scale * self.mean, digits, sign=True)} ± "
            f"{shown(scale * self.error, digits)}"
        )


def gaps(spec: Spec, rows: Rows) -> list[Gap]:
    """Every difference from the first method of the spec that two splits or more have."""
    default, *rivals = spec.methods
    found = []
    for name in spec.sets:
        ours = _by_split(spec, name, default, rows)
        for method in rivals:
            theirs = _by_split(spec, name, method, rows)
            both = sorted(ours.keys() & theirs.keys())
            for metric in spec.metrics if len(both) > 1 else ():
                values = [theirs[k][metric.name] - ours[k][metric.name] for k in both]
                found.append(Gap(name, method, metric, np.array(values)))
    return found


def _by_split(spec: Spec, name: str, method: Method, rows: Rows) -> dict[int, Any]:
    """Metrics of the splits that are done and have not failed, with their seconds."""
    keys = {k: spec.cell(name, k, method).key for k in range(1, spec.partitions + 1)}
    done = {k: rows[key] for k, key in keys.items() if "metrics" in rows.get(key, {})}
    return {k: {**row["metrics"], "seconds": row["seconds"]} for k, row in done.items()}


def paired_table(spec: Spec, rows: Rows) -> ResultTable:
    """The default's scores, and what every rival has more than it; bold where it is behind."""
    found = {(gap.set, gap.method.name, gap.metric.name): gap for gap in gaps(spec, rows)}
    columns = [(method, metric) for metric in spec.metrics for method in spec.methods[1:]]
    titles = ["set", *(f"default, {metric.title}" for metric in spec.metrics)]
    titles += [f"{method.title}, {metric.title}" for method, metric in columns]
    lines: list[list[str]] = []
    bold = set()
    for name in spec.sets:
        line = [name.replace("_", " ")]
        own = list(_by_split(spec, name, spec.methods[0], rows).values())
        for metric in spec.metrics:
            values = [row[metric.name] for row in own]
            line.append(metric.shown(float(np.mean(values))) if values else "missing")
        for method, metric in columns:
            gap = found.get((name, method.name, metric.name))
            if gap is not None and gap.verdict < 0:
                bold.add((len(lines), len(line)))
            line.append("missing" if gap is None else str(gap))
        lines.append(line)
    every = list(found.values())
    lines.append(_counts(spec, every))
    verdict = "\n".join([*_behind(spec, every), *_cost(spec, rows)])
    return ResultTable(spec, titles, lines, verdict, frozenset(bold))


def _counts(spec: Spec, every: list[Gap]) -> list[str]:
    """The last line: on how many sets the default is ahead and behind."""
    line = ["ahead / behind", *[""] * len(spec.metrics)]
    for metric in spec.metrics:
        for method in spec.methods[1:]:
            column = [g.verdict for g in every if (g.method, g.metric) == (method, metric)]
            line.append(f"{column.count(1)} / {column.count(-1)}")
    return line


def _behind(spec: Spec, every: list[Gap]) -> list[str]:
    """How many differences are behind, how many chance would give, and which they are."""
    from scipy import stats  # late: it takes half a second to import

    if not every:
        return ["Nothing has been computed on two splits."]
    behind = sorted((g for g in every if g.verdict < 0), key=lambda g: g.mean)
    ahead = sum(g.verdict > 0 for g in every)
    # Of two methods that are equal, one is behind by two errors with this probability.
    chance = np.mean([stats.t.sf(FAR, g.values.size - 1) for g in every])
    words = [
        f"Of {len(every)} differences the default is ahead in {ahead} by two standard errors, "
        f"and behind in {len(behind)} ({len(behind) / len(every):.1%}). Between equal methods "
        f"chance puts it behind in {chance:.1%}."
    ]
    if behind:
        names = [
            f"{g.set.replace('_', ' ')} {g.method.title} {g.metric.title} ({g})" for g in behind
        ]
        words.append(f"Behind, x1000: {listed(names)}.")
    return words


def _cost(spec: Spec, rows: Rows) -> list[str]:
    """Evaluations and processor seconds of each method over all sets."""
    words = []
    for method in spec.methods:
        done = [r for s in spec.sets for r in _by_split(spec, s, method, rows).values()]
        if done:
            counts = [row["evaluations"] for row in done]
            words.append(
                f"{method.title}: {np.median(counts):.0f} evaluations a fit in the median, "
                f"{np.quantile(counts, 0.9):.0f} at the 90 % point, "
                f"{np.mean([row['seconds'] for row in done]):.2f} processor seconds on average."
            )
    return words


# ------------------------------------------------------------------------------ the experiments

DEFAULT = Method("default", "default", ordinal_gp)
SCORES = (
    Metric("rps", "RPS"),
    Metric("log_score", "log score"),
)
NOTES = (
    "Differences are the rival's score less the default's, times 1000, with standard errors "
    "over the splits: above zero, the default is better; bold, it is behind by two standard "
    "errors. Splits of one set share rows, so the errors are somewhat too small.",
    "Nothing was chosen on these splits.",
)
ORDERED: dict[str, Any] = {
    "source": "ordinality's own experiment",
    "experiment": "defaults",
    "sets": tuple(sorted([*METRIC, *ORDINAL, *MADE_UP])),
    "partitions": SPLITS,
    "metrics": SCORES,
    "problem": split_of,
    "spread": "se",
    "build": paired_table,
}

SPECS = (
    Spec(
        name="defaults/prior",
        title="The default kernel of OrdinalGP beside simpler and richer ones",
        methods=(
            DEFAULT,
            Method("isotropic", "isotropic", ordinal_gp, {"kernel": "gaussian"}),
            Method("ard", "ARD", ordinal_gp, {"kernel": "ard"}),
            Method("linear", "linear", ordinal_gp, {"kernel": "linear"}),
        ),
        notes=NOTES,
        **ORDERED,
    ),
    Spec(
        name="defaults/link",
        title="The default link of OrdinalGP beside probit",
        methods=(
            DEFAULT,
            Method("probit", "probit", ordinal_gp, {"link": "probit"}),
            Method(
                "paper", "isotropic, probit", ordinal_gp,
                {"kernel": "gaussian", "link": "probit"},
            ),
        ),
        notes=NOTES,
        **ORDERED,
    ),
    Spec(
        name="defaults/preferences",
        title="The default kernel of LabelRankingGP and PreferenceGP",
        source="ordinality's own experiment",
        experiment="defaults-preferences",
        sets=(
            "labels_50", "labels_200", "housing_100", "glass_100", "items_100", "items_400",
        ),
        partitions=10,
        methods=(
            Method("default", "default", preference_gp),
            Method("isotropic", "isotropic", preference_gp, {"kernel": "gaussian"}),
            Method("ard", "ARD", preference_gp, {"kernel": "ard"}),
        ),
        metrics=(Metric("pair_error", "pair error"), Metric("log_score", "log score")),
        problem=preference_problem,
        spread="se",
        notes=NOTES,
        build=paired_table,
    ),
)  # fmt: skip
