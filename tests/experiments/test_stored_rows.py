"""The rows in `results` are what today's code gives."""

import hashlib
from pathlib import Path

import pytest

from ordinality.experiments import papers
from ordinality.experiments.cells import recompute, run, same, versions
from ordinality.experiments.result_rows import Store
from ordinality.experiments.results_page import entries

RESULTS = Path(__file__).parents[2] / "results"
EXPERIMENTS = sorted(path.name.split(".")[0] for path in RESULTS.glob("*.jsonl.gz"))
# Relevances of genes and ratings of films take longer to prepare than the cells to compute.
SLOW_TO_READ = {"genes", "tissue", "stars"}
# Seconds are among the metrics of the league, and its peers have environments of their own.
NOT_AGAIN = SLOW_TO_READ | {"league"}
CHEAP = 2.0  # seconds of a row that is computed again here


def specs_of(experiment):
    return [spec for spec in map(papers.get, papers.names()) if spec.experiment == experiment]


def every_cell(spec):
    return spec.cells(methods=[method.name for method in spec.methods])


def is_cheap(row):
    # The last digits, and so some decisions, depend on BLAS: on its release, which comes with
    # NumPy and SciPy, and on the kernels that it has chosen.
    here = versions()
    ours = all(row["versions"].get(k, here[k]) == here[k] for k in ("numpy", "scipy", "blas"))
    return ours and row["seconds"] < CHEAP


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_every_stored_row_is_one_that_a_command_computes(experiment):
    known = {cell.key for spec in specs_of(experiment) for cell in every_cell(spec)}
    stored = Store(RESULTS / f"{experiment}.jsonl").rows()
    assert not set(stored) - known
    assert not [row for row in stored.values() if "imported" in row]


@pytest.mark.parametrize("experiment", [e for e in EXPERIMENTS if e not in NOT_AGAIN])
def test_stored_rows_drawn_at_random_are_computed_again(experiment, data_dir):
    store = Store(RESULTS / f"{experiment}.jsonl")
    rows = store.rows()
    # Other rows when the stored ones change, the same as long as they do not.
    seed = int(hashlib.sha256(store.packed.read_bytes()).hexdigest(), 16)
    spec = specs_of(experiment)[seed % len(specs_of(experiment))]
    cheap = [cell for cell in every_cell(spec) if cell.key in rows and is_cheap(rows[cell.key])]
    if not cheap:
        pytest.skip(f"no row of {experiment} takes less than {CHEAP} s and is of this BLAS")
    ((stored, new),) = recompute(spec, store, 1, cells=cheap, seed=seed)
    assert same(stored, new), f"stored {stored['metrics']}, now {new['metrics']}"


# ------------------------------------------------------------------------------ as published

PRINTED = {  # GPOR, table 2, MAP
    "diabetes_5": [("54.23", "13.78"), ("0.6615", "0.1376")],
    "wisconsin_5": [("65.00", "4.71"), ("1.0102", "0.0937")],
}


def as_published(name, rows):
    """Both errors of MAP as published on a set of GPOR's table 2."""
    found = entries(papers.get("gpor/table-2"), rows)
    return [e for e in found if (e.set, e.method.name) == (name, "map-published")]


def digits(found):
    return [
        (f"{e.mean:.{d}f}", f"{e.spread:.{d}f}") for e in found for d in [e.metric.decimals]
    ]


def test_map_by_evidence_alone_with_the_factor_has_every_printed_digit(data_dir, tmp_path):
    spec, store = papers.get("gpor/table-2"), Store(tmp_path / "equal-length.jsonl")
    run(spec, store, cells=list(spec.cells(["diabetes_5"], ["map-published"])))
    found = as_published("diabetes_5", store.rows())
    assert digits(found) == PRINTED["diabetes_5"]
    assert all(entry.equal for entry in found)


@pytest.mark.parametrize("name", PRINTED)
def test_the_stored_rows_have_the_printed_digits_too(name):
    found = as_published(name, Store(RESULTS / "equal-length.jsonl").rows())
    assert digits(found) == PRINTED[name]


def test_map_does_not_follow_an_evidence_that_is_not_credible(data_dir, tmp_path):
    # By the evidence alone Laplace's is highest at almost no noise on some partitions.
    spec, store = papers.get("gpor/table-2"), Store(tmp_path / "equal-length.jsonl")
    run(spec, store, cells=list(spec.cells(["triazines_5"], ["map-published"])))
    assert all(abs(entry.away) <= 0.5 for entry in as_published("triazines_5", store.rows()))
