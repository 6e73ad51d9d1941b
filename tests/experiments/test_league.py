"""The league: the same rows for all, the same scores, and verdicts that a hand can check."""

import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from ordinality.cli import main
from ordinality.datasets import Split
from ordinality.experiments import Store, league, papers, run
from ordinality.experiments.results_page import markdown, table

ROOT = Path(__file__).parents[2]
SPEC = papers.get("league")
OWN_ENVIRONMENT = [method.name for method in league.PEERS]


def frequencies(X, y, X_test, seed):
    return np.tile(np.bincount(y) / len(y), (len(X_test), 1))


def equal(X, y, X_test, seed):
    return np.full((len(X_test), y.max() + 1), 1 / (y.max() + 1))


def stubbed(**fits):
    """The league on two made-up sets, some of its methods with cheap fits in their place."""
    methods = tuple(
        replace(m, function=partial(league.measured, fit=fits[m.name]), optional=False)
        for m in SPEC.methods
        if m.name in fits
    )
    return replace(SPEC, sets=("linear", "survey"), partitions=2, methods=methods, fewer={})


def rows_of(spec, values):
    """Rows by key from {(set, method): scores of the splits}; both scores are the same."""
    return {
        spec.cell(name, k, spec.method(method)).key: {
            "experiment": "league", "method": method,
            "metrics": {"rps": value, "log_score": value},
        }
        for (name, method), scores in values.items()
        for k, value in enumerate(scores, start=1)
    }  # fmt: skip


# ------------------------------------------------------------------------------ a run


def test_a_small_league_is_computed_kept_and_shown(tmp_path, monkeypatch):
    spec = stubbed(auto=frequencies, forest=equal)
    monkeypatch.setattr(league, "JUDGED", {"auto": ("all peers", ("forest",))})
    store = Store(tmp_path / "league.jsonl")
    assert len(run(spec, store)) == 8
    assert len(store.path.read_text().splitlines()) == 8
    run(spec, store)  # nothing is left to do
    assert len(store.path.read_text().splitlines()) == 8
    report = table(spec, store.rows())
    assert [line[:2] for line in report.lines] == [
        ["linear", "auto"], ["linear", "random forest"],
        ["survey", "auto"], ["survey", "random forest"],
    ]  # fmt: skip
    assert "survey" in markdown(report)
    assert "auto, log score: ahead of the best of all peers in" in report.verdict


def test_every_cell_has_two_splits_at_least_and_the_small_have_five():
    assert len(SPEC.sets) >= 16
    splits = {}
    for cell in SPEC.cells(methods=["gp"]):
        splits.setdefault(cell.set, []).append(cell.partition)
    for name in SPEC.sets:
        assert splits[name] == list(range(1, 1 + (3 if name in league.LARGE else 5)))


def test_peers_with_an_environment_of_their_own_are_computed_only_elsewhere():
    assert not {cell.method for cell in SPEC.cells()} & set(OWN_ENVIRONMENT)


# ------------------------------------------------------------------------------ the data


@pytest.mark.parametrize("name", league.TABLES)
def test_a_split_has_whole_rows_and_all_levels_that_can_be_split(name, data_dir):
    split = league.problem(name, 1)
    wanted = league.TABLES[name]
    assert np.isfinite(split.X).all()
    assert np.isfinite(split.X_test).all()
    assert len(split.y_test) <= league.MOST_TESTED
    assert wanted.rows in (None, len(split.y))
    assert set(split.y_test) <= set(split.y) <= set(range(split.y.max() + 1))


@pytest.mark.parametrize("name", ["smooth-200", "linear", "survey"])
def test_made_up_rows_depend_on_the_seed_alone(name):
    first, again, other = (league.MADE_UP[name](seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first.X, other.X)
    assert set(first.y) == set(range(5))


def test_slopes_of_the_survey_differ_by_level():
    # With one slope for all thresholds, these would be the same up to their standard errors.
    from sklearn.linear_model import LogisticRegression

    split = league.survey(1, n=20_000)
    low, high = (LogisticRegression().fit(split.X, split.y > k).coef_[0] for k in (0, 3))
    assert np.max(np.abs(low - high)) > 0.3


# ------------------------------------------------------------------------------ the scores


def test_scores_are_those_of_floored_probabilities():
    split = Split(np.zeros((2, 1)), np.array([0, 2]), np.zeros((2, 1)), np.array([0, 1]))
    sure = np.array([[1.0, 0.0], [1.0, 0.0]])  # of the levels 0 and 2; 1 was not seen
    found = league.scored(split, np.array([0, 2]), sure, seconds=3.0)
    # Probabilities (1, e, e) / (1 + 2 e) with e = 1e-4, once for level 0 and once for level 1.
    e, whole = 1e-4, 1 + 2e-4
    assert found["log_score"] == pytest.approx((np.log(whole) + np.log(whole / e)) / 2)
    first = (2 * e / whole) ** 2 + (e / whole) ** 2
    second = (1 / whole) ** 2 + (e / whole) ** 2
    assert found["rps"] == pytest.approx((first + second) / 2)
    assert found["mae"] == 0.5
    assert found["processor"] == 3.0


def test_binary_models_that_cross_still_give_probabilities():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 3
    proba = league.lightgbm_binary(X, y, X, 0)
    assert proba.shape == (60, 3)
    assert np.all(proba >= 0)
    assert proba.sum(axis=1) == pytest.approx(1.0)


# ------------------------------------------------------------------------------ the verdicts


def test_a_gap_is_the_paired_difference_to_the_best_peer():
    scores = {
        ("linear", "gp"): [0.30, 0.34],
        ("linear", "multinomial"): [0.20, 0.28],  # best: mean 0.24
        ("linear", "mord"): [0.30, 0.30],
        ("survey", "gp"): [0.5, 0.5],
        ("survey", "multinomial"): [0.7, 0.6],
        ("survey", "mord"): [0.1],  # best, but not on all splits of ours
    }
    spec = replace(SPEC, sets=("linear", "survey"), partitions=2)
    far, near = league.gaps(
        spec, rows_of(spec, scores), "gp", ("multinomial", "mord"), "log_score"
    )
    # Differences 0.10 and 0.06: mean 0.08, deviation sqrt(2) * 0.02, standard error 0.02.
    assert (far.peer.name, far.splits) == ("multinomial", 2)
    assert (far.mean, far.error) == pytest.approx((0.08, 0.02))
    assert far.behind
    assert not far.ahead
    # Differences -0.2 and -0.1: mean -0.15, standard error 0.05.
    assert (near.peer.name, near.mean, near.error) == (
        "multinomial", pytest.approx(-0.15), pytest.approx(0.05),
    )  # fmt: skip
    assert near.ahead
    assert not near.behind


def test_within_two_standard_errors_ours_is_neither_ahead_nor_behind():
    spec = replace(SPEC, sets=("linear",), partitions=2)
    scores = {("linear", "gp"): [0.5, 0.6], ("linear", "mord"): [0.5, 0.5]}
    (gap,) = league.gaps(spec, rows_of(spec, scores), "gp", ("mord",), "rps")
    assert (gap.mean, gap.error) == pytest.approx((0.05, 0.05))
    assert not gap.ahead
    assert not gap.behind


def test_one_split_has_no_verdict():
    spec = replace(SPEC, sets=("linear",), partitions=2)
    scores = {("linear", "gp"): [0.5], ("linear", "mord"): [0.4]}
    assert not league.gaps(spec, rows_of(spec, scores), "gp", ("mord",), "rps")


def test_the_verdict_counts_cells_and_names_those_behind():
    spec = replace(SPEC, sets=("linear", "survey"), partitions=2)
    scores = {
        ("linear", "auto"): [0.30, 0.34], ("linear", "forest"): [0.20, 0.28],
        ("survey", "auto"): [0.5, 0.5], ("survey", "forest"): [0.7, 0.6],
    }  # fmt: skip
    said = table(spec, rows_of(spec, scores)).verdict.splitlines()
    assert said[0] == (
        "auto, ranked probability score: ahead of the best of all peers in 1 of 2 cells; "
        "behind by more than two standard errors in linear (random forest, +0.0800 ± 0.0200)."
    )
    page = league.league_page(spec, rows_of(spec, scores))
    assert (
        "| linear | 2 | 0.3200 | random forest | 0.2400 | +0.0800 ± 0.0200 | **behind**" in page
    )


def test_without_rows_the_report_says_what_is_missing():
    report = table(SPEC, {})
    assert not report.lines
    assert "No rows yet: auto" in report.verdict
    assert "python benchmarks/league.py" in report.verdict


# ------------------------------------------------------------------------------ peers


def test_a_peer_without_its_environment_is_one_sentence_and_no_row(tmp_path, data_dir):
    args = ["reproduce", "league", "--sets", "tae", "--methods", "mord", "--partitions", "1"]
    result = CliRunner().invoke(main, [*args, "--results", str(tmp_path)])
    assert result.exit_code == 2
    said = " ".join(result.stderr.split())
    assert "mord==0.7 has an environment of its own, which is not this one" in said
    assert "python benchmarks/league.py" in said
    assert not Store(tmp_path / "league.jsonl").rows()


def test_the_worker_knows_every_peer():
    script = (ROOT / "benchmarks" / "peer_league.py").read_text(encoding="utf-8")
    known = re.findall(r'^    "([a-z-]+)": \(', script, flags=re.MULTILINE)
    assert known == OWN_ENVIRONMENT


def test_the_tables_of_the_page_are_those_of_the_stored_rows():
    text = (ROOT / "docs" / "league.md").read_text(encoding="utf-8")
    rows = Store(ROOT / "results" / "league.jsonl").rows()
    assert f"<!-- tables -->\n\n{league.league_page(SPEC, rows)}\n\n<!-- end of" in text
