"""What goes into a model file comes out: every estimator, in every digit."""

import warnings

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ordinality import estimators, persist
from ordinality.estimators import (
    LabelRankingGP,
    LabelRankingSVM,
    LabelRankingSVMCV,
    LeastSquaresOrdinalGP,
    LowRankImputer,
    OrdinalBoost,
    OrdinalConformal,
    OrdinalGP,
    OrdinalRegression,
    OrdinalStack,
    OrdinalSVM,
    OrdinalSVMCV,
    OrdinalTrees,
    PreferenceGP,
    PreferenceSVM,
    PreferenceSVMCV,
    RankBoost,
    RoundedRegressor,
)
from ordinality.kernels import (
    Correlation,
    Gaussian,
    Linear,
    LinearGaussian,
    Matern,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Spline,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 3))
utility = X[:, 0] + 0.5 * X[:, 1]
y = np.digitize(utility + 0.4 * rng.normal(size=30), [-0.7, 0.6])
words = np.array(["low", "mid", "high"])[y]
grouped = np.column_stack([words[::-1], X]).astype(object)
gram = Gaussian(1.0)(X)
ratings = np.where(rng.random((30, 6)) < 0.2, np.nan, rng.integers(1, 6, (30, 6)))
pairs = np.array([rng.choice(30, 2, replace=False) for _ in range(50)])
gap = utility[pairs[:, 0]] - utility[pairs[:, 1]]
answers, tied = np.sign(gap).astype(int), np.where(np.abs(gap) < 0.4, 0, np.sign(gap))
orders = np.argsort(np.argsort(X @ rng.normal(size=(3, 4)), axis=1), axis=1).astype(float)

KERNELS = [
    Gaussian(1.0),
    Gaussian(np.ones(3)),
    Linear(),
    LinearGaussian(0.3, 2.0, [1.0, 2.0, 0.5]),
    Polynomial(),
    Spline(),
    Matern(1.0),
    RationalQuadratic(),
    2.0 * Gaussian(1.0) + Linear() * Gaussian(np.ones(3)) + 1.0,
    ConstantKernel() * RBF() + WhiteKernel(),
    DotProduct(),
]
ORDINAL = {
    "laplace": OrdinalGP(inference="laplace"),
    "variational": OrdinalGP(inference="variational", optimizer=None),
    "leave-one-out": OrdinalGP(criterion="loo", hyperprior={"noise": 1.0}),
    "bound": OrdinalGP(criterion="bound", decision="median", hyperprior=None),
    "noise by features": OrdinalGP(scale="log-linear"),
    "logit": OrdinalGP(link="logit", random_state=np.random.RandomState(0)),
    "student": OrdinalGP(link="student"),
    "cloglog": OrdinalGP(link="cloglog", inference="laplace"),
    "ard": OrdinalGP("ard"),
    "plsor": LeastSquaresOrdinalGP(),
    "plsor ard": LeastSquaresOrdinalGP(2.0 * Gaussian(np.ones(3))),
    **{f"gp {kernel}": OrdinalGP(kernel, optimizer=None) for kernel in KERNELS},
    **{
        f"boost {learner}": OrdinalBoost(learner=learner, n_estimators=4)
        for learner in ("perceptron", "sigmoid", "stump", "tree")
    },
    "left-right": OrdinalBoost(margins="left-right", n_estimators=4, random_state=3),
    "borrowed trees": OrdinalBoost(learner=DecisionTreeClassifier(max_depth=2), n_estimators=3),
    "borrowed lines": OrdinalBoost(learner=LogisticRegression(), n_estimators=3),
    "trees": OrdinalTrees(5),
    "trees, multinomial": OrdinalTrees(5, loss="multinomial", levels=[0, 1, 2, 3]),
    "sets": OrdinalConformal(LogisticRegression()),
    "sets of trees": OrdinalConformal(
        OrdinalTrees(3), method="split", per_level=True, calibration_fraction=0.5
    ),
    "stack": OrdinalStack(
        [
            ("gp", OrdinalGP(optimizer=None)),
            ("lines", make_pipeline(StandardScaler(), LogisticRegression())),
            ("svm", make_pipeline(StandardScaler(), OrdinalSVM())),
        ]
    ),
    "stack of one": OrdinalStack([("forest", RandomForestClassifier(3, random_state=0))]),
    "trees, all": OrdinalTrees(5, scale=True, nonparallel=True, levels=[0, 1, 2, 3]),
    "ranked": RankBoost(n_estimators=4, thresholding="zero-one"),
    "ranked trees": RankBoost(n_estimators=4, learner="tree"),
    "ranked bayes": RankBoost(n_estimators=4, learner=GaussianNB()),
    **{
        f"svm {kind}": OrdinalSVM(constraints=kind)
        for kind in ("implicit", "explicit", "fixed-margin", "sum-of-margins")
    },
    **{f"svm {kernel}": OrdinalSVM(kernel=kernel) for kernel in ("linear", "poly", RBF())},
    "svm sum": OrdinalSVM(kernel=2.0 * Gaussian(1.0) + Linear()),
    "svm search": OrdinalSVMCV(log_C=(0, 1), log_kappa=(-1, 0), fine_steps=0, cv=2),
    "regression": OrdinalRegression(),
    "nominal and scale": OrdinalRegression("probit", nominal=[1], scale=[0], levels=[0, 1, 2]),
    "structured": OrdinalRegression("cauchit", thresholds="symmetric"),
    "net": OrdinalRegression(penalty="elasticnet", alpha=0.02),
    "one group": OrdinalRegression(random=0),
    "crossed groups and a slope": OrdinalRegression(nominal=[2], random=[(0, 2), 1]),
    "rounded process": RoundedRegressor(),
    "rounded line": RoundedRegressor(Ridge()),
    "rounded forest": RoundedRegressor(RandomForestRegressor(3, random_state=0)),
    "rounded stages": RoundedRegressor(GradientBoostingRegressor(n_estimators=3)),
    "wider tree": RoundedRegressor(
        make_pipeline(PolynomialFeatures(), DecisionTreeRegressor())
    ),
    "pipeline": make_pipeline(FunctionTransformer(np.arctan), StandardScaler(), OrdinalGP()),
    "imputed": make_pipeline(LowRankImputer(rank=1), OrdinalGP(optimizer=None)),
    "inner pipeline": make_pipeline(StandardScaler(), make_pipeline(OrdinalGP())),
}


def said(model, X=X):
    """What a classifier says of rows, in all the ways it can."""
    methods = ("predict", "predict_proba", "decision_function", "predict_set")
    return [getattr(model, name)(X) for name in methods if hasattr(model, name)]


def judged(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of other things than files
        found = [model.predict(pairs), model.rank()]
    return [*found, model.predict_proba(pairs)] if hasattr(model, "predict_proba") else found


def ranked(model):
    return [model.predict(X), model.scores(X)]


SEARCH = {"log_C": (0, 1), "log_kappa": (-1, 0), "fine_steps": 0, "cv": 2}
OTHERS = {
    "gram": (OrdinalGP("precomputed"), (gram, y), lambda m: said(m, gram)),
    "kernel of a gram": (OrdinalGP(Precomputed()), (gram, y), lambda m: said(m, gram)),
    "ratings": (OrdinalGP(Correlation()), (ratings, y), lambda m: said(m, ratings)),
    "svm gram": (OrdinalSVM(kernel="precomputed"), (gram, y), lambda m: said(m, gram)),
    "missing": (OrdinalTrees(5, categorical=[0]), (ratings, y), lambda m: said(m, ratings)),
    "weights": (OrdinalGP(), (X, y, np.r_[0.0, 0.0, np.ones(28)]), said),
    "named groups": (OrdinalRegression(random=0), (grouped, y), lambda m: said(m, grouped)),
    "laplace preferences": (PreferenceGP(X), (pairs, answers), judged),
    "ep preferences": (PreferenceGP(X, inference="ep"), (pairs, answers), judged),
    "numbered items": (PreferenceGP(30), (pairs, answers), judged),
    "preferences by points": (PreferenceGP(X, inducing=10), (pairs, answers), judged),
    "ties": (PreferenceGP(X, ties=True), (pairs, tied), judged),
    "preference machine": (PreferenceSVM(X), (pairs, answers), judged),
    "label ranking": (LabelRankingGP(), (X, orders), ranked),
    "classes": (LabelRankingGP(graph="multiclass"), (X, words), ranked),
    "label machine": (LabelRankingSVM(), (X, orders), ranked),
    "preference search": (PreferenceSVMCV(X, **SEARCH), (pairs, answers), judged),
    "label search": (LabelRankingSVMCV(**SEARCH), (X, orders), ranked),
}


def same(ours, theirs):
    assert len(ours) == len(theirs) > 0
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", ORDINAL)
def test_a_loaded_model_predicts_the_same_in_every_digit(name, path):
    fitted = ORDINAL[name].fit(X, y)
    persist.save(fitted, path)
    same(said(fitted), said(persist.load(path)))


@pytest.mark.parametrize("name", OTHERS)
def test_models_of_other_data_come_back_the_same(name, path):
    model, data, ask = OTHERS[name]
    fitted = model.fit(*data)
    persist.save(fitted, path)
    same(ask(fitted), ask(persist.load(path)))


def test_every_estimator_is_among_those_tried():
    steps = [[*m] if isinstance(m, Pipeline) else [m] for m in ORDINAL.values()]
    steps.append([case[0] for case in OTHERS.values()])
    tried = {type(step).__name__ for parts in steps for step in parts}
    assert tried >= set(estimators.__all__)


def test_ratings_that_were_learnt_beside_comparisons_come_back(path):
    fitted = PreferenceGP(X).fit(pairs, answers, ratings=(np.arange(30), y))
    persist.save(fitted, path)
    same(judged(fitted), judged(persist.load(path)))


def test_a_function_of_numpy_whose_signature_was_read_can_be_saved(tmp_path):
    import inspect

    inspect.signature(np.arctan)  # NumPy then keeps it in the function itself
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = make_pipeline(FunctionTransformer(np.arctan), OrdinalGP(optimizer=None))
    persist.save(model.fit(X, np.arange(40) % 2), tmp_path / "model.skops")
    loaded = persist.load(tmp_path / "model.skops")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
