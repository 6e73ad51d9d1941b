"""What long fits say while they run: to whom, at which level, and that it changes nothing."""

import logging
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

from ordinality import (
    LabelRankingGP,
    LabelRankingSVM,
    LabelRankingSVMCV,
    LeastSquaresOrdinalGP,
    LowRankImputer,
    OrdinalBoost,
    OrdinalGP,
    OrdinalRegression,
    OrdinalSVM,
    OrdinalSVMCV,
    OrdinalTrees,
    PreferenceGP,
    PreferenceSVM,
    PreferenceSVMCV,
    RankBoost,
)
from ordinality.estimators import fitting

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = np.digitize(X[:, 0] + 0.3 * RNG.normal(size=60), [-0.5, 0.5])
RANKS = 1 + np.argsort(np.argsort(X @ [[1.0, 0.0, -1.0], [0.0, 1.0, 0.3]], axis=1))
PAIRS = np.array([RNG.choice(8, 2, replace=False) for _ in range(20)])
HOLED = np.where(RNG.random((12, 4)) < 0.2, np.nan, RNG.normal(size=(12, 4)))

# The model, its data, the words of a stage and of a step.
CASES = {
    "OrdinalGP": (OrdinalGP(), (X, Y), "60 of 60 observations, ", "evaluation 2: crit"),
    "LeastSquaresOrdinalGP": (
        LeastSquaresOrdinalGP(), (X, Y), "60 of 60 observations, ", "evaluation 2: crit",
    ),
    "PreferenceGP": (PreferenceGP(), (PAIRS,), r"\d+ evaluations: crit", "evaluation 2: crit"),
    "LabelRankingGP": (
        LabelRankingGP(), (X[:20], RANKS[:20]), r"\d+ evaluations: crit", "evaluation 2: crit",
    ),
    "OrdinalRegression": (OrdinalRegression(), (X, Y), "log-likelihood -", "step 2: log-likel"),
    "OrdinalBoost": (
        OrdinalBoost(n_estimators=5), (X, Y), "5 rounds, 5 kept: loss", "round 3 of 5: loss",
    ),
    "OrdinalTrees": (
        OrdinalTrees(20), (X, Y), r"\d+ rounds on all rows", "round 20: log score",
    ),
    "RankBoost": (
        RankBoost(n_estimators=5, validation_fraction=0.3), (X, Y), r"5 rounds, \d kept: loss",
        "round 3 of 5: loss .*, error of held-out rows",
    ),
    "OrdinalSVM": (OrdinalSVM(), (X, Y), "60 rows, .* support vectors", "violation"),
    "OrdinalSVMCV": (
        OrdinalSVMCV(cv=2, log_C=(0, 1), log_kappa=(0, 0), fine_steps=0), (X, Y),
        "search: 4 fits, C ", r"search: fit 2 of 4, about \d+\.\d s left",
    ),
    "PreferenceSVM": (
        PreferenceSVM(), (PAIRS,), "comparisons, .* support vectors", "violation",
    ),
    "LabelRankingSVM": (
        LabelRankingSVM(), (X, RANKS), "comparisons, .* support vectors", "violation",
    ),
    "PreferenceSVMCV": (
        PreferenceSVMCV(X, cv=2, log_C=(0, 1), log_kappa=(0, 0), fine_steps=0), (PAIRS,),
        "search: 4 fits, C ", r"search: fit 2 of 4, about \d+\.\d s left",
    ),
    "LabelRankingSVMCV": (
        LabelRankingSVMCV(cv=2, log_C=(0, 1), log_kappa=(0, 0), fine_steps=0), (X, RANKS),
        "search: 4 fits, C ", r"search: fit 2 of 4, about \d+\.\d s left",
    ),
    "LowRankImputer": (
        LowRankImputer(1), (HOLED,), r"\d+ iterations: objective", "iteration 2: objective",
    ),
}  # fmt: skip
each = pytest.mark.parametrize("name", CASES)


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """A busy machine must not turn steps into stages."""
    monkeypatch.setattr(fitting, "_SILENCE", np.inf)


def fitted(name, **settings):
    model, data, _, _ = CASES[name]
    return clone(model).set_params(**settings).fit(*data)


@each
def test_nothing_is_written_unless_asked_for(name, capfd):
    fitted(name)
    assert capfd.readouterr() == ("", "")


@each
def test_verbose_writes_stages_and_then_steps_to_stderr(name, capfd):
    *_, stage, step = CASES[name]
    fitted(name, verbose=1)
    out, one = capfd.readouterr()
    fitted(name, verbose=2)
    two = capfd.readouterr().err
    assert out == ""
    assert re.search(stage, one)
    assert not re.search(step, one)
    assert re.search(stage, two)
    assert re.search(step, two)
    for line in two.splitlines():  # named, timed, and plain: no escapes, no carriage returns
        assert re.fullmatch(rf"{name}: [\x20-\x7e]+ \(\d+\.\d s\)", line)


@each
def test_the_logger_gets_stages_and_steps_whatever_verbose_is(name, caplog, capfd):
    *_, stage, step = CASES[name]
    caplog.set_level(logging.DEBUG, logger="ordinality")
    fitted(name)
    assert {record.name for record in caplog.records} == {f"ordinality.{name}"}
    said = {
        level: "\n".join(r.getMessage() for r in caplog.records if r.levelno == level)
        for level in (logging.INFO, logging.DEBUG)
    }
    assert re.search(stage, said[logging.INFO])
    assert re.search(step, said[logging.DEBUG])
    assert capfd.readouterr().err == ""


@each
def test_what_is_told_changes_nothing(name, caplog):
    silent = fitted(name)
    caplog.set_level(logging.DEBUG, logger="ordinality")
    told = fitted(name, verbose=2)
    for key, value in vars(silent).items():
        if isinstance(value, np.ndarray | float | int) and key != "verbose":
            np.testing.assert_array_equal(value, vars(told)[key])


@each
@pytest.mark.parametrize("verbose", [-1, "yes", None, 0.5])
def test_a_wrong_verbose_is_refused(name, verbose):
    with pytest.raises(ValueError, match="verbose=.* must be a whole number: 0 for no messa"):
        fitted(name, verbose=verbose)


def test_a_line_is_not_written_twice_where_the_user_handles_it(caplog, capfd):
    caplog.set_level(logging.INFO, logger="ordinality")
    fitted("OrdinalSVM", verbose=1)
    assert "support vectors" in caplog.text
    assert capfd.readouterr().err == ""
    fitted("OrdinalSVM", verbose=2)  # the handler takes no DEBUG: only those lines are written
    assert "violation" in (err := capfd.readouterr().err)
    assert "support vectors" not in err


def test_the_package_configures_no_logging():
    code = (
        "import logging, ordinality; ordinality.OrdinalGP; "
        "root, own = logging.getLogger(), logging.getLogger('ordinality'); "
        "print(root.handlers, root.level, [type(h).__name__ for h in own.handlers], own.level)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout == "[] 30 ['NullHandler'] 0\n"


def test_subsets_of_a_search_are_told_one_by_one(capfd):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(420, 1))
    OrdinalGP(inference="laplace", verbose=1).fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    lines = capfd.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines] == [
        "OrdinalGP: 250 of 420 observations",
        "OrdinalGP: 420 of 420 observations",
    ]


def test_a_step_after_long_silence_is_told_like_a_stage(monkeypatch, capfd):
    monkeypatch.setattr(fitting, "_SILENCE", 0.0)
    fitted("OrdinalBoost", verbose=1, calibration_folds=None)
    err = capfd.readouterr().err
    assert all(f"round {t} of 5: loss" in err for t in range(1, 6))


def test_the_loss_told_is_that_of_the_finished_model(caplog):
    caplog.set_level(logging.DEBUG, logger="ordinality")
    model = RankBoost(n_estimators=3, warm_start=True, calibration_folds=None).fit(X, Y)
    model.set_params(n_estimators=5).fit(X, Y)
    said = [r.getMessage() for r in caplog.records if r.levelno == logging.DEBUG]
    assert [line.partition(" (")[0] for line in said] == [
        f"round {t} of {3 if t < 4 else 5}: loss {model.train_loss_[t]:.6g}"
        for t in range(1, 6)
    ]


def test_the_time_left_is_in_proportion_to_what_is_left(monkeypatch, capfd):
    now = iter([0.0, 0.0, *[30.0] * 3, *[400.0] * 3, *[9000.0] * 3])
    # Of this module alone: threads of other tests, such as a cluster's, read the clock too.
    monkeypatch.setattr(fitting, "time", SimpleNamespace(monotonic=lambda: next(now)))
    tick = fitting.FitLog(OrdinalSVM(verbose=2)).counter("fold", 10)
    for more in (1, 3, 4):
        tick(more)
    assert capfd.readouterr().err.splitlines() == [
        "OrdinalSVM: fold 1 of 10, about 4 min left (30.0 s)",
        "OrdinalSVM: fold 4 of 10, about 10 min left (7 min)",
        "OrdinalSVM: fold 8 of 10, about 38 min left (2.5 h)",
    ]
