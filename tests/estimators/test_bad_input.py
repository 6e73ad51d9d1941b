"""What cannot be learnt from is refused with what was found, what is wanted and what to do."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.gaussian_process import kernels as theirs

from ordinality import OrdinalGP
from ordinality.kernels import Gaussian, Linear

LEVELS = ["low", "mid", "high"]
N = 40
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
RANK = np.digitize(X[:, 0], [-0.5, 0.5])
Y = np.array(LEVELS)[RANK]


def fit(X=X, y=RANK, sample_weight=None, **parameters):
    return OrdinalGP(**parameters).fit(X, y, sample_weight=sample_weight)


def changed(value):
    Z = X.copy()
    Z[3, 1] = value
    return Z


def refused(message, error=ValueError):
    return pytest.raises(error, match=message)


# ------------------------------------------------------------------------------ features


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (changed(np.nan), ValueError, "X contains NaN.*imputer"),
        (changed(np.inf), ValueError, "X contains infinity"),
        (X[:, 0], ValueError, "Expected 2D array, got 1D.*reshape"),
        (X[:, :, None], ValueError, "dim 3, while dim <= 2 is required"),
        (np.empty((0, 2)), ValueError, "0 sample.*minimum of 1 is required"),
        (np.empty((N, 0)), ValueError, "0 feature.*minimum of 1 is required"),
        (csr_array(X), TypeError, r"Sparse data.*dense data is required.*toarray\(\)"),
        (X + 1j, ValueError, "Complex data not supported"),
        (X.astype(str) + "cm", ValueError, "could not convert string to float.*cm"),
        (X[:-1], ValueError, "inconsistent numbers of samples.*39, 40"),
    ],
    ids=["NaN", "infinity", "1-D", "3-D", "no rows", "no columns", "sparse", "complex", "text",
         "too few"],
)  # fmt: skip
def test_features_that_are_no_table_of_numbers_are_refused(given, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        fit(given, RANK if given.shape[0] else [])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_column_of_text_is_refused(library):
    table = pytest.importorskip(library).DataFrame({"a": X[:, 0], "colour": ["red"] * N})
    with refused("could not convert string to float: 'red'"):
        fit(table)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (X[:, :1], "X has 1 features, but OrdinalGP is expecting 2 features"),
        (X[0], "Expected 2D array, got 1D"),
        (changed(np.nan), "X contains NaN"),
        (X[:0], "0 sample.*minimum of 1"),
    ],
    ids=["columns", "1-D", "NaN", "no rows"],
)
@pytest.mark.parametrize(
    "method", ["predict", "predict_proba", "predict_level_proba", "predict_latent",
               "decision_function"],
)  # fmt: skip
def test_rows_to_predict_must_look_like_those_learnt_from(method, given, message):
    model = fit(optimizer=None)
    with refused(message):
        getattr(model, method)(given)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_latent"])
def test_nothing_is_predicted_before_fit(method):
    with refused("not fitted yet. Call 'fit'", NotFittedError):
        getattr(OrdinalGP(), method)(X)
    with refused("not fitted yet. Call 'fit'", NotFittedError):
        OrdinalGP().log_evidence()


# ------------------------------------------------------------------------------ labels


@pytest.mark.parametrize(
    ("y", "levels", "message"),
    [
        (np.where(RANK == 1, "great", Y), LEVELS, "'great'.*declared levels.*add it to"),
        (RANK, [1, 2, 3], r"contains 0.*declared levels \[1, 2, 3\]"),
        (Y, [0, 1, 2], r"contains '(low|mid|high)'.*declared levels \[0, 1, 2\]"),
        (np.zeros(N, dtype=int), None, "only one class, 0; .*at least two levels"),
        (np.full(N, "mid"), LEVELS, "only one class, 'mid'; .*at least two levels"),
        (X[:, 0], None, "Unknown label type: continuous.*numpy.digitize.*`levels`"),
        (np.where(RANK > 0, RANK, np.nan), None, "y contains NaN"),
        (np.column_stack([RANK, RANK]), None, r"1d array, got an array of shape \(40, 2\)"),
        (None, None, "requires y to be passed"),
        (RANK[:-1], None, r"inconsistent numbers of samples: \[40, 39\]"),
        (RANK, ["a", "a"], "'a' more than once; list every label once"),
        (Y, "low", "levels must be one-dimensional.*pass a list"),
        (Y, ["low"], "levels lists only one class, 'low'; an order needs at least two"),
    ],
    ids=["unknown", "number", "text", "one", "one of three", "continuous", "NaN", "2-D", "None",
         "too few", "twice", "a word", "one level"],
)  # fmt: skip
def test_labels_without_a_place_in_an_order_are_refused(y, levels, message):
    with refused(message):
        fit(y=y, levels=levels)


def test_missing_labels_are_refused():
    pd = pytest.importorskip("pandas")
    y = pd.Series(pd.Categorical(["low", None] * (N // 2), categories=LEVELS, ordered=True))
    with refused("contains NaN|contains nan at position 1"):
        fit(y=y)


# ------------------------------------------------------------------------------ weights


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (-np.ones(N), "negative, infinite or missing values; use 0 to drop a row"),
        (np.full(N, np.nan), "negative, infinite or missing"),
        (np.full(N, np.inf), "negative, infinite or missing"),
        (np.zeros(N), "all sample weights are zero: there is nothing to learn from"),
        (np.ones(3), r"sample_weight has shape \(3,\), but there are 40 rows; pass one weight"),
        (np.ones((N, 1)), r"sample_weight has shape \(40, 1\)"),
        (2.0, r"sample_weight has shape \(\)"),
        ((RANK == 0).astype(float), "only one class, 0"),
    ],
    ids=["negative", "NaN", "infinite", "zero", "short", "column", "number", "one level left"],
)
def test_weights_that_count_nothing_are_refused(weight, message):
    with refused(message):
        fit(sample_weight=weight)


# ------------------------------------------------------------------------------ parameters


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("inference", "'laplace', 'ep', 'variational'"),
        ("criterion", "'evidence', 'bound', 'loo'"),
        ("link", "'probit', 'logit'"),
        ("optimizer", "'lbfgs', None"),
        ("decision", "'mode', 'median'"),
    ],
)
@pytest.mark.parametrize("value", ["fancy", 3, ["ep"]], ids=str)
def test_an_unknown_choice_is_answered_with_the_known_ones(name, known, value):
    message = rf"{name}={value!r} is not known; choose one of [{known}]."
    with pytest.raises(ValueError) as caught:
        fit(**{name: value})
    assert str(caught.value) == message


@pytest.mark.parametrize("value", [-1, 0, np.nan, np.inf, "1", None, [1.0], 1j], ids=str)
@pytest.mark.parametrize("name", ["noise", "tol"])
def test_noise_and_tolerance_are_numbers_above_zero(name, value):
    with pytest.raises(ValueError) as caught:
        fit(**{name: value})
    assert str(caught.value).startswith(f"{name}={value!r} must be a number above zero")


@pytest.mark.parametrize(
    ("name", "value", "least"),
    [("n_restarts", -1, 0), ("n_restarts", 1.5, 0), ("n_restarts", None, 0), ("max_iter", 0, 1),
     ("max_iter", "many", 1), ("max_evaluations", 0, 1), ("max_evaluations", 1e3, 1)],
)  # fmt: skip
def test_counts_are_whole_numbers(name, value, least):
    with refused(rf"{name}={value!r} must be a whole number, {least} or more"):
        fit(**{name: value})


@pytest.mark.parametrize(
    ("thresholds", "message"),
    [
        ([1, 0], r"must increase, but they are \[1.0, 0.0\]; sort them"),
        ([0, 0], "must increase.*equal apart"),
        ([0], r"shape \(1,\), but 3 levels are divided by 2 thresholds"),
        (1.0, r"shape \(\), but 3 levels"),
        ([-np.inf, 0], "must be finite.*leave them out"),
        ([0, np.nan], "must be finite"),
    ],
    ids=str,
)
def test_thresholds_must_part_the_levels(thresholds, message):
    with refused(message):
        fit(thresholds=thresholds)


@pytest.mark.parametrize(
    ("kernel", "error", "message"),
    [
        (Gaussian, TypeError, r"kernel is the class Gaussian; pass Gaussian\(\)"),
        (theirs.RBF, TypeError, r"kernel is the class RBF; pass RBF\(\)"),
        ("sigmoid", ValueError, "no kernel named 'sigmoid'; the names are gaussian, rbf"),
        (3.0, TypeError, "3.0 is not a kernel object.*wanted a kernel of ordinality.kernels"),
        (np.dot, TypeError, "is not a kernel object: it lacks diag"),
        (Gaussian(np.ones(3)), ValueError, "3 length scales but X has 2 features; pass one"),
        (Linear(np.ones(3)) + 1.0, ValueError, "3 relevances but X has 2 features"),
        (theirs.RBF(np.ones(3)), ValueError, "3 length scales but X has 2 features"),
        (theirs.RBF(np.ones(3), (0.1, 10.0)), ValueError, "same number of dimensions.*3!=2"),
    ],
    ids=["class", "their class", "name", "number", "function", "ARD", "ARD in a sum",
         "their ARD", "their ARD with bounds"],
)  # fmt: skip
def test_what_is_no_kernel_of_these_features_is_refused(kernel, error, message):
    with pytest.raises(error, match=message):
        fit(kernel=kernel)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("strong", "hyperprior='strong' is not understood; use 'weak', None, a mapping"),
        (3, "hyperprior=3 is not understood"),
        ([], r"hyperprior=\[\] is not understood"),
        (
            {"lengthscale": 1.0},
            "no parameter called 'lengthscale'; the names are.*length_scale",
        ),
        ({"noise": -1.0}, "noise.*wanted a standard deviation above zero"),
        ({"noise": 0}, "noise.*wanted a standard deviation above zero"),
        ({"noise": np.nan}, "noise.*wanted a standard deviation above zero"),
    ],
    ids=str,
)
def test_a_hyperprior_that_says_nothing_is_refused(choice, message):
    with refused(message):
        fit(hyperprior=choice)


@pytest.mark.parametrize(
    "entry", ["wide", None, (1.0,), (0.0, 1.0, 2.0), (np.nan, 1.0)], ids=str
)
def test_an_entry_of_a_hyperprior_is_a_deviation_or_a_pair(entry):
    with refused("hyperprior.*noise.*wanted a standard deviation.*or a pair"):
        fit(hyperprior={"noise": entry})


@pytest.mark.parametrize(
    ("theta", "message"),
    [([0.0], r"theta has shape \(1,\), wanted \(4,\): length_scale, noise, first_thr"),
     (np.zeros((4, 1)), r"theta has shape \(4, 1\)")],
    ids=["short", "column"],
)  # fmt: skip
def test_theta_has_a_place_for_each_parameter(theta, message):
    with refused(message):
        fit(optimizer=None).log_evidence(theta)


# ------------------------------------------------------------------------------ Gram matrices


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
        fit(gram, kernel="precomputed")


def test_new_items_need_covariances_with_all_training_items():
    model = fit(Gaussian()(X), kernel="precomputed", optimizer=None)
    with refused("X has 2 features, but OrdinalGP is expecting 40 features"):
        model.predict(X)


# ------------------------------------------------------------------------------ warnings


def test_an_engine_cut_short_says_how_far_it_is_and_what_to_raise():
    with pytest.warns(
        ConvergenceWarning, match=r"ep stopped after 1 iter.*tol=1e-06.*Raise max_iter or tol"
    ) as caught:
        model = fit(max_iter=1)
    assert caught[0].filename == __file__
    assert not model.converged_
    assert np.all(np.isfinite(model.predict_proba(X)))


def test_learning_cut_short_keeps_the_best_and_says_what_to_raise():
    with pytest.warns(ConvergenceWarning, match="still rising.*Raise max_evaluations"):
        model = fit(max_evaluations=1)
    assert not model.converged_
    assert np.all(np.isfinite(model.predict_proba(X)))


# ------------------------------------------------------------------------------ odd but lawful


def test_two_rows_are_enough():
    model = fit([[0.0], [1.0]], ["no", "yes"], levels=["no", "yes"])
    assert model.predict([[-5.0], [0.0], [1.0]]).shape == (3,)
    assert model.loo_proba_.shape == (2, 2)


@pytest.mark.parametrize("Z", [np.zeros((N, 2)), np.full((N, 2), 1e6 + 0.1)], ids=["0", "1e6"])
def test_features_that_never_vary_leave_the_frequencies_of_the_levels(Z):
    model = fit(Z, hyperprior=None)
    np.testing.assert_allclose(model.predict_proba(Z[:1])[0], np.bincount(RANK) / N, atol=0.02)


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_units_however_odd_do_not_matter(scale):
    plain, odd = fit(X, inference="laplace"), fit(X * scale, inference="laplace")
    np.testing.assert_allclose(odd.predict_proba(X * scale), plain.predict_proba(X), atol=1e-6)


def test_a_large_offset_does_not_matter():
    plain, far = fit(X, inference="laplace"), fit(X + 1e8, inference="laplace")
    np.testing.assert_allclose(far.predict_proba(X + 1e8), plain.predict_proba(X), atol=1e-5)


def test_inputs_are_left_as_they_were():
    Z, y, weight = X.copy(), RANK.copy(), np.ones(N)
    levels, thresholds = np.arange(3), np.array([-1.0, 1.0])
    for array in (Z, y, weight, levels, thresholds):
        array.flags.writeable = False
    model = fit(Z, y, weight, levels=levels, thresholds=thresholds)
    model.predict_proba(Z)
    np.testing.assert_array_equal(Z, X)
    np.testing.assert_array_equal(y, RANK)
