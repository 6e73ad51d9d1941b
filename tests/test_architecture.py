"""The plan of the package, read from the source as text and from fresh interpreters."""

import ast
import json
import subprocess
import sys
from collections import defaultdict
from importlib import import_module
from pathlib import Path

import pytest

import ordinality
from ordinality.cli import COMMANDS

SRC = Path(ordinality.__file__).parent
MODULES = sorted(SRC.rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in MODULES}

# Each line may import from the lines above it, never from its own or below.
LAYERS = [
    "_answer_sets _compile _files _text",
    "_numerics",
    "levels scales",
    "metrics",
    "kernels",
    "gp cumulative boosting svm",
    "distributed",
    "estimators",
    "inspect",
    "elicitation datasets tables persist display",
    "workbench panel",
    "experiments",
    "web",
    "cli",
]
FLOOR = {room: i for i, rooms in enumerate(LAYERS) for room in rooms.split()}

# Arrays in, frozen values out: no scikit-learn. `kernels.foreign` translates its kernels, late.
BELOW_THE_LINE = {
    "_compile",
    "_numerics",
    "levels",
    "scales",
    "kernels",
    "gp",
    "cumulative",
    "boosting",
    "svm",
    "distributed",
}
EXEMPT = {SRC / "kernels" / "foreign.py"}

# Libraries that only some rooms may know.
HOMES = {
    "polars": {"tables"},
    "matplotlib": {"display"},
    "lightgbm": {"boosting", "distributed", "estimators", "experiments"},  # there as a peer
    "jinja2": {"panel", "web", "workbench"},
    "sqlalchemy": {"panel"},
    "starlette": {"web"},
    "uvicorn": {"web"},
    "anyio": {"web"},
    "dask": {"distributed"},
    "distributed": {"distributed"},
    "skops": {"persist"},
    "click": {"cli"},
    "rich": {"cli"},
    "pickle": set(),
}
GROUND = {"_answer_sets", "_compile", "_files", "_numerics", "_text", "__version__"}


def name_of(path):
    parts = ("ordinality", *path.relative_to(SRC).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


def room_of(path):
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def imports(path):
    """Every import of a module, wherever it stands, as (module, imported name or None)."""
    package = name_of(path).split(".")
    if path.name != "__init__.py":
        package = package[:-1]
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((module, alias.name) for alias in node.names)


def rooms_used(path):
    for module, name in imports(path):
        top, _, rest = module.partition(".")
        used = rest.split(".")[0] if rest else name
        if top == "ordinality" and used is not None and used != "__version__":
            yield used


def shared_names(named):
    """Names that more than one place has."""
    places = defaultdict(list)
    for name, place in named:
        places[name].append(place)
    return {name: found for name, found in places.items() if len(found) > 1}


# ---------------------------------------------------------------- floors


def test_imports_only_go_down():
    wrong = [
        f"{name_of(path)} imports {used}"
        for path in MODULES
        if path != SRC / "__init__.py"  # which loads every floor, lazily
        for used in rooms_used(path)
        if used != room_of(path) and not FLOOR[used] < FLOOR[room_of(path)]
    ]
    assert not wrong


def test_each_library_is_imported_only_where_it_belongs():
    wrong = []
    for path in MODULES:
        room = room_of(path)
        libraries = {module.partition(".")[0] for module, _ in imports(path)}
        wrong += [
            f"{name_of(path)} imports {library}"
            for library in libraries & set(HOMES)
            if room not in HOMES[library]
        ]
        if room in BELOW_THE_LINE and path not in EXEMPT and "sklearn" in libraries:
            wrong.append(f"{name_of(path)} imports sklearn")
    assert not wrong


def test_nothing_private_is_imported_from_anyone():
    wrong = []
    for path in MODULES:
        for module, name in imports(path):
            parts = [*module.split("."), *([name] if name else [])]
            private = {part for part in parts if part.startswith("_")}
            private -= GROUND if parts[0] == "ordinality" else {"__future__"}
            if private:
                wrong.append(f"{name_of(path)} imports {'.'.join(parts)}")
    assert not wrong


def test_the_papers_are_reproduced_with_what_users_have():
    # No module below the estimators; of their rooms only what is public to users.
    wrong = []
    for path in (SRC / "experiments" / "papers").glob("*.py"):
        for module, name in imports(path):
            used = f"{module}.{name}" if module == "ordinality" else module
            room = used.removeprefix("ordinality.").partition(".")[0]
            below = FLOOR.get(room, FLOOR["cli"]) < FLOOR["estimators"]
            if below and used not in ("ordinality.kernels", "ordinality.metrics"):
                wrong.append(f"{name_of(path)} imports {used}")
    assert not wrong


# ---------------------------------------------------------------- modules


def test_no_two_modules_share_a_name():
    # A command may be called like the module that does its work.
    modules = [path for path in MODULES if path.stem != "__init__" and room_of(path) != "cli"]
    assert not shared_names((path.stem, name_of(path)) for path in modules)


def test_no_two_public_classes_share_a_name():
    classes = (
        (node.name, name_of(path))
        for path in MODULES
        for node in TREES[path].body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert not shared_names(classes)


def test_every_module_says_what_it_is():
    assert not [name_of(path) for path in MODULES if not ast.get_docstring(TREES[path])]


def test_all_lists_what_a_module_defines_in_public():
    wrong = []
    for path in MODULES:
        module = import_module(name_of(path))
        listed = getattr(module, "__all__", None)
        if listed is None or path == SRC / "__init__.py":
            continue
        defined = {
            node.name
            for node in TREES[path].body
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
            and not node.name.startswith("_")
        }
        missing = defined - set(listed) | {name for name in listed if not hasattr(module, name)}
        if missing or len(set(listed)) != len(listed):
            wrong.append((name_of(path), missing))
    assert not wrong


# ---------------------------------------------------------------- what is loaded, and when


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
    *("skops", "jinja2", "rich", "dask", "distributed", "lightgbm", "sqlalchemy"),
}


def test_importing_the_package_loads_nothing_heavy():
    loaded = loaded_by("import ordinality; dir(ordinality); ordinality.__version__")
    assert not loaded & HEAVY


def test_help_is_answered_before_anything_heavy_is_loaded():
    asked = [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS)]
    loaded = loaded_by(
        "from ordinality.cli import main\n"
        f"for args in {asked}: main(args, standalone_mode=False)"
    )
    assert "click" in loaded
    assert not loaded & HEAVY


def test_asking_for_a_module_below_the_line_does_not_load_scikit_learn():
    assert not loaded_by("import ordinality; ordinality.levels; ordinality.kernels") & {
        "sklearn"
    }


def test_a_server_starts_without_numerics():
    loaded = loaded_by("import ordinality.web.serving, ordinality.panel.item_sources")
    assert "starlette" in loaded
    assert not loaded & {"scipy", "sklearn", "numba"}
