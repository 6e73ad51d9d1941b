"""The methods of the tables measure what the papers measured."""

import numpy as np
import pytest
from scipy.special import ndtr

from ordinality.datasets import Split
from ordinality.estimators import OrdinalGP
from ordinality.experiments.papers import methods


@pytest.fixture(scope="module")
def split():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 2))
    y = 1 + np.digitize(X[:, 0] + 0.6 * rng.normal(size=60), [-1.0, 0.2, 0.8])
    return Split(X[:40], y[:40], X[40:], y[40:])


def test_narrow_errors_are_those_of_a_deviation_divided_by_the_root_of_two(split):
    found = methods.ordinal_gp(split, 1, "laplace")
    model = OrdinalGP("gaussian", link="probit", inference="laplace", random_state=1).fit(
        split.X, split.y
    )
    mean, variance = model.predict_latent(split.X_test)
    deviation = np.sqrt((variance + model.noise_**2) / 2)
    below = ndtr((model.thresholds_ - mean[:, None]) / deviation[:, None])
    proba = np.diff(below, axis=1, prepend=0.0, append=1.0)
    seen = proba[np.arange(20), split.y_test - 1]
    assert found["log_score_narrow"] == pytest.approx(-np.mean(np.log(seen)), abs=1e-12)
    wrong = proba.argmax(axis=1) + 1 != split.y_test
    assert found["zero_one_narrow"] == pytest.approx(wrong.mean())


def test_exact_errors_are_those_of_the_estimator(split):
    found = methods.ordinal_gp(split, 1, "ep")
    model = OrdinalGP("gaussian", link="probit", inference="ep", random_state=1).fit(
        split.X, split.y
    )
    away = np.abs(model.predict(split.X_test) - split.y_test)
    assert found["zero_one"] == pytest.approx(np.mean(away > 0))
    assert found["mae"] == pytest.approx(np.mean(away))
    assert found["log_score"] != pytest.approx(found["log_score_narrow"], abs=1e-3)
