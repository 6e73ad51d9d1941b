"""What regressions, trees, sets and effects refuse: one sentence, and what to do.

A table over the four; refusals that every classifier shares are in `test_refusals`, those of
one estimator's parameters beside its tests.
"""

import re

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from ordinality import OrdinalConformal, OrdinalRegression, OrdinalTrees
from ordinality.inspect import effects

pd = pytest.importorskip("pandas")
pytest.importorskip("lightgbm")

N = 120
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = np.digitize(X[:, 0] + RNG.logistic(size=N), [-1.0, 0.0, 1.0])
FRAME = pd.DataFrame(X, columns=["a", "b", "c"]).assign(
    judge=[f"j{i % 10}" for i in range(N)], day=np.arange(N) % 7
)
NUMBERS = FRAME.drop(columns="judge")
MANY = RNG.normal(size=(4000, 1)), np.arange(4000) // 2


def with_cell(value, column="b", row=4):
    return NUMBERS.assign(**{column: NUMBERS[column].where(NUMBERS.index != row, value)})


def regression(X=NUMBERS, y=Y, *, weights=None, offset=None, **given):
    return OrdinalRegression(**given).fit(X, y, sample_weight=weights, offset=offset)


def trees(X=NUMBERS, y=Y, *, weights=None, **given):
    return OrdinalTrees(5, **given).fit(X, y, sample_weight=weights)


def sets(X=NUMBERS, y=Y, *, weights=None, **given):
    return OrdinalConformal(**{"estimator": LogisticRegression()} | given).fit(
        X, y, sample_weight=weights
    )


def asked(**given):
    return effects(**{"model": regression(X), "X": X} | given)


JUDGED = {"X": FRAME, "random": "judge"}
REFUSED = {
    "text": (regression, {"X": FRAME}, "'j0', in column 'judge' at position 0; encode text as"),
    "missing cell": (regression, {"X": with_cell(np.nan)}, "NaN, in column 'b' at position 4;"),
    "infinite cell": (regression, {"X": with_cell(np.inf)}, "in column 'b' at position 4; giv"),
    "missing cell of an array": (regression, {"X": with_cell(np.nan).to_numpy()}, "column 1 a"),
    "sparse missing": (regression, {"X": csr_array(with_cell(np.nan))}, "fill missing values"),
    "missing label": (regression, {"y": [None, *"abcabc"] * 17 + ["a"]}, "None at position 0"),
    "nominal name": (regression, {"nominal": "z"}, "'z', which X does not have; its columns a"),
    "nominal number": (regression, {"nominal": 1.0}, "nominal names column 1.0, which X does "),
    "scale name": (regression, {"scale": ["a", "z"]}, "scale names column 'z', which X does n"),
    "random name": (regression, {"random": "z"}, "random names the column 'z', which X does n"),
    "missing group": (
        regression, {"random": "judge", "X": FRAME.assign(judge=[None, *FRAME["judge"][1:]])},
        "grouping column 'judge' contains (None|nan) at position 0; .* drop entries without",
    ),
    "one group": (
        regression, {"random": "judge", "X": FRAME.assign(judge="eve")},
        "'judge' has only one group, 'eve'; .* leave it out",
    ),
    "slope of text": (
        regression, {"X": FRAME.assign(site="x"), "random": ("judge", "site")},
        "'x', in column 'site' at position 0; encode text",
    ),
    "random and scale": (regression, {**JUDGED, "scale": "a"}, "scale='a'; leave one out"),
    "random and a penalty": (regression, {**JUDGED, "penalty": "l2"}, "'l2'; leave one out"),
    "negative weights": (regression, {"weights": -np.ones(N)}, "use 0 to drop a row"),
    "missing weights": (regression, {"weights": np.full(N, np.nan)}, "use 0 to drop a row"),
    "no weight": (regression, {"weights": np.zeros(N)}, "give some rows a weight above zero"),
    "weights of text": (regression, {"weights": ["a"] * N}, r"\['a', 'a'.*\.\.\.\]; pass one"),
    "short offset": (regression, {"offset": np.zeros(5)}, r"shape \(5,\), .* pass one number"),
    "offset of text": (regression, {"offset": ["a"] * N}, r"\['a', 'a'.*\.\.\.\]; pass one n"),
    "infinite offset": (regression, {"offset": np.full(N, np.inf)}, "fill or drop those rows"),
    "one level": (regression, {"y": np.ones(N, int)}, "only one class, 1; fitting needs rows"),
    "2,000 levels": (regression, {"X": MANY[0], "y": MANY[1]}, "2000 levels, .* join levels"),
    "short labels": (trees, {"y": Y[:5]}, r"\[120, 5\]; pass one label for each row"),
    "negative alpha": (regression, {"alpha": -1.0}, "alpha=-1.0 must be a number above zero"),
    "decision": (regression, {"decision": "best"}, "'best' is not known; choose one of .*mode"),
    "costs of 3 levels": (regression, {"decision": np.eye(3)}, "3 rows, but there are 4 level"),
    "missing costs": (regression, {"decision": np.full((2, 2), np.nan)}, "pass finite numbers"),
    "text in trees": (trees, {"X": FRAME}, "column 'judge' at position 0; name a column of te"),
    "text beside categories": (
        trees, {"X": FRAME.assign(a="x"), "categorical": ["judge"]}, "'x', in column 'a'; name",
    ),
    "infinity in trees": (trees, {"X": with_cell(np.inf)}, "column 'b' at position 4; give fi"),
    "signs": (trees, {"monotone": [1]}, "lists 1 signs, but X has 4 columns; list one for eac"),
    "sign": (trees, {"monotone": {"a": 2}}, "monotone holds 2; a sign is -1, 0 or 1"),
    "sign of a noise": (trees, {"monotone": {"a": 1}, "scale": True}, "leave monotone out"),
    "sign of nothing": (trees, {"monotone": {"z": 1}}, "'z', which is not a column of X; ther"),
    "sparse trees": (trees, {"X": csr_array(X)}, r"dense data is required.*toarray\(\)"),
    "levels of trees": (trees, {"X": MANY[0], "y": MANY[1]}, "2000 levels, .* join levels"),
    "coverage": (sets, {"coverage": 1.5}, "coverage=1.5 must lie .*; give a share, such as 0."),
    "percent": (sets, {"coverage": 90}, "coverage=90 must lie between 0 and 1; give a share"),
    "nothing to learn": (
        sets, {"method": "split", "calibration_fraction": 0.999},
        "0.999 of 120 rows leaves none to learn from; lower it, or set method='cross'",
    ),
    "no probabilities": (sets, {"estimator": LinearSVC()}, "pass a classifier with probabilit"),
    "no classifier": (sets, {"estimator": Ridge()}, r"Ridge\(\) has no predict_proba; pass a"),
    "conformity": (sets, {"conformity": "size"}, "conformity='size' is not known; choose one"),
    "unknown level": (sets, {"levels": [0, 1]}, "not one of the declared levels .* drop those"),
    "weights of sets": (sets, {"weights": np.full(N, np.inf)}, "use 0 to drop a row"),
    "column of effects": (asked, {"columns": "height"}, "no feature 'height'; the features ar"),
    "values of effects": (asked, {"values": {0: ["tall"]}}, "'feature 1' are .* list numbers"),
    "sparse effects": (asked, {"X": csr_array(X)}, r"X is sparse, .* pass X\[:1000\].toa"),
    "rows of effects": (asked, {"max_rows": 0}, "max_rows=0 must be a whole number above 0, '"),
    "sample of effects": (asked, {"max_rows": "all"}, "max_rows='all' must .* or None for all"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_bad_is_refused_in_one_sentence(case):
    call, given, message = REFUSED[case]
    with pytest.raises((ValueError, TypeError), match=f"(?s){message}") as caught:
        call(**given)
    said = str(caught.value)
    assert "\n" not in said
    if case != "sparse trees":  # scikit-learn's words
        assert not re.search(r"[.!?]\s", said)
        assert said.endswith(".")


SAID = {
    "a column twice": ({"X": NUMBERS.assign(d=2 * NUMBERS["a"])}, "'d' cannot be told .*left "),
    "a column without spread": ({"X": NUMBERS.assign(d=3.0)}, "'d' cannot be told .*a constan"),
    "a level without rows": ({"levels": [0, 1, 2, 3, 4]}, "no row has level 4; its probabilit"),
    "a group of one row": (
        {**JUDGED, "X": FRAME.assign(judge=["solo", *FRAME["judge"][1:]])}, "1 of 11 groups of",
    ),
    "a grouping column without repeats": (
        {**JUDGED, "X": FRAME.assign(judge=[str(i) for i in range(N)])}, "120 of 120 groups of",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SAID)
def test_what_can_be_fitted_nevertheless_is_noted(case):
    given, message = SAID[case]
    found = regression(**given)
    assert re.search(message, " ".join(found.notes_))
    assert str(found.summary()).count("Note: ") == len(found.notes_)


SEPARATED = {
    "complete": ({"X": (Y + 0.1)[:, None]}, "'x0' separates .* use penalty='jeffreys', or pen"),
    "quasi-complete": ({"X": NUMBERS.assign(d=Y == 3)}, "'d' separates rows of level 2, 3 fro"),
    "by two columns": (
        {"X": np.column_stack([X[:, 0], 4.0 * Y - X[:, 0]])}, "'x0', 'x1' together separate row"
    ),
    "beside groups": ({**JUDGED, "X": FRAME.assign(d=Y == 3)}, "estimate; leave the column ou"),
}  # fmt: skip


@pytest.mark.parametrize("case", SEPARATED)
def test_separation_is_warned_of_in_one_sentence(case):
    given, message = SEPARATED[case]
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        regression(**given)
    assert not re.search(r"[.!?]\s", str(caught[0].message))


def test_too_few_calibration_rows_are_warned_of():
    few = {"X": X[:30], "y": Y[:30], "coverage": 0.95}
    with pytest.warns(UserWarning, match="8 rows calibrate.* coverage=0.95 needs 19"):
        found = sets(**few, method="split")
    assert np.all(found.predict_set(X) == [0, 3])
    sets(**few, method="cross")


def test_a_column_of_missing_values_has_no_effect():
    missing = NUMBERS.assign(d=np.nan)
    found = effects(trees(missing), missing, "d")[0]
    assert np.all(found.change == 0.0)
