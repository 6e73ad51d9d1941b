"""Rankings, classes, scales, hierarchies and lists of preferences between labels."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import cross_val_score

from ordinality import LabelRankingGP, LabelRankingSVM
from ordinality.estimators.label_graphs import read_edges
from ordinality.gp.criteria import ENGINES
from ordinality.gp.design import Direct
from ordinality.gp.likelihoods import Ordinal
from ordinality.gp.posterior.choose import prior_of
from ordinality.kernels import Gaussian, Linear

nan = np.nan
COPIERS = [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy]


@pytest.fixture(scope="module")
def table():
    """Sixty rows with three features, and their ranking of four labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 2.0]
    Z = (X - X.mean(0)) / X.std(0)
    f = Z @ rng.normal(size=(3, 4)) + np.sin(2 * Z[:, :1]) + 0.2 * rng.normal(size=(60, 4))
    return X, 1.0 + np.argsort(np.argsort(-f, axis=1), axis=1)


@pytest.fixture(scope="module")
def fitted(table):
    X, Y = table
    return LabelRankingGP().fit(X[:30], Y[:30])


def edges(Y, graph, labels, **options):
    """Preferences as a set of (input, better, worse), and of ties."""
    found = read_edges(Y, graph, np.array(labels), len(Y), **options)
    triples = list(
        zip(found.at.tolist(), found.better.tolist(), found.worse.tolist(), strict=True)
    )
    tied = {t for t, is_tie in zip(triples, found.tied, strict=True) if is_tie}
    assert len(set(triples)) == len(triples)
    return set(triples) - tied, tied


# ------------------------------------------------------------------------------ graphs


def test_a_ranking_prefers_every_label_to_all_behind_it():
    ahead, tied = edges([[2, 1, nan, 2]], "ranking", range(4))
    assert ahead == {(0, 1, 0), (0, 1, 3)}
    assert not tied
    assert edges([[2, 1, nan, 2]], "ranking", range(4), ties=True)[1] == {(0, 0, 3)}


def test_layers_prefer_every_label_to_those_of_the_next_layer():
    ahead, _ = edges([[1, 2, 2, 3, nan]], "layers", range(5))
    assert ahead == {(0, 0, 1), (0, 0, 2), (0, 1, 3), (0, 2, 3)}
    consecutive, _ = edges([[3, 1, 4, 2]], "layers", range(4))
    assert consecutive == {(0, 1, 3), (0, 3, 0), (0, 0, 2)}
    assert edges([[10, 70]], "layers", range(2)) == ({(0, 0, 1)}, set())


def test_a_class_is_a_star():
    ahead, _ = edges(["b", "c"], "multiclass", ["a", "b", "c"])
    assert ahead == {(0, 1, 0), (0, 1, 2), (1, 2, 0), (1, 2, 1)}


def test_a_level_is_two_chains():
    # Figure 1 (b) of the paper: 3 is the level, of 5.
    ahead, _ = edges([3], "ordinal", [1, 2, 3, 4, 5])
    assert ahead == {(0, 2, 1), (0, 1, 0), (0, 2, 3), (0, 3, 4)}


def test_edges_are_taken_as_they_are():
    ahead, _ = edges([[("b", "a")], [], [("a", "c"), ("b", "c")]], "edges", ["a", "b", "c"])
    assert ahead == {(0, 1, 0), (2, 0, 2), (2, 1, 2)}


# ------------------------------------------------------------------------------ learning


@pytest.mark.parametrize("inference", ENGINES)
def test_rankings_are_learnt(table, inference):
    X, Y = table
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LabelRankingGP(inference=inference).fit(X[:30], Y[:30])
    assert model.converged_
    assert model.score(X[30:], Y[30:]) > 0.8
    ranks = model.predict(X)
    np.testing.assert_array_equal(np.sort(ranks, axis=1), np.tile(np.arange(1, 5), (60, 1)))
    np.testing.assert_array_equal(ranks[np.arange(60), model.predict_top(X)], 1)
    np.testing.assert_allclose(model.scores(X).sum(axis=1), 0.0, atol=1e-9)


@pytest.mark.parametrize("inference", ENGINES)
@pytest.mark.parametrize("ties", [False, True])
def test_the_gradient_of_the_evidence_agrees_with_differences(table, inference, ties):
    X, Y = table
    tol = 1e-16 if inference == "laplace" else 1e-10
    model = LabelRankingGP(
        2.0 * Gaussian(np.ones(3)), inference=inference, ties=ties, optimizer=None, tol=tol
    ).fit(X[:8], np.minimum(Y[:8], 3))
    theta = model.fit_.best.theta
    value, gradient = model.log_evidence(eval_gradient=True)
    assert value == pytest.approx(model.log_evidence_, abs=1e-9)
    assert len(gradient) == 5 + ties
    h = 1e-4  # truncation near 1e-8, rounding near 1e-9
    for i, step in enumerate(h * np.eye(len(theta))):
        slope = (model.log_evidence(theta + step) - model.log_evidence(theta - step)) / (2 * h)
        assert gradient[i] == pytest.approx(slope, abs=1e-5)


@pytest.mark.parametrize("inference", ENGINES)
def test_two_classes_are_binary_classification(table, inference):
    X, Y = table
    y, tol = (Y[:25, 0] < Y[:25, 1]).astype(int), 1e-12
    kernel = Gaussian(1.3)
    model = LabelRankingGP(
        kernel, graph="multiclass", inference=inference, optimizer=None, noise=0.5, tol=tol
    ).fit(X[:25], y)
    # The difference of two functions has twice the variance, and twice that of the noise.
    Z = (X[:25] - X[:25].mean(0)) / X[:25].std(0)
    binary = Ordinal(np.zeros(1), np.sqrt(2.0) * 0.5)
    one = ENGINES[inference](prior_of(Direct(), 2.0 * kernel(Z)), binary, y, tol=tol)
    assert model.log_evidence_ == pytest.approx(one.log_evidence, abs=1e-9)
    scores = model.scores(X[:25])
    np.testing.assert_allclose(scores[:, 1] - scores[:, 0], one.mean, rtol=0, atol=1e-8)
    proba = model.predict_pairs_proba(X[:25])[:, 1, 0]
    width = np.sqrt(one.var + binary.noise**2)
    np.testing.assert_allclose(proba, norm.cdf(one.mean / width), rtol=0, atol=1e-8)


def test_relabelling_permutes_what_is_predicted(table, fitted):
    X, Y = table
    order = [2, 0, 3, 1]
    other = LabelRankingGP().fit(X[:30], Y[:30][:, order])
    assert other.log_evidence_ == pytest.approx(fitted.log_evidence_, abs=1e-6)
    np.testing.assert_allclose(other.scores(X), fitted.scores(X)[:, order], atol=1e-5)
    np.testing.assert_allclose(
        other.predict_pairs_proba(X),
        fitted.predict_pairs_proba(X)[:, order][:, :, order],
        atol=1e-5,
    )


def test_probabilities_of_two_ways_round_add_to_one(table, fitted):
    X, Y = table
    proba = fitted.predict_pairs_proba(X)
    np.testing.assert_allclose(proba + proba.transpose(0, 2, 1), 1.0, atol=1e-12)
    np.testing.assert_allclose(np.diagonal(proba, axis1=1, axis2=2), 0.5)
    scores = fitted.scores(X)
    np.testing.assert_array_equal(proba > 0.5, scores[:, :, None] > scores[:, None, :])
    ahead = Y[30:, :, None] < Y[30:, None, :]
    assert np.mean(np.log(proba[30:][ahead])) > -0.5  # ignorance: -0.69


def test_the_probability_to_be_the_best_is_learnt(table, fitted):
    X, Y = table
    proba = fitted.predict_top_proba(X)
    assert proba.shape == (60, 4)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    best = np.argmin(Y, axis=1)
    assert np.mean(np.log(proba[np.arange(30, 60), best[30:]])) > -0.7  # ignorance: -1.39
    # Nobody is preferred to all others more often than to one of them.
    pairs = fitted.predict_pairs_proba(X)
    pairs[:, np.arange(4), np.arange(4)] = 1.0
    assert np.all(proba < pairs.min(axis=2) + 1e-3)
    # A row means the same in any company.
    np.testing.assert_allclose(fitted.predict_top_proba(X[7:8]), proba[7:8], rtol=0, atol=1e-12)


@pytest.mark.parametrize("link", ["probit", "logit"])
def test_the_best_of_two_is_the_preferred_one(table, link):
    X, Y = table
    model = LabelRankingGP(link=link).fit(X[:30], Y[:30, :2])
    np.testing.assert_allclose(
        model.predict_top_proba(X)[:, 0],
        model.predict_pairs_proba(X)[:, 0, 1],
        rtol=0,
        atol=1e-12 if link == "probit" else 1e-3,
    )


def test_far_away_a_stationary_kernel_knows_nothing(table):
    fitted = LabelRankingGP("gaussian").fit(*table)
    np.testing.assert_allclose(fitted.predict_pairs_proba([[1e4, 1e4, 1e4]]), 0.5, atol=1e-6)
    np.testing.assert_allclose(fitted.predict_top_proba([[1e4, 1e4, 1e4]]), 0.25, atol=1e-3)


def test_the_two_forms_give_one_model(table, monkeypatch):
    X, Y = table
    models = []
    for tall in (0.0, np.inf):
        monkeypatch.setattr("ordinality.gp.posterior.contrasts._TALL", tall)
        models.append(LabelRankingGP(graph="layers", optimizer=None).fit(X[:20], Y[:20]))
    one, other = (model.predict_pairs_proba(X) for model in models)
    np.testing.assert_allclose(one, other, atol=1e-8)


def test_partial_rankings_say_what_their_edges_say(table):
    X, Y = table
    partial = Y[:30].copy()
    partial[np.arange(30), np.arange(30) % 4] = nan
    listed = [
        [(a, b) for a in range(4) for b in range(4) if row[a] < row[b]] for row in partial
    ]
    one = LabelRankingGP().fit(X[:30], partial)
    other = LabelRankingGP(graph="edges").fit(X[:30], listed)
    np.testing.assert_array_equal(one.scores(X), other.scores(X))
    assert one.score(X[:30], partial) == other.score(X[:30], listed)
    assert one.score(X[30:], Y[30:]) > 0.75


def test_equal_ranks_say_nothing_or_a_tie(table):
    X, Y = table
    tied = np.minimum(Y, 3)  # the last two are equal
    plain = LabelRankingGP().fit(X[:30], tied[:30])
    width = LabelRankingGP(ties=True).fit(X[:30], tied[:30])
    assert plain.tie_width_ == 0.0 < width.tie_width_
    proba = width.predict_pairs_proba(X)
    tie = 1.0 - proba - proba.transpose(0, 2, 1)
    assert np.all(tie > 0)
    first, last = np.argsort(Y[:30], axis=1)[:, [0, 3]].T
    third, i = np.argsort(Y[:30], axis=1)[:, 2], np.arange(30)
    assert tie[i, third, last].mean() > 1.5 * tie[i, first, last].mean()


def test_rows_that_say_nothing_and_rows_of_weight_zero_are_as_if_not_there(table):
    X, Y = table
    Y = Y[:30].copy()
    weight = np.ones(30)
    weight[[3, 8]] = 0.0
    Y[[5, 6], 1:] = nan
    model = LabelRankingGP(optimizer=None, standardize=False).fit(
        X[:30], Y, sample_weight=weight
    )
    kept = np.setdiff1d(np.arange(30), [3, 5, 6, 8])
    few = LabelRankingGP(optimizer=None, standardize=False).fit(X[kept], Y[kept])
    np.testing.assert_allclose(model.scores(X), few.scores(X), atol=1e-12)


def test_a_weight_counts_as_copies_of_a_row(table):
    X, Y = table
    weight = np.arange(20) % 3
    options = {"optimizer": None, "inference": "ep", "tol": 1e-9}
    weighted = LabelRankingGP(**options).fit(X[:20], Y[:20], sample_weight=weight)
    copied = LabelRankingGP(**options).fit(
        np.repeat(X[:20], weight, 0), np.repeat(Y[:20], weight, 0)
    )
    assert weighted.log_evidence_ == pytest.approx(copied.log_evidence_, abs=1e-6)
    np.testing.assert_allclose(weighted.scores(X), copied.scores(X), atol=1e-6)


# ------------------------------------------------------------------------------ classes


def test_classes_are_predicted_by_name(table):
    X, Y = table
    y = np.array(["red", "green", "blue", "white"])[np.argmin(Y, axis=1)]
    model = LabelRankingGP(graph="multiclass").fit(X[:40], y[:40])
    assert model.classes_.tolist() == ["blue", "green", "red", "white"]
    assert np.mean(model.predict_top(X[40:]) == y[40:]) > 0.6
    ranking = LabelRankingGP().fit(X[:40], y[:40])  # as LabelRankingSVM reads them
    np.testing.assert_array_equal(ranking.scores(X), model.scores(X))
    assert model.predict(X).shape == LabelRankingSVM().fit(X, y).predict(X).shape


def test_levels_of_a_scale_are_learnt_in_their_order(table):
    X, _ = table
    y = np.digitize((X[:, 0] - X[:, 0].mean()) / X[:, 0].std(), [-0.5, 0.5])
    names = np.array(["low", "mid", "high"])
    model = LabelRankingGP(graph="ordinal", labels=names).fit(X[:40], names[y[:40]])
    assert model.classes_.tolist() == ["low", "mid", "high"]
    assert np.mean(model.predict_top(X[40:]) == names[y[40:]]) > 0.7
    numbers = LabelRankingGP(graph="ordinal").fit(X[:40], y[:40])
    np.testing.assert_array_equal(numbers.scores(X), model.scores(X))


def test_a_label_that_never_wins_is_still_a_label(table):
    X, Y = table
    y = np.argmin(Y[:20, :2], axis=1)
    model = LabelRankingGP(graph="multiclass", labels=[0, 1, 2]).fit(X[:20], y)
    assert model.scores(X).shape == (60, 3)
    assert model.scores(X)[:20, 2].mean() < 0


# ------------------------------------------------------------------------------ manners


def test_a_precomputed_kernel_is_the_kernel(table):
    X, Y = table
    Z = (X - X[:30].mean(0)) / X[:30].std(0)
    kernel = Gaussian(1.5)
    plain = LabelRankingGP(kernel, optimizer=None).fit(X[:30], Y[:30])
    given = LabelRankingGP("precomputed", optimizer=None).fit(kernel(Z[:30]), Y[:30])
    np.testing.assert_allclose(
        given.scores(kernel(Z, Z[:30])), plain.scores(X), rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("copier", COPIERS, ids=["pickle", "deep"])
def test_copies_predict_the_same(table, fitted, copier):
    copied = copier(fitted)
    np.testing.assert_array_equal(copied.scores(table[0]), fitted.scores(table[0]))
    assert copied.log_evidence() == fitted.log_evidence()


def test_a_clone_has_the_parameters_and_nothing_learnt(table):
    kernel = Linear()
    model = LabelRankingGP(kernel, labels=["a", "b", "c", "d"], noise=0.5).fit(*table)
    assert model.kernel is kernel
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert repr(fresh).startswith("LabelRankingGP(kernel=Linear(")
    with pytest.raises(NotFittedError):
        fresh.predict(table[0])


def test_cross_validation_works_on_rankings_as_they_are(table):
    assert cross_val_score(LabelRankingGP(), *table, cv=3).mean() > 0.8


def test_more_rows_than_are_searched_at_once_are_learnt_coarse_to_fine():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(110, 2))
    Y = np.argsort(np.argsort(-X @ rng.normal(size=(2, 6)), axis=1), axis=1)
    model = LabelRankingGP().fit(X, Y)
    assert len(model.fit_.path) > 1
    assert model.score(X, Y) > 0.95


def test_a_search_that_was_cut_says_so(table):
    with pytest.warns(ConvergenceWarning, match="after 2 evaluations"):
        LabelRankingGP(max_evaluations=2).fit(table[0][:15], table[1][:15])


@pytest.mark.parametrize(
    ("options", "Y", "message"),
    [
        ({}, [[1, 1], [nan, 2]], "Y states no preference"),
        ({"ties": True}, [[1, 1], [nan, 2]], "Y states no preference"),
        ({}, [[1], [1]], "fewer than two labels"),
        ({}, [[1, 2]], "Y has 1 rows and X has 2"),
        ({}, [["best", "worst"]] * 2, "not numbers; pass ranks"),
        ({"labels": ["a"]}, [[1, 2]] * 2, "fewer than two labels"),
        ({"labels": ["a", "b", "c"]}, [[1, 2]] * 2, "Y has 2 columns, but there are 3"),
        (
            {"labels": ["a", "a"]},
            [[1, 2]] * 2,
            "not a list of different labels; name each label once",
        ),
        ({"graph": "star"}, [0, 1], "graph='star' is not known; choose one of"),
        ({"graph": "multiclass"}, [[1, 2]] * 2, "graph='multiclass' takes a label for each"),
        ({"graph": "layers"}, [0, 1], "graph='layers' takes ranks"),
        ({"graph": "multiclass", "labels": [0, 1]}, [0, 7], "Y holds 7, which is not one of"),
        ({"graph": "ordinal"}, ["low", "high"], "text without an order; state it with"),
        ({"graph": "edges"}, [[(0, 1)], [(2, 2)]], r"row 1 of Y holds \(2, 2\); an edge is"),
        ({"graph": "edges"}, [[(0, 1)], [(2, 1, 0)]], "row 1 of Y holds"),
        ({"graph": "edges"}, [0, 1], "row 0 of Y holds 0"),
        ({"graph": "edges"}, [[], []], "fewer than two labels"),
        ({"noise": 0}, [[1, 2]] * 2, "noise=0 must be a number above zero"),
        ({"inference": "mcmc"}, [[1, 2]] * 2, "inference='mcmc' is not known"),
    ],
)
def test_what_cannot_be_learnt_from_is_refused(options, Y, message):
    with pytest.raises(ValueError, match=message):
        LabelRankingGP(**options).fit([[0.0], [1.0]], Y)


def test_labels_that_were_never_learnt_cannot_be_scored(table):
    X, Y = table
    model = LabelRankingGP(optimizer=None).fit(X, Y)
    with pytest.raises(ValueError, match="Y has 3 columns, but there are 4 labels"):
        model.score(X, Y[:, :3])
    with pytest.raises(ValueError, match="nothing to score; pass rows"):
        model.score(X, np.ones((60, 4)))
    with pytest.raises(ValueError, match="expecting 3 features"):
        model.scores(X[:, :2])


@pytest.mark.parametrize("inference", ["laplace", "ep"])
def test_very_large_weights_give_a_model(inference):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    for L in (3, 3, 4, 3, 4):  # the last of these draws made sweeps of EP end in NaN
        Y = np.array([rng.permutation(L) + 1 for _ in range(12)])
    model = LabelRankingGP(inference=inference, max_evaluations=10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, Y, sample_weight=np.full(12, 1e9))
    proba = model.predict_top_proba(np.concatenate([X, 3 * X]))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)


# ------------------------------------------------------------------------------ posterior


@pytest.mark.parametrize("model", ["exact", "inducing", "ties"])
def test_the_posterior_of_labels_predicts_pairs(table, model):
    X, Y = table
    options = {"exact": {}, "inducing": {"inducing": 20}, "ties": {"ties": True}}[model]
    fitted = LabelRankingGP(optimizer=None, **options).fit(X[:30], np.minimum(Y[:30], 3))
    mean, joint = fitted.posterior(X[30:36])
    alone, covariance = fitted.posterior(X[30:36], joint=False)
    np.testing.assert_allclose(alone, mean, rtol=0, atol=1e-12)
    every = np.arange(6)
    np.testing.assert_allclose(joint[every, :, every], covariance, rtol=0, atol=1e-10)
    own = np.diagonal(covariance, axis1=1, axis2=2)
    variance = own[:, :, None] + own[:, None, :] - 2.0 * covariance
    upper = fitted.tie_width_ if model == "ties" else 0.0
    gap = mean[:, :, None] - mean[:, None, :]
    proba = norm.cdf((gap - upper) / np.sqrt(2.0 * fitted.noise_**2 + variance))
    a, b = np.triu_indices(4, 1)
    found = fitted.predict_pairs_proba(X[30:36])
    np.testing.assert_allclose(found[:, a, b], proba[:, a, b], rtol=0, atol=1e-9)


def test_the_joint_posterior_of_labels_needs_a_kernel_over_features():
    K = np.eye(3)
    model = LabelRankingGP("precomputed", optimizer=None).fit(K, [[1, 2], [2, 1], [1, 2]])
    assert model.posterior(K, joint=False)[1].shape == (3, 2, 2)
    with pytest.raises(ValueError, match="joint posterior needs the prior covariances"):
        model.posterior(K)
