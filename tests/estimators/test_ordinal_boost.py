"""Thresholded ensembles as estimators: what they learn, round by round and in the end."""

import copy
import itertools
import pickle

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import AdaBoostClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

from ordinality import OrdinalBoost, RankBoost, metrics
from ordinality.boosting.learners import DecisionStump
from ordinality.estimators.boost_learners import vc_dimension

LEARNERS = ["perceptron", "sigmoid", "stump", "tree"]
MODELS = {
    "all": OrdinalBoost("all", n_estimators=20),
    "left-right": OrdinalBoost("left-right", n_estimators=20),
    "absolute": RankBoost("absolute", n_estimators=20),
    "zero-one": RankBoost("zero-one", n_estimators=20),
}
OUTSIDERS = [DecisionTreeClassifier(max_depth=2), GaussianNB()]

every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
every_learner = pytest.mark.parametrize(
    "learner", [*LEARNERS, *OUTSIDERS], ids=lambda v: v if isinstance(v, str) else "outsider"
)


def made(model, **changes):
    return clone(model).set_params(**changes)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = np.digitize(X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=150), [-0.3, 0.6, 1.8])
    return X, y


# ------------------------------------------------------------------------------ learning


@every_learner
@every_model
def test_every_model_learns_with_every_learner(data, model, learner):
    X, y = data
    given = {"calibration_folds": 3, "early_stopping": False}
    found = made(model, learner=learner, **given).fit(X, y)
    assert found.score(X, y) > 0.6  # the most frequent level: 0.32
    assert found.thresholds_.shape == (3,)
    assert np.all(np.diff(found.thresholds_) >= 0)
    assert found.weights_.shape == (20,)
    assert len(found.learners_) == found.n_estimators_ == found.n_iter_ == 20
    assert found.train_loss_.shape == (21,)
    assert np.all(np.diff(found.train_loss_) <= 1e-12)
    log_score = metrics.log_score(y, found.predict_proba(X), levels=range(4))
    assert log_score < 1.2  # the frequencies: 1.38


@every_learner
@every_model
def test_the_score_is_the_weighted_vote(data, model, learner):
    X, y = data
    found = made(model, learner=learner, standardize=False, calibration_folds=None).fit(X, y)
    votes = np.array([value(X) for value in found.learners_])
    assert np.all(np.abs(votes) <= 1)
    np.testing.assert_allclose(found.predict_latent(X), found.weights_ @ votes, atol=1e-12)


def test_the_mean_loss_starts_where_no_row_is_told_from_another(data):
    X, y = data
    found = made(MODELS["all"], learner="stump").fit(X, y)
    # Score zero: each threshold has a rows below and b above, at best a loss 2 sqrt(a b).
    below = np.cumsum(np.bincount(y))[:-1]
    assert found.train_loss_[0] == pytest.approx(2 * np.sqrt(below * (150 - below)).sum() / 150)
    rho = found.margins_of(X, y)
    assert found.train_loss_[-1] == pytest.approx(np.exp(-rho).sum(axis=1).mean())
    ranked = made(MODELS["absolute"], learner="stump").fit(X, y)
    assert ranked.train_loss_[0] == 1.0
    H = ranked.predict_latent(X)
    pairs = [np.exp(H[j] - H[i]) for i in range(150) for j in range(150) if y[i] > y[j]]
    assert ranked.train_loss_[-1] == pytest.approx(np.mean(pairs))


def test_sigmoids_have_the_length_asked_for_and_trees_the_depth(data):
    X, y = data
    soft = OrdinalBoost(learner="sigmoid", steepness=2.5, n_estimators=3).fit(X, y)
    for value in soft.learners_:
        assert np.hypot(np.linalg.norm(value.w), value.bias) == pytest.approx(2.5)
    trees = OrdinalBoost(learner="tree", max_depth=2, n_estimators=3).fit(X, y)
    assert all(len(value.leaf) == 4 for value in trees.learners_)


def test_features_that_matter_are_the_important_ones(data):
    X, y = data
    for learner in [*LEARNERS, DecisionTreeClassifier(max_depth=2)]:
        found = OrdinalBoost(learner=learner, n_estimators=20).fit(X, y).feature_importances_
        assert found.shape == (3,)
        assert found.sum() == pytest.approx(1.0)
        assert np.argmin(found) == 2
    silent = OrdinalBoost(learner=DummyClassifier(), n_estimators=2).fit(X, y)
    np.testing.assert_array_equal(silent.feature_importances_, 0.0)


def test_units_do_not_matter_where_features_are_standardised(data):
    X, y = data
    units = 2.0 ** np.array([-10, 0, 17])  # no rounding, after which perceptrons may differ
    for learner in LEARNERS:
        plain = OrdinalBoost(learner=learner, n_estimators=10).fit(X, y)
        other = OrdinalBoost(learner=learner, n_estimators=10).fit(X * units, y)
        np.testing.assert_array_equal(other.predict_latent(X * units), plain.predict_latent(X))
    raw = OrdinalBoost(standardize=False, n_estimators=10).fit(X * units, y)
    scaled = OrdinalBoost(n_estimators=10).fit(X, y)
    assert np.any(np.abs(raw.predict_latent(X * units) - scaled.predict_latent(X)) > 1e-3)


def test_cuts_of_stumps_are_in_the_units_of_the_features(data):
    X, y = data
    model = OrdinalBoost(learner="stump", n_estimators=5).fit(1000 * X, y)
    assert all(isinstance(value, DecisionStump) for value in model.learners_)
    assert max(abs(value.cut) for value in model.learners_) > 50


def test_bins_are_for_stumps_and_trees(data):
    X, y = data
    for learner in ("stump", "tree"):
        few = OrdinalBoost(learner=learner, n_estimators=30, max_bins=2).fit(X, y)
        cuts = {
            (f, c)
            for value in few.learners_
            for f, c in zip(np.atleast_1d(value.feature), np.atleast_1d(value.cut), strict=True)
            if np.isfinite(c)
        }
        assert len(cuts) <= 3  # one for each feature


# ------------------------------------------------------------------------------ laws


@every_model
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_weight_of_two_is_exactly_the_row_twice(data, model, learner):
    X, y = data
    weight = np.arange(150) % 4
    weighted = made(model, learner=learner).fit(X, y, sample_weight=weight)
    copied = made(model, learner=learner).fit(np.repeat(X, weight, 0), np.repeat(y, weight))
    np.testing.assert_array_equal(weighted.predict_latent(X), copied.predict_latent(X))
    np.testing.assert_array_equal(weighted.predict_proba(X), copied.predict_proba(X))


@every_model
@pytest.mark.parametrize("learner", LEARNERS)
def test_the_order_of_the_rows_does_not_matter(data, model, learner):
    X, y = data
    order = np.random.default_rng(5).permutation(150)
    one = made(model, learner=learner, validation_fraction=0.2).fit(X, y)
    other = made(model, learner=learner, validation_fraction=0.2).fit(X[order], y[order])
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


@every_learner
def test_equal_seeds_give_equal_models(data, learner):
    X, y = data
    model = OrdinalBoost(learner=learner, n_estimators=10)
    one, again = model.fit(X, y).predict_proba(X), clone(model).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(one, again)
    seeded = (made(model, random_state=seed).fit(X, y) for seed in (3, 3, 4))
    a, b, c = (m.predict_proba(X) for m in seeded)
    np.testing.assert_array_equal(a, b)
    assert np.any(a != c)  # the folds at least


def test_a_learner_of_scikit_learn_with_chance_in_it_follows_the_seed(data):
    X, y = data
    learner = DecisionTreeClassifier(max_depth=2, splitter="random")
    model = OrdinalBoost(learner=learner, n_estimators=5)
    one, again = model.fit(X, y).predict_latent(X), clone(model).fit(X, y).predict_latent(X)
    np.testing.assert_array_equal(one, again)
    seeds = [value.function.classifier.random_state for value in model.learners_]
    assert len(set(seeds)) == 5
    assert learner.random_state is None


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_threads_change_nothing(data, n_jobs):
    X, y = data
    one = OrdinalBoost(n_estimators=10).fit(X, y).predict_proba(X)
    many = OrdinalBoost(n_estimators=10, n_jobs=n_jobs).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(one, many)
    with parallel_config("threading", n_jobs=2):
        np.testing.assert_array_equal(
            OrdinalBoost(n_estimators=10).fit(X, y).predict_proba(X), one
        )


def test_two_levels_lose_no_more_than_adaboost_for_they_move_a_threshold_as_well(data):
    X, y = data
    sign = np.where(y > 1, 1.0, -1.0)
    ours = OrdinalBoost(learner="stump", n_estimators=50).fit(X, sign > 0)
    theirs = AdaBoostClassifier(n_estimators=50, random_state=0).fit(X, sign)
    # Its weights are twice those of the paper, log((1 - e) / e).
    votes = np.array([stump.predict(X) for stump in theirs.estimators_])
    H = 0.5 * theirs.estimator_weights_ @ votes
    assert ours.train_loss_[-1] <= np.exp(-sign * H).mean()
    assert np.mean((ours.predict(X) > 0) == (H > 0)) > 0.95


# ------------------------------------------------------------------------------ scikit-learn


@pytest.mark.parametrize(
    "estimator",
    [
        OrdinalBoost("left-right", learner="stump", n_estimators=10),
        OrdinalBoost(learner="tree", n_estimators=10, validation_fraction=0.3),
        OrdinalBoost(
            learner=DecisionTreeClassifier(max_depth=1), n_estimators=5, calibration_folds=2
        ),
        RankBoost("zero-one", learner="sigmoid", n_estimators=10, calibration_folds=None),
    ],
    ids=repr,
)
def test_other_learners_pass_the_checks_of_scikit_learn_too(estimator):
    results = check_estimator(estimator, on_skip=None, on_fail=None)
    assert not [result for result in results if result["status"] == "failed"]


@pytest.mark.parametrize(
    "copier", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy], ids=["pickle", "deep"]
)
@every_learner
def test_a_copied_model_predicts_the_same(data, learner, copier):
    X, y = data
    model = RankBoost(learner=learner, n_estimators=5).fit(X, y)
    np.testing.assert_array_equal(copier(model).predict_proba(X), model.predict_proba(X))


@every_model
def test_a_clone_has_the_parameters_and_nothing_learnt(data, model):
    found = clone(model).fit(*data)
    fresh = clone(found)
    assert fresh.get_params() == found.get_params()
    assert not hasattr(fresh, "thresholds_")


def test_a_grid_search_in_a_pipeline_tries_learners(data):
    X, y = data
    pipeline = make_pipeline(StandardScaler(), OrdinalBoost(n_estimators=10))
    grid = {
        "ordinalboost__learner": ["stump", DecisionTreeClassifier(max_depth=1)],
        "ordinalboost__margins": ["all", "left-right"],
    }
    search = GridSearchCV(pipeline, grid, scoring=metrics.scorer("rps"), cv=3).fit(X, y)
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    assert search.best_score_ > -0.6  # the frequencies: 0.69
    nested = GridSearchCV(
        OrdinalBoost(learner=DecisionTreeClassifier(), n_estimators=5),
        {"learner__max_depth": [1, 2]}, scoring=metrics.scorer("mae"), cv=3,
    )  # fmt: skip
    assert set(nested.fit(X, y).best_params_) == {"learner__max_depth"}


def test_a_table_leaves_its_column_names(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    table = pd.DataFrame(X, columns=["height", "width", "depth"])
    model = OrdinalBoost(n_estimators=10).fit(table, y)
    assert model.feature_names_in_.tolist() == ["height", "width", "depth"]
    plain = OrdinalBoost(n_estimators=10).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(table), plain.predict_proba(X))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(table[["width", "height", "depth"]])


# ------------------------------------------------------------------------------ probabilities


def test_without_calibration_there_are_no_probabilities(data):
    X, y = data
    model = OrdinalBoost(n_estimators=5, calibration_folds=None)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model.fit(X, y), "predict_level_proba")
    assert model.link_ is None
    same = OrdinalBoost(n_estimators=5).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), same.decision_function(X))
    assert metrics.scorer("mae")(model, X, y) > -1.0


@every_model
def test_probabilities_are_ordered_and_agree_with_the_prediction(data, model):
    X, y = data
    found = clone(model).fit(X, y)
    proba = found.predict_level_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert np.all(np.diff(found.predict_level_proba(X, cumulative=True), axis=1) >= 0)
    np.testing.assert_array_equal(proba.argmax(axis=1), found.predict(X))
    own = found.link_.proba(found.predict_latent(X))
    right = own.argmax(axis=1) == found.predict(X)
    np.testing.assert_allclose(proba[right], own[right], rtol=1e-12)


def test_probabilities_of_new_rows_are_calibrated():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 4))
    y = np.digitize(X[:, 0] - X[:, 1] * X[:, 2] + rng.normal(size=6000), [-1, 0.5])
    model = OrdinalBoost(learner="tree", n_estimators=100).fit(X[:1000], y[:1000])
    proba = model.link_.proba(model.predict_latent(X[1000:]))
    for curve in metrics.reliability(y[1000:], proba):
        many = curve.count > 200
        np.testing.assert_allclose(curve.observed[many], curve.predicted[many], atol=0.1)


@pytest.mark.parametrize("name", ["esl", "balance_scale"])
@pytest.mark.parametrize("model", ["all", "absolute"])
def test_published_data_are_predicted_better_than_by_frequencies(data_dir, name, model):
    table = np.genfromtxt(data_dir / "ordinal" / f"{name}.csv", delimiter=",", skip_header=1)
    X, y = table[:, :-1], table[:, -1].astype(int)
    train = np.random.default_rng(0).random(len(y)) < 0.7
    levels = np.arange(1, y.max() + 1)
    found = made(MODELS[model], n_estimators=100, levels=levels).fit(X[train], y[train])
    frequency = (np.bincount(y[train], minlength=len(levels) + 1)[1:] + 0.1) / train.sum()
    guess = -np.log(frequency)[y[~train] - 1].mean()
    ours = -metrics.scorer("log_score")(found, X[~train], y[~train])
    assert ours < {"esl": 0.6, "balance_scale": 0.3}[name] * guess


# ------------------------------------------------------------------------------ stages


@every_model
def test_the_last_stage_is_the_model(data, model):
    X, y = data
    found = clone(model).fit(X, y)
    for staged, whole in [
        (found.staged_predict, found.predict),
        (found.staged_predict_latent, found.predict_latent),
        (found.staged_decision_function, found.decision_function),
    ]:
        stages = list(staged(X))
        assert len(stages) == 20
        np.testing.assert_array_equal(stages[-1], whole(X))


@every_model
def test_a_stage_is_the_model_of_so_many_rounds(data, model):
    X, y = data
    stages = list(clone(model).fit(X, y).staged_predict(X))
    short = made(model, n_estimators=7).fit(X, y)
    np.testing.assert_array_equal(stages[6], short.predict(X))


@every_learner
@every_model
def test_a_warm_start_equals_one_long_run(data, model, learner):
    X, y = data
    given = {"n_estimators": 12, "calibration_folds": 2, "early_stopping": False}
    long = made(model, learner=learner, **given).fit(X, y)
    warm = clone(long).set_params(warm_start=True, n_estimators=5).fit(X, y)
    early = warm.learners_
    warm.set_params(n_estimators=12).fit(X, y)
    assert all(a is b for a, b in zip(early, warm.learners_, strict=False))
    np.testing.assert_array_equal(warm.weights_, long.weights_)
    np.testing.assert_array_equal(warm.train_loss_, long.train_loss_)
    np.testing.assert_array_equal(warm.predict_proba(X), long.predict_proba(X))


def test_a_warm_start_asked_for_nothing_new_changes_nothing(data):
    X, y = data
    model = made(MODELS["all"], warm_start=True).fit(X, y)
    before = model.predict_proba(X)
    np.testing.assert_array_equal(model.fit(X, y).predict_proba(X), before)


def test_a_warm_start_goes_on_after_a_pickle(data):
    X, y = data
    model = made(MODELS["all"], warm_start=True, n_estimators=7).fit(X, y)
    model = pickle.loads(pickle.dumps(model)).set_params(n_estimators=20).fit(X, y)
    long = clone(MODELS["all"]).fit(X, y)
    np.testing.assert_array_equal(model.predict_latent(X), long.predict_latent(X))


def test_a_warm_start_takes_new_rows_and_keeps_the_scale_of_the_old(data):
    X, y = data
    model = OrdinalBoost(n_estimators=5, warm_start=True).fit(X[:75], y[:75])
    before = model.weights_, model.predict_latent(X)
    model.set_params(n_estimators=10).fit(X[75:] + 1.0, y[75:])
    np.testing.assert_array_equal(model.weights_[:5], before[0])
    np.testing.assert_array_equal(list(model.staged_predict_latent(X))[4], before[1])


# ------------------------------------------------------------------------------ stopping


@every_model
def test_early_stopping_keeps_the_round_with_the_least_held_out_error(data, model):
    X, y = data
    patient = {"n_estimators": 60, "validation_fraction": 0.3, "calibration_folds": None}
    found = made(model, **patient, patience=60).fit(X, y)
    assert found.n_iter_ == len(found.validation_score_) == 60
    assert found.n_estimators_ == np.argmax(found.validation_score_) + 1 == len(found.weights_)
    assert len(found.train_loss_) == found.n_estimators_ + 1
    assert np.all(found.validation_score_ <= 0)
    hasty = made(model, **patient, patience=5).fit(X, y)
    assert hasty.n_iter_ < 60
    np.testing.assert_array_equal(
        hasty.validation_score_, found.validation_score_[: hasty.n_iter_]
    )
    late = hasty.validation_score_[hasty.n_estimators_ :]
    assert np.all(late <= hasty.validation_score_.max())


def test_an_improvement_must_exceed_the_tolerance(data):
    X, y = data
    model = OrdinalBoost(n_estimators=60, validation_fraction=0.3, patience=5, tol=10.0)
    assert model.fit(X, y).n_iter_ == 6  # the first round, and five that are no better


def test_held_out_rows_are_not_learnt_from(data):
    X, y = data
    model = OrdinalBoost(n_estimators=5, learner="stump", validation_fraction=0.2).fit(X, y)
    below = np.cumsum(np.bincount(y))[:-1]
    whole = 2 * np.sqrt(below * (150 - below)).sum() / 150
    assert model.train_loss_[0] != pytest.approx(whole, rel=1e-9)
    assert model.train_loss_[0] == pytest.approx(whole, rel=0.02)  # held out in proportion


def test_fitting_again_forgets_the_early_stopping(data):
    X, y = data
    model = OrdinalBoost(n_estimators=5, validation_fraction=0.2).fit(X, y)
    model.set_params(validation_fraction=None).fit(X, y)
    assert vars(model).keys() == vars(OrdinalBoost(n_estimators=5).fit(X, y)).keys()


# ------------------------------------------------------------------------------ margins


@every_model
def test_margins_are_those_of_the_definition(data, model):
    X, y = data
    found = clone(model).fit(X, y)
    H, theta = found.predict_latent(X), found.thresholds_
    expected = [
        [H[n] - theta[k] if y[n] > k else theta[k] - H[n] for k in range(3)] for n in range(150)
    ]
    np.testing.assert_allclose(found.margins_of(X, y), expected)
    scale = np.abs(found.weights_).sum() + np.abs(theta).sum()
    normalized = found.margins_of(X, y, normalized=True)
    np.testing.assert_allclose(normalized, np.array(expected) / scale)
    assert np.abs(normalized).max() <= 1.0


@every_model
def test_margin_errors_are_in_the_order_of_the_paper(data, model):
    X, y = data
    found = clone(model).fit(X, y)
    kinds = ("classification", "boundary", "absolute")
    for delta in (0.0, 0.01, 0.05, 0.2):
        c, b, a = (found.margin_error(X, y, delta, kind) for kind in kinds)
        assert c / 2 <= b <= c <= a
    assert found.margin_error(X, y) == pytest.approx(np.mean(found.predict(X) != y))
    absolute = found.margin_error(X, y, kind="absolute")
    assert absolute == pytest.approx(np.abs(found.predict(X) - y).mean())
    weight = (y == 0).astype(float)
    assert found.margin_error(X, y, sample_weight=weight) == pytest.approx(
        np.mean(found.predict(X[y == 0]) != 0)
    )


def test_the_terms_of_the_bounds_are_those_of_the_theorems(data):
    X, y = data
    model = OrdinalBoost(n_estimators=20, calibration_folds=None).fit(X, y)
    terms = model.bound_terms(X, y, 0.1, confidence=0.1)
    d_hat = 3 + 1 + 4 - 1
    inside = np.sqrt((d_hat * np.log(150 / d_hat) ** 2 / 0.01 + np.log(10)) / 150)
    assert terms.d_hat == d_hat
    assert terms.n == 150
    assert terms.boundary_complexity == pytest.approx(inside)
    assert terms.absolute_complexity == pytest.approx(4 * inside)
    assert terms.absolute_error == model.margin_error(X, y, 0.1, "absolute")
    assert terms.boundary_error == model.margin_error(X, y, 0.1, "boundary")
    assert terms.classification_error == model.margin_error(X, y, 0.1)
    wider = model.bound_terms(X, y, 0.2)
    assert wider.absolute_error >= terms.absolute_error
    assert wider.boundary_complexity < terms.boundary_complexity
    assert model.bound_terms(X[:5], y[:5], 0.1).boundary_complexity == np.inf
    assert model.bound_terms(X, y, 0.1, vc_dimension=7).d_hat == 10


@pytest.mark.parametrize(("d", "known"), [(1, 2), (2, 3), (3, 4)])
def test_the_vc_dimension_of_stumps_is_that_of_exhaustive_search(d, known):
    def shattered(m):
        """Whether some m points, given by their order along each feature, are shattered."""
        prefixes = [
            [frozenset(order[:i]) for i in range(m + 1)]
            for order in itertools.permutations(range(m))
        ]
        everything = frozenset(range(m))
        for chosen in itertools.combinations(prefixes, d):
            sets = {s for chain in chosen for s in chain}
            if len(sets | {everything - s for s in sets}) == 2**m:
                return True
        return False

    assert vc_dimension("stump", d, 1) == known
    assert shattered(known)
    if d < 3:  # 120 orders of five points are too many triples
        assert not shattered(known + 1)
