"""Progress: what is being done and how long it takes, as a bar or as a few plain lines."""

from types import SimpleNamespace

import pytest

from ordinality._compile import loop
from ordinality.cli import output
from ordinality.cli.output import progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test moves: ``clock[0] += 3``."""
    now = [100.0]
    monkeypatch.setattr(output, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def lines(capsys):
    return capsys.readouterr().err.splitlines()


def test_without_a_terminal_progress_is_plain_lines(capsys, clock):
    with progress("fitting") as tick:
        tick("gp, fold 1 of 10", 0.0)
        clock[0] += 30.0
        tick("boost, fold 3 of 10", 0.25)
    # A quarter took 30 s, so the rest takes 90.
    assert lines(capsys) == ["fitting: boost, fold 3 of 10; about 90 s left"]


def test_short_work_prints_no_progress(capsys, clock):
    with progress("fitting") as tick:
        for fold in range(10):
            clock[0] += 0.15
            tick(f"gp, fold {fold + 1} of 10", fold / 10)
    assert lines(capsys) == []


def test_a_long_model_gets_a_line_every_ten_seconds(capsys, clock):
    with progress("fitting") as tick:
        for fold in range(100):
            tick(f"gp, fold {fold + 1} of 100", fold / 100)
            clock[0] += 1.0
    said = lines(capsys)
    assert 9 <= len(said) <= 11
    assert all(line.startswith("fitting: gp, fold ") for line in said)
    assert said[-1].endswith(" s left")


def test_counters_do_not_make_a_new_subject(capsys, clock):
    with progress("gpor/table-2") as tick:
        for cell in range(30):
            tick(f"{cell} of 30 cells done", cell / 30)
            clock[0] += 1.0
    assert len(lines(capsys)) == 3


def test_every_model_that_takes_some_seconds_is_named(capsys, clock):
    with progress("fitting") as tick:
        for i, name in enumerate(["gp", "linear", "boost"]):
            for fold in range(5):
                tick(f"{name}, fold {fold + 1} of 5", (5 * i + fold) / 15)
                clock[0] += 1.0
    assert [line.split()[1] for line in lines(capsys)] == ["gp,", "linear,", "boost,"]


def test_long_times_are_given_in_minutes(capsys, clock):
    with progress("fitting") as tick:
        clock[0] += 60.0
        tick("gp, fold 2 of 10", 0.1)
    assert lines(capsys) == ["fitting: gp, fold 2 of 10; about 9 min left"]


def test_a_terminal_gets_a_bar_with_the_model_and_the_fold(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    with progress("fitting") as tick:
        tick("boost, fold 3 of 10", 0.25)
    shown = capsys.readouterr().err
    assert "fitting: boost, fold 3 of 10" in shown
    assert "25%" in shown
    assert "left" in shown


def test_a_line_says_once_that_code_is_compiled(capsys):
    made = {}
    exec("def half(x):\n    return 0.5 * x", made)  # no source file, so nothing is cached
    output._say_that_code_is_compiled.cache_clear()
    for number in (1, 2.0):  # of two types: each is compiled
        with output.progress("fitting"):
            loop(made["half"])(number)
    assert capsys.readouterr().err.count("Compiling code for this machine") == 1
    with output.progress("fitting"):
        pass
    assert not capsys.readouterr().err
