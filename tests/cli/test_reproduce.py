"""``ordinality reproduce`` lists, computes, resumes, reports and refuses."""

import gzip
import json
from pathlib import Path

import pytest

from ordinality.experiments import cells, papers
from ordinality.experiments.result_rows import Store
from ordinality.experiments.spec import Method

from ..experiments import tiny

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of results, and the tiny spec as the only experiment."""
    known = {"tiny/table-1": tiny.spec()}
    monkeypatch.setattr(papers, "names", lambda: list(known))
    monkeypatch.setattr(papers, "_all", lambda: known)
    return tmp_path / "rows"


def test_without_a_name_the_experiments_are_listed_with_their_progress(run, folder):
    listed = run("reproduce", "--results", folder)
    assert listed.exit_code == 0
    assert "tiny/table-1" in listed.stdout
    assert "0/8" in listed.stdout
    assert str(folder) in listed.stderr.replace("\n", "")
    run("reproduce", "tiny/table-1", "--results", folder, "--sets", "calm")
    data = json.loads(run("reproduce", "--results", folder, "--json").stdout)
    assert [(line["done"], line["cells"]) for line in data] == [(4, 8)]


def test_a_run_computes_what_is_missing_and_prints_it_beside_the_published(run, folder):
    result = run("reproduce", "tiny/table-1", "--results", folder)
    assert result.exit_code == 0
    assert "8 of 8 cells are to be computed" in result.stderr
    assert "10.0 ± 5.0" in result.stdout
    assert "Reproduced: " in result.stdout
    again = run("reproduce", "tiny/table-1", "--results", folder)
    assert "All 8 cells are already computed" in again.stderr
    assert again.stdout == result.stdout


def test_only_what_was_requested_is_computed_and_shown(run, folder):
    asked = ("--sets", "noisy", "--methods", "floored", "--partitions", "2")
    result = run("reproduce", "tiny/table-1", "--results", folder, *asked)
    assert "1 of 1 cells" in result.stderr
    assert "calm" not in result.stdout
    (row,) = Store(folder / "tiny.jsonl").rows().values()
    assert (row["set"], row["method"], row["partition"]) == ("noisy", "floored", 2)


def test_showing_computes_nothing(run, folder):
    result = run("reproduce", "tiny/table-1", "--show", "--results", folder)
    assert result.exit_code == 0
    assert result.stdout.count("missing") == 8
    assert not folder.exists()


@pytest.mark.parametrize(
    ("kind", "start"),
    [("markdown", "# tiny/table-1"), ("html", "<!doctype html>"), ("json", "{")],
)
def test_reports_in_other_formats_are_printed_or_written(run, folder, tmp_path, kind, start):
    args = ("reproduce", "tiny/table-1", "--results", folder, "--format", kind)
    printed = run(*args).stdout
    assert printed.startswith(start)
    out = tmp_path / f"report.{ {'markdown': 'md'}.get(kind, kind) }"
    assert run(*args, "--out", out).stdout == ""
    assert out.read_text(encoding="utf-8") == printed
    refused = run(*args, "--out", out)
    assert refused.exit_code == 2
    assert "replace it with --force" in refused.stderr
    assert run(*args, "--out", out, "--force").exit_code == 0
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == [out.name]


def test_a_figure_is_drawn(run, folder, tmp_path):
    out = tmp_path / "ranks.svg"
    assert run("reproduce", "tiny/table-1", "--results", folder, "--figure", out).exit_code == 0
    assert out.read_text(encoding="utf-8").count("<svg") == 1


def test_a_failed_cell_is_reported_and_computed_again_with_retry(run, folder, monkeypatch):
    failing = tiny.spec(Method("refuses", "Refuses", tiny.refuses))
    monkeypatch.setattr(papers, "_all", lambda: {"tiny/table-1": failing})
    first = run("reproduce", "tiny/table-1", "--results", folder)
    assert first.exit_code == 0
    assert "2 cells failed; compute them again with --retry." in first.stderr
    assert "RuntimeError: no solution | with a bar" in first.stderr
    assert "1 failed" in first.stdout
    assert "All 12 cells" in run("reproduce", "tiny/table-1", "--results", folder).stderr
    again = run("reproduce", "tiny/table-1", "--results", folder, "--retry")
    assert "2 of 12 cells are to be computed" in again.stderr


def test_ctrl_c_says_how_to_continue(run, folder, monkeypatch):
    def interrupted(jobs):
        def mapper(function, works):
            yield function(works[0])
            raise KeyboardInterrupt

        return mapper

    with monkeypatch.context() as patched:
        patched.setattr(cells, "processes", interrupted)
        stopped = run("reproduce", "tiny/table-1", "--results", folder)
    assert stopped.exit_code == 130
    assert "Stopped after 1 of 8 cells; continue with the same command." in stopped.stderr
    assert "7 of 8 cells" in run("reproduce", "tiny/table-1", "--results", folder).stderr


def test_stored_rows_are_checked(run, folder):
    args = ("reproduce", "tiny/table-1", "--results", folder)
    refused = run(*args, "--check", 3)
    assert refused.exit_code == 2
    assert "has no row of tiny/table-1 to check" in " ".join(refused.stderr.split())
    run(*args)
    assert run(*args, "--check", 5).stdout == "5 of 5 rows are the same to six decimals.\n"
    store = Store(folder / "tiny.jsonl")
    (row,) = [r for r in store.rows().values() if (r["set"], r["method"], r["partition"])
              == ("calm", "floored", 2)]  # fmt: skip
    changed = row | {"metrics": {**row["metrics"], "mae": 0.25}}
    with store.writing() as append:
        append(changed)
    assert run(*args, "--check", 99, "--sets", "noisy").exit_code == 0
    found = run(*args, "--check", 99)
    assert found.exit_code == 1
    assert "7 of 8 rows are the same to six decimals." in found.stdout
    (line,) = [line for line in found.stdout.splitlines() if "mae" in line]
    assert line.split()[:5] == ["calm", "floored", "2", "mae", "0.25"]
    assert "OPENBLAS_CORETYPE" not in found.stderr
    with store.writing() as append:
        append(changed | {"versions": {**row["versions"], "blas": "Haswell II"}})
    assert "OPENBLAS_CORETYPE=Haswell II" in run(*args, "--check", 99).stderr


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("tiny/tabel-1",), "did you mean tiny/table-1?"),
        (("tiny/table-1", "--sets", "clam"), "has no set clam; it has calm, noisy"),
        (("tiny/table-1", "--methods", "svm"), "has no method svm"),
        (("tiny/table-1", "--partitions", "2-9"), "has no partition 3; it has 1 to 2"),
        (("tiny/table-1", "--partitions", "two"), "'two' is neither a number nor a range"),
        (("tiny/table-1", "--partitions", "5-2"), "'5-2' is neither a number nor a range"),
        (("tiny/table-1", "--figure", "a.pdf"), "should end in .svg"),
        (("tiny/table-1", "--out", "nowhere/a.txt"), "There is no folder nowhere"),
        (("tiny/table-1", "--format", "html", "--out", "a.txt"), "should end in .html"),
    ],
)
def test_a_wrong_request_is_one_sentence(run, folder, args, sentence):
    result = run("reproduce", *args, "--results", folder)
    assert result.exit_code == 2
    assert sentence in " ".join(result.stderr.split())
    assert not folder.exists()


def test_missing_data_are_not_failed_cells(run, tmp_path, monkeypatch):
    monkeypatch.setenv("ORDINALITY_DATA", str(tmp_path / "empty"))
    result = run("reproduce", "gpor/table-2", "--results", tmp_path / "rows")
    assert result.exit_code == 2
    assert "chu_partitions/diabetes_5" in result.stderr.replace("\n", "")
    assert not (tmp_path / "rows").exists()


def test_rows_are_stored_beside_the_data_folder_by_default(run, tmp_path, monkeypatch):
    monkeypatch.setenv("ORDINALITY_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("ORDINALITY_RESULTS", raising=False)
    said = run("reproduce").stderr.replace("\n", "")
    assert str(tmp_path / "data-results") in said
    monkeypatch.setenv("ORDINALITY_RESULTS", str(tmp_path / "mine"))
    assert str(tmp_path / "mine") in run("reproduce").stderr.replace("\n", "")


def test_the_page_of_results_has_every_experiment(run, tmp_path):
    out = tmp_path / "results.md"
    made = run("reproduce", "--page", out, "--results", ROOT / "results")
    assert made.exit_code == 0
    page = out.read_text(encoding="utf-8")
    assert all(spec.title in page for spec in map(papers.get, papers.names()))


def test_the_committed_rows_are_packed_small_and_whole(tmp_path):
    files = sorted((ROOT / "results").glob("*.jsonl*"))
    assert {path.suffix for path in files} == {".gz"}, (
        "ordinality reproduce --pack --results results"
    )
    assert sum(path.stat().st_size for path in files) < 1e6
    for path in files:
        store = Store(path.with_suffix(""))
        rows = store.rows()
        assert not store.problems
        lines = gzip.decompress(path.read_bytes()).decode().splitlines()
        assert [json.dumps(row, ensure_ascii=False) for row in rows.values()] == lines
        assert list(rows) == sorted(rows)
        assert {row["experiment"] for row in rows.values()} == {path.name.split(".")[0]}
        assert all(row["metrics"] == cells.rounded(row["metrics"]) for row in rows.values())


def test_rows_are_packed_on_request_and_read_as_before(run, folder):
    run("reproduce", "tiny/table-1", "--results", folder)
    before = run("reproduce", "tiny/table-1", "--results", folder, "--show").stdout
    packed = run("reproduce", "--pack", "--results", folder)
    assert packed.exit_code == 0
    assert packed.stderr == f"8 rows are in {folder / 'tiny.jsonl.gz'}\n"
    assert [path.name for path in folder.iterdir()] == ["tiny.jsonl.gz"]
    again = run("reproduce", "tiny/table-1", "--results", folder)
    assert "All 8 cells are already computed" in again.stderr
    assert again.stdout == before
    assert run("reproduce", "--pack", "--results", folder).stderr == ""  # nothing to do


def test_an_invalid_line_is_a_warning_and_its_cell_is_computed_again(run, folder):
    run("reproduce", "tiny/table-1", "--results", folder)
    path = folder / "tiny.jsonl"
    lines = path.read_text().splitlines()
    lines[2] = lines[2][:30]
    lines[4] = json.dumps({**json.loads(lines[4]), "metrics": None})
    path.write_text("\n".join(lines) + "\n")
    listed = run("reproduce", "--results", folder)
    assert "6/8" in listed.stdout
    assert f"Warning: {path}, line 3: it is torn or corrupt" in listed.stderr
    assert f"Warning: {path}, line 5: metrics is null" in listed.stderr
    again = run("reproduce", "tiny/table-1", "--results", folder)
    assert again.exit_code == 0
    assert "2 of 8 cells are to be computed" in again.stderr
    assert again.stderr.count("Warning: ") == 2
    path.write_text("torn\n" * 20)
    shown = run("reproduce", "tiny/table-1", "--results", folder, "--show")
    assert "15 more lines of result files are left out" in shown.stderr
