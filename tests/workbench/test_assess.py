import numpy as np
import pytest

from ordinality import metrics
from ordinality.workbench import (
    BASELINES,
    MODELS,
    SCORES,
    Assessment,
    Choice,
    Frequencies,
    Skipped,
    against_baselines,
    assess,
    baselines,
    candidates,
    choose,
    difference,
    folds,
    model,
    named,
    problem_of,
    row_scores,
    scores,
)

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


def test_a_model_that_can_see_the_dose_beats_both_baselines(problem, assessed):
    better, sentence = against_baselines(problem, assessed[0], assessed[1:])
    assert better
    assert sentence.startswith("Better than both baselines")


def test_a_model_that_is_no_better_is_called_so(problem, assessed):
    better, sentence = against_baselines(problem, assessed[1], [assessed[0]])
    assert not better
    assert sentence.startswith("Not better than the baseline")
    assert "Do not rely on this model" in sentence


def test_the_column_that_matters_is_the_one_that_hurts_when_shuffled(assessed):
    importance = assessed[0].importance
    assert importance["dose"] > 0.2
    assert abs(importance["site"]) < 0.1 * importance["dose"]


def test_scores_are_those_of_the_metrics(problem, assessed):
    one = assessed[0]
    expected = metrics.ranked_probability_score(problem.y, one.proba, levels=LEVELS)
    assert one.scores[SCORES[0]] == pytest.approx(expected)
    assert row_scores(problem, one.proba).mean() == pytest.approx(expected)


def test_two_processes_find_what_one_does(problem):
    splits = folds(problem, n_splits=3)
    one, two = (assess(problem, [model("linear")], splits, jobs=n)[0] for n in (1, 2))
    np.testing.assert_allclose(one.proba, two.proba, rtol=1e-10)


def test_without_time_only_the_quickest_model_is_assessed(problem):
    ticks = []
    answers = assess(
        problem,
        [model("plsor"), *baselines(len(problem))[:1]],
        folds(problem, n_splits=3),
        budget=0.0,
        tick=lambda: ticks.append(1),
    )
    assert isinstance(answers[0], Skipped)
    assert "beyond the budget" in answers[0].reason
    assert isinstance(answers[1], Assessment)
    assert len(ticks) == 6


def test_weights_count_in_the_scores(frame):
    problem, _ = problem_of(frame, "effect", order=LEVELS, features=["dose"], weights="weight")
    proba = np.tile([0.2, 0.3, 0.5], (len(problem), 1))
    expected = metrics.ranked_probability_score(
        problem.y, proba, levels=LEVELS, sample_weight=problem.weights
    )
    assert scores(problem, proba)[SCORES[0]] == pytest.approx(expected)


def test_of_models_that_cannot_be_told_apart_the_first_is_taken(problem):
    truth = np.eye(3)[problem.order.encode(problem.y)]
    good = 0.8 * truth + 0.2 / 3
    luck = np.where(np.arange(90) < 54, 0.05, -0.05)[:, None]  # better in 54 rows of 90
    slightly = good + luck * (truth - 1 / 3)
    first, second = made(problem, "first", good), made(problem, "second", slightly)
    assert second.scores[SCORES[0]] < first.scores[SCORES[0]]
    assert choose(problem, [first, second]).taken is first
    assert "comes first in the list" in choose(problem, [first, second]).why


def test_a_model_that_is_clearly_better_is_taken_though_it_comes_last(problem):
    truth = np.eye(3)[problem.order.encode(problem.y)]
    poor, good = (
        made(problem, name, w * truth + (1 - w) / 3) for name, w in (("a", 0.1), ("b", 0.9))
    )
    choice = choose(problem, [poor, good])
    assert isinstance(choice, Choice)
    assert choice.taken is good
    assert "least ranked probability score of 2 models" in choice.why


def test_the_error_of_a_difference_is_that_of_the_mean_of_the_rows(problem):
    rng = np.random.default_rng(0)
    pair = [made(problem, "x", rng.dirichlet(np.ones(3), len(problem))) for _ in range(2)]
    gap = row_scores(problem, pair[0].proba) - row_scores(problem, pair[1].proba)
    found = difference(problem, *pair)
    assert found.mean == pytest.approx(gap.mean())
    assert found.error == pytest.approx(gap.std(ddof=1) / np.sqrt(len(gap)))
    assert found.share == pytest.approx(np.mean(gap < 0))


def test_large_tables_are_left_to_the_models_that_grow_slowly():
    assert [entry.name for entry in candidates(50_000)] == ["boost", "trees"]
    assert candidates(100)[0].name == "gp"


def test_an_unknown_model_is_refused_with_the_names():
    with pytest.raises(ValueError, match="no model named 'forest'; the names are gp, linear"):
        named(["gp", "forest"], 10)


def test_no_model_shares_its_name_with_a_baseline():
    assert not set(BASELINES) & set(MODELS)
