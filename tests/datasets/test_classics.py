"""Tables of the package: numbers that agree with what is printed of them elsewhere."""

import csv
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from ordinality import datasets
from ordinality.datasets import CLASSICS, embedded_path, load_embedded

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", CLASSICS)
def test_every_table_has_a_loader_a_source_and_a_licence(name):
    found = getattr(datasets, f"load_{name}")()
    assert found.name == name
    assert found.source
    assert found.licence
    assert found.description
    assert embedded_path(name).is_file()
    assert found.X.shape[1] == len(found.feature_names)
    assert not np.isnan(found.X).any()


@pytest.mark.parametrize("name", [n for n, c in CLASSICS.items() if c.target])
def test_every_level_of_an_ordinal_table_occurs(name):
    found = load_embedded(name)
    cases = np.bincount(found.y, found.weight, len(found.levels) + 1)
    assert cases[0] == 0
    assert np.all(cases[1:] > 0)


def test_an_unknown_table_is_refused_with_those_there_are():
    with pytest.raises(
        ValueError, match="'win' is not a table of the package; choose .*cheese"
    ):
        embedded_path("win")


def test_the_wine_is_that_of_the_examples():
    assert embedded_path("wine").read_text() == (ROOT / "examples" / "wine.csv").read_text()


@pytest.mark.parametrize(
    ("name", "total"),
    [("housing", 1681), ("cheese", 208), ("pneumoconiosis", 371), ("mental", 1660),
     ("baseball", 273)],
)  # fmt: skip
def test_counts_add_up_to_the_published_totals(name, total):
    assert load_embedded(name).weight.sum() == total


def test_repeated_counts_have_a_row_for_each_case():
    cheese = datasets.load_cheese().repeated()
    assert cheese.X.shape == (208, 4)
    assert np.bincount(cheese.y[cheese.X[:, 3] == 1])[1:].tolist() == [
        0, 0, 0, 1, 3, 7, 14, 16, 11
    ]  # fmt: skip


# ---------------------------------------------------------------- models of them in print


def proportional_odds(x, y, weight):
    """Thresholds, slopes and log-likelihood of a cumulative logit model."""
    K, d = y.max(), x.shape[1]

    def split(theta):
        return np.cumsum(np.concatenate([theta[:1], np.exp(theta[1 : K - 1])])), theta[K - 1 :]

    def loss(theta):
        cuts, slope = split(theta)
        edges = np.concatenate([[-np.inf], cuts, [np.inf]])
        p = expit(edges[y] - x @ slope) - expit(edges[y - 1] - x @ slope)
        return -weight @ np.log(np.maximum(p, 1e-300))

    start = np.concatenate([[-1.0], np.zeros(K - 2 + d)])
    found = minimize(loss, start, method="BFGS", options={"gtol": 1e-6})
    return *split(found.x), -found.fun


def test_the_cheeses_have_the_likelihood_of_the_manual():
    cheese = datasets.load_cheese()
    share = np.bincount(cheese.y, cheese.weight)[1:] / 208
    assert -208 * share @ np.log(share) == pytest.approx(429.9, abs=0.05)
    *_, likelihood = proportional_odds(cheese.X[:, :3], cheese.y, cheese.weight)
    assert -likelihood == pytest.approx(355.67, abs=0.005)  # JMP 14, ordinal logistic


def test_the_miners_have_the_coefficients_of_vgam():
    miners = datasets.load_pneumoconiosis()
    cuts, slope, _ = proportional_odds(np.log(miners.X), miners.y, miners.weight)
    # vglm(cbind(normal, mild, severe) ~ log(exposure), propodds) in R's VGAM.
    np.testing.assert_allclose(cuts, [9.6761, 10.5817], atol=2e-4)
    np.testing.assert_allclose(slope, [2.5968], atol=1e-4)


def bradley_terry(found):
    def loss(ability):
        gap = ability[found.pairs[:, 0]] - ability[found.pairs[:, 1]]
        return found.weight @ np.logaddexp(0.0, -gap)

    start = np.zeros(len(found.items))
    return minimize(loss, start, method="BFGS", options={"gtol": 1e-6}).x


def test_the_teams_have_the_abilities_of_agresti():
    ability = bradley_terry(datasets.load_baseball())
    printed = [1.581, 1.436, 1.294, 1.248, 1.108, 0.684, 0.0]  # with Baltimore at zero
    np.testing.assert_allclose(ability - ability[-1], printed, atol=6e-4)


def test_the_journals_have_the_scores_of_the_literature():
    ability = bradley_terry(datasets.load_citations())
    # BTm of R's BradleyTerry2 with Biometrika at zero.
    np.testing.assert_allclose(
        ability - ability[0], [0.0, -2.94907, -0.47957, 0.26895], atol=2e-5
    )


def test_every_pair_of_teams_met_thirteen_times():
    found = datasets.load_baseball()
    games = np.zeros((7, 7))
    games[found.pairs[:, 0], found.pairs[:, 1]] = found.weight
    np.testing.assert_array_equal(games + games.T, 13 * (1 - np.eye(7)))


def test_files_are_plain_csv_with_unix_lines():
    for name in CLASSICS:
        raw = embedded_path(name).read_bytes()
        assert b"\r" not in raw
        widths = {len(row) for row in csv.reader(raw.decode("utf-8").splitlines())}
        assert len(widths) == 1
