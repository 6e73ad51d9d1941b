"""Constraint classification: comparisons of items, and rankings of labels."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import rbf_kernel

from ordinality import LabelRankingSVM, PreferenceSVM
from ordinality.estimators.label_graphs import read_edges
from ordinality.svm.kernel_rows import EdgeRows, KernelRows, PairRows

COPIERS = [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy]


@pytest.fixture(scope="module")
def films():
    """Thirty items of two features, and 120 answers about them."""
    rng = np.random.default_rng(0)
    items = rng.normal(size=(30, 2))
    utility = items[:, 0] + np.sin(2 * items[:, 1])
    pairs = np.array([rng.choice(30, 2, replace=False) for _ in range(120)])
    felt = utility[pairs] + 0.2 * rng.normal(size=(120, 2))
    return items, pairs, np.where(felt[:, 0] > felt[:, 1], 1, -1), utility


@pytest.fixture(scope="module")
def rankings():
    """Sixty inputs and the ranks of four labels."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 3))
    scores = X @ rng.normal(size=(3, 4)) + 0.1 * rng.normal(size=(60, 4))
    return X, 1.0 + np.argsort(np.argsort(-scores, axis=1), axis=1)


# ------------------------------------------------------------------------------ kernel rows


def signs(n, winners, losers):
    return np.eye(n)[winners] - np.eye(n)[losers]


@pytest.mark.parametrize("whole", [True, False], ids=["matrix", "blocks"])
def test_rows_of_pairs_are_those_of_the_whole_matrix(films, whole):
    items, pairs, _, _ = films
    K = rbf_kernel(items)
    inner = KernelRows.of_matrix(K) if whole else KernelRows(
        lambda i, j: K[np.ix_(i, j)], np.diag(K))  # fmt: skip
    rows, A = PairRows(inner, *pairs.T), signs(30, *pairs.T)
    P = A @ K @ A.T
    np.testing.assert_allclose(rows.diag, np.diag(P), atol=1e-12)
    i, j = np.array([3, 50]), np.array([1, 7, 99])
    np.testing.assert_allclose(rows.block(i, j), P[np.ix_(i, j)], atol=1e-12)
    beta = np.random.default_rng(1).normal(size=120)
    np.testing.assert_allclose(rows.times(beta), P @ beta, atol=1e-10)
    np.testing.assert_allclose(rows.times(beta, i), (P @ beta)[i], atol=1e-10)


def test_rows_of_label_edges_are_those_of_the_whole_matrix(rankings):
    X, Y = rankings
    K, edges = rbf_kernel(X), read_edges(Y, "ranking", np.arange(4), 60)
    at, better, worse = edges.at, edges.better, edges.worse
    assert len(at) == 60 * 6
    rows = EdgeRows(KernelRows.of_matrix(K), 4, at, better, worse)
    D = signs(4, better, worse)
    P = K[np.ix_(at, at)] * (D @ D.T)
    np.testing.assert_allclose(rows.diag, np.diag(P))
    i, j = np.array([3, 50, 200]), np.array([1, 7, 99, 333])
    np.testing.assert_allclose(rows.block(i, j), P[np.ix_(i, j)], atol=1e-12)
    beta = np.random.default_rng(1).normal(size=360)
    np.testing.assert_allclose(rows.times(beta, i), (P @ beta)[i], atol=1e-10)


# ------------------------------------------------------------------------------ items


def test_utilities_are_the_optimum_of_the_dual(films):
    items, pairs, answers, _ = films
    model = PreferenceSVM(items, 2.0, gamma=0.5, standardize=False, tol=1e-6)
    model.fit(pairs, answers)
    K = rbf_kernel(items, gamma=0.5)
    A = answers[:, None] * signs(30, *pairs.T)
    P = A @ K @ A.T
    found = minimize(
        lambda a: (0.5 * a @ P @ a - a.sum(), P @ a - 1), np.zeros(120), jac=True,
        bounds=[(0, 2)] * 120, options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 5000},
    )  # fmt: skip
    assert model.dual_objective_ == pytest.approx(-found.fun, rel=1e-6)
    np.testing.assert_allclose(model.utility(), K @ (A.T @ found.x), atol=2e-3)
    np.testing.assert_allclose(model.utility(items), model.utility(), atol=1e-10)
    assert abs(model.duality_gap_) < 1e-3


def test_a_cache_too_small_for_all_pairs_changes_nothing(films):
    items, pairs, answers, _ = films
    whole = PreferenceSVM(items, tol=1e-6).fit(pairs, answers)
    bits = PreferenceSVM(items, tol=1e-6, cache_size=1e-3).fit(pairs, answers)
    np.testing.assert_allclose(bits.utility(), whole.utility(), atol=1e-4)


def test_linear_utilities_are_found_over_the_weights_of_the_features(films):
    items, pairs, answers, _ = films
    model = PreferenceSVM(items, 2.0, "linear", standardize=False).fit(pairs, answers)
    given = PreferenceSVM(items @ items.T, 2.0, "precomputed", tol=1e-6).fit(pairs, answers)
    np.testing.assert_allclose(model.utility(), given.utility(), atol=1e-3)
    assert model.n_iter_ < 50 < given.n_iter_


def test_training_converges_at_high_C(films, recwarn):
    items, pairs, answers, _ = films
    for C in (1e3, 1e5):
        model = PreferenceSVM(items, C, gamma=0.01, max_iter=30_000).fit(pairs, answers)
        assert model.converged_
        assert 0 <= model.duality_gap_ < 1e-3 * model.dual_objective_
        linear = PreferenceSVM(items, C, "linear").fit(pairs, answers)
        assert linear.converged_
    assert not recwarn.list


def test_a_function_that_is_not_a_kernel_gives_finite_utilities(films):
    items, pairs, answers, _ = films
    model = PreferenceSVM(items, 100.0, lambda X, Y: np.tanh(X @ Y.T - 1), max_iter=3000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert np.all(np.isfinite(model.fit(pairs, answers).utility()))


def test_comparisons_are_learnt_and_generalise(films):
    items, pairs, answers, utility = films
    model = PreferenceSVM(items, 10.0).fit(pairs, answers)
    assert model.score(pairs, answers) > 0.9
    assert np.corrcoef(model.utility(), utility)[0, 1] > 0.9
    assert model.rank()[np.argmax(model.utility())] == 1
    new = np.random.default_rng(3).normal(size=(50, 2))
    truth = new[:, 0] + np.sin(2 * new[:, 1])
    assert np.corrcoef(model.utility(new), truth)[0, 1] > 0.8
    assert sorted(model.rank(new)) == list(range(1, 51))


def test_swapping_sides_and_counting_twice_changes_nothing(films):
    items, pairs, answers, _ = films
    one = PreferenceSVM(items).fit(pairs, answers).utility()
    swapped = PreferenceSVM(items).fit(pairs[:, ::-1], -answers).utility()
    np.testing.assert_array_equal(one, swapped)
    first = np.where((answers == 1)[:, None], pairs, pairs[:, ::-1])
    np.testing.assert_array_equal(PreferenceSVM(items).fit(first).utility(), one)
    weight = np.arange(120) % 3
    weighted = PreferenceSVM(items).fit(pairs, answers, sample_weight=weight)
    copied = PreferenceSVM(items).fit(np.repeat(pairs, weight, 0), np.repeat(answers, weight))
    np.testing.assert_array_equal(weighted.utility(), copied.utility())


def test_items_need_no_features(films):
    _, pairs, answers, utility = films
    for items in (None, 30):
        model = PreferenceSVM(items).fit(pairs, answers)
        assert model.score(pairs, answers) > 0.9
        assert np.corrcoef(model.utility(), utility)[0, 1] > 0.8
    with pytest.raises(ValueError, match="no features, so nothing is known of new ones"):
        model.utility([[1.0]])


def test_a_precomputed_kernel_is_the_kernel(films):
    items, pairs, answers, _ = films
    K = rbf_kernel(items, gamma=0.5)
    plain = PreferenceSVM(items, gamma=0.5, standardize=False, tol=1e-6).fit(pairs, answers)
    given = PreferenceSVM(K, kernel="precomputed", tol=1e-6).fit(pairs, answers)
    np.testing.assert_allclose(given.utility(), plain.utility(), atol=1e-4)
    np.testing.assert_allclose(given.utility(K[:4]), plain.utility(items[:4]), atol=1e-4)


@pytest.mark.parametrize("copier", COPIERS, ids=["pickle", "deep"])
def test_copies_of_an_item_model_predict_the_same(films, copier):
    items, pairs, answers, _ = films
    for model in (PreferenceSVM(items.tolist()), PreferenceSVM(30)):
        found = model.fit(pairs, answers)
        np.testing.assert_array_equal(copier(found).predict(pairs), found.predict(pairs))
        fresh = clone(found)
        assert fresh.get_params() == found.get_params()
        with pytest.raises(NotFittedError):
            fresh.predict(pairs)


@pytest.mark.parametrize(
    ("pairs", "answers", "message"),
    [
        ([[0, 1, 2]], None, r"pairs has shape \(1, 3\); wanted \(m, 2\)"),
        ([[0, 30]], None, "name item 30, .* there are 30 items"),
        ([[4, 4]], None, "compares item 4 with itself"),
        (np.empty((0, 2)), None, "no pairs to learn from"),
        ([[0, 1]], [0], "which is a tie"),
        ([[0, 1]], [2], r"answers hold 2, but with these settings an answer is -1, \+1"),
        ([[0, 1]], [1, 1], r"answers has shape \(2,\), but there are 1 pairs"),
    ],
    ids=["three", "unknown", "itself", "none", "tie", "two", "many"],
)
def test_comparisons_that_say_nothing_are_refused(films, pairs, answers, message):
    with pytest.raises(ValueError, match=message):
        PreferenceSVM(films[0]).fit(pairs, answers)


# ------------------------------------------------------------------------------ labels


def test_rankings_are_learnt(rankings):
    X, Y = rankings
    model = LabelRankingSVM(10.0, kernel="linear").fit(X[:40], Y[:40])
    assert model.score(X[40:], Y[40:]) > 0.9
    ranks = model.predict(X)
    assert ranks.shape == (60, 4)
    np.testing.assert_array_equal(np.sort(ranks, axis=1), np.tile(np.arange(1, 5), (60, 1)))
    top = model.predict_top(X)
    np.testing.assert_array_equal(ranks[np.arange(60), top], 1)


def test_linear_rankings_are_found_over_the_weights_of_the_features(rankings, monkeypatch):
    X, Y = rankings
    model = LabelRankingSVM(2.0, "linear", standardize=False).fit(X, Y)
    given = LabelRankingSVM(2.0, "precomputed", tol=1e-6).fit(X @ X.T, Y)
    np.testing.assert_allclose(model.scores(X), given.scores(X @ X.T), atol=1e-3)
    assert model.dual_objective_ == pytest.approx(given.dual_objective_, rel=1e-6)
    assert model.n_iter_ < 50 < given.n_iter_
    monkeypatch.setattr("ordinality.svm.kernel_rows._MAX_BYTES", 1000)
    rows = LabelRankingSVM(2.0, "linear", standardize=False, tol=1e-6).fit(X, Y)
    np.testing.assert_allclose(rows.scores(X), model.scores(X), atol=1e-3)
    assert rows.n_iter_ > 50


def test_two_labels_are_an_ordinary_machine_without_bias(rankings):
    X, Y = rankings
    first = Y[:, 0] < Y[:, 1]
    model = LabelRankingSVM(gamma=0.5, standardize=False, tol=1e-6).fit(X, Y[:, :2])
    t, K = np.where(first, 1.0, -1.0), rbf_kernel(X, gamma=0.5)
    P = 2 * t[:, None] * K * t  # the two labels' scores differ by twice what either has
    found = minimize(
        lambda a: (0.5 * a @ P @ a - a.sum(), P @ a - 1), np.zeros(60), jac=True,
        bounds=[(0, 1)] * 60, options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 5000},
    )  # fmt: skip
    assert model.dual_objective_ == pytest.approx(-found.fun, rel=1e-6)
    np.testing.assert_array_equal(model.predict_top(X) == 0, K @ (t * found.x) > 0)


def test_what_is_not_ranked_says_nothing(rankings):
    X, Y = rankings
    ranks = np.array([[1.0, np.nan, 2.0], [1.0, 1.0, np.nan]])
    edges = read_edges(ranks, "ranking", np.arange(3), 2)
    assert [edges.at.tolist(), edges.better.tolist(), edges.worse.tolist()] == [[0], [0], [2]]
    partial = Y.copy()
    partial[::2, 1] = np.nan
    assert LabelRankingSVM(10.0, kernel="linear").fit(X, partial).score(X, Y) > 0.85


def test_class_labels_are_preferred_to_all_others(rankings):
    X, Y = rankings
    names = np.array(["north", "east", "south", "west"])
    y = names[Y.argmin(axis=1)]
    model = LabelRankingSVM(10.0).fit(X, y)
    assert model.classes_.tolist() == sorted(names)
    assert np.mean(model.predict_top(X) == y) > 0.9
    assert model.score(X, y) > 0.9
    stars = np.where(y[:, None] == model.classes_, 1, 2)
    same = LabelRankingSVM(10.0).fit(X, stars)
    np.testing.assert_array_equal(same.scores(X), model.scores(X))


def test_weights_of_rows_multiply_c(rankings):
    X, Y = rankings
    twice = LabelRankingSVM(1.0, gamma=0.5).fit(X, Y, sample_weight=np.full(60, 2.0))
    dear = LabelRankingSVM(2.0, gamma=0.5).fit(X, Y)
    np.testing.assert_allclose(twice.scores(X), dear.scores(X), atol=1e-2)
    kept = np.arange(60) % 2 == 0
    part = LabelRankingSVM().fit(X, Y, sample_weight=kept.astype(float))
    np.testing.assert_allclose(
        part.scores(X), LabelRankingSVM().fit(X[kept], Y[kept]).scores(X), rtol=1e-9
    )
    K = rbf_kernel(X)
    given = LabelRankingSVM(kernel="precomputed").fit(K, Y, sample_weight=kept.astype(float))
    assert given.scores(K).shape == (60, 4)


@pytest.mark.parametrize("copier", COPIERS, ids=["pickle", "deep"])
def test_copies_of_a_ranking_model_predict_the_same(rankings, copier):
    X, Y = rankings
    found = LabelRankingSVM().fit(X, Y)
    np.testing.assert_array_equal(copier(found).scores(X), found.scores(X))
    assert clone(found).get_params() == found.get_params()


@pytest.mark.parametrize(
    ("Y", "message"),
    [
        (np.ones((60, 4)), "Y states no preference"),
        (np.ones((60, 1)), "fewer than two labels"),
        (np.ones((59, 4)), "Y has 59 rows and X has 60"),
        (np.full((60, 2), "first"), "not numbers; pass ranks"),
    ],
    ids=["ties", "one", "short", "text"],
)
def test_rankings_that_say_nothing_are_refused(rankings, Y, message):
    with pytest.raises(ValueError, match=message):
        LabelRankingSVM().fit(rankings[0], Y)


def test_a_ranking_without_preferences_cannot_be_scored(rankings):
    X, Y = rankings
    with pytest.raises(ValueError, match="nothing to score"):
        LabelRankingSVM().fit(X, Y).score(X, np.ones_like(Y))
