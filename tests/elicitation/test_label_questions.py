"""Which two labels to compare next: values by brute force, and plainly best choices."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from ordinality import LabelRankingGP, OrdinalGP
from ordinality.elicitation import next_label_pair
from ordinality.elicitation.gains import exact_gain
from ordinality.elicitation.label_questions import LabelPool, likelihood_of
from ordinality.kernels import Gaussian, Linear

STRATEGIES = ("order", "prediction", "information", "uncertainty")
LABELS = ["ale", "milk", "tea"]
MODELS = {
    "exact": {},
    "ties": {"ties": True},
    "logit": {"link": "logit"},
    "ep": {"inference": "ep"},
    "inducing": {"inducing": 10},
}


def drawn(n=20, L=3, seed=0):
    """Rows, and which of two labels is the better for some of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    f = X @ rng.normal(size=(2, L)) + 0.2 * rng.normal(size=(n, L))
    edges = []
    for i in range(n):
        a, b = rng.choice(L, 2, replace=False)
        edges.append([(LABELS[a], LABELS[b]) if f[i, a] > f[i, b] else (LABELS[b], LABELS[a])])
    return X, edges, 1 + np.argsort(np.argsort(-f, axis=1), axis=1)


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    X, edges, ranks = drawn()
    if request.param == "ties":
        ranks = np.minimum(ranks, 2)  # the last two are as good as each other
        return LabelRankingGP(labels=LABELS, ties=True, optimizer=None).fit(X, ranks)
    options = MODELS[request.param]
    return LabelRankingGP(graph="edges", labels=LABELS, optimizer=None, **options).fit(X, edges)


def pool_of(model, X):
    return LabelPool(*model.posterior(X), np.arange(len(X)), likelihood_of(model))


def each_question(model, X):
    """Of all questions, rows one after another: contrasts of the utilities."""
    L = len(model.classes_)
    a, b = np.triu_indices(L, 1)
    labels = np.eye(L)[a] - np.eye(L)[b]
    return np.kron(np.eye(len(X)), labels)


def test_answers_are_those_that_the_model_predicts(model):
    X = drawn(5, seed=1)[0]
    pool, (a, b) = pool_of(model, X), np.triu_indices(3, 1)
    proba = model.predict_pairs_proba(X)
    m, v = pool.seen()
    found = pool.likelihood.proba(m.ravel(), v.ravel())
    np.testing.assert_allclose(found[:, -1], proba[:, a, b].ravel(), rtol=0, atol=1e-10)
    np.testing.assert_allclose(found[:, 0], proba[:, b, a].ravel(), rtol=0, atol=1e-10)
    told = exact_gain(likelihood_of(model), m.ravel(), v.ravel())
    np.testing.assert_array_equal(pool.information().ravel(), told)


def test_a_value_is_a_sum_over_all_other_questions(model):
    X = drawn(4, seed=1)[0]
    pool, A = pool_of(model, X), each_question(model, X)
    C = A @ pool.cov.reshape(12, 12) @ A.T
    F = pool.fisher().ravel()
    wanted = F * (C**2 @ F) / (2.0 * np.log(2.0) * len(F))
    np.testing.assert_allclose(pool.prediction().ravel(), wanted, rtol=1e-8)
    mean, v = A @ pool.mean.ravel(), np.diagonal(C)
    z = mean / np.sqrt(v)
    sure = norm.pdf(z) ** 2 / (v * norm.cdf(z) * norm.cdf(-z))
    wanted = F * (C**2 @ sure) / (2.0 * np.log(2.0) * len(F))
    np.testing.assert_allclose(pool.order().ravel(), wanted, rtol=1e-6)
    half = LabelPool(pool.mean, pool.cov, np.array([1, 3]), pool.likelihood)
    wanted = F * (C[:, [3, 4, 5, 9, 10, 11]] ** 2 @ sure[[3, 4, 5, 9, 10, 11]])
    np.testing.assert_allclose(
        half.order().ravel(), wanted / (12.0 * np.log(2.0)), rtol=1e-6
    )  # fmt: skip


def test_to_second_order_it_is_the_information_about_an_order():
    # Two labels at two rows: the answer at the first, the true order at the second.
    likelihood = likelihood_of(LabelRankingGP(optimizer=None).fit([[0.0], [1.0]], [[1, 2]] * 2))
    c = likelihood.noise
    for r in (0.02, 0.1):
        cov = np.zeros((2, 2, 2, 2))
        cov[0, :, 0], cov[1, :, 1] = np.eye(2), np.eye(2)
        cov[0, :, 1] = cov[1, :, 0] = r * np.eye(2)
        mean = np.array([[0.6, 0.0], [0.0, 0.4]])
        pool = LabelPool(mean, cov, np.array([1]), likelihood)
        seen = np.array([[2.0 + c**2, 2.0 * r], [2.0 * r, 2.0]])
        both = multivariate_normal([0.0, 0.0], seen).cdf([0.6, -0.4])
        p, q = norm.cdf(0.6 / np.sqrt(2.0 + c**2)), norm.cdf(-0.4 / np.sqrt(2.0))
        table = np.array([[both, p - both], [q - both, 1.0 - p - q + both]])
        told = np.sum(table * np.log2(table / np.outer([p, 1.0 - p], [q, 1.0 - q])))
        assert pool.order()[0, 0] == pytest.approx(told, rel=max(r, 0.05))


def test_a_question_leaves_the_covariance_that_its_expected_site_leaves():
    X, edges, _ = drawn(8)
    model = LabelRankingGP(
        Gaussian(1.0), graph="edges", labels=LABELS, standardize=False, optimizer=None
    ).fit(X, edges)
    new = drawn(4, seed=1)[0]
    pool, design = pool_of(model, new), model.fit_.problem.design
    rows = np.vstack([model.fit_.problem.X, new])
    K = np.kron(model.kernel_(rows), np.eye(3))  # utilities row by row
    A = np.zeros((len(design) + 1, 3 * len(rows)))
    some = np.arange(len(design))
    A[some, 3 * design.at + design.first] += 1.0
    A[some, 3 * design.at + design.second] -= 1.0
    A[-1, 3 * (len(rows) - 4 + 2) + np.array([0, 2])] = 1.0, -1.0  # row 2, labels 0 and 2
    v, F = pool.seen()[1][2, 1], pool.fisher()[2, 1]
    tau = np.append(model.fit_.best.approximation.tau, F / (1.0 - F * v))
    cov = K - K @ A.T @ np.linalg.solve(A @ K @ A.T + np.diag(1.0 / tau), A @ K)
    found = pool.after(2, 1).cov.reshape(12, 12)
    np.testing.assert_allclose(found, cov[-12:, -12:], rtol=0, atol=1e-9)


# Choices


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_label_of_which_nothing_is_known_is_asked_about(strategy):
    X = np.linspace(-1.0, 1.0, 12)[:, None]
    answers = [[("tea", "milk")] if x > 0 else [("milk", "tea")] for x in X[:, 0]]
    model = LabelRankingGP(
        Gaussian(1.0), graph="edges", labels=LABELS, standardize=False, optimizer=None
    ).fit(X, answers)
    [(_, a, b)] = next_label_pair(model, X, strategy, candidates=[0, 1, 10, 11])
    assert "ale" in (a, b)


def test_information_asks_about_an_outlier_and_the_default_about_one_of_many():
    X = np.linspace(0.0, 1.0, 6)[:, None]
    model = LabelRankingGP(
        Gaussian(1.0), graph="edges", labels=LABELS, standardize=False, optimizer=None
    ).fit(X, [[("tea", "milk"), ("milk", "ale")]] * 6)
    pool = np.concatenate([np.linspace(2.5, 3.5, 30), [30.0]])[:, None]
    assert next_label_pair(model, pool, "information")[0][0] == 30
    for strategy in ("order", "prediction"):
        assert next_label_pair(model, pool, strategy)[0][0] < 30
    assert next_label_pair(model, pool)[0][0] < 30


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_batch_holds_different_questions_that_may_be_asked(model, strategy):
    X = drawn(10, seed=1)[0]
    exclude = [(0, "tea", "ale"), (1, "ale", "tea"), (2, "milk", "tea")]
    every = next_label_pair(
        model, X, strategy, batch=9, candidates=[0, 1, 2, 3], exclude=exclude
    )
    asked = {(i, frozenset(pair)) for i, *pair in every}
    barred = {(i, frozenset(pair)) for i, *pair in exclude}
    assert len(asked) == 9
    assert not asked & barred
    assert {i for i, _ in asked} == {0, 1, 2, 3}
    assert all(type(i) is int and a in LABELS and b in LABELS for i, a, b in every)


def test_a_batch_does_not_ask_about_copies_of_a_row():
    X = np.linspace(0.0, 1.0, 6)[:, None]
    model = LabelRankingGP(
        Gaussian(1.0), graph="edges", labels=["ale", "tea"], standardize=False, optimizer=None
    ).fit(X, [[("tea", "ale")]] * 6)
    pool = np.repeat([[10.0], [20.0]], 5, axis=0)
    for strategy in ("order", "prediction", "information"):
        batch = next_label_pair(model, pool, strategy, batch=2)
        assert sorted(i // 5 for i, _, _ in batch) == [0, 1]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_of_a_large_pool_a_good_question_is_chosen(model, strategy):
    X = drawn(700, seed=1)[0]
    chosen = next_label_pair(model, X, strategy, candidates=range(300, 700), random_state=0)
    assert chosen == next_label_pair(
        model, X, strategy, candidates=range(300, 700), random_state=0
    )
    [(row, a, b)] = chosen
    assert row >= 300
    whole = pool_of(model, X)
    value = getattr(whole, strategy)()
    pair = [(0, 1), (0, 2), (1, 2)].index((LABELS.index(a), LABELS.index(b)))
    # A candidate in three is looked at; of a smooth function, one of them is near the best.
    assert value[row, pair] > 0.85 * value[300:].max()


def test_frames_and_numbers_of_labels_are_taken():
    pd = pytest.importorskip("pandas")
    X, _, ranks = drawn()
    plain = LabelRankingGP(optimizer=None).fit(X, ranks)
    wanted = next_label_pair(plain, X.tolist(), batch=2)
    frame = pd.DataFrame(X, columns=["a", "b"], index=np.arange(20) + 7)
    model = LabelRankingGP(optimizer=None).fit(frame, ranks)
    assert next_label_pair(model, frame, batch=2) == wanted
    assert all(type(a) is int for question in wanted for a in question)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_row_at_which_all_labels_are_equal_is_no_question(strategy):
    # Without features a linear utility is zero, and its answers are noise.
    X = np.vstack([np.zeros(2), drawn(12)[0]])
    model = LabelRankingGP(Linear(1.0), standardize=False, optimizer=None, noise=0.1)
    model = model.fit(X[1:7], drawn(12)[2][:6])
    value = getattr(pool_of(model, X), strategy)()
    assert np.all(np.isfinite(value))
    if strategy != "uncertainty":
        assert value[0].max() < 1e-9 * value.max()


# Refusals


def test_what_cannot_be_asked_is_refused(model):
    X = drawn(4, seed=1)[0]
    with pytest.raises(ValueError, match="batch is 13, but there are 12 questions"):
        next_label_pair(model, X, batch=13)
    every = [(i, a, b) for i in range(4) for a in LABELS for b in LABELS]
    with pytest.raises(ValueError, match="there are 0 questions to choose from"):
        next_label_pair(model, X, exclude=every)
    with pytest.raises(ValueError, match="strategy is 'best'; it must be one of"):
        next_label_pair(model, X, "best")
    for wrong in ((4, "tea", "ale"), (0, "tea", "gin"), (0, "tea"), 3):
        with pytest.raises(ValueError, match="wanted .row, label, label., a row from 0 to 3"):
            next_label_pair(model, X, exclude=[wrong])
    with pytest.raises(ValueError, match="X has 3 features, but LabelRankingGP is expecting 2"):
        next_label_pair(model, np.zeros((4, 3)))


def test_other_models_are_refused():
    X, *_ = drawn()
    with pytest.raises(TypeError, match="OrdinalGP, which has no posterior of utilities"):
        next_label_pair(OrdinalGP(optimizer=None).fit(X, np.arange(20) % 2), X)
    with pytest.raises(ValueError, match="not fitted yet"):
        next_label_pair(LabelRankingGP(), X)
