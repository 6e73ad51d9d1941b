"""Runs resume where they stopped, however that was, and lose nothing that was finished."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from joblib.externals.loky import get_reusable_executor

from ordinality.experiments.cells import Work, execute, processes, recompute, run, same, todo
from ordinality.experiments.result_rows import Store, cell_of
from ordinality.experiments.spec import Cell, Method, Spec

from . import tiny

HERE = Path(__file__).parent


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "rows" / "tiny.jsonl")


def numbers(rows):
    return [(cell_of(row).key, row["metrics"]) for row in rows]


# ------------------------------------------------------------------------------ cells


def test_a_cell_has_the_same_key_whatever_the_order_of_its_settings():
    one = Cell("e", "s", 1, "m", {"a": 1, "b": 2})
    other = Cell("e", "s", 1, "m", {"b": 2, "a": 1})
    assert one.key == other.key
    assert one.key != Cell("e", "s", 1, "m", {"a": 1, "b": 3}).key
    assert one.key == '["e", "s", 1, "m", {"a": 1, "b": 2}]'  # which finds stored rows


def test_first_partitions_come_first_and_optional_methods_only_when_named():
    spec = tiny.spec(Method("slow", "Slow", tiny.commonest, optional=True))
    cells = list(spec.cells())
    assert [cell.partition for cell in cells] == [1, 1, 1, 1, 2, 2, 2, 2]
    assert {cell.method for cell in cells} == {"commonest", "floored"}
    named = list(spec.cells(sets=["calm"], methods=["slow"], partitions=[2]))
    assert [(c.set, c.method, c.partition) for c in named] == [("calm", "slow", 2)]


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"sets": ["calme"]}, "has no set calme; it has calm, noisy"),
        ({"methods": ["svm"]}, "has no method svm; it has commonest, floored"),
        ({"partitions": [3]}, "has no partition 3; it has 1 to 2"),
    ],
)
def test_what_a_spec_does_not_have_is_named(asked, sentence):
    with pytest.raises(ValueError, match=sentence):
        list(tiny.spec().cells(**asked))


# ------------------------------------------------------------------------------ runs


def test_a_run_fills_the_store_and_a_second_computes_nothing(store):
    told = []
    first = run(
        tiny.spec(), store, progress=lambda done, total, row: told.append((done, total))
    )
    assert told == [(i, 8) for i in range(1, 9)]

    def forbidden(function, works):
        raise AssertionError("a finished cell was run again")

    assert run(tiny.spec(), store, mapper=forbidden) == first
    assert len(store.path.read_text().splitlines()) == 8


def test_every_row_says_what_made_it(store):
    row = run(tiny.spec(), store)[0]
    libraries = {"ordinality", "numpy", "scipy", "scikit-learn", "python"}
    assert set(row["versions"]) == libraries | {"blas"}
    assert row["seed"] == row["partition"] == 1
    assert row["seconds"] >= 0


def test_specs_of_one_experiment_share_their_cells(store):
    run(tiny.spec(), store)
    other = tiny.spec(name="tiny/table-2", sets=("calm",))
    assert todo(other.cells(), store) == []
    assert len(todo(tiny.spec(slow=0.001).cells(), store)) == 4  # other settings, other cells


@pytest.fixture
def tests_found(monkeypatch):
    """Fresh processes that find the tests, where the tiny methods are."""
    monkeypatch.syspath_prepend(HERE.parents[1])
    get_reusable_executor().shutdown(wait=True)
    yield
    get_reusable_executor().shutdown(wait=True)


@pytest.mark.usefixtures("tests_found")
def test_rows_do_not_depend_on_the_number_of_processes(store, tmp_path):
    two = run(tiny.spec(), Store(tmp_path / "two.jsonl"), jobs=2)
    assert numbers(two) == numbers(run(tiny.spec(), store))


def test_any_mapper_will_do_and_its_order_does_not_matter(store, tmp_path):
    def backwards(function, works):
        return (function(work) for work in reversed(list(works)))

    rows = run(tiny.spec(), store, mapper=backwards)
    assert numbers(rows) == numbers(run(tiny.spec(), Store(tmp_path / "plain.jsonl")))


def test_a_failed_cell_is_recorded_and_the_run_goes_on(store):
    spec = tiny.spec(Method("refuses", "Refuses", tiny.refuses))
    rows = run(spec, store)
    failed = [row for row in rows if "error" in row]
    assert len(rows) == 12
    assert [row["error"]["type"] for row in failed] == ["RuntimeError"] * 2
    assert todo(spec.cells(), store) == []
    assert len(todo(spec.cells(), store, retry=True)) == 2


def test_a_cell_that_succeeds_when_retried_replaces_its_failure(store):
    fails = tiny.spec(Method("late", "Late", tiny.refuses))
    run(fails, store)
    mended = tiny.spec(Method("late", "Late", tiny.commonest))
    rows = run(mended, store, retry=True)
    assert not [row for row in rows if "error" in row]
    assert len(rows) == 12


def test_warnings_are_noted_and_not_shown(store):
    def warns(data, seed):
        np.array([1.0]) / 0.0
        return {"zero_one": np.float64("inf"), "mae": 0.0}

    spec = tiny.spec(Method("warns", "Warns", warns))
    row = run(spec, store, cells=list(spec.cells(methods=["warns"])))[0]
    assert row["warned"] == ["RuntimeWarning"]
    assert row["metrics"]["zero_one"] == np.inf  # JSON has no such number; the store has


def test_a_number_of_processes_below_one_is_refused():
    with pytest.raises(ValueError, match="jobs is 0"):
        processes(0)


# ------------------------------------------------------------------------------ interruptions


def test_ctrl_c_leaves_the_finished_rows_and_the_next_run_does_the_rest(store):
    def interrupted(function, works):
        yield function(works[0])
        yield function(works[1])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tiny.spec(), store, mapper=interrupted)
    assert len(store.rows()) == 2
    assert len(todo(tiny.spec().cells(), store)) == 6
    assert len(run(tiny.spec(), store)) == 8


def test_a_killed_run_loses_no_finished_row_and_ends_in_the_same_table(store, tmp_path):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import tiny\n"
        "from ordinality.experiments.cells import run; "
        "from ordinality.experiments.result_rows import Store\n"
        "run(tiny.spec(slow=0.15), Store(sys.argv[2]), "
        "progress=lambda *a: print('row', flush=True))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(HERE), str(store.path)],
        stdout=subprocess.PIPE, text=True, env={**os.environ},
    )  # fmt: skip
    with process:
        assert process.stdout.readline() == process.stdout.readline() == "row\n"
        os.kill(process.pid, signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
    before = store.path.read_text().splitlines()
    assert 2 <= len(before) < 8
    with store.path.open("a") as file:
        file.write('{"experiment": "tiny", "set": "ca')  # as a writer killed in a line leaves
    resumed = run(tiny.spec(slow=0.15), store)
    after = store.path.read_text().splitlines()
    assert after[: len(before)] == before
    assert [json.loads(line)["set"] for line in after]  # every line is whole
    unbroken = run(tiny.spec(slow=0.15), Store(tmp_path / "unbroken.jsonl"))
    assert numbers(resumed) == numbers(unbroken)


# ------------------------------------------------------------------------------ the store


def row_of(partition, **more):
    return {"experiment": "e", "set": "s", "partition": partition, "method": "m",
            "settings": {}, "metrics": {"x": partition}, **more}  # fmt: skip


def test_a_last_line_without_its_newline_is_kept_if_whole_and_dropped_if_torn(store):
    store.path.parent.mkdir()
    store.path.write_text(json.dumps(row_of(1)) + "\n" + json.dumps(row_of(2)))
    with store.writing() as append:
        append(row_of(3))
    store.path.write_text(store.path.read_text() + '{"experiment": "e", "se')
    assert len(store.rows()) == 3
    with store.writing() as append:
        append(row_of(4))
    assert [json.loads(line)["partition"] for line in store.path.read_text().splitlines()] == [
        1,
        2,
        3,
        4,
    ]


def test_a_file_that_is_one_torn_line_becomes_empty(store):
    store.path.parent.mkdir()
    store.path.write_text('{"experi')
    with store.writing() as append:
        append(row_of(1))
    assert len(store.rows()) == len(store.path.read_text().splitlines()) == 1


def test_a_damaged_line_in_the_middle_hides_no_other(store):
    store.path.parent.mkdir()
    lines = [json.dumps(row_of(1)), "\x00\x00", "[]", '"text"', json.dumps(row_of(2))]
    store.path.write_text("\n".join(lines) + "\n")
    assert len(store.rows()) == 2
    assert [problem.partition(":")[0][-6:] for problem in store.problems] == [
        "line 2",
        "line 3",
        "line 4",
    ]


def test_two_runs_do_not_write_to_one_file(store):
    second = Store(store.path).writing()
    with store.writing(), pytest.raises(ValueError, match="another run is writing"):
        second.__enter__()
    with store.writing() as append:  # free again
        append(row_of(1))


def computed(function):
    """The row of a method on a problem that is nothing."""
    return execute(Work(Cell("e", "s", 1, "m"), Method("m", "M", function), lambda *_: None))


def test_a_row_holds_processor_seconds():
    row = computed(lambda data, seed: time.sleep(0.3) or {})
    assert row["seconds"] < 0.2  # a wait costs the processor nothing


def test_a_row_holds_six_decimals():
    found = {"mae": np.float64(2 / 3), "by round": np.array([1 / 3, 0.5]), "n": 3}
    row = computed(lambda data, seed: found)
    assert row["metrics"] == {"mae": 0.666667, "by round": [0.333333, 0.5], "n": 3}


# ------------------------------------------------------------------------------ checks


def test_stored_rows_are_computed_again_and_compared(store):
    run(tiny.spec(), store)
    before = store.path.read_bytes()
    pairs = recompute(tiny.spec(), store, 3, seed=1)
    assert len({cell_of(new).key for _, new in pairs}) == 3
    assert all(same(old, new) for old, new in pairs)
    assert len(recompute(tiny.spec(), store, 99)) == 8  # all there are
    assert store.path.read_bytes() == before


def test_the_draw_follows_its_seed(store):
    run(tiny.spec(), store)
    drawn = [
        [cell_of(new).key for _, new in recompute(tiny.spec(), store, 4, seed=seed)]
        for seed in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]


def test_rows_of_optional_methods_are_checked_too(store):
    spec = tiny.spec(Method("slow", "Slow", tiny.commonest, optional=True))
    run(spec, store, cells=list(spec.cells(methods=["slow"])))
    assert len(recompute(spec, store, 99)) == 4


def test_a_row_that_the_method_does_not_give_is_found(store):
    run(tiny.spec(), store)
    rows = list(store.rows().values())
    with store.writing() as append:
        append(rows[0] | {"metrics": {**rows[0]["metrics"], "mae": 0.123456}})
    wrong = [old for old, new in recompute(tiny.spec(), store, 99) if not same(old, new)]
    assert [cell_of(row).key for row in wrong] == [cell_of(rows[0]).key]


def test_a_view_without_its_own_method_is_computed(store):
    view = Method("shown", "Shown", tiny.commonest, reads="kept")
    spec = tiny.spec(methods=(view,), published={})
    assert {row["method"] for row in run(spec, store)} == {"kept"}


def test_a_work_is_computed_with_one_thread_of_blas():
    from threadpoolctl import threadpool_info

    def threads(data, seed):
        return {"most": max(pool["num_threads"] for pool in threadpool_info())}

    spec = Spec("a/b", "", "", "e", ("s",), 1, (Method("t", "T", threads),), (), tiny.problem)
    row = execute(Work(next(spec.cells()), spec.methods[0], lambda name, partition: None))
    assert row["metrics"]["most"] == 1


def test_cells_are_computed_again_on_request_and_the_new_rows_are_taken(store):
    before = run(tiny.spec(), store)
    done = []
    after = run(tiny.spec(), store, fresh=True, progress=lambda *found: done.append(found))
    assert len(done) == len(before)
    assert numbers(after) == numbers(before)
    assert len(store.path.read_bytes().splitlines()) == 2 * len(before)


def test_rows_are_the_same_to_six_decimals():
    stored = {"metrics": {"mae": 2 / 3, "gone": np.nan}}
    assert same(stored, {"metrics": {"mae": 0.666667, "gone": np.nan}})
    assert not same(stored, {"metrics": {"mae": 0.66666, "gone": np.nan}})
    assert not same(stored, {"error": {"type": "ValueError", "message": ""}})
