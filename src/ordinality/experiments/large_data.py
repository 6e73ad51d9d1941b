"""Schemes for large data at equal parameters: inducing points, and the older ones beside them.

Kernel, noise and thresholds are learnt once, by exact expectation propagation on all rows, and
held. What is left to a scheme is the posterior of the latent function, and so its predictions.

- *Inducing points* see all rows through the values at M points, by expectation propagation.
- *One sweep* sees every row once, in blocks, each with the blocks before it as its cavity:
  assumed-density filtering, the online scheme of Csato and Opper with the basis held.
- *Informative vectors* are the rows whose labels say most about the latent function. They are
  chosen one by one, and the other rows are left out. The original keeps the sites of the
  choice; here they are refined by expectation propagation, which serves the scheme.
- A *committee* has a model of its own for each part of the rows. The moments of its members at
  a new input are multiplied as densities, the prior counted once.
- A *subset* is some of the rows, at random.

Csato & Opper (2002), "Sparse on-line Gaussian processes"; Lawrence, Seeger & Herbrich (2003),
"Fast sparse Gaussian process methods: the informative vector machine"; Tresp (2000), "A
Bayesian committee machine"; Deisenroth & Ng (2015), "Distributed Gaussian processes".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinality import metrics
from ordinality.datasets import smooth_ordinal
from ordinality.experiments.results_page import ResultTable, means, shown, table
from ordinality.experiments.spec import Method, Metric, Spec
from ordinality.gp.design import Direct
from ordinality.gp.ep import ep
from ordinality.gp.likelihoods import Blurred, Ordinal
from ordinality.gp.posterior.choose import prior_of
from ordinality.gp.posterior.inducing import Basis, Inducing, greedy_points
from ordinality.gp.posterior.observations import Predictor
from ordinality.gp.stream import Belief, visit
from ordinality.kernels.base import Kernel

__all__ = [
    "SPECS",
    "HeldModel",
    "all_rows",
    "committee",
    "committee_moments",
    "exact_moments",
    "inducing_points",
    "informative_rows",
    "informative_vectors",
    "one_sweep",
    "scheme_curves",
    "scheme_table",
    "smooth",
    "subset",
    "swept_belief",
]

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]
Scores = dict[str, float]

LEVELS, FEATURES, NOISE, SEEDS = 5, 8, 0.25, 10


class HeldModel(NamedTuple):
    """Rows to learn from and to test on, and the parameters that every scheme shares."""

    X: Floats
    y: NDArray[np.int64]  # ranks from 0
    X_test: Floats
    y_test: NDArray[np.int64]
    kernel: Kernel
    likelihood: Ordinal


@lru_cache(maxsize=2)  # the schemes of one seed come one after another
def smooth(name: str, partition: int) -> HeldModel:
    """A smooth function of eight features in five levels, and what exact EP learns of it.

    `name` begins with the number of rows; the partition is the seed.
    """
    from threadpoolctl import threadpool_limits

    from ordinality.estimators import OrdinalGP

    n = int(name.split()[0])
    data = smooth_ordinal(n, LEVELS, d=FEATURES, noise=NOISE, seed=partition)
    # One thread, as in the cells: rounding, and so theta, is the same whoever asks first.
    with threadpool_limits(1):
        model = OrdinalGP("gaussian", link="probit", inducing=None, standardize=False)
        model.fit(data.X, data.y)
    likelihood = Ordinal(model.thresholds_, model.noise_)
    return HeldModel(
        data.X, data.y - 1, data.X_test, data.y_test - 1, model.kernel_, likelihood
    )


# ------------------------------------------------------------------------------ the schemes


def all_rows(held: HeldModel, seed: int) -> Scores:
    """Exact EP of all rows, what the others approximate."""
    return _scores(held, *exact_moments(held))


def inducing_points(held: HeldModel, seed: int, points: int) -> Scores:
    """EP of all rows through the values at this many points."""
    Z, share = _points(held, points)
    prior = Inducing.of(held.kernel, held.X, Z, Direct())
    a = ep(prior, Blurred(held.likelihood, prior.residual), held.y, gradient=False)
    belief = Belief(prior.basis, prior.gram(a.tau), prior.pull(a.nu))
    return _scores(held, *_believed(held, belief)) | {"unexplained": share}


def one_sweep(held: HeldModel, seed: int, points: int, block: int) -> Scores:
    """Assumed-density filtering: every row is seen once, in blocks."""
    Z, share = _points(held, points)
    belief = swept_belief(held, Basis.of(held.kernel, Z), block)
    return _scores(held, *_believed(held, belief)) | {"unexplained": share}


def informative_vectors(held: HeldModel, seed: int, active: int) -> Scores:
    """Exact EP of the rows that say most."""
    return _scores(held, *exact_moments(held, informative_rows(held, active)))


def committee(held: HeldModel, seed: int, parts: int, robust: bool = False) -> Scores:
    """Exact EP of each part of the rows, and the product of what the parts predict."""
    members = [
        exact_moments(held, rows) for rows in np.array_split(_shuffled(held, seed), parts)
    ]
    prior = held.kernel.diag(held.X_test)
    return _scores(held, *committee_moments(members, prior, robust=robust))


def subset(held: HeldModel, seed: int, rows: int) -> Scores:
    """Exact EP of some of the rows, drawn at random."""
    return _scores(held, *exact_moments(held, _shuffled(held, seed)[:rows]))


# ------------------------------------------------------------------------------ their parts


def exact_moments(held: HeldModel, rows: Numbers | None = None) -> tuple[Floats, Floats]:
    """Mean and variance of f at the test rows by exact EP of some rows, or of all."""
    X, y = (held.X, held.y) if rows is None else (held.X[rows], held.y[rows])
    kernel, K = held.kernel, held.kernel(X)
    a = ep(prior_of(Direct(), K), held.likelihood, y, gradient=False)
    predictor = Predictor.from_sites(K, a.tau, a.nu)
    return predictor.latent(kernel(held.X_test, X), kernel.diag(held.X_test))


def swept_belief(held: HeldModel, basis: Basis, block: int) -> Belief:
    """What the rows say after one sweep in blocks of this many rows."""
    belief = Belief.none(basis)
    for start in range(0, len(held.y), block):
        X, y = held.X[start : start + block], held.y[start : start + block]
        said = visit(belief, held.likelihood, X, y, np.ones(len(y)), np.zeros((2, len(y))))
        belief = belief.plus(said)
    return belief


def informative_rows(held: HeldModel, count: int) -> Numbers:
    """Rows chosen one by one, each the one whose label would shrink the entropy most.

    With the present moments of f at a row as cavity, its site has precision tau, and shrinks
    the entropy by ``log(1 + tau var) / 2``.
    """
    kernel, X, n = held.kernel, held.X, len(held.y)
    mean, var = np.zeros(n), kernel.diag(X)
    chosen, out = np.empty(min(count, n), dtype=np.intp), np.zeros(n, dtype=bool)
    half = np.empty((len(chosen), n))  # the covariance is K - half' half
    for k in range(len(chosen)):
        tau, nu = held.likelihood.log_expected(held.y, mean, var).matched_site(mean)
        i = chosen[k] = int(np.argmax(np.where(out, -1.0, tau * var)))
        out[i] = True
        column = kernel(X[i : i + 1], X)[0] - half[:k, i] @ half[:k]
        grow = 1.0 + tau[i] * column[i]
        mean = mean + (nu[i] - tau[i] * mean[i]) / grow * column
        half[k] = np.sqrt(tau[i] / grow) * column
        var = np.maximum(var - half[k] ** 2, 0.0)
    return chosen


def committee_moments(
    members: Sequence[tuple[Floats, Floats]], prior: Floats, *, robust: bool = False
) -> tuple[Floats, Floats]:
    """The product of the members' predictions, from which the surplus of priors is taken.

    A robust committee raises each prediction to the power of the entropy it has gained, so
    that a member without rows near the input has no say.
    """
    mean, var = np.moveaxis(np.array(members), 1, 0)  # each (members, test rows)
    power = 0.5 * np.log(prior / var) if robust else np.ones_like(var)
    precision = np.sum(power / var, axis=0) + (1.0 - np.sum(power, axis=0)) / prior
    return np.sum(power * mean / var, axis=0) / precision, 1.0 / precision


def _points(held: HeldModel, count: int) -> tuple[Floats, float]:
    """Inducing points chosen among the rows, and the share of variance that they leave."""
    chosen, left = greedy_points(held.kernel, held.X, count)
    return held.X[chosen], float(left.sum() / held.kernel.diag(held.X).sum())


def _believed(held: HeldModel, belief: Belief) -> tuple[Floats, Floats]:
    """Mean and variance of f at the test rows under a belief."""
    cross = held.kernel(held.X_test, belief.basis.Z)
    return belief.predictor().latent(cross, held.kernel.diag(held.X_test))


def _shuffled(held: HeldModel, seed: int) -> Numbers:
    return np.random.default_rng([2000, seed]).permutation(len(held.y))


def _scores(held: HeldModel, mean: Floats, var: Floats) -> Scores:
    """Scores of the test rows by the moments of f there."""
    proba, y = held.likelihood.proba(mean, var), held.y_test
    levels, away = range(proba.shape[1]), np.abs(proba.argmax(axis=1) - y)
    return {
        "log_score": metrics.log_score(y, proba, levels=levels),
        "rps": metrics.ranked_probability_score(y, proba, levels=levels),
        "zero_one": float(np.mean(away > 0)),
        "mae": float(np.mean(away)),
    }


# ------------------------------------------------------------------------------ the experiment

Rows = Mapping[str, Mapping[str, Any]]

EXACT = Method("exact", "exact EP", all_rows)

THROUGH_POINTS = (
    *(
        Method(f"points-{M}", f"EP, {M} inducing points", inducing_points, {"points": M})
        for M in (100, 200, 500, 1000)
    ),
    Method("sweep", "one sweep, 500 points", one_sweep, {"points": 500, "block": 100}),
)

OLDER = (
    Method("committee", "committee, 4 x 500 rows", committee, {"parts": 4}),
    Method(
        "robust-committee", "robust committee, 4 x 500 rows", committee,
        {"parts": 4, "robust": True},
    ),
    Method(
        "informative", "informative vectors, 500 rows", informative_vectors, {"active": 500},
    ),
    Method("subset", "subset, 500 rows", subset, {"rows": 500}),
)  # fmt: skip


def scheme_table(spec: Spec, rows: Rows) -> ResultTable:
    """Means over the seeds; how far from exact EP, seed by seed; and processor seconds."""
    plain = table(replace(spec, build=None), rows)
    titles = [*plain.titles, f"{spec.metrics[0].title}, less exact", "seconds"]
    pairs = [(name, method) for name in spec.sets for method in spec.methods]
    lines = [
        [*line, _less_exact(spec, name, method, rows), _seconds(spec, name, method, rows)]
        for line, (name, method) in zip(plain.lines, pairs, strict=True)
    ]
    return replace(plain, spec=spec, titles=titles, lines=lines)


def scheme_curves(spec: Spec, rows: Rows) -> Any:
    """Scores against the number of inducing points; other schemes are level lines."""
    from ordinality.display.curves import Curve, Panel, curves

    found = means(spec, rows)
    by_points = [m for m in spec.methods if m.function is inducing_points]
    others = [m for m in spec.methods if m.function is not inducing_points]
    sizes = [m.settings["points"] for m in by_points]
    panels = []
    for name, metric in product(spec.sets, spec.metrics[:2]):  # the scores of probabilities
        of = {m.name: found.get((name, m.name, metric.name), np.nan) for m in spec.methods}
        if np.isnan(list(of.values())).any():
            raise ValueError(f"{spec.name} has cells without a row; run it first.")
        lines = [Curve("EP with inducing points", sizes, [of[m.name] for m in by_points])]
        lines += [Curve(m.title, [sizes[0], sizes[-1]], [of[m.name]] * 2) for m in others]
        panels.append(Panel(name, metric.title, lines))
    return curves(panels, "inducing points", ticks=sizes)


def _rows_by_seed(spec: Spec, name: str, method: Method, rows: Rows) -> dict[int, Any]:
    """Rows of the seeds that are done and have not failed."""
    keys = {k: spec.cell(name, k, method).key for k in range(1, spec.partitions + 1)}
    return {k: rows[key] for k, key in keys.items() if "metrics" in rows.get(key, {})}


def _less_exact(spec: Spec, name: str, method: Method, rows: Rows) -> str:
    """Mean difference of the first metric from exact EP on the same seeds, standard error."""
    metric = spec.metrics[0]
    own, exact = (_rows_by_seed(spec, name, m, rows) for m in (method, EXACT))
    if method.name == EXACT.name or not (both := own.keys() & exact.keys()):
        return ""
    gaps = [own[k]["metrics"][metric.name] - exact[k]["metrics"][metric.name] for k in both]
    return _with_error(metric.scale * np.array(gaps), metric.decimals, sign=True)


def _seconds(spec: Spec, name: str, method: Method, rows: Rows) -> str:
    done = _rows_by_seed(spec, name, method, rows).values()
    return _with_error(np.array([row["seconds"] for row in done]), 2) if done else ""


def _with_error(values: Floats, decimals: int, *, sign: bool = False) -> str:
    """A mean with its standard error, which needs two values."""
    text = shown(float(values.mean()), decimals, sign=sign)
    if values.size < 2:
        return text
    return f"{text} ± {shown(float(values.std(ddof=1) / np.sqrt(values.size)), decimals)}"


NOTES = (
    "A smooth random function of eight normal inputs in five levels, 2000 rows to learn from "
    "and 2000 to test, a new function for each seed. Length scale, noise and thresholds are "
    "learnt by exact EP on all 2000 rows and held, so that schemes differ by their posterior "
    "alone. Seconds are of the processor, one thread, from the rows to the scores, without "
    "that learning.",
    "Means have standard errors over the seeds, most of which is how hard the functions are. "
    "'Less exact' is the difference on the same seed, which has no part in that. "
    "'Unexplained' is the share of the prior variance that the inducing points leave.",
    "The sweep is assumed-density filtering in blocks of 100 rows (Csato & Opper, 2002, with "
    "the basis held), and loses little beside EP with the same points. The committees (Tresp, "
    "2000; Deisenroth & Ng, 2015, robust) see all rows, but none of their members does. "
    "Informative vectors (Lawrence, Seeger & Herbrich, 2003) are chosen where the posterior "
    "is wide, at the edge of the normal inputs, and have few rows of the outermost levels: "
    "they are hardly better than a subset at random.",
)

SPECS = (
    Spec(
        name="scale/schemes",
        title="Schemes for large data at equal parameters, beside exact inference",
        source="ordinality's own experiment",
        experiment="schemes",
        sets=("2000 rows",),
        partitions=SEEDS,
        methods=(EXACT, *THROUGH_POINTS, *OLDER),
        metrics=(
            Metric("log_score", "log score", decimals=4),
            Metric("rps", "ranked probability score", decimals=4),
            Metric("zero_one", "zero-one error %", scale=100, decimals=1),
            Metric("mae", "absolute error", decimals=3),
            Metric(
                "unexplained", "unexplained %", scale=100, decimals=1,
                methods=tuple(method.name for method in THROUGH_POINTS),
            ),
        ),
        problem=smooth,
        spread="se",
        notes=NOTES,
        build=scheme_table,
        draw=scheme_curves,
    ),
)  # fmt: skip
