"""The climbs, on functions whose top is known."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit

from ordinality.gp.optimise import Outlook, climb, curvature, refine

WIDE = np.array([[-10.0, 10.0], [-10.0, 10.0]])


def evaluated(function, settled=True, credible=lambda theta: True):
    """`function` of theta (value and gradient) as the climbs call it, recording its calls."""

    def evaluate(theta, start=None):
        value, gradient = function(theta)
        calls.append((theta, value, start))
        return SimpleNamespace(
            theta=theta,
            value=value,
            gradient=gradient,
            start=len(calls),
            settled=settled,
            credible=credible(theta),
        )

    calls = []
    return evaluate, calls


H = np.array([[-3.0, 1.0], [1.0, -2.0]])
TOP = np.array([1.0, -0.5])


def quadratic(theta):
    d = theta - TOP
    return 0.5 * d @ H @ d, H @ d


def valley(theta):
    """Rosenbrock's, upside down: the top is at (1, 1)."""
    x, y = theta
    bend = y - x**2
    return -((1 - x) ** 2) - 100 * bend**2, np.array(
        [2 * (1 - x) + 400 * x * bend, -200 * bend]
    )


def cliff(theta):
    """So steep that first steps go too far; the top is at asinh(0.3) / 8."""
    return float(np.sum(2.4 * theta - np.cosh(8 * theta))), 2.4 - 8 * np.sinh(8 * theta)


def misled(theta):
    """A gradient that points the wrong way, as that of an unsettled engine may."""
    return -float(theta @ theta), 2.0 * theta


@pytest.mark.parametrize("most", [10, 20, 60])
def test_climb_stays_within_its_evaluations(most):
    evaluate, calls = evaluated(valley)
    ascent = climb(evaluate, np.array([-1.2, 1.0]), WIDE, np.ones(2), most, 1e-12)
    assert ascent.n_evaluations == len(calls) <= most
    assert ascent.best.value == max(value for _, value, _ in calls)
    assert ascent.converged == (most == 60)


@pytest.mark.parametrize(("function", "most"), [(cliff, 1), (misled, 8)])
def test_climb_stays_within_its_evaluations_where_steps_fail(function, most):
    evaluate, calls = evaluated(function)
    climb(evaluate, np.array([0.5, 0.5]), WIDE, np.ones(2), most, 1e-12)
    assert len(calls) <= most


def test_climb_reaches_the_top_in_any_units():
    for scale in (np.ones(2), np.array([0.1, 3.0])):
        evaluate, _ = evaluated(valley)
        ascent = climb(evaluate, np.array([-1.2, 1.0]), WIDE, scale, 200, 1e-12)
        np.testing.assert_allclose(ascent.best.theta, 1.0, rtol=0, atol=1e-4)


def test_climb_stops_once_steps_gain_little():
    patient, brief = (
        climb(evaluated(valley)[0], np.array([-1.2, 1.0]), WIDE, np.ones(2), 200, gain)
        for gain in (1e-12, 0.5)
    )
    assert brief.n_evaluations < patient.n_evaluations
    assert brief.converged
    assert brief.best.value < patient.best.value


def test_climb_stays_in_its_box_and_hands_on_the_best_start():
    box = np.array([[-0.5, 0.5], [-10.0, 10.0]])
    evaluate, calls = evaluated(quadratic)
    ascent = climb(evaluate, np.zeros(2), box, np.ones(2), 60, 1e-12)
    thetas = np.array([theta for theta, _, _ in calls])
    assert np.all((thetas[:, 0] >= -0.5) & (thetas[:, 0] <= 0.5))
    # On the edge x = 1/2 the top is where the second derivative alone vanishes.
    np.testing.assert_allclose(ascent.best.theta, [0.5, -0.75], rtol=0, atol=1e-6)
    for i, (_, _, start) in enumerate(calls):
        values = [value for _, value, _ in calls[:i]]
        assert start == (1 + int(np.argmax(values)) if values else None)


def pit(theta):
    """A straight slope, a top at a ratio near 9.6, and beyond it a shelf that wavers.

    As the evidence of a linear kernel, it depends on the ratio of variance and noise alone.
    """
    ratio = theta[0] - 2.0 * theta[1]
    value = -20.0 * np.logaddexp(0.0, 4.0 - ratio) - 5.0 * expit(2.0 * (ratio - 12.0))
    slope = 20.0 * expit(4.0 - ratio) - 10.0 * expit(2 * ratio - 24) * expit(24 - 2 * ratio)
    if ratio > 20:  # an engine that has not settled: the gradient is not that of the value
        slope = -2.0
    return value, slope * np.array([1.0, -2.0])


def test_climb_comes_back_from_a_corner_of_the_box():
    box = np.array([[-18.0, 9.0], [-7.0, 3.0]])
    evaluate, calls = evaluated(pit)
    ascent = climb(evaluate, np.zeros(2), box, np.full(2, 0.1), 150, 2e-4)
    assert any(theta[0] - 2.0 * theta[1] > 20 for theta, _, _ in calls)
    assert ascent.converged
    assert ascent.n_evaluations == len(calls)
    assert ascent.best.theta @ [1.0, -2.0] == pytest.approx(9.56, abs=0.05)


def test_climb_has_arrived_where_nothing_is_left_to_gain_however_it_ended():
    def cut(most):
        start = np.array([-0.5, 0.5])
        return climb(evaluated(valley)[0], start, WIDE, np.ones(2), most, 1e-6)

    needed = cut(100).n_evaluations
    ends = [cut(most) for most in range(needed - 5, needed)]  # all cut before they saw the end
    left = [0.5 * float(np.sum(end.best.gradient**2)) for end in ends]
    assert [end.converged for end in ends] == [nats < 1e-6 for nats in left]
    assert left[0] > 1e-6 > left[-1]


def test_refine_is_at_the_top_of_a_quadratic_after_two_evaluations():
    evaluate, _ = evaluated(quadratic)
    ascent = refine(evaluate, Outlook.of(np.zeros(2), H), WIDE, 60, 1e-9)
    assert ascent.n_evaluations == 2
    assert ascent.converged
    np.testing.assert_allclose(ascent.best.theta, TOP, rtol=0, atol=1e-12)


def test_refine_stays_in_its_box_and_finds_the_top_on_its_edge():
    box = np.array([[-0.5, 0.5], [-10.0, 10.0]])
    evaluate, calls = evaluated(quadratic)
    ascent = refine(evaluate, Outlook.of(np.array([-3.0, 0.0]), H), box, 60, 1e-9)
    thetas = np.array([theta for theta, _, _ in calls])
    assert np.all((thetas[:, 0] >= -0.5) & (thetas[:, 0] <= 0.5))
    assert ascent.converged
    np.testing.assert_allclose(ascent.best.theta, [0.5, -0.75], rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    "wrong", [np.diag([2.0, -1e-9]), np.diag([-1e4, -0.1]), np.zeros((2, 2))]
)
def test_refine_climbs_whatever_curvature_it_is_told(wrong):
    evaluate, calls = evaluated(valley)
    ascent = refine(evaluate, Outlook.of(np.array([-0.5, 0.5]), wrong), WIDE, 200, 1e-9)
    assert ascent.converged
    assert ascent.n_evaluations == len(calls)
    np.testing.assert_allclose(ascent.best.theta, 1.0, rtol=0, atol=1e-2)


@pytest.mark.parametrize("most", [1, 2, 7])
def test_refine_stays_within_its_evaluations(most):
    evaluate, calls = evaluated(valley)
    ascent = refine(evaluate, Outlook.of(np.array([-1.2, 1.0]), -np.eye(2)), WIDE, most, 1e-12)
    assert ascent.n_evaluations == len(calls) == most
    assert not ascent.converged
    assert ascent.best.value == max(value for _, value, _ in calls)


@pytest.mark.parametrize(("at", "edge"), [(TOP + 1e-6, 10.0), (np.array([0.5, -0.75]), 0.5)])
def test_refine_does_not_leave_a_top_inside_or_on_the_edge(at, edge):
    evaluate, _ = evaluated(quadratic)
    box = np.array([[-10.0, edge], [-10.0, 10.0]])
    ascent = refine(evaluate, Outlook.of(at, H), box, 60, 1e-9)
    assert ascent.n_evaluations == 1
    assert ascent.converged


def test_an_ascent_goes_on_from_its_outlook():
    evaluate, calls = evaluated(valley)
    first = refine(evaluate, Outlook.of(np.array([-0.5, 0.5]), -np.eye(2)), WIDE, 3, 1e-9)
    assert not first.converged
    then = refine(evaluate, first.outlook, WIDE, 200, 1e-9)
    theta, _, start = calls[3]
    np.testing.assert_array_equal(theta, first.outlook.theta)
    assert start == first.outlook.start is not None
    assert then.converged
    assert then.n_evaluations == len(calls) - 3
    np.testing.assert_allclose(then.best.theta, 1.0, rtol=0, atol=1e-2)


def test_curvature_is_the_hessian_and_steps_inwards_at_the_edge():
    evaluate, calls = evaluated(quadratic)
    box = np.array([[-10.0, 0.3], [-10.0, 10.0]])
    at = evaluate(np.array([0.3, 0.0]))
    found = curvature(evaluate, at, box)
    np.testing.assert_allclose(found, H, rtol=0, atol=1e-9)
    assert all(theta[0] <= 0.3 for theta, _, _ in calls)
    assert [start for _, _, start in calls[1:]] == [1, 1]


def test_a_search_gives_up_when_a_tenth_of_its_evaluations_did_not_settle():
    evaluate, calls = evaluated(valley, settled=False)
    ascent = climb(evaluate, np.array([-1.2, 1.0]), WIDE, np.ones(2), 60, 1e-12)
    assert len(calls) == ascent.n_evaluations == ascent.n_unsettled == 7
    assert not ascent.converged
    evaluate, calls = evaluated(valley, settled=False)
    refine(evaluate, Outlook(np.array([-1.2, 1.0]), np.eye(2)), WIDE, 60, 1e-12)
    assert len(calls) == 7


def test_a_search_does_not_end_where_its_criterion_is_not_credible():
    def slope(theta):  # rises to the right without end
        return float(theta.sum()), np.ones(1)

    evaluate, _ = evaluated(slope, credible=lambda theta: theta[0] < 2.0)
    box = np.array([[-10.0, 10.0]])
    ascent = climb(evaluate, np.zeros(1), box, np.ones(1), 60, 1e-6)
    assert ascent.best.credible
    assert 1.0 < ascent.best.theta[0] < 2.0


def test_a_search_leaves_a_start_that_is_not_credible_for_any_that_is():
    evaluate, _ = evaluated(valley, credible=lambda theta: theta[0] > -1.0)
    ascent = climb(evaluate, np.array([-1.2, 1.0]), WIDE, np.ones(2), 60, 1e-12)
    assert ascent.best.credible
