"""Gradient-boosted trees: missing values, categories, constraints, and what is chosen."""

import builtins
import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ordinality import OrdinalBoost, OrdinalTrees, levels, metrics, workbench
from ordinality.boosting import cumulative_trees
from ordinality.boosting.cumulative_loss import (
    fitted_thresholds,
    gradients,
    log_proba,
    scale_information,
)
from ordinality.experiments.league import problem

VECTORS = json.loads((Path(__file__).parents[1] / "linear-vectors.json").read_text("utf-8"))


def drawn(n=600, seed=0, K=4):
    """Rows whose level rises with the first column and with the square of the second."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    score = 1.5 * X[:, 0] + X[:, 1] ** 2
    y = np.digitize(score + 0.5 * rng.logistic(size=n), np.linspace(-1, 3, K - 1))
    return X, y, score


@pytest.fixture(scope="module")
def data():
    return drawn()


@pytest.fixture(scope="module")
def model(data):
    X, y, _ = data
    return OrdinalTrees().fit(X, y)


def log_score(model, X, y):
    return metrics.log_score(y, model.predict_level_proba(X), levels=model.levels_)


def test_the_score_orders_new_rows_and_the_thresholds_cut_it(model):
    X, y, score = drawn(seed=1)
    latent = model.predict_latent(X)
    assert metrics.spearman(score.argsort().argsort(), latent.argsort().argsort()) > 0.93
    cut = levels.rank_from_scores(latent, model.thresholds_)
    assert np.mean(np.abs(cut - y)) < 0.5  # the second level everywhere: 0.82
    # Frequencies alone give 1.34, the probabilities that the levels were drawn by 0.73.
    assert log_score(model, X, y) < 0.92


def test_held_out_rows_choose_the_rounds(model):
    best = int(np.argmax(model.validation_score_)) + 1
    assert model.n_estimators_ == best
    assert len(model.validation_score_) == best + 50


def test_without_held_out_rows_all_rounds_are_kept(data):
    X, y, _ = data
    model = OrdinalTrees(7, validation_fraction=None).fit(X, y)
    assert model.n_estimators_ == 7
    assert len(model.validation_score_) == 0
    assert not model.scale_
    assert model.pool_weight_ == 1.0


def test_the_same_seed_gives_the_same_trees_with_any_number_of_threads(data):
    X, y, _ = data
    options = {"subsample": 0.7, "colsample_bytree": 0.7, "scale": True, "nonparallel": True}
    options["n_estimators"] = 30
    one, two = (OrdinalTrees(n_jobs=jobs, **options).fit(X, y) for jobs in (1, 2))
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    other = OrdinalTrees(random_state=1, **options).fit(X, y)
    assert np.any(other.predict_proba(X) != one.predict_proba(X))


def test_a_weight_of_two_is_the_row_twice_where_many_rows_are(data):
    X, y, _ = data
    weight = np.where(np.arange(len(y)) % 3 == 0, 2, 1)
    weighted = OrdinalTrees(30).fit(X, y, sample_weight=weight)
    repeated = OrdinalTrees(30).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))


# ------------------------------------------------------------------------------ refinements


def test_a_noise_that_depends_on_the_row_is_found():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(3000, 2))
    y = np.digitize(
        2 * X[:, 0] + np.exp(1.5 * X[:, 1]) * 0.5 * rng.logistic(size=3000), [-1, 0, 1]
    )
    train, test = slice(0, 2000), slice(2000, None)
    plain = OrdinalTrees(scale=False, nonparallel=False).fit(X[train], y[train])
    scaled = OrdinalTrees(nonparallel=False).fit(X[train], y[train])
    assert scaled.scale_
    assert log_score(scaled, X[test], y[test]) < log_score(plain, X[test], y[test]) - 0.01


def test_effects_that_differ_between_thresholds_are_pooled():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(3000, 2))
    low = X[:, 0] + 0.2 * rng.logistic(size=3000) > 0  # decided by one column,
    high = X[:, 1] + 0.2 * rng.logistic(size=3000) > 0  # and by the other
    y = low * (1 + 1 * high)
    train, test = slice(0, 2000), slice(2000, None)
    plain = OrdinalTrees(nonparallel=False).fit(X[train], y[train])
    pooled = OrdinalTrees(nonparallel=True).fit(X[train], y[train])
    assert pooled.pool_weight_ < 0.5
    assert log_score(pooled, X[test], y[test]) < log_score(plain, X[test], y[test]) - 0.01


def test_small_data_are_spared_the_refinements(model):
    assert not model.scale_
    assert model.pool_weight_ == 1.0
    assert model.trees_.above == ()


# ------------------------------------------------------------------------------ columns


def test_missing_values_are_learnt_from():
    X, y, _ = drawn()
    X = X.copy()
    X[y == 3, 2] = np.nan  # what is missing tells the level
    model = OrdinalTrees().fit(X, y)
    assert np.all(model.predict(X[y == 3]) == 3)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_of_categories_are_split_into_sets(library):
    frames = pytest.importorskip(library)
    rng = np.random.default_rng(0)
    colour = np.array(["red", "blue", "green", "pink"])[rng.integers(0, 4, 800)]
    y = np.digitize(np.isin(colour, ["red", "pink"]) + 0.3 * rng.normal(size=800), [0.3, 0.7])
    kind = "category" if library == "pandas" else frames.Categorical
    table = frames.DataFrame({"x": rng.normal(size=800), "colour": colour})
    cast = table.astype if library == "pandas" else table.cast
    table = cast({"colour": kind})
    model = OrdinalTrees().fit(table, y)
    assert model.column_categories_[0] is None
    assert model.column_categories_[1].tolist() == ["blue", "green", "pink", "red"]
    assert np.any(model.trees_.location.n_words > 0)
    assert model.feature_importances_[1] > 0.8
    codes = np.column_stack([table["x"], np.unique(colour, return_inverse=True)[1]])
    same = OrdinalTrees(categorical=[1]).fit(codes, y)
    np.testing.assert_array_equal(model.predict_proba(table), same.predict_proba(codes))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(table[["colour", "x"]])


def test_a_category_that_was_not_seen_is_missing():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    colour = np.array(["red", "blue"])[rng.integers(0, 2, 300)]
    table = pd.DataFrame({"colour": pd.Categorical(colour)})
    model = OrdinalTrees().fit(table, (colour == "red") + rng.integers(0, 2, 300))
    new = pd.DataFrame({"colour": ["violet", None]})
    unseen, missing = model.predict_proba(new)
    np.testing.assert_array_equal(unseen, missing)


def test_ordered_categories_are_split_in_their_order_unless_listed():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    names = ["small", "medium", "large"]
    code = rng.integers(0, 3, 400)
    table = pd.DataFrame({"size": pd.Categorical.from_codes(code, names, ordered=True)})
    y = np.digitize(code + 0.5 * rng.normal(size=400), [0.5, 1.5])
    ordered = OrdinalTrees(monotone={"size": 1}).fit(table, y)
    assert not np.any(ordered.trees_.location.n_words)
    assert np.all(
        np.diff(ordered.predict_latent(table.iloc[[np.argmax(code == k) for k in range(3)]]))
        > 0
    )
    listed = OrdinalTrees(categorical=["size"]).fit(table, y)
    assert np.any(listed.trees_.location.n_words)


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("nonparallel", [False, True])
def test_a_constrained_effect_goes_one_way_at_every_threshold(sign, nonparallel):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(500, 2))
    y = np.digitize(
        sign * np.sin(6 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=500), [-1, 0, 1]
    )
    model = OrdinalTrees(monotone=[sign, 0], nonparallel=nonparallel).fit(X, y)
    grid = np.column_stack([np.linspace(-1, 1, 201), np.zeros(201)])
    above = 1 - model.predict_level_proba(grid, cumulative=True)
    assert np.all(sign * np.diff(above, axis=0) >= -1e-12)
    assert not model.scale_
    free = OrdinalTrees(nonparallel=nonparallel).fit(X, y).predict_latent(grid)
    assert np.any(sign * np.diff(free) < 0)


# ------------------------------------------------------------------------------ edges


def test_a_level_without_rows_keeps_its_place_and_a_small_probability(data):
    X, y, _ = data
    y = y[y != 2], X[y != 2]
    model = OrdinalTrees(20, levels=range(-1, 5)).fit(y[1], y[0])
    proba = model.predict_level_proba(X)
    assert np.all(proba > 0)
    assert np.all(proba[:, [0, 3, 5]] < 1e-4)
    assert model.thresholds_[0] == -np.inf
    assert model.thresholds_[-1] == np.inf
    assert model.thresholds_[2] == model.thresholds_[3]


@pytest.mark.parametrize("value", [0.0, np.nan])
def test_rows_that_are_all_alike_give_the_frequencies(value):
    y = np.repeat([0, 1, 2], [10, 20, 30])
    model = OrdinalTrees().fit(np.full((60, 2), value), y)
    np.testing.assert_allclose(
        model.predict_proba(np.zeros((1, 2)))[0], [1 / 6, 1 / 3, 1 / 2], rtol=1e-4
    )


def test_few_rows_are_no_error():
    model = OrdinalTrees().fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    assert model.n_estimators_ <= 100
    assert np.all(np.isfinite(model.predict_proba([[0.5]])))


def test_without_lightgbm_fit_says_what_to_install_and_a_model_still_predicts(
    data, model, monkeypatch
):
    X, y, _ = data
    known = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.partition(".")[0] == "lightgbm":
            raise ModuleNotFoundError("No module named 'lightgbm'", name="lightgbm")
        return known(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'ordinality\[trees\]'"):
        clone(model).fit(X, y)
    assert np.all(np.isfinite(model.predict_proba(X)))


def test_the_loss_has_the_reference_derivatives_and_thresholds():
    case = next(c for c in VECTORS["cases"] if c["id"] == "trees-loss")
    f, weights, cuts = (np.array(case["data"][k]) for k in ("f", "weight", "thresholds"))
    y, none, expected = np.array(case["data"]["y_level"]) - 1, np.empty(0), case["expected"]
    first, second = gradients(y, weights, f, none, cuts, none)
    # In single precision, as LightGBM takes them.
    np.testing.assert_allclose(first, expected["gradient"], rtol=1e-6)
    np.testing.assert_allclose(second, expected["hessian"], rtol=1e-6)
    loss = -weights @ log_proba(y, f, none, cuts)
    assert loss == pytest.approx(expected["loss_total"], rel=1e-12)
    best = fitted_thresholds(y, weights, f, none, cuts, 50)
    np.testing.assert_allclose(best, expected["optimal_thresholds"], rtol=1e-9)
    information = scale_information(f, np.full(len(f), 0.2), cuts)
    np.testing.assert_allclose(
        information, expected["log_scale_expected_information_at_0p2"], rtol=1e-9
    )


def test_without_lightgbm_the_package_loads():
    code = (
        "import sys; sys.modules['lightgbm'] = None\n"
        "import ordinality\n"
        "try:\n    ordinality.OrdinalTrees().fit([[0.0], [1.0]], [0, 1])\n"
        "except ModuleNotFoundError as wrong:\n    print(wrong)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert "needs LightGBM, which is not installed; run: pip install" in run.stdout


def test_without_lightgbm_the_command_takes_other_trees(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    found = workbench.model("trees").build(levels=[0, 1, 2], random_state=0)
    assert isinstance(found, OrdinalBoost)
    assert found.learner == "tree"
    X = np.linspace(0, 1, 30)[:, None]
    np.testing.assert_array_equal(
        found.fit(X, np.arange(30) // 10).predict(X), np.arange(30) // 10
    )


def test_more_levels_than_can_be_modelled_are_refused():
    X, y = np.random.default_rng(0).normal(size=(20_000, 1)), np.arange(20_000) // 2
    with pytest.raises(ValueError, match="10000 levels, but at most 1000 .* join levels"):
        OrdinalTrees().fit(X, y)


def test_no_pool_is_tried_for_many_levels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3060, 1))
    y = np.argsort(np.argsort(X[:, 0] + rng.normal(size=3060))) // 60
    assert OrdinalTrees(5).fit(X, y).pool_weight_ == 1.0


def test_models_are_copied_searched_and_put_into_pipelines(data, model):
    X, y, _ = data
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copied.predict_proba(X), model.predict_proba(X))
    search = GridSearchCV(
        make_pipeline(StandardScaler(), OrdinalTrees(30)),
        {"ordinaltrees__num_leaves": [3, 15]}, scoring=metrics.scorer("rps"), cv=2,
    )  # fmt: skip
    assert search.fit(X, y).best_score_ > -0.35  # frequencies alone: 0.54


def test_a_repeated_table_is_not_learnt_by_heart(data, model):
    X, y, _ = data
    twice = OrdinalTrees().fit(np.vstack([X, X]), np.append(y, y))
    weighted = OrdinalTrees().fit(X, y, sample_weight=np.full(len(y), 2))
    np.testing.assert_array_equal(twice.predict_proba(X), weighted.predict_proba(X))
    assert twice.n_estimators_ < 2 * model.n_estimators_


# ---------------------------------------------------------------- the multinomial loss


def two_kinds(n=500, seed=0):
    """Rows of even categories are at the lowest or the highest level, the others between."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 4, n), rng.normal(size=n)])
    high = rng.random(n) < 0.5
    return X, np.where(X[:, 0] % 2 == 0, 3 * high, 1 + high)


def test_the_multinomial_loss_learns_what_no_single_score_can():
    X, y = two_kinds()
    new, wanted = two_kinds(seed=1)
    model = OrdinalTrees(loss="multinomial").fit(X, y)
    assert log_score(model, new, wanted) < 0.8  # the true probabilities: 0.69
    assert model.feature_importances_[0] > 0.8
    assert not hasattr(model, "thresholds_")
    assert not hasattr(model, "predict_latent")
    model.set_params(loss="cumulative").fit(X, y)
    assert log_score(model, new, wanted) > 1.0
    assert len(model.thresholds_) == 3
    assert model.predict_latent(new).shape == (500,)


def test_multinomial_trees_do_not_diverge_where_a_level_has_one_row(data_dir):
    split = problem("nursery", 3)  # LightGBM's log score is 6.6 there
    assert np.bincount(split.y)[1] == 1
    model = OrdinalTrees(loss="multinomial", random_state=3).fit(split.X, split.y)
    assert log_score(model, split.X_test, split.y_test) < 0.01


def test_trees_that_raise_the_training_loss_are_taken_back(data, monkeypatch):
    X, y, _ = data
    model = OrdinalTrees(25, loss="multinomial", validation_fraction=None).fit(X, y)
    wanted = model.predict_proba(X)
    monkeypatch.setattr(cumulative_trees, "_LIMIT", {})  # grown again, and again in vain
    rising = cumulative_trees._Multinomial
    monkeypatch.setattr(rising, "_training_loss", lambda self: float(self.round))
    taken = model.set_params(n_estimators=60).fit(X, y)
    assert taken.n_estimators_ == 25
    np.testing.assert_allclose(taken.predict_proba(X), wanted, rtol=1e-12)


def test_the_multinomial_loss_is_that_of_lightgbm(data):
    import lightgbm

    X, y, _ = data
    model = OrdinalTrees(9, loss="multinomial", validation_fraction=None, num_leaves=7)
    weights = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    found = model.fit(X, y, weights).predict_level_proba(X)
    parameters = {
        "objective": "multiclass", "num_class": 4, "learning_rate": 0.05, "num_leaves": 7,
        "min_data_in_bin": 1, "verbosity": -1, "num_threads": 1,
    }  # fmt: skip
    booster = lightgbm.train(parameters, lightgbm.Dataset(X, y, weight=weights), 9)
    share = np.bincount(y, weights) / weights.sum()
    wanted = (1 - model.floor_) * booster.predict(X) + model.floor_ * share
    np.testing.assert_allclose(found, wanted, atol=1e-4)


def test_the_multinomial_loss_takes_missing_cells_categories_and_absent_levels():
    X, y = two_kinds()
    X[::9, 1] = np.nan
    model = OrdinalTrees(loss="multinomial", categorical=[0], levels=[0, 1, 2, 3, 4])
    proba = model.fit(X, y).predict_level_proba([[2, np.nan], [3, 0], [7, np.nan]])
    assert np.all((proba[:, 4] > 0) & (proba[:, 4] < 1e-3))
    assert proba[0, [0, 3]].min() > 0.3
    assert proba[1, [1, 2]].min() > 0.3
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)


def test_the_multinomial_loss_of_rows_that_are_all_alike_gives_the_frequencies():
    X, y = np.ones((6, 1)), [1, 1, 3, 3, 3, 3]
    model = OrdinalTrees(loss="multinomial", levels=[1, 2, 3]).fit(X, y)
    np.testing.assert_allclose(model.predict_level_proba(X)[0], [1 / 3, 0, 2 / 3], atol=1e-3)
    assert model.n_estimators_ == 0
