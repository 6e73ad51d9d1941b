"""Loops compile when first called, in any folder, and give the numbers of their Python."""

import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from numpy.testing import assert_allclose

import ordinality
from ordinality import _math
from ordinality._compile import leaf, loop
from ordinality._math import LOGIT, PROBIT
from ordinality.gp import quadrature


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
    first = vars(twice)["compiled"]
    assert twice(3.0) == 6.0
    assert vars(twice)["compiled"] is first


def test_importing_loops_does_not_import_numba_but_calling_one_does():
    code = """
import sys
import ordinality._math as math, ordinality.gp.quadrature
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


# ------------------------------------------------------------ leaves: code without numba

LEAVES = """
from ordinality._compile import leaf


@leaf("f8[:, ::1], f8[::1, :], i8[::1], f8")
def weigh(by_rows, by_columns, counts, scale):
    for i in range(by_rows.shape[0]):
        for j in range(by_rows.shape[1]):
            by_columns[i, j] = scale * counts[j] * by_rows[i, j]
"""
WEIGH = """
import sys
sys.path.insert(0, {folder!r})
import numpy as np
from leaves import weigh
x, counts = np.arange(6.0).reshape(2, 3), np.array([1, 2, 3])
out = np.zeros((2, 3), order="F")
weigh(x, out, counts, 0.5)
print(np.array_equal(out, 0.5 * counts * x), "numba" in sys.modules)
"""


LINUX = pytest.mark.skipif(sys.platform != "linux", reason="keeps object files there alone")


@pytest.fixture
def leaves(tmp_path):
    """A call of a leaf in a fresh process, and the folder of its module."""
    (tmp_path / "leaves.py").write_text(LEAVES)

    def call(**environment):
        return run(WEIGH.format(folder=str(tmp_path)), NUMBA_CACHE_DIR="", **environment)

    call.folder = tmp_path
    call.kept = lambda: list(tmp_path.glob("__pycache__/*.o"))
    return call


@LINUX
def test_a_leaf_needs_numba_the_first_time_only(leaves):
    assert leaves() == ["True", "True"]
    assert [path.name.partition("-")[0] for path in leaves.kept()] == ["leaves.weigh"]
    assert leaves() == ["True", "False"]


@LINUX
def test_a_leaf_is_compiled_anew_when_its_source_has_changed(leaves):
    leaves()
    (leaves.folder / "leaves.py").write_text(LEAVES.replace("scale *", "2.0 * scale *"))
    assert leaves() == ["False", "True"]
    assert len(leaves.kept()) == 1
    assert leaves() == ["False", "False"]


@LINUX
@pytest.mark.parametrize("damage", [b"", b"x" * 64, b"not machine code"])
def test_a_damaged_file_of_a_leaf_is_replaced(leaves, damage):
    leaves()
    (path,) = leaves.kept()
    whole = path.read_bytes()
    path.write_bytes(damage + whole[len(damage) : -10])
    assert leaves() == ["True", "True"]
    assert path.stat().st_size == len(whole)


@pytest.mark.skipif(sys.platform == "win32", reason="hides no folder by these variables")
def test_a_leaf_works_where_nothing_can_be_kept(leaves):
    (leaves.folder / "__pycache__").write_text("a file in the folder's place stops even root")
    nowhere = os.path.join(os.devnull, "cache")
    assert leaves(HOME=nowhere, XDG_CACHE_HOME=nowhere) == ["True", "True"]


@LINUX
def test_a_leaf_is_kept_with_the_user_where_its_folder_is_closed(leaves, tmp_path):
    (leaves.folder / "__pycache__").write_text("a file in the folder's place stops even root")
    cache = tmp_path / "cache"
    assert leaves(XDG_CACHE_HOME=str(cache)) == ["True", "True"]
    assert [path.suffix for path in (cache / "ordinality").iterdir()] == [".o"]
    assert leaves(XDG_CACHE_HOME=str(cache)) == ["True", "False"]


def test_a_leaf_runs_as_python_where_compiling_is_switched_off(leaves):
    assert leaves(NUMBA_DISABLE_JIT="1")[0] == "True"
    assert leaves.kept() == []


@leaf("f8[::1, :], f8")
def stretch(x, factor):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] *= factor


@leaf("f8[::1]")
def centre(x):
    x -= np.full(1, x.mean())


@pytest.mark.parametrize(
    "x",
    [
        np.arange(6.0).reshape(2, 3).copy("F"),
        np.arange(6.0).reshape(2, 3),
        np.arange(24.0).reshape(4, 6)[::2, ::2],
        np.arange(6.0, dtype=np.float32).reshape(2, 3),
        np.zeros((0, 3)),
    ],
    ids=["as stated", "by rows", "strided", "of other numbers", "empty"],
)
def test_a_leaf_takes_arrays_of_any_layout_and_type(x):
    expected = 1.5 * x
    assert stretch(x, 1.5) is None
    assert_allclose(x, expected)


def test_a_leaf_that_makes_an_array_works_but_by_way_of_numba():
    x = np.array([1.0, 2.0, 6.0])
    centre(x)
    assert_allclose(x, [-2.0, -1.0, 3.0])
    assert centre._called is centre.compiled


def test_a_loop_may_call_a_leaf():
    @loop
    def twice(x):
        stretch(x, 2.0)

    x = np.ones((2, 2), order="F")
    twice(x)
    assert_allclose(x, 2.0)


def test_a_leaf_with_too_few_arguments_says_so():
    with pytest.raises(TypeError):
        stretch(np.ones((2, 2), order="F"))


DEFAULTS = {
    "OrdinalGP": """
model = OrdinalGP().fit(X, np.digitize(X[:, 0], [0.3, 0.7]))
model.predict_proba(X)""",
    "PreferenceGP": """
pairs = np.array([[i, j] for i in range(30) for j in range(i)])
model = PreferenceGP(X).fit(pairs[:20])  # m x m
model = PreferenceGP(X).fit(pairs)  # n x n, inverted
model.predict_proba(pairs), model.utility(), model.predict_choice([0, 1, 2])
model.update(next_pair(model))
pairs = pairs[np.diff(X.round(1)[pairs, 0])[:, 0] != 0]
PreferenceGP(X.round(1), item_effects=False).fit(pairs)  # n x n""",
    "LabelRankingGP": """
model = LabelRankingGP().fit(X, np.digitize(X[:, 0], [0.3, 0.7]))
model.predict(X)""",
}


@LINUX
@pytest.mark.parametrize("name", DEFAULTS)
def test_a_fit_of_a_default_model_does_without_numba(name):
    code = f"""
import sys
import numpy as np
from ordinality import {name}
from ordinality.elicitation import next_pair
X = np.linspace(0.0, 1.0, 30)[:, None]
{DEFAULTS[name]}
print("numba" in sys.modules)
"""
    run(code)  # which compiles what is not yet
    assert run(code) == ["False"]


# ------------------------------------------------------------ the numbers of Python


@pytest.fixture
def in_python(monkeypatch):
    """Replace every loop of the numerical modules by the function it was made from."""
    for module in (_math, quadrature):
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
        _math.interval_jets(link, LOWER, UPPER, MEAN, 0.6),
        _math.blurred_jets(LOWER, UPPER, MEAN, VAR, 0.6),
        quadrature.expected_log_jets(link, LOWER, UPPER, MEAN, VAR, 0.6),
        quadrature.log_expected_jets(link, LOWER, UPPER, MEAN, VAR, 0.6, power),
    ]


@pytest.fixture(scope="module")
def compiled():
    return {link: every_jet(link) for link in (PROBIT, LOGIT)}


@pytest.mark.parametrize("link", [PROBIT, LOGIT], ids=["probit", "logit"])
@pytest.mark.usefixtures("in_python")
def test_compiled_loops_give_the_numbers_of_their_python(compiled, link):
    assert not isinstance(_math.point_jet, loop)
    for ours, plain in zip(compiled[link], every_jet(link), strict=True):
        assert_allclose(ours, plain, rtol=1e-10, atol=1e-12)
