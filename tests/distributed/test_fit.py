"""OrdinalGP fitted to Dask arrays and data frames."""

import pickle
import subprocess
import sys
import warnings

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from ordinality import LeastSquaresOrdinalGP, OrdinalGP, persist
from ordinality.datasets import smooth_ordinal
from ordinality.estimators import base_gp
from ordinality.kernels import Correlation, Gaussian


@pytest.fixture(scope="module")
def table():
    return smooth_ordinal(3000, 4, d=3, noise=0.3, n_test=300)


@pytest.fixture(autouse=True)
def small_sample(monkeypatch):
    monkeypatch.setattr(base_gp, "SEARCHED", 600)


def collections(table, rows=800):
    return da.from_array(table.X, chunks=(rows, 2)), da.from_array(table.y, chunks=700)


def log_score(model, table):
    proba = model.predict_level_proba(table.X_test)
    return -np.mean(np.log(proba[np.arange(len(proba)), table.y_test - 1]))


FIXED = {
    "kernel": Gaussian(2.0), "noise": 0.3, "thresholds": [-0.7, 0.0, 0.7], "optimizer": None,
}  # fmt: skip


@pytest.mark.parametrize("inference", ["ep", "laplace", "variational"])
def test_a_fit_is_that_of_arrays_at_given_parameters(table, here, inference):
    model = OrdinalGP(inference=inference, inducing=table.X[:40], **FIXED)
    wanted = model.fit(table.X, table.y)
    mean, variance = wanted.predict_latent(table.X_test)
    evidence = wanted.log_evidence_
    found = model.fit(*collections(table))
    # Visits start from other samples and stop when sites are within 0.01 of their fixed point.
    assert found.log_evidence_ == pytest.approx(evidence, abs=0.05)
    np.testing.assert_allclose(found.predict_latent(table.X_test)[0], mean, atol=0.01)
    np.testing.assert_allclose(found.predict_latent(table.X_test)[1], variance, rtol=0.02)
    assert not hasattr(found, "loo_proba_")  # that of the first fit would be wrong
    assert found.converged_


def test_a_learnt_fit_on_two_processes_predicts_as_well(table, client):
    wanted = OrdinalGP(inducing=40).fit(table.X, table.y)
    X, y = collections(table)
    found = OrdinalGP(inducing=40).fit(X, y)
    assert log_score(found, table) < log_score(wanted, table) + 0.01
    assert found.inducing_points_.shape == (40, 3)
    assert found.fit_.path[-1][0] == 3000
    predicted = X.map_blocks(found.predict, dtype=found.classes_.dtype, drop_axis=1)
    np.testing.assert_array_equal(predicted[:50].compute(), found.predict(table.X[:50]))


def test_a_fit_to_few_rows_is_that_of_arrays(table, here):
    X, y = table.X[:300], table.y[:300]
    wanted = OrdinalGP().fit(X, y)
    found = OrdinalGP().fit(da.from_array(X, (100, 3)), da.from_array(y, 100))
    np.testing.assert_array_equal(found.loo_proba_, wanted.loo_proba_)


def test_a_data_frame_brings_names_and_order(table, here, tmp_path):
    names = ["bad", "fair", "good", "best"]
    frame = pd.DataFrame(table.X, columns=["a", "b", "c"])
    frame["level"] = pd.Categorical(np.array(names)[table.y - 1], names, ordered=True)
    frame["weight"] = 1.0
    frames = dd.from_pandas(frame, npartitions=3)
    with warnings.catch_warnings(action="error"):
        model = OrdinalGP(inducing=40, **FIXED).fit(
            frames[["a", "b", "c"]], frames["level"], frames["weight"]
        )
    assert model.levels_.tolist() == names
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    rows = frame[["a", "b", "c"]].head(5)
    persist.save(model, tmp_path / "model.skops")
    for copy in (persist.load(tmp_path / "model.skops"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(copy.predict_proba(rows), model.predict_proba(rows))
    with pytest.raises(ValueError, match="a fit to Dask collections"):
        model.log_evidence()


def test_a_level_that_only_the_last_partition_has_is_learnt(table, here):
    y = np.minimum(table.y, 3)
    y[-3:] = 4
    model = OrdinalGP(inducing=40, **FIXED).fit(
        da.from_array(table.X, (1000, 3)), da.from_array(y, 1000)
    )
    assert model.levels_.tolist() == [1, 2, 3, 4]
    assert model.predict_proba(table.X_test).shape == (300, 4)


def test_weights_of_levels_come_from_all_rows(table, here):
    model = OrdinalGP(inducing=table.X[:40], class_weight="balanced", **FIXED)
    wanted = model.fit(table.X, table.y).predict_latent(table.X_test)[0]
    found = model.fit(*collections(table)).predict_latent(table.X_test)[0]
    np.testing.assert_allclose(found, wanted, atol=0.01)


def test_equal_calls_give_equal_models(table, here):
    X, y = collections(table)
    one, other = (OrdinalGP(inducing=20, **FIXED).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.inducing_points_, other.inducing_points_)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (OrdinalGP(inducing=None), "inducing=None is exact inference"),
        (OrdinalGP(criterion="loo"), "criterion='loo' needs exact inference"),
        (OrdinalGP(Correlation()), "need a kernel over features"),
        (OrdinalGP(inducing=0), "inducing=0 must be a number from 1"),
    ],
)
def test_what_needs_all_rows_in_one_place_is_refused(table, here, model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(*collections(table))


def test_other_estimators_fetch_the_rows(table, here):
    X, y = table.X[:100], table.y[:100]
    wanted = LeastSquaresOrdinalGP().fit(X, y)
    found = LeastSquaresOrdinalGP().fit(da.from_array(X, (40, 3)), da.from_array(y, 40))
    np.testing.assert_array_equal(found.thresholds_, wanted.thresholds_)


def test_a_failed_fit_leaves_the_model_as_it_was(table, here):
    model = OrdinalGP(inducing=20, **FIXED).fit(table.X, table.y)
    before = model.predict_proba(table.X_test)
    X, y = collections(table)
    with pytest.raises(ValueError, match="partition . of X holds missing"):
        model.fit(X * np.nan, y)
    np.testing.assert_array_equal(model.predict_proba(table.X_test), before)


def test_a_fit_to_arrays_does_not_need_dask(table, monkeypatch):
    for name in ("dask", "distributed"):
        monkeypatch.setitem(sys.modules, name, None)
    model = OrdinalGP(inducing=20, **FIXED).fit(table.X, table.y)
    assert model.inducing_points_.shape == (20, table.X.shape[1])


def test_the_estimator_and_the_room_do_not_load_dask():
    code = (
        "import sys, ordinality.distributed\n"
        "from ordinality import OrdinalGP\n"
        "assert not {'dask', 'distributed'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_without_dask_the_error_says_what_to_install(monkeypatch):
    from ordinality.distributed import PartitionedRows, connect

    for name in ("dask", "distributed"):
        monkeypatch.setitem(sys.modules, name, None)
    for call in (lambda: connect("x"), lambda: PartitionedRows.from_loaders([(tuple, ())])):
        with pytest.raises(ModuleNotFoundError, match=r"pip install 'ordinality\[dask\]'"):
            call()


def test_further_rows_are_folded_into_a_fit(table, here):
    X, y = collections(table)
    model = OrdinalGP(inducing=table.X[:40], **FIXED).fit(X[:2400], y[:2400])
    wanted = OrdinalGP(inducing=table.X[:40], **FIXED).fit(X, y)
    before = np.abs(
        model.predict_latent(table.X_test)[0] - wanted.predict_latent(table.X_test)[0]
    )
    model.partial_fit(table.X[2400:], table.y[2400:])
    after = np.abs(
        model.predict_latent(table.X_test)[0] - wanted.predict_latent(table.X_test)[0]
    )
    assert after.max() < 0.5 * before.max()
