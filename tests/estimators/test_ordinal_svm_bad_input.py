"""What support vector ordinal regression cannot learn from is refused, or diagnosed."""

import re

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from ordinality import OrdinalSVM, kernels


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = np.digitize(X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=90), [-0.3, 0.6, 1.8])
    return X, y


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"C": 0.0}, "C=0.0 must be a number above zero"),
        ({"C": "1"}, "C='1' must be a number above zero"),
        ({"constraints": "some"}, r"constraints='some' is not known; choose one of \['impl"),
        ({"kernel": "sigmoid"}, "no kernel named 'sigmoid'; the names are rbf, linear, poly"),
        ({"gamma": "wide"}, "gamma='wide' must be 'scale', 'auto' or a number above zero"),
        ({"gamma": -1.0}, "gamma=-1.0 must be"),
        ({"coef0": -1.0}, "coef0=-1.0 must be a number, zero or more"),
        ({"degree": 1.5}, "degree=1.5 must be a whole number, 1 or more"),
        ({"tol": 0}, "tol=0 must be a number above zero"),
        ({"calibration_folds": 1}, "calibration_folds=1 must be a whole number, 2 or more"),
        ({"class_weight": "even"}, "class_weight='even' is not known; pass 'balanced'"),
        ({"class_weight": {9: 1.0}}, r"class_weight names 9, which is not one of .*\[0, 1"),
        ({"class_weight": {1: 0.0}}, r"class_weight\[1\]=0.0 must be a number above zero"),
        ({"constraints": "sum-of-margins", "C": 1e-3}, "C is too small for the sum of margins"),
        ({"kernel": lambda X, Y: X}, r"the kernel function gave shape .* it must give"),
    ],
    ids=lambda one: re.sub(" at 0x[0-9a-f]+", "", str(one)),  # the same in every process
)
def test_settings_that_mean_nothing_are_refused(data, changes, message):
    with pytest.raises(ValueError, match=message):
        OrdinalSVM(**changes).fit(*data)


def test_what_is_no_kernel_is_refused(data):
    with pytest.raises(TypeError, match="kernel=3 is not a kernel; pass one of"):
        OrdinalSVM(kernel=3).fit(*data)
    with pytest.raises(TypeError, match=r"the class Gaussian; pass Gaussian\(\)"):
        OrdinalSVM(kernel=kernels.Gaussian).fit(*data)
    with pytest.raises(ValueError, match="needs the Gram matrix"):
        OrdinalSVM(kernel="precomputed").fit(*data)


def test_a_run_cut_short_says_so_and_what_to_do(data):
    with pytest.warns(ConvergenceWarning, match="in 3 steps: .* Raise max_iter, lower C"):
        found = OrdinalSVM(C=10.0, max_iter=3, calibration_folds=None).fit(*data)
    assert not found.converged_
    assert found.n_iter_ == 3


def test_collapsed_bands_are_diagnosed():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 3, size=60)
    model = OrdinalSVM(10.0, "linear", constraints="sum-of-margins", calibration_folds=None)
    with pytest.warns(UserWarning, match="bands between levels have no width.*Use a smaller C"):
        model.fit(X, y)
    assert np.all(np.isfinite(model.predict_latent(X)))
