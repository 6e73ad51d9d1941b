"""The scale integrated out, against values of an independent program and exact ones.

Three items have exact values by quadrature, computed here once more.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import logsumexp, ndtr

from ordinality import PreferenceGP
from ordinality.elicitation import Trust, expected_rank_changes, top_k_members
from ordinality.estimators.snapshot import RATIOS, log_prior_of_ratios

VECTORS = json.loads((Path(__file__).parents[1] / "honest-vectors.json").read_text("utf-8"))
THREE = VECTORS["three"]
FIRST, SECOND = np.array(THREE["pairs"]).T
SIGNS = np.array(THREE["answers"])


def fitted(case, n, noise=1.0):
    model = PreferenceGP(n, optimizer=None, tol=1e-10, noise=noise)
    return model.fit(case["pairs"], np.array(case["answers"], dtype=int))


def better(snapshot):
    """Probability of each item to be better than each other, half with itself."""
    w, _, mean, cov = snapshot.points()
    own = np.diagonal(cov, axis1=1, axis2=2)
    variance = own[:, :, None] + own[:, None] - 2 * cov + 2 * np.eye(cov.shape[1])
    return np.tensordot(w, ndtr((mean[:, :, None] - mean[:, None]) / np.sqrt(variance)), 1)


@pytest.mark.parametrize("name", ["three", "eight_true", "eight_coin"])
def test_grid_and_prior_are_those_of_the_reference(name):
    np.testing.assert_allclose(RATIOS, VECTORS[name]["grid"])
    prior = np.exp(log_prior_of_ratios(np.array(RATIOS)))
    np.testing.assert_allclose(prior, VECTORS[name]["prior"], rtol=1e-12)


@pytest.mark.parametrize(("name", "n"), [("three", 3), ("eight_true", 8), ("eight_coin", 8)])
def test_evidences_are_those_of_the_reference(name, n):
    case = VECTORS[name]
    assert case["log_evidence_ep"][0] == pytest.approx(-len(case["answers"]) * np.log(2))
    found = [fitted(case, n, noise=1 / ratio).log_evidence_ for ratio in RATIOS[1:]]
    np.testing.assert_allclose(found, case["log_evidence_ep"][1:], rtol=0, atol=1e-7)


@pytest.fixture(scope="module")
def exact():
    """Log evidence of three items at each ratio, and probabilities of orders, by quadrature.

    The two differences that answers see, as polar coordinates of the plane that they span:
    orders are sectors of it, and the trapezium rule in the angle is exact to rounding on each
    side of their borders.
    """
    angle, gain = np.polynomial.legendre.leggauss(40)
    # Six orders, six sectors, which begin where two items are equal.
    angles = (np.arange(6)[:, None] + 0.5 + 0.5 * angle) * np.pi / 3
    radius, share = np.polynomial.legendre.leggauss(200)
    r = 5.0 + 5.0 * radius  # beyond 10 the density is below exp(-50)
    share = 5.0 * share * r * np.exp(-(r**2) / 2)
    # An orthonormal basis of the contrasts; at angle 0 items 0 and 1 are equal.
    up = np.array([1, 1, -2]) / np.sqrt(6), np.array([1, -1, 0]) / np.sqrt(2)
    f = np.cos(angles)[..., None] * up[0] + np.sin(angles)[..., None] * up[1]
    weight = (gain * np.pi / 6)[None, :, None] * share / (2 * np.pi)
    masses = []
    for ratio in RATIOS:
        gap = SIGNS * (f[..., FIRST] - f[..., SECOND])
        p = np.prod(ndtr(ratio * r[:, None] * gap[:, :, None] / np.sqrt(2)), axis=-1)
        masses.append(np.sum(weight * p, axis=(1, 2)))  # of each sector
    mass, first = np.array(masses), f[:, 20]  # the order within a sector is that of its middle
    log_evidence = np.log(mass.sum(axis=1))
    log_weight = np.log(THREE["prior"]) + log_evidence
    w = np.exp(log_weight - logsumexp(log_weight))
    of_sector = w @ (mass / mass.sum(axis=1, keepdims=True))
    orders = [of_sector @ (first[:, a] > first[:, b]) for a, b in ((0, 1), (0, 2), (1, 2))]
    return log_evidence, w, orders, of_sector @ (first.argmax(axis=1) == 0)


def test_the_exact_values_of_the_reference_are_those_of_quadrature(exact):
    log_evidence, w, orders, best = exact
    np.testing.assert_allclose(log_evidence, THREE["log_evidence_exact"], rtol=0, atol=1e-8)
    np.testing.assert_allclose(w, THREE["weights_exact"], rtol=0, atol=1e-8)
    np.testing.assert_allclose(orders, THREE["p01_p02_p12_exact"], rtol=0, atol=1e-8)
    assert best == pytest.approx(THREE["p_item0_best_exact"], abs=1e-8)


def test_expectation_propagation_is_near_the_exact_values(exact):
    log_evidence, w, orders, best = exact
    snapshot = fitted(THREE, 3).snapshot()
    np.testing.assert_allclose(snapshot.weights, THREE["weights_ep"], rtol=0, atol=1e-9)
    p = better(snapshot)[[0, 0, 1], [1, 2, 2]]
    np.testing.assert_allclose(p, THREE["p01_p02_p12_ep"], rtol=0, atol=1e-8)
    # Seven answers, two of which contradict others: the worst case that the reference has.
    assert np.abs(np.array(THREE["log_evidence_ep"]) - log_evidence).max() < 0.11
    assert np.abs(snapshot.weights - w).max() < 0.005
    assert np.abs(p - orders).max() < 0.011
    found = top_k_members(snapshot, 1, 20_000, 0)[0]
    assert found == pytest.approx(best, abs=0.02)


@pytest.mark.parametrize("name", ["eight_true", "eight_coin"])
def test_chances_of_pairs_are_those_of_the_reference(name):
    case = VECTORS[name]
    snapshot = fitted(case, 8).snapshot()
    np.testing.assert_allclose(better(snapshot), case["pair_probability"], rtol=0, atol=1e-8)
    assert expected_rank_changes(snapshot) == pytest.approx(
        case["expected_wrong_pairs"], abs=1e-5
    )


@pytest.mark.parametrize("name", ["eight_true", "eight_coin"])
def test_the_best_single_ratio_is_surer_than_all_of_them(name):
    case = VECTORS[name]
    best = 1 + int(np.argmax(case["log_evidence_ep"][1:]))
    single = fitted(case, 8, noise=1 / RATIOS[best]).snapshot(None)
    wrong = expected_rank_changes(single)
    assert wrong == pytest.approx(case["plug_in_expected_wrong_pairs"], abs=1e-5)
    assert wrong < case["expected_wrong_pairs"]


@pytest.mark.parametrize("name", ["e_values", "e_values_coin"])
def test_the_stakes_pass_the_threshold_where_the_reference_says(name):
    case, trust, threshold = VECTORS[name], Trust(), VECTORS["e_values"]["threshold"]
    assert threshold == pytest.approx(np.log(50), rel=1e-15)
    for k, (p, won) in enumerate(zip(case["p_first_wins"], case["first_won"], strict=True)):
        trust = trust.add(p if won else 1.0 - p, check=True)
        assert trust.better_than_coin == (max(case["log_E"][: k + 1]) >= threshold)
        assert trust.contradicted == (case["log_M"][k] >= threshold)
