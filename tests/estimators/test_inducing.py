"""Estimators with inducing points: stated values, choice of points, files, refusals."""

import json
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from ordinality import LeastSquaresOrdinalGP, OrdinalGP, persist
from ordinality.datasets import smooth_ordinal
from ordinality.estimators import base_gp
from ordinality.gp import stream
from ordinality.kernels import Gaussian, Linear, Matern

VECTORS = json.loads((Path(__file__).parents[1] / "scale-vectors.json").read_text("utf-8"))
TIGHT = {"ep": 1e-13, "laplace": 1e-20, "variational": 1e-12}
each_engine = pytest.mark.parametrize("inference", TIGHT)
KINDS = [OrdinalGP, LeastSquaresOrdinalGP]
each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(scope="module")
def problem():
    return smooth_ordinal(1500, 4, d=3, noise=0.3, n_test=300)


def process(kernel="gaussian", **options):
    """Normal noise, and one length scale if no kernel is given: learnt faster than default."""
    return OrdinalGP(kernel, link="probit", **options)


@pytest.fixture(scope="module", params=[process, LeastSquaresOrdinalGP])
def model(problem, request):
    return request.param("gaussian", inducing=60, max_evaluations=30).fit(problem.X, problem.y)


def log_score(model, problem):
    proba = model.predict_level_proba(problem.X_test)
    return -np.mean(np.log(proba[np.arange(len(proba)), problem.y_test - 1]))


@each_engine
@pytest.mark.parametrize("vector", VECTORS["sparse"][:3], ids=lambda v: str(len(v["Z"])))
def test_stated_evidence_gradient_and_predictions(vector, inference):
    stated, y = vector["engines"][inference], np.array(vector["y"])
    model = OrdinalGP(
        Gaussian(vector["length_scale"]), inducing=vector["Z"], inference=inference,
        link="probit", noise=vector["noise"], thresholds=vector["thresholds"], hyperprior=None,
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


def test_many_points_are_the_exact_regression(problem):
    X, y = problem.X[:300], problem.y[:300]
    fixed = {"kernel": Gaussian(2.0), "optimizer": None, "noise": 0.3}
    exact = LeastSquaresOrdinalGP(inducing=None, **fixed).fit(X, y)
    sparse = LeastSquaresOrdinalGP(inducing=200, **fixed).fit(X, y)
    assert sparse.unexplained_ < 1e-6  # where no more points are chosen: a deviation of 1e-3
    assert sparse.loo_log_score_ == pytest.approx(exact.loo_log_score_, abs=0.01)
    np.testing.assert_allclose(
        sparse.predict_latent(problem.X_test), exact.predict_latent(problem.X_test), atol=5e-3
    )


def test_the_score_of_rows_left_out_is_that_of_their_probabilities(problem):
    X, y = problem.X[:200], problem.y[:200]
    weights = np.linspace(0.5, 2.0, 200)
    model = LeastSquaresOrdinalGP(inducing=15, optimizer=None).fit(X, y, sample_weight=weights)
    own = model.loo_proba_[np.arange(200), y - 1]
    assert weights @ np.log(own) == pytest.approx(model.loo_log_score_, abs=1e-9)
    assert model.loo_objective() == pytest.approx(model.loo_log_score_, abs=1e-9)
    rest = np.arange(200) != 7
    without = LeastSquaresOrdinalGP(
        inducing=model.inducing_points_, optimizer=None, standardize=False
    ).fit(X[rest], y[rest], sample_weight=weights[rest])
    whole = LeastSquaresOrdinalGP(
        inducing=model.inducing_points_, optimizer=None, standardize=False
    ).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(
        whole.loo_proba_[7], without.predict_level_proba(X[7:8])[0], atol=1e-10
    )


# Ranks are a function with steps, which needs more points than a smooth one.
@pytest.mark.parametrize(("kind", "count"), [(process, 60), (LeastSquaresOrdinalGP, 100)])
def test_a_few_points_learn_nearly_as_well_as_all_rows(problem, kind, count):
    X, y = problem.X[:800], problem.y[:800]
    model = kind("gaussian", inducing=count).fit(X, y)
    exact = kind("gaussian", inducing=None).fit(X, y)
    assert log_score(model, problem) < log_score(exact, problem) + 0.01
    assert model.inducing_points_.shape == (count, 3)
    assert 0 < model.unexplained_ < 0.05


@each_kind
@pytest.mark.filterwarnings("ignore:the search stopped")
def test_auto_is_exact_for_few_rows_and_sparse_for_many(problem, kind, monkeypatch):
    few = kind("gaussian", max_evaluations=2).fit(problem.X[:100], problem.y[:100])
    assert few.inducing_points_ is None
    assert few.unexplained_ == 0.0
    monkeypatch.setattr(base_gp, "_EXACT", 99)
    monkeypatch.setattr(base_gp, "POINTS", 20)
    many = kind("gaussian", max_evaluations=2).fit(problem.X[:100], problem.y[:100])
    assert many.inducing_points_.shape == (20, 3)


@each_engine
def test_rows_beyond_the_search_are_settled_by_visits(problem, inference, monkeypatch):
    fixed = {"kernel": Gaussian(2.0), "inducing": 40, "optimizer": None, "noise": 0.4}
    fixed["link"] = "probit"
    whole = OrdinalGP(inference=inference, **fixed).fit(problem.X, problem.y)
    monkeypatch.setattr(base_gp, "SEARCHED", 300)
    monkeypatch.setattr(stream, "_ROWS", 512)
    parts = OrdinalGP(inference=inference, **fixed).fit(problem.X, problem.y)
    assert parts.log_evidence_ == pytest.approx(whole.log_evidence_, abs=0.01)
    np.testing.assert_allclose(
        parts.predict_proba(problem.X_test), whole.predict_proba(problem.X_test), atol=1e-3
    )
    np.testing.assert_allclose(parts.loo_proba_, whole.loo_proba_, atol=1e-2)


def test_rows_beyond_the_search_are_settled_by_one_regression(problem, monkeypatch, caplog):
    caplog.set_level("INFO", "ordinality")
    fixed = {"kernel": Gaussian(2.0), "inducing": 40, "optimizer": None, "noise": 0.4}
    whole = LeastSquaresOrdinalGP(**fixed).fit(problem.X, problem.y)
    monkeypatch.setattr(base_gp, "SEARCHED", 300)
    parts = LeastSquaresOrdinalGP(**fixed).fit(problem.X, problem.y)
    assert parts.fit_.path == ((300, 1), (1500, 1))
    assert "1500 observations, 1 evaluation: criterion" in caplog.messages[-1]
    assert parts.loo_log_score_ == pytest.approx(whole.loo_log_score_, abs=1e-9)
    assert parts.unexplained_ == pytest.approx(whole.unexplained_, abs=1e-12)
    np.testing.assert_allclose(
        parts.predict_proba(problem.X_test), whole.predict_proba(problem.X_test), atol=1e-12
    )
    np.testing.assert_allclose(parts.loo_proba_, whole.loo_proba_, atol=1e-12)


@each_kind
@pytest.mark.filterwarnings("ignore:the search stopped")
def test_the_order_of_rows_does_not_matter(problem, kind):
    X, y = problem.X[:500], problem.y[:500]
    order = np.random.default_rng(0).permutation(len(y))
    one, other = (
        kind("gaussian", inducing=30, max_evaluations=3).fit(X[i], y[i])
        for i in (np.arange(len(y)), order)
    )
    np.testing.assert_array_equal(
        one.predict_proba(problem.X_test), other.predict_proba(problem.X_test)
    )
    np.testing.assert_array_equal(one.loo_proba_[order], other.loo_proba_)


@pytest.mark.parametrize(
    ("kind", "options", "value"),
    [
        (OrdinalGP, {"tol": 1e-10}, "log_evidence_"),
        (LeastSquaresOrdinalGP, {}, "loo_log_score_"),
    ],
)
def test_a_weight_of_two_is_two_rows(problem, kind, options, value):
    X, y = problem.X[:120], problem.y[:120]
    fixed = {"kernel": Gaussian(2.0), "inducing": X[:15], "optimizer": None,
             "standardize": False, **options}  # fmt: skip
    twice = kind(**fixed).fit(np.vstack([X, X[:40]]), np.append(y, y[:40]))
    weighed = kind(**fixed).fit(X, y, sample_weight=np.repeat([2.0, 1.0], [40, 80]))
    assert getattr(weighed, value) == pytest.approx(getattr(twice, value), abs=1e-8)


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
        kept.log_evidence() if hasattr(kept, "log_evidence") else kept.loo_objective()
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
@each_kind
def test_wrong_points_are_refused(problem, kind, inducing, message):
    X, y = np.repeat(problem.X[:50], 2, axis=0), np.repeat(problem.y[:50], 2)
    with pytest.raises(ValueError, match=message):
        kind(inducing=inducing).fit(X, y)


def test_criteria_that_need_exact_inference_refuse_points(problem):
    with pytest.raises(ValueError, match="use criterion='evidence' or inducing=None"):
        OrdinalGP(criterion="loo", inducing=10).fit(problem.X[:50], problem.y[:50])


@each_kind
def test_a_kernel_without_rectangular_gradients_says_so(problem, kind):
    from ordinality.kernels import Precomputed

    X, y = problem.X[:50], problem.y[:50]
    with pytest.raises(NotImplementedError, match="which inducing points need"):
        kind(Precomputed(), inducing=10).fit(Gaussian()(X), y)


@each_kind
def test_too_many_rows_for_exact_inference_are_refused_before_any_work(kind):
    X = np.arange(20_001.0)[:, None]
    with pytest.raises(ValueError, match=r"needs two matrices of 20001 x 20001 numbers, 6 GB"):
        kind(inducing=None).fit(X, np.arange(20_001) % 2)


@each_kind
def test_points_that_explain_little_are_warned_of(problem, kind):
    said = r"3 inducing points leave .* try inducing=6"
    with pytest.warns(UserWarning, match=said) as caught:
        kind(
            Gaussian(0.5), inducing=3, optimizer=None
        ).fit(problem.X[:100], problem.y[:100])  # fmt: skip
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize(
    "kernel", [Linear() + 0.5 * Gaussian(2.0), 1.0 * Matern(2.0)], ids=repr
)
@pytest.mark.parametrize("kind", [process, LeastSquaresOrdinalGP])
def test_sums_and_other_kernels_learn_with_points(problem, kind, kernel):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = kind(kernel, inducing=50).fit(problem.X, problem.y)
    assert log_score(model, problem) < 1.0


def test_learnt_points_predict_better_than_as_many_chosen_ones(problem):
    greedy, learnt = (
        process(inducing=12, learn_points=learn).fit(problem.X, problem.y)
        for learn in (False, True)
    )
    # 0.650 and 0.478 when this was written.
    assert log_score(learnt, problem) < log_score(greedy, problem) - 0.1
    assert learnt.inducing_points_.shape == (12, 3)
    assert learnt.fit_.path[:-1] == greedy.fit_.path
    assert learnt.fit_.path[-1][0] == 1500


def test_given_points_are_where_learning_starts(problem):
    given = problem.X[:8]
    held = process(inducing=given).fit(problem.X, problem.y)
    learnt = process(inducing=given, learn_points=True).fit(problem.X, problem.y)
    np.testing.assert_allclose(held.inducing_points_, given, atol=1e-12)
    assert np.max(np.abs(learnt.inducing_points_ - given)) > 0.1
    assert learnt.log_evidence_ > held.log_evidence_
    found, _ = learnt.fit_.problem.evaluate_with_points(learnt.fit_.best.theta)
    assert found.criterion == pytest.approx(learnt.log_evidence_, abs=1e-4)


def test_noise_and_what_points_leave_are_told_together(problem):
    model = process(inducing=12, learn_points=True).fit(problem.X[:600], problem.y[:600])
    prior, _ = model.fit_.problem.prior_at(model.fit_.best.theta)
    wanted = np.sqrt(model.noise_**2 + np.mean(prior.residual))
    assert model.total_noise_ == pytest.approx(wanted, rel=1e-6)
    exact = OrdinalGP(inducing=None, optimizer=None).fit(problem.X[:60], problem.y[:60])
    assert exact.total_noise_ == exact.noise_


@pytest.mark.parametrize(
    "options", [{"inducing": None}, {"criterion": "loo"}, {"optimizer": None}], ids=str
)
def test_points_that_cannot_be_learnt_are_refused(problem, options):
    with pytest.raises(ValueError, match="needs inducing points, the evidence and a search"):
        OrdinalGP(learn_points=True, **options).fit(problem.X[:50], problem.y[:50])


def test_blocks_refuse_learnt_points(problem):
    model = OrdinalGP(inducing=10, learn_points=True)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(ValueError, match="learn_points='yes' is not known"):
        OrdinalGP(learn_points="yes").fit(problem.X[:50], problem.y[:50])
