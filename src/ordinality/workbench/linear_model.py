"""The linear model of a table: its terms, its penalty if it needs one, its coefficients.

A model that was named is fitted by maximum likelihood, with coefficients and standard errors to
quote. Every fit, that of a fold too, decides for itself whether the likelihood has a maximum,
and takes a weak ridge if not. A candidate of the automatic choice is there to predict: with few
rows for its parameters it is shrunk, categories all alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from sklearn.pipeline import Pipeline

from ordinality.estimators.ordinal_regression import OrdinalRegression, name_columns
from ordinality.tables.encoding import feature_names, regression_encoder, sources

from .models import MODELS, Model
from .problem import Problem

__all__ = [
    "LinearTerms",
    "coefficients",
    "fold_warnings",
    "linear_candidate",
    "linear_model",
    "name_terms",
    "odds_sentence",
    "odds_tests",
]

# A prior of deviation 1/2 on coefficients of standardised columns. On eight of nine tables of
# fewer than 20 rows a parameter its score is within 6 % of the best of 1, 2, 4 and 8.
SHRUNK: dict[str, Any] = {"penalty": "l2", "alpha": 4.0, "standardize": True}

ROWS_PER_PARAMETER = 20  # below, predictions gain by shrinkage: Harrell (2015), section 4.4

MAX_TEST_ROWS, MAX_TEST_WORK = 20_000, 1e7  # rows, and rows times parameters squared

DOUBTFUL = (
    "in some folds the training rows do not determine all coefficients, and probabilities of "
    "the test rows may be extreme there."
)


class LinearTerms(NamedTuple):
    """What a linear model contains, by columns of the table."""

    link: str = "logit"
    nominal: tuple[str, ...] = ()  # with an effect on each threshold
    scale: tuple[str, ...] = ()  # with an effect on the noise
    random: tuple[tuple[str, ...], ...] = ()  # a grouping column, then columns of slopes

    @property
    def groups(self) -> list[str]:
        """The grouping columns."""
        return [term[0] for term in self.random]


def linear_candidate(problem: Problem) -> Model:
    """The linear model as a candidate of the automatic choice, shrunk if rows are few."""
    size, entry = problem.size(), MODELS["linear"]
    if size.rows >= ROWS_PER_PARAMETER * (size.columns + size.levels - 1):
        return entry

    def build(*, random_state: Any = None, **given: Any) -> Any:
        return OrdinalRegression(**SHRUNK, **given)

    return entry._replace(
        build=build, encode=None, description=f"{entry.description}, shrunk: few rows"
    )


def linear_model(problem: Problem, terms: LinearTerms | None = None) -> Model:
    """The linear model with terms of this table."""
    terms = LinearTerms() if terms is None else terms
    _check(problem, terms)
    encode = partial(regression_encoder, groups=terms.groups)
    of_matrix = sources(encode(problem.encoder).fit(problem.frame, problem.y))

    def places(names: Iterable[str]) -> list[int]:
        return [j for name in names for j, source in enumerate(of_matrix) if source == name]

    fixed: dict[str, Any] = {"link": terms.link}
    fixed["penalty"] = None if terms.random else "auto"
    if terms.nominal:
        fixed["nominal"] = places(terms.nominal)
    if terms.scale:
        fixed["scale"] = places(terms.scale)
    if terms.random:
        fixed["random"] = [tuple(places(term)) for term in terms.random]

    def build(*, random_state: Any = None, **given: Any) -> Any:
        return OrdinalRegression(**fixed, **given)

    return MODELS["linear"]._replace(build=build, encode=encode)


def _check(problem: Problem, terms: LinearTerms) -> None:
    """Refuse columns that the table does not have, or that cannot play their part."""
    roles = {"nominal": terms.nominal, "scale": terms.scale}
    roles["random"] = tuple(name for term in terms.random for name in term)
    columns = problem.columns
    for role, names in roles.items():
        for name in names:
            if name not in columns:
                raise ValueError(
                    f"the {role} effects name {name!r}, which is not a feature of the table; "
                    f"its features are {', '.join(columns)}."
                )
    slopes = [name for term in terms.random for name in term[1:]]
    for role, names in {**roles, "random": (*terms.groups, *set(slopes))}.items():
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ValueError(
                f"the {role} effects name {twice[0]!r} twice; name each column once, and after "
                "a grouping column all that have a slope there."
            )
    if terms.random and terms.scale:
        raise ValueError("random and scale effects cannot be combined; leave one out.")
    frame = nw.from_native(problem.frame, eager_only=True)
    for name in terms.groups:
        if name in (*terms.nominal, *terms.scale):
            raise ValueError(f"{name} groups rows and can have no other effect; leave one out.")
        empty = int(frame[name].null_count())
        if empty:
            raise ValueError(
                f"{name} groups rows, but {empty} of them have no value there; fill it in, or "
                "leave those rows out."
            )


# ---------------------------------------------------------------- after a fit


def name_terms(pipeline: Pipeline, messages: Sequence[str]) -> list[str]:
    """Give a regression the names of the table; the warnings that its notes do not repeat."""
    model = pipeline[-1]
    if not isinstance(model, OrdinalRegression):
        return list(messages)
    left = [said for said in messages if said not in model.notes_]
    name_columns(model, feature_names(pipeline[0]))
    return left


def fold_warnings(model: Any, messages: Iterable[str]) -> tuple[str, ...]:
    """Warnings of a fold; those of a regression as one sentence, the same in all folds."""
    said = tuple(dict.fromkeys(messages))
    return (DOUBTFUL,) if said and isinstance(model, OrdinalRegression) else said


def coefficients(summary: Any) -> list[dict[str, Any]]:
    """The rows of a table of coefficients, each as a dict."""
    keys = [name.replace(" ", "_") for name in summary.columns]
    return [
        {"name": str(name), **dict(zip(keys, values, strict=True))}
        for name, *values in zip(summary.names, *summary.columns.values(), strict=True)
    ]


def odds_tests(pipeline: Pipeline) -> dict[str, float]:
    """P-values of the tests of equal effects at all thresholds, by column of the table.

    Empty where there is no such test, or it would take long.
    """
    model = pipeline[-1]
    if not isinstance(model, OrdinalRegression) or not _is_testable(model):
        return {}
    terms: dict[str, list[int]] = {}
    of_matrix = sources(pipeline[0])
    location = np.setdiff1d(np.arange(model.n_features_in_), model.nominal or [])
    for j in location[~np.isnan(model.coef_)].tolist():
        terms.setdefault(of_matrix[j], []).append(j)
    if not terms:
        return {}
    tests = model.test_proportional_odds(terms)
    return dict(zip(tests.names, tests.columns["LR p"].tolist(), strict=True))


def _is_testable(model: OrdinalRegression) -> bool:
    n, size = model.n_observations_, len(model.parameters_)
    return (
        model.penalty_ is None
        and model.random is None
        and len(model.levels_) > 2
        and model.covariance_ is not None
        and bool(np.all(np.isfinite(model.covariance_)))
        and n <= MAX_TEST_ROWS
        and n * size**2 <= MAX_TEST_WORK
    )


def odds_sentence(p_values: dict[str, float]) -> list[str]:
    """What the tests say, as a sentence; none if there are none."""
    if not p_values:
        return []
    low = {name: p for name, p in p_values.items() if p < 0.05}
    if not low:
        name = min(p_values, key=lambda one: p_values[one])
        return [
            "No column has an effect that differs between thresholds by more than noise: the "
            f"likelihood-ratio tests of proportional odds have p = {p_values[name]:.2g} or "
            f"more ({name})."
        ]
    named = ", ".join(f"{name} (p = {p:.2g})" for name, p in low.items())
    return [
        f"Effects that differ between thresholds, by likelihood-ratio tests of proportional "
        f"odds: {named}, of {len(p_values)} tested."
    ]
