"""What the parts of a model contain is checked before any of them is used."""

import dataclasses
import io
import json
import zipfile
from importlib import import_module

import numpy as np
import pytest
import skops.io
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVR, NuSVR

from ordinality import persist
from ordinality.estimators import (
    LabelRankingGP,
    LowRankImputer,
    OrdinalGP,
    OrdinalSVM,
    PreferenceGP,
    RoundedRegressor,
)
from ordinality.persist.layouts import LAYOUTS
from ordinality.persist.names import OURS


@pytest.fixture(scope="module")
def preferences(rows):
    X, _ = rows
    pairs = np.column_stack([np.arange(20), np.arange(1, 21)])
    return PreferenceGP(X, optimizer=None).fit(pairs, np.where(X[:20, 0] > X[1:21, 0], 1, -1))


@pytest.fixture(scope="module")
def rankings(rows):
    X, _ = rows
    Y = np.argsort(np.argsort(X, axis=1), axis=1) + 1.0
    return LabelRankingGP(optimizer=None).fit(X, Y)


@pytest.fixture(scope="module")
def machine(rows):
    return RoundedRegressor(SVR()).fit(*rows)


def node_at(schema, place):
    for name in place.split("."):
        content = schema["content"]
        if schema["__loader__"] == "TreeNode":
            content = content["content"]
        if name.isdigit():
            schema = content[int(name)]
        else:
            schema = (content["content"] if schema["__loader__"] == "ObjectNode" else content)[
                name
            ]
    return schema


def changed(model, path, place, change):
    """Save a model, change the array at ``place``, and write the file again."""
    persist.save(model, path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    member = node_at(json.loads(members["schema.json"]), place)["file"]
    buffer = io.BytesIO()
    np.save(buffer, change(np.load(io.BytesIO(members[member]))), allow_pickle=False)
    members[member] = buffer.getvalue()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def refused(path, message):
    with pytest.raises(persist.ModelFileError, match=message):
        persist.load(path)


# ---------------------------------------------------------------- crafted indices


def test_an_observation_of_an_item_that_is_not_there_is_refused(preferences, path):
    changed(preferences, path, "fit_.problem.design.index", lambda a: np.full_like(a, 20_000))
    refused(path, "is not valid: PreferenceGP.fit_.Fit.problem.*Combinations")


def test_negative_indices_of_labels_are_refused(rankings, path):
    changed(rankings, path, "fit_.problem.design.index", lambda a: -a - 1)
    refused(path, r"Labels\.index holds -\d+, outside of 0")


def test_an_input_table_cut_to_one_row_is_refused(preferences, path):
    changed(preferences, path, "fit_.problem.X", lambda a: a[:1])
    refused(path, "is not valid: PreferenceGP.fit_")


@pytest.mark.parametrize("place", ["dual_coef_", "_dual_coef_", "support_vectors_", "support_"])
@pytest.mark.parametrize("change", [lambda a: a[..., :0], lambda a: a[..., :-1]])
def test_a_machine_of_scikit_learn_with_short_arrays_is_refused(machine, path, place, change):
    changed(machine, path, f"regressor_.{place}", change)
    refused(path, r"is not valid: RoundedRegressor\.regressor_\.SVR\.")


def test_a_machine_with_support_vectors_in_another_order_of_memory_is_refused(machine, path):
    changed(machine, path, "regressor_.support_vectors_", np.asfortranarray)
    refused(path, "not contiguous in memory")


def test_an_encoder_that_would_write_beyond_its_columns_is_refused(path, rows):
    X, y = rows
    encoder = ColumnTransformer([("one", OneHotEncoder(sparse_output=False), [0])])
    model = make_pipeline(encoder, OrdinalSVM(calibration_folds=None)).fit(X.round(), y)
    model[0].named_transformers_["one"]._n_features_outs = [1]
    with pytest.raises(persist.ModelFileError, match="do not match its categories"):
        persist.save(model, path)


@pytest.mark.parametrize(
    ("place", "change", "message"),
    [
        ("thresholds_", lambda a: a[::-1].copy(), "thresholds_ is not increasing"),
        ("thresholds_", lambda a: a[:1], "thresholds_ has 1 where K-1 = 2 was expected"),
        ("loo_proba_", lambda a: a * 0.5, "loo_proba_ holds rows that do not sum to one"),
        ("predictor_.alpha", lambda a: a.astype("f4"), "alpha is an array of float32"),
        ("predictor_.alpha", lambda a: a.astype(">f8"), "alpha is an array of >f8"),
        ("predictor_.alpha", lambda a: a * np.nan, "alpha holds nan"),
        ("predictor_.alpha", lambda a: a[None], "alpha has 2 axes where 1 were expected"),
        ("_scaling.spread", lambda a: 0 * a, r"Scaling\.spread holds 0\.0"),
        ("_scaling.centre", lambda a: a[:2], "spread has 3 where d = 2 was expected|d = 3"),
        ("_kept", lambda a: a - 1, "_kept holds -1, outside of 0"),
        ("_order.levels", lambda a: a[[0, 0, 1]], "levels holds a label twice"),
    ],
)
def test_an_array_that_is_not_what_it_should_be_is_named(model, path, place, change, message):
    changed(model, path, place, change)
    refused(path, message)


@pytest.mark.parametrize(
    ("part", "text"),
    [("node_count", "100000"), ("node_count", "0"), ("node_count", "true"), ("args", "100000"),
     ("args", "0")],
)  # fmt: skip
def test_a_tree_that_announces_other_sizes_than_it_has_is_not_built(
    path, rows, repacked, part, text
):
    persist.save(RoundedRegressor(RandomForestRegressor(1, random_state=0)).fit(*rows), path)

    def larger(schema):
        tree = node_at(schema, "regressor_.estimators_.0.tree_")
        state, arguments = tree["content"]["content"], tree["__reduce__"]["args"]["content"]
        (arguments[2] if part == "args" else state[part])["content"] = text
        return schema

    repacked(path, schema=larger)
    refused(path, "holds a tree whose arrays are not valid")


@pytest.mark.parametrize("part", ["nodes", "values"])
@pytest.mark.parametrize("change", [lambda a: a[:1], lambda a: a[:0], lambda a: a.view("u1")])
def test_a_tree_with_other_arrays_is_not_built(path, rows, part, change):
    model = RoundedRegressor(RandomForestRegressor(1, random_state=0)).fit(*rows)
    changed(model, path, f"regressor_.estimators_.0.tree_.{part}", change)
    refused(path, "holds a tree whose arrays are not valid")


# ---------------------------------------------------------------- attributes


@pytest.mark.parametrize("name", ["predict", "extra_", "__class__"])
def test_an_attribute_that_is_not_known_is_refused(file, repacked, name):
    def more(schema):
        attributes = schema["content"]["content"]
        attributes[name] = attributes["noise_"]
        keys = schema["content"]["key_types"]["content"]
        keys.append(keys[0])
        return schema

    repacked(file, schema=more)
    refused(file, f"has an attribute '{name}', which is not known")


def test_an_attribute_that_is_missing_is_refused(file, repacked):
    def fewer(schema):
        del schema["content"]["content"]["thresholds_"]
        return schema

    repacked(file, schema=fewer)
    refused(file, "has no attribute 'thresholds_'")


def test_an_attribute_that_hides_a_method_of_scikit_learn_is_refused(path, rows):
    model = make_pipeline(StandardScaler(), OrdinalGP(optimizer=None)).fit(*rows)
    vars(model[0])["transform"] = 1.0
    with pytest.raises(persist.ModelFileError, match="'transform', which hides a method"):
        persist.save(model, path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("decision", '"toss"', r"OrdinalGP\.decision is 'toss'; known are"),
        ("n_features_in_", "true", "n_features_in_ is a bool where a whole number"),
        ("n_features_in_", "2", "d = 2|has 3 where"),
        ("noise_", "NaN", r"OrdinalGP\.noise_ is nan"),
        ("converged_", "1", "converged_ is 1 where True or False was expected"),
    ],
)
def test_a_scalar_that_is_not_what_it_should_be_is_named(file, repacked, name, text, message):
    def other(schema):
        schema["content"]["content"][name]["content"] = text
        return schema

    repacked(file, schema=other)
    refused(file, message)


def test_a_pipeline_that_lost_a_step_is_refused(path, rows, repacked):
    persist.save(make_pipeline(StandardScaler(), OrdinalGP(optimizer=None)).fit(*rows), path)

    def shorter(schema):
        del schema["content"]["content"]["steps"]["content"][0]
        return schema

    repacked(path, schema=shorter)
    refused(path, r"gives steps as \['StandardScaler', 'OrdinalGP'\], but the model has")


def test_every_type_has_a_layout_of_all_its_fields():
    assert {name.partition("@")[0] for name in OURS} == LAYOUTS.keys()
    for name, (module, qualified) in OURS.items():
        found = getattr(import_module(module), qualified)
        layout = {key for key in LAYOUTS[name.partition("@")[0]] if key != "also"}
        if dataclasses.is_dataclass(found):
            fields = {field.name for field in dataclasses.fields(found)}
            own = getattr(found, "__annotations__", {})
            fields |= {key for key, kind in own.items() if not kind.startswith("ClassVar")}
            optional = {key[:-1] for key in layout if key.endswith("?")}
            assert layout - {f"{key}?" for key in optional} == fields - optional, name


# ---------------------------------------------------------------- parts of scikit-learn


@pytest.mark.parametrize(
    "regressor",
    [SVR(kernel="poly"), NuSVR(), make_pipeline(LowRankImputer(rank=1), SVR())],
    ids=str,
)
def test_regressors_with_compiled_code_that_can_be_checked_are_stored(regressor, path, rows):
    model = RoundedRegressor(regressor).fit(*rows)
    persist.save(model, path)
    np.testing.assert_array_equal(persist.load(path).predict(rows[0]), model.predict(rows[0]))


@pytest.mark.parametrize("regressor", [KNeighborsRegressor(), HistGradientBoostingRegressor()])
def test_parts_that_cannot_be_checked_are_not_stored(regressor, path, rows):
    model = RoundedRegressor(regressor).fit(*rows)
    with pytest.raises(persist.ModelFileError, match="not among the types"):
        persist.save(model, path)
    assert not path.exists()


# ---------------------------------------------------------------- other tools


def test_skops_itself_reads_a_model_with_the_types_that_are_trusted(rows, preferences):
    trusted = persist.trusted_types()
    assert trusted == sorted(set(trusted))
    X, y = rows
    forest = make_pipeline(
        StandardScaler(), RoundedRegressor(RandomForestRegressor(2, random_state=0))
    )
    for model in (OrdinalGP(optimizer=None).fit(X, y), forest.fit(X, y)):
        raw = skops.io.dumps(model)
        assert set(skops.io.get_untrusted_types(data=raw)) <= set(trusted)
        again = skops.io.loads(raw, trusted=trusted)
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert set(skops.io.get_untrusted_types(data=skops.io.dumps(preferences))) <= set(trusted)
