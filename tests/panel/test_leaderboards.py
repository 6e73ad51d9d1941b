"""Leaderboards: against draws, Elo's formula and a Bradley-Terry model."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_expit, ndtr

import ordinality
from ordinality import PreferenceGP
from ordinality.elicitation.stopping import draws
from ordinality.gp.likelihoods import Symmetric
from ordinality.panel import Leaderboard, leaderboard, rank_answers
from ordinality.tables import comparisons, read


@pytest.fixture(scope="module")
def baseball():
    """Games of seven teams, and their ranking."""
    said = comparisons(read(ordinality.datasets.embedded_path("baseball")))
    return said, rank_answers(said.pairs, said.answers, weights=said.weights)


def bradley_terry(said):
    """Log strengths by maximum likelihood, their mean zero, in the order of the names."""
    names, place = np.unique(said.pairs, return_inverse=True)
    i, j = np.where(
        said.answers[:, None] > 0, place.reshape(-1, 2), place.reshape(-1, 2)[:, ::-1]
    ).T
    weights = np.ones(len(i)) if said.weights is None else said.weights

    def loss(strength):
        gap = strength[i] - strength[j]
        slip = weights * expit(-gap)
        gradient = np.bincount(j, slip, len(names)) - np.bincount(i, slip, len(names))
        return -weights @ log_expit(gap), gradient

    found = minimize(loss, np.zeros(len(names)), jac=True, tol=1e-10).x
    return names, found - found.mean()


def test_the_strengths_of_the_test_are_the_published_ones(baseball):
    # Agresti (2002), "Categorical data analysis", section 10.6: Baltimore is zero.
    names, strength = bradley_terry(baseball[0])
    above = dict(zip(names.tolist(), strength - strength.min(), strict=True))
    published = {"Milwaukee": 1.58, "Detroit": 1.44, "Toronto": 1.29, "New York": 1.25,
                 "Boston": 1.11, "Cleveland": 0.68, "Baltimore": 0.0}  # fmt: skip
    assert above == pytest.approx(published, abs=0.006)


def test_the_order_is_that_of_bradley_and_terry_and_probabilities_are_near(baseball):
    said, found = baseball
    names, strength = bradley_terry(said)
    board = leaderboard(found, "elo")
    assert list(board.names) == names[np.argsort(-strength)].tolist()
    i, j = np.triu_indices(7, 1)
    theirs = expit(strength[i] - strength[j])
    ours = found.snapshot.predict_proba(np.column_stack([names[i], names[j]]))[:, 1]
    # Ours are drawn towards 1/2 by the prior: 78 games a team.
    assert np.abs(ours - theirs).max() < 0.08
    assert np.all(np.abs(ours - 0.5) <= np.abs(theirs - 0.5) + 0.01)
    elo = dict(zip(board.names, board.columns["score"], strict=True))
    points = 400 / np.log(10) * strength
    shrunk = [elo[name] - 1500 for name in names] @ points / (points @ points)
    assert 0.7 < shrunk < 1.0


def test_a_flat_prior_gives_the_probabilities_of_bradley_and_terry(baseball):
    # Logistic noise, and one ratio of signal to noise, so large that the prior says nothing.
    said, _ = baseball
    names, strength = bradley_terry(said)
    model = PreferenceGP(names, link="logit", noise=0.05, optimizer=None)
    model.fit(said.pairs, said.answers, sample_weight=said.weights)
    i, j = np.triu_indices(7, 1)
    ours = model.predict_proba(np.column_stack([names[i], names[j]]))[:, 1]
    np.testing.assert_allclose(ours, expit(strength[i] - strength[j]), rtol=0, atol=0.01)


def test_elo_says_what_normal_noise_says_to_one_in_a_hundred():
    # Known utilities: a posterior as narrow as ten thousand answers a pair make it.
    f = np.array([0.9, 0.3, 0.1, -0.4, -0.9])
    pairs = np.array([(i, j) for i in range(5) for j in range(5) if i != j])
    wins = 10_000 * ndtr((f[pairs[:, 0]] - f[pairs[:, 1]]) / np.sqrt(2))
    model = PreferenceGP(5, optimizer=None).fit(pairs, sample_weight=wins)
    board = leaderboard(model, "elo")
    score = board.columns["score"]
    assert score.mean() == pytest.approx(1500)
    i, j = np.triu_indices(5, 1)
    formula = 1 / (1 + 10 ** ((score[j] - score[i]) / 400))
    assert np.abs(formula - ndtr((f[i] - f[j]) / np.sqrt(2))).max() < 0.0105
    assert "off by 0.0" in board.notes[0]


def test_intervals_are_those_of_draws(baseball):
    _, found = baseball
    board = leaderboard(found, level=0.8)
    sample = draws(found.snapshot.points(), 200_000, np.random.default_rng(0))
    names = found.snapshot.item_names_.tolist()
    for name, low, high in zip(
        board.names, board.columns["lower"], board.columns["upper"], strict=True
    ):
        ends = np.quantile(sample[names.index(name)], [0.1, 0.9])
        np.testing.assert_allclose([low, high], ends, atol=0.02)


def test_a_ranking_and_its_leaderboard_agree(baseball):
    _, found = baseball
    board = leaderboard(found)
    assert list(board.names) == [one.item for one in found.items]
    columns = {name: values.tolist() for name, values in board.columns.items()}
    assert columns["place"] == [one.rank for one in found.items]
    places = list(zip(columns["first"], columns["last"], strict=True))
    assert places == [one.places for one in found.items]
    assert columns["score"] == pytest.approx([one.utility for one in found.items])
    assert columns["answers"] == [one.answers for one in found.items]
    assert sum(columns["P(best)"]) == pytest.approx(1.0)


def test_a_model_has_a_leaderboard_without_counts_and_coins_have_one_score():
    model = PreferenceGP(3).fit([[0, 1], [1, 2], [0, 2]])
    board = leaderboard(model)
    assert board.names == ("0", "1", "2")
    assert np.isnan(board.columns["answers"]).all()
    flips = PreferenceGP(4).fit([[i, j] for i in range(4) for j in range(4) if i != j] * 50)
    elo = leaderboard(flips, "elo").columns
    np.testing.assert_allclose(elo["score"], 1500, atol=1e-6)
    assert np.all(elo["lower"] <= 1500)


def test_it_prints_shows_and_becomes_a_frame(baseball):
    board = leaderboard(baseball[1], "elo")
    assert isinstance(board, Leaderboard)
    assert "Milwaukee      1      1     4   158" in str(board)
    assert "<th>Milwaukee</th><td>1</td>" in board._repr_html_()
    frame = board.to_frame()
    assert frame.index[0] == "Milwaukee"
    assert frame.loc["Detroit", "place"] == 2
    assert "nan" not in str(leaderboard(PreferenceGP(2).fit([[0, 1]])))


@pytest.mark.parametrize(("link", "furthest"), [("probit", 0.02), ("logit", 0.02)])
def test_ties_count_as_half_a_win(link, furthest):
    # Half the width of a tie is 0.7 standard deviations of the noise of a difference.
    likelihood = Symmetric.of([1.0], ties=True, sigma=1.0, link=link)
    f = np.array([1.5, 0.5, 0.0, -0.6, -1.4])
    pairs = np.array([(i, j) for i in range(5) for j in range(5) if i != j])
    gap = f[pairs[:, 0]] - f[pairs[:, 1]]
    proba = likelihood.proba(gap, np.zeros(len(gap)))
    weights = 10_000 * proba.ravel()
    model = PreferenceGP(5, ties=True, link=link).fit(
        np.repeat(pairs, 3, axis=0), np.tile([-1, 0, 1], len(pairs)), sample_weight=weights
    )
    score = leaderboard(model, "elo").columns["score"]
    formula = 1 / (1 + 10 ** ((score[pairs[:, 1]] - score[pairs[:, 0]]) / 400))
    assert np.abs(formula - proba @ [0.0, 0.5, 1.0]).max() < furthest


def test_an_unknown_scale_is_refused():
    with pytest.raises(ValueError, match="'glicko'; it must be 'utility' or 'elo'"):
        leaderboard(PreferenceGP(2).fit([[0, 1]]), "glicko")
