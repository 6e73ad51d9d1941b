"""Estimators with inducing points: stated values, choice of points, files, refusals."""

import json
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from ordinality import OrdinalGP, persist
from ordinality.datasets import smooth_ordinal
from ordinality.estimators import base_gp
from ordinality.gp import stream
from ordinality.kernels import Gaussian, Linear, Matern

VECTORS = json.loads((Path(__file__).parents[1] / "scale-vectors.json").read_text("utf-8"))
TIGHT = {"ep": 1e-13, "laplace": 1e-20, "variational": 1e-12}
each_engine = pytest.mark.parametrize("inference", TIGHT)


@pytest.fixture(scope="module")
def problem():
    return smooth_ordinal(1500, 4, d=3, noise=0.3, n_test=300)


@pytest.fixture(scope="module")
def model(problem):
    return OrdinalGP(inducing=60).fit(problem.X, problem.y)


def log_score(model, problem):
    proba = model.predict_level_proba(problem.X_test)
    return -np.mean(np.log(proba[np.arange(len(proba)), problem.y_test - 1]))


@each_engine
@pytest.mark.parametrize("vector", VECTORS["sparse"][:3], ids=lambda v: str(len(v["Z"])))
def test_stated_evidence_gradient_and_predictions(vector, inference):
    stated, y = vector["engines"][inference], np.array(vector["y"])
    model = OrdinalGP(
        Gaussian(vector["length_scale"]), inducing=vector["Z"], inference=inference,
        noise=vector["noise"], thresholds=vector["thresholds"], hyperprior=None,
        standardize=False, optimizer=None, tol=TIGHT[inference],
        levels=list(range(len(vector["thresholds"]) + 1)),
    ).fit(vector["X"], y)  # fmt: skip
    assert model.log_evidence_ == pytest.approx(stated["value"], abs=1e-9)
    value, gradient = model.log_evidence(eval_gradient=True)
    assert value == pytest.approx(stated["value"], abs=1e-9)
    wanted = stated["d_log_length_scale"] + stated["d_likelihood"]
    np.testing.assert_allclose(gradient, wanted, rtol=0, atol=1e-7)
    mean, variance = model.predict_latent(vector["X_test"])
    np.testing.assert_allclose(mean, stated["test_mean"], rtol=0, atol=1e-8)
    np.testing.assert_allclose(variance, stated["test_var"], rtol=0, atol=1e-8)
    proba = model.predict_level_proba(vector["X_test"])
    np.testing.assert_allclose(proba, stated["test_proba"], rtol=0, atol=1e-8)
    if inference != "variational":  # not stated
        own = np.log(model.loo_proba_[np.arange(len(y)), y])
        np.testing.assert_allclose(own, stated["loo_log_score"], rtol=0, atol=1e-8)


@each_engine
def test_many_points_predict_what_exact_inference_predicts(problem, inference):
    X, y = problem.X[:300], problem.y[:300]
    fixed = {"inference": inference, "optimizer": None, "noise": 0.3}
    exact = OrdinalGP(Gaussian(2.0), inducing=None, **fixed).fit(X, y)
    sparse = OrdinalGP(Gaussian(2.0), inducing=200, **fixed).fit(X, y)
    assert sparse.unexplained_ < 1e-6  # where no more points are chosen: a deviation of 1e-3
    np.testing.assert_allclose(
        sparse.predict_proba(problem.X_test), exact.predict_proba(problem.X_test), atol=1e-3
    )


def test_a_few_points_learn_nearly_as_well_as_all_rows(problem, model):
    exact = OrdinalGP().fit(problem.X, problem.y)
    assert log_score(model, problem) < log_score(exact, problem) + 0.01
    assert model.inducing_points_.shape == (60, 3)
    assert 0 < model.unexplained_ < 0.05


@pytest.mark.filterwarnings("ignore:the search stopped")
def test_auto_is_exact_for_few_rows_and_sparse_for_many(problem, monkeypatch):
    few = OrdinalGP(max_evaluations=2).fit(problem.X[:100], problem.y[:100])
    assert few.inducing_points_ is None
    assert few.unexplained_ == 0.0
    monkeypatch.setattr(base_gp, "_EXACT", 99)
    monkeypatch.setattr(base_gp, "POINTS", 20)
    many = OrdinalGP(max_evaluations=2).fit(problem.X[:100], problem.y[:100])
    assert many.inducing_points_.shape == (20, 3)


@each_engine
def test_rows_beyond_the_search_are_settled_by_visits(problem, inference, monkeypatch):
    kernel = {"kernel": Gaussian(2.0), "inducing": 40, "optimizer": None, "noise": 0.4}
    whole = OrdinalGP(inference=inference, **kernel).fit(problem.X, problem.y)
    monkeypatch.setattr(base_gp, "SEARCHED", 300)
    monkeypatch.setattr(stream, "_ROWS", 512)
    parts = OrdinalGP(inference=inference, **kernel).fit(problem.X, problem.y)
    assert parts.log_evidence_ == pytest.approx(whole.log_evidence_, abs=0.01)
    np.testing.assert_allclose(
        parts.predict_proba(problem.X_test), whole.predict_proba(problem.X_test), atol=1e-3
    )
    np.testing.assert_allclose(parts.loo_proba_, whole.loo_proba_, atol=1e-2)


@pytest.mark.filterwarnings("ignore:the search stopped")
def test_the_order_of_rows_does_not_matter(problem):
    X, y = problem.X[:500], problem.y[:500]
    order = np.random.default_rng(0).permutation(len(y))
    one, other = (
        OrdinalGP(inducing=30, max_evaluations=3).fit(X[i], y[i])
        for i in (np.arange(len(y)), order)
    )
    np.testing.assert_array_equal(
        one.predict_proba(problem.X_test), other.predict_proba(problem.X_test)
    )
    np.testing.assert_array_equal(one.loo_proba_[order], other.loo_proba_)


def test_a_weight_of_two_is_two_rows(problem):
    X, y = problem.X[:120], problem.y[:120]
    fixed = {"kernel": Gaussian(2.0), "inducing": X[:15], "optimizer": None,
             "standardize": False, "tol": 1e-10}  # fmt: skip
    twice = OrdinalGP(**fixed).fit(np.vstack([X, X[:40]]), np.append(y, y[:40]))
    weighed = OrdinalGP(**fixed).fit(X, y, sample_weight=np.repeat([2.0, 1.0], [40, 80]))
    assert weighed.log_evidence_ == pytest.approx(twice.log_evidence_, abs=1e-8)


@pytest.mark.parametrize("copy", [lambda m, _: pickle.loads(pickle.dumps(m)), "file"])
def test_a_copy_holds_the_points_and_not_the_rows(problem, model, copy, tmp_path):
    if copy == "file":
        persist.save(model, tmp_path / "model.skops")
        kept = persist.load(tmp_path / "model.skops")
        assert (tmp_path / "model.skops").stat().st_size < 100_000
    else:
        kept = copy(model, None)
    np.testing.assert_array_equal(
        kept.predict_proba(problem.X_test), model.predict_proba(problem.X_test)
    )
    assert not len(kept.fit_.problem.X)
    with pytest.raises(ValueError, match="fit again to evaluate other parameters"):
        kept.log_evidence()
    assert clone(kept).inducing == 60


def test_a_damaged_file_is_refused(problem, model, tmp_path):
    from dataclasses import replace

    damaged = clone(model).fit(problem.X[:200], problem.y[:200])
    damaged.predictor_ = replace(damaged.predictor_, mean=damaged.predictor_.mean[:-1])
    with pytest.raises(persist.ModelFileError, match="not valid"):
        persist.save(damaged, tmp_path / "model.skops")


@pytest.mark.parametrize(
    ("inducing", "message"),
    [
        (0, "must be a number from 1 to the 50 distinct rows"),
        (51, "must be a number from 1 to the 50 distinct rows"),
        (True, "inducing has shape"),
        ("many", "is not understood; use 'auto', a number of points"),
        (2.5, "inducing has shape"),
        (np.ones((3, 2)), r"inducing has shape \(3, 2\), but X has 3 features"),
        (np.full((3, 3), np.nan), "inducing has values that are not finite"),
    ],
)
def test_wrong_points_are_refused(problem, inducing, message):
    X, y = np.repeat(problem.X[:50], 2, axis=0), np.repeat(problem.y[:50], 2)
    with pytest.raises(ValueError, match=message):
        OrdinalGP(inducing=inducing).fit(X, y)


def test_criteria_that_need_exact_inference_refuse_points(problem):
    with pytest.raises(ValueError, match="use criterion='evidence' or inducing=None"):
        OrdinalGP(criterion="loo", inducing=10).fit(problem.X[:50], problem.y[:50])


def test_a_kernel_without_rectangular_gradients_says_so(problem):
    from ordinality.kernels import Precomputed

    X, y = problem.X[:50], problem.y[:50]
    with pytest.raises(NotImplementedError, match="which inducing points need"):
        OrdinalGP(Precomputed(), inducing=10).fit(Gaussian()(X), y)


def test_too_many_rows_for_exact_inference_are_refused_before_any_work():
    X = np.arange(20_001.0)[:, None]
    with pytest.raises(ValueError, match=r"needs two matrices of 20001 x 20001 numbers, 6 GB"):
        OrdinalGP(inducing=None).fit(X, np.arange(20_001) % 2)


def test_points_that_explain_little_are_warned_of(problem):
    said = r"3 inducing points leave .* try inducing=6"
    with pytest.warns(UserWarning, match=said) as caught:
        OrdinalGP(
            Gaussian(0.5), inducing=3, optimizer=None
        ).fit(problem.X[:100], problem.y[:100])  # fmt: skip
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize(
    "kernel", [Linear() + 0.5 * Gaussian(2.0), 1.0 * Matern(2.0)], ids=repr
)
def test_sums_and_other_kernels_learn_with_points(problem, kernel):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = OrdinalGP(kernel, inducing=50).fit(problem.X, problem.y)
    assert log_score(model, problem) < 1.0
