"""What features are worth: the exact posterior of a least-squares plane."""

import numpy as np
import pytest

from ordinality import PreferenceGP
from ordinality.panel.feature_worths import feature_worths


class Belief:
    """Utilities of given mean and covariance."""

    def __init__(self, mean, cov):
        self.mean, self.cov = mean, cov

    def posterior(self, items):
        return self.mean[items], self.cov[np.ix_(items, items)]


def test_the_worth_of_a_step_is_the_slope_of_the_plane_and_its_spread():
    rng = np.random.default_rng(0)
    size, boxed, n = rng.normal(5.0, 3.0, 30), rng.integers(0, 2, 30), 30
    half = rng.normal(size=(n, n))
    belief = Belief(1.0 + 0.5 * size - 2.0 * boxed, half @ half.T)
    X = np.column_stack([size, np.ones(n), boxed])
    found = feature_worths(belief, X, ["size", "same", "boxed"])
    assert [each.feature for each in found] == ["size", "boxed"]
    assert [each.step for each in found] == pytest.approx([size.std(), 1.0])
    assert [each.worth for each in found] == pytest.approx([0.5 * size.std(), -2.0])
    drawn = belief.mean + rng.normal(size=(20_000, n)) @ half.T
    planes = np.linalg.lstsq(np.column_stack([X[:, [0, 2]], np.ones(n)]), drawn.T)[0][:2]
    spread = planes.std(axis=1) * [size.std(), 1.0]
    assert [each.sd for each in found] == pytest.approx(spread, rel=0.03)


def test_slopes_of_brands_sum_to_zero():
    brand = np.eye(3)[np.arange(12) % 3]
    belief = Belief(brand @ [1.0, 2.0, 6.0], np.eye(12))
    found = feature_worths(belief, brand, ["a", "b", "c"])
    assert [each.worth for each in found] == pytest.approx([-2.0, -1.0, 3.0])


def test_features_that_decide_are_told_from_those_that_do_not():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(25, 2))
    pairs = np.array([rng.choice(25, 2, replace=False) for _ in range(250)])
    gap = 1.5 * (X[pairs[:, 0], 0] - X[pairs[:, 1], 0]) + rng.normal(size=250)
    model = PreferenceGP(X).fit(pairs, np.where(gap > 0, 1, -1))
    one, other = feature_worths(model.snapshot(), X, ["one", "other"])
    assert one.worth > 3.0 * one.sd
    assert abs(other.worth) < 2.0 * other.sd
