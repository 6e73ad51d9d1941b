"""Loops compile when first called, in any folder, and give the numbers of their Python."""

import os
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numba
import numpy as np
import pytest
from numpy.testing import assert_allclose

import ordinality
from ordinality import _numerics
from ordinality._compile import loop, watch
from ordinality._numerics import LOGIT, PROBIT
from ordinality.gp import quadrature
from ordinality.gp.design import Combinations, Differences


@loop
def square(x):
    """The area of a square."""
    return x * x


@loop
def sum_of_squares(x):
    total = 0.0
    for value in x:
        total += square(value)
    return total


@loop
def sum_of_fourth_powers(x):
    return sum_of_squares(x * x)


@loop
def reciprocal(x):
    return 1.0 / x


def run(code, **environment):
    """Run ``code`` in a fresh interpreter and return what it printed."""
    source = str(Path(ordinality.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": source, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a_loop_is_compiled_by_its_first_call_and_once():
    @loop
    def twice(x):
        return x + x

    assert "compiled" not in vars(twice)
    assert twice(2.0) == 4.0
    first = twice.compiled
    assert twice(3.0) == 6.0
    assert twice.compiled is first


def test_importing_loops_does_not_import_numba_but_calling_one_does():
    code = """
import sys
import ordinality._numerics as math, ordinality.gp.quadrature
print("numba" in sys.modules)
math.interval_jets.__globals__["_log_sigmoid"](0.0)
print("numba" in sys.modules)
"""
    assert run(code) == ["False", "True"]


def test_a_loop_calls_other_loops_and_they_call_others():
    assert sum_of_fourth_powers(np.array([1.0, 2.0, 3.0])) == 98.0


def test_a_loop_keeps_its_name_and_documentation():
    assert square.__name__ == "square"
    assert square.__doc__ == "The area of a square."
    assert square.__wrapped__(3.0) == 9.0


def test_compiling_leaves_the_python_function_as_it_was():
    sum_of_squares(np.ones(2))
    assert sum_of_squares.__wrapped__.__globals__["square"] is square


def test_division_by_zero_is_infinite_and_not_an_error():
    assert reciprocal(0.0) == np.inf
    assert reciprocal(-0.0) == -np.inf


def test_infinities_and_nan_survive_compilation():
    assert sum_of_squares(np.array([1.0, -np.inf])) == np.inf
    assert np.isnan(sum_of_squares(np.array([1.0, np.nan])))


def test_options_are_those_that_are_promised():
    options = square.compiled.targetoptions
    assert options["nogil"] is True
    assert options["error_model"] == "numpy"
    assert not options.get("fastmath")
    assert not options.get("parallel")


# ------------------------------------------------------------ where nothing can be written


def test_a_loop_without_a_writable_cache_is_compiled_without_one(monkeypatch):
    njit, asked = numba.njit, []

    def refuse(*args, cache=False, **options):
        asked.append(cache)
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return njit(*args, **options)

    monkeypatch.setattr(numba, "njit", refuse)

    @loop
    def cube(x):
        return x**3

    assert cube(2.0) == 8.0
    assert asked == [True, False]


def test_other_failures_to_compile_are_not_hidden(monkeypatch):
    def broken(*args, **options):
        raise ValueError("no such option")

    monkeypatch.setattr(numba, "njit", broken)
    with pytest.raises(ValueError, match="no such option"):
        loop(lambda x: x)(1.0)


def test_a_loop_without_a_source_file_is_compiled_without_a_cache():
    made = {}
    exec("def half(x):\n    return 0.5 * x", made)
    half = loop(made["half"])
    assert half(3.0) == 1.5
    assert half.compiled.stats.cache_path is None


@pytest.mark.skipif(sys.platform == "win32", reason="hides no folder by these variables")
def test_a_loop_works_where_every_cache_folder_is_out_of_reach(tmp_path):
    (tmp_path / "module.py").write_text(
        "from ordinality._compile import loop\n\n\n@loop\ndef half(x):\n    return 0.5 * x\n"
    )
    (tmp_path / "__pycache__").write_text("a file in the folder's place stops even root")
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from module import half
print(half(3.0), half.compiled.stats.cache_path)
"""
    nowhere = os.path.join(os.devnull, "cache")
    folders = ["HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR"]
    assert run(code, **dict.fromkeys(folders, nowhere)) == ["1.5", "None"]


def test_a_loop_is_cached_where_it_can_be():
    assert square(2.0) == 4.0
    assert Path(square.compiled.stats.cache_path).is_dir()


# ------------------------------------------------------------ arrays that a loop cannot take


@loop
def fill(x):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] = 7.0


def test_a_vector_is_refused_where_a_loop_takes_a_matrix_and_nothing_is_written():
    memory = np.zeros(100)
    with pytest.raises(numba.TypingError):
        fill(memory[:4])
    assert not memory.any()


def test_a_read_only_array_is_not_overwritten():
    x = np.zeros((2, 3))
    x.flags.writeable = False
    with pytest.raises(numba.TypingError, match="readonly"):
        fill(x)
    assert not x.any()


@pytest.mark.parametrize(
    "x",
    [
        np.zeros((2, 3), order="F"),
        np.zeros((4, 6))[::2, ::2],
        np.zeros((2, 3), dtype=np.float32),
        np.zeros((0, 3)),
    ],
    ids=["by columns", "strided", "of other numbers", "empty"],
)
def test_a_loop_takes_arrays_of_any_layout_and_type(x):
    fill(x)
    assert (x == 7.0).all()


def test_a_loop_reads_arrays_that_are_read_only():
    x = np.array([1.0, 2.0])
    x.flags.writeable = False
    assert sum_of_squares(x) == 5.0


ONE, TWO, SQUARE = np.ones(1), np.ones(2), np.ones((2, 2))
DESIGN = Differences([[0, 1]], size=2)


@pytest.mark.parametrize(
    ("call", "found"),
    [
        (lambda: _numerics.interval_jets(PROBIT, ONE, TWO, TWO, 1.0), "lower has shape (1,)"),
        (lambda: _numerics.blurred_jets(PROBIT, TWO, TWO, TWO, ONE, 1.0), "var has shape (1,)"),
        (lambda: DESIGN.see(ONE), "g has shape (1,)"),
        (lambda: DESIGN.gather(TWO), "x has shape (2,)"),
        (lambda: DESIGN.covariance(TWO), "K has shape (2,)"),
        (lambda: DESIGN.variances(TWO), "K has shape (2,)"),
        (lambda: DESIGN.pullback(SQUARE), "G has shape (2, 2)"),
        (lambda: DESIGN.precision(TWO, SQUARE), "tau has shape (2,)"),
        (lambda: DESIGN.precision(ONE, np.ones((1, 1))), "out has shape (1, 1)"),
        (lambda: Combinations(np.array([0, 1]), TWO, 2), "index has shape (2,)"),
        (lambda: Combinations(np.array([[0, 1]]), TWO, 2), "value has shape (2,)"),
        (lambda: Differences([[0, 2]], size=2), "index goes from 0 to 2"),
        (lambda: Differences([[-1, 0]], size=2), "index goes from -1 to 0"),
    ],
)
def test_shapes_and_indices_are_checked_before_a_loop_trusts_them(call, found):
    with pytest.raises(ValueError, match=re.escape(found)):
        call()


def test_a_loop_with_too_few_arguments_says_so():
    with pytest.raises(TypeError):
        fill()


# ------------------------------------------------------------ nothing but numba's own files


def test_no_object_file_is_read_or_written(tmp_path):
    code = """
import sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
import numpy as np
from ordinality.gp.design import Differences
Differences([[0, 1]], size=2).see(np.ones(2))
print(any(path.endswith(".o") for path in opened))
print(any(path.endswith(".nbi") for path in opened))
"""
    assert run(code, NUMBA_CACHE_DIR=str(tmp_path)) == ["False", "True"]
    kept = {path.suffix for path in tmp_path.rglob("*") if path.is_file()}
    assert kept == {".nbi", ".nbc"}


# ------------------------------------------------------------ noticing that loops are compiled

WATCHED = """
from ordinality._compile import loop


@loop
def inner(x):
    return x * x


@loop
def outer(x):
    return inner(x) + 1.0
"""
WATCH = """
import sys, time
sys.path.insert(0, {folder!r})
from ordinality._compile import watch
from watched import outer
told = []
with watch(lambda: told.append(1)) as seen:
    print("numba" in sys.modules, len(told), seen.seconds)
    outer.compiled
    began = time.process_time()
    outer(2.0), outer(3.0), outer(2)
    spent = time.process_time() - began
outer(True)
print(len(told), seen.seconds > 0.0, seen.seconds <= spent)
"""


def test_a_watch_tells_once_that_loops_are_compiled_and_not_that_they_are_loaded(tmp_path):
    (tmp_path / "watched.py").write_text(WATCHED)
    code = WATCH.format(folder=str(tmp_path))
    assert run(code, NUMBA_CACHE_DIR="") == ["False", "0", "0.0", "1", "True", "True"]
    assert run(code, NUMBA_CACHE_DIR="") == ["False", "0", "0.0", "0", "False", "True"]


def uncached():
    """A loop that is always compiled: it has no source file."""
    made = {}
    exec("def half(x):\n    return 0.5 * x", made)
    return loop(made["half"])


def test_watches_may_be_nested():
    told = []
    with watch(lambda: told.append("outer")) as outer:
        uncached()(1.0)
        first = outer.seconds
        with watch(lambda: told.append("inner")) as inner:
            uncached()(1.0)
    assert told == ["outer", "inner"]
    assert outer.seconds == pytest.approx(first + inner.seconds, rel=1e-12)


def test_a_watch_sees_what_other_threads_compile():
    told = []
    with watch(lambda: told.append(threading.get_ident())) as seen:
        threads = [threading.Thread(target=uncached(), args=(1.0,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(told) == 1
    assert told[0] != threading.get_ident()
    assert seen.seconds > 0.0


def test_a_failed_compilation_leaves_the_count_in_order():
    @loop
    def broken(x):
        return x.no_such_attribute

    with watch(lambda: None) as seen:
        with pytest.raises(numba.TypingError):
            broken(1.0)
        failed = seen.seconds
        uncached()(1.0)
    assert seen.seconds > failed > 0.0


def test_threads_that_call_a_loop_at_once_share_one_compilation():
    half, wait = uncached(), threading.Barrier(4)

    def call(x):
        wait.wait()
        return half(x)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(call, [1.0] * 4)) == [0.5] * 4
    assert sum(half.compiled.stats.cache_misses.values()) <= 1
    assert len(half.compiled.overloads) == 1


# ------------------------------------------------------------ forks

FORK = """
import os, sys, threading
sys.path.insert(0, {folder!r})
from ordinality._compile import watch
from watched import inner, outer
inner(1.0)  # imports numba
compiling = threading.Event()
with watch(compiling.set):
    thread = threading.Thread(target=outer, args=(2,))
    thread.start()
    compiling.wait()
    child = os.fork()
    if child == 0:
        os._exit(int(outer(3)))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="has no fork")
def test_a_fork_while_another_thread_compiles_leaves_the_child_able_to(tmp_path):
    (tmp_path / "watched.py").write_text(WATCHED)
    code = FORK.format(folder=str(tmp_path))
    assert run(code, NUMBA_CACHE_DIR="", PYTHONWARNINGS="ignore") == ["10"]


# ------------------------------------------------------------ the numbers of Python


@pytest.fixture
def in_python(monkeypatch):
    """Replace every loop of the numerical modules by the function it was made from."""
    for module in (_numerics, quadrature):
        for name, value in list(vars(module).items()):
            if isinstance(value, loop):
                monkeypatch.setattr(module, name, value.__wrapped__)


LOWER = np.array([-np.inf, -1.0, 0.2, 0.2, 3.0, 5.0, -9.0, -np.inf])
UPPER = np.array([0.4, 1.5, 0.201, np.inf, 3.5, 40.0, 9.0, np.inf])
MEAN = np.array([0.7, 0.1, -2.0, -8.0, 0.0, -1.0, 0.5, 0.0])
VAR = np.array([0.01, 0.2, 4.0, 0.3, 1.0, 9.0, 0.0, 1.0])


def every_jet(link):
    power = np.linspace(0.3, 1.0, len(MEAN))
    return [
        _numerics.interval_jets(link, LOWER, UPPER, MEAN, 0.6),
        _numerics.blurred_jets(link, LOWER, UPPER, MEAN, VAR, 0.6),
        quadrature.expected_log_jets(link, LOWER, UPPER, MEAN, VAR, np.full(len(MEAN), 0.6)),
        quadrature.log_expected_jets(
            link, LOWER, UPPER, MEAN, VAR, np.full(len(MEAN), 0.6), power
        ),
    ]


@pytest.fixture(scope="module")
def compiled():
    return {link: every_jet(link) for link in (PROBIT, LOGIT)}


@pytest.mark.parametrize("link", [PROBIT, LOGIT], ids=["probit", "logit"])
@pytest.mark.usefixtures("in_python")
def test_compiled_loops_give_the_numbers_of_their_python(compiled, link):
    assert not isinstance(_numerics.point_jet, loop)
    for ours, plain in zip(compiled[link], every_jet(link), strict=True):
        assert_allclose(ours, plain, rtol=1e-10, atol=1e-12)
