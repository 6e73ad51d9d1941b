"""The linear model of a table: its columns, its terms, its penalty, its coefficients."""

import numpy as np
import polars
import pytest

from ordinality import persist
from ordinality.datasets import embedded_path
from ordinality.estimators import OrdinalRegression
from ordinality.workbench import assess, folds, problem_of, study_of
from ordinality.workbench.linear_model import (
    LinearTerms,
    linear_candidate,
    linear_model,
    odds_sentence,
)
from ordinality.workbench.models import MODELS
from ordinality.workbench.problem import build_pipeline

WINE = ["temp", "contact", "judge", "rating"]


@pytest.fixture(scope="module")
def wine():
    return problem_of(polars.read_csv(embedded_path("wine")).select(WINE), "rating")


@pytest.fixture(scope="module")
def found(wine):
    return study_of(wine, "linear", n_splits=3)


def test_coefficients_are_those_of_a_regression_on_indicators(found, wine):
    frame = wine.frame
    judges = [(frame["judge"] == f"j{k}").to_numpy() for k in range(2, 10)]
    warm, yes = (frame["temp"] == "warm").to_numpy(), (frame["contact"] == "yes").to_numpy()
    plain = OrdinalRegression().fit(np.column_stack([warm, yes, *judges]).astype(float), wine.y)
    np.testing.assert_allclose(found.model.parameters_, plain.parameters_, rtol=1e-8)
    assert found.coefficients.names[4:7] == ("temp = warm", "contact = yes", "judge = j2")


def test_the_summary_has_coefficients_criteria_and_tests(found):
    summary = found.summary()
    row = summary["coefficients"][4]
    keys = {"name", "estimate", "se", "z", "p", "lower", "upper", "odds_ratio"}
    assert set(row) == keys
    assert row["odds_ratio"] == pytest.approx(np.exp(row["estimate"]))
    assert summary["aic"] == pytest.approx(-2 * summary["log_likelihood"] + 2 * 14)
    assert set(summary["proportional_odds"]) == {"temp", "contact", "judge"}


@pytest.mark.usefixtures("few_refits")
def test_groups_are_passed_to_the_model_and_survive_a_file(wine, tmp_path):
    terms = LinearTerms(nominal=("contact",), random=(("judge",),))
    found = study_of(wine, "linear", n_splits=3, terms=terms)
    assert found.model.random_effects_["judge"].groups.tolist() == [
        f"j{k}" for k in range(1, 10)
    ]
    found.save(tmp_path / "wine.skops")
    loaded = persist.load(tmp_path / "wine.skops")
    np.testing.assert_array_equal(
        loaded.predict_proba(wine.frame), found.pipeline.predict_proba(wine.frame)
    )


@pytest.mark.usefixtures("few_refits")
def test_separation_is_met_by_a_weak_ridge_that_is_named():
    frame = polars.DataFrame({"x": np.arange(30.0), "y": np.arange(30) // 10})
    found = study_of(problem_of(frame, "y"), "linear", n_splits=3)
    assert np.all(np.isfinite(found.choice.selected.proba))
    assert found.model.covariance_ is None
    assert found.proportional_odds == {}
    assert "'x' separates" in found.coefficients.notes[0]
    assert "weak ridge" in found.coefficients.notes[0]


def test_every_fold_decides_alone_whether_it_needs_a_ridge():
    # The last row alone keeps x from separating: folds without it need a ridge, all rows none.
    frame = polars.DataFrame({"x": np.arange(30.0), "y": [*(np.arange(29) // 15), 0]})
    problem = problem_of(frame, "y")
    splits = folds(problem, n_splits=3)
    for train, _ in splits:
        model = problem.fitted(build_pipeline(linear_model(problem), problem), train)[-1]
        assert model.penalty_ == (None if 29 in train else "l2")
    assert problem.fitted(build_pipeline(MODELS["linear"], problem))[-1].penalty_ is None


def test_a_candidate_of_the_automatic_choice_is_shrunk_if_rows_are_few(wine):
    entry = linear_candidate(wine)
    assert entry.description.endswith("shrunk: few rows")
    assert build_pipeline(entry, wine)[-1].penalty == "l2"
    plain, shrunk = assess(
        wine, [linear_model(wine), entry._replace(name="shrunk")], folds(wine)
    )
    score = "ranked probability score"
    assert shrunk.scores[score] < plain.scores[score]
    many = polars.DataFrame({"x": np.arange(60.0), "y": np.arange(60) % 3})
    assert linear_candidate(problem_of(many, "y")) is MODELS["linear"]


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        (LinearTerms(nominal=("colour",)), "name 'colour', which is not a feature"),
        (LinearTerms(scale=("temp",), random=(("judge",),)), "cannot be combined"),
        (LinearTerms(nominal=("judge",), random=(("judge",),)), "judge groups rows"),
        (LinearTerms(nominal=("temp", "temp")), "nominal effects name 'temp' twice; name each"),
        (
            LinearTerms(random=(("judge",), ("judge", "temp"))),
            "random effects name 'judge' twi",
        ),
    ],
)
def test_impossible_terms_are_refused_in_a_sentence(wine, terms, message):
    with pytest.raises(ValueError, match=message):
        linear_model(wine, terms)


def test_tests_are_put_into_words():
    assert "p = 0.3 or more (b)" in odds_sentence({"a": 0.4, "b": 0.3})[0]
    assert "a (p = 0.01), of 2 tested" in odds_sentence({"a": 0.01, "b": 0.3})[0]


def test_the_rule_of_decision_is_used_and_stored(wine):
    from dataclasses import replace

    found = study_of(replace(wine, decision="median"), "linear", n_splits=3)
    assert found.model.decision == "median"
    ranks = np.argmax(np.cumsum(found.choice.selected.proba, axis=1) >= 0.5, axis=1)
    expected = np.mean(np.abs(ranks + 1 - wine.y))
    assert found.choice.selected.scores["mean absolute error"] == pytest.approx(expected)
