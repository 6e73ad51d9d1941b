"""`LabelRankingGP` with inducing points: against exact inference, files, bad input."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from ordinality import LabelRankingGP, persist
from ordinality.estimators import label_ranking_gp
from ordinality.kernels import Gaussian, Linear, Precomputed

ENGINES = ["laplace", "ep", "variational"]
each_engine = pytest.mark.parametrize("inference", ENGINES)
HELD = {"kernel": Gaussian(1.5), "noise": 0.4, "optimizer": None}


def ranks_of(f):
    return 1.0 + np.argsort(np.argsort(-f, axis=1), axis=1)


@pytest.fixture(scope="module")
def table():
    """Rows of two features in odd units, and a noisy ranking of four labels for each."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(700, 2))
    f = np.column_stack([np.sin(Z[:, 0]), Z[:, 1], np.cos(Z[:, 0] - Z[:, 1]), 0.5 * Z[:, 0]])
    Y = ranks_of(f + 0.3 * rng.normal(size=f.shape))
    X = Z * [10.0, 0.1] + [5.0, 2.0]
    return X[:400], Y[:400], X[400:], Y[400:]


@pytest.fixture(scope="module")
def model(table):
    return LabelRankingGP(inducing=30).fit(*table[:2])


def log_score(model, X, Y):
    """Mean of minus the log probability of the pairs of a ranking."""
    return -np.mean(np.log(model.predict_pairs_proba(X)[Y[:, :, None] < Y[:, None, :]]))


GIVEN = {
    "ranking": lambda Y: Y,
    "layers": lambda Y: Y,
    "multiclass": lambda Y: np.argmin(Y, axis=1),
    "ordinal": lambda Y: np.argmin(Y, axis=1),
    "edges": lambda Y: [[(int(np.argmin(y)), int(np.argmax(y)))] for y in Y],
}


@each_engine
@pytest.mark.parametrize("graph", GIVEN)
def test_points_at_all_rows_predict_what_exact_inference_predicts(table, graph, inference):
    X, Y = table[0][:40], GIVEN[graph](table[1][:40])
    tight = {"laplace": 1e-18}.get(inference, 1e-12)
    held = {**HELD, "graph": graph, "inference": inference, "tol": tight}
    exact = LabelRankingGP(inducing=None, **held).fit(X, Y)
    sparse = LabelRankingGP(inducing=X, **held).fit(X, Y)
    assert sparse.log_evidence_ == pytest.approx(exact.log_evidence_, abs=1e-8)
    assert sparse.unexplained_ == pytest.approx(0.0, abs=1e-9)
    assert exact.unexplained_ == 0.0
    assert exact.inducing_points_ is None
    for name in ("scores", "predict_pairs_proba", "predict_top_proba"):
        one, other = (getattr(m, name)(table[2][:20]) for m in (sparse, exact))
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-7, err_msg=name)
    (one, d_one), (other, d_other) = (
        m.log_evidence(eval_gradient=True) for m in (sparse, exact)
    )
    assert one == pytest.approx(other, abs=1e-8)
    np.testing.assert_allclose(d_one, d_other, rtol=0, atol=1e-6)


def test_a_few_points_learn_nearly_as_well_as_all_rows(table, model):
    X, Y, X_test, Y_test = table
    exact = LabelRankingGP(inducing=None).fit(X, Y)
    assert log_score(model, X_test, Y_test) < log_score(exact, X_test, Y_test) + 0.005
    assert model.score(X_test, Y_test) > exact.score(X_test, Y_test) - 0.005
    assert model.inducing_points_.shape == (30, 2)
    assert 0 < model.unexplained_ < 0.02
    assert np.isin(model.inducing_points_.round(9), X.round(9)).all()  # rows, in their units


def test_auto_is_exact_for_few_rows_and_sparse_for_many(table, monkeypatch):
    X, Y = table[:2]
    held = {"kernel": Gaussian(0.3), "optimizer": None}
    assert LabelRankingGP(**held).fit(X[:60], Y[:60]).inducing_points_ is None
    monkeypatch.setattr("ordinality.estimators.base_gp._EXACT", 150)
    monkeypatch.setattr(label_ranking_gp, "_VALUES", 150)
    many = LabelRankingGP(**held).fit(X[:60], Y[:60])
    assert len(many.inducing_points_) == 50  # 150 values of three contrasts
    pairs = LabelRankingGP(**held, graph="edges", labels=range(4)).fit(X[:60], [[(0, 1)]] * 60)
    assert pairs.inducing_points_ is None  # fewer preferences than contrasts
    monkeypatch.undo()
    classes = np.arange(400) % 10  # 3600 contrasts, but one matrix a label is enough
    of_classes = LabelRankingGP(Gaussian(0.1), optimizer=None, graph="multiclass")
    assert of_classes.fit(X, classes).inducing_points_ is None
    assert (
        len(of_classes.fit(np.vstack([X, X + 1]), np.tile(classes, 2)).inducing_points_) == 222
    )


@each_engine
def test_rows_beyond_the_search_are_settled_by_visits(table, inference, monkeypatch):
    X, Y, X_test, _ = table
    held = {**HELD, "inference": inference, "inducing": 40}
    whole = LabelRankingGP(**held).fit(X, Y)
    monkeypatch.setattr(label_ranking_gp, "_FEWEST", 100)
    monkeypatch.setattr(label_ranking_gp, "_SEARCHED_WORK", 1)
    parts = LabelRankingGP(**held).fit(X, Y)
    assert [rows for rows, _ in parts.fit_.path] == [600, 2400]
    assert parts.converged_
    # What two ways to the same fixed point leave: visits stop at a gap of 0.01 in a site.
    assert parts.log_evidence_ == pytest.approx(whole.log_evidence_, abs=0.05)
    np.testing.assert_allclose(
        parts.predict_pairs_proba(X_test), whole.predict_pairs_proba(X_test), atol=2e-3
    )


@pytest.mark.filterwarnings("ignore:the search stopped")
def test_the_order_of_rows_does_not_matter(table):
    X, Y, X_test, _ = table
    X, Y = np.vstack([X[:150], X[:20]]), np.vstack([Y[:150], Y[20:40]])
    order = np.random.default_rng(0).permutation(len(Y))
    one, other = (
        LabelRankingGP(inducing=20, max_evaluations=3).fit(X[i], Y[i])
        for i in (np.arange(len(Y)), order)
    )
    np.testing.assert_array_equal(one.scores(X_test), other.scores(X_test))


def test_a_weight_of_two_is_two_rows_and_of_zero_is_none(table):
    X, Y = table[0][:80], table[1][:80]
    held = {**HELD, "inducing": X[:15], "standardize": False, "inference": "ep", "tol": 1e-10}
    twice = LabelRankingGP(**held).fit(np.vstack([X[:60], X[:30]]), np.vstack([Y[:60], Y[:30]]))
    weights = np.repeat([2.0, 1.0, 0.0], [30, 30, 20])
    weighed = LabelRankingGP(**held).fit(X, Y, sample_weight=weights)
    assert weighed.log_evidence_ == pytest.approx(twice.log_evidence_, abs=1e-8)
    np.testing.assert_allclose(weighed.scores(X), twice.scores(X), atol=1e-7)


def test_ties_and_missing_ranks_are_learnt_through_points(table):
    X, Y, X_test, _ = table
    Y = np.where(np.random.default_rng(1).random(Y.shape) < 0.1, np.nan, np.ceil(Y / 2))
    model = LabelRankingGP(inducing=25, ties=True).fit(X, Y)
    assert model.tie_width_ > 0
    proba = model.predict_pairs_proba(X_test)
    assert np.all(proba + np.swapaxes(proba, 1, 2) <= 1 + 1e-12)


def test_two_labels_have_one_contrast(table):
    X, Y = table[:2]
    first = Y[:, 0] < Y[:, 1]
    model = LabelRankingGP(graph="multiclass", inducing=25).fit(X, first)
    assert model.score(X, first) > 0.8
    assert model.predictor_.basis.shape == (2, 1)


def file_copy(model, folder):
    persist.save(model, folder / "model.skops")
    assert (folder / "model.skops").stat().st_size < 150_000
    return persist.load(folder / "model.skops")


COPIES = {
    "pickle": lambda model, _: pickle.loads(pickle.dumps(model)),
    "deepcopy": lambda model, _: copy.deepcopy(model),
    "file": file_copy,
}


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_a_copy_holds_the_points_and_not_the_rows(table, model, copied, tmp_path):
    kept, X_test = copied(model, tmp_path), table[2]
    for name in ("scores", "predict_pairs_proba", "predict_top_proba"):
        np.testing.assert_array_equal(
            getattr(kept, name)(X_test), getattr(model, name)(X_test), err_msg=name
        )
    assert not len(kept.fit_.problem.X)
    assert not len(kept.fit_.problem.y)
    assert len(model.fit_.problem.X) == 400
    with pytest.raises(ValueError, match="fit again to evaluate other parameters"):
        kept.log_evidence()
    assert clone(kept).inducing == 30


@pytest.mark.parametrize(
    "damage",
    [
        lambda p: replace(p, beta=p.beta[:-1]),
        lambda p: replace(p, lower=p.lower[:-1, :-1]),
        lambda p: replace(p, G=-p.G),
        lambda p: replace(p, lower=np.full_like(p.lower, np.nan)),
    ],
    ids=["points", "factor", "sign", "not finite"],
)
def test_a_damaged_file_is_refused(model, damage, tmp_path):
    damaged = copy.copy(model)
    damaged.predictor_ = damage(model.predictor_)
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
        (np.ones((3, 3)), r"inducing has shape \(3, 3\), but X has 2 features"),
        (np.full((3, 2), np.nan), "inducing has values that are not finite"),
    ],
)
def test_wrong_points_are_refused(table, inducing, message):
    X, Y = (np.repeat(part[:50], 2, axis=0) for part in table[:2])
    with pytest.raises(ValueError, match=message):
        LabelRankingGP(inducing=inducing).fit(X, Y)


def test_a_kernel_without_rectangular_gradients_says_so_or_stays_exact(table, monkeypatch):
    X, Y = table[0][:50], table[1][:50]
    K = Gaussian(2.0)(X / X.std(0))
    with pytest.raises(NotImplementedError, match="which inducing points need"):
        LabelRankingGP(Precomputed(), inducing=10).fit(K, Y)
    monkeypatch.setattr("ordinality.estimators.base_gp._EXACT", 10)
    monkeypatch.setattr(label_ranking_gp, "_VALUES", 10)
    assert LabelRankingGP("precomputed").fit(K, Y).inducing_points_ is None


def test_too_many_rows_for_exact_inference_are_refused_before_any_work():
    X = np.arange(5001.0)[:, None]
    said = r"exact inference of 5001 rows needs two matrices of 20004 x 20004 numbers, 6 GB"
    with pytest.raises(ValueError, match=said + r".*\(inducing=500\)"):
        LabelRankingGP(inducing=None).fit(X, np.tile(np.arange(5), (5001, 1)))


def test_a_refused_fit_leaves_the_model_as_it_was(table, model):
    before = dict(vars(model))
    again = copy.copy(model).set_params(inducing=0)
    kept = {**vars(again)}
    with pytest.raises(ValueError, match="inducing=0"):
        again.fit(*table[:2])
    assert vars(again) == kept
    assert vars(model) == before


def test_points_that_explain_little_are_warned_of(table):
    said = r"3 inducing points leave .* try inducing=6"
    with pytest.warns(UserWarning, match=said) as caught:
        LabelRankingGP(Gaussian(0.5), inducing=3, optimizer=None).fit(*table[:2])
    assert [warning.filename for warning in caught] == [__file__]


def test_sums_of_kernels_learn_with_points(table):
    X, Y, X_test, Y_test = table
    model = LabelRankingGP(Linear() + 0.5 * Gaussian(1.5), inducing=30).fit(X, Y)
    assert model.converged_
    assert log_score(model, X_test, Y_test) < 0.4  # 0.69 for a coin
