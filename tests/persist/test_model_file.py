"""Writing model files, and what they say of themselves."""

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import ordinality
from ordinality import persist
from ordinality.estimators import OrdinalGP, OrdinalSVM, RoundedRegressor

FIXTURES = Path(__file__).parent.parent / "fixtures"


def same(ours, theirs, X):
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_array_equal(ours.predict_proba(X), theirs.predict_proba(X))


@pytest.mark.filterwarnings("ignore:.*was written with scikit-learn")
def test_a_file_of_format_2_is_read_as_it_was_meant():
    expected = json.loads((FIXTURES / "wine-format-2.json").read_text(encoding="utf-8"))
    model = persist.load(FIXTURES / "wine-format-2.skops")
    rows = pandas.DataFrame(expected["rows"])
    assert model.predict(rows).tolist() == expected["predict"]
    np.testing.assert_allclose(model.predict_proba(rows), expected["predict_proba"], rtol=1e-8)


def test_a_pipeline_of_named_columns_is_read_without_pandas():
    code = f"""
import sys
class NoPandas:
    def find_spec(self, name, *args):
        if name == "pandas":
            raise ImportError(name)
sys.meta_path.insert(0, NoPandas())
from ordinality import persist
print(persist.load({str(FIXTURES / "wine-format-2.skops")!r}).steps[-1][0])
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout == "model\n", found.stderr


@pytest.mark.parametrize("read", [persist.load, persist.metadata])
def test_a_file_of_version_0_1_is_refused_in_one_sentence(read):
    with pytest.raises(
        persist.ModelFileError, match=r"has format 1, .* reads format 2; fit and"
    ):
        read(FIXTURES / "wine-0.1.skops")


def test_what_a_file_of_format_2_says_of_itself_is_read_without_the_model():
    about = persist.metadata(FIXTURES / "wine-format-2.skops")
    assert about["levels"] == ["1 least", "2", "3", "4", "5 most"]
    assert about["feature_names"] == ["temp", "contact", "judge", "number"]
    assert about["versions"]["ordinality"] == "0.1.0"
    assert about["steps"] == ["ColumnTransformer", "OrdinalGP"]
    assert about["summary"] == {"rows": 36}


def test_metadata_says_what_was_saved(model, path):
    persist.save(model, path, summary={"mae": np.float64(0.25), "rows": np.arange(2)})
    about = persist.metadata(path)
    assert about["model"] == "OrdinalGP"
    assert about["levels"] == ["low", "mid", "high"]
    assert about["n_features"] == 3
    assert about["feature_names"] is None
    assert about["versions"]["scikit-learn"] == version("scikit-learn")
    assert about["summary"] == {"mae": 0.25, "rows": [0, 1]}
    assert about["created"].endswith("+00:00")


def test_nothing_is_replaced_unless_it_is_asked_for(model, path, rows):
    path.write_text("a thesis")
    with pytest.raises(FileExistsError, match="exists; choose another name, or"):
        persist.save(model, path)
    assert path.read_text() == "a thesis"
    persist.save(model, path, force=True)
    same(model, persist.load(path), rows[0])


@pytest.mark.parametrize("where", ["builtins.open", "os.replace"])
def test_nothing_half_written_is_left_behind(model, path, monkeypatch, where):
    path.write_text("the old one")

    def full(*args, **kwargs):
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(where, full)
        with pytest.raises(OSError, match="no space left"):
            persist.save(model, path, force=True)
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert path.read_text() == "the old one"


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (OrdinalGP(), "this OrdinalGP is not fitted yet; call fit"),
        (make_pipeline(StandardScaler(), OrdinalGP()), "this OrdinalGP is not fitted yet"),
        (Ridge(), "a Ridge cannot be saved: expected an estimator of ordinality"),
        (GridSearchCV(OrdinalGP(), {}), r"a GridSearchCV cannot.*take best_estimator_"),
        (None, "a NoneType cannot be saved"),
    ],
)
def test_only_fitted_models_of_ours_are_saved(model, message, path):
    with pytest.raises(persist.ModelFileError, match=message):
        persist.save(model, path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("model", "named"),
    [
        (make_pipeline(FunctionTransformer(lambda X: X), OrdinalGP(optimizer=None)), "lambda"),
        (OrdinalSVM(kernel=lambda A, B: A @ B.T), "Function"),
        (RoundedRegressor(KNeighborsRegressor()), "KDTree"),
    ],
    ids=["step", "kernel", "regressor"],
)
def test_what_could_not_be_loaded_is_not_saved(model, named, path, rows):
    with pytest.raises(persist.ModelFileError, match=f"the model holds .*{named}.*not among"):
        persist.save(model.fit(*rows), path)
    assert not path.exists()


def test_the_suffix_says_what_the_file_is(model, tmp_path):
    with pytest.raises(persist.ModelFileError, match=r"ends in \.skops, got 'model.pkl'"):
        persist.save(model, tmp_path / "model.pkl")


@pytest.mark.parametrize("versions", [{"scikit-learn": "1.2.3"}, {}], ids=["older", "unsaid"])
def test_another_scikit_learn_is_warned_of_once(path, rows, repacked, versions):
    model = make_pipeline(StandardScaler(), OrdinalGP(optimizer=None)).fit(*rows)
    persist.save(model, path)

    def older(schema):  # what scikit-learn itself would warn of, step by step
        text = json.dumps(schema).replace(version("scikit-learn"), "1.2.3")
        return json.loads(text)

    repacked(path, schema=older, about=lambda about: {**about, "versions": versions})
    with pytest.warns(UserWarning, match="Install scikit-learn .*, or fit and save") as caught:
        persist.load(path)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_another_patch_of_scikit_learn_or_another_ordinality_passes_in_silence(
    model, file, rows, repacked
):
    near = version("scikit-learn").rsplit(".", 1)[0] + ".99"
    versions = {"scikit-learn": near, "ordinality": "0.0.1", "numpy": "9.9"}
    repacked(file, about=lambda about: {**about, "versions": versions})
    same(model, persist.load(file), rows[0])


def test_the_package_offers_both_by_name(model, path, rows):
    ordinality.save(model, path)
    same(model, ordinality.load(path), rows[0])


def test_a_loaded_model_can_still_be_asked_for_its_evidence_and_be_fitted_again(
    model, file, rows
):
    loaded = persist.load(file)
    assert loaded.log_evidence() == model.log_evidence()
    assert loaded.get_params()["levels"] == ["low", "mid", "high"]
    X, y = rows
    same(loaded.fit(X, np.array(["low", "mid", "high"])[y]), model, X)
