"""Compiles the loops of the package, so that workers that start together do not all do it.

python tests/compile_loops.py processes   # Gaussian processes
python tests/compile_loops.py machines    # ensembles and support vector machines
"""

import sys
import warnings

import numpy as np

import ordinality
from ordinality import kernels

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=40), [-0.5, 0.5])
PAIRS = np.array([(i, (i + k) % 10) for i in range(10) for k in (1, 2, 3)])
RANKINGS = np.argsort(np.argsort(rng.normal(size=(40, 3)), axis=1), axis=1) + 1


def processes():
    smooth = [kernels.Gaussian([1.0, 1.0, 1.0]), kernels.Matern(1.0), kernels.Linear()]
    for kernel in [*smooth, kernels.RationalQuadratic(1.0), kernels.Spline()]:
        ordinality.OrdinalGP(kernel, max_evaluations=2).fit(X, y)
        kernel.slope(X, X[:10], np.ones((40, 10)))
    for inference in ("ep", "laplace", "variational"):
        for link in ("probit", "logit"):
            model = ordinality.OrdinalGP(inference=inference, link=link, max_evaluations=2)
            model.fit(X, y).predict_proba(X)
    # Fractions of rows have loops of their own, and so have inducing points.
    ordinality.OrdinalGP(max_evaluations=2).fit(X, y, sample_weight=np.linspace(0.5, 2.0, 40))
    for inducing in (None, 10):
        few = {"inducing": inducing, "max_evaluations": 2}
        ordinality.OrdinalGP(learn_points=inducing is not None, **few).fit(X, y)
        ordinality.LeastSquaresOrdinalGP(**few).fit(X, y).predict_proba(X)
        ordinality.LabelRankingGP(graph="multiclass", **few).fit(X, y).predict(X)
    for inference in ("ep", "laplace"):
        for items in (X[:10], 10):
            model = ordinality.PreferenceGP(items, inference=inference, max_evaluations=2)
            ordinality.elicitation.next_pair(model.fit(PAIRS))
        model = ordinality.LabelRankingGP(inference=inference, max_evaluations=2)
        model.fit(X, RANKINGS).predict(X)


def machines():
    for learner in ("perceptron", "sigmoid", "stump", "tree"):
        for make in (ordinality.OrdinalBoost, ordinality.RankBoost):
            make(learner=learner, n_estimators=3, calibration_folds=2).fit(X, y).predict(X)
        ordinality.OrdinalBoost("left-right", learner=learner, n_estimators=3).fit(X, y)
    ordinality.OrdinalTrees(3, scale=True, nonparallel=True).fit(X, y).predict(X)
    for constraints in ("implicit", "explicit", "fixed-margin", "sum-of-margins"):
        for kernel in ("rbf", "linear"):
            ordinality.OrdinalSVM(kernel=kernel, constraints=constraints).fit(X, y).predict(X)
    for link in ("logit", "probit", "cloglog", "loglog", "cauchit"):
        ordinality.OrdinalRegression(link).fit(X, y).predict(X)
    ordinality.OrdinalRegression(penalty="elasticnet", alpha=0.1).fit(X, y)
    judged = np.column_stack([X, np.arange(40) % 5])
    for random in (3, (3, 1)):  # quadrature, and a slope beside the intercept
        ordinality.OrdinalRegression(random=random).fit(judged, y).predict_proba(judged)
    ordinality.PreferenceSVM(X[:10]).fit(PAIRS)
    ordinality.LabelRankingSVM().fit(X, RANKINGS)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    {"processes": processes, "machines": machines}[sys.argv[1]]()
