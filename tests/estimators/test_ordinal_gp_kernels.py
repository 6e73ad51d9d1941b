"""What a kernel makes of the features: relevance, units, sums, foreign and given kernels."""

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as theirs
from sklearn.model_selection import cross_val_score

from ordinality import OrdinalGP
from ordinality.kernels import (
    Correlation,
    Foreign,
    Gaussian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    Spline,
)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    f = X[:, 0] + 0.7 * np.sin(2 * X[:, 1]) + 0.4 * rng.normal(size=60)
    return X, np.digitize(f, np.quantile(f, [0.25, 0.5, 0.75]))


# ------------------------------------------------------------------------------ features


@pytest.mark.parametrize("kernel", [Gaussian, Linear, Matern])
def test_the_relevance_of_each_feature_tells_which_matter(kernel):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 6))
    f = 1.5 * X[:, 1] - X[:, 4] + 0.2 * rng.normal(size=150)
    model = OrdinalGP(
        kernel(np.ones(6)), inference="laplace", hyperprior=None, max_evaluations=300
    )
    model.fit(X, np.digitize(f, [-1.0, 0.0, 1.0]))
    assert model.relevance_.shape == (6,)
    relevant, rest = model.relevance_[[1, 4]], model.relevance_[[0, 2, 3, 5]]
    assert relevant.min() > 5 * rest.max()
    assert relevant[0] > relevant[1]


def test_a_scale_for_each_feature_under_the_weak_prior_ranks_them_alike():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 6))
    f = 1.5 * X[:, 1] - X[:, 4] + 0.2 * rng.normal(size=150)
    model = OrdinalGP(Gaussian(np.full(6, np.sqrt(6)))).fit(X, np.digitize(f, [-1.0, 0, 1]))
    assert set(np.argsort(model.relevance_)[-2:]) == {1, 4}
    assert model.length_scale_[[1, 4]].max() < model.length_scale_[[0, 2, 3, 5]].min()


def test_the_units_of_a_feature_change_its_length_scale_and_nothing_else(data):
    X, y = data
    kernel = Gaussian(np.ones(2))
    metres = OrdinalGP(kernel).fit(X, y)
    millimetres = OrdinalGP(kernel).fit(X * [1000.0, 1.0] + [50.0, 0.0], y)
    np.testing.assert_allclose(
        millimetres.length_scale_, metres.length_scale_ * [1000.0, 1.0], rtol=1e-6
    )
    np.testing.assert_allclose(millimetres.relevance_, metres.relevance_, rtol=1e-6)
    np.testing.assert_allclose(
        millimetres.predict_proba(X * [1000.0, 1.0] + [50.0, 0.0]),
        metres.predict_proba(X),
        atol=1e-6,
    )


def test_features_stay_as_they_are_when_asked_to(data):
    X, y = data
    kernel = Gaussian([1.0, 2.0])
    raw = OrdinalGP(kernel, standardize=False, optimizer=None).fit(3 * X + 1, y)
    assert raw.length_scale_ == pytest.approx([1.0, 2.0])
    sorted_rows = (3 * X + 1)[np.argsort(X[:, 0])]  # the order of learning
    np.testing.assert_array_equal(raw.kernel_(raw.fit_.problem.X), kernel(sorted_rows))


def test_a_constant_feature_has_no_influence(data):
    X, y = data
    wide = np.column_stack([X, np.full(len(X), 1e6 + 0.1)])
    plain, padded = (OrdinalGP(Gaussian(1.5), inference="laplace").fit(Z, y) for Z in (X, wide))
    np.testing.assert_allclose(padded.predict_proba(wide), plain.predict_proba(X), atol=1e-6)


def test_a_kernel_without_features_has_no_relevance(data):
    X, y = data
    model = OrdinalGP(theirs.DotProduct(), optimizer=None).fit(X, y)
    assert np.all(np.isnan(model.relevance_))
    assert np.all(np.isnan(model.length_scale_))


# ------------------------------------------------------------------------------ kernels


KERNELS = [
    "gaussian", "rbf", "linear", "polynomial", "spline", "matern",
    Linear() + 1.0, 0.5 * Gaussian() + Linear(np.ones(2)), Polynomial(3), Spline() * 0.1,
    Gaussian() * Linear() + Matern([1.0, 2.0], 2.5),
    theirs.RBF(), 2.0 * theirs.RBF([1.0, 2.0]) + theirs.WhiteKernel(0.1),
    theirs.DotProduct(), Foreign(theirs.ExpSineSquared(periodicity=20.0)),
]  # fmt: skip


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_kernels_of_every_kind_learn(data, kernel):
    X, y = data
    start = OrdinalGP(kernel, inference="laplace", optimizer=None).fit(X, y)
    model = OrdinalGP(kernel, inference="laplace").fit(X, y)
    assert model.fit_.best.value > start.fit_.best.value
    assert model.relevance_.shape == (2,)
    assert model.score(X, y) > 0.45  # chance: 0.25
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, atol=1e-12)


def test_a_scikit_learn_kernel_is_the_same_as_ours(data):
    X, y = data
    ours = OrdinalGP(2.0 * Gaussian([1.0, 2.0])).fit(X, y)
    translated = OrdinalGP(2.0 * theirs.RBF([1.0, 2.0])).fit(X, y)
    np.testing.assert_array_equal(ours.predict_proba(X), translated.predict_proba(X))


def test_a_linear_kernel_gives_a_linear_latent_function(data):
    X, y = data
    model = OrdinalGP(Linear(), inference="laplace").fit(X, y)
    grid = np.linspace(-50, 50, 7)[:, None] * [[1.0, 2.0]]
    mean, _ = model.predict_latent(grid)
    np.testing.assert_allclose(np.diff(mean, 2), 0.0, atol=1e-9)


def test_a_precomputed_gram_matrix_is_the_kernel_itself(data):
    X, y = data
    kernel = Gaussian(1.5)
    fixed = {"standardize": False, "optimizer": None, "noise": 0.5}
    plain = OrdinalGP(kernel, **fixed).fit(X[:40], y[:40])
    given = OrdinalGP("precomputed", **fixed).fit(kernel(X[:40]), y[:40])
    np.testing.assert_allclose(
        given.predict_proba(kernel(X[40:], X[:40])), plain.predict_proba(X[40:]), rtol=1e-9
    )
    assert np.all(np.isnan(given.relevance_))


def test_cross_validation_splits_a_gram_matrix_by_rows_and_columns(data):
    X, y = data
    assert OrdinalGP(Precomputed()).__sklearn_tags__().input_tags.pairwise
    assert not OrdinalGP().__sklearn_tags__().input_tags.pairwise
    kernel = Gaussian(1.5)
    fixed = {"standardize": False, "inference": "laplace", "hyperprior": {"length_scale": 1e-6}}
    plain = cross_val_score(OrdinalGP(kernel, **fixed), X, y, cv=3)
    given = cross_val_score(OrdinalGP("precomputed", **fixed), kernel(X), y, cv=3)
    np.testing.assert_allclose(given, plain)


def test_parts_of_a_gram_matrix_are_predicted_like_the_whole(data):
    X, y = data
    K = 4.0 * Gaussian(1.5)(X)
    model = OrdinalGP("precomputed", optimizer=None).fit(K, y)
    np.testing.assert_allclose(
        model.predict_proba(K[:10]), model.predict_proba(K)[:10], rtol=1e-9
    )


def test_zero_weights_drop_rows_and_columns_of_a_gram_matrix(data):
    X, y = data
    weight = (np.arange(60) % 3 > 0).astype(float)
    kept = weight > 0
    K = Gaussian(1.5)(X)
    weighted = OrdinalGP("precomputed").fit(K, y, sample_weight=weight)
    dropped = OrdinalGP("precomputed", levels=range(4)).fit(K[np.ix_(kept, kept)], y[kept])
    np.testing.assert_allclose(
        weighted.predict_proba(K), dropped.predict_proba(K[:, kept]), rtol=1e-9
    )


def test_rows_of_ratings_may_have_gaps():
    rng = np.random.default_rng(0)
    taste = rng.normal(size=(50, 2))
    ratings = taste @ rng.normal(size=(2, 20)) + 0.3 * rng.normal(size=(50, 20))
    ratings[rng.random(ratings.shape) < 0.3] = np.nan
    y = np.digitize(taste[:, 0], [-0.5, 0.5])
    for kernel in ("correlation", Correlation("mean", shrinkage=0.1), 2.0 * Correlation()):
        model = OrdinalGP(kernel).fit(ratings[:40], y[:40])
        assert model.__sklearn_tags__().input_tags.allow_nan
        proba = model.predict_proba(ratings[40:])
        np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-12)
        assert np.mean(model.predict(ratings[40:]) == y[40:]) >= 0.5
