"""OrdinalTrees fitted to Dask arrays and data frames."""

import sys
from dataclasses import replace

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from ordinality import OrdinalTrees, persist
from ordinality.boosting.cumulative_loss import fitted_thresholds, newton_thresholds
from ordinality.distributed.boosted_trees import StageLoss, _joined, _split, _terms_of
from ordinality.distributed.partitions import Part

lightgbm = pytest.importorskip("lightgbm", reason="needs the extra trees")


def table(n=4500, seed=3):
    """Rows with missing cells and categories whose order is not that of their effects."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    frame["town"] = pd.Categorical(rng.choice(["east", "north", "west"], n))
    effect = frame["town"].map({"east": 1.5, "north": -1.5, "west": 0.0}).astype(float)
    latent = frame["a"] + np.sin(2 * frame["b"]) + effect + 0.5 * rng.logistic(size=n)
    frame["level"] = pd.Categorical.from_codes(
        np.digitize(latent, [-1.5, 0.0, 1.5]), ["bad", "fair", "good", "best"], ordered=True
    )
    frame.loc[rng.random(n) < 0.05, "a"] = np.nan
    return frame


NAMES = ["a", "b", "town"]


def log_score(model, rows):
    proba = model.predict_level_proba(rows[NAMES])
    return -np.mean(np.log(proba[np.arange(len(rows)), rows["level"].cat.codes]))


def test_trees_of_two_processes_predict_as_those_of_one(client, tmp_path, capfd):
    rows, test = table(), table(seed=4)
    frames = dd.from_pandas(rows, npartitions=3)
    settings = {"n_estimators": 26, "learning_rate": 0.2}
    found = OrdinalTrees(**settings).fit(frames[NAMES], frames["level"])
    wanted = OrdinalTrees(**settings, scale=False, nonparallel=False)
    wanted.fit(rows[NAMES], rows["level"])
    # LightGBM finds the bins of a feature from the rows of one worker: trees differ a little.
    assert log_score(found, test) == pytest.approx(log_score(wanted, test), abs=0.01)
    assert found.levels_.tolist() == ["bad", "fair", "good", "best"]
    assert len(found.validation_score_) == 26
    assert found.n_estimators_ == 1 + found.validation_score_.argmax()
    np.testing.assert_allclose(found.thresholds_, wanted.thresholds_, atol=0.1)
    persist.save(found, tmp_path / "trees.skops")
    copy = persist.load(tmp_path / "trees.skops")
    np.testing.assert_array_equal(
        copy.predict_proba(test[NAMES]), found.predict_proba(test[NAMES])
    )
    assert "ports" not in capfd.readouterr().out


def test_few_rows_are_fetched(client):
    rows = table(300)
    frames = dd.from_pandas(rows, npartitions=3)
    found = OrdinalTrees(5).fit(frames[NAMES], frames["level"])
    wanted = OrdinalTrees(5).fit(rows[NAMES], rows["level"])
    np.testing.assert_array_equal(
        found.predict_proba(rows[NAMES]), wanted.predict_proba(rows[NAMES])
    )


def test_without_a_client_the_error_says_what_to_do(here):
    X, y = da.zeros((100, 2), chunks=(50, 2)), da.arange(100, chunks=50) % 3
    with pytest.raises(ValueError, match=r"no Dask client; make one.*or pass the rows"):
        OrdinalTrees().fit(X, y)


@pytest.mark.parametrize("name", ["scale", "nonparallel"])
def test_what_needs_all_rows_in_one_process_is_refused(here, name):
    X, y = da.zeros((100, 2), chunks=(50, 2)), da.arange(100, chunks=50) % 3
    with pytest.raises(ValueError, match=f"{name}=True needs all rows in one process"):
        OrdinalTrees(**{name: True}).fit(X, y)
    with pytest.raises(ValueError, match="loss='multinomial' needs all rows in one process"):
        OrdinalTrees(loss="multinomial").fit(X, y)


def test_categories_that_are_not_known_are_refused(here):
    rows = table(30)
    frames = dd.from_pandas(rows, npartitions=2)
    frames["town"] = frames["town"].cat.as_unknown()
    with pytest.raises(ValueError, match=r"'town' are not known.*X\.categorize"):
        OrdinalTrees().fit(frames[NAMES], frames["level"])
    X, y = da.zeros((100, 2), chunks=(50, 2)), da.arange(100, chunks=50) % 3
    with pytest.raises(ValueError, match="categories of column 1 are not known"):
        OrdinalTrees(categorical=[1]).fit(X, y)


def test_a_worker_without_lightgbm_is_named(client):
    X, y = da.zeros((100, 2), chunks=(50, 2)), da.arange(100, chunks=50) % 3
    (first, *_) = client.nthreads()
    client.run(_block, workers=[first])
    try:
        with pytest.raises(ModuleNotFoundError, match=f"worker {first} has no LightGBM.*pip"):
            OrdinalTrees().fit(X, y)
    finally:
        client.run(_unblock, workers=[first])


_KEPT = {}


def _block():
    _KEPT["lightgbm"] = sys.modules.get("lightgbm")
    sys.modules["lightgbm"] = None


def _unblock():
    kept = _KEPT.pop("lightgbm")
    if kept is None:
        del sys.modules["lightgbm"]
    else:
        sys.modules["lightgbm"] = kept


def parts(n=400):
    rng = np.random.default_rng(0)
    f = rng.normal(size=n)
    y = np.digitize(f + rng.logistic(size=n), [-1.0, 1.0])
    whole = Part(f[:, None], y, rng.uniform(0.5, 2, n))
    return whole, f, [np.arange(n) < 150, np.arange(n) >= 150]


def test_thresholds_from_sums_over_partitions_are_those_of_all_rows():
    whole, f, masks = parts()
    start, none = np.array([-0.5, 0.5]), np.empty(0)
    wanted = fitted_thresholds(whole.y, whole.weights, f, none, start, 5)

    def terms(thresholds):
        found = [
            _terms_of(0, Part(whole.X[m], whole.y[m], whole.weights[m]), thresholds, f[m])
            for m in masks
        ]
        return tuple(a + b for a, b in zip(*found, strict=True))

    np.testing.assert_allclose(newton_thresholds(terms, start, 5), wanted, rtol=1e-12)


@pytest.mark.parametrize("weighted", [True, False])
def test_the_loss_of_a_stage_has_the_slope_of_the_log_likelihood(weighted):
    from ordinality.boosting.cumulative_loss import log_proba

    whole, f, _ = parts()
    thresholds, none, h = np.array([-1.0, 1.0]), np.empty(0), 1e-4
    w = whole.weights if weighted else np.ones(len(f))
    first, second = StageLoss(thresholds)(
        whole.y.astype(np.float32), f, w.astype(np.float32) if weighted else None
    )
    up, at, down = (-w * log_proba(whole.y, f + s, none, thresholds) for s in (h, 0.0, -h))
    np.testing.assert_allclose(first, (up - down) / (2 * h), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(second, (up - 2 * at + down) / h**2, rtol=1e-4, atol=1e-5)


def test_rows_are_held_out_or_learnt_from_and_every_level_keeps_one():
    whole, _, _ = parts()
    whole = replace(whole, y=np.append(whole.y[:-1], 3))  # one row of the last level
    learnt, held = (_split(2, whole, 0.4, 7, part) for part in (False, True))
    together = np.sort(np.concatenate([learnt.X, held.X]), axis=0)
    np.testing.assert_array_equal(together, np.sort(whole.X, axis=0))
    assert np.unique(learnt.y).tolist() == [0, 1, 2, 3]
    assert len(held.y) == pytest.approx(0.4 * len(whole.y), abs=3)  # a row of each level


def test_joined_trees_have_the_sum_of_the_scores():
    from ordinality.boosting.forest import forests_of

    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=500), rng.integers(0, 6, 500)])
    y = X[:, 0] + (X[:, 1] % 2)
    one, other = (
        forests_of(
            lightgbm.train(
                {"verbosity": -1, "min_data_per_group": 1, "num_leaves": leaves},
                lightgbm.Dataset(X, y, categorical_feature=[1]),
                4,
            )
        )[0]
        for leaves in (5, 9)
    )
    both = _joined(one, other)
    assert both.is_sound(2)
    np.testing.assert_allclose(both.score(X), one.score(X) + other.score(X), rtol=1e-14)
