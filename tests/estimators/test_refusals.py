"""What cannot be learnt from is refused with what was found, what is wanted and what to do.

Refusals that every ordinal classifier shares are tables over all of them; refusals of
parameters are one table, a line each; those of preferences follow.
"""

import re

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.gaussian_process import kernels as theirs
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from ordinality import (
    LeastSquaresOrdinalGP,
    OrdinalBoost,
    OrdinalGP,
    OrdinalRegression,
    OrdinalSVM,
    OrdinalSVMCV,
    OrdinalTrees,
    PreferenceGP,
    RankBoost,
    RoundedRegressor,
)
from ordinality.kernels import Gaussian, Linear

LEVELS = ["low", "mid", "high"]  # sorted: high, low, mid
N = 40
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
RANK = np.digitize(X[:, 0] + 0.2 * RNG.normal(size=N), [-0.5, 0.5])
Y = np.array(LEVELS)[RANK]

CLASSIFIERS = {
    "OrdinalGP": OrdinalGP(optimizer=None),
    "LeastSquaresOrdinalGP": LeastSquaresOrdinalGP(optimizer=None),
    "OrdinalBoost": OrdinalBoost(learner="sigmoid", n_estimators=5),
    "RankBoost": RankBoost(learner="stump", n_estimators=5),
    "OrdinalSVM": OrdinalSVM(calibration_folds=2),
    "OrdinalSVMCV": OrdinalSVMCV(cv=2, log_C=(0, 0), log_kappa=(0, 0), fine_steps=0),
    "OrdinalRegression": OrdinalRegression(),
    "RoundedRegressor": RoundedRegressor(),
    "OrdinalTrees": OrdinalTrees(5),
}
every_classifier = pytest.mark.parametrize("name", CLASSIFIERS)
weighing = pytest.mark.parametrize("name", [n for n in CLASSIFIERS if n != "RoundedRegressor"])


def fit(name, X=X, y=RANK, sample_weight=None, **changes):
    model = clone(CLASSIFIERS[name]).set_params(**changes)
    return model.fit(
        X, y, **({} if sample_weight is None else {"sample_weight": sample_weight})
    )


def changed(value):
    Z = X.copy()
    Z[3, 1] = value
    return Z


def refused(message, error=ValueError):
    return pytest.raises(error, match=f"(?s){message}")


# ------------------------------------------------------------------------------ features

FEATURES = {
    "NaN": (changed(np.nan), ValueError, "X contains NaN"),
    "infinity": (changed(np.inf), ValueError, "X contains infinity"),
    "1-D": (X[:, 0], ValueError, "Expected 2D array, got 1D.*reshape"),
    "3-D": (X[:, :, None], ValueError, "dim 3|dim <= 2|2D array"),
    "no rows": (np.empty((0, 2)), ValueError, "0 sample.*minimum of 1 is required"),
    "no columns": (np.empty((N, 0)), ValueError, "0 feature.*minimum of 1 is required"),
    "sparse": (csr_array(X), TypeError, r"Sparse data.*dense data is required.*toarray\(\)"),
    "complex": (X + 1j, ValueError, "Complex data not supported"),
    "text": (X.astype(str) + "cm", ValueError, "could not convert string to float.*cm"),
    "too few": (X[:-1], ValueError, "inconsistent numbers of samples.*39, 40"),
}


@pytest.mark.parametrize("case", FEATURES)
@every_classifier
def test_features_that_are_no_table_of_numbers_are_refused(name, case):
    if (name, case) == ("OrdinalTrees", "NaN"):
        pytest.skip("a missing value is one that trees can learn from")
    given, error, message = FEATURES[case]
    if (name, case) == ("OrdinalRegression", "sparse"):
        pytest.skip("it takes sparse columns")
    with refused(message, error):
        fit(name, given, RANK if given.shape[0] else [])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_column_of_text_is_refused(library):
    table = pytest.importorskip(library).DataFrame({"a": X[:, 0], "colour": ["red"] * N})
    with refused("could not convert string to float: 'red'"):
        fit("OrdinalGP", table)


METHODS = ["predict", "predict_proba", "predict_level_proba", "predict_latent"]
METHODS += ["decision_function", "staged_predict", "staged_decision_function"]


def called(model, method, rows):
    found = getattr(model, method)(rows)
    return list(found) if method.startswith("staged") else found


@pytest.mark.parametrize(
    ("name", "method"),
    [(name, m) for name, model in CLASSIFIERS.items() for m in METHODS if hasattr(model, m)],
)
def test_nothing_is_predicted_before_fit_or_from_other_rows(name, method):
    with refused("not fitted yet. Call 'fit'", NotFittedError):
        called(clone(CLASSIFIERS[name]), method, X)
    model = fit(name)
    with refused(f"X has 1 features, but {name} is expecting 2 features"):
        called(model, method, X[:, :1])
    for rows, message in (
        (X[0], "Expected 2D array, got 1D"),
        (changed(np.inf), "contains infinity"),
        (X[:0], "0 sample.*minimum of 1"),
    ):
        with refused(message):
            called(model, method, rows)


# ------------------------------------------------------------------------------ labels

LABELS = {
    "unknown": (np.where(RANK == 1, "great", Y), LEVELS, "'great'.*declared levels.*add it to"),
    "number": (RANK, [1, 2, 3], r"contains 0.*declared levels \[1, 2, 3\]"),
    "text": (Y, [0, 1, 2], r"contains '(low|mid|high)'.*declared levels \[0, 1, 2\]"),
    "one": (np.zeros(N, dtype=int), None, "only one class, 0; .*at least two levels"),
    "one of three": (np.full(N, "mid"), LEVELS, "only one class, 'mid'; .*at least two levels"),
    "continuous": (X[:, 0], None, "Unknown label type: continuous.*numpy.digitize.*`levels`"),
    "NaN": (np.where(RANK > 0, RANK, np.nan), None, "contains NaN|contains nan"),
    "2-D": (np.column_stack([RANK, RANK]), None, r"array of shape \(40, 2\)"),
    "too few": (RANK[:-1], None, "inconsistent numbers of samples"),
    "twice": (RANK, ["a", "a"], "'a' more than once; list every label once"),
    "a word": (Y, "low", "levels must be one-dimensional.*pass a list"),
    "one level": (
        Y,
        ["low"],
        "levels lists only one class, 'low'; an order needs at least two",
    ),
}


@pytest.mark.parametrize("case", LABELS)
@every_classifier
def test_labels_without_a_place_in_an_order_are_refused(name, case):
    y, levels, message = LABELS[case]
    with refused(message):
        fit(name, y=y, levels=levels)


@weighing
def test_labels_must_be_passed(name):
    with refused("requires y to be passed"):
        fit(name, y=None)


@every_classifier
def test_missing_labels_are_refused(name):
    pd = pytest.importorskip("pandas")
    y = pd.Series(pd.Categorical(["low", None] * (N // 2), categories=LEVELS, ordered=True))
    with refused("contains NaN|contains nan at position 1"):
        fit(name, y=y)


# ------------------------------------------------------------------------------ weights

WEIGHTS = {
    "negative": (-np.ones(N), "negative, infinite or missing values; use 0 to drop a row"),
    "NaN": (np.full(N, np.nan), "negative, infinite or missing"),
    "infinite": (np.full(N, np.inf), "negative, infinite or missing"),
    "zero": (np.zeros(N), "all sample weights are zero, so there is nothing to learn from"),
    "short": (np.ones(3), r"sample_weight has shape \(3,\), but there are 40 rows; pass one"),
    "column": (np.ones((N, 1)), r"sample_weight has shape \(40, 1\)"),
    "number": (2.0, r"sample_weight has shape \(\)"),
    "one level left": ((RANK == 0).astype(float), "only one class, 0"),
}


@pytest.mark.parametrize("case", WEIGHTS)
@weighing
def test_weights_that_count_nothing_are_refused(name, case):
    weight, message = WEIGHTS[case]
    with refused(message):
        fit(name, sample_weight=weight)


# ------------------------------------------------------------------------------ parameters

CHOICES = {
    "OrdinalGP": {
        "inference": "'laplace', 'ep', 'variational'",
        "criterion": "'evidence', 'bound', 'loo'",
        "link": "'logit', 'probit', 'cloglog', 'loglog', 'student'",
        "optimizer": "'lbfgs', None",
    },
    "LeastSquaresOrdinalGP": {"optimizer": "'lbfgs', None", "standardize": "True, False"},
    "OrdinalBoost": {"margins": "'all', 'left-right'", "warm_start": "True, False"},
    "RankBoost": {"thresholding": "'absolute', 'zero-one'", "standardize": "True, False"},
    "OrdinalTrees": {
        "loss": "'cumulative', 'multinomial'",
        "scale": "'auto', True, False",
        "nonparallel": "'auto', True, False",
    },
    "OrdinalSVM": {"constraints": "'implicit', 'explicit', 'fixed-margin', 'sum-of-margins'"},
}


@pytest.mark.parametrize("value", ["fancy", 3, ["ep"]], ids=str)
@pytest.mark.parametrize(
    ("name", "parameter"), [(name, p) for name, known in CHOICES.items() for p in known]
)
def test_an_unknown_choice_is_answered_with_the_known_ones(name, parameter, value):
    with pytest.raises(ValueError) as caught:
        fit(name, **{parameter: value})
    known = CHOICES[name][parameter]
    assert str(caught.value) == f"{parameter}={value!r} is not known; choose one of [{known}]."


POSITIVE = {
    "OrdinalGP": ["noise", "tol"],
    "LeastSquaresOrdinalGP": ["noise", "slope"],
    "OrdinalBoost": ["steepness"],
    "OrdinalTrees": ["learning_rate"],
    "OrdinalSVM": ["C", "tol", "cache_size"],
}


@pytest.mark.parametrize("value", [-1, 0, np.nan, np.inf, "1", None, [1.0], 1j], ids=str)
@pytest.mark.parametrize(
    ("name", "parameter"), [(name, p) for name, known in POSITIVE.items() for p in known]
)
def test_scales_and_tolerances_are_numbers_above_zero(name, parameter, value):
    if (name, parameter, value) == ("OrdinalGP", "noise", None):
        pytest.skip("None is the default there")
    with pytest.raises(ValueError) as caught:
        fit(name, **{parameter: value})
    assert str(caught.value).startswith(f"{parameter}={value!r} must be a number above zero")


COUNTS = {
    "OrdinalGP": {"n_restarts": 0, "max_iter": 1, "max_evaluations": 1},
    "LeastSquaresOrdinalGP": {"n_restarts": 0, "max_evaluations": 1},
    "OrdinalBoost": {"n_estimators": 1, "max_depth": 1, "updates": 1, "patience": 1},
    "RankBoost": {"max_bins": 2, "calibration_folds": 2},
    "OrdinalSVM": {"degree": 1, "max_iter": 1, "calibration_folds": 2},
    "OrdinalTrees": {"n_estimators": 1, "patience": 1, "num_leaves": 2, "min_child_samples": 1},
    "OrdinalSVMCV": {"fine_steps": 0, "search_max_iter": 1, "cv": 2},
}


@pytest.mark.parametrize(
    ("name", "parameter"), [(name, p) for name, known in COUNTS.items() for p in known]
)
def test_counts_are_whole_numbers(name, parameter):
    least = COUNTS[name][parameter]
    values = [least - 1] if parameter == "cv" else [least - 1, least + 0.5, "many"]
    for value in values:
        with refused(rf"{parameter}={value!r} must be a whole number, {least} or more"):
            fit(name, **{parameter: value})


PARAMETERS = [
    ("OrdinalGP", {"thresholds": [1, 0]}, r"must increase, but they are \[1.0, 0.0\]; sort"),
    ("OrdinalGP", {"thresholds": [0, 0]}, "must increase"),
    ("OrdinalGP", {"thresholds": [0]}, r"shape \(1,\), but 3 levels are divided by 2 thresh"),
    ("OrdinalGP", {"thresholds": 1.0}, r"shape \(\), but 3 levels"),
    ("OrdinalGP", {"thresholds": [-np.inf, 0]}, "must be finite.*leave them out"),
    ("OrdinalGP", {"thresholds": [0, np.nan]}, "must be finite"),
    ("OrdinalGP", {"kernel": "sigmoid"}, "no kernel named 'sigmoid'; the names are gaussian"),
    ("OrdinalGP", {"kernel": Gaussian(np.ones(3))}, "3 length scales but X has 2 features"),
    ("OrdinalGP", {"kernel": Linear(np.ones(3)) + 1.0}, "3 relevances but X has 2 features"),
    ("OrdinalGP", {"kernel": theirs.RBF(np.ones(3))}, "3 length scales but X has 2 features"),
    ("OrdinalGP", {"kernel": theirs.RBF(np.ones(3), (0.1, 9.0))}, "number of dim.*3!=2"),
    (
        "OrdinalGP",
        {"hyperprior": "strong"},
        "hyperprior='strong' is not understood; use 'weak'",
    ),
    ("OrdinalGP", {"hyperprior": 3}, "hyperprior=3 is not understood"),
    ("OrdinalGP", {"hyperprior": []}, r"hyperprior=\[\] is not understood"),
    (
        "OrdinalGP",
        {"hyperprior": {"lengthscale": 1.0}},
        "no parameter called 'lengthscale'; the",
    ),
    *(
        ("OrdinalGP", {"hyperprior": {"noise": sd}}, "noise.*wanted a standard deviation above")
        for sd in (-1.0, 0, np.nan)
    ),
    *(
        ("OrdinalGP", {"hyperprior": {"noise": e}}, "noise.*wanted a standard deviation.*pair")
        for e in ("wide", None, (1.0,), (0.0, 1.0, 2.0), (np.nan, 1.0))
    ),
    ("OrdinalBoost", {"learner": "svm"}, "learner='svm' is not known; choose one of.*'tree'"),
    ("OrdinalBoost", {"learner": KNeighborsClassifier()}, "KNeighbors.*takes no sample"),
    ("OrdinalBoost", {"max_depth": 40}, "max_depth=40 is too deep; 12 is the most"),
    ("OrdinalBoost", {"max_bins": 1000}, "max_bins=1000 is too many; 256 is the most"),
    ("OrdinalBoost", {"validation_fraction": 1.0}, "validation_fraction=1.0 must lie betw"),
    ("OrdinalBoost", {"validation_fraction": "a"}, "validation_fraction='a' must lie betw"),
    ("OrdinalBoost", {"tol": -1}, "tol=-1 must be a number, zero or more"),
    (
        "OrdinalBoost",
        {"warm_start": True, "validation_fraction": 0.1},
        "warm_start cannot continue a fit with early stopping; leave",
    ),
    ("OrdinalTrees", {"reg_lambda": -1}, "reg_lambda=-1 must be a number, zero or more"),
    ("OrdinalTrees", {"subsample": 0}, "subsample=0 must be above 0 and at most 1"),
    ("OrdinalTrees", {"colsample_bytree": 2.0}, "colsample_bytree=2.0 must be above 0"),
    ("OrdinalTrees", {"validation_fraction": 1.0}, "validation_fraction=1.0 must lie betw"),
    ("OrdinalTrees", {"monotone": [1]}, "monotone lists 1 signs, but X has 2 columns"),
    ("OrdinalTrees", {"monotone": [1, 2]}, "monotone holds 2; a sign is -1, 0 or 1"),
    ("OrdinalTrees", {"monotone": {"age": 1}}, "monotone names 'age', which is not a column"),
    ("OrdinalTrees", {"monotone": {7: 1}}, "monotone names 7, .*columns 0 to 1"),
    ("OrdinalTrees", {"monotone": "up"}, "monotone='up' is not understood; pass a list"),
    ("OrdinalTrees", {"monotone": {0: 1}, "scale": True}, "scale=True cannot keep `monotone`"),
    *(
        ("OrdinalTrees", {"loss": "multinomial", **more}, said)
        for more, said in (
            ({"monotone": [1, 0]}, "loss='multinomial' cannot keep `monotone`, .* leave monot"),
            ({"scale": True}, "scale=True is a refinement of the cumulative loss"),
            ({"nonparallel": True}, "nonparallel=True is a refinement of the cumulative loss"),
        )
    ),
    (
        "OrdinalTrees",
        {"monotone": {0: 1}, "categorical": [0]},
        "monotone constrains column 0, whose categories have no order",
    ),
    ("OrdinalTrees", {"categorical": ["age"]}, "categorical names 'age', which is not a col"),
    (
        "OrdinalTrees",
        {"categorical": "age"},
        "categorical='age' is not understood; pass a list",
    ),
    (
        "OrdinalSVM",
        {"kernel": "sigmoid"},
        "no kernel named 'sigmoid'; the names are rbf, linear",
    ),
    ("OrdinalSVM", {"kernel": "precomputed"}, "needs the Gram matrix"),
    (
        "OrdinalSVM",
        {"kernel": lambda X, Y: X},
        "the kernel function gave shape .* it must give",
    ),
    ("OrdinalSVM", {"gamma": "wide"}, "gamma='wide' must be 'scale', 'auto' or a number above"),
    ("OrdinalSVM", {"gamma": -1.0}, "gamma=-1.0 must be"),
    ("OrdinalSVM", {"coef0": -1.0}, "coef0=-1.0 must be a number, zero or more"),
    ("OrdinalSVM", {"constraints": "sum-of-margins", "C": 1e-3}, "C is too small for the sum"),
]


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    PARAMETERS,
    ids=lambda one: re.sub(" at 0x[0-9a-f]+", "", str(one)),  # the same in every process
)
def test_parameters_that_mean_nothing_are_refused(name, changes, message):
    with refused(message):
        fit(name, **changes)


TYPES = [
    ("OrdinalGP", {"kernel": Gaussian}, r"kernel is the class Gaussian; pass Gaussian\(\)"),
    ("OrdinalGP", {"kernel": theirs.RBF}, r"kernel is the class RBF; pass RBF\(\)"),
    ("OrdinalGP", {"kernel": 3.0}, "3.0 is not a kernel object.*wanted a kernel of ordinality"),
    ("OrdinalGP", {"kernel": np.dot}, "is not a kernel object: it lacks diag"),
    ("OrdinalSVM", {"kernel": 3}, "kernel=3 is not a kernel; pass one of"),
    ("OrdinalSVM", {"kernel": Gaussian}, r"the class Gaussian; pass Gaussian\(\)"),
    ("OrdinalBoost", {"learner": LogisticRegression}, r"pass LogisticRegression\(\)"),
    ("OrdinalBoost", {"learner": LinearRegression()}, r"Regression\(\) is not a classifier; c"),
    ("OrdinalBoost", {"learner": 3}, "learner=3 is not a classifier"),
    ("OrdinalBoost", {"learner": None}, "learner=None is not a classifier"),
]


@pytest.mark.parametrize(("name", "changes", "message"), TYPES, ids=range(len(TYPES)))
def test_objects_of_another_kind_are_refused(name, changes, message):
    with refused(message, TypeError):
        fit(name, **changes)


# ------------------------------------------------------------------------------ after a fit


@pytest.mark.parametrize(
    ("theta", "message"),
    [([0.0], r"theta has shape \(1,\), wanted \(7,\): linear_share, common_scale"),
     (np.zeros((4, 1)), r"theta has shape \(4, 1\)")],
    ids=["short", "column"],
)  # fmt: skip
def test_theta_has_a_place_for_each_parameter(theta, message):
    with refused(message):
        fit("OrdinalGP").log_evidence(theta)
    with refused("not fitted yet. Call 'fit'", NotFittedError):
        OrdinalGP().log_evidence()


@pytest.mark.parametrize(
    ("gram", "message"),
    [
        (RNG.normal(size=(N, N)), r"not symmetric.*symmetrise it as \(K \+ K.T\) / 2"),
        (X, "pass kernel values, not features"),
        (-np.eye(N), "Gram matrix"),
    ],
    ids=["asymmetric", "features", "negative"],
)  # fmt: skip
def test_what_is_no_gram_matrix_is_refused(gram, message):
    with refused(message):
        fit("OrdinalGP", gram, kernel="precomputed")


def test_new_items_need_covariances_with_all_training_items():
    model = fit("OrdinalGP", Gaussian()(X), kernel="precomputed")
    with refused("X has 2 features, but OrdinalGP is expecting 40 features"):
        model.predict(X)


def test_a_warm_start_refuses_other_levels_columns_and_fewer_rounds():
    found = fit("OrdinalBoost", n_estimators=10, warm_start=True)
    with refused("n_estimators=5, but the model to continue has 10; ask for at least"):
        found.set_params(n_estimators=5).fit(X, RANK)
    found.set_params(n_estimators=12)
    with refused(r"levels \[0, 1\], but the model to continue has \[0, 1, 2\]; state them"):
        found.fit(X, np.minimum(RANK, 1))
    with refused("X has 1 features, but OrdinalBoost is expecting 2"):
        found.fit(X[:, :1], RANK)
    assert found.levels_.tolist() == [0, 1, 2]
    assert found.set_params(levels=[0, 1, 2]).fit(X, np.minimum(RANK, 1)).n_estimators_ == 12


def test_a_warm_start_cannot_continue_early_stopping():
    stopped = fit("OrdinalBoost", validation_fraction=0.2)
    stopped.set_params(validation_fraction=None, warm_start=True)
    with refused("warm_start cannot continue a fit with early stopping"):
        stopped.fit(X, RANK)


def test_too_few_rows_to_hold_out_are_refused():
    with refused("validation_fraction=0.5 of 3 distinct rows holds out none"):
        fit("OrdinalBoost", [[0.0], [1.0], [2.0]], [0, 1, 2], validation_fraction=0.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.margin_error(X, RANK, kind="mae"), "kind='mae' is not known; choose one"),
        (lambda m: m.margins_of(X, RANK[:-1]), "inconsistent numbers of samples"),
        (lambda m: m.margins_of(X, RANK + 1), "y contains 3.*declared levels"),
        (lambda m: m.bound_terms(X, RANK, 0.0), "delta=0.0 must be a number above zero"),
        (lambda m: m.bound_terms(X, RANK, 0.1, confidence=1), "confidence=1 must lie between"),
    ],
    ids=["kind", "length", "label", "delta", "confidence"],
)
def test_margins_of_what_has_no_margin_are_refused(call, message):
    with refused(message):
        call(fit("OrdinalBoost"))


def test_the_vc_dimension_of_other_learners_must_be_stated():
    found = fit("OrdinalBoost", learner=LogisticRegression(), calibration_folds=None)
    with refused("VC dimension of LogisticRegression is not known here; state it with vc_dim"):
        found.bound_terms(X, RANK, 0.1)
    assert found.bound_terms(X, RANK, 0.1, vc_dimension=3).d_hat == 5


# ------------------------------------------------------------------------------ preferences

ITEMS = np.random.default_rng(0).normal(size=(6, 2))
PAIRS = np.array([[0, 1], [1, 2], [3, 4], [5, 0], [2, 4], [3, 1]])
ANSWERS = np.array([1, -1, 1, 1, -1, 1])
NONE = np.empty((0, 2))


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (PAIRS.ravel(), r"pairs has shape \(12,\); wanted \(m, 2\)"),
        (PAIRS[:, [0, 1, 1]], r"pairs has shape \(6, 3\)"),
        ([[0, 6]], "name item 6, .*there are 6 items; use the row numbers"),
        ([[0, -1]], "name item -1"),
        ([[0.5, 1]], "name item 0.5, but items are numbered by whole numbers"),
        ([[np.nan, 1]], "name item nan"),
        ([["a", "b"]], "must hold item numbers.*'a'.*look names up first"),
        ([[0, 1], [2, 2]], "row 1 of pairs compares item 2 with itself.*drop such rows"),
    ],
    ids=["flat", "wide", "beyond", "negative", "fraction", "missing", "names", "itself"],
)  # fmt: skip
def test_pairs_that_do_not_name_two_items_are_refused(pairs, message):
    with refused(message):
        PreferenceGP(ITEMS).fit(pairs)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"answers": ANSWERS[:4]}, r"answers has shape \(4,\), but there are 6 pairs"),
        ({"answers": ANSWERS * [1, 1, 1, 0, 1, 1]}, "hold 0, which is a tie: pass ties=True"),
        ({"answers": 2 * ANSWERS}, r"answers hold 2, but .* is -1, \+1; pass grades=2"),
        ({"answers": 0.5 * ANSWERS}, r"hold 0.5, .*\+1 says that the first"),
        ({"answers": ANSWERS + np.nan}, "hold nan"),
        ({"answers": ["left"] * 6}, r"hold 'left'.*\+1 says that the first item of a pair won"),
        ({"ratings": [1, 2, 3]}, r"ratings is a list; wanted a pair \(items, levels\)"),
        ({"ratings": ([0, 1], [1])}, "2 items and 1 levels"),
        ({"ratings": ([], [])}, "0 items and 0 levels"),
        ({"ratings": ([0, 9], [1, 2])}, "ratings name item 9"),
        ({"ratings": ([0, 1], [3, 3])}, "in ratings, y contains only one class, 3"),
        ({"ratings": ([0, 1], ["good", "bad"])}, r"without an order; .*`levels=\[...\]`"),
        ({"judges": list("aabba")}, r"judges has shape \(5,\), but there are 6 pairs"),
        ({"sample_weight": [1.0]}, "sample_weight has shape"),
        ({"sample_weight": np.zeros(6)}, "all sample weights are zero"),
    ],
)
def test_data_that_do_not_fit_the_pairs_are_refused(given, message):
    with refused(message):
        PreferenceGP(ITEMS).fit(PAIRS, **{"answers": ANSWERS, **given})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"items": 0}, "items=0 is a number of items; pass 1 or more"),
        ({"items": ITEMS[:, 0]}, "Expected 2D array, got 1D"),
        ({"items": ITEMS * np.nan}, "items contains NaN"),
        ({"items": 6, "kernel": Gaussian()}, "needs features, but the items have none"),
        ({"kernel": "precomputed"}, r"items has shape \(6, 2\).*covariances"),
        ({"kernel": Gaussian(np.ones(3))}, "3 length scales but X has 2 features"),
        ({"kernel": "gausian"}, "no kernel named 'gausian'"),
        ({"noise": 0.0}, "noise=0.0 must be a number above zero"),
        ({"grades": 0}, "grades=0 must be a whole number, 1 or more"),
        ({"ties": "yes"}, "ties='yes' is not known"),
        ({"inference": "map"}, "inference='map' is not known; choose one of"),
        ({"hyperprior": "strong"}, "hyperprior='strong' is not understood"),
    ],
)
def test_items_and_settings_that_make_no_model_are_refused(settings, message):
    with refused(message):
        PreferenceGP(**{"items": ITEMS, **settings}).fit(PAIRS, ANSWERS)


def test_an_answer_stronger_than_the_grades_is_refused_with_the_answers_that_there_are():
    with refused(r"is -1, 0, \+1; pass grades=2"):
        PreferenceGP(ITEMS, ties=True).fit(PAIRS, 2 * ANSWERS)


def test_nothing_at_all_is_refused_also_if_items_are_not_given():
    with refused("no pairs and no ratings"):
        PreferenceGP().fit(NONE)


@pytest.fixture(scope="module")
def models():
    """Fitted to features, and to mere numbers of items."""
    return {
        "plain": PreferenceGP(ITEMS).fit(PAIRS, ANSWERS),
        "numbers": PreferenceGP(6).fit(PAIRS, ANSWERS),
    }


@pytest.mark.parametrize(
    ("name", "ask", "message"),
    [
        ("plain", lambda m: m.utility(np.ones((2, 3))), "X has 3 features, but .* have 2"),
        (
            "plain",
            lambda m: m.predict_pairs(ITEMS[:2], ITEMS[:3]),
            "X_left has 2 rows and X_right 3",
        ),
        (
            "numbers",
            lambda m: m.utility(ITEMS),
            "this model have none; ask .* by their numbers",
        ),
        ("plain", lambda m: m.predict_ratings(), r"without ratings; pass ratings=\(items"),
        ("plain", lambda m: m.log_evidence([0.0]), "theta has shape"),
    ],
)
def test_questions_that_the_model_cannot_answer_are_refused(models, name, ask, message):
    with refused(message):
        ask(models[name])


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: m.utility(),
        lambda m: m.predict(PAIRS),
        lambda m: m.predict_proba(PAIRS),
        lambda m: m.predict_pairs(ITEMS, ITEMS),
        lambda m: m.predict_ratings(),
        lambda m: m.update(PAIRS),
        lambda m: m.log_evidence(),
    ],
)
def test_a_model_that_was_not_fitted_says_so(ask):
    with refused("PreferenceGP instance is not fitted", NotFittedError):
        ask(PreferenceGP(ITEMS))


def test_an_engine_cut_short_is_reported():
    with pytest.warns(
        ConvergenceWarning, match="ep did not converge in 1 iterations"
    ) as caught:
        model = PreferenceGP(ITEMS, inference="ep", max_iter=1, optimizer=None).fit(
            PAIRS, ANSWERS
        )
    assert not model.converged_
    assert caught[0].filename == __file__


def test_a_search_cut_short_is_reported():
    with pytest.warns(ConvergenceWarning, match="after 1 evaluations while the evidence was"):
        PreferenceGP(ITEMS, max_evaluations=1).fit(PAIRS, ANSWERS)


def test_a_fit_that_was_refused_leaves_nothing_that_predicts():
    model = PreferenceGP(ITEMS)
    with refused("which is a tie"):
        model.fit(PAIRS, 0 * ANSWERS)
    with pytest.raises(NotFittedError):
        model.predict(PAIRS)


def test_an_update_that_was_refused_leaves_the_model_as_it_was():
    model = PreferenceGP(ITEMS).fit(PAIRS, ANSWERS)
    before = model.utility().mean
    with refused("which is a tie"):
        model.update(PAIRS, 0 * ANSWERS)
    np.testing.assert_array_equal(model.utility().mean, before)
