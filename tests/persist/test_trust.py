"""What is no model stays shut: nothing in a file that was tampered with is ever run."""

import io
import json
import pickle
import zipfile
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import skops.io
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeRegressor

from ordinality import persist
from ordinality.estimators import OrdinalBoost, RoundedRegressor
from ordinality.persist.trust import LOADERS, TRUSTED

FIXTURES = Path(__file__).parent.parent / "fixtures"


def test_every_trusted_name_is_that_of_a_class_where_it_says():
    for name in TRUSTED:
        module, _, class_ = name.rpartition(".")
        assert isinstance(getattr(import_module(module), class_), type)


def called(module, name, *args):
    """Schemas that would call ``module.name(*args)``, in each way that skops knows."""
    text = [
        {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode",
         "content": json.dumps(arg)} for arg in args
    ]  # fmt: skip
    items = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode",
             "content": text}  # fmt: skip
    empty = {"__class__": "dict", "__module__": "builtins", "__loader__": "DictNode",
             "content": {}, "key_types": {**items, "content": []}}  # fmt: skip
    function = {"__class__": name, "__module__": module, "__loader__": "FunctionNode"}
    return {
        "reduce": {**function, "__loader__": "ConstructorFromReduceNode", "content": items},
        "object": {**function, "__loader__": "ObjectNode", "content": empty},
        "function": function,
        "type": {**function, "__loader__": "TypeNode"},
        "list": {**function, "__loader__": "ListNode", "content": text},
        "keys": {**empty, "content": {args[0]: text[0]}, "key_types": {
            "__class__": "list", "__module__": "builtins", "__loader__": "ListNode",
            "content": [{**function, "__loader__": "TypeNode"}]}},
        "array": {**function, "__loader__": "NdArrayNode", "type": "json", "content": text,
                  "shape": items},
        "partial": {"__class__": "partial", "__module__": "functools",
                    "__loader__": "PartialNode", "content": {
                        "func": function, "args": items, "kwds": empty, "namespace": empty}},
        "operator": {"__class__": "methodcaller", "__module__": "operator",
                     "__loader__": "OperatorFuncNode", "attrs": items},
        "method": {"__class__": "str", "__module__": "builtins", "__loader__": "MethodNode",
                   "content": {"func": "upper", "obj": text[0]}},
        "loss": {**function, "__loader__": "LossNode", "content": empty,
                 "__reduce__": {"args": items}},
        "tree": {**function, "__loader__": "TreeNode", "content": empty,
                 "__reduce__": {"args": items}},
        "bytes": {**function, "__loader__": "NoSuchNode"},
    }  # fmt: skip


@pytest.mark.parametrize("place", ["root", "attribute"])
@pytest.mark.parametrize("way", called("os", "system", ""))
@pytest.mark.parametrize(("module", "name"), [("os", "system"), ("builtins", "eval")])
def test_a_file_that_would_call_something_is_refused(file, repacked, module, name, way, place):
    marker = file.with_name("owned")
    code = f"touch {marker}" if name == "system" else f"open({str(marker)!r}, 'w')"
    payload = called(module, name, code)[way]

    def infected(schema):
        if place == "root":
            return {**payload, "protocol": schema["protocol"]}
        schema["content"]["content"]["levels"] = payload
        return schema

    repacked(file, schema=infected)
    with pytest.raises(persist.ModelFileError, match="holds .*not among the types") as refused:
        persist.load(file)
    assert "system" in str(refused.value) or "eval" in str(refused.value) or way in {
        "partial", "operator", "method",
    }  # fmt: skip
    assert not marker.exists()


def test_types_of_ours_are_built_only_as_values(file, repacked):
    def called(schema):  # which skops itself would let through, once the type is trusted
        schema["content"]["content"]["levels"] = {
            "__class__": "Grown", "__module__": "ordinality.boosting.trees",
            "__loader__": "ListNode", "content": [],
        }  # fmt: skip
        return schema

    repacked(file, schema=called)
    with pytest.raises(persist.ModelFileError, match=r"holds ordinality\..*\.Grown"):
        persist.load(file)


def test_no_way_of_calling_things_is_among_the_harmless_ones():
    calling = {"MethodNode", "PartialNode", "OperatorFuncNode", "ConstructorFromReduceNode"}
    assert not LOADERS & calling


class Payload:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return (Path.touch, (self.marker,))


def test_a_pickle_in_disguise_is_not_opened(path):
    marker = path.with_name("owned")
    path.write_bytes(pickle.dumps(Payload(marker)))
    with pytest.raises(persist.ModelFileError, match="it is not a zip archive"):
        persist.load(path)
    assert not marker.exists()


def test_a_pickle_among_the_arrays_is_not_opened(file, repacked):
    marker = file.with_name("owned")
    buffer = io.BytesIO()
    np.save(buffer, np.array([Payload(marker)], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(file) as archive:
        arrays = [name for name in archive.namelist() if name.endswith(".npy")]
    repacked(file, drop=arrays, add=[(name, buffer.getvalue()) for name in arrays])
    with pytest.raises(persist.ModelFileError, match="damaged.*allow_pickle"):
        persist.load(file)
    assert not marker.exists()


def changed(**values):
    return lambda found: {**found, **values}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"drop": ["schema.json"]}, "there is no schema.json in it"),
        ({"drop": ["ordinality.json"]}, "there is no ordinality.json in it"),
        ({"about": changed(format=99)}, "has format 99, and .* reads format 1; update"),
        ({"about": lambda found: [1]}, "ordinality.json holds no description"),
        ({"about": changed(versions=None)}, "does not say what wrote it"),
        ({"schema": lambda found: []}, "schema.json holds no description"),
        ({"schema": lambda found: {"protocol": 2}}, "its schema makes no sense"),
        ({"schema": changed(protocol=1)}, "follows protocol 1 of skops.*not written by"),
        ({"schema": changed(protocol=True)}, "follows protocol True of skops"),
        ({"schema": changed(protocol=99)}, "its schema makes no sense"),
        ({"schema": changed(content=None)}, "damaged|no model"),
    ],
)
def test_a_file_that_was_tampered_with_is_refused(file, repacked, changes, message):
    repacked(file, **changes)
    with pytest.raises(persist.ModelFileError, match=message):
        persist.load(file)


def test_a_file_of_another_model_is_refused(file, rows):
    skops.io.dump(Ridge().fit(*rows), other := file.with_name("other.skops"))
    with zipfile.ZipFile(file) as ours, zipfile.ZipFile(other, "a") as theirs:
        theirs.writestr("ordinality.json", ours.read("ordinality.json"))
    with pytest.raises(persist.ModelFileError, match="holds a Ridge, and a model of"):
        persist.load(other)


def test_text_that_is_no_json_is_damage(file, repacked):
    repacked(file, drop=["ordinality.json"], add=[("ordinality.json", "{")])
    for read in (persist.load, persist.metadata):
        with pytest.raises(persist.ModelFileError, match="damaged and cannot be read.*JSON"):
            read(file)


def test_two_members_of_one_name_are_refused(file):
    with (
        pytest.warns(UserWarning, match="Duplicate name"),
        zipfile.ZipFile(file, "a") as zipped,
    ):
        zipped.writestr("schema.json", "{}")
    with pytest.raises(persist.ModelFileError, match="two members of one name"):
        persist.load(file)


def test_an_archive_that_would_fill_the_memory_is_not_unpacked(file):
    with zipfile.ZipFile(file, "a", compression=zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.npy", bytes(2**25))
    assert file.stat().st_size < 2**18
    for read in (persist.load, persist.metadata):
        with pytest.raises(persist.ModelFileError, match="unpack bomb.npy to 33,554,432 bytes"):
            read(file)


def test_a_schema_without_a_bottom_is_refused(file, repacked):
    def circular(schema):
        kind = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}
        inner = {**kind, "content": [], "__id__": 1}  # which is the outer list again
        schema["content"]["content"]["levels"] = {**kind, "content": [inner], "__id__": 1}
        return schema

    repacked(file, schema=circular)
    with pytest.raises(persist.ModelFileError, match="damaged"):
        persist.load(file)
    repacked(file, drop=["schema.json"], add=[("schema.json", "[" * 10**6)])
    with pytest.raises(persist.ModelFileError, match="damaged"):
        persist.load(file)


@pytest.mark.parametrize("seed", range(40))
def test_random_damage_is_refused_or_does_no_harm(path, seed):
    rng = np.random.default_rng(seed)
    raw = np.frombuffer((FIXTURES / "wine-0.1.skops").read_bytes(), dtype=np.uint8).copy()
    where = rng.integers(len(raw), size=3) if seed % 2 else -rng.integers(1, 2000, size=3)
    raw[where] = rng.integers(256, size=3)
    path.write_bytes(raw[: rng.integers(len(raw))] if seed % 5 == 0 else raw)
    try:
        assert isinstance(persist.load(path), Pipeline)
    except persist.ModelFileError as error:
        assert str(error).startswith("model.skops ")  # noqa: PT017, either will do


def crooked(tree, **fields):
    """The state of a fitted tree with some of its numbers changed."""
    state = tree.__getstate__()
    for name, value in fields.items():
        state["nodes"][name][0] = value
    tree.__setstate__(state)


@pytest.mark.parametrize(
    "fields",
    [{"left_child": 10**6}, {"right_child": -7}, {"left_child": 0}, {"feature": 3},
     {"feature": -5}],
    ids=str,
)  # fmt: skip
def test_a_tree_that_points_outside_of_itself_is_refused(path, rows, fields):
    forest = RandomForestRegressor(2, random_state=0)
    model = RoundedRegressor(forest).fit(*rows)
    crooked(model.regressor_.estimators_[0].tree_, **fields)
    persist.save(model, path)
    with pytest.raises(persist.ModelFileError, match="a tree in it points outside"):
        persist.load(path)


def test_a_tree_that_does_not_know_its_features_is_refused(path, rows):
    model = RoundedRegressor(DecisionTreeRegressor()).fit(*rows)
    del model.regressor_.n_features_in_
    persist.save(model, path)
    with pytest.raises(persist.ModelFileError, match="a tree in it points outside"):
        persist.load(path)


def test_a_boosted_tree_that_looks_beyond_the_features_is_refused(path, rows):
    model = OrdinalBoost(learner="tree", n_estimators=2).fit(*rows)
    model.ensemble_.learners[0].feature[0] = 3
    persist.save(model, path)
    with pytest.raises(persist.ModelFileError, match="a tree in it points outside"):
        persist.load(path)
