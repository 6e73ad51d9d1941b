"""Out-of-fold probabilities by level: the models of cross-validation, the order of `y`."""

import numpy as np
import pytest
import sklearn
from joblib import parallel_config
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import BayesianRidge, LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from ordinality import OrdinalGP, OrdinalSVM, RoundedRegressor
from ordinality.metrics import cross_val_level_proba, ranked_probability_score

LEVELS = ["low", "mid", "high"]  # sorted: high, low, mid


def model(**changes):
    return OrdinalGP(**{"inference": "laplace", "optimizer": None, **changes})


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    rank = np.digitize(X[:, 0] + 0.3 * rng.normal(size=60), [-0.6, 0.6])
    return X, np.array(LEVELS)[rank], rank


@pytest.fixture(scope="module")
def expected(data):
    """By scikit-learn, which is right where the labels are ranks."""
    X, _, rank = data
    return cross_val_predict(model(), X, rank, cv=3, method="predict_proba")


def carried(y):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    categorical = pd.Categorical(y, categories=LEVELS, ordered=True)
    return {
        "pandas Series": pd.Series(categorical, index=np.arange(len(y))[::-1]),
        "pandas Categorical": categorical,
        "polars Enum": pl.Series(y.tolist(), dtype=pl.Enum(LEVELS)),
    }


@pytest.mark.parametrize("kind", ["pandas Series", "pandas Categorical", "polars Enum"])
def test_labels_that_carry_an_order_keep_it_in_the_folds(data, expected, kind):
    X, y, _ = data
    found = cross_val_level_proba(model(), X, carried(y)[kind], cv=3)
    np.testing.assert_array_equal(found, expected)


def test_an_ordered_series_is_not_learnt_alphabetically(data):
    X, y, _ = data
    series = carried(y)["pandas Series"]
    ours = cross_val_level_proba(OrdinalGP(), X, series, cv=3)
    theirs = cross_val_predict(OrdinalGP(), X, series, cv=3, method="predict_proba")
    right = ranked_probability_score(series, ours)
    # What the helper is for: the same call of scikit-learn learns high < low < mid.
    assert right < 0.8 * ranked_probability_score(series, theirs[:, [1, 2, 0]])


WRAPPED = {
    "itself": lambda: model(levels=LEVELS),
    "a pipeline": lambda: make_pipeline(FunctionTransformer(), model(levels=LEVELS)),
    "a search": lambda: GridSearchCV(model(levels=LEVELS), {"noise": [None]}, cv=2),
    "a pipeline of a search": lambda: make_pipeline(
        FunctionTransformer(), GridSearchCV(model(levels=LEVELS), {"noise": [None]}, cv=2)
    ),
}


@pytest.mark.parametrize("wrapped", WRAPPED.values(), ids=WRAPPED)
def test_stated_levels_are_found_within_pipelines_and_searches(data, expected, wrapped):
    X, y, _ = data
    found = cross_val_level_proba(wrapped(), X.tolist(), y.tolist(), cv=3)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.filterwarnings("ignore:y holds the codes")
def test_other_classifiers_are_put_in_order_too(data, expected):
    X, y, rank = data
    series = carried(y)["pandas Series"]
    for other in (LogisticRegression(), RoundedRegressor(BayesianRidge())):
        found = cross_val_level_proba(other, X, series, cv=3)
        ranks = cross_val_predict(other, X, rank, cv=3, method="predict_proba")
        np.testing.assert_allclose(found, ranks, atol=1e-6)
    vote = VotingClassifier([("one", model(levels=LEVELS))], voting="soft")
    np.testing.assert_array_equal(cross_val_level_proba(vote, X, series, cv=3), expected)


def test_a_level_that_training_rows_lack_has_probability_zero(data):
    X, _, rank = data
    order = np.argsort(rank, kind="stable")  # so that the first fold is all of the lowest
    found = cross_val_level_proba(model(), X[order], rank[order], cv=[
        (np.flatnonzero(rank[order] > 0), np.flatnonzero(rank[order] == 0)),
        (np.flatnonzero(rank[order] < 2), np.flatnonzero(rank[order] > 0)),
    ])  # fmt: skip
    low = rank[order] == 0
    assert np.all(found[low, 0] == 0)
    assert np.all(found[~low, 2] == 0)
    np.testing.assert_allclose(found.sum(1), 1)


@pytest.mark.parametrize("routing", [False, True])
def test_weights_groups_and_jobs_are_passed_on(data, routing):
    X, y, rank = data
    weight, groups = np.arange(60) % 3, np.arange(60) // 4
    series = carried(y)["pandas Series"]
    options = {"cv": GroupKFold(3), "params": {"sample_weight": weight}, "groups": groups}
    with sklearn.config_context(enable_metadata_routing=routing):
        weighted = model()
        if routing:
            options["params"] = {"sample_weight": weight, "groups": options.pop("groups")}
            weighted.set_fit_request(sample_weight=True)
        expected = cross_val_predict(weighted, X, rank, method="predict_proba", **options)
        with parallel_config(backend="threading"):
            found = cross_val_level_proba(weighted, X, series, n_jobs=2, **options)
    np.testing.assert_array_equal(found, expected)


def test_a_kernel_matrix_is_cut_to_the_fold_on_both_sides(data, expected):
    X, y, _ = data
    K = np.exp(-0.5 * np.square(X[:, None] - X).sum(-1))
    svm = OrdinalSVM(kernel="precomputed", calibration_folds=2, levels=LEVELS)
    assert cross_val_level_proba(svm, K, y, cv=3).shape == expected.shape


def test_the_estimator_that_was_passed_is_not_fitted(data):
    X, _, rank = data
    given = model()
    cross_val_level_proba(given, X, rank, cv=KFold(2))
    assert not hasattr(given, "classes_")


def test_text_without_an_order_is_refused_with_the_line_to_type(data):
    X, y, _ = data
    with pytest.raises(ValueError, match=r"levels=\['low', 'mid', 'high'\] \(recognised"):
        cross_val_level_proba(model(), X, y)


def test_a_label_outside_the_levels_is_refused_before_any_fit(data):
    X, y, _ = data
    with pytest.raises(ValueError, match=r"contains 'low'.*declared levels \['mid', 'high'\]"):
        cross_val_level_proba(model(levels=["mid", "high"]), X, y)


def test_an_estimator_without_probabilities_is_refused(data):
    X, _, rank = data
    with pytest.raises(TypeError, match="OrdinalSVM has no predict_proba"):
        cross_val_level_proba(OrdinalSVM(calibration_folds=None), X, rank)
