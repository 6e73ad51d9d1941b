"""Public names have complete docstrings, everything else has short ones."""

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pytest
from numpydoc.validate import validate

import ordinality

SRC = Path(ordinality.__file__).parent
ROOMS = [name for name in ordinality.__all__ if inspect.ismodule(getattr(ordinality, name))]
ROOMS.append("experiments")

# Not wanted: an extended summary and "See Also" everywhere, the summary on a line of its own or
# with a verb first, and a type alone in Returns (scikit-learn names what is returned).
OTHER_STYLE = {"ES01", "SA01", "SA04", "GL01", "SS05", "RT02"}
SECTIONS = ("Parameters\n", "Returns\n", "Examples\n", "Yields\n", "Raises\n", "Attributes\n")


def public_objects():
    """Qualified names of public functions and classes, with the objects."""
    for name in set(ordinality.__all__) - set(ROOMS):
        yield f"ordinality.{name}", getattr(ordinality, name)
    for name in ROOMS:
        room = import_module(f"ordinality.{name}")
        yield from ((f"ordinality.{name}.{n}", getattr(room, n)) for n in room.__all__)


OBJECTS = {
    name: value
    for name, value in public_objects()
    if inspect.isclass(value) or inspect.isroutine(value)
}


def public_methods(cls):
    """Names of the methods that a user may call, ours and those of our bases."""
    for name, value in inspect.getmembers(cls, callable):
        home = getattr(inspect.unwrap(value), "__module__", None) or ""
        if not name.startswith("_") and home.startswith("ordinality"):
            yield name


def errors(name, skipped):
    return [
        f"{name}: {code} {text}"
        for code, text in validate(name)["errors"]
        if code not in OTHER_STYLE | skipped
    ]


@pytest.mark.parametrize("room", ["", *ROOMS])
def test_public_docstrings_pass_the_checks_of_numpydoc(room):
    prefix = f"ordinality.{room}." if room else "ordinality."
    mine = {n: o for n, o in OBJECTS.items() if n.rpartition(".")[0] + "." == prefix}
    found = []
    for name, value in mine.items():
        found += errors(name, skipped=set())
        if inspect.isclass(value):
            for method in public_methods(value):
                found += errors(f"{name}.{method}", skipped={"EX01"})
    assert not found, "\n".join(found)


def test_private_docstrings_have_no_sections():
    public = {inspect.unwrap(value).__qualname__ for value in OBJECTS.values()}
    classes = [value for value in OBJECTS.values() if inspect.isclass(value)]
    bases = {base.__qualname__ for cls in classes for base in cls.__mro__}
    found = []
    for path in SRC.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.name in public:
                continue
            members = node.body if isinstance(node, ast.ClassDef) else []
            own = [m for m in members if isinstance(m, ast.FunctionDef)]
            # Methods of a base that users call on its public subclasses.
            own = [m for m in own if node.name not in bases or m.name.startswith("_")]
            for part in (node, *own):
                text = ast.get_docstring(part) or ""
                if any(f"\n{section}---" in f"\n{text}" for section in SECTIONS):
                    found.append(f"{path.name}: {node.name}.{part.name}")
    assert not found
