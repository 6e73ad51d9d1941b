"""Schemes for large data agree with exact inference where nothing is left out."""

import io
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from ordinality.experiments import large_data, papers
from ordinality.experiments.cells import run, todo
from ordinality.experiments.result_rows import Store
from ordinality.experiments.results_page import draw, markdown, table
from ordinality.gp.design import Direct
from ordinality.gp.ep import swept
from ordinality.gp.posterior.choose import prior_of
from ordinality.gp.posterior.inducing import Basis
from ordinality.gp.posterior.observations import Predictor
from ordinality.gp.stream import Belief, visit

N = 120
# EP stops where sites and moments differ by less than 1e-6 of their scale, and rows in another
# order stop elsewhere.
CLOSE = 1e-5


@pytest.fixture(scope="module")
def held():
    return large_data.smooth(f"{N} rows", 1)


@pytest.fixture(scope="module")
def exact(held):
    return large_data.all_rows(held, 1)


def by_sites(held, rows, tau, nu):
    """Moments of f at all rows under sites of some of them."""
    K = held.kernel(held.X)
    predictor = Predictor.from_sites(K[np.ix_(rows, rows)], tau, nu)
    return np.array(predictor.latent(K[:, rows], np.diagonal(K)))


def matched(held, rows, mean, var):
    jet = held.likelihood.log_expected(held.y[rows], mean, var)
    return jet.matched_site(mean)


def everywhere(held, belief):
    """Moments of f at all rows under a belief."""
    cross = held.kernel(held.X, belief.basis.Z)
    return np.array(belief.predictor().latent(cross, held.kernel.diag(held.X)))


# ------------------------------------------------------------------------------ laws


@pytest.mark.parametrize(
    ("scheme", "settings"),
    [
        (large_data.inducing_points, {"points": N}),
        (large_data.informative_vectors, {"active": N}),
        (large_data.committee, {"parts": 1}),
        (large_data.subset, {"rows": N}),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_a_scheme_that_leaves_nothing_out_is_exact(held, exact, scheme, settings):
    found = scheme(held, 1, **settings)
    assert {name: found[name] for name in exact} == pytest.approx(exact, abs=CLOSE)


def test_what_is_left_out_costs_and_less_of_it_costs_less(held, exact):
    few, many = (large_data.inducing_points(held, 1, points=M) for M in (10, 60))
    assert exact["rps"] < many["rps"] < few["rps"]
    assert 0 < many["unexplained"] < few["unexplained"] < 1
    assert exact["rps"] < large_data.subset(held, 1, rows=30)["rps"]


def test_a_sweep_in_one_block_matches_every_row_to_the_prior(held):
    belief = large_data.swept_belief(held, Basis.of(held.kernel, held.X), block=N)
    rows = np.arange(N)
    sites = matched(held, rows, np.zeros(N), held.kernel.diag(held.X))
    assert everywhere(held, belief) == pytest.approx(by_sites(held, rows, *sites), abs=1e-6)


def test_a_sweep_row_by_row_is_assumed_density_filtering(held):
    def match(i, mu, lam):
        (tau,), (nu,) = matched(held, [i], np.array([mu]), np.array([lam]))
        return tau, nu

    belief = large_data.swept_belief(held, Basis.of(held.kernel, held.X), block=1)
    prior, zero = prior_of(Direct(), held.kernel(held.X)), np.zeros(N)
    sites = swept(prior, np.ones(N), zero, zero, match)
    wanted = by_sites(held, np.arange(N), *sites)
    assert everywhere(held, belief) == pytest.approx(wanted, abs=1e-6)


def test_a_committee_that_shares_its_points_is_no_approximation(held):
    basis = Basis.of(held.kernel, held.X[:20])
    before = large_data.swept_belief(held, basis, block=40)

    def said(rows):
        X, y = held.X[rows], held.y[rows]
        sites = np.zeros((2, len(y)))
        return visit(before, held.likelihood, X, y, np.ones(len(y)), sites)

    whole, *parts = (said(rows) for rows in (np.arange(N), *np.split(np.arange(N), [30, 70])))
    for part in parts[1:]:
        parts[0].add(part)
    one, sum_ = (everywhere(held, Belief(basis, s.gram, s.shift)) for s in (whole, parts[0]))
    assert sum_ == pytest.approx(one, abs=1e-12)


def test_informative_rows_are_those_of_largest_gain_under_the_sites_before(held):
    rows, sites = large_data.informative_rows(held, 6), np.empty((2, 0))
    assert len(set(rows)) == len(rows)
    mean, var = np.zeros(N), held.kernel.diag(held.X)
    for k, i in enumerate(rows):
        tau, nu = matched(held, np.arange(N), mean, var)
        gain = np.log1p(tau * var)
        gain[rows[:k]] = -np.inf
        assert i == np.argmax(gain)
        sites = np.column_stack([sites, [tau[i], nu[i]]])
        mean, var = by_sites(held, rows[: k + 1], *sites)


def test_a_committee_of_independent_measurements_is_bayes_rule():
    # f ~ N(0, 2); two members have seen f + N(0, s), once each.
    seen, s, prior = np.array([0.7, -0.4]), np.array([0.5, 3.0]), 2.0
    members = [(2 * y / (2 + v), 2 * v / (2 + v)) for y, v in zip(seen, s, strict=True)]
    members = [tuple(map(np.atleast_1d, member)) for member in members]
    mean, var = large_data.committee_moments(members, np.array([prior]))
    assert var == pytest.approx(1 / (1 / prior + np.sum(1 / s)))
    assert mean == pytest.approx(var * np.sum(seen / s))


def test_a_robust_committee_weighs_members_by_what_they_have_learnt():
    prior = np.array([2.0, 2.0])
    nothing = (np.zeros(2), prior)
    one_nat = (np.array([0.3, -1.0]), prior * np.exp(-2.0))  # so that its power is 1
    robust = large_data.committee_moments([one_nat, nothing, one_nat], prior, robust=True)
    plain = large_data.committee_moments([one_nat, one_nat], prior)
    assert np.array(robust) == pytest.approx(np.array(plain))
    half_nat = (one_nat[0], prior * np.exp(-1.0))
    mean, var = large_data.committee_moments([half_nat], prior, robust=True)
    precision = (0.5 * np.exp(1.0) + 0.5) / prior
    assert var == pytest.approx(1 / precision)
    assert mean == pytest.approx(half_nat[0] * 0.5 * np.exp(1.0) / prior / precision)


# ------------------------------------------------------------------------------ the table


def tiny_spec():
    small = {"points": 15, "block": 10, "active": 20, "rows": 20, "parts": 3}
    spec = papers.get("scale/schemes")
    methods = tuple(
        replace(m, settings={k: small.get(k, v) for k, v in m.settings.items()})
        for m in spec.methods
    )
    return replace(spec, sets=("60 rows",), partitions=2, methods=methods)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """All cells of the tiny experiment but those of the subset."""
    store, spec = Store(tmp_path_factory.mktemp("rows") / "schemes.jsonl"), tiny_spec()
    run(spec, store, cells=[c for c in spec.cells() if c.method != "subset"])
    return store


def test_the_table_has_means_gaps_seed_by_seed_and_seconds(store):
    spec, rows = tiny_spec(), store.rows()
    assert {cell.method for cell in todo(spec.cells(), store)} == {"subset"}
    assert not [row for row in rows.values() if "error" in row]
    found = table(spec, rows)
    assert found.titles[-2:] == ["log score, less exact", "seconds"]
    lines = {line[1]: line for line in found.lines}
    assert lines["exact EP"][-2] == ""
    assert lines["subset, 500 rows"][2:] == [*["missing"] * 4, "", "", ""]
    scores = {
        (cell.method, cell.partition): rows[cell.key]["metrics"]["log_score"]
        for cell in spec.cells()
        if cell.key in rows
    }
    gaps = [scores["committee", k] - scores["exact", k] for k in (1, 2)]
    # The standard error of two values is half their distance.
    wanted = f"{np.mean(gaps):+.4f} ± {abs(gaps[0] - gaps[1]) / 2:.4f}".replace("-", "−")
    assert lines["committee, 4 x 500 rows"][-2] == wanted
    assert "less exact" in markdown(found)


def test_a_figure_needs_all_cells(store, tmp_path):
    spec, rows = tiny_spec(), store.rows()
    with pytest.raises(ValueError, match="scale/schemes has cells without a row"):
        draw(spec, rows, io.BytesIO())
    plt.close("all")
    whole = replace(spec, methods=tuple(m for m in spec.methods if m.name != "subset"))
    draw(whole, rows, tmp_path / "schemes.svg")
    assert "inducing points" in (tmp_path / "schemes.svg").read_text(encoding="utf-8")


def test_the_page_shows_the_stored_table():
    root = Path(__file__).parents[2]
    found = table(papers.get("scale/schemes"), Store(root / "results" / "schemes.jsonl").rows())
    page = (root / "docs" / "large-data.md").read_text(encoding="utf-8")
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines()]
    for line in found.lines:
        (shown,) = [cells for cells in lines if cells[:1] == [line[1]]]
        assert sorted(shown) == sorted(line[1:])
