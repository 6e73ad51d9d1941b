"""The league: our models beside those of others, on the same rows and the same columns.

A set is a table of the data folder or made up; a partition is a split of it, the same for every
method. Text is one-hot, missing cells hold the median of the training rows, and levels are
those that the training rows have. All probabilities are floored alike, then scored.

Methods of this package, of scikit-learn and of LightGBM are computed here. Other peers have an
environment of their own: ``benchmarks/league.py`` makes it, and keeps their rows in the same
file. `gaps` judges: ours less the best peer of a set, which is chosen with hindsight.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache, partial
from importlib import import_module
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ordinality import metrics
from ordinality.datasets import Split, equal_frequency, load, smooth_ordinal
from ordinality.experiments.compare import listed
from ordinality.experiments.results_page import ResultTable, Rows, means, shown, table
from ordinality.experiments.spec import Method, Metric, Spec

__all__ = [
    "PEERS",
    "SPECS",
    "LeagueSet",
    "MissingPeerError",
    "PeerGap",
    "auto",
    "elsewhere",
    "estimator",
    "forest",
    "gaps",
    "histogram",
    "league_page",
    "league_table",
    "lightgbm_binary",
    "lightgbm_classes",
    "linear",
    "measured",
    "multinomial",
    "problem",
    "scored",
    "smooth",
    "survey",
]

Floats = NDArray[np.float64]
Ranks = NDArray[np.int64]
Fit = Callable[..., Floats]  # (X, y, X_test, seed) to probabilities of the ranks in y

FLOOR = 1e-4  # of every probability, so that log scores are finite
MOST_TESTED = 3000  # rows of a split that are scored


class MissingPeerError(FileNotFoundError, ValueError):
    """A peer's package is not in this environment."""


# ------------------------------------------------------------------------------ the data


class LeagueSet(NamedTuple):
    """A set of the data folder: rows to learn from, and levels that its target is cut into."""

    name: str
    rows: int | None = None  # None: three of four
    levels: int | None = None  # None: its own


TABLES = {
    "heart": LeagueSet("heart_cleveland"),
    "affairs": LeagueSet("affairs"),
    "automobile": LeagueSet("automobile"),
    "era": LeagueSet("era"),
    "esl": LeagueSet("esl"),
    "tae": LeagueSet("tae"),
    "car": LeagueSet("car"),
    "abalone-5": LeagueSet("abalone", 1000, 5),
    "abalone-10": LeagueSet("abalone", 1000, 10),
    "california-1000": LeagueSet("california_housing", 1000, 10),
    "house-1000": LeagueSet("house_16h", 1000, 10),
    "wine-1000": LeagueSet("winequality_white", 1000),
    "wine": LeagueSet("winequality_white"),
    "skillcraft": LeagueSet("skillcraft"),
    "nursery": LeagueSet("nursery"),
    "california-15000": LeagueSet("california_housing", 15_000, 10),
    "house-15000": LeagueSet("house_16h", 15_000, 10),
}
LARGE = ("wine", "skillcraft", "nursery", "california-15000", "house-15000")


@lru_cache(maxsize=2)  # the methods of a split come one after another
def problem(name: str, partition: int) -> Split:
    """Rows of a split, labels as ranks from 0; the partition is its seed."""
    if name in MADE_UP:
        return MADE_UP[name](partition)
    from sklearn.model_selection import StratifiedShuffleSplit

    source = TABLES[name]
    whole = load(source.name)
    labels = whole.y if source.levels is None else equal_frequency(whole.y, source.levels)
    y, n = np.unique(labels, return_inverse=True)[1], len(labels)
    size = source.rows or 3 * n // 4
    split = StratifiedShuffleSplit(
        1, train_size=size, test_size=min(n - size, MOST_TESTED), random_state=partition
    )
    train, test = next(split.split(whole.X, y))
    median = np.nanmedian(whole.X[train], axis=0)
    X = np.where(np.isnan(whole.X), median, whole.X)
    return Split(X[train], y[train], X[test], y[test])


def smooth(seed: int, n: int) -> Split:
    """A smooth random function of eight inputs in five levels, a new one for each seed."""
    data = smooth_ordinal(n, 5, d=8, noise=0.25, seed=seed)
    return Split(data.X, data.y - 1, data.X_test, data.y_test - 1)


def linear(seed: int, n: int = 400, n_test: int = 2000) -> Split:
    """Proportional odds: a linear function of six inputs with logistic noise, five levels."""
    rng = np.random.default_rng([21, seed])
    X = rng.normal(size=(n + n_test, 6))
    latent = X @ rng.normal(size=6) + rng.logistic(size=n + n_test)
    return _cut(X, equal_frequency(latent, 5) - 1, n)


def survey(seed: int, n: int = 1000, n_test: int = 2000) -> Split:
    """Six answers from 1 to 5, and five levels reached one by one, each by slopes of its own.

    Neither proportional odds nor a multinomial logit: who is at level k goes on to k + 1 with
    a log odds that is linear in the answers.
    """
    rng = np.random.default_rng([22, seed])
    X = rng.integers(1, 6, size=(n + n_test, 6)).astype(np.float64)
    slopes = rng.normal(0.4, 0.3, size=6) + rng.normal(0.0, 0.5, size=(4, 6))
    y = np.zeros(len(X), dtype=np.int64)
    for k, slope in enumerate(slopes):
        odds = 0.8 + (X - 3) @ slope
        y += (y == k) & (rng.logistic(size=len(X)) < odds)
    return _cut(X, y, n)


def _cut(X: Floats, y: Ranks, n: int) -> Split:
    return Split(X[:n], y[:n], X[n:], y[n:])


MADE_UP: dict[str, Callable[[int], Split]] = {
    **{f"smooth-{n}": partial(smooth, n=n) for n in (200, 500, 1000)},
    "linear": linear,
    "survey": survey,
}


# ------------------------------------------------------------------------------ the scores


def measured(split: Split, seed: int, fit: Fit) -> dict[str, float]:
    """Fit and predict in this process: scores and processor seconds."""
    from ordinality.workbench.models import processor_time

    levels, y = np.unique(split.y, return_inverse=True)
    _import_all()
    with processor_time() as spent:
        proba = fit(split.X, y, split.X_test, seed)
    return scored(split, levels, proba, spent.seconds)


@cache
def _import_all() -> None:
    """Import what the methods here need, so that the time of it counts for none of them."""
    for name in ("sklearn.ensemble", "sklearn.linear_model", "polars", "lightgbm"):
        with suppress(ImportError):
            import_module(name)


def scored(split: Split, levels: Ranks, proba: Floats, seconds: float) -> dict[str, float]:
    """Scores of the test rows, from probabilities of the levels that could be learnt."""
    from ordinality.estimators.base_ordinal import decided

    K = int(max(split.y.max(), split.y_test.max())) + 1
    whole = np.zeros((len(proba), K))
    whole[:, levels] = proba
    whole = np.maximum(whole, FLOOR)
    whole /= whole.sum(axis=1, keepdims=True)
    y, ranks, median = split.y_test, np.arange(K), decided(whole, "median")
    return {
        "rps": metrics.ranked_probability_score(y, whole, levels=ranks),
        "log_score": metrics.log_score(y, whole, levels=ranks),
        "mae": float(np.mean(np.abs(median - y))),
        "kappa": metrics.quadratic_kappa(y, median, levels=ranks),
        "processor": seconds,
    }


# ------------------------------------------------------------------------------ ours


def auto(X: Floats, y: Ranks, X_test: Floats, seed: int) -> Floats:
    """What ``ordinality fit`` does, with its default budget."""
    from ordinality.workbench import study

    found = study(_frame(X, level=y), "level", seed=seed).pipeline
    proba: Floats = found.predict_proba(_frame(X_test))
    return proba


def _frame(X: Floats, **more: Any) -> Any:
    """Columns x0, x1, ... and further ones as a data frame."""
    columns = {f"x{i}": column for i, column in enumerate(X.T)}
    return nw.from_dict(columns | more, backend="polars").to_native()


def estimator(X: Floats, y: Ranks, X_test: Floats, seed: int, kind: str) -> Floats:
    """An estimator of this package as it comes."""
    from ordinality import estimators

    if kind == "OrdinalRegression":  # maximum likelihood, where it has a finite answer
        model = estimators.OrdinalRegression(penalty="auto")
    else:
        model = getattr(estimators, kind)(random_state=seed)
    proba: Floats = model.fit(X, y).predict_proba(X_test)
    return proba


# ------------------------------------------------------------------------------ peers here


def multinomial(X: Floats, y: Ranks, X_test: Floats, seed: int) -> Floats:
    """Multinomial logistic regression on standardised columns, C of ten by five folds."""
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.model_selection import KFold

    model = LogisticRegressionCV(
        Cs=10, cv=KFold(5, shuffle=True, random_state=seed), scoring="neg_log_loss",
        max_iter=1000, l1_ratios=(0,), use_legacy_attributes=False,
    )  # fmt: skip
    return _scaled(model, X, y, X_test)


def forest(X: Floats, y: Ranks, X_test: Floats, seed: int) -> Floats:
    """Random forest: 500 trees whose leaves hold at least three rows."""
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(500, min_samples_leaf=3, random_state=seed)
    proba: Floats = model.fit(X, y).predict_proba(X_test)
    return proba


def histogram(X: Floats, y: Ranks, X_test: Floats, seed: int) -> Floats:
    """Scikit-learn's gradient boosting as it comes: 100 rounds, early stopping from 10,000."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    proba: Floats = (
        HistGradientBoostingClassifier(random_state=seed).fit(X, y).predict_proba(X_test)
    )
    return proba


def lightgbm_classes(X: Floats, y: Ranks, X_test: Floats, seed: int) -> Floats:
    """LightGBM, multiclass."""
    return _boosted(X, y, X_test, seed, objective="multiclass", num_class=int(y.max()) + 1)


def lightgbm_binary(X: Floats, y: Ranks, X_test: Floats, seed: int) -> Floats:
    """LightGBM, one binary model for each threshold; probabilities are sorted if they cross."""
    above = [
        _boosted(X, (y > k).astype(np.int64), X_test, seed, objective="binary")
        for k in range(int(y.max()))
    ]
    edges = [np.ones(len(X_test)), *above, np.zeros(len(X_test))]
    return -np.diff(-np.sort(-np.column_stack(edges), axis=1), axis=1)


def _boosted(X: Floats, y: Ranks, X_test: Floats, seed: int, **objective: Any) -> Floats:
    """Rounds by early stopping on 15 % of the rows, then grown again from all of them."""
    import lightgbm

    held = np.random.default_rng(seed).random(len(y)) < 0.15
    settings = {
        **objective, "learning_rate": 0.05, "num_leaves": 31 if len(y) >= 1000 else 15,
        "num_threads": 1, "verbosity": -1, "seed": seed,
    }  # fmt: skip
    part = lightgbm.Dataset(X[~held], y[~held])
    stop = lightgbm.early_stopping(50, verbose=False)
    judge = [part.create_valid(X[held], y[held])]
    rounds = lightgbm.train(settings, part, 2000, judge, callbacks=[stop]).best_iteration
    model = lightgbm.train(settings, lightgbm.Dataset(X, y), rounds)
    return np.asarray(model.predict(X_test), dtype=np.float64)


def _scaled(model: Any, X: Floats, y: Ranks, X_test: Floats) -> Floats:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    proba: Floats = make_pipeline(StandardScaler(), model).fit(X, y).predict_proba(X_test)
    return proba


# ------------------------------------------------------------------------------ peers elsewhere


def elsewhere(split: Split, seed: int, packages: str) -> dict[str, float]:
    """Say where a peer is computed that has an environment of its own."""
    raise MissingPeerError(
        f"{packages.split()[0]} has an environment of its own, which is not this one; compute "
        "its cells with `python benchmarks/league.py` in the repository."
    )


def _peer(name: str, title: str, packages: str) -> Method:
    return Method(name, title, elsewhere, {"packages": packages}, optional=True)


PEERS = (
    _peer("mord", "mord, LogisticAT", "mord==0.7 scikit-learn==1.9.1"),
    _peer("statsmodels-logit", "statsmodels, ordered logit", "statsmodels==0.15.0"),
    _peer("statsmodels-probit", "statsmodels, ordered probit", "statsmodels==0.15.0"),
    _peer("ogboost", "OGBoost", "ogboost==0.8.4"),
    _peer("xgboost", "XGBoost, multiclass", "xgboost-cpu==3.2.0"),
    _peer("catboost", "CatBoost, multiclass", "catboost==1.2.10"),
    # The version whose build for processors alone is at hand here.
    _peer("gpytorch", "GPyTorch, ordinal SVGP", "gpytorch==1.15.2 torch==2.13.0"),
)


def _here(name: str, title: str, fit: Fit, **settings: Any) -> Method:
    return Method(name, title, partial(measured, fit=partial(fit, **settings)))


OURS = (
    _here("auto", "auto", auto),
    _here("gp", "OrdinalGP", estimator, kind="OrdinalGP"),
    _here("trees", "OrdinalTrees", estimator, kind="OrdinalTrees"),
    _here("linear", "OrdinalRegression", estimator, kind="OrdinalRegression"),
)
HERE = (
    _here("multinomial", "multinomial logit", multinomial),
    _here("forest", "random forest", forest),
    _here("histogram", "HistGradientBoosting", histogram),
    _here("lightgbm", "LightGBM, multiclass", lightgbm_classes),
    _here("lightgbm-binary", "LightGBM, K - 1 binary", lightgbm_binary),
)
EVERY_PEER = tuple(method.name for method in (*HERE, *PEERS))
LINEAR_OR_GP = ("multinomial", "mord", "statsmodels-logit", "statsmodels-probit", "gpytorch")
# Who is judged, against whom.
JUDGED = {
    "auto": ("all peers", EVERY_PEER),
    "gp": ("linear and Gaussian-process peers", LINEAR_OR_GP),
}


# ------------------------------------------------------------------------------ verdicts


class PeerGap(NamedTuple):
    """Ours less the best peer on a set, over the splits that both have."""

    set: str
    peer: Method  # lowest mean over these splits
    ours: float  # mean
    theirs: float
    mean: float  # of the differences
    error: float  # standard error of that mean
    splits: int

    @property
    def ahead(self) -> bool:
        """Whether our mean is the lower one."""
        return self.mean < 0

    @property
    def behind(self) -> bool:
        """Whether ours is higher by more than two standard errors."""
        return self.mean > 2 * self.error


def gaps(spec: Spec, rows: Rows, ours: str, peers: Sequence[str], metric: str) -> list[PeerGap]:
    """Ours beside the best peer on every set where ours has two splits or more.

    A peer counts where it has all splits of ours. Of the metric, lower is better.
    """
    found = []
    for name in spec.sets:
        own = _by_split(spec, name, ours, metric, rows)
        others = {peer: _by_split(spec, name, peer, metric, rows) for peer in peers}
        rivals = {p: [v[k] for k in own] for p, v in others.items() if own.keys() <= v.keys()}
        if len(own) < 2 or not rivals:
            continue
        best = min(rivals, key=lambda peer: np.mean(rivals[peer]))
        mine, theirs = np.array(list(own.values())), np.array(rivals[best])
        less = mine - theirs
        error = float(less.std(ddof=1) / np.sqrt(less.size))
        found.append(
            PeerGap(name, spec.method(best), float(mine.mean()), float(theirs.mean()),
                float(less.mean()), error, less.size)
        )  # fmt: skip
    return found


def _by_split(
    spec: Spec, name: str, method: str, metric: str, rows: Rows
) -> Mapping[int, float]:
    """A metric of the splits that are done and have not failed."""
    of = spec.method(method)
    keys = {k: spec.cell(name, k, of).key for k in range(1, spec.partitions_of(name) + 1)}
    done = {
        k: rows[key]["metrics"] for k, key in keys.items() if "metrics" in rows.get(key, {})
    }
    return {k: found[metric] for k, found in done.items() if metric in found}


def _sentences(spec: Spec, rows: Rows) -> list[str]:
    """The verdicts in words, and which peers have no row."""
    said = []
    for (ours, (whom, peers)), metric in _judgements(spec):
        found = gaps(spec, rows, ours, peers, metric.name)
        if not found:
            continue
        behind = [
            f"{gap.set} ({gap.peer.title}, {_difference(gap, metric)})"
            for gap in found
            if gap.behind
        ]
        said.append(
            f"{spec.method(ours).title}, {metric.title}: ahead of the best of {whom} in "
            f"{sum(gap.ahead for gap in found)} of {len(found)} cells; behind by more than two "
            f"standard errors in {listed(behind) if behind else 'none'}."
        )
    have = {(row["experiment"], row["method"]) for row in rows.values() if "metrics" in row}
    without = [m.name for m in spec.methods if (spec.experiment, m.name) not in have]
    if without:
        said.append(f"No rows yet: {listed(without)}.")
    if any(m.name in without for m in PEERS):
        said.append(
            "Peers with an environment of their own are computed by "
            "`python benchmarks/league.py`."
        )
    return said


def _judgements(spec: Spec) -> list[tuple[Any, Metric]]:
    """Who is judged against whom, by which of the two scores of probabilities."""
    return [(who, spec.metric(name)) for who in JUDGED.items() for name in ("rps", "log_score")]


def _difference(gap: PeerGap, metric: Metric) -> str:
    decimals = metric.decimals
    return f"{shown(gap.mean, decimals, sign=True)} ± {shown(gap.error, decimals)}"


def league_table(spec: Spec, rows: Rows) -> ResultTable:
    """Means with standard errors of what has rows, the best of a set in bold; verdicts."""
    every = tuple(replace(method, optional=False) for method in spec.methods)
    plain = table(replace(spec, build=None, methods=every), rows)
    kept = [i for i, line in enumerate(plain.lines) if set(line[2:]) != {"missing"}]
    place = {i: k for k, i in enumerate(kept)}
    return replace(
        plain, spec=spec, lines=[plain.lines[i] for i in kept],
        bold=frozenset((place[i], j) for i, j in plain.bold if i in place),
        verdict="\n".join(_sentences(spec, rows)),
    )  # fmt: skip


def league_page(spec: Spec, rows: Rows) -> str:
    """The verdicts and a table for each metric, as the page of the docs shows them."""
    parts = [f"- {said}" for said in _sentences(spec, rows)]
    for (ours, (whom, peers)), metric in _judgements(spec):
        found = gaps(spec, rows, ours, peers, metric.name)
        if found:
            parts += ["", f"### {spec.method(ours).title} and {whom}: {metric.title}", ""]
            parts += _gap_lines(found, metric)
    done = means(spec, rows)
    for metric in spec.metrics if done else ():
        parts += ["", f"### {metric.title[0].upper()}{metric.title[1:]}", ""]
        parts += _metric_lines(spec, metric, done)
    return "\n".join(parts)


def _gap_lines(found: Sequence[PeerGap], metric: Metric) -> list[str]:
    lines = ["| set | splits | ours | best peer | theirs | ours less theirs | |"]
    lines.append("|---|--:|--:|---|--:|--:|---|")
    for gap in found:
        word = "ahead" if gap.ahead else "**behind**" if gap.behind else "level"
        lines.append(
            f"| {gap.set} | {gap.splits} | {metric.shown(gap.ours)} | {gap.peer.title} | "
            f"{metric.shown(gap.theirs)} | {_difference(gap, metric)} | {word} |"
        )
    return lines


def _metric_lines(
    spec: Spec, metric: Metric, done: Mapping[tuple[str, str, str], float]
) -> list[str]:
    """Means by set and method, the best of each set in bold."""
    names = [m.name for m in spec.methods]
    lines = [f"| set | {' | '.join(names)} |", f"|---|{'--:|' * len(names)}"]
    best = max if metric.higher_is_better else min
    for name in spec.sets:
        found = {m: done[name, m, metric.name] for m in names if (name, m, metric.name) in done}
        if not found:
            continue
        top = metric.shown(best(found.values()))
        texts = [metric.shown(found[m]) if m in found else "" for m in names]
        lines.append(f"| {name} | {' | '.join(f'**{t}**' if t == top else t for t in texts)} |")
    return lines


# ------------------------------------------------------------------------------ the experiment

NOTES = (
    "Every method sees the same rows and the same columns, on one thread. Text is one-hot, "
    "missing cells hold the median of the training rows. Metric targets are cut into 5 or 10 "
    "levels of equal frequency. Splits are stratified: three of four rows to learn from, or as "
    "many as the name of the set says (1000 of abalone); at most 3000 of the others to test.",
    "Every probability is floored at 0.0001. The absolute error and the quadratic kappa are "
    "those of the median level. Seconds are of the processor, from the rows to the "
    "probabilities of the test rows, without imports and compiling; those of auto hold its "
    "cross-validation and the effects of its columns.",
    "The best peer of a set is the one with the lowest mean on its test rows, which nobody can "
    "know beforehand. Splits of one set share rows, so that standard errors are somewhat too "
    "small. Our defaults were chosen on other splits of some of these sets.",
)

SPECS = (
    Spec(
        name="league",
        title="Our models beside those of others",
        source="ordinality's own experiment",
        experiment="league",
        sets=(*TABLES, *MADE_UP),
        partitions=5,
        methods=(*OURS, *HERE, *PEERS),
        metrics=(
            Metric("rps", "ranked probability score", decimals=4),
            Metric("log_score", "log score", decimals=4),
            Metric("mae", "absolute error of the median"),
            Metric("kappa", "quadratic kappa", higher_is_better=True),
            Metric("processor", "processor seconds", decimals=1),
        ),
        problem=problem,
        spread="se",
        notes=NOTES,
        apart=frozenset((name, "gpytorch") for name in ("car", *LARGE)),
        fewer=dict.fromkeys(LARGE, 3),
        build=league_table,
    ),
)
