"""OrdinalGP fitted to memory-mapped arrays: the same model from a block of rows at a time."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from ordinality import LeastSquaresOrdinalGP, OrdinalGP
from ordinality.datasets import smooth_ordinal
from ordinality.estimators import base_gp, partitioned
from ordinality.kernels import Gaussian

FIXED = {
    "kernel": Gaussian(2.0), "noise": 0.3, "thresholds": [-0.7, 0.0, 0.7], "optimizer": None,
}  # fmt: skip


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(base_gp, "_MAPPED", 1000)
    monkeypatch.setattr(base_gp, "SEARCHED", 600)
    monkeypatch.setattr(base_gp, "POINTS", 40)  # of which the sample has 20 rows for each
    monkeypatch.setattr(partitioned, "_BLOCK", 500)


def mapped(folder, X):
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


@pytest.fixture(scope="module")
def table():
    return smooth_ordinal(3000, 4, d=3, noise=0.3, n_test=300)


@pytest.mark.parametrize("inference", ["ep", "laplace", "variational"])
def test_a_fit_is_that_of_an_array_at_given_parameters(table, tmp_path, inference):
    model = OrdinalGP(inference=inference, inducing=table.X[:40], **FIXED)
    mean, variance = model.fit(table.X, table.y).predict_latent(table.X_test)
    evidence = model.log_evidence_
    model.fit(mapped(tmp_path, table.X), table.y)
    # Visits start from other samples and stop when sites are within 0.01 of their fixed point.
    assert model.log_evidence_ == pytest.approx(evidence, abs=0.05)
    np.testing.assert_allclose(model.predict_latent(table.X_test)[0], mean, atol=0.01)
    np.testing.assert_allclose(model.predict_latent(table.X_test)[1], variance, rtol=0.02)
    assert not hasattr(model, "loo_proba_")


def test_weights_and_an_order_are_those_of_an_array(table, tmp_path):
    names = np.array(["bad", "fair", "good", "best"])
    y = pd.Series(pd.Categorical(names[table.y - 1], names, ordered=True))
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    model = OrdinalGP(inducing=table.X[:40], **FIXED)
    wanted = model.fit(table.X, y, weights).predict_latent(table.X_test)[0]
    found = model.fit(mapped(tmp_path, table.X), y, weights)
    assert found.levels_.tolist() == names.tolist()
    np.testing.assert_allclose(found.predict_latent(table.X_test)[0], wanted, atol=0.01)


# In a process of its own: threads of other tests, such as a cluster's, allocate memory too.
PEAKS = """
import gc, tracemalloc
import numpy as np
from ordinality import OrdinalGP
from ordinality.datasets import smooth_ordinal
from ordinality.estimators import base_gp, partitioned
from ordinality.kernels import Gaussian

base_gp._MAPPED, base_gp.SEARCHED, base_gp.POINTS, partitioned._BLOCK = 1000, 600, 40, 500
for n in (2000, 5000, 30_000):  # the first compiles and imports
    table = smooth_ordinal(n, 4, d=3, noise=0.3, n_test=10)
    np.save("X.npy", table.X)
    X = np.load("X.npy", mmap_mode="r")
    model = OrdinalGP(Gaussian(2.0), noise=0.3, thresholds=[-0.7, 0.0, 0.7], optimizer=None,
                      inducing=40)
    gc.collect()
    tracemalloc.start()
    model.fit(X, table.y)
    print(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
"""


def test_memory_beyond_the_data_does_not_grow_with_the_rows(tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", PEAKS], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    _, few, many = map(int, run.stdout.split())
    # 25,000 rows of three numbers are 600 kB, their sites 400 kB, their ranks 200 kB. A fit
    # takes one byte a row; what else it allocates varies by some kB.
    assert many < few + 100_000


def test_what_needs_all_rows_reads_them(table, tmp_path):
    X = mapped(tmp_path, table.X[:300])
    for model in (OrdinalGP(inducing=None, **FIXED), LeastSquaresOrdinalGP()):
        wanted = model.fit(np.array(X), table.y[:300]).loo_proba_
        np.testing.assert_array_equal(model.fit(X, table.y[:300]).loo_proba_, wanted)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.ones((900, 2)), np.arange(800), "inconsistent numbers of samples"),
        (np.ones(9000), np.arange(9000), "X has 1 dimensions"),
        (np.where(np.arange(1800) == 1700, np.nan, 1.0).reshape(900, 2), np.arange(900) % 3,
         "partition 1 of X holds missing or infinite"),
    ],
)  # fmt: skip
def test_rows_that_cannot_be_learnt_from_are_refused(tmp_path, X, y, message):
    with pytest.raises(ValueError, match=message):
        OrdinalGP().fit(mapped(tmp_path, X), y)
