"""What each type of ours contains in a model file: one table, by stable name.

Sizes: ``d`` features, ``K`` levels, ``n`` inputs learnt from, ``m`` observations, ``L`` labels
that are ranked, ``T`` rounds, ``s`` support vectors, ``i`` items, ``p`` columns of the kernel's
inputs, ``t`` free parameters, ``M`` members. Bounds: 1e-150 where a square of the inverse must
be finite, 1e-300 and 1e300 where only the number itself and its inverse must. Parameters of
estimators that are not listed may be any plain data: fitted models do not use them, and `fit`
checks them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ordinality.gp.design import Direct, Labels
from ordinality.gp.posterior.inducing_items import features_of

from .contents import (
    ROUNDING,
    TOLERANCE,
    Layout,
    anything,
    arrays,
    choice,
    count,
    either,
    equal,
    every,
    flag,
    floats,
    forget,
    ints,
    labels,
    number,
    optional,
    part,
    random,
    theirs,
)

__all__ = ["LAYOUTS"]

_KERNELS = (
    "Constant", "Correlation", "FixedPolynomial", "Foreign", "Gaussian", "Linear",
    "LinearGaussian", "Matern", "PerItem", "Polynomial", "Precomputed", "Product",
    "RationalQuadratic", "Spline", "Sum",
)  # fmt: skip
_KERNEL = part(*_KERNELS)
_LEARNERS = part(
    "ClippedFunction", "DecisionStump", "DecisionTree", "Halfspace", "SoftHalfspace", d="d"
)
_LINK = choice("probit", "logit")
_NOISE = choice("probit", "logit", "cloglog", "loglog", "student")
_VALUE = number(open=True)  # for information: an evidence or a gap may be infinite
_POSITIVE = number(above=True)
_INFORMATION = floats("?", nan=True, infinite=True)
_ENGINES = choice("laplace", "ep", "variational")


def _checked(kernel: Any) -> bool:
    """Whether a kernel passes the checks of its own constructor."""
    kernel.__post_init__()
    return True


# ---------------------------------------------------------------- kernels and likelihoods

_SCALE = either(_POSITIVE, floats("d", low=1e-150))
_RELEVANCE = either(number(0.0), floats("d", low=0.0))
_VALUES: dict[str, Layout] = {
    "Constant": {"variance": _POSITIVE, "also": _checked},
    "Correlation": {"missing": anything, "shrinkage": number(0.0), "also": _checked},
    "Foreign": {"kernel": anything},
    "Gaussian": {"length_scale": _SCALE, "also": _checked},
    "Linear": {"relevance": _RELEVANCE, "also": _checked},
    "LinearGaussian": {
        "linear_share": _POSITIVE, "common_scale": _POSITIVE, "relative_scale": _SCALE,
        "also": _checked,
    },
    "Matern": {"length_scale": _SCALE, "nu": _POSITIVE, "also": _checked},
    "PerItem": {"kernel": optional(_KERNEL), "variance": number(0.0), "also": _checked},
    "Polynomial": {
        "degree": count(low=1), "relevance": _RELEVANCE, "offset": number(0.0), "also": _checked
    },
    "FixedPolynomial": {"gamma": _POSITIVE, "degree": count(low=1), "coef0": number()},
    "Precomputed": {"diagonal": optional(number()), "also": _checked},
    "Product": {"parts": every(_KERNEL), "also": _checked},
    "RationalQuadratic": {"length_scale": _SCALE, "alpha": _POSITIVE, "also": _checked},
    "Spline": {},
    "Sum": {"parts": every(_KERNEL), "also": _checked},
    "Ordinal": {
        "thresholds": floats("K-1", increasing=True), "noise": _POSITIVE, "link": _NOISE
    },
    "Symmetric": {
        "thresholds": floats("K-1", increasing=True), "noise": _POSITIVE, "link": _LINK,
        "also": lambda one: equal(one.thresholds, -one.thresholds[::-1]),
    },
    "LogLinear": {
        "base": part("Ordinal"), "zeta": floats("z"), "X": floats("m", "z"),
    },
    "Several": {
        "parts": every(part("Ordinal", "Symmetric"), "q"),
        "kind": ints("m", low=0, high="q"),
        "_places?": forget,
    },
    "OrdinalLink": {"likelihood": part("Ordinal", K="K")},
    "Order": {
        "levels": labels("K"), "source": choice("stated", "carried", "sorted", "coded"),
        "also": lambda order: order.n_levels >= 2,
    },
    "Scaling": {"centre": floats("d", low=-1e300, high=1e300),
                "spread": floats("d", low=1e-300, high=1e300)},
    "Hyperprior": {"centre": floats("t"), "sd": floats("t", low=0.0, infinite=True),
                   "half": optional(floats("t", infinite=True, nan=True)),
                   "degrees": optional(floats("t", low=0.0, infinite=True)),
                   "together?": optional(ints("g", low=0, high="t")),
                   "spread?": number(0.0)},
}  # fmt: skip

# ---------------------------------------------------------------- Gaussian processes


def _is_symmetric(A: np.ndarray) -> bool:
    if A.shape[0] != A.shape[1]:
        return False
    largest = np.max(np.abs(A), initial=0.0)
    return bool(np.max(np.abs(A - A.T), initial=0.0) <= TOLERANCE * largest)


def _covers(problem: Any) -> bool:
    """Whether each observation has a level that its likelihood knows, and sees an input."""
    likelihood, y = problem.likelihood, problem.y
    problem.kernel.check(problem.X.shape[1])
    if problem.kernel.inputs == "gram" and not _is_symmetric(problem.X):
        return False
    if hasattr(likelihood, "parts"):
        n_levels = np.array([one.n_levels for one in likelihood.parts])
        return len(likelihood.kind) == len(y) and bool(np.all(y < n_levels[likelihood.kind]))
    if hasattr(likelihood, "zeta") and likelihood.X.shape != problem.X.shape:
        return False
    return bool(np.all(y < likelihood.n_levels))


def _sees(problem: Any) -> bool:
    n, m, design = len(problem.X), len(problem.y), problem.design
    seen = design.n if isinstance(design, Labels) else n if isinstance(design, Direct) else 0
    seen = seen or design.size
    seen -= problem.n_coefficients
    return _covers(problem) and seen == n and (m == n if isinstance(design, Direct) else True)


def _has_points(problem: Any) -> bool:
    """Whether the points of items are rows of their features, or none where there are none."""
    X = problem.X
    problem.kernel.check(X.shape[1])
    empty = len(problem.design) == 0 == len(getattr(problem.likelihood, "kind", ()))
    return empty and problem.Z.shape[1] == features_of(problem.kernel, X)[1].shape[1]


def _numbered(design: Any) -> bool:
    """Whether the stacked rows of labels say the same as their three columns."""
    wanted = [design.first * design.n + design.at, design.second * design.n + design.at]
    return np.array_equal(design.index, np.column_stack(wanted))


def _explains(predictor: Any) -> bool:
    """Whether G looks like an explained covariance: symmetric, no negative variances."""
    G = predictor.G
    return equal(G, G.T) and bool(
        np.all(np.diagonal(G) >= -ROUNDING * np.max(np.abs(G), initial=0))
    )


def _upper(value: Any, sizes: Any) -> None:
    """A Cholesky factor: finite above the diagonal, positive on it, anything below."""
    floats("n", "n", nan=True, infinite=True)(value, sizes)
    floats("?", "?")(np.triu(np.nan_to_num(value, nan=np.inf)) + 0.0, {})
    floats("?", low=1e-150)(np.diagonal(value).copy(), {})


def _lower(value: Any, sizes: Any) -> None:
    """A Cholesky factor by its lower triangle."""
    _upper(value.T if isinstance(value, np.ndarray) else value, sizes)


_PROBLEM: Layout = {
    "X": floats("n", "p", nan=True, low=-1e300, high=1e300),
    "y": ints("m", low=0),
    "weights": floats("m", low=1e-300, high=1e300),
    "kernel": _KERNEL,
    "likelihood": part("LogLinear", "Ordinal", "Several", "Symmetric"),
    "engine": _ENGINES,
    "criterion": choice("evidence", "bound", "loo"),
    "prior": optional(part("Hyperprior", t="t")),
    "tol": _POSITIVE,
    "max_iter": count(low=1),
    "design": part("Direct", "Labels", "Combinations", m="m"),
    "n_coefficients?": count(),
    "also": _sees,
}
_REGRESSION: Layout = {
    "X": floats("n", "p", nan=True, low=-1e300, high=1e300),
    "y": ints("n", low=0),
    "weights": floats("n", low=1e-300, high=1e300),
    "kernel": _KERNEL,
    "noise": _POSITIVE,
    "likelihood": part("Ordinal"),
    "centre": number(),
    "prior": optional(part("Hyperprior", t="t")),
    "also": _covers,
}
# In place of the rows of a problem, inducing points.
_POINTS: Layout = {
    "X": floats(0, "p"),
    "y": ints(0),
    "weights": floats(0),
    "count": count(low=1),
    "Z": floats("M", "p", low=-1e300, high=1e300),
    "fixed": flag,
    "pool": choice(None),
    "also": lambda problem: problem.kernel.check(problem.Z.shape[1]) is None,
}
_LABELS: Layout = {
    "beta": floats("n", "L"),
    "G": floats("g", "g"),
    "pieces": every(part("Piece", n="n", g="g"), "q"),
    "basis": floats("L", "q"),
    "also": _explains,
}
_SITES = floats("m", infinite=True)
_PROCESSES: dict[str, Layout] = {
    "Objective": _PROBLEM,
    "LabelObjective": _PROBLEM,
    "InducingLabelObjective": {**_PROBLEM, **_POINTS},
    "InducingObjective": {**_PROBLEM, **_POINTS},
    "ItemObjective": {
        **_PROBLEM, **_POINTS, "Z": floats("M", "?", low=-1e300, high=1e300),
        "also": _has_points,
    },
    "Settled": {
        "log_evidence": _VALUE, "unexplained": number(0.0), "n_iter": count(),
        "converged": flag, "residual": _VALUE, "cavity_mean": choice(None),
        "cavity_var": choice(None),
    },
    "Stream": {
        "n_seen": count(), "n_learnt": count(), "X": floats("r", "d"),
        "y": ints("r", low=0), "weights": floats("r", low=1e-300, high=1e300),
    },
    "ItemPredictor": {
        "points": part("InducingPredictor", n="n"),
        "precision": floats("i", low=0.0), "potential": floats("i"),
    },
    "InducingPredictor": {
        "lower": _lower, "factor": _upper, "mean": floats("n"),
    },
    "Direct": {},
    "Combinations": {
        "size": count(),
        "index": ints("m", "w", low=0),
        "value": floats("m", "w"),
        "also": lambda rows: np.all(rows.index < rows.size) and rows.index.flags.c_contiguous
        and rows.value.flags.c_contiguous,
    },
    "Labels": {
        "n": count("n"),
        "L": count("L", low=2),
        "size": count("n*L"),
        "index": ints("m", 2, low=0),
        "value": floats("m", 2),
        "at": ints("m", low=0, high="n"),
        "first": ints("m", low=0, high="L"),
        "second": ints("m", low=0, high="L"),
        "also": _numbered,
    },
    "Jet": {"rows": floats("?", "m", nan=True, infinite=True)},
    "Approximation": {
        **dict.fromkeys(["tau", "nu", "mean", "var", "alpha"], _SITES),
        **dict.fromkeys(["cavity_mean", "cavity_var"], floats("m", nan=True, infinite=True)),
        "log_evidence": _VALUE,
        "d_kernel": choice(None),
        "d_variance?": choice(None),
        "d_likelihood": _INFORMATION,
        "jet": part("Jet", m="m"),
        "start": floats("?", infinite=True),
        "n_iter": count(),
        "converged": flag,
        "residual": _VALUE,
    },
    "ObjectiveValue": {
        "theta": floats("t"), "value": _VALUE, "gradient": floats("t", nan=True, infinite=True),
        "criterion": _VALUE, "credible": flag,
        "approximation": either(part("Approximation", m="m"), part("Settled")),
    },
    "LeastSquares": _REGRESSION,
    "InducingLeastSquares": {**_REGRESSION, **_POINTS},
    "Score": {
        "theta": floats("t"), "value": _VALUE, "gradient": floats("t", nan=True, infinite=True),
        "criterion": _VALUE, "mean": floats("m"), "var": floats("m"), "start": choice(None),
        "unexplained?": number(0.0),
    },
    "Fit": {
        "problem": part("InducingLabelObjective", "InducingLeastSquares", "InducingObjective",
                        "ItemObjective",
                        "LabelObjective", "LeastSquares", "Objective",
                        n="n", p="p", m="m", t="t"),
        "best": part("ObjectiveValue", "Score", m="m", t="t"),
        "n_evaluations": count(),
        "path": anything,
        "kernel?": forget,
        "likelihood?": forget,
        "converged": flag,
        "also": lambda fit: len(fit.best.theta) == len(fit.problem.theta) and _settled(fit),
    },
    "Factor": {"sq": floats("n", low=0.0), "upper": _upper, "half_log_det": number(),
               "inverse": flag},
    "Predictor": {"factor": part("Factor", n="n"), "alpha": floats("n")},
    "LatentPredictor": {"beta": floats("n"), "G": floats("n", "n"), "also": _explains},
    "Coefficients": {
        "mean": floats("c"), "cov": floats("c", "c"), "link": floats("n", "c"),
        "also": lambda one: equal(one.cov, one.cov.T)
        and bool(np.all(np.diagonal(one.cov) >= 0)),
    },
    "LabelPredictor": _LABELS,
    "InducingLabelPredictor": {**_LABELS, "lower": _lower},
    "Piece": {"place": ints("k", low=0, high="g"), "at": ints("k", low=0, high="n"),
              "sign": floats("k")},
}  # fmt: skip


def _settled(fit: Any) -> bool:
    """Whether the approximation is one of the problem's observations."""
    m = len(fit.problem.y)
    if not hasattr(fit.best, "approximation"):
        return len(fit.best.mean) == m
    found = fit.best.approximation
    if type(found).__name__ == "Settled":
        return m == 0
    # What an engine starts from: the mean for Laplace, two numbers of each site for the others.
    return len(found.tau) == m and len(found.start) == m * (
        1 + (fit.problem.engine != "laplace")
    )


# ---------------------------------------------------------------- estimators

_FITTED: Layout = {
    "n_features_in_": count("d", low=1),
    "feature_names_in_?": anything,
    "_sklearn_output_config?": anything,
}
_RULE = choice("mode", "median", "mean", "quadratic_kappa")
_COSTS = either(floats("K", "K"), ints("K", "K"), every(every(number(), "K", list), "K", list))
_ORDINAL: Layout = {
    **_FITTED,
    "_order": part("Order", K="K"),
    "decision": either(_RULE, _COSTS),
    "kappa_rule_?": floats(2, low=0.0, high=1e150),
    "levels_": labels("K"),
    "classes_": labels("K"),
}
_SEARCHED: Layout = {"n_iter_": count(), "converged_": flag}


def _in_order(model: Any) -> bool:
    return equal(model.levels_, model._order.levels) and equal(
        model.classes_, model._order.classes
    )


def _inputs_fit(model: Any) -> bool:
    """Whether the kernel's inputs are the estimator's features, or its Gram matrix."""
    X, d, kernel = model.fit_.problem.X, model.n_features_in_, model.kernel_
    gram = kernel.inputs == "gram"
    kernel.check(X.shape[1])
    kept = bool(np.all(model._kept < d)) if gram else True
    return kept and X.shape[1] == (len(X) if gram else d) and kernel.inputs == _inputs(model)


def _inputs(model: Any) -> str:
    inputs: str = model.fit_.problem.kernel.inputs
    return inputs


def _process(model: Any) -> bool:
    likelihood = model.fit_.likelihood
    return (
        _in_order(model)
        and _inputs_fit(model)
        and likelihood.n_levels == len(model.levels_)
        and equal(model.thresholds_, likelihood.thresholds)
        and (len(model._kept) == len(model.fit_.problem.X))
        and _predicts(model)
    )


def _predicts(model: Any) -> bool:
    """Whether the predictor is of the inputs that covariances are taken with."""
    points = getattr(model.fit_.problem, "Z", None)
    predictor = model.predictor_
    if points is None:
        return type(predictor).__name__ == "Predictor"
    return type(predictor).__name__ == "InducingPredictor" and len(predictor.mean) == len(
        points
    )


def _ranks_labels(model: Any) -> bool:
    likelihood = model.fit_.likelihood
    return (
        _inputs_fit(model)
        and isinstance(model.fit_.problem.design, Labels)
        and len(model.classes_) == model.fit_.problem.design.L
        and _predicts_labels(model)
        and likelihood.n_levels == (3 if model.ties else 2)
        and np.isfinite(likelihood.noise)
    )


def _predicts_labels(model: Any) -> bool:
    """Whether the predictor is of the points of a problem, or of its inputs."""
    problem, predictor = model.fit_.problem, model.predictor_
    with_points = getattr(problem, "Z", None) is not None
    return (
        len(predictor.beta) == len(problem.support) > 0
        and with_points == (type(predictor).__name__ == "InducingLabelPredictor")
        and with_points == (model.inducing_points_ is not None)
    )


def _are_answers(classes: np.ndarray, grades: int, ties: bool) -> bool:
    """Whether classes are -grades .. grades, with zero for ties only."""
    if len(classes) != 2 * grades + ties:
        return False
    every = np.arange(-grades, grades + 1)
    return np.array_equal(classes, every if ties else every[every != 0])


def _preferences(model: Any) -> bool:
    answers, items, likelihood = model._answers, model._items, model.fit_.likelihood
    parts = getattr(likelihood, "parts", (likelihood,))
    named = 0 if model.judges_ is None else len(model.judges_)
    judges = named + model._has_nobody
    covariates = len(model._covariates)
    steps = [len(model.classes_)] * judges
    steps += [] if model.rating_levels_ is None else [len(model.rating_levels_)]
    problem = model.fit_.problem
    if not (
        _are_answers(model.classes_, model.grades, model.ties)
        and [one.n_levels for one in parts] == steps
        and all(np.all(np.isfinite(one.thresholds)) and np.isfinite(one.noise) for one in parts)
        and bool(np.all(answers.part < len(parts)))
        and judges > 0
        and len(model._judge_weights) == judges
        and answers.covariates.shape[1] == problem.n_coefficients == covariates
        and (model._effects is None) == (covariates == 0)
        and len(answers.part) == len(problem.y)
        and problem.X.shape == items.inputs(answers.seen(), answers.seen()).shape
    ):
        return False
    by_points = type(model.predictor_).__name__ == "ItemPredictor"
    if by_points or type(problem).__name__ == "ItemObjective":
        return by_points and len(model.predictor_.points.mean) == len(getattr(problem, "Z", ()))
    return (
        bool(np.all(answers.items[:, 0] >= 0))
        and len(answers.seen()) == len(problem.X) == problem.design.size - covariates
        and bool(
            np.all(np.bincount(answers.part, minlength=judges)[:named] > 0)
            or not len(answers.part)  # the prior
        )
    )


def _weighted(model: Any) -> bool:
    """Whether a machine has its vectors, or takes columns of a Gram matrix that exist."""
    support = getattr(model, "support_", getattr(model, "_support", None))
    if model._vectors is None:
        return model._kernel.inputs == "gram" and bool(np.all(support < model.n_features_in_))
    model._kernel.check(model.n_features_in_) if hasattr(model._kernel, "check") else None
    linear = type(model._kernel).__name__ == "Linear" and hasattr(model, "support_")
    return hasattr(model, "_scaling") and (hasattr(model, "coef_") or not linear)


_GP: Layout = {
    **_ORDINAL,
    **_SEARCHED,
    "_scaling": part("Scaling", d="d"),
    "fit_": part("Fit", n="n", t="t"),
    "kernel_": _KERNEL,
    "thresholds_": floats("K-1", increasing=True),
    "relevance_": floats("d", low=0.0, nan=True),
    "length_scale_": floats("d", infinite=True, nan=True),
    "noise_": _POSITIVE,
    "predictor_": either(part("Predictor", n="n"), part("InducingPredictor")),
    "_kept": ints("n", low=0),
    "loo_proba_?": floats("?", "K", proba=True),
    "unexplained_?": number(0.0),
    "inducing_points_?": optional(floats("M", "d")),
    "also": _process,
}
_SOLVED: Layout = {**_SEARCHED, "dual_objective_": _VALUE, "duality_gap_": _VALUE}
_SVM: Layout = {
    **_ORDINAL,
    **_SOLVED,
    "_scaling?": part("Scaling", d="d"),
    "support_": ints("s", low=0),
    "dual_coef_": floats("s"),
    "n_support_": ints("K", low=0),
    "_vectors": optional(floats("s", "d", nan=True)),
    "_kernel": _KERNEL,
    "thresholds_": floats("K-1", increasing=True, infinite=True),
    "bands_": floats("K-1", 2, infinite=True),
    "_before?": choice(None),
    "link_": optional(part("OrdinalLink", K="K")),
    "coef_?": floats("d"),
    "also": lambda model: _in_order(model) and _weighted(model),
}
_BOOSTED: Layout = {
    **_ORDINAL,
    "_seed": count(),
    "_rng": random,
    "_scaling": optional(part("Scaling", d="d")),
    "n_iter_": count(),
    "ensemble_": part("Ensemble", d="d", K="K", T="T"),
    "n_estimators_": count("T"),
    "learners_": every(_LEARNERS, "T", list),
    "weights_": floats("T"),
    "thresholds_": floats("K-1", increasing=True, infinite=True),
    "train_loss_": floats("T+1", infinite=True),
    "feature_importances_": floats("d", low=0.0),
    "validation_score_?": _INFORMATION,
    "link_": optional(part("OrdinalLink", K="K")),
    "also": _in_order,
}


def _effects_fit(model: Any) -> bool:
    """Whether the parts of a regression are what its parameters say."""
    observed, K = model._observed, len(model.levels_)
    if len(observed) < 2 or np.any(np.diff(observed) <= 0):
        return False
    if model.thresholds != "flexible" and len(observed) != K:
        return False
    columns = np.concatenate([model._location, model._nominal, model._grouping])
    found = model._linear()
    left_out = np.isnan(model.nominal_coef_)
    return (
        _in_order(model)
        and len(model.coef_) == len(model._location)
        and np.array_equal(np.sort(columns), np.arange(model.n_features_in_))
        and len(found.A) == 1 + np.count_nonzero(~left_out[:, 0])
        and np.array_equal(left_out.any(axis=1), left_out.all(axis=1))
        and equal(found.beta, model.coef_[~np.isnan(model.coef_)])
        and equal(found.zeta, model.scale_coef_[~np.isnan(model.scale_coef_)])
        and len(model.parameter_names_) == len(model.parameters_)
        and bool(np.all(np.isfinite(model.parameters_[: model._n_fixed])))
        and _groups_fit(model)
    )


def _groups_fit(model: Any) -> bool:
    """Whether random terms name columns of the model, and the same ones as it does."""
    terms = () if model._random is None else model._random.terms
    columns = [column for term in terms for column in term.columns]
    return all(column < model.n_features_in_ for column in columns) and (
        model._grouping.tolist() == [term.columns[0] for term in terms]
    )


def _posterior_fits(effects: Any) -> bool:
    """Whether every place that a prediction looks up exists."""
    G, r = effects.blocks.shape[:2]
    widths = [len(effects.factors[t]) for t in effects.terms]
    return (
        sorted(effects.terms) == list(range(len(effects.factors)))
        and all(L.shape == (len(L), len(L)) for L in effects.factors)
        and len(effects.first) == len(effects.terms) + 1
        and effects.first[0] == 0
        and effects.first[1] == G * r
        and widths[0] == r
        and effects.first[-1] == len(effects.mode) == G * r + len(effects.rest_inverse)
        and bool(np.all(np.diff(effects.first) % widths == 0))
        and bool(np.all(np.diff(effects.first) > 0))
        and effects.ptr[0] == 0
        and effects.ptr[-1] == len(effects.partners)
        and bool(np.all(np.diff(effects.ptr) >= 0))
    )


def _effects_agree(random: Any) -> bool:
    """Whether the terms have the groups and slopes that the posterior is of."""
    posterior = random.posterior
    if len(random.terms) != len(posterior.factors):
        return False
    for at, t in enumerate(posterior.terms):
        G, r = len(random.terms[t].groups), len(random.terms[t].columns)
        shapes = [np.shape(part[t]) for part in (random.modes, random.deviations)]
        if (
            posterior.first[at + 1] - posterior.first[at] != G * r
            or len(random.terms[t].names) != r
            or shapes != [(G, r), (G, r)]
            or random.factors[t].shape != (r, r)
            or posterior.factors[t].shape != (r, r)
        ):
            return False
    return True


_REGRESSED: Layout = {
    **_ORDINAL,
    **_SEARCHED,
    "link": choice("logit", "probit", "cloglog", "loglog", "cauchit"),
    "thresholds": choice("flexible", "symmetric", "symmetric2", "equidistant"),
    "penalty_": choice(None, "l2", "elasticnet", "jeffreys"),
    "coef_": floats("l", nan=True),
    "thresholds_": floats("K-1", increasing=True, infinite=True),
    "_nominal": ints("p", low=0, high="d"),
    "nominal_coef_": floats("p", "K-1", nan=True),
    "_scale": ints("c", low=0, high="d"),
    "scale_coef_": floats("c", nan=True),
    "_observed": ints("o", low=0, high="K"),
    "_grouping": ints("?", low=0, high="d"),
    "_random": optional(part("RandomEffects")),
    "parameters_": floats("t", infinite=True),  # the log of a deviation of zero
    "parameter_names_": anything,
    "covariance_": optional(floats("t", "t", nan=True)),
    **dict.fromkeys(
        ["log_likelihood_", "null_log_likelihood_", "effective_df_", "n_observations_"], _VALUE
    ),
    "notes_": anything,
    "also": _effects_fit,
}
_RANDOM: dict[str, Layout] = {
    "RandomTerm": {
        "names": anything, "columns": every(count()), "groups": labels("G"),
        "also": lambda term: bool(np.all(term.groups[1:] > term.groups[:-1])),
    },
    "EffectPosterior": {
        "terms": every(count()), "first": every(count()), "factors": every(floats("?", "?")),
        "mode": floats("q"), "blocks": floats("G", "r", "r"), "multipliers": floats("P", "r"),
        "rest_inverse": floats("R", "R"), "ptr": ints("G+1", low=0),
        "partners": ints("P", low=0, high="R"), "also": _posterior_fits,
    },
    "RandomEffects": {
        "terms": every(part("RandomTerm")), "factors": every(floats("?", "?")),
        "modes": every(floats("?", "?")), "deviations": every(floats("?", "?", low=0.0)),
        "posterior": part("EffectPosterior"), "also": _effects_agree,
    },
}  # fmt: skip
_FOREST = part("Forest", d="d")
_TREES: Layout = {
    "location": _FOREST,
    "log_scale": optional(_FOREST),
    "thresholds": floats("L-1", increasing=True),
    "above": every(_FOREST),
    "share": number(0.0, 1.0),
    "floor": number(0.0, 1.0),
    "frequencies": floats("K", proba=True),
    "seen": ints("L", low=0, high="K"),
    "also": lambda trees: len(trees.above) in (0, len(trees.thresholds)) and bool(
        np.all(np.diff(trees.seen) > 0)
    ),
}  # fmt: skip
_SCORES: Layout = {
    "scores": every(_FOREST, "L"),
    "floor": number(0.0, 1.0),
    "frequencies": floats("K", proba=True),
    "seen": ints("L", low=0, high="K"),
    "also": lambda trees: bool(np.all(np.diff(trees.seen) > 0)),
}
_NODES = ints("N", low=0)
_CLASSIFIER = either(
    part(
        "LeastSquaresOrdinalGP", "OrdinalBoost", "OrdinalGP", "OrdinalRegression", "OrdinalSVM",
        "OrdinalSVMCV", "OrdinalStack", "OrdinalTrees", "RankBoost", "RoundedRegressor", d="d",
    ),
    theirs("d"),
)  # fmt: skip


def _calibrated(model: Any) -> bool:
    """Whether the models know the levels, and calibration rows models and groups."""
    models = [model.estimator_, *model.estimators_]
    return (
        _in_order(model)
        and all(np.all(np.isin(one.classes_, model.levels_)) for one in models)
        and bool(np.all(model._folds < max(len(model.estimators_), 1)))
        and bool(np.all(np.diff(model.groups_) >= 0))
    )


def _pooled(model: Any) -> bool:
    """Whether the members are named, and know no other levels than the stack."""
    members = model.estimators_
    return (
        _in_order(model)
        and 0 < len(members) == len(model.estimators)
        and all(np.all(np.isin(one.classes_, model.levels_)) for one in members)
    )


_HALFSPACE: Layout = {"w": floats("d"), "bias": number()}
_ESTIMATORS: dict[str, Layout] = {
    "OrdinalGP": {
        **_GP,
        "log_evidence_": _VALUE,
        "scale_coef_?": optional(floats("d")),
        "_stream?": part("Stream", d="d"),
    },
    "LeastSquaresOrdinalGP": {**_GP, "slope_": number(), "loo_log_score_": _VALUE},
    "OrdinalBoost": _BOOSTED,
    "OrdinalRegression": _REGRESSED,
    "RankBoost": _BOOSTED,
    "OrdinalConformal": {
        **_FITTED,
        "_order": part("Order", K="K"),
        "levels_": labels("K"),
        "classes_": labels("K"),
        "coverage": number(0.0, 1.0),
        "conformity": choice("mass", "density"),
        "method_": choice("split", "cross"),
        "estimator_": _CLASSIFIER,
        "estimators_": every(_CLASSIFIER, kind=list),
        "n_calibration_": ints("G", low=0),
        "groups_": ints("K", low=0, high="G"),
        "coverage_spread_": floats("G", 2),
        "_bounds": floats("G", infinite=True),
        "_scores": floats("m"),
        "_weights": floats("m", low=0.0, high=1e300),
        "_folds": ints("m", low=0),
        "_row_groups": ints("m", low=0, high="G"),
        "also": _calibrated,
    },
    "OrdinalStack": {
        **_ORDINAL,
        "estimators_": every(_CLASSIFIER, "M", list),
        "weights_": floats("M", proba=True),
        "member_log_scores_": floats("M", nan=True),
        "log_score_": _VALUE,
        "also": _pooled,
    },
    "OrdinalTrees": {
        **_ORDINAL,
        "thresholds_?": floats("K-1", increasing=True, infinite=True),
        "n_estimators_": count(),
        "scale_": flag,
        "pool_weight_": number(0.0, 1.0),
        "floor_": number(0.0, 1.0),
        "feature_importances_": floats("d", low=0.0),
        "validation_score_": _INFORMATION,
        "column_categories_": every(optional(labels("?")), "d", list),
        "trees_": part("CumulativeTrees", "MultinomialTrees", d="d", K="K"),
        "also": lambda model: _in_order(model)
        and hasattr(model, "thresholds_") == hasattr(model.trees_, "thresholds"),
    },
    "CumulativeTrees": _TREES,
    "MultinomialTrees": _SCORES,
    "Forest": {
        "root": ints("T"), "feature": ints("N", low=0, high="d"), "cut": floats("N"),
        "left": ints("N"), "right": ints("N"), "missing_left": ints("N", low=0, high=2),
        "first_word": _NODES, "n_words": _NODES, "words": ints("W", low=0, high=2**32),
        # Sums of as many leaves as a forest has stay finite.
        "leaf": floats("L", low=-1e200, high=1e200),
        "also": lambda forest: forest.is_sound(2**53),
    },
    "OrdinalSVM": _SVM,
    "OrdinalSVMCV": {**_SVM, "C_": _POSITIVE, "gamma_": number(0.0), "best_score_": _VALUE,
                     "cv_results_": arrays},
    "RoundedRegressor": {
        **_ORDINAL,
        "thresholds_": floats("K-1", increasing=True),
        "regressor_": theirs("d"),
        "also": _in_order,
    },
    "LowRankImputer": {
        **_FITTED, **_SEARCHED,
        "components_": floats("r", "d"),
        "singular_values_": floats("r", low=0.0),
        "coefficients_": floats("r"),
        "objective_": _INFORMATION,
    },
    "LabelRankingGP": {
        **_FITTED, **_SEARCHED,
        "ties": flag,
        "classes_": labels("L"),
        "_scaling": part("Scaling", d="d"),
        "fit_": part("Fit", n="n", t="t"),
        "_kept": ints("n", low=0),
        "kernel_": _KERNEL,
        "predictor_": either(part("LabelPredictor", n="n", L="L"),
                             part("InducingLabelPredictor", L="L")),
        "unexplained_": number(0.0),
        "inducing_points_": optional(floats("M", "d")),
        "noise_": _POSITIVE,
        "tie_width_": number(0.0),
        "relevance_": floats("d", low=0.0, nan=True),
        "log_evidence_": _VALUE,
        "also": _ranks_labels,
    },
    "LabelRankingSVM": {
        **_FITTED, **_SOLVED,
        "classes_": labels("L"),
        "_scaling": part("Scaling", d="d"),
        "_kernel": _KERNEL,
        "n_support_": count(),
        "dual_coef_": floats("n", "L"),
        "_support": ints("s", low=0, high="n"),
        "_vectors": optional(floats("s", "d")),
        "also": _weighted,
    },
    "PreferenceGP": {
        **_SEARCHED,
        "ties": flag,
        "grades": count(low=1),
        "inference": _ENGINES,
        "tol": _POSITIVE,
        "max_iter": count(low=1),
        "n_features_in_": choice(2),
        "_items": part("Items", i="i", p="p"),
        "item_names_": optional(labels("i")),
        "classes_": ints("K"),
        "_answers": part("Answers", i="i", m="m", c="c"),
        "fit_": part("Fit", n="n", m="m"),
        "predictor_": either(part("LatentPredictor", n="n"), part("ItemPredictor", i="i")),
        "_judge_weights": floats("?", low=0.0),
        "unexplained_": number(0.0),
        "inducing_points_": optional(floats("M", "p")),
        "kernel_": optional(_KERNEL),
        "item_variance_": number(0.0),
        "relevance_": floats("p", low=0.0, nan=True),
        "judges_": optional(labels("J")),
        "_has_nobody": flag,
        "_covariates": part("Covariates", c="c"),
        "_effects": optional(part("Coefficients", n="n", c="c")),
        "covariate_names_": optional(labels("c")),
        "covariate_coef_": optional(floats("c")),
        "covariate_sd_": optional(floats("c", low=0.0)),
        "noise_": either(_POSITIVE, floats("J", low=0.0)),
        "steps_": either(floats("?"), floats("J", "?")),
        "rating_levels_": optional(labels("R")),
        "thresholds_": optional(floats("R-1", increasing=True)),
        "rating_noise_": optional(_POSITIVE),
        "log_evidence_": _VALUE,
        "also": _preferences,
    },
    "PreferenceSVM": {
        **_SOLVED,
        "n_features_in_": choice(2),
        "_items": part("Items", i="i", p="p"),
        "_kernel": _KERNEL,
        "n_support_": count(),
        "classes_": ints(2, low=-1, high=2),
        "dual_coef_": floats("i"),
        "_scores": floats("i"),
    },
    "Items": {
        "X": floats("i", "p", nan=True),
        "scaling": part("Scaling", d="p"),
        "gram": flag,
        "numbered": flag,
        "twin": ints("i", low=0, high="i"),
        "also": lambda items: not items.gram or items.X.shape[1] == len(items.X),
    },
    "Answers": {
        "part": ints("m", low=0),
        "items": ints("m", 2, low=-1, high="i"),
        "level": ints("m", low=0),
        "weight": floats("m", low=1e-300, high=1e300),
        "covariates": floats("m", "c"),
    },
    "Covariates": {
        "names": labels("c"),
        "scale": floats("c", low=1e-300, high=1e300),
        "is_named": flag,
    },
    "Ensemble": {
        "alphas": floats("T"),
        "learners": every(_LEARNERS, "T"),
        "thresholds": floats("T+1", "K-1", increasing=True, infinite=True),
        "log_losses": floats("T+1", infinite=True),
    },
    "Halfspace": _HALFSPACE,
    "SoftHalfspace": _HALFSPACE,
    "DecisionStump": {
        "feature": count(high="d"), "cut": number(open=True), "polarity": number(-1, 1),
    },
    "DecisionTree": {
        "feature": ints("N", low=0, high="d"),
        "cut": floats("N", infinite=True),
        "gain": floats("N"),
        "leaf": floats("N+1", low=-1.0, high=1.0),
        "also": lambda tree: len(tree.leaf) & (len(tree.leaf) - 1) == 0,
    },
    "ClippedFunction": {"function": part("Vote", d="d")},
    "Vote": {"classifier": optional(theirs("d")), "constant": number(-1, 1)},
}  # fmt: skip

for _name in ("LabelRankingSVM", "PreferenceSVM"):
    _ESTIMATORS[f"{_name}CV"] = {
        **_ESTIMATORS[_name],
        "C_": _POSITIVE,
        "gamma_?": number(0.0),
        "best_score_": _VALUE,
        "cv_results_": arrays,
    }

#: Attributes of every type of ours, by stable name without version.
LAYOUTS: dict[str, Layout] = {**_VALUES, **_PROCESSES, **_RANDOM, **_ESTIMATORS}
