"""Commands on tables that are read in blocks, and on a cluster."""

import json
import sys
from contextlib import nullcontext
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import polars as pl
import pytest

from ordinality import load
from ordinality.estimators import base_gp
from ordinality.experiments import papers

from ..experiments import tiny

N = 1500
needs_dask = pytest.mark.skipif(find_spec("distributed") is None, reason="Dask is not there")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 2))
    f = np.sin(2 * x[:, 0]) + 0.5 * x[:, 1] + 0.2 * rng.normal(size=N)
    words = np.array(["low", "mid", "high"])[np.digitize(f, [-0.6, 0.5])]
    y = pl.Series("y", [None if i % 100 == 7 else word for i, word in enumerate(words)])
    site = np.array(["north", "south", "west"])[rng.integers(0, 3, N)]
    return pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "site": site, "y": y})


@pytest.fixture(scope="module")
def folder(frame, tmp_path_factory):
    """A folder of five Parquet files."""
    home = tmp_path_factory.mktemp("large") / "parts"
    home.mkdir()
    for i in range(5):
        frame[300 * i : 300 * (i + 1)].write_parquet(home / f"part-{i}.parquet")
    return home


def make_large(monkeypatch):
    """Set limits so small that the tables of these tests are large."""
    scan, problem = (
        import_module(f"ordinality.{name}") for name in ("tables.scan", "workbench.problem")
    )
    monkeypatch.setattr(scan, "IN_MEMORY", 10_000)
    monkeypatch.setattr(import_module("ordinality.workbench.labelled"), "IN_MEMORY", 64_000)
    monkeypatch.setattr(scan, "BLOCK_ROWS", 200)
    monkeypatch.setattr(problem, "COMPARED", 400)
    monkeypatch.setattr(base_gp, "SEARCHED", 300)
    monkeypatch.setattr(base_gp, "_PER_POINT", 1)
    monkeypatch.setattr(base_gp, "_EXACT", 100)


@pytest.fixture
def large(monkeypatch):
    make_large(monkeypatch)


FIT = ["--target", "y", "--order", "low,mid,high", "--folds", 2]


@pytest.fixture(scope="module")
def fitted(run, folder, tmp_path_factory):
    """A model file and what the command said when it wrote it."""
    out = tmp_path_factory.mktemp("models") / "model.skops"
    with pytest.MonkeyPatch.context() as limits:
        make_large(limits)
        found = run("fit", folder, *FIT, "--model", "linear", "--out", out, "--json")
    assert found.exit_code == 0, found.stderr
    return out, found


def test_a_folder_is_compared_on_a_sample_and_fitted_to_all_rows(fitted, frame):
    _, found = fitted
    assert "1,485 rows have a label; models are compared on a random sample of" in found.stderr
    said = json.loads(found.stdout)
    assert said["rows"] == said["fitted_rows"] == sum(said["counts"]) == 1485
    assert 395 <= said["compared_rows"] <= 430
    counts = frame["y"].value_counts().rows()
    assert dict(zip(["low", "mid", "high"], said["counts"], strict=True)) == {
        name: count for name, count in counts if name is not None
    }


def test_a_model_that_needs_all_rows_says_how_many_it_took(run, folder, large):
    found = run("fit", folder, *FIT, "--model", "trees", "--budget", 0.03)
    assert found.exit_code == 0, found.stderr
    assert "trees was fitted to a random sample of " in found.stderr
    assert " of 1,485 rows; raise --budget to use more." in found.stderr


@pytest.mark.parametrize("name", ["found.csv", "found.parquet"])
def test_predictions_by_blocks_are_those_of_the_whole_table(
    name, run, fitted, folder, frame, tmp_path, monkeypatch, large
):
    by_blocks = tmp_path / name
    found = run("predict", fitted[0], folder, "--proba", "--keep", "--out", by_blocks)
    assert found.exit_code == 0, found.stderr
    assert f"Wrote {N} predictions" in found.stderr
    monkeypatch.undo()
    whole = tmp_path / "whole.parquet"
    assert run("predict", fitted[0], folder, "--proba", "--out", whole).exit_code == 0
    read = pl.read_csv if name.endswith("csv") else pl.read_parquet
    wanted, got = pl.read_parquet(whole), read(by_blocks)
    assert got["predicted y"].to_list() == wanted["predicted y"].to_list()
    np.testing.assert_allclose(got["P(low)"], wanted["P(low)"], rtol=1e-12)
    assert got["a"].to_list() == frame["a"].to_list()


def test_scores_by_blocks_are_those_of_the_whole_table(run, fitted, folder, monkeypatch, large):
    found = run("evaluate", fitted[0], folder, "--json")
    monkeypatch.undo()
    wanted = run("evaluate", fitted[0], folder, "--json")
    one, other = json.loads(found.stdout), json.loads(wanted.stdout)
    assert one["confusion"] == other["confusion"]
    assert one["scores"] == pytest.approx(other["scores"], rel=1e-12)
    assert "Left out 15 rows without y." in found.stderr


def test_cells_not_seen_before_are_counted_over_all_blocks(run, fitted, frame, tmp_path, large):
    path = tmp_path / "new.csv"
    frame.with_columns(site=pl.lit("east")).write_csv(path)
    found = run("predict", fitted[0], path, "--out", tmp_path / "found.csv")
    assert found.stderr.count("hold 'east', not seen in training") == 1
    assert "site: 1,500 rows hold 'east'" in found.stderr


def test_a_wrong_cell_far_below_names_the_file_and_writes_nothing(
    run, fitted, folder, frame, tmp_path, large
):
    home = tmp_path / "parts"
    home.mkdir()
    for i in range(3):
        a = frame["a"][:300].to_list()
        part = frame[:300].with_columns(pl.Series("a", [*a[:-1], np.inf if i == 2 else 0.0]))
        part.write_parquet(home / f"part-{i}.parquet")
    out = tmp_path / "found.parquet"
    found = run("predict", fitted[0], home, "--out", out)
    assert found.exit_code == 2
    assert "part-2.parquet from row 201 on: a is infinite in row 100" in found.stderr
    assert not out.exists()


def test_counts_of_a_large_table_are_refused(run, folder, large):
    found = run("fit", folder, *FIT, "--counts", "b")
    assert found.exit_code == 2
    assert "too large to repeat its rows as often as b says; give the column as --weights" in (
        found.stderr
    )


# ---------------------------------------------------------------- clusters


@pytest.fixture
def scheduler(cluster):
    return cluster.scheduler_address


@needs_dask
def test_folds_on_a_cluster_give_the_same_answer(run, wine, scheduler):
    args = ("compare", wine, "--target", "rating", "--models", "linear,rounded", "--json",
            "--folds", 2, "--repeats", 1)  # fmt: skip
    found, wanted = run(*args, "--cluster", scheduler), run(*args)
    assert found.exit_code == 0, found.stderr
    assert f"Working on {scheduler} with 2 workers; watch it at http" in found.stderr
    one, other = (json.loads(each.stdout)["models"] for each in (found, wanted))
    for name in ("linear", "rounded"):
        assert one[name]["by_fold"] == pytest.approx(other[name]["by_fold"], rel=1e-6)


@needs_dask
def test_a_folder_is_fitted_where_its_files_are(run, folder, scheduler, large, tmp_path):
    out = tmp_path / "model.skops"
    found = run(
        "fit", folder, *FIT, "--model", "gp", "--cluster", scheduler, "--out", out, "--json"
    )
    assert found.exit_code == 0, found.stderr
    assert json.loads(found.stdout)["fitted_rows"] == 1485
    assert load(out)[-1].fit_.path[-1][0] == 1485


@needs_dask
@pytest.mark.parametrize("command", ["fit", "compare", "reproduce"])
def test_an_address_that_does_not_answer_is_one_sentence(
    command, run, wine, monkeypatch, tmp_path
):
    monkeypatch.setattr(import_module("ordinality.cli.cluster"), "TIMEOUT", 0.5)
    args = {
        "fit": (wine, "--target", "rating"),
        "compare": (wine, "--target", "rating"),
        "reproduce": ("gpor/figure-2", "--results", tmp_path),
    }[command]
    found = run(command, *args, "--cluster", "tcp://127.0.0.1:9")
    assert found.exit_code == 2, found.stderr
    assert "no Dask scheduler answers at tcp://127.0.0.1:9 within 0.5 s" in found.stderr
    assert "Traceback" not in found.stderr


def test_without_dask_the_extra_is_named(run, wine, monkeypatch):
    for name in ("dask", "distributed"):
        monkeypatch.setitem(sys.modules, name, None)
    found = run("compare", wine, "--target", "rating", "--cluster", "tcp://127.0.0.1:9")
    assert found.exit_code == 2
    assert "pip install 'ordinality[dask]'" in found.stderr


@needs_dask
def test_cells_that_were_computed_before_the_cluster_went_away_are_kept(
    run, tmp_path, monkeypatch
):
    def lost(client, function, works, *, ordered):
        yield from map(function, list(works)[:2])
        raise ConnectionError("the connection to the Dask cluster was lost; start it.")

    known = {"tiny/table-1": tiny.spec()}
    monkeypatch.setattr(papers, "names", lambda: list(known))
    monkeypatch.setattr(papers, "_all", lambda: known)
    monkeypatch.setattr(import_module("ordinality.distributed.cluster"), "mapped_calls", lost)
    monkeypatch.setattr(
        import_module("ordinality.cli.reproduce"), "on_cluster", lambda address: nullcontext(1)
    )
    args = ("reproduce", "tiny/table-1", "--results", tmp_path)
    found = run(*args, "--cluster", "tcp://127.0.0.1:9")
    assert found.exit_code == 2
    assert "cluster was lost; start it. 2 of 8 cells are stored." in found.stderr
    assert "6 of 8 cells are to be computed" in run(*args).stderr
