"""OrdinalStack: the weights are the maximum for rows that the members have not seen."""

from functools import wraps

import numpy as np
import pandas
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from ordinality import (
    OrdinalGP,
    OrdinalRegression,
    OrdinalStack,
    OrdinalSVM,
)
from ordinality.estimators import ordinal_stack
from ordinality.estimators.calibration import fold_splits
from ordinality.estimators.ordinal_stack import cross_fitted, learn_weights, row_groups
from ordinality.metrics import log_score

LINEAR = ("linear", OrdinalRegression())
LINES = ("lines", LogisticRegression())


def drawn(n=120, seed=0):
    """Rows of which the first column decides, and four levels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.digitize(X[:, 0] + 0.6 * rng.logistic(size=n), [-1.0, 0.0, 1.0])


def held_out(n=150, M=4, seed=0):
    """Probabilities of what was observed, (n, M), and weights of the rows."""
    rng = np.random.default_rng(seed)
    return np.clip(rng.beta(0.8, 1.2, size=(n, M)), 1e-4, 1), rng.uniform(0.2, 3.0, n)


# ---------------------------------------------------------------- the weights


@pytest.mark.parametrize("alpha", [0.3, 1.0, 20.0])
def test_weights_equal_those_of_a_convex_solver(alpha):
    proba, v = held_out()

    def minus(w):
        return -(v @ np.log(proba @ w) + alpha * np.log(w).sum()) / v.sum()

    def slope(w):
        return -(proba.T @ (v / (proba @ w)) + alpha / w) / v.sum()

    solved = minimize(
        minus, np.full(4, 0.25), jac=slope, method="SLSQP", bounds=[(1e-9, 1)] * 4,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": np.ones_like},
        options={"ftol": 1e-15, "maxiter": 500},
    )  # fmt: skip
    found = learn_weights(proba, v, alpha)
    assert found.sum() == pytest.approx(1, abs=1e-14)
    np.testing.assert_allclose(found, solved.x, atol=1e-6)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_no_step_of_em_lowers_the_objective(alpha, monkeypatch):
    proba, v = held_out()
    values = []
    for steps in range(1, 40):
        monkeypatch.setattr(ordinal_stack, "_STEPS", steps)
        w = learn_weights(proba, v, alpha)
        values.append(v @ np.log(proba @ w) + alpha * np.log(w).sum())
    assert np.all(np.diff(values) >= -1e-12 * np.abs(values[0]))
    assert values[-1] > values[0] + 0.1


def test_a_member_that_is_always_better_gets_all_weight_but_its_prior():
    proba = np.column_stack([np.full(98, 0.9), np.full(98, 1e-9)])
    # With responsibilities (1, 0), EM's fixed point is (n + alpha, alpha) / (n + 2 alpha).
    np.testing.assert_allclose(learn_weights(proba, np.ones(98), 1.0), [0.99, 0.01], rtol=1e-6)


def test_the_weights_for_a_fold_come_from_the_other_folds():
    proba, v = held_out()
    fold = np.arange(len(v)) % 3
    found = cross_fitted(proba, v, fold, 1.0)
    changed = np.where(fold[:, None] == 1, proba[:, ::-1], proba)
    again = cross_fitted(changed, v, fold, 1.0)
    np.testing.assert_array_equal(found[fold == 1], again[fold == 1])
    assert np.all(np.abs(found - again)[fold != 1].max(axis=1) > 1e-3)


# ---------------------------------------------------------------- the stack


def test_probabilities_are_the_weighted_mean_of_the_members():
    X, y = drawn()
    stack = OrdinalStack([LINEAR, LINES]).fit(X, y)
    members = [one.predict_proba(X) for one in stack.estimators_]
    np.testing.assert_allclose(
        stack.predict_proba(X), np.tensordot(stack.weights_, members, axes=1), atol=4e-4
    )  # the floor of 1e-4, for four levels
    assert stack.log_score_ < stack.member_log_scores_.max()


def test_folds_of_ones_own_equal_a_stack_by_hand():
    X, y = drawn()
    splits = fold_splits(y, 4, np.random.default_rng(3))
    stack = OrdinalStack([LINEAR, LINES], cv=splits).fit(X, y)
    proba = np.empty((len(y), 2))
    for train, test in splits:
        for m, (_, one) in enumerate(stack.estimators):
            member = clone(one).fit(X[train], y[train])
            proba[test, m] = member.predict_proba(X[test])[np.arange(len(test)), y[test]]
    np.testing.assert_allclose(  # the floor moves no probability by more than 4e-4
        stack.member_log_scores_, -np.log(proba).mean(axis=0), atol=2e-3
    )
    np.testing.assert_allclose(
        stack.weights_, learn_weights(proba, np.ones(len(y)), 1.0), atol=2e-3
    )


WORDS = np.array(["low", "mid", "high", "top"])  # sorted: high, low, mid, top


@pytest.mark.parametrize(
    "member",
    [
        RandomForestClassifier(5, random_state=0), OrdinalGP(optimizer=None), OrdinalSVM(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        make_pipeline(StandardScaler(), OrdinalSVM()),
        GridSearchCV(OrdinalRegression(penalty="l2"), {"alpha": [0.1, 1.0]}, cv=2),
    ],
    ids=lambda one: type(one).__name__,
)  # fmt: skip
def test_the_order_of_levels_does_not_depend_on_their_names(member):
    X, y = drawn(80)
    given = [("member", member), LINEAR]
    numbers = OrdinalStack(given, cv=2).fit(X, y)
    words = OrdinalStack(given, cv=2, levels=WORDS).fit(X, WORDS[y])
    np.testing.assert_allclose(
        words.predict_level_proba(X), numbers.predict_level_proba(X), atol=1e-6
    )
    np.testing.assert_allclose(words.weights_, numbers.weights_, atol=1e-6)
    assert list(words.classes_) == sorted(WORDS)


def test_levels_that_a_member_states_are_those_of_the_stack():
    X, y = drawn(60)
    stated = OrdinalRegression(levels=list(WORDS))
    stack = OrdinalStack([("a", make_pipeline(StandardScaler(), stated)), LINES]).fit(
        X, WORDS[y]
    )
    assert list(stack.levels_) == list(WORDS)


def test_a_level_that_a_fold_lacks_has_a_small_probability_there():
    X, y = drawn(60)
    y[y == 3] = 2
    y[7] = 3  # once: the fold that tests it cannot learn it
    stack = OrdinalStack([LINES, ("bayes", GaussianNB())]).fit(X, y)
    assert np.all(np.isfinite(stack.member_log_scores_))
    assert stack.predict_proba(X).shape == (60, 4)


def test_rows_that_are_copies_are_in_one_fold():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(60, 2)), 2, axis=0)
    y = np.repeat(rng.integers(3, size=60), 2)  # noise, which a neighbour would know
    stack = OrdinalStack([("neighbour", KNeighborsClassifier(1)), LINEAR]).fit(X, y)
    assert stack.weights_[0] < 0.2


@pytest.mark.parametrize(
    "form",
    [
        np.asarray, lambda X: X.astype(object), sparse.csr_array,
        lambda X: pandas.DataFrame({"a": X[:, 0], "b": X[:, 1].astype(str)}),
    ],
    ids=["array", "objects", "sparse", "frame"],
)  # fmt: skip
def test_rows_are_copies_if_they_agree_in_all_columns(form):
    X = np.array([[1.0, 2.0], [0.0, 2.0], [1.0, 2.0], [2.0, 1.0], [0.0, 2.0]])
    groups = row_groups(form(X))
    expected = [1, 2, 1, 3, 2]
    np.testing.assert_array_equal(groups[:, None] == groups, np.equal.outer(expected, expected))


def test_zero_and_minus_zero_are_equal():
    assert len(set(row_groups(np.array([[0.0], [-0.0]])))) == 1


def test_weights_of_rows_count_as_copies_do():
    X, y = drawn(60)
    times = np.random.default_rng(1).integers(0, 4, size=60)
    weighted = OrdinalStack([LINEAR, LINES]).fit(X, y, sample_weight=times)
    repeated = OrdinalStack([LINEAR, LINES]).fit(np.repeat(X, times, axis=0), y.repeat(times))
    np.testing.assert_allclose(weighted.weights_, repeated.weights_, atol=1e-3)
    assert weighted.log_score_ == pytest.approx(repeated.log_score_, abs=1e-3)


def test_the_same_seed_gives_the_same_stack_in_any_number_of_threads():
    X, y = drawn(60)
    given = [("forest", RandomForestClassifier(5)), LINEAR, ("svm", OrdinalSVM())]
    one, two = (OrdinalStack(given, cv=3, n_jobs=k).fit(X, y) for k in (1, 2))
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    other = OrdinalStack(given, cv=3, random_state=1).fit(X, y)
    assert np.any(other.predict_proba(X) != one.predict_proba(X))


def test_members_and_their_parameters_can_be_searched_and_replaced():
    X, y = drawn(60)
    stack = OrdinalStack([("forest", RandomForestClassifier(5)), LINEAR], cv=2)
    grid = {"alpha": [0.0, 5.0], "forest__max_depth": [1], "linear": [GaussianNB()]}
    found = GridSearchCV(stack, grid, cv=2, scoring="neg_log_loss").fit(X, y).best_estimator_
    assert found.estimators_[0].max_depth == 1
    assert isinstance(found.estimators_[1], GaussianNB)
    assert stack.estimators[1] is LINEAR


# ---------------------------------------------------------------- how often members are fitted


def counted(monkeypatch, kind):
    """The rows of each fit of a class from here on."""
    sizes, fit = [], kind.fit

    @wraps(fit)
    def counting(self, X, y, *args, **more):
        sizes.append(len(y))
        return fit(self, X, y, *args, **more)

    monkeypatch.setattr(kind, "fit", counting)
    return sizes


def test_a_gaussian_process_leaves_rows_out_of_its_one_fit(monkeypatch):
    X, y = drawn(60)
    sizes = counted(monkeypatch, OrdinalGP)
    stack = OrdinalStack([("gp", OrdinalGP()), LINEAR]).fit(X, y)
    assert sizes == [60]
    own = -np.log(stack.estimators_[0].loo_proba_[np.arange(60), y]).mean()
    assert stack.member_log_scores_[0] == pytest.approx(own, abs=2e-3)


@pytest.mark.parametrize("copies", [np.r_[:60, :2], np.r_[:60]], ids=["copies", "weights"])
def test_it_does_not_where_a_copy_of_the_row_would_remain(monkeypatch, copies):
    X, y = drawn(60)
    sizes = counted(monkeypatch, OrdinalGP)
    weights = None if len(copies) > 60 else np.linspace(1, 2, 60)
    stack = OrdinalStack([("gp", OrdinalGP(optimizer=None)), LINEAR], cv=3)
    stack.fit(X[copies], y[copies], sample_weight=weights)
    assert len(sizes) == 4


@pytest.mark.parametrize("seed", [0, 1])
def test_calibration_takes_a_sixth_of_the_fits_and_is_as_good(monkeypatch, seed):
    X, y = drawn(300, seed)
    splits = fold_splits(y, 5, np.random.default_rng(0))
    full = np.empty((len(y), 4))
    for train, test in splits:  # six fits each: one, and five for the link
        full[test] = OrdinalSVM().fit(X[train], y[train]).predict_level_proba(X[test])
    trained, train_one = [], OrdinalSVM._learn_link

    def learn_link(self, *rest):
        trained.append(self.calibration_folds)
        train_one(self, *rest)

    monkeypatch.setattr(OrdinalSVM, "_learn_link", learn_link)
    stack = OrdinalStack([("svm", OrdinalSVM()), LINEAR], cv=splits).fit(X, y)
    assert trained == [None] * 6  # of five folds and all rows, none with fits of its own
    assert stack.estimators_[0].calibration_folds == OrdinalSVM().calibration_folds
    assert stack.member_log_scores_[0] < log_score(y, full, levels=range(4)) + 0.005


# ---------------------------------------------------------------- refusals


class Failing(GaussianNB):
    """A classifier whose fit fails."""

    def fit(self, X, y):
        raise RuntimeError("no luck")


REFUSED = [
    ({"estimators": []}, ValueError, "list of pairs of a name and a classifier"),
    ({"estimators": [OrdinalGP()]}, ValueError, "list of pairs of a name and a classifier"),
    ({"estimators": [LINEAR, LINEAR]}, ValueError, "'linear'; names must differ"),
    ({"estimators": [("alpha", GaussianNB())]}, ValueError, "'alpha'; names must differ"),
    ({"estimators": [("s", LinearSVC())]}, TypeError, "'s' is LinearSVC.*no predict_proba"),
    ({"estimators": [("a", Failing()), LINEAR]}, ValueError, "member 'a' failed: no luck"),
    ({"alpha": -1}, ValueError, "alpha=-1 must be a number, 0 or more"),
    ({"alpha": np.nan}, ValueError, "alpha=nan must be"),
    ({"cv": 1}, ValueError, "cv=1"),
    (
        {"estimators": [
            ("a", OrdinalGP(levels=range(4))), ("b", OrdinalGP(levels=[3, 2, 1, 0])),
        ]},
        ValueError, "different levels",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "error", "message"), REFUSED)
def test_what_means_nothing_is_refused(changes, error, message):
    X, y = drawn(40)
    with pytest.raises(error, match=message):
        OrdinalStack([LINEAR, LINES]).set_params(**changes).fit(X, y)


def test_weights_of_rows_are_refused_where_a_member_takes_none():
    X, y = drawn(40)
    model = OrdinalStack([LINEAR, ("near", KNeighborsClassifier())])
    with pytest.raises(ValueError, match="'near' failed: KNeighbors.* takes no sample weights"):
        model.fit(X, y, sample_weight=np.ones(40))
