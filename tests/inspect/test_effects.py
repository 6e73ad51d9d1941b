"""Laws of marginal effects and adjusted predictions, and of their standard errors."""

import json
from pathlib import Path

import numpy as np
import pandas
import polars
import pytest
from scipy.special import ndtri
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ordinality.estimators import OrdinalBoost, OrdinalGP, OrdinalRegression
from ordinality.inspect import Effect, effects
from ordinality.inspect.model_inputs import level_proba


@pytest.fixture(scope="module")
def process(rows):
    return OrdinalGP("gaussian", link="probit", optimizer=None).fit(*rows)


@pytest.fixture(scope="module")
def stumps(rows):
    return OrdinalBoost(learner="stump", n_estimators=10, calibration_folds=2).fit(*rows)


def of(found, name):
    return next(one for one in found if one.column == name)


@pytest.mark.parametrize("step", ["sd", "unit", "slope"])
def test_changes_are_averages_of_differences_of_probabilities(process, rows, step):
    X, _ = rows
    found = of(effects(process, X, step=step), "feature 2")
    half = {"sd": X[:, 1].std() / 2, "unit": 0.5, "slope": 1e-5}[step]
    moved = np.array([[0.0, half]])
    change = (level_proba(process, X + moved) - level_proba(process, X - moved)).mean(axis=0)
    change /= 2 * half if step == "slope" else 1.0
    # Differences of width 0.02 standard deviations stand for the slope of a smooth function.
    np.testing.assert_allclose(found.change, change, atol=1e-3 if step == "slope" else 1e-12)
    assert found.change.sum() == pytest.approx(0.0, abs=1e-10)
    assert found.expected == pytest.approx(found.rise.sum())


def test_adjusted_predictions_are_averages_at_the_values_asked_for(process, rows):
    X, _ = rows
    found = of(effects(process, X, values={1: [-0.5, 0.25]}), "feature 2")
    for value, proba in zip(found.values, found.proba, strict=True):
        Z = np.column_stack([X[:, 0], np.full(len(X), value)])
        np.testing.assert_allclose(proba, level_proba(process, Z).mean(axis=0), rtol=1e-12)


def test_a_column_of_two_values_goes_from_one_to_the_other(rows):
    X, y = rows
    Z = np.column_stack([X[:, 0], (X[:, 1] > 0).astype(float)])
    model = OrdinalGP("gaussian", link="probit", optimizer=None).fit(Z, y)
    for step in ("sd", "slope"):
        found = of(effects(model, Z, step=step), "feature 2")
        assert found.between == ("0", "1")
        np.testing.assert_allclose(found.change, found.proba[1] - found.proba[0], atol=1e-12)


def test_standard_errors_of_a_posterior_are_those_of_its_draws(process, rows):
    X, _ = rows
    half = np.array([X[:, 0].std() / 2, 0.0])
    draws = process.sample_level_proba(np.vstack([X - half, X + half]), 4000, 5)
    low, high = (draws[:, part].mean(axis=1) for part in (slice(60), slice(60, None)))
    found = of(effects(process, X), "feature 1")
    # 200 and 4000 draws: a standard error is right to 5 % and 1 %.
    np.testing.assert_allclose(found.change_se, (high - low).std(axis=0), rtol=0.2)
    levels = np.arange(4)
    assert found.expected_se == pytest.approx(((high - low) @ levels).std(), rel=0.2)
    assert np.all(found.proba_se > 0)


def test_more_rows_leave_smaller_standard_errors():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(800, 1))
    y = np.digitize(X[:, 0] + rng.normal(size=800), [-0.5, 0.5])
    model = OrdinalGP("linear", link="probit")
    few, many = (effects(model.fit(X[:n], y[:n]), X[:200])[0] for n in (50, 800))
    # A quarter for sixteen times the rows, about.
    assert 0.1 < many.expected_se / few.expected_se < 0.5


def test_refits_are_repeatable_and_go_on_where_they_were(stumps, rows, tmp_path):
    X, y = rows
    path, seen = tmp_path / "refits.jsonl", []

    def stop(what, share):
        seen.append(what)
        if what == "refit 3 of 4":
            raise KeyboardInterrupt

    asked = {"y": y, "n_refits": 4, "refits_path": path}
    with pytest.raises(KeyboardInterrupt):
        effects(stumps, X, **asked, progress=stop)
    with open(path, "a") as file:
        file.write('{"key": "torn')
    seen.clear()
    again = effects(stumps, X, **asked, progress=lambda what, share: seen.append(what))
    assert [what for what in seen if "refit" in what] == ["refit 3 of 4", "refit 4 of 4"]
    whole = effects(stumps, X, y=y, n_refits=4)
    for one, other in zip(again, whole, strict=True):
        np.testing.assert_allclose(one.change_se, other.change_se, rtol=1e-12)
    # Of another seed nothing in the file is used.
    effects(stumps, X, **asked, seed=1, progress=lambda what, share: seen.append(what))
    assert seen.count("refit 1 of 4") == 1


def test_refits_take_weights_text_and_pipelines(rows):
    X, y = rows
    frame = pandas.DataFrame(X, columns=["a", "b"])
    model = make_pipeline(StandardScaler(), OrdinalBoost(learner="stump", n_estimators=5))
    words = pandas.Series(np.array(["d", "c", "b", "a"])[y])
    model.set_params(ordinalboost__levels=["d", "c", "b", "a"]).fit(frame, words)
    found = effects(model, frame, y=words, sample_weight=np.arange(60.0), n_refits=2)
    assert found.source == "bootstrap"
    assert found.levels == ("d", "c", "b", "a")


def test_intervals_of_the_strongest_pair_of_categories_are_wider():
    rng = np.random.default_rng(0)
    names = rng.choice(["u", "v", "w"], 120)
    frame = polars.DataFrame({"name": names})
    from ordinality.workbench import study

    y = np.digitize(rng.normal(size=120), [-0.5, 0.5])
    pipeline = study(frame.with_columns(y=polars.Series(y)), "y", model="gp").pipeline
    found = effects(pipeline, frame)[0]
    assert found.comparisons == 3
    width = np.diff(found.interval("expected")).item()
    assert width == pytest.approx(2 * ndtri(1 - 0.05 / 6) * found.expected_se)


def test_without_labels_a_model_that_knows_no_errors_has_none(stumps, rows):
    found = effects(stumps, rows[0])
    assert found.source is None
    assert np.isnan(found[0].interval()).all()
    assert Effect.from_dict(json.loads(json.dumps(found[0].as_dict()))).change_se is None


def test_effects_print_as_a_table(process, rows):
    text = str(effects(process, rows[0]))
    assert text.splitlines()[0].split() == ["column", "level", "change", "95%", "interval"]
    assert "expected level" in text
    assert len(text.splitlines()) == 1 + 2 * 5


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"step": "iqr"}, "step='iqr' is not known; choose one of"),
        ({"columns": ["height"]}, "there is no feature 'height'"),
        ({"values": {"height": [1]}}, "there is no feature 'height'"),
        ({"y": [0, 1]}, "y has 2 labels, but X has 60 rows"),
        ({"y": [0, 1] * 30, "n_refits": 1}, "n_refits=1 gives no standard error"),
        ({"n_refits": "many"}, "n_refits='many' must be a whole number"),
        ({"n_refits": 2.5}, "n_refits=2.5 must be a whole number"),
        ({"columns": [9]}, "there is no feature 9; there are"),
        ({"X": np.empty((0, 2))}, "X has no rows, and effects are averages over rows"),
        ({"X": np.zeros((5, 3))}, "X has 3 features"),
    ],
    ids=str,
)
def test_wrong_questions_are_refused(stumps, rows, wrong, message):
    with pytest.raises(ValueError, match=message):
        effects(**{"model": stumps, "X": rows[0]} | wrong)


def test_a_model_without_a_fit_has_no_effects(rows):
    with pytest.raises(NotFittedError, match="not fitted yet. Call 'fit'"):
        effects(OrdinalRegression(), rows[0])


def test_delta_method_agrees_with_the_reference_of_average_marginal_effects(data_dir):
    # tests/linear-vectors.json, case wesdr-robust: R's derivatives and delta method.
    cases = json.loads((Path(__file__).parents[1] / "linear-vectors.json").read_text())["cases"]
    known = next(case for case in cases if case["id"] == "wesdr-robust")["expected"]
    known = known["average_marginal_effects"]
    names = ["age", "diab", "gh", "dbp", "sex"]
    frame = polars.read_csv(data_dir / "ordinal" / "wesdr_retinopathy.csv")
    X = frame.select(names).cast(polars.Float64).to_numpy()
    model = OrdinalRegression().fit(X, frame["target"].to_numpy())
    found = effects(model, X, range(4), step="slope")  # sex is a step there
    assert found.source == "delta"
    for one in found:
        at = int(one.column.removeprefix("feature ")) - 1
        np.testing.assert_allclose(one.change, known["effect"][at], atol=1e-8)
        np.testing.assert_allclose(one.change_se, known["standard_error"][at], rtol=1e-6)


def test_errors_of_effects_beside_random_effects_are_those_of_repeated_samples():
    rng = np.random.default_rng(3)
    group, x = rng.integers(0, 15, 400), rng.normal(size=400)
    of_group = rng.normal(size=15)[group]
    table = pandas.DataFrame({"x": x, "w": of_group, "judge": group.astype(str)})
    changes, errors = [], []
    for _ in range(30):
        latent = 0.7 * x + 0.5 * of_group + 0.8 * rng.normal(size=15)[group]
        y = np.digitize(latent + rng.logistic(size=400), [-1.5, 0.0, 1.5])
        found = effects(OrdinalRegression(random="judge").fit(table, y), table, step="unit")
        assert found.source == "delta"
        known = {one.column: one for one in found}
        changes.append([known[name].expected for name in "xw"])
        errors.append([known[name].expected_se for name in "xw"])
        assert known["judge"].expected_se is None  # its modes are held
    # The deviation of 30 draws is known to 13 %; 3 of that.
    np.testing.assert_allclose(
        np.mean(errors, axis=0), np.std(changes, axis=0, ddof=1), rtol=0.4
    )


def test_a_penalised_regression_has_no_delta_method():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.digitize(X[:, 0] + rng.normal(size=60), [-0.5, 0.5])
    model = OrdinalRegression(penalty="l2").fit(X, y)
    assert model.average_proba_root(X, 2) is None
    assert effects(model, X, y=y, n_refits=3).source == "bootstrap"
