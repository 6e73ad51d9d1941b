"""Links of `OrdinalGP`: outliers and skewed noise, from fit to prediction."""

import numpy as np
import pytest

from ordinality import OrdinalGP, PreferenceGP

LINKS = ["cloglog", "loglog", "student"]


@pytest.fixture(scope="module")
def problem():
    """A smooth function of two features in four levels; every tenth label at the far end."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 2))
    z = 1.5 * np.sin(X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=160)
    y = np.digitize(z, [-0.8, 0.0, 0.8])
    wrong = y.copy()
    wrong[:80:10] = np.where(y[:80:10] < 2, 3, 0)
    return X, y, wrong


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("options", [{}, {"inducing": 30}, {"scale": "log-linear"}], ids=str)
def test_each_link_learns_exactly_with_points_and_with_scale(problem, link, options):
    X, _, y = problem
    model = OrdinalGP(link=link, **options).fit(X[:80], y[:80])
    assert model.converged_
    proba = model.predict_level_proba(X[80:])
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(model.loo_proba_.sum(axis=1), 1.0, atol=1e-12)


def test_student_noise_is_not_misled_by_wrong_labels(problem):
    X, y, wrong = problem
    scores = {}
    for link in ("probit", "logit", "student"):
        proba = OrdinalGP(link=link).fit(X[:80], wrong[:80]).predict_level_proba(X[80:])
        scores[link] = -np.mean(np.log(proba[np.arange(80), y[80:]]))
    assert scores["student"] < scores["logit"] < scores["probit"]


def test_mirrored_labels_make_loglog_of_cloglog(problem):
    X, y, _ = problem
    options = {"optimizer": None, "noise": 0.5}
    thresholds = np.array([-0.7, 0.1, 0.6])
    one = OrdinalGP(link="cloglog", thresholds=thresholds, **options).fit(X, y)
    other = OrdinalGP(link="loglog", thresholds=-thresholds[::-1], **options).fit(X, 3 - y)
    assert other.log_evidence_ == pytest.approx(one.log_evidence_, rel=1e-9)


@pytest.mark.parametrize("options", [{"inference": "laplace"}, {"criterion": "loo"}], ids=str)
def test_student_noise_wants_ep_and_the_evidence(problem, options):
    with pytest.raises(ValueError, match="not log-concave.*use inference='ep'"):
        OrdinalGP(link="student", **options).fit(*problem[:2])


@pytest.mark.parametrize("link", LINKS)
def test_comparisons_have_normal_or_logistic_noise(link):
    with pytest.raises(ValueError, match="link=.*choose one of"):
        PreferenceGP(np.eye(3), link=link).fit([[0, 1]], [1])
