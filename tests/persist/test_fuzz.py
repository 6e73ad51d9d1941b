"""Changed model files of every estimator: `benchmarks/fuzz_model_files.py`, a part of them."""

import runpy
from pathlib import Path

import pytest

from ordinality import estimators, persist

FUZZ = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "fuzz_model_files.py"))
CASES = 260  # five or six of each file


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    FUZZ["write_corpus"](folder)
    return folder


def test_a_changed_file_is_refused_or_holds_a_model_that_works(corpus):
    found = list(FUZZ["run"](corpus, 17, 0, CASES))
    assert [case["case"] for case in found] == list(range(CASES))
    assert [case for case in found if not FUZZ["sound"](case["outcome"])] == []
    assert any(case["outcome"] == "refused" for case in found)
    assert any(case["outcome"] == "works" for case in found)


def test_a_child_that_dies_is_reported_as_the_case_it_died_of(corpus, tmp_path):
    script = tmp_path / "script.py"
    source = (Path(FUZZ["__file__"])).read_text(encoding="utf-8")
    kill = "def ask(model, rows):\n    os.kill(os.getpid(), 11)\n\n\ndef _ask(model, rows):"
    script.write_text(source.replace("def ask(model, rows):", kill), encoding="utf-8")
    found = list(runpy.run_path(str(script))["run"](corpus, 17, 1, 3))
    assert [case["case"] for case in found] == [1, 2]
    assert [case["outcome"] for case in found] == ["died with -11", "refused"]


def test_every_estimator_is_among_the_files(corpus):
    saved = set()
    for file in corpus.glob("*.skops"):
        about = persist.metadata(file)
        saved |= {about["model"], *about["steps"]}
    assert saved >= set(estimators.__all__)
