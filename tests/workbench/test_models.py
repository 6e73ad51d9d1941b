"""Which models are tried: selected by the size of the table, with a limit of the time."""

import inspect
import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from ordinality._compile import loop, watch
from ordinality.workbench import (
    BASELINES,
    MODELS,
    Assessment,
    Skipped,
    assess,
    baselines,
    folds,
    model,
    study_of,
)
from ordinality.workbench.models import (
    COSTS,
    TRIED,
    Cost,
    Frequencies,
    Size,
    candidates,
    processor_time,
)

WINE = Size(rows=72, columns=21, levels=5)


@pytest.fixture
def slow(monkeypatch):
    """``slow(seconds)``: a clock by which every fold takes that long."""

    def install(seconds):
        ticks = itertools.count(0.0, seconds)
        clock = SimpleNamespace(process_time=lambda: next(ticks))
        monkeypatch.setattr("ordinality.workbench.models.time", clock)

    return install


@pytest.fixture
def few(monkeypatch):
    """The automatic choice between three models that are quickly fitted."""
    monkeypatch.setattr("ordinality.workbench.models.TRIED", ("plsor", "linear", "svm"))


def outcome(found):
    return (
        found.choice.reason,
        [(one.name, one.scores) for one in found.assessments],
        found.skipped,
    )


# ---------------------------------------------------------------- the estimate


def test_every_model_and_baseline_has_an_estimated_cost():
    assert set(COSTS) >= {*MODELS, *BASELINES}
    for one in [*MODELS.values(), *baselines(100), *baselines(1000)]:
        assert one.cost.of_fold(WINE) > 0


def test_a_larger_table_never_costs_less():
    larger = [WINE._replace(rows=700), WINE._replace(columns=40), WINE._replace(levels=9)]
    for cost in COSTS.values():
        assert all(cost.of_fold(size) >= cost.of_fold(WINE) for size in larger)


def test_the_cost_of_a_choice_is_that_of_its_folds():
    quadratic = Cost(fixed=0.5, scale=1e-6, a=2, b=1, c=0)
    assert quadratic.of_fold(Size(1000, 4, 3)) == pytest.approx(0.5 + 4.0)
    cost = Cost(fixed=1.0, scale=0.01, a=1.0, b=0.0, c=0.0)
    assert cost.of_folds(Size(100, 3, 3), 5) == pytest.approx(5 * (1 + 0.8))


def test_as_many_rows_are_fitted_to_as_the_time_allows():
    quadratic, size = Cost(fixed=0.5, scale=1e-6, a=2, b=1, c=0), Size(10**6, 4, 3)
    assert quadratic.rows_within(4.5, size) == 1000  # 0.5 + 4e-6 rows^2 seconds
    assert quadratic.rows_within(4.5, size._replace(rows=900)) == 900
    assert quadratic.rows_within(None, size) == 10**6
    assert quadratic.rows_within(0.0, size) == 1


def test_gaussian_processes_are_tried_at_20_000_rows():
    budget = inspect.signature(study_of).parameters["budget"].default
    for columns, levels in ((4, 5), (10, 5), (20, 5), (10, 10)):
        tried, _ = candidates(Size(20_000, columns, levels), 5, budget)
        assert {"gp", "linear", "mlr", "trees", "boost-trees"} <= {one.name for one in tried}
    tried, skipped = candidates(Size(20_000, 20, 5), 5, budget)
    assert [one.name for one in skipped] == ["forest", "class-trees"]


def test_a_cost_may_change_where_inducing_points_begin():
    cost = Cost(0.0, 1e-6, 2, 0, 0, Cost(5.0, 1e-5, 1, 0, 0))
    assert cost.of_fold(Size(2000, 4, 3)) == pytest.approx(4.0)
    assert cost.of_fold(Size(100_000, 4, 3)) == pytest.approx(6.0)


@pytest.mark.parametrize("rows", [200, 20_000, 2_000_000])
def test_nothing_cubic_is_tried_on_many_rows(rows):
    tried, skipped = candidates(Size(rows, 8, 5), 5, budget=600.0)
    assert tried
    if rows >= 20_000:
        names = {one.name for one in tried}
        assert "gp" in names or rows > 20_000
        assert rows == 20_000 or {one.name for one in skipped} >= {"forest", "gp"}


def test_all_models_are_tried_on_a_small_table():
    tried, skipped = candidates(WINE, 10, budget=60.0)
    assert [entry.name for entry in tried] == [name for name in TRIED if name != "class-trees"]
    assert len(TRIED) == 7
    assert skipped == []


def test_class_trees_are_tried_from_500_rows_on():
    few, many = ([one.name for one in candidates(Size(n, 6, 4), 5)[0]] for n in (499, 500))
    assert set(many) - set(few) == {"class-trees"}


def test_on_large_tables_the_forest_is_left_out_first():
    budgets = (280.0, 340.0)  # seconds for all but two, and for class-trees too
    few, more = (candidates(Size(50_000, 10, 5), 5, budget=seconds) for seconds in budgets)
    assert [one.name for one in few[1]] == ["forest", "class-trees"]
    tried, skipped = more
    assert [entry.name for entry in tried][:4] == ["gp", "linear", "mlr", "trees"]
    assert [one.name for one in skipped] == ["forest"]
    assert "50,000 rows" in skipped[0].reason
    assert "--" not in skipped[0].reason  # only the command line names options


def test_estimates_add_up_to_no_more_than_the_budget():
    for budget in (5.0, 60.0, 600.0):
        tried, _ = candidates(Size(1500, 20, 5), 5, budget=budget)
        total = sum(entry.cost.of_folds(Size(1500, 20, 5), 5) for entry in tried)
        assert total <= budget or len(tried) == 1


def test_if_no_model_is_within_the_budget_the_cheapest_is_tried():
    tried, skipped = candidates(WINE, 10, budget=0.0)
    assert len(tried) == 1
    cost = {entry.name: entry.cost.of_folds(WINE, 10) for entry in candidates(WINE, 10)[0]}
    assert tried[0].name == min(cost, key=cost.get)
    assert len(skipped) == 5


# ---------------------------------------------------------------- the time limit


def test_the_choice_does_not_depend_on_the_speed_of_the_machine(problem, few, slow):
    as_it_is = outcome(study_of(problem, n_splits=2))
    slow(40.0)  # four minutes in all, twice the budget
    assert outcome(study_of(problem, n_splits=2)) == as_it_is


def test_the_time_limit_is_reported(problem, few, slow):
    slow(2000.0)
    found = study_of(problem, n_splits=2)
    # The one with the lowest estimated cost is assessed nevertheless.
    assert [one.name for one in found.assessments] == ["linear"]
    stopped = {one.name: one.reason for one in found.skipped}
    assert "stopped after 1 of 2 folds by the time limit of 1800 s" in stopped["plsor"]
    assert "stopped after 0 of 2 folds" in stopped["svm"]
    assert any("the time limit was reached" in said for said in found.warnings)
    assert [one.name for one in found.baselines] == list(BASELINES)


def test_models_that_were_finished_before_the_stop_are_kept(problem, slow):
    slow(10.0)
    entries = [model("linear"), model("svm"), *baselines(len(problem))]
    answers = assess(problem, entries, folds(problem, n_splits=2), max_seconds=25.0)
    assert [type(one) for one in answers] == [Assessment, Skipped, Assessment, Assessment]


def test_a_requested_model_is_never_stopped(problem, slow):
    slow(1e6)
    found = study_of(problem, "linear", n_splits=2)
    assert found.skipped == ()
    assert found.choice.selected.name == "linear"


# ---------------------------------------------------------------- progress


def test_progress_names_the_model_and_the_fold_and_how_much_is_done(problem):
    said = []
    study_of(
        problem, "svm", n_splits=2, progress=lambda what, share: said.append((what, share))
    )
    words = [what for what, _ in said]
    assert words[:3] == ["svm, fold 1 of 2", "svm, fold 2 of 2", "frequencies, fold 1 of 2"]
    at = words.index("svm, all rows")
    assert words[at + 1] == "effects, refit 1 of 50"
    assert words[-1].startswith("effects, ")
    shares = [share for _, share in said]
    assert shares[0] == 0.0
    assert np.all(np.diff(shares) > 0)
    assert shares[-1] < 1.0


def test_compilation_is_not_part_of_the_cost_of_a_model():
    made = {}
    exec("def half(x):\n    return 0.5 * x", made)  # no source file, so nothing is cached
    half = loop(made["half"])
    assert half.compiled is not None  # numba is imported by now
    with watch(lambda: None) as compiling, processor_time() as spent:
        half(3.0)
    assert compiling.seconds > 0.0
    assert spent.seconds < compiling.seconds


def test_the_frequencies_leave_no_level_without_probability():
    baseline = Frequencies(levels=["low", "high"]).fit([[0], [0], [0]], ["low"] * 3)
    assert baseline.predict_level_proba([[1]]).tolist() == [[3.5 / 4, 0.5 / 4]]
