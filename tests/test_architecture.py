"""The plan of the house, read from the source as text and from fresh interpreters."""

import ast
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import ordinality
from ordinality.cli import COMMANDS

SRC = Path(ordinality.__file__).parent
MODULES = sorted(SRC.rglob("*.py"))

# Each line may import from the lines above it, never from its own or below.
LAYERS = [
    "_compile _files _text",
    "_numerics",
    "levels scales",
    "metrics",
    "kernels",
    "gp boosting svm",
    "estimators",
    "elicitation datasets tables persist display distributed",
    "workbench",
    "experiments web",
    "cli",
]
FLOOR = {room: i for i, rooms in enumerate(LAYERS) for room in rooms.split()}

# Below the line: arrays in, frozen values out.
BELOW_THE_LINE = {
    *("_compile", "_numerics", "levels", "scales", "gp", "boosting", "svm", "kernels"),
}

# Libraries that only some rooms may know.
HOMES = {
    "polars": {"tables"},
    "matplotlib": {"display"},
    "jinja2": {"workbench"},
    "skops": {"persist"},
    "dask": {"distributed"},
    "distributed": {"distributed"},
    "click": {"cli"},
    "rich": {"cli"},
    "starlette": {"web"},
    "sqlalchemy": {"web"},
    "pickle": set(),
}


def name_of(path):
    return ".".join(("ordinality", *path.relative_to(SRC).with_suffix("").parts)).removesuffix(
        ".__init__"
    )


def room_of(path):
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def imports(path):
    """Every import of a module, wherever it stands, as (module, imported name or None)."""
    package = name_of(path).split(".")
    if path.name != "__init__.py":
        package = package[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((module, alias.name) for alias in node.names)


def rooms_used(path):
    for module, name in imports(path):
        top, _, rest = module.partition(".")
        if top == "ordinality":
            used = rest.split(".")[0] if rest else name
            if used is not None and used != "__version__":
                yield used


# ---------------------------------------------------------------- floors


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_only_go_down(path):
    room = room_of(path)
    if room == "__init__":
        return  # the front door opens on every floor, lazily
    assert room in FLOOR, f"{room} has no floor: give it one in LAYERS"
    for used in rooms_used(path):
        assert used in FLOOR, f"{path.name} imports {used}, which has no floor"
        assert used == room or FLOOR[used] < FLOOR[room], f"{room} imports {used}"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_each_library_is_imported_only_where_it_belongs(path):
    room = room_of(path)
    libraries = {module.partition(".")[0] for module, _ in imports(path)}
    for library in libraries & set(HOMES):
        assert room in HOMES[library], f"{room} imports {library}"
    if path != SRC / "kernels" / "foreign.py":  # which asks, late, what a kernel of theirs is
        assert not (room in BELOW_THE_LINE and "sklearn" in libraries), f"{room} uses sklearn"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_nothing_private_is_imported_from_anyone(path):
    for module, name in imports(path):
        if module == "__future__":
            continue
        parts = [*module.split("."), *([name] if name else [])]
        private = {part for part in parts if part.startswith("_") and part != "__version__"}
        if parts[0] == "ordinality":
            private -= {
                "_compile",
                "_files",
                "_numerics",
                "_text",
            }  # rooms of our own ground floor
        if parts[:2] == ["ordinality", room_of(path)]:
            private -= {inner.stem for inner in path.parent.glob("_*.py")}  # within a room
        assert not private, f"{path.name} imports {'.'.join(parts)}"


# ---------------------------------------------------------------- modules


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_opens_by_saying_what_it_is(path):
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_all_lists_what_a_module_defines_in_public(path):
    module = import_module(name_of(path))
    if room_of(path) == "__init__" or not hasattr(module, "__all__"):
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    defined = {n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    assert {name for name in defined if not name.startswith("_")} <= set(module.__all__)
    assert all(hasattr(module, name) for name in module.__all__)
    assert sorted(set(module.__all__)) == sorted(module.__all__)


# ---------------------------------------------------------------- the front door


def test_what_the_package_shows_is_what_it_lists():
    assert dir(ordinality) == sorted(ordinality.__all__)
    for name in ordinality.__all__:
        assert getattr(ordinality, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'ordinality' has no attribute 'OrdinalPG'"):
        ordinality.OrdinalPG  # noqa: B018


def loaded_by(code):
    """Names of the top-level modules that a fresh interpreter has loaded after `code`."""
    code += (
        "\nimport sys, json; print(json.dumps(sorted({m.split('.')[0] for m in sys.modules})))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return set(json.loads(run.stdout.splitlines()[-1]))


HEAVY = {
    *("numpy", "scipy", "sklearn", "numba", "narwhals", "polars", "pandas", "matplotlib"),
    *("skops", "jinja2", "rich"),
}


def test_importing_the_package_loads_nothing_heavy():
    loaded = loaded_by("import ordinality; dir(ordinality); ordinality.__version__")
    assert not loaded & HEAVY


@pytest.mark.parametrize(
    "args", [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS)], ids=" ".join
)
def test_help_is_answered_before_anything_heavy_is_loaded(args):
    loaded = loaded_by(f"from ordinality.cli import main; main({args}, standalone_mode=False)")
    assert "click" in loaded
    assert not loaded & HEAVY


def test_asking_for_a_module_below_the_line_does_not_load_scikit_learn():
    assert not loaded_by("import ordinality; ordinality.levels; ordinality.kernels") & {
        "sklearn"
    }
