"""What may be built from a model file: types and ways of building, checked in the schema.

A pickle is a program, and opening one runs it. skops takes a model apart into arrays and a
schema instead; the schema names the type of every part and how it is built. The schema is
checked here before anything is built. Every way of building must be on a short list of those
that call nothing of the file's choosing, and every type must be on the list for that way.
What the parts contain is checked afterwards, in `contents` and `sklearn_parts`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy
import scipy.special

from .names import OURS, PACKAGE, THEIRS, name_of

__all__ = [
    "LOADERS",
    "ModelFileError",
    "from_stable_names",
    "nodes",
    "plain_value",
    "to_stable_names",
]

PROTOCOL = 2  # of skops: the one that it writes
LARGEST_POOL = 64  # words that seed a random generator; 4 by default in NumPy

_NUMBERS = "bool bool_ float32 float64 int8 int16 int32 int64 str_ uint8 uint16 uint32 uint64"
_LOSSES = """
    CyAbsoluteError CyHalfBinomialLoss CyHalfGammaLoss CyHalfMultinomialLoss CyHalfPoissonLoss
    CyHalfSquaredError CyHuberLoss CyPinballLoss
"""
_ANY = None  # the loader ignores the type

#: What skops may build from a file, by the name of its loader, and the types of each.
LOADERS: dict[str, frozenset[str] | None] = {
    "DictNode": frozenset({"builtins.dict", "collections.OrderedDict"}),
    "DTypeNode": frozenset({"numpy.dtype"}),
    "FunctionNode": frozenset(),  # ufuncs of NumPy and SciPy, see `_is_listed`
    "JsonNode": _ANY,
    "ListNode": frozenset({"builtins.list"}),
    "LossNode": frozenset(
        f"{module}.{name}" for module in ("_loss", "sklearn._loss._loss") for name in
        _LOSSES.split()
    ),
    "NdArrayNode": frozenset(f"numpy.{name}" for name in ("ndarray", *_NUMBERS.split())),
    "ObjectNode": THEIRS,
    "RandomGeneratorNode": frozenset({"numpy.random._generator.Generator"}),
    "RandomStateNode": frozenset({"numpy.random.mtrand.RandomState"}),
    "SetNode": frozenset({"builtins.set"}),
    "SliceNode": frozenset({"builtins.slice"}),
    "TreeNode": frozenset({"sklearn.tree._tree.Tree"}),
    "TupleNode": frozenset({"builtins.tuple"}),
    "TypeNode": frozenset(
        {f"numpy.{name}" for name in ("object_", *_NUMBERS.split())}
        | {f"builtins.{name}" for name in ("bool", "float", "int", "object", "str")}
    ),
}  # fmt: skip


class ModelFileError(ValueError):
    """A file that is not a valid model file, or a model that cannot be stored in one.

    Examples
    --------
    >>> from ordinality import persist
    >>> issubclass(persist.ModelFileError, ValueError)
    True
    """

    __module__ = "ordinality.persist"  # where users import it from, and tracebacks name it


def to_stable_names(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema that skops wrote, with types of ours under their stable names."""
    for node in nodes(schema):
        name = name_of(str(node.get("__module__")), str(node.get("__class__")))
        if name is not None:
            node["__module__"], node["__class__"] = PACKAGE, name
    return schema


def from_stable_names(schema: dict[str, Any], file: str) -> dict[str, Any]:
    """The schema as skops reads it; a type or a loader that is not listed is an error."""
    protocol = schema.get("protocol")
    if type(protocol) is not int or protocol != PROTOCOL:
        raise ModelFileError(
            f"{file} follows protocol {protocol!r} of skops, and model files follow "
            f"{PROTOCOL}; it was not written by ordinality, or by a later version."
        )
    arrays: dict[str, int] = {}
    unknown = set()
    for node in nodes(schema):
        module, name = node.get("__module__"), node.get("__class__")
        loader = node["__loader__"]
        place = OURS.get(str(name)) if module == PACKAGE and loader == "ObjectNode" else None
        if place is not None:
            node["__module__"], node["__class__"] = place
        elif not _is_listed(f"{module}.{name}", loader):
            unknown.add(f"{module}.{name}")
        if loader == "RandomGeneratorNode":
            _check_pool(node, file)
        # Nodes of one id are one object, which would allow cycles, and a small file that
        # describes 2**60 parts. Only arrays are shared, those of one member.
        node.pop("__id__", None)
        if loader == "NdArrayNode" and node.get("type") == "numpy":
            node["__id__"] = arrays.setdefault(str(node.get("file")), len(arrays) + 1)
    if unknown:
        raise ModelFileError(
            f"{file} holds {', '.join(sorted(unknown)[:3])}, which is not among the types that "
            "a model file may hold: parts of ordinality, of scikit-learn and of NumPy."
        )
    return schema


def plain_value(node: dict[str, Any]) -> Any:
    """The number or text that a node will become; an error for any other kind of node."""
    if node["__loader__"] != "JsonNode":
        raise ValueError("not a plain value")
    return json.loads(node["content"])


def _check_pool(node: dict[str, Any], file: str) -> None:
    """Refuse a seed that NumPy would mix for hours: its cost is the square of the pool."""
    try:
        pool = plain_value(node["content"]["seed_seq"]["content"]["pool_size"])
    except (KeyError, TypeError, ValueError):
        pool = None
    if type(pool) is not int or not 4 <= pool <= LARGEST_POOL:
        raise ModelFileError(
            f"{file} is corrupt: the seed of a random generator has a pool of {pool!r:.40} "
            f"words, where 4 to {LARGEST_POOL} were expected."
        )


def _is_listed(qualified: str, loader: str) -> bool:
    if loader == "FunctionNode":
        module, _, name = qualified.rpartition(".")
        home = numpy if module.partition(".")[0] == "numpy" else scipy.special
        known = module.startswith(("numpy", "scipy.special"))
        return known and isinstance(getattr(home, name, None), numpy.ufunc)
    types = LOADERS.get(loader, frozenset())
    return types is None or qualified in types


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Every description of a part in a schema."""
    waiting = [schema]
    while waiting:  # not recursive: a file decides how deep this goes
        value = waiting.pop()
        if isinstance(value, dict):
            if isinstance(value.get("__loader__"), str):
                yield value
            else:
                value.pop("__id__", None)  # not a part, or one that skops will refuse
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
