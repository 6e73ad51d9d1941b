from dataclasses import replace

import numpy as np
import pytest

from ordinality import OrdinalBoost, OrdinalSVM, metrics
from ordinality.estimators.ordinal_boost import ThresholdedEnsemble
from ordinality.workbench import (
    BASELINES,
    MODELS,
    SCORES,
    Assessment,
    Choice,
    Model,
    assess,
    baselines,
    choose,
    folds,
    model,
    problem_of,
    study_of,
)
from ordinality.workbench.assess import against_baselines, difference, row_scores, scores
from ordinality.workbench.models import Frequencies, models_by_name
from ordinality.workbench.problem import build_pipeline, level_proba

LEVELS = ["none", "some", "full"]


@pytest.fixture(scope="module")
def assessed(problem):
    return assess(problem, [model("linear"), *baselines(len(problem))], folds(problem))


def made(problem, name, proba):
    """An assessment of given probabilities."""
    return Assessment(name, name, proba, scores(problem, proba), np.zeros(1), {}, 0.0, ())


def test_predictions_are_of_rows_that_were_not_seen(problem, assessed):
    """The frequencies of the other nine tenths, not of all rows."""
    frequencies = assessed[1]
    for train, test in folds(problem):
        expected = Frequencies(LEVELS).fit(None, problem.y[train]).share_
        np.testing.assert_allclose(frequencies.proba[test], np.tile(expected, (len(test), 1)))


def test_a_model_that_uses_the_dose_beats_both_baselines(problem, assessed):
    better, sentence = against_baselines(problem, assessed[0], assessed[1:])
    assert better
    assert sentence.startswith("Better than both baselines")


def test_a_model_that_is_not_better_than_a_baseline_is_reported(problem, assessed):
    better, sentence = against_baselines(problem, assessed[1], [assessed[0]])
    assert not better
    assert sentence.startswith("Not better than the baseline")
    assert "Do not rely on this model" in sentence


def test_a_model_level_with_regression_but_better_than_frequencies_is_of_use(problem, assessed):
    one, frequencies = assessed[:2]
    rival = replace(one, scores={**one.scores, SCORES[0]: one.scores[SCORES[0]] - 1e-9})
    better, sentence = against_baselines(problem, one, [frequencies, rival])
    assert not better
    assert sentence.endswith("which is within noise).")


def test_permutation_importance_is_large_for_the_column_that_matters(assessed):
    importance = assessed[0].importance
    assert importance["dose"] > 0.2
    assert abs(importance["site"]) < 0.1 * importance["dose"]


def test_scores_are_those_of_the_metrics(problem, assessed):
    one = assessed[0]
    expected = metrics.ranked_probability_score(problem.y, one.proba, levels=LEVELS)
    assert one.scores[SCORES[0]] == pytest.approx(expected)
    assert row_scores(problem, one.proba).mean() == pytest.approx(expected)


@pytest.mark.parametrize("name", ["linear", "svm"])
def test_two_processes_find_what_one_does(problem, name):
    splits = folds(problem, n_splits=3)
    one, two = (assess(problem, [model(name)], splits, jobs=n)[0] for n in (1, 2))
    np.testing.assert_array_equal(one.proba, two.proba)
    assert one.importance == two.importance


# ---------------------------------------------------------------- links that share fits


class FixedScore(OrdinalSVM):
    """A model whose score is the first feature, whatever the labels are."""

    def predict_latent(self, X):
        return np.asarray(X, dtype=float)[:, 0]


def fixed(**given):
    return FixedScore(**given)


def test_the_probabilities_of_a_fold_do_not_depend_on_the_labels_of_that_fold(problem):
    entry, splits = Model("fixed", "", fixed, model("svm").cost), folds(problem, n_splits=4)
    as_is = assess(problem, [entry], splits)[0]
    for _, test in splits:
        y = problem.y.copy()
        y[test] = np.roll(y[test], 3)
        assert np.any(y != problem.y)
        other = assess(replace(problem, y=y), [entry], splits)[0]
        np.testing.assert_array_equal(other.proba[test], as_is.proba[test])
        assert np.any(other.proba != as_is.proba)  # those of other folds do


@pytest.mark.parametrize("name", ["boost", "rankboost"])
def test_a_study_fits_a_model_that_needs_a_link_once_for_each_fold_and_once_more(
    problem, name, monkeypatch
):
    fits = []
    boost = ThresholdedEnsemble._boost

    def counted(self, *args, **more):
        fits.append(1)
        return boost(self, *args, **more)

    monkeypatch.setattr(ThresholdedEnsemble, "_boost", counted)
    entry = model(name)
    quick = entry._replace(build=lambda **given: entry.build(n_estimators=3, **given))
    monkeypatch.setitem(MODELS, name, quick)
    found = study_of(problem, name, n_splits=4, budget=1e-3)  # nothing for refits
    assert len(fits) == 5  # and not 4 * 6 + 6
    # What is kept is the ordinary estimator, with its link.
    assert found.model.calibration_folds == OrdinalBoost().calibration_folds
    np.testing.assert_allclose(found.pipeline.predict_proba(problem.frame).sum(axis=1), 1.0)


def test_shared_links_predict_as_well_as_those_of_six_fits(problem):
    splits = folds(problem)
    ours = assess(problem, [model("svm")], splits)[0]
    proba = np.empty_like(ours.proba)
    for train, test in splits:
        pipeline = problem.fitted(build_pipeline(model("svm"), problem), train)  # six fits
        proba[test] = level_proba(pipeline, problem.rows(test))
    log_score = SCORES[3]
    assert ours.scores[log_score] < scores(problem, proba)[log_score] + 0.005


def test_each_repeat_is_calibrated_from_its_own_folds(problem):
    splits = folds(problem, n_splits=3, repeats=2)
    both = assess(problem, [model("svm")], splits)[0]
    first = assess(problem, [model("svm")], splits[:3])[0]
    second = assess(problem, [model("svm")], splits[3:])[0]
    np.testing.assert_array_equal(both.by_fold, [*first.by_fold, *second.by_fold])


def test_weights_count_in_the_scores(frame):
    problem = problem_of(frame, "effect", order=LEVELS, features=["dose"], weights="weight")
    proba = np.tile([0.2, 0.3, 0.5], (len(problem), 1))
    expected = metrics.ranked_probability_score(
        problem.y, proba, levels=LEVELS, sample_weight=problem.weights
    )
    assert scores(problem, proba)[SCORES[0]] == pytest.approx(expected)


def test_of_models_within_a_standard_error_the_first_is_selected(problem):
    truth = np.eye(3)[problem.order.encode(problem.y)]
    good = 0.8 * truth + 0.2 / 3
    luck = np.where(np.arange(90) < 54, 0.05, -0.05)[:, None]  # better in 54 rows of 90
    slightly = good + luck * (truth - 1 / 3)
    first, second = made(problem, "first", good), made(problem, "second", slightly)
    assert second.scores[SCORES[0]] < first.scores[SCORES[0]]
    assert choose(problem, [first, second]).selected is first
    assert "earlier in the order of preference" in choose(problem, [first, second]).reason


def test_a_model_that_is_clearly_better_is_selected_though_it_comes_last(problem):
    truth = np.eye(3)[problem.order.encode(problem.y)]
    poor, good = (
        made(problem, name, w * truth + (1 - w) / 3) for name, w in (("a", 0.1), ("b", 0.9))
    )
    choice = choose(problem, [poor, good])
    assert isinstance(choice, Choice)
    assert choice.selected is good
    assert "lowest ranked probability score of 2 models" in choice.reason


def test_the_error_of_a_difference_is_that_of_the_mean_of_the_rows(problem):
    rng = np.random.default_rng(0)
    pair = [made(problem, "x", rng.dirichlet(np.ones(3), len(problem))) for _ in range(2)]
    gap = row_scores(problem, pair[0].proba) - row_scores(problem, pair[1].proba)
    found = difference(problem, *pair)
    assert found.mean == pytest.approx(gap.mean())
    assert found.error == pytest.approx(gap.std(ddof=1) / np.sqrt(len(gap)))


def test_an_unknown_model_is_refused_with_the_names():
    with pytest.raises(ValueError, match="no model named 'oracle'; the names are gp, linear"):
        models_by_name(["gp", "oracle"], 10)


def test_no_model_shares_its_name_with_a_baseline():
    assert not set(BASELINES) & set(MODELS)


def test_a_difference_below_two_standard_errors_is_called_noise(problem):
    truth = np.eye(3)[problem.order.encode(problem.y)]
    base = 0.5 * truth + 0.5 / 3
    luck = np.where(np.arange(90) < 50, 0.05, -0.05)[:, None]  # better in 50 rows of 90
    slightly = made(problem, "slightly", base + luck * (truth - 1 / 3))
    clearly = made(problem, "clearly", 0.9 * truth + 0.1 / 3)
    for one, noise in ((slightly, True), (clearly, False)):
        better, sentence = against_baselines(problem, one, [made(problem, "base", base)])
        assert better
        assert sentence.endswith("which is within noise).") == noise
