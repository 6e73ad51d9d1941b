"""The average of several models that ``auto`` selects: weights, scores, one fitted model."""

import json
from dataclasses import replace

import numpy as np
import polars
import pytest

import ordinality
from ordinality import OrdinalGP, OrdinalStack
from ordinality.estimators.ordinal_stack import floored
from ordinality.inspect import effects
from ordinality.workbench import Assessment, assess, folds, model, problem_of, study_of
from ordinality.workbench.assess import Shuffled, scores
from ordinality.workbench.problem import build_pipeline, level_proba
from ordinality.workbench.stacking import _behind, choose_or_stack
from ordinality.workbench.study import _copies

SPLITS = {"n_splits": 3}


@pytest.fixture(scope="module")
def stacked(problem):
    """A study by ``auto`` of a linear model, which alone has another encoder, and two more."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ordinality.workbench.models.TRIED", ("plsor", "linear", "svm"))
        yield study_of(problem, **SPLITS)


def made(problem, name, seed, sharpness=1.0):
    """An assessment of random probabilities that know something of the labels."""
    rng, n = np.random.default_rng(seed), len(problem)
    hint = sharpness * np.eye(3)[problem.order.encode(problem.y)]
    proba = np.exp(rng.normal(size=(n, 3)) + hint)
    proba /= proba.sum(axis=1, keepdims=True)
    return Assessment(name, name, proba, scores(problem, proba), np.zeros(1), {}, 0.0, ())


# ---------------------------------------------------------------- the choice


def test_auto_selects_the_average_and_names_the_nearest_single_model(stacked):
    choice = stacked.choice
    assert choice.selected.name == "stack"
    assert choice.selected is stacked.assessments[0]
    assert sum(choice.weights.values()) == pytest.approx(1.0)
    assert [*choice.weights.values()] == sorted(choice.weights.values(), reverse=True)
    assert choice.simple in stacked.assessments[1:]
    for name, weight in choice.weights.items():
        assert f"{name} ({weight:.2f})" in choice.reason
    assert f"The nearest single model is {choice.simple.name}" in choice.reason


def test_a_single_model_is_selected_if_it_is_asked_for(problem, stacked, monkeypatch):
    monkeypatch.setattr("ordinality.workbench.models.TRIED", ("plsor", "linear", "svm"))
    found = study_of(problem, simple=True, **SPLITS)
    assert found.choice.selected.name == stacked.choice.simple.name
    assert found.choice.weights == {}
    assert not isinstance(found.model, OrdinalStack)
    assert "weights" not in found.summary()
    with pytest.raises(ValueError, match="but the model is 'linear'; leave one of the two out"):
        study_of(problem, "linear", simple=True)


def test_below_sixty_rows_the_gaussian_process_is_taken_alone(frame, monkeypatch):
    monkeypatch.setattr("ordinality.workbench.models.TRIED", ("gp", "linear"))
    problem = problem_of(
        frame[:59], "effect", order=["none", "some", "full"], features=["dose"]
    )
    found = study_of(problem, n_splits=2)
    assert found.choice.selected.name == "gp"
    assert isinstance(found.model, OrdinalGP)
    assert "with fewer than 60 rows" in found.choice.reason


def test_the_scores_of_a_fold_do_not_depend_on_the_labels_of_that_fold(problem):
    splits, pair = folds(problem, n_splits=3), [made(problem, "a", 0), made(problem, "b", 1)]
    as_is, _ = choose_or_stack(problem, pair, splits)
    test = splits[1][1]
    y = problem.y.copy()
    y[test] = np.roll(y[test], 5)
    other, choice = choose_or_stack(replace(problem, y=y), pair, splits)
    np.testing.assert_array_equal(other.proba[test], as_is.proba[test])
    assert np.any(other.proba != as_is.proba)  # those of other folds do
    assert choice.weights != {}


def test_a_model_that_adds_nothing_is_left_out(problem):
    truth = np.eye(3)[problem.order.encode(problem.y)]
    good = made(problem, "good", 0)
    known, wrong = 0.9 * truth + 0.1 / 3, np.roll(0.9 * truth + 0.1 / 3, 1, axis=1)
    pair = [replace(good, name="known", proba=known), replace(good, name="wrong", proba=wrong)]
    stack, choice = choose_or_stack(problem, pair, folds(problem, n_splits=3))
    assert stack is None
    assert choice.selected.name == "known"
    assert "gets all weight" in choice.reason
    three = [*pair, replace(made(problem, "hint", 1), proba=np.roll(known, 1, axis=0))]
    assert "wrong" not in choose_or_stack(problem, three, folds(problem))[1].weights


# ---------------------------------------------------------------- importance


@pytest.mark.parametrize(("n", "names"), [(240, {"good", "worse"}), (1500, {"good"})])
def test_the_prior_keeps_a_worse_model_only_where_rows_are_few(n, names):
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    some = problem_of(polars.DataFrame({"x": x, "y": np.digitize(x, [-0.5, 0.5])}), "y")
    good = made(some, "good", 0)
    truth = np.eye(3)[some.order.encode(some.y)]
    less = good.proba * (1 - 0.02 * truth)  # the levels seen are less probable by 2 %
    proba = less + (1 - less.sum(axis=1, keepdims=True)) * (1 - truth) / 2
    worse = replace(good, name="worse", proba=proba, scores=scores(some, proba))
    _, choice = choose_or_stack(some, [good, worse], folds(some, n_splits=3))
    # Its weight is near alpha / (0.02 n): 0.2, and with alpha = 300 / n below 0.01.
    assert ({*choice.weights} or {choice.selected.name}) == names


def test_importance_is_that_of_the_averaged_predictions(problem):
    splits, rng = folds(problem, n_splits=3), np.random.default_rng(0)
    names, K = problem.columns, 3

    def with_shuffled(name, seed):
        parts = [
            Shuffled(t, rng.dirichlet(np.ones(K), (len(names), len(t)))) for _, t in splits
        ]
        return replace(made(problem, name, seed), shuffled=tuple(parts))

    pair = [with_shuffled("a", 0), with_shuffled("b", 1)]
    stack, _ = choose_or_stack(problem, pair, splits)
    for c, name in enumerate(names):
        rises = []
        for k, (_, test) in enumerate(splits):
            proba = [floored(one.proba[test]) for one in pair]
            # The weight of a fold, from the average of the probabilities as they are.
            gap = (proba[0] - proba[1]).ravel()
            w = gap @ (stack.proba[test] - proba[1]).ravel() / (gap @ gap)
            mixed = w * pair[0].shuffled[k].proba[c] + (1 - w) * pair[1].shuffled[k].proba[c]
            after, before = (scores(problem, p, test) for p in (mixed, stack.proba[test]))
            rises.append(after["ranked probability score"] - before["ranked probability score"])
        assert stack.importance[name] == pytest.approx(np.mean(rises), abs=1e-3)


def test_all_models_shuffle_a_column_in_the_same_way(problem):
    """Frequencies of a forest of one leaf would not show it: two copies of a model do."""
    splits, entry = folds(problem, n_splits=2), model("linear")
    first, second = assess(problem, [entry, entry._replace(name="again")], splits)
    for one, other in zip(first.shuffled, second.shuffled, strict=True):
        np.testing.assert_array_equal(one.rows, other.rows)
        np.testing.assert_array_equal(one.proba, other.proba)


# ---------------------------------------------------------------- the fitted model


def test_the_fitted_model_averages_the_models_of_all_rows(problem, stacked):
    names = [name for name in stacked.choice.weights if name != "linear"]  # shrunk in auto
    expected = sum(
        stacked.choice.weights[name]
        * floored(level_proba(study_of(problem, name, **SPLITS).pipeline, problem.frame))
        for name in names
    )
    member = dict(zip(stacked.choice.weights, stacked.model.estimators_, strict=True))
    matrix = stacked.pipeline[0].transform(problem.frame)
    if "linear" in member:
        weight = stacked.choice.weights["linear"]
        expected = expected + weight * floored(member["linear"].predict_level_proba(matrix))
    np.testing.assert_allclose(level_proba(stacked.pipeline, problem.frame), expected)


def test_a_model_with_an_encoder_of_its_own_predicts_the_same_in_a_stack(problem):
    pipeline = problem.fitted(build_pipeline(model("linear"), problem))
    other = problem.fitted(build_pipeline(model("plsor"), problem))
    X = other[0].transform(problem.frame)
    assert X.shape[1] > pipeline[0].transform(problem.frame).shape[1]
    # Products of the same columns in another layout round differently.
    np.testing.assert_allclose(
        _behind(other[0], X, pipeline).predict_proba(X), pipeline.predict_proba(problem.frame),
        rtol=1e-12,
    )  # fmt: skip
    assert _behind(other[0], X, other) is other[-1]


@pytest.mark.parametrize("rule", ["median", "quadratic_kappa"])
def test_a_rule_of_decision_reaches_the_average(problem, rule, monkeypatch):
    monkeypatch.setattr("ordinality.workbench.models.TRIED", ("linear", "mlr"))
    found = study_of(replace(problem, decision=rule), **SPLITS)
    assert found.model.decision == rule
    assert set(found.pipeline.predict(problem.frame)) <= set(problem.order.levels)


def test_a_model_file_holds_the_average_and_its_weights(problem, stacked, tmp_path):
    stacked.save(tmp_path / "trial.skops")
    again = ordinality.load(tmp_path / "trial.skops")
    np.testing.assert_array_equal(
        again.predict_proba(problem.frame), stacked.pipeline.predict_proba(problem.frame)
    )
    summary = ordinality.persist.metadata(tmp_path / "trial.skops")["summary"]
    assert summary["weights"] == stacked.choice.weights
    assert summary["nearest"]["name"] == stacked.choice.simple.name
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary


@pytest.mark.parametrize("name", ["mlr", "forest", "boost-trees", "class-trees"])
def test_the_models_of_scikit_learn_are_fitted_and_stored(problem, name, tmp_path):
    found = study_of(problem, name, n_splits=2, budget=1e-3)
    ours, frequencies = found.choice.selected, found.baselines[0]
    assert ours.scores["log score"] < frequencies.scores["log score"] - 0.3
    found.save(tmp_path / "model.skops")
    again = ordinality.load(tmp_path / "model.skops")
    np.testing.assert_array_equal(
        again.predict_proba(problem.frame), found.pipeline.predict_proba(problem.frame)
    )


def test_the_words_and_effects_of_an_average_are_there(problem, stacked):
    assert stacked.sentences[0].startswith("The model averages the probabilities that")
    effect = next(one for one in stacked.effects if one.column == "dose")
    assert effect.expected > 0.2
    assert stacked.effects[0].column == "dose"


def test_the_error_of_an_average_is_the_average_of_the_errors_of_its_members():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=80), [-0.5, 0.5])
    pair = [("gp", OrdinalGP()), ("linear", ordinality.OrdinalRegression())]
    stack = OrdinalStack(pair, cv=2).fit(X, y)
    found = effects(stack, X, [0], max_rows=20)
    assert found.source == "members"
    each = [effects(one, X, [0], max_rows=20)[0].expected_se for one in stack.estimators_]
    assert found[0].expected_se == pytest.approx(stack.weights_ @ each)
    stack.weights_ = np.array([0.0, 1.0])
    assert effects(stack, X, [0], max_rows=20)[0].expected_se == pytest.approx(each[1])


# ---------------------------------------------------------------- warnings


def test_rare_levels_are_warned_of(frame):
    order = ["none", "some", "full", "all"]
    labels = [*frame["effect"].to_list()[:-2], "all", "all"]
    problem = problem_of(
        frame.with_columns(effect=polars.Series(labels)),
        "effect",
        order=order,
        features=["dose"],
    )
    said = study_of(problem, "linear", n_splits=3).warnings
    assert any("than the 3 folds have these levels of effect: all (2 rows)" in s for s in said)


def test_copies_of_rows_in_other_folds_are_warned_of(frame, problem):
    splits = folds(problem, n_splits=3)
    assert _copies(problem, splits) == 0
    (a, *_), (b, *_) = splits[0][1], splits[1][1]
    at = np.arange(len(problem))
    at[b] = a  # one row twice, in two folds
    twice = replace(problem, frame=problem.rows(at), y=problem.y[at])
    assert _copies(twice, splits) == 2
    few = problem_of(frame, "effect", order=["none", "some", "full"], features=["site"])
    assert _copies(few, splits) == 0  # three sites: all rows agree with many others
    assert any(
        "agree with a row of another fold" in s for s in study_of(twice, "linear").warnings
    )
