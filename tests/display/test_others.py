"""Displays of relevance, of ensembles and of rankings."""

import numpy as np
import pandas
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ordinality.display import (
    CriticalDifferenceDisplay,
    MarginDisplay,
    RelevanceDisplay,
    StagesDisplay,
    UtilityDisplay,
)
from ordinality.estimators import OrdinalGP, OrdinalSVM, PreferenceGP, PreferenceSVM
from ordinality.kernels import Gaussian


def ticks(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


# ------------------------------------------------------------------------------ relevance


def test_the_most_relevant_feature_is_on_top(rows, drawn):
    X, y = rows
    frame = pandas.DataFrame(X, columns=["less", "more $"])
    model = OrdinalGP(Gaussian([2.0, 0.5]), optimizer=None).fit(frame, y)
    display = RelevanceDisplay.from_estimator(model)
    ax = drawn(display)
    assert ticks(ax) == [r"more \$", "less"]
    assert [bar.get_width() for bar in ax.patches] == sorted(model.relevance_, reverse=True)
    assert ax.yaxis_inverted()


def test_of_many_features_the_rest_is_counted(drawn):
    display = RelevanceDisplay(np.arange(30.0), [f"f{j}" for j in range(30)])
    ax = drawn(display.plot(max_features=4))
    assert ticks(ax) == ["f29", "f28", "f27", "f26"]
    assert ax.get_xlabel() == "relevance (26 smaller ones left out)"


def test_an_ensemble_shows_its_importances(ensemble, drawn):
    display = RelevanceDisplay.from_estimator(ensemble, feature_names=["a", "b"])
    np.testing.assert_array_equal(display.relevance, ensemble.feature_importances_)
    assert drawn(display).get_xlabel() == "share of the ensemble's votes"


def test_a_model_without_a_relevance_of_each_feature_is_refused(rows):
    gram = Gaussian(1.0)(rows[0])
    for model, X in ((OrdinalSVM(), rows[0]), (OrdinalGP("precomputed", optimizer=None), gram)):
        with pytest.raises(TypeError, match="has no relevance of each feature"):
            RelevanceDisplay.from_estimator(model.fit(X, rows[1]))


def test_names_of_features_may_be_an_array(ensemble):
    names = np.array(["width", "height"])
    display = RelevanceDisplay.from_estimator(ensemble, feature_names=names)
    assert display.feature_names == ["width", "height"]


def test_names_must_be_as_many_as_features():
    with pytest.raises(ValueError, match=r"shape \(2,\), and there are 1 names"):
        RelevanceDisplay([1.0, 2.0], ["a"])


# ------------------------------------------------------------------------------ margins


def test_curves_cross_zero_at_the_errors(ensemble, rows, drawn):
    X, y = rows[0][40:], rows[1][40:]
    display = MarginDisplay.from_estimator(ensemble, X, y)
    drawn(display)
    wrong = np.mean(ensemble.predict(X) != y)
    assert np.mean(display.nearest <= 0) == pytest.approx(wrong)
    far = np.mean(np.abs(ensemble.predict(X) - y))
    assert np.mean(display.margins <= 0) * 3 == pytest.approx(far)
    assert np.all(np.abs(display.margins) <= 1)


def test_two_sets_of_rows_are_compared_on_one_pair_of_axes(ensemble, rows, drawn):
    X, y = rows
    train = MarginDisplay.from_estimator(ensemble, X[:40], y[:40], name="train")
    test = MarginDisplay.from_estimator(ensemble, X[40:], y[40:], name="test", ax=train.ax_)
    ax = drawn(test)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == [
        "train: thresholds next to the label",
        "train: all thresholds",
        "test: thresholds next to the label",
        "test: all thresholds",
    ]
    curves = [line for line in ax.lines if line.get_label() in labels]
    assert len({line.get_color() for line in curves}) == 2


def test_models_without_margins_are_refused(process, rows):
    with pytest.raises(TypeError, match="OrdinalGP has no method margins_of; OrdinalBoost"):
        MarginDisplay.from_estimator(process, *rows)


# ------------------------------------------------------------------------------ stages


@pytest.mark.parametrize("metric", ["mean absolute error", "zero-one error"])
def test_errors_are_those_of_the_staged_predictions(ensemble, rows, metric, drawn):
    X, y = rows
    display = StagesDisplay.from_estimator(
        ensemble, X[:40], y[:40], X[40:], y[40:], metric=metric
    )
    ax = drawn(display)
    gaps = [np.abs(predicted - y[40:]) for predicted in ensemble.staged_predict(X[40:])]
    wrong = [np.mean(gap if metric == "mean absolute error" else gap > 0) for gap in gaps]
    np.testing.assert_allclose(display.errors["test"], wrong)
    assert ax.get_ylabel() == metric
    best = next(line for line in ax.lines if len(line.get_xdata()) == 1)
    assert best.get_xdata()[0] == np.argmin(wrong) + 1


def test_a_metric_of_ones_own_is_named_on_the_axis(rows, drawn):
    from ordinality.estimators import OrdinalBoost
    from ordinality.metrics import macro_mae

    X, y = rows
    words = np.array(["d", "c", "b", "a"])[y]
    model = make_pipeline(
        StandardScaler(), OrdinalBoost(n_estimators=5, levels=["d", "c", "b", "a"])
    ).fit(X, words)
    display = StagesDisplay.from_estimator(model, X, words, metric=macro_mae)
    assert drawn(display).get_ylabel() == "macro mae"
    assert list(display.errors) == ["train"]
    final = macro_mae(words, model.predict(X), levels=["d", "c", "b", "a"])
    assert display.errors["train"][-1] == pytest.approx(final)


def test_an_unknown_metric_is_refused(ensemble, rows):
    with pytest.raises(ValueError, match="metric='mse' is not known; choose one of"):
        StagesDisplay.from_estimator(ensemble, *rows, metric="mse")


# ------------------------------------------------------------------------------ utilities


@pytest.fixture(scope="module")
def pairs():
    rng = np.random.default_rng(0)
    return np.sort([rng.choice(6, 2, replace=False) for _ in range(30)], axis=1)  # low ones win


def test_items_are_ranked_with_intervals_of_their_difference(pairs, drawn):
    model = PreferenceGP(6).fit(pairs)
    names = ["a", "b $", "c", "d", "e", "f"]
    display = UtilityDisplay.from_estimator(model, names=names)
    ax = drawn(display)
    best = np.argsort(model.rank())
    shown = [f"{k + 1}  {names[i]}".replace("$", r"\$") for k, i in enumerate(best)]
    assert ticks(ax) == shown
    mean, covariance = model.posterior()
    centre = np.eye(6) - 1 / 6  # differences from the average item
    np.testing.assert_allclose(display.utility, centre @ mean)
    np.testing.assert_allclose(display.std**2, np.diagonal(centre @ covariance @ centre))
    (bars,) = ax.containers
    reach = [segment[1][0] - segment[0][0] for segment in bars.lines[2][0].get_segments()]
    np.testing.assert_allclose(reach, 2 * 1.96 * display.std[best])


def test_a_machine_has_no_intervals(pairs, drawn):
    X = np.arange(6.0)[:, None]
    display = UtilityDisplay.from_estimator(PreferenceSVM(X).fit(pairs))
    assert display.std is None
    assert ticks(drawn(display))[0].startswith("1  item ")


def test_of_many_items_the_rest_is_counted(drawn):
    display = UtilityDisplay(np.arange(50.0), [f"film {i}" for i in range(50)])
    ax = drawn(display.plot(max_items=3))
    assert ticks(ax) == ["1  film 49", "2  film 48", "3  film 47"]
    assert "(47 lower ones left out)" in ax.get_xlabel()


def test_every_item_needs_a_name():
    with pytest.raises(
        ValueError, match="there are 2 items and 1 names; pass one name for each"
    ):
        UtilityDisplay([0.0, 1.0], ["a"])


# ------------------------------------------------------------------------------ mean ranks


@pytest.mark.parametrize(
    ("ranks", "difference", "groups"),
    [
        ([1.0, 2.0, 3.0], 0.5, []),
        ([1.0, 2.0, 3.0], 1.0, [(0, 1), (1, 2)]),
        ([1.0, 2.0, 3.0], 5.0, [(0, 2)]),
        ([3.0, 1.0, 1.4, 3.2, 5.0], 0.6, [(0, 1), (2, 3)]),
        ([1.5, 1.5], 0.1, [(0, 1)]),
    ],
)
def test_bars_join_the_longest_runs_that_do_not_differ(ranks, difference, groups, drawn):
    names = [f"method {i}" for i in range(len(ranks))]
    display = CriticalDifferenceDisplay.from_ranks(ranks, names, difference)
    assert display.groups == groups
    thick = [line for line in drawn(display).lines if line.get_linewidth() == 4]
    assert len(thick) == len(groups)
    ordered = np.sort(ranks)
    for line, (start, end) in zip(thick, groups, strict=True):
        assert min(line.get_xdata()) == pytest.approx(ordered[start], abs=0.05)
        assert max(line.get_xdata()) == pytest.approx(ordered[end], abs=0.05)


def test_the_best_method_is_at_the_right_and_named_with_its_rank(drawn, shows):
    display = CriticalDifferenceDisplay.from_ranks([2.5, 1.2], ["$b$", "a"], 0.4)
    ax = drawn(display)
    left, right = ax.get_xlim()
    assert left > right  # ranks fall towards the right
    assert shows(ax, "a (1.20)")
    assert shows(ax, "$b$ (2.50)")
    assert shows(ax, "critical difference 0.40")


def test_ranks_without_names_are_refused():
    with pytest.raises(ValueError, match=r"shape \(3,\) for 2 names; pass one mean rank"):
        CriticalDifferenceDisplay([1, 2, 3], ["a", "b"], 1.0)
