"""RoundedRegressor: any regressor on the ranks, rounded and clipped."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import BayesianRidge, LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ordinality import RoundedRegressor, metrics


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    return X, np.digitize(X[:, 0] + 0.3 * rng.normal(size=60), [-0.8, 0.0, 0.9])


def test_predictions_are_rounded_half_up_and_clipped():
    class Given(LinearRegression):
        def predict(self, X):
            return np.asarray(X)[:, 0]

    X = np.array([[-3.0], [0.49], [0.5], [1.5], [2.4], [99.0]])
    model = RoundedRegressor(Given()).fit(X, [0, 0, 1, 1, 2, 2])
    np.testing.assert_array_equal(model.predict(X), [0, 0, 1, 2, 2, 2])
    np.testing.assert_array_equal(model.predict_latent(X), X[:, 0])


def test_ranks_and_not_labels_are_fitted(data):
    X, y = data
    far = np.array([-7.0, 1.0, 10.0, 1000.0])[y]
    model = RoundedRegressor(LinearRegression()).fit(X, far)
    plain = LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.predict_latent(X), plain.predict(X))
    assert set(model.predict(X)) <= set(far)


def test_the_default_is_gaussian_process_regression_learnt_by_its_likelihood(data):
    X, y = data
    model = RoundedRegressor().fit(X, y)
    regression = model.regressor_[-1]
    start = regression.kernel
    assert start.k1.k2.length_scale == pytest.approx(np.sqrt(2.0))
    assert regression.log_marginal_likelihood_value_ > regression.log_marginal_likelihood(
        start.theta
    )
    assert np.mean(np.abs(model.predict(X) - y)) < 0.5


@pytest.mark.parametrize("regressor", [None, BayesianRidge()], ids=repr)
def test_probabilities_are_the_normal_mass_within_half_a_rank(data, regressor):
    X, y = data
    model = RoundedRegressor(regressor).fit(X, y)
    mean, sd = model.regressor_.predict(X, return_std=True)
    proba = model.predict_level_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-14)
    np.testing.assert_allclose(proba[:, 1], ndtr((1.5 - mean) / sd) - ndtr((0.5 - mean) / sd))
    cumulative = model.predict_level_proba(X, cumulative=True)
    np.testing.assert_allclose(cumulative[:, 0], ndtr((0.5 - mean) / sd))
    assert metrics.ranked_probability_score(y, proba, levels=range(4)) < 0.5


def test_there_are_no_probabilities_without_a_deviation(data):
    model = RoundedRegressor(make_pipeline(StandardScaler(), Ridge())).fit(*data)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "predict_level_proba")
    assert hasattr(
        RoundedRegressor(make_pipeline(StandardScaler(), BayesianRidge())), "predict_proba"
    )


def test_a_certain_prediction_puts_all_on_one_level():
    class Sure(BayesianRidge):
        def predict(self, X, return_std=False):
            mean = np.asarray(X)[:, 0]
            return (mean, np.zeros(len(mean))) if return_std else mean

    model = RoundedRegressor(Sure()).fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    np.testing.assert_array_equal(model.predict_level_proba([[0.9]]), [[0.0, 1.0, 0.0]])


def test_words_follow_the_stated_order(data):
    X, y = data
    names = np.array(["low", "mid", "high", "top"])
    model = RoundedRegressor(Ridge(), levels=names).fit(X, names[y])
    np.testing.assert_array_equal(model.levels_, names)
    np.testing.assert_array_equal(model.classes_, sorted(names))
    assert np.mean(model.predict(X) == names[y]) > 0.6


def test_weights_go_to_the_regressor_or_are_refused(data):
    X, y = data
    weights = np.linspace(0.1, 2.0, len(y))
    model = RoundedRegressor(Ridge()).fit(X, y, sample_weight=weights)
    plain = Ridge().fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.predict_latent(X), plain.predict(X))
    with pytest.raises(ValueError, match="KNeighborsRegressor takes no sample weights; leave"):
        RoundedRegressor(KNeighborsRegressor()).fit(X, y, sample_weight=weights)
    with pytest.raises(ValueError, match="takes no sample weights"):
        RoundedRegressor().fit(X, y, sample_weight=weights)


@pytest.mark.parametrize(
    "wrong", ["ridge", Ridge, LogisticRegression(), 3], ids=lambda v: str(v)[:12]
)
def test_what_is_no_regressor_is_refused_with_what_would_be(data, wrong):
    with pytest.raises(TypeError, match="is not a regressor; pass an instance, such as"):
        RoundedRegressor(wrong).fit(*data)


def test_frames_with_text_go_to_a_pipeline_that_knows_them(data):
    X, y = data
    frame = pd.DataFrame({"size": X[:, 0], "colour": np.where(X[:, 1] > 0, "red", "blue")})
    prepare = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
    model = RoundedRegressor(make_pipeline(prepare, Ridge())).fit(frame, y)
    np.testing.assert_array_equal(model.feature_names_in_, ["size", "colour"])
    assert np.mean(np.abs(model.predict(frame) - y)) < 0.6


def test_the_regressor_can_be_searched(data):
    X, y = data
    search = GridSearchCV(
        RoundedRegressor(RandomForestRegressor(n_estimators=5, random_state=0)),
        {"regressor__max_depth": [1, 3]},
        scoring=metrics.scorer("mae"),
        cv=3,
    ).fit(X, y)
    assert search.best_params_["regressor__max_depth"] in (1, 3)
    assert search.best_score_ < 0.0
