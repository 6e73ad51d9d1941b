"""The transformer that fills missing ratings from a matrix of low rank."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from ordinality import LowRankImputer, OrdinalGP
from ordinality.kernels import Correlation


@pytest.fixture
def stars():
    """Ratings of 40 films by 25 people, nearly of rank two; and the same with holes."""
    rng = np.random.default_rng(0)
    whole = 3.0 + rng.normal(size=(40, 1)) @ rng.normal(size=(1, 25))
    whole += 0.05 * rng.normal(size=whole.shape)
    return whole, np.where(rng.random(whole.shape) < 0.5, whole, np.nan)


def test_holes_are_filled_nearer_to_the_truth_than_means_are(stars):
    whole, holed = stars
    filled = LowRankImputer().fit_transform(holed)
    missing = np.isnan(holed)
    of_column = np.broadcast_to(np.nanmean(holed, axis=0), whole.shape)
    ours = np.abs(filled - whole)[missing].mean()
    assert ours < 0.1 * np.abs(of_column - whole)[missing].mean()


def test_what_was_observed_is_left_as_it_is(stars):
    _, holed = stars
    before = holed.copy()
    filled = LowRankImputer().fit_transform(holed)
    there = ~np.isnan(before)
    np.testing.assert_array_equal(filled[there], before[there])
    np.testing.assert_array_equal(holed, before)
    assert not np.isnan(filled).any()


def test_new_rows_are_filled_from_the_patterns_of_the_training_rows(stars):
    whole, holed = stars
    model = LowRankImputer().fit(holed[:30])
    missing = np.isnan(holed[30:])
    assert np.abs(model.transform(holed[30:]) - whole[30:])[missing].max() < 0.5
    # A row is filled by itself, whichever come with it.
    np.testing.assert_allclose(
        model.transform(holed[30:])[3], model.transform(holed[33:34])[0], rtol=1e-12
    )


def test_a_row_without_entries_is_a_mean_row(stars):
    _, holed = stars
    model = LowRankImputer().fit(holed)
    (filled,) = model.transform(np.full((1, 25), np.nan))
    np.testing.assert_allclose(filled, model.coefficients_ @ model.components_)
    assert filled.mean() == pytest.approx(np.nanmean(holed), abs=0.3)


def test_empty_rows_and_columns_can_be_learnt_from(stars):
    _, holed = stars
    holed[5], holed[:, 6] = np.nan, np.nan
    filled = LowRankImputer().fit_transform(holed)
    assert np.all(np.isfinite(filled))
    assert filled[:, 6].mean() == pytest.approx(3.0, abs=0.5)


def test_entries_of_weight_zero_teach_nothing(stars):
    _, holed = stars
    weights = np.ones(holed.shape)
    weights[:, 3] = 0.0
    wild = holed.copy()
    wild[:, 3] *= 1000.0
    one = LowRankImputer().fit(wild, weights=weights)
    other = LowRankImputer().fit(np.where(weights > 0, holed, np.nan))
    np.testing.assert_allclose(one.objective_, other.objective_, rtol=1e-6)


def test_attributes_say_what_was_found(stars):
    model = LowRankImputer(rank=3).fit(stars[1])
    assert model.components_.shape == (3, 25)
    assert model.singular_values_.shape == model.coefficients_.shape == (3,)
    assert len(model.objective_) == model.n_iter_ + 1
    assert np.all(np.diff(model.objective_) <= 0)
    assert model.n_features_in_ == 25


def test_a_search_that_was_cut_is_warned_of(stars):
    with pytest.warns(ConvergenceWarning, match="rank 2 did not converge in 2 iterations"):
        model = LowRankImputer(max_iter=2).fit(stars[1])
    assert not model.converged_


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rank": 0}, "rank=0 must be a whole number, 1 or more"),
        ({"tol": -1.0}, "tol=-1.0 must be a number above zero"),
        ({"max_iter": 2.5}, "max_iter=2.5 must be a whole number"),
    ],
)
def test_parameters_out_of_range_are_refused(stars, parameters, message):
    with pytest.raises(ValueError, match=message):
        LowRankImputer(**parameters).fit(stars[1])


def test_a_frame_keeps_its_columns(stars):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(stars[1], columns=[f"person {i}" for i in range(25)])
    filled = LowRankImputer().set_output(transform="pandas").fit_transform(frame)
    assert filled.columns.tolist() == frame.columns.tolist()


def test_filled_ratings_and_their_correlation_make_a_kernel_for_a_process():
    """Section 6.3 of Chu & Ghahramani (2005): fill in, correlate, learn one person's stars."""
    rng = np.random.default_rng(1)
    taste = rng.normal(size=(60, 2))
    ratings = taste @ rng.normal(size=(2, 40)) + 0.3 * rng.normal(size=(60, 40))
    ratings[rng.random(ratings.shape) < 0.6] = np.nan
    y = np.digitize(taste @ [1.0, -0.5], [-0.7, 0.7])
    model = make_pipeline(
        LowRankImputer(), OrdinalGP(Correlation(), inference="laplace", standardize=False)
    )
    score = model.fit(ratings[:45], y[:45]).score(ratings[45:], y[45:])
    assert score > np.bincount(y[45:]).max() / 15 + 0.1  # than the commonest level
