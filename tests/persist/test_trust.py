"""Crafted files: nothing in them is run, and nothing in them takes memory or time."""

import io
import json
import pickle
import sys
import zipfile
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import skops.io
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from ordinality import persist
from ordinality.estimators import OrdinalBoost, RoundedRegressor
from ordinality.estimators.fitting import Scaling
from ordinality.persist import names
from ordinality.persist.names import THEIRS
from ordinality.persist.trust import LOADERS

FIXTURES = Path(__file__).parent.parent / "fixtures"


def test_every_trusted_name_is_that_of_a_class_where_it_says():
    for name in (*THEIRS, *persist.trusted_types()):
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
            "__class__": "DecisionTree@1", "__module__": "ordinality",
            "__loader__": "ListNode", "content": [],
        }  # fmt: skip
        return schema

    repacked(file, schema=called)
    with pytest.raises(persist.ModelFileError, match=r"holds ordinality\.DecisionTree@1"):
        persist.load(file)


def test_no_way_of_calling_things_is_among_the_harmless_ones():
    calling = {"MethodNode", "PartialNode", "OperatorFuncNode", "ConstructorFromReduceNode"}
    assert not LOADERS.keys() & calling


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
    with pytest.raises(persist.ModelFileError, match="corrupt: the header of .* of object"):
        persist.load(file)
    assert not marker.exists()


def changed(**values):
    return lambda found: {**found, **values}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"drop": ["schema.json"]}, "there is no schema.json in it"),
        ({"drop": ["ordinality.json"]}, "there is no ordinality.json in it"),
        ({"about": changed(format=99)}, "has format 99, and .* reads format 2; update"),
        ({"about": lambda found: [1]}, "ordinality.json is not a JSON object"),
        ({"about": changed(versions=None)}, "does not say which versions wrote it"),
        ({"schema": lambda found: []}, "schema.json is not a JSON object"),
        ({"schema": lambda found: {"protocol": 2}}, "is truncated or corrupt"),
        ({"schema": changed(protocol=1)}, "follows protocol 1 of skops.*not written by"),
        ({"schema": changed(protocol=True)}, "follows protocol True of skops"),
        ({"schema": changed(protocol=99)}, "follows protocol 99 of skops"),
        ({"schema": changed(content=None)}, "is not valid: has no attribute"),
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
    with pytest.raises(persist.ModelFileError, match="holds a Ridge; expected a model of"):
        persist.load(other)


def test_text_that_is_not_json_is_reported_as_corrupt(file, repacked):
    repacked(file, drop=["ordinality.json"], add=[("ordinality.json", "{")])
    for read in (persist.load, persist.metadata):
        with pytest.raises(persist.ModelFileError, match="is truncated or corrupt .*JSON"):
            read(file)


def test_two_members_of_one_name_are_refused(file):
    with (
        pytest.warns(UserWarning, match="Duplicate name"),
        zipfile.ZipFile(file, "a") as zipped,
    ):
        zipped.writestr("schema.json", "{}")
    with pytest.raises(persist.ModelFileError, match="two members of the same name"):
        persist.load(file)


def test_an_archive_that_would_fill_the_memory_is_not_unpacked(file):
    with zipfile.ZipFile(file, "a", compression=zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.npy", bytes(2**25))
    assert file.stat().st_size < 2**18
    for read in (persist.load, persist.metadata):
        with pytest.raises(persist.ModelFileError, match="unpack bomb.npy to 33,554,432 bytes"):
            read(file)


def test_a_circular_schema_is_read_without_its_circle(file, repacked):
    def circular(schema):
        kind = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}
        inner = {**kind, "content": [], "__id__": 1}  # which is the outer list again
        schema["content"]["content"]["levels"] = {**kind, "content": [inner], "__id__": 1}
        return schema

    repacked(file, schema=circular)
    assert persist.load(file).levels == [[]]  # parts are never shared, so there is no circle


@pytest.mark.parametrize("depth", [100, 400, 10**6])
def test_a_schema_that_is_nested_too_deeply_is_refused(file, repacked, depth):
    kind = (
        '{"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": ['
    )
    with zipfile.ZipFile(file) as archive:
        schema = json.loads(archive.read("schema.json"))
    schema["content"]["content"]["levels"] = "HERE"
    deep = kind * depth + "]}" * depth
    text = json.dumps(schema).replace('"HERE"', deep)
    repacked(file, drop=["schema.json"], add=[("schema.json", text)])
    with pytest.raises(persist.ModelFileError, match="nested too deeply|RecursionError"):
        persist.load(file)


def test_a_small_schema_cannot_describe_a_huge_model(file, repacked):
    def doubled(schema):  # each list holds the next one twice, by its id
        kind = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}
        value = {**kind, "content": [], "__id__": 1}
        for i in range(2, 60):
            value = {**kind, "content": [value, {**kind, "content": [], "__id__": i - 1}],
                     "__id__": i}  # fmt: skip
        schema["content"]["content"]["levels"] = value
        return schema

    repacked(file, schema=doubled)
    assert len(persist.load(file).levels) == 2


def header(shape, descr="<f8"):
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize(
    "content",
    [
        header((10**12,)),
        header((10**6, 10**6)) + bytes(80),
        header((-1,)) + bytes(8),
        header((10**12,), "<U0"),
        header((3,)) + bytes(16),
        header((1,), "|O") + bytes(8),
        b"PK\x03\x04" + bytes(100),
        b"",
    ],
)
def test_an_array_that_claims_another_size_than_it_has_is_not_read(file, repacked, content):
    with zipfile.ZipFile(file) as archive:
        array = next(name for name in archive.namelist() if name.endswith(".npy"))
    repacked(file, drop=[array], add=[(array, content)])
    with pytest.raises(persist.ModelFileError, match=r"is (truncated or )?corrupt"):
        persist.load(file)


@pytest.mark.parametrize("pool", ["1000000", "4611686018427387904", "true", "null", "{"])
def test_a_seed_that_would_take_hours_to_mix_is_refused(path, rows, repacked, pool):
    persist.save(OrdinalBoost(learner="stump", n_estimators=2).fit(*rows), path)

    def larger(schema):
        generator = schema["content"]["content"]["_rng"]
        generator["content"]["seed_seq"]["content"]["pool_size"]["content"] = pool
        return schema

    repacked(path, schema=larger)
    with pytest.raises(persist.ModelFileError, match="the seed of a random generator has a"):
        persist.load(path)


def test_true_is_not_a_format(file, repacked):
    for value in (True, 2.0, "2", None):
        repacked(file, about=changed(format=value))
        with pytest.raises(persist.ModelFileError, match=f"has format {value!r}, and"):
            persist.load(file)


def test_types_of_ours_are_stored_under_stable_names(file):
    with zipfile.ZipFile(file) as archive:
        text = archive.read("schema.json").decode()
    schema = json.loads(text)
    assert (schema["__module__"], schema["__class__"]) == ("ordinality", "OrdinalGP@1")
    assert "ordinality." not in text


def test_a_class_that_moved_is_still_found_under_its_stable_name(file, rows, monkeypatch):
    moved = ModuleType("ordinality_elsewhere")
    moved.Scale = type("Scale", (Scaling,), {"__module__": moved.__name__})
    monkeypatch.setitem(sys.modules, moved.__name__, moved)
    place = (moved.__name__, "Scale")
    monkeypatch.setitem(names.OURS, "Scaling@1", place)
    monkeypatch.setitem(names._NAMES, place, "Scaling@1")
    loaded = persist.load(file)
    assert type(loaded._scaling) is moved.Scale
    assert loaded.predict(rows[0]).shape == (30,)


def test_an_unknown_version_of_a_type_is_refused(file, repacked):
    repacked(file, schema=changed(__class__="OrdinalGP@9"))
    with pytest.raises(persist.ModelFileError, match=r"holds ordinality\.OrdinalGP@9"):
        persist.load(file)


@pytest.mark.parametrize("seed", range(40))
def test_random_damage_is_refused_or_does_no_harm(path, seed):
    rng = np.random.default_rng(seed)
    raw = np.frombuffer((FIXTURES / "wine-format-2.skops").read_bytes(), dtype=np.uint8).copy()
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
    with pytest.raises(persist.ModelFileError, match=r"regressor_\.Tree points outside"):
        persist.save(model, path)


def test_a_tree_without_a_number_of_features_is_refused(path, rows):
    steps = make_pipeline(StandardScaler(), DecisionTreeRegressor())
    model = RoundedRegressor(steps).fit(*rows)
    del model.regressor_[-1].n_features_in_
    with pytest.raises(persist.ModelFileError, match="has no number of features"):
        persist.save(model, path)


def test_a_boosted_tree_that_looks_beyond_the_features_is_refused(path, rows):
    model = OrdinalBoost(learner="tree", n_estimators=2).fit(*rows)
    model.ensemble_.learners[0].feature[0] = 3
    with pytest.raises(
        persist.ModelFileError, match="DecisionTree.feature holds 3, outside of 0"
    ):
        persist.save(model, path)
