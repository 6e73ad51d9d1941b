"""``ordinality ask``: questions to stderr, the ranking to stdout, answers in a store."""

import json
import re
import sqlite3
import sys
from importlib import import_module

import click
import pytest

from ordinality.panel import rank_answers
from ordinality.panel.store import AnswerStore
from ordinality.tables import read

command = import_module("ordinality.cli.ask")

FILMS = ["Ran", "Ikiru", "Stalker", "Solaris", "Mirror", "Alien", "Brazil", "Heat"]


@pytest.fixture
def films(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "films.txt"
    path.write_text("\n".join(FILMS) + "\n\n")
    return path


def pairs_of(stderr):
    """The pairs that were shown, in order."""
    left = re.findall(r"^  1 / left    (.*)$", stderr, re.M)
    right = re.findall(r"^  2 / right   (.*)$", stderr, re.M)
    return list(zip(left, right, strict=True))


def stored(path):
    """Left, right and value of the answers that count."""
    with AnswerStore(path) as store:
        study = store.study("films")
        name = {item.id: item.key for item in study.items}
        return [(name[g.left], name[g.right], g.value) for g in store.answers(study.id)]


# ---------------------------------------------------------------- a session


def test_answers_are_stored_and_the_results_are_written(run, films):
    result = run("ask", films, input="1\n2\n=\nq\n")
    assert result.exit_code == 0
    shown = pairs_of(result.stderr)
    assert len(shown) == 4
    assert stored("films.ordinality") == [
        (*shown[0], 1), (*shown[1], -1), (*shown[2], 0)
    ]  # fmt: skip
    ranking, answers = read("films.ranking.csv"), read("films.answers.csv")
    assert ranking.names == ("rank", "item", "utility", "first", "last", "answers")
    assert sorted(ranking.frame["item"].to_list()) == sorted(FILMS)
    assert answers.frame["winner"].to_list() == [shown[0][0], shown[1][1], "tie"]
    assert answers.frame["judge"].to_list() == ["me"] * 3
    assert result.stdout.startswith("rank")
    assert "Not settled yet: the probability that fewer than 10 %" in result.stdout
    assert "3 answers" in result.stderr.splitlines()[-1]
    assert all(name in films.with_name("films.ranking.html").read_text() for name in FILMS)


def test_without_jinja2_the_results_are_tables(run, films, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    result = run("ask", films, input="1\nq\n")
    assert result.exit_code == 0
    assert "Reports need jinja2" in result.stderr
    assert films.with_name("films.ranking.csv").exists()
    assert not films.with_name("films.ranking.html").exists()


def test_the_ranking_is_that_of_the_written_answers(run, films):
    run("ask", films, input="1\n2\n=\n1\n1\n2\n1\n1\n" * 4 + "q\n")
    ranking, said = read("films.ranking.csv").frame, read("films.answers.csv").frame
    value = [
        0 if winner == "tie" else 1 if winner == left else -1
        for left, winner in zip(said["left"], said["winner"], strict=True)
    ]
    pairs = list(zip(said["left"], said["right"], strict=True))
    again = rank_answers(pairs, value, judges=said["judge"].to_list(), weights=said["weight"])
    assert [found.item for found in again.items] == ranking["item"].to_list()
    expected = [found.utility for found in again.items]
    assert ranking["utility"].to_list() == pytest.approx(expected, abs=1e-9)
    printed = json.loads(run("rank", "films.answers.csv", "--json").stdout)["items"]
    assert [found["item"] for found in printed] == ranking["item"].to_list()
    expected = [found["utility"] for found in printed]
    assert ranking["utility"].to_list() == pytest.approx(expected, abs=1e-9)


def test_the_same_command_goes_on_where_it_stopped(run, films):
    whole = pairs_of(run("ask", films, "--store", "whole.ordinality", input="1\n" * 12).stderr)
    first = pairs_of(run("ask", films, input="1\n" * 5).stderr)  # the input ends: stop
    second = pairs_of(run("ask", films, input="1\n" * 7).stderr)
    assert first[:5] + second == whole
    assert first[-1] == second[0]


def test_undo_brings_the_same_question_back(run, films):
    result = run("ask", films, input="1\nu\nu\n2\ns\nu\nq\n")
    first, second, again, still, *rest = pairs_of(result.stderr)
    assert again == first != second
    assert "There is nothing to undo." in result.stderr
    assert stored("films.ordinality") == [(*first, -1)]
    assert rest[-1] == still  # undone: the skip, not the answer


def test_help_the_ranking_and_unknown_keys_ask_nothing_new(run, films):
    result = run("ask", films, "--goal", "top:3", input="?\np\nx\n!1\n1\nq\n")
    assert "2 of these 3: how likely 2 of the first 3 in the ranking" in result.stderr
    assert len(pairs_of(result.stderr)) == 2
    assert "the left arrow: the first is better" in result.stderr
    assert "(place 1 to 8)" in result.stderr
    assert "'x' is not an answer here; ? explains the keys." in result.stderr
    assert "'much better' is not an answer in this study" in result.stderr
    assert len(stored("films.ordinality")) == 1


def test_degrees_are_answers_where_they_were_asked_for(run, films):
    result = run("ask", films, "--grades", "--no-ties", input="!1\n!2\n=\n1\nq\n")
    assert [value for *_, value in stored("films.ordinality")] == [2, -2, 1]
    assert "'equal' is not an answer in this study" in result.stderr
    assert read("films.answers.csv").frame["winner"].to_list() == [2, -2, 1]


def test_a_table_gives_names_and_features(run, films):
    rows = [f"{i},{name},{1950 + i},{'x' if i else ''}" for i, name in enumerate(FILMS)]
    films.with_suffix(".csv").write_text("year,title,length,note\n" + "\n".join(rows) + "\n")
    result = run("ask", "films.csv", "--goal", "best", input="1\n" * 5)
    assert result.exit_code == 0
    assert "Features of the items: year, length." in result.stderr
    assert "note" in result.stderr
    assert re.search(r"5 answers +\w+ is the best: \d+ %", result.stderr)


def test_the_goal_and_the_most_answers_end_a_session(run, films):
    result = run("ask", films, "--goal", "top:3", "--most", "6", input="1\n" * 50)
    assert len(stored("films.ordinality")) == 6
    assert "2 of these 3: " in result.stderr
    assert "These were 6 answers; go on with a larger --most." in result.stderr


def test_a_settled_goal_ends_a_session(run, films, monkeypatch):
    asked, show = [], command._Talk._show

    def remember(talk, question, standing):
        asked.append([FILMS.index(talk.session.study.items[i].key) for i in question[:2]])
        show(talk, question, standing)

    monkeypatch.setattr(command._Talk, "_show", remember)
    monkeypatch.setattr(
        command._Talk, "_line", lambda _: "1" if asked[-1][0] < asked[-1][1] else "2"
    )
    result = run("ask", films, "--goal", "top:3", "--no-ties")
    assert "Settled: at least 2 of the first 3 are among the best 3" in result.stdout
    assert 8 <= len(stored("films.ordinality")) < 28


def test_a_new_item_joins_and_is_asked_about_first(run, films):
    run("ask", films, input="1\n" * 6)
    films.write_text(films.read_text() + "Playtime\n")
    result = run("ask", films, input="q\n")
    assert "New items: 1." in result.stderr
    assert "Playtime" in pairs_of(result.stderr)[0]


def test_without_an_answer_nothing_is_written_but_the_store(run, films):
    result = run("ask", films, input="q\n")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "There are no answers yet" in result.stderr
    assert {path.name for path in films.parent.iterdir()} == {"films.txt", "films.ordinality"}


def test_ctrl_c_loses_nothing_and_says_where_the_answers_are(run, films, monkeypatch):
    typed = iter(["1", "2"])

    def line(talk):
        try:
            return next(typed)
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr(command._Talk, "_line", line)
    result = run("ask", films)
    assert result.exit_code == 130
    assert "films.ordinality keeps 2 answers, and the same command goes on." in result.stderr
    assert len(stored("films.ordinality")) == 2


def test_names_cannot_control_the_terminal(run, films):
    films.write_text("safe\n\x1b[2Jred\n\x07bell\n")
    result = run("ask", films, input="1\n2\np\nq\n")
    assert "\x1b" not in result.stderr + result.stdout
    assert r"\x1b[2Jred" in result.stderr


# ---------------------------------------------------------------- single keys


def typing(monkeypatch, keys, clock):
    typed = iter(keys)
    monkeypatch.setattr(click, "getchar", lambda: next(typed))
    monkeypatch.setattr(command.time, "monotonic", clock)


def test_keys_mean_what_the_help_says(monkeypatch):
    typing(monkeypatch, ["1", "\x1b[C", "!", "2", "\x7f", "U"], lambda: 0.0)
    typed = [command._key() for _ in range(5)]
    found = [command.KEYS.get(key) or command.KEYS[key.lower()] for key in typed]
    assert found == ["left", "right", "right!", "undo", "undo"]


def test_the_end_of_the_input_is_a_wish_to_stop(monkeypatch):
    def ended():
        raise EOFError

    monkeypatch.setattr(click, "getchar", ended)
    assert command._key() == "q"


def test_a_key_held_down_counts_once(monkeypatch):
    talk = object.__new__(command._Talk)
    talk.plain, talk.ties, talk.graded = False, True, False
    times = iter([0.0, 0.03, 0.06, 0.7])
    typing(monkeypatch, ["1", "1", "2"], lambda: next(times))
    assert talk._heard() == ("right", 0.7)


# ---------------------------------------------------------------- wrong input


@pytest.fixture
def begun(run, films):
    run("ask", films, input="1\nq\n")
    return films


def refused(result, message):
    assert result.exit_code == 2
    assert re.search(message, result.stderr.splitlines()[-1])
    assert result.stderr.splitlines()[-1].startswith("Error: ")
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "has 0 items; wanted from 2 to 500"),
        ("Ran\n", "has 1 items"),
        ("Ran\nIkiru\nRan\n", "names 'Ran' twice, in lines 1 and 3"),
        (b"\xff\xfe\x00R\xc3(", "not text in UTF-8"),
        ("\n".join(map(str, range(501))), "has 501 items"),
    ],
)
def test_a_list_that_cannot_be_asked_about_is_one_sentence(run, films, content, message):
    films.write_bytes(content if isinstance(content, bytes) else content.encode())
    refused(run("ask", films), message)
    assert not films.with_suffix(".ordinality").exists()


@pytest.mark.parametrize(
    ("content", "args", "message"),
    [
        ("n,m\n1,2\n2,3\n", [], "has no column of text; say which"),
        ("title,year\nRan,1\nIkiru,2\n", ["--key", "titel"], "did you mean 'title'"),
        ("title,year\nRan,1\n,2\n", ["--key", "title"], "no name in line 3"),
        ("title\nRan\nIkiru\nHeat\n", ["--goal", "top:3"], "There are 3 items, .* best or"),
        ("t\nA\nB\nC\nD\nE\n", ["--goal", "top:4"], "5 items, .* best 4 .* top:3 or less"),
        ("title\nRan\nIkiru\nHeat\n", ["--goal", "worst"], "'worst' is not a goal"),
        ("title\nRan\nIkiru\nHeat\n", ["--stop", "1"], "1.0 is not in the range"),
        ("title\nRan\nIkiru\nHeat\n", ["--judge", " "], "name of the judge is empty"),
        ("title\nRan\nIkiru\nHeat\n", ["--store", "no/a.b"], "There is no folder no"),
    ],
)
def test_a_wrong_table_or_option_is_one_sentence(run, films, content, args, message):
    path = films.with_suffix(".csv")
    path.write_text(content)
    refused(run("ask", path, *args), message)


def test_items_and_settings_must_be_those_that_the_store_has(run, begun):
    refused(run("ask", begun, "--seed", 5), "begun with other seed")
    refused(run("ask", begun, "--no-ties"), "begun with other ties")
    begun.write_text("\n".join(FILMS[1:]))
    refused(run("ask", begun), "no longer has 'Ran', which .* has; put it back")


def test_a_store_that_cannot_be_used_is_one_sentence(run, films):
    store = films.with_suffix(".ordinality")
    store.write_text("not a store " * 100)
    refused(run("ask", films), "is not a store of answers; name another file")
    store.unlink()
    with sqlite3.connect(store) as db:
        db.execute("create table mine (n)")
    db.close()
    refused(run("ask", films), "is a database, but not a store of answers")


def test_a_store_that_was_damaged_says_so(run, begun):
    store = begun.with_suffix(".ordinality")
    content = store.read_bytes()
    store.write_bytes(content[: len(content) // 2])
    refused(run("ask", begun), "is damaged; restore it from a copy")
    store.write_bytes(content[:50])
    refused(run("ask", begun), "is damaged; restore it from a copy")


def test_a_store_of_a_newer_version_or_of_another_study_is_refused(run, begun):
    store = begun.with_suffix(".ordinality")
    others = begun.with_name("books.txt")
    others.write_text("Emma\nUlysses\n")
    refused(
        run("ask", others, "--store", store), "holds the answers about 'films', not 'books'"
    )
    with sqlite3.connect(store) as db:
        db.execute("insert into schema_version (n, at) values (99, '')")
    db.close()
    refused(run("ask", begun), "written by a newer ordinality .version 99")


def test_a_folder_is_not_a_store(run, films):
    films.with_suffix(".ordinality").mkdir()
    refused(run("ask", films), "is a folder")


def test_a_store_that_another_program_writes_to_is_waited_for(run, begun, monkeypatch):
    monkeypatch.setattr("ordinality.panel.store.PATIENCE", 0.1)
    db = sqlite3.connect(begun.with_suffix(".ordinality"), isolation_level=None)
    db.execute("begin immediate")
    refused(run("ask", begun, input="1\nq\n"), "is in use by another program; close that one")
    db.execute("rollback")
    db.close()
    assert run("ask", begun, input="1\nq\n").exit_code == 0


def test_results_of_others_are_not_replaced(run, films):
    films.with_name("films.ranking.csv").write_text("mine")
    refused(run("ask", films), "films.ranking.csv exists, and the results would replace it")
    refused(run("ask", "-"), "Standard input has the answers")
    refused(run("ask", "film.txt"), "did you mean 'films.txt'")
    assert films.with_name("films.ranking.csv").read_text() == "mine"
