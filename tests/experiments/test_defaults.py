"""The comparison of defaults: its problems, and the arithmetic of its table."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ordinality.experiments import defaults, papers
from ordinality.experiments.cells import run
from ordinality.experiments.result_rows import Store
from ordinality.experiments.results_page import table

ROOT = Path(__file__).parents[2]
PRIOR = papers.get("defaults/prior")


def test_there_are_25_shared_sets_and_4_made_up():
    assert len(PRIOR.sets) == len(set(PRIOR.sets)) == 29
    assert len(defaults.MADE_UP) == 4


@pytest.mark.parametrize("name", defaults.MADE_UP)
def test_a_made_up_problem_has_its_rows_and_is_the_same_for_its_seed(name):
    split, other = defaults.split_of(name, 1), defaults.split_of(name, 2)
    assert len(split.y) == defaults.MADE_UP[name]
    assert len(split.y_test) == defaults.N_TEST
    defaults.split_of.cache_clear()
    assert np.array_equal(defaults.split_of(name, 1).X, split.X)
    assert not np.array_equal(other.X, split.X)


@pytest.mark.parametrize("name", ["diabetes", "heart_cleveland", "automobile", "pyrimidines"])
def test_a_shared_set_has_no_empty_cell_and_no_constant_column(name, data_dir):
    split = defaults.split_of(name, 3)
    n = defaults.ORDINAL.get(name) or defaults.METRIC[name][0]
    assert len(split.y) == n
    assert np.isfinite(split.X).all()
    assert np.isfinite(split.X_test).all()
    assert np.all(np.ptp(split.X, axis=0) > 0)


def test_cells_of_a_table_are_counted_in_levels_of_equal_frequency(data_dir):
    split = defaults.split_of("pyrimidines", 1)
    counts = np.bincount(np.concatenate([split.y, split.y_test]))[1:]
    assert counts.tolist() == [15, 15, 15, 15, 14]  # 74 rows


def test_inputs_of_smooth_functions_matter_less_and_less():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 8))
    moved = []
    for j in range(8):
        Y = X.copy()
        Y[:, j] = rng.standard_normal(400)
        f = defaults.smooth_functions(np.vstack([X, Y]), 20, np.random.default_rng(1))
        moved.append(np.mean((f[:400] - f[400:]) ** 2))
    assert np.all(np.diff(moved) < 0)


# ------------------------------------------------------------------------------ the table


def tiny():
    return replace(
        PRIOR, sets=("a", "b_c"), partitions=4, methods=PRIOR.methods[:2], metrics=PRIOR.metrics
    )


def row(rps, log_score, evaluations=10, seconds=1.0):
    found = {"rps": rps, "log_score": log_score, "evaluations": evaluations}
    return {"metrics": found, "seconds": seconds}


def rows_of(spec, name, method, scores):
    cells = [spec.cell(name, k, spec.method(method)) for k in range(1, len(scores) + 1)]
    return {c.key: row(*score) for c, score in zip(cells, scores, strict=True)}


@pytest.fixture
def rows():
    spec = tiny()
    return {
        **rows_of(spec, "a", "default", [(0.5, 1.0), (0.6, 1.0), (0.7, 1.0), (0.8, 1.0)]),
        **rows_of(spec, "a", "isotropic", [(0.51, 1.0), (0.61, 1.1), (0.73, 0.9), (0.83, 1.0)]),
        **rows_of(spec, "b_c", "default", [(0.5, 1.0), (0.5, 1.0)]),
        **rows_of(spec, "b_c", "isotropic", [(0.49, 1.0), (0.492, 1.2), (0.4, 1.0)]),
    }


def test_differences_are_paired_with_their_standard_error(rows):
    found = {(g.set, g.metric.name): g for g in defaults.gaps(tiny(), rows)}
    ahead = found["a", "rps"]
    # 10, 10, 30, 30 thousandths: mean 20, variance 400/3, and sqrt(400/3/4) = 5.77.
    assert (ahead.mean, ahead.error) == pytest.approx((0.02, 0.0057735), rel=1e-5)
    assert ahead.verdict == 1
    assert str(ahead) == "+20.0 ± 5.8"
    assert found["a", "log_score"].verdict == 0


def test_splits_that_only_one_method_has_are_left_out(rows):
    behind = {(g.set, g.metric.name): g for g in defaults.gaps(tiny(), rows)}["b_c", "rps"]
    assert behind.values == pytest.approx([-0.01, -0.008])
    assert behind.verdict == -1


def test_the_table_marks_and_names_what_is_behind(rows):
    found = table(tiny(), rows)
    assert found.titles[:4] == ["set", "default, RPS", "default, log score", "isotropic, RPS"]
    assert found.lines[0] == ["a", "0.650", "1.000", "+20.0 ± 5.8", "+0.0 ± 40.8"]
    assert found.lines[-1] == ["ahead / behind", "", "", "1 / 1", "0 / 0"]
    assert found.bold == {(1, 3)}
    assert "behind in 1 (25.0%)" in found.verdict
    assert "b c isotropic RPS (−9.0 ± 1.0)" in found.verdict
    # One tail of Student's t beyond 2: 0.0697 with 3 degrees of freedom, 0.1476 with 1.
    assert "behind in 10.9%" in found.verdict
    assert "10 evaluations a fit in the median" in found.verdict


def test_a_table_without_rows_says_so():
    found = table(tiny(), {})
    assert found.lines[0][1:] == ["missing"] * 4
    assert "Nothing has been computed" in found.verdict


# ------------------------------------------------------------------------------ the methods


def test_the_methods_give_every_metric(tmp_path):
    """On few rows of a made-up problem, and on few comparisons."""
    split = defaults.split_of("smooth_200", 1)
    few = split._replace(X=split.X[:40], y=split.y[:40])
    found = defaults.ordinal_gp(few, 1)
    wanted = {"rps", "log_score", "mae_median", "mae_mode", "evaluations", "log_evidence"}
    assert set(found) == wanted
    assert 0 < found["rps"] < 0.8  # five levels of equal frequency, sum over thresholds
    spec = replace(papers.get("defaults/preferences"), sets=("items_100",), partitions=1)
    (first, *_) = run(spec, Store(tmp_path / "x.jsonl"), cells=list(spec.cells())[:1])
    assert set(first["metrics"]) == {"pair_error", "log_score", "evaluations"}
    assert first["metrics"]["pair_error"] < 0.5


@pytest.mark.parametrize("name", ["prior", "preferences"])
def test_the_page_shows_the_stored_table(name):
    spec = papers.get(f"defaults/{name}")
    found = table(spec, Store(ROOT / "results" / f"{spec.experiment}.jsonl").rows())
    page = (ROOT / "docs" / "hyperpriors.md").read_text(encoding="utf-8")
    shown = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines()]
    for i, line in enumerate(found.lines):
        assert [f"**{x}**" if (i, j) in found.bold else x for j, x in enumerate(line)] in shown
