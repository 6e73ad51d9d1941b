"""Sites of folded answers: those of a fit are at their fixed point."""

import numpy as np
import pytest

from ordinality import PreferenceGP
from ordinality.estimators import fold_in
from ordinality.estimators.fold_in import Folding

KINDS = ("plain", "ties", "judges", "nobody", "ratings", "covariates", "weights", "logit")


def given(kind, rng, m=60):
    """Answers about eight items, of judges with noises of their own, and so on."""
    pairs = np.array([rng.choice(8, 2, replace=False) for _ in range(m)])
    felt = (pairs[:, 0] - pairs[:, 1]) / 3 + rng.normal(size=m)
    tied = kind in ("ties", "judges")
    answers = np.where(np.abs(felt) < 0.5 * tied, 0, np.sign(felt)).astype(int)
    more = {
        "judges": {"judges": ["a", "b", "c"] * (m // 3)},
        "nobody": {"judges": ["a", "b", None] * (m // 3)},
        "ratings": {"ratings": (np.arange(6), [1, 2, 2, 3, 1, 3])},
        "covariates": {"covariates": np.column_stack([np.ones(m), 5 * rng.normal(size=m)])},
        "weights": {"sample_weight": rng.choice([0.5, 1.0, 2.0, 3.0], m)},
    }
    link = "logit" if kind == "logit" else "probit"
    return (
        PreferenceGP(8, ties=tied, tol=1e-10, link=link),
        (pairs, answers),
        more.get(kind, {}),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_sites_of_a_fit_do_not_move(kind, monkeypatch):
    model, said, more = given(kind, np.random.default_rng(0))
    snapshot = model.fit(*said, **more).snapshot()
    moments, sites = snapshot._together(), snapshot.sites
    folding = Folding(snapshot.slope, np.log(snapshot.weights), *moments, sites)
    live, rows = np.flatnonzero(snapshot.slope), np.flatnonzero(sites.weight >= 1.0)
    monkeypatch.setattr(fold_in, "_MOVED", 1e-7)
    assert len(rows) > 20
    assert not len(folding._moved(rows, live))
    off = sites.tau[:, rows[3]].copy()
    sites.tau[:, rows[3]] *= 1.01  # one that is not where it should be is found
    assert rows[3] in folding._moved(rows, live)
    folding._replace(rows[3], live)
    # What it was matched to had been computed with the right one.
    np.testing.assert_allclose(sites.tau[live, rows[3]], off[live], rtol=0.02)


def test_an_upset_is_heard_through_the_victories_before_it():
    # Item 0 won all ten comparisons with unlike items; then it loses to the worst.
    rng = np.random.default_rng(5)
    pairs = [rng.choice(np.arange(1, 12), 2, replace=False) for _ in range(80)]
    pairs = np.array([np.sort(pair) for pair in pairs] + [[0, k] for k in range(1, 11)])
    model = PreferenceGP(12, noise=0.3, optimizer=None).fit(pairs)
    snapshot = model.snapshot(None)
    upset = [[11, 0]] * 2
    folded = snapshot.told(upset).utility()
    updated = model.update(upset).snapshot(None).utility()
    stale = fold_in.replace(snapshot, sites=None).told(upset).utility()
    assert abs(folded.std[0] / updated.std[0] - 1.0) < 0.05
    assert abs(stale.std[0] / updated.std[0] - 1.0) > 0.1


def test_other_engines_than_ep_have_no_sites():
    snapshot = PreferenceGP(4, inference="laplace").fit([[0, 1], [2, 3]]).snapshot()
    assert snapshot.sites is None
    assert snapshot.told([[0, 2]]).sites is None
