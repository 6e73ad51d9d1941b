"""Tools of scikit-learn that recode labels before `fit` do not change the order of the levels.

Voting, bagging, stacking and others replace text by codes 0 .. K - 1 in alphabetical order.
With the levels stated, the models must be those of labels that are numbered by level.
"""

import warnings
from functools import partial
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import SelectFromModel, SequentialFeatureSelector
from sklearn.linear_model import BayesianRidge
from sklearn.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
    validation_curve,
)
from sklearn.multiclass import (
    OneVsOneClassifier,
    OneVsRestClassifier,
    OutputCodeClassifier,
)
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.semi_supervised import SelfTrainingClassifier

from ordinality import (
    LeastSquaresOrdinalGP,
    OrdinalBoost,
    OrdinalGP,
    OrdinalRegression,
    OrdinalSVM,
    OrdinalSVMCV,
    OrdinalTrees,
    RankBoost,
    RoundedRegressor,
    metrics,
)

LEVELS = ["low", "mid", "high", "top"]  # sorted: high, low, mid, top
SORTED = [2, 0, 1, 3]  # ranks of the sorted labels
CODES = [1, 2, 0, 3]  # places of the levels among the sorted labels

MODELS = {
    "gp": lambda levels: OrdinalGP(inference="laplace", optimizer=None, levels=levels),
    "regression": lambda levels: OrdinalRegression(levels=levels),
    "least squares": lambda levels: LeastSquaresOrdinalGP(optimizer=None, levels=levels),
    "boost": lambda levels: OrdinalBoost(n_estimators=5, calibration_folds=2, levels=levels),
    "rankboost": lambda levels: RankBoost(n_estimators=5, calibration_folds=2, levels=levels),
    "trees": lambda levels: OrdinalTrees(20, levels=levels),
    "svm": lambda levels: OrdinalSVM(calibration_folds=2, levels=levels),
    "svm search": lambda levels: OrdinalSVMCV(
        "linear", cv=2, log_C=(0, 1), fine_steps=0, calibration_folds=2, levels=levels
    ),
    "rounded": lambda levels: RoundedRegressor(BayesianRidge(), levels=levels),
    "pipeline": lambda levels: make_pipeline(FunctionTransformer(), MODELS["gp"](levels)),
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    rank = np.digitize(X[:, 0] + 0.3 * rng.normal(size=60), [-0.7, 0.0, 0.7])
    return X, np.array(LEVELS)[rank], rank


def carried(y):
    pd = pytest.importorskip("pandas")
    return pd.Series(pd.Categorical(y, categories=LEVELS, ordered=True))


def splits(X):
    """Folds that do not depend on how labels are written."""
    fold = np.arange(len(X)) % 3
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]


TOOLS = {
    "cross_val_predict": lambda m, X, y: cross_val_predict(
        m, X, y, cv=splits(X), method="predict_proba"
    ),
    "voting": lambda m, X, y: (
        VotingClassifier([("one", m)], voting="soft").fit(X, y).predict_proba(X)
    ),
    "bagging": lambda m, X, y: (
        BaggingClassifier(m, n_estimators=2, random_state=0).fit(X, y).predict_proba(X)
    ),
    "stacking": lambda m, X, y: (
        StackingClassifier([("one", m)], GaussianNB(), cv=splits(X)).fit(X, y).predict_proba(X)
    ),
    "calibration": lambda m, X, y: (
        CalibratedClassifierCV(m, cv=splits(X)).fit(X, y).predict_proba(X)
    ),
    "calibration by cross-prediction": lambda m, X, y: (
        CalibratedClassifierCV(m, cv=splits(X), ensemble=False).fit(X, y).predict_proba(X)
    ),
}
ALLOWED = "ignore:y holds the codes 0 to 3:UserWarning"


def assert_same(found, expected):
    np.testing.assert_allclose(found, expected[:, SORTED], rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings(ALLOWED)
@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_stated_levels_give_the_models_of_labels_numbered_by_level(data, model, tool):
    X, y, rank = data
    assert_same(tool(model(LEVELS), X, y), tool(model(None), X, rank))


@pytest.mark.filterwarnings(ALLOWED)
@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_so_they_do_for_labels_that_carry_their_order(data, tool):
    X, y, rank = data
    model = MODELS["gp"]
    assert_same(tool(model(LEVELS), X, carried(y)), tool(model(None), X, rank))


@pytest.mark.filterwarnings(ALLOWED)
def test_labels_predicted_through_a_tool_are_the_stated_ones(data):
    X, y, rank = data
    for voting in ("soft", "hard"):
        vote = VotingClassifier([("one", MODELS["gp"](LEVELS))], voting=voting).fit(X, y)
        assert vote.classes_.tolist() == sorted(LEVELS)
        ours = MODELS["gp"](None).fit(X, rank).predict(X)
        assert vote.predict(X).tolist() == np.array(LEVELS)[ours].tolist()
    boosted = AdaBoostClassifier(MODELS["gp"](LEVELS), n_estimators=2).fit(X, y)  # keeps text
    assert boosted.estimators_[0].levels_.tolist() == LEVELS


# ------------------------------------------------------------------------------ the estimator


@pytest.mark.filterwarnings(ALLOWED)
def test_a_model_of_codes_predicts_codes_and_orders_them_by_level(data):
    X, y, _ = data
    codes = np.unique(y, return_inverse=True)[1]
    words, coded = MODELS["gp"](LEVELS).fit(X, y), MODELS["gp"](LEVELS).fit(X, codes)
    assert coded.classes_.tolist() == [0, 1, 2, 3]
    assert coded.levels_.tolist() == CODES
    np.testing.assert_array_equal(coded.predict_proba(X), words.predict_proba(X))
    np.testing.assert_array_equal(coded.predict_level_proba(X), words.predict_level_proba(X))
    np.testing.assert_array_equal(words.classes_[coded.predict(X)], words.predict(X))
    assert metrics.scorer("rps")(coded, X, codes) == metrics.scorer("rps")(words, X, y)


def test_codes_that_could_be_ranks_are_read_with_a_warning_that_tells_their_meaning(data):
    X, _, rank = data
    read = "0 is 'high', 1 is 'low', 2 is 'mid', 3 is 'top'.*leave `levels` out"
    with pytest.warns(UserWarning, match=read) as caught:
        MODELS["gp"](LEVELS).fit(X, rank)
    assert [warning.filename for warning in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # both readings agree: nothing to say
        MODELS["gp"](["a", "b", "c", "d"]).fit(X, rank)


@pytest.mark.filterwarnings(ALLOWED)
@pytest.mark.parametrize("name", ["gp", "least squares", "boost", "rankboost", "svm"])
def test_codes_of_rows_without_weight_count_as_seen(data, name):
    X, _, rank = data
    codes = np.array(CODES)[rank]
    weight = np.where(rank == 1, 0.0, 1.0)
    coded = MODELS[name](LEVELS).fit(X, codes, sample_weight=weight)
    stated = MODELS[name]([0, 1, 2, 3]).fit(X, rank, sample_weight=weight)
    assert coded.levels_.tolist() == CODES
    np.testing.assert_array_equal(coded.predict_level_proba(X), stated.predict_proba(X))


@pytest.mark.filterwarnings(ALLOWED)
def test_weights_of_classes_keep_the_names_of_the_levels(data):
    X, y, rank = data
    words = OrdinalSVM(class_weight={"mid": 3.0}, calibration_folds=None, levels=LEVELS)
    ranks = OrdinalSVM(class_weight={1: 3.0}, calibration_folds=None).fit(X, rank)
    vote = VotingClassifier([("one", words)]).fit(X, y)
    np.testing.assert_array_equal(
        vote.estimators_[0].predict_latent(X), ranks.predict_latent(X)
    )


@pytest.mark.filterwarnings(ALLOWED)
def test_a_warm_start_goes_on_from_codes(data):
    X, y, rank = data
    codes = np.unique(y, return_inverse=True)[1]
    grown = OrdinalBoost(n_estimators=3, calibration_folds=None, warm_start=True, levels=LEVELS)
    grown.fit(X, codes).set_params(n_estimators=6).fit(X, codes)
    whole = OrdinalBoost(n_estimators=6, calibration_folds=None).fit(X, rank)
    np.testing.assert_array_equal(grown.predict_latent(X), whole.predict_latent(X))


# ------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_codes_with_one_missing_are_refused_with_what_to_do(data, model):
    X, y, _ = data
    codes = np.unique(y, return_inverse=True)[1]
    some = codes != 2
    with pytest.raises(ValueError, match="only if all occur, but y lacks 2.*cross_val_level_"):
        model(LEVELS).fit(X[some], codes[some])


def test_a_fold_that_lacks_a_level_is_refused(data):
    X, y, rank = data
    folds = [(np.flatnonzero(rank != 1), np.flatnonzero(rank == 1))]
    folds.append(folds[0][::-1])
    with pytest.raises(ValueError, match="but y lacks 2"):
        cross_val_predict(MODELS["gp"](LEVELS), X, y, cv=folds, method="predict_proba")


@pytest.mark.parametrize("tool", [OneVsOneClassifier, OneVsRestClassifier])
def test_tools_that_learn_pairs_of_classes_are_refused(data, tool):
    X, y, _ = data
    with pytest.raises(ValueError, match="looks like a code.*but y lacks 2, 3"):
        tool(MODELS["gp"](LEVELS)).fit(X, y)


@pytest.mark.parametrize("shift", [1, 10])
def test_other_integers_are_not_taken_for_codes(data, shift):
    X, _, rank = data
    with pytest.raises(ValueError, match="declared levels.*must be of one kind"):
        MODELS["gp"](LEVELS).fit(X, rank + shift)


# ------------------------------------------------------------------------------ the tools


class Recorder(ClassifierMixin, BaseEstimator):
    """A classifier that notes what kind of labels it is given."""

    seen: ClassVar[set[str]] = set()

    def __init__(self, strength=1.0):
        self.strength = strength

    def fit(self, X, y, sample_weight=None):
        codes = np.asarray(y).dtype.kind == "i"
        kind = "two" if codes and len(np.unique(y)) == 2 else "codes" if codes else "text"
        self.seen.add("ordered" if getattr(y.dtype, "ordered", False) else kind)
        self.coef_ = np.ones((1, np.shape(X)[1]))
        self.model_ = GaussianNB().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


def frame(y):
    return y.to_frame("one").assign(two=y)


# The table of docs/ordered-labels.md, one entry for each tool.
HANDED = {
    "pipeline": ("ordered", lambda m: make_pipeline(FunctionTransformer(), m).fit),
    "GridSearchCV": ("ordered", lambda m: GridSearchCV(m, {}, cv=2).fit),
    "RandomizedSearchCV": ("ordered", lambda m: RandomizedSearchCV(m, {}, n_iter=1, cv=2).fit),
    "cross_val_score": ("ordered", lambda m: partial(cross_val_score, m, cv=2)),
    "cross_validate": ("ordered", lambda m: partial(cross_validate, m, cv=2)),
    "cross_val_predict": ("ordered", lambda m: partial(cross_val_predict, m, cv=2)),
    "learning_curve": (
        "ordered",
        lambda m: partial(learning_curve, m, train_sizes=[1.0], cv=2),
    ),
    "validation_curve": (
        "ordered",
        lambda m: partial(
            validation_curve, m, param_name="strength", param_range=[1.0, 2.0], cv=2
        ),
    ),
    "permutation_test_score": (
        "ordered",
        lambda m: partial(permutation_test_score, m, n_permutations=1, cv=2),
    ),
    "CalibratedClassifierCV": ("ordered", lambda m: CalibratedClassifierCV(m, cv=2).fit),
    "SequentialFeatureSelector": (
        "ordered",
        lambda m: SequentialFeatureSelector(m, n_features_to_select=1, cv=2).fit,
    ),
    "SelectFromModel": ("ordered", lambda m: SelectFromModel(m).fit),
    "AdaBoostClassifier": ("text", lambda m: AdaBoostClassifier(m, n_estimators=1).fit),
    "SelfTrainingClassifier": ("text", lambda m: SelfTrainingClassifier(m).fit),
    "MultiOutputClassifier": (
        "text",
        lambda m: lambda X, y: MultiOutputClassifier(m).fit(X, frame(y)),
    ),
    "cross_val_predict, probabilities": (
        "codes",
        lambda m: partial(cross_val_predict, m, cv=2, method="predict_proba"),
    ),
    "VotingClassifier": ("codes", lambda m: VotingClassifier([("one", m)]).fit),
    "BaggingClassifier": ("codes", lambda m: BaggingClassifier(m, n_estimators=2).fit),
    "StackingClassifier": ("codes", lambda m: StackingClassifier([("one", m)], cv=2).fit),
    "CalibratedClassifierCV(ensemble=False)": (
        "codes ordered",  # codes in the folds, the labels themselves in the last fit
        lambda m: CalibratedClassifierCV(m, cv=2, ensemble=False).fit,
    ),
    "OneVsRestClassifier": ("two", lambda m: OneVsRestClassifier(m).fit),
    "OneVsOneClassifier": ("two", lambda m: OneVsOneClassifier(m).fit),
    "OutputCodeClassifier": ("two", lambda m: OutputCodeClassifier(m, random_state=0).fit),
}


@pytest.mark.filterwarnings("ignore:y contains no unlabeled samples")
@pytest.mark.parametrize(("kinds", "tool"), HANDED.values(), ids=HANDED)
def test_each_tool_passes_on_what_the_page_says(data, kinds, tool):
    X, y, _ = data
    Recorder.seen.clear()
    tool(Recorder())(X, carried(y))
    assert Recorder.seen == set(kinds.split())
