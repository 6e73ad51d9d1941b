"""``ordinality serve``: what it prints, what it refuses, and how it ends."""

import json
import os
import signal
import stat
import subprocess
import sys
import urllib.request

import pytest

from ordinality.panel.managed_store import ManagedStore

PROGRAM = [sys.executable, "-c", "from ordinality.cli import main; main()", "serve"]


@pytest.fixture
def films(tmp_path):
    path = tmp_path / "films.csv"
    path.write_text("title,text,not_for\nRan,A king.,ann\nIkiru,A clerk.,\nVertigo,A fall.,\n")
    return path


def started(*args):
    """A server that says where it is; to be ended by the test."""
    process = subprocess.Popen(
        [*PROGRAM, *map(str, args), "--port", "0", "--json", "--no-open"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    return process, json.loads(process.stdout.readline())


def test_it_prints_links_asks_refuses_a_second_server_and_ends_on_ctrl_c(films, tmp_path, run):
    judges = tmp_path / "judges.csv"
    judges.write_text("name,quota\nann,5\nbob,\n")
    process, links = started(films, "--judges", judges)
    try:
        assert links["judge"].startswith(f"{links['address']}/j/")
        with urllib.request.urlopen(f"{links['address']}/healthz", timeout=30) as page:
            assert json.load(page)["store"] == "ok"
        second = run("serve", films, "--port", "0", "--no-open")
        assert second.exit_code == 2
        assert f"served already at {links['address']}" in second.stderr
        port = links["address"].rpartition(":")[2]
        other = films.with_name("other.csv")
        other.write_text("name\nA\nB\n")
        third = run("serve", other, "--port", port, "--no-open")
        assert third.exit_code == 2
        assert "choose another port" in third.stderr
    finally:
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "keeps 0 answers" in said
    assert links["judge"].rpartition("/")[2] not in said
    written = tmp_path / "films.links.csv"
    assert links["judge"] in written.read_text()
    assert os.name == "nt" or stat.S_IMODE(written.stat().st_mode) == 0o600


def test_a_folder_and_a_list_of_the_package_are_served(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    essays = tmp_path / "essays"
    essays.mkdir()
    for name in "abc":
        (essays / f"{name}.txt").write_text(f"Essay {name}.")
    for items, store, shown in (
        (essays, "essays.ordinality", {"a", "b", "c"}),
        ("@citations", "citations.ordinality",
         {"Biometrika", "Communications in Statistics", "JASA", "JRSS-B"}),
    ):  # fmt: skip
        process, _ = started(items)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode == 0
        with ManagedStore(tmp_path / store) as kept:
            (slug,) = kept.slugs()
            assert slug == store.partition(".")[0]
            assert {each.key for each in kept.study(slug).items} == shown


@pytest.mark.parametrize("command", ["serve", "ask"])
def test_a_table_of_the_package_that_compares_no_items_is_refused(run, tmp_path, command):
    refused = run(command, "@wine", "--store", tmp_path / "wine.ordinality")
    assert refused.exit_code == 2
    assert "@baseball, @citations" in refused.stderr
    assert not (tmp_path / "wine.ordinality").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--host", "0.0.0.0"], "--public-url must say by which address"),
        (["--public-url", "rank.example.org"], "is not an address such as"),
        (["--public-url", "https://a.example/path"], "is not an address such as"),
        (["--store", "mysql://host/db"], "postgresql://"),
        (["--key", "none"], "none"),
        (["--judges", "missing.csv"], "missing.csv"),
        (["--question", "grid"], "choose of pair, best-worst, rating, order"),
        (["--question", "order:6"], "an order of 3 to 5 items"),
        (["--question", "rating:3"], "--question rating:3 is not known"),
    ],
)
def test_what_cannot_be_served_is_refused_in_a_sentence(run, films, options, said):
    refused = run("serve", films, "--no-open", *options)
    assert refused.exit_code == 2
    assert said in refused.stderr


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("name\n", "names no judges"),
        ("name\nann\nann\n", "line 3"),
        ("name,quota\na,x\n", "'x'"),
    ],
)
def test_a_table_of_judges_that_cannot_be_used_is_refused(run, films, tmp_path, table, said):
    judges = tmp_path / "judges.csv"
    judges.write_text(table)
    refused = run("serve", films, "--judges", judges, "--port", "0", "--no-open")
    assert refused.exit_code == 2
    assert said in refused.stderr


def test_a_session_begins_in_one_command_and_ends_in_the_other(films, run):
    said = run("ask", films, "--plain", input="1\n2\nq\n")
    assert said.exit_code == 0
    process, _ = started(films, "--key", "title")
    process.send_signal(signal.SIGINT)
    _, ended = process.communicate(timeout=60)
    assert "keeps 2 answers" in ended
    again = run("ask", films, "--plain", input="1\nq\n")
    assert again.exit_code == 0
    assert "keeps 3 answers" in again.stderr


def test_a_study_begun_in_the_browser_goes_on_in_the_terminal(films, run):
    process, _ = started(films)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    said = run("ask", films, "--plain", input="1\nq\n")
    assert said.exit_code == 0, said.stderr
    assert "keeps 1 answer" in said.stderr


def test_the_kind_of_question_is_set_kept_and_changed(films, tmp_path):
    from ordinality.panel.managed_store import ManagedStore

    found = []
    for options in (["--question", "order:3"], [], ["--question", "best-worst"]):
        process, _ = started(films, *options)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
        with ManagedStore(tmp_path / "films.ordinality") as store:
            task = store.served("films")
            found.append((task.settings.kind, task.settings.size, task.question))
        assert ("answers that are there count" in said) == (
            options == ["--question", "best-worst"]
        )
    order = "Which order is right, the best first?"
    best_worst = "Which is the best, and which is the worst?"
    assert found == [("order", 3, order), ("order", 3, order), ("best-worst", 3, best_worst)]
