"""Malformed tables are refused in one sentence; unusual ones are read."""

import runpy
from pathlib import Path

import pytest

from ordinality.tables import TableError, features_and_target, read

CASES = runpy.run_path(str(Path(__file__).with_name("malformed.py")))["CASES"]
REFUSED = {name: case for name, case in CASES.items() if case.values is None}
READ = {name: case for name, case in CASES.items() if case.values is not None}


@pytest.mark.parametrize("name", REFUSED)
def test_a_malformed_table_is_refused_in_one_sentence(name, tmp_path):
    case = REFUSED[name]
    path = case.make(tmp_path)
    with pytest.raises(TableError, match=case.says) as refusal:
        features_and_target(read(path), case.target, **case.options)
    sentence = str(refusal.value)
    assert "\n" not in sentence
    assert sentence.endswith((".", "?", "."))
    assert len(sentence) < 400 + len(str(path))


@pytest.mark.parametrize("name", READ)
def test_an_unusual_table_is_read(name, tmp_path):
    case = READ[name]
    table = read(case.make(tmp_path))
    for column, cells in case.values.items():
        assert table.frame[column].to_list() == cells
    said = " ".join(table.notes)
    assert case.says in said if case.says else not said
    task = features_and_target(table, case.target, **case.options)
    assert len(task.y) == len(task.frame) == len(table)
    assert task.notes[: len(table.notes)] == table.notes


def test_there_are_enough_cases():
    assert len(REFUSED) >= 60
    assert len(READ) >= 10
