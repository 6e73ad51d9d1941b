"""What tests share: the folder of published data, reference values, and a cluster."""

import gc
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

# Before NumPy loads: the problems here are too small for two threads, which on a busy machine
# wait for one another. What threads do is tested with threadpoolctl, which overrides this.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Before LightGBM loads: where a second worker of the suite has the other core, two threads that
# spin while they wait for one another took 34 s for a fit of half a second.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def pytest_configure(config: pytest.Config) -> None:
    """Compile the loops once, before workers start that would each compile them."""
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if whole and config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        script = Path(__file__).parent / "compile_loops.py"
        parts = ("processes", "machines")
        running = [subprocess.Popen([sys.executable, str(script), part]) for part in parts]
        codes = [process.wait() for process in running]
        if any(codes):
            raise pytest.UsageError("tests/compile_loops.py failed; its error stands above.")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Leave what is imported and collected, which lives to the end, out of garbage collection.

    Half of the time of collecting ten thousand tests was a search for garbage among them.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of published data sets, named by ORDINALITY_DATA; tests without it are skipped."""
    folder = os.environ.get("ORDINALITY_DATA")
    if not folder:
        pytest.skip("ORDINALITY_DATA does not name a folder of data sets")
    path = Path(folder)
    if not path.is_dir():  # a typing error must not turn into silence
        pytest.fail(f"ORDINALITY_DATA names {folder}, which is not a folder")
    return path


@pytest.fixture(scope="session")
def vectors() -> dict:
    """Reference values in many digits; each says in the file how it was computed."""
    return json.loads((Path(__file__).parent / "vectors.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def few_refits() -> Iterator[None]:
    """Four refits for the standard errors of effects; a study makes 50, or at least 10."""
    room = import_module("ordinality.workbench.study")  # the package has a function of its name
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "REFITS", 4)
        patch.setattr(room, "FEWEST_REFITS", 4)
        yield


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """A Dask cluster of two processes on this machine, started by the first test that asks."""
    import dask
    from distributed import LocalCluster
    from distributed.utils import get_mp_context

    # Workers import the functions of these tests, and take the path from this process.
    root = str(Path(__file__).parents[1])
    sys.path.insert(0, root)
    # Tests kill workers. They are forks of a process that has loaded what all of them need.
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        get_mp_context().set_forkserver_preload(["tests.distributed.preloaded"])
        with LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as started:
            yield started
    sys.path.remove(root)
