"""Worker for the peers of `league.py`: probabilities of test rows, and processor seconds.

    python peer_league.py METHOD problem.npz result.json

Runs in the environment of the method, so nothing here asks for more than NumPy before the
method is known. Linear models and Gaussian processes get standardised columns, columns that are
constant are left out. XGBoost and CatBoost have the rule of LightGBM in the league: rate 0.05,
rounds by early stopping on 15 % of the rows, then grown again from all of them.
"""

import json
import sys
import time
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
from peer_curves import standardised

RATE, ROUNDS, PATIENCE = 0.05, 2000, 50
POINTS, STEPS = 300, 1000  # of the Gaussian process


def mord(X, y, X_test, seed):
    """Logistic all-threshold model, as it comes: alpha 1."""
    from mord import LogisticAT

    return LogisticAT().fit(X, y).predict_proba(X_test)


def ordered(X, y, X_test, seed, link):
    """Maximum likelihood by BFGS."""
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    found = OrderedModel(y, X, distr=link).fit(
        method="bfgs", maxiter=500, disp=False, skip_hessian=True
    )
    return found.model.predict(found.params, exog=X_test)


def ogboost(X, y, X_test, seed):
    """Gradient boosting of the cumulative logit; rounds by its own early stopping."""
    from ogboost import GradientBoostingOrdinal

    model = GradientBoostingOrdinal(
        n_estimators=ROUNDS, learning_rate=RATE, n_iter_no_change=PATIENCE,
        validation_fraction=0.15, random_state=seed,
    )  # fmt: skip
    return model.fit(X, y).predict_proba(X_test)


def xgboost(X, y, X_test, seed):
    """Multiclass trees of depth 6, its default."""
    import xgboost

    settings = {
        "objective": "multi:softprob", "num_class": int(y.max()) + 1, "eta": RATE,
        "nthread": 1, "seed": seed,
    }  # fmt: skip
    held = held_out(y, seed)
    part, judge = (xgboost.DMatrix(X[at], y[at]) for at in (~held, held))
    rounds = xgboost.train(
        settings, part, ROUNDS, evals=[(judge, "held")], early_stopping_rounds=PATIENCE,
        verbose_eval=False,
    ).best_iteration  # fmt: skip
    model = xgboost.train(settings, xgboost.DMatrix(X, y), rounds + 1)
    return model.predict(xgboost.DMatrix(X_test))


def catboost(X, y, X_test, seed):
    """Multiclass trees of depth 6, its default."""
    from catboost import CatBoostClassifier

    settings = {
        "loss_function": "MultiClass", "classes_count": int(y.max()) + 1, "thread_count": 1,
        "learning_rate": RATE, "random_seed": seed, "verbose": False,
        "allow_writing_files": False,
    }  # fmt: skip
    held = held_out(y, seed)
    first = CatBoostClassifier(iterations=ROUNDS, **settings)
    first.fit(X[~held], y[~held], eval_set=(X[held], y[held]), early_stopping_rounds=PATIENCE)
    last = CatBoostClassifier(iterations=first.get_best_iteration() + 1, **settings)
    return last.fit(X, y).predict_proba(X_test)


def gpytorch(X, y, X_test, seed):
    """Ordinal SVGP of `peer_gpytorch.py`, a length scale for each column."""
    from peer_gpytorch import start

    training = start(X, y, int(y.max()) + 1, min(POINTS, len(X)), ard=True)
    for _ in range(STEPS):
        training.step()
    return training.proba(X_test)


def held_out(y, seed):
    """The rows that early stopping looks at."""
    return np.random.default_rng(seed).random(len(y)) < 0.15


def on_scale(fit, **settings):
    """The fit on standardised columns, without those that are constant."""

    def fitted(X, y, X_test, seed):
        kept, scaled = X.std(axis=0) > 0, standardised(X)
        return fit(scaled(X)[:, kept], y, scaled(X_test)[:, kept], seed, **settings)

    return fitted


STATSMODELS = "statsmodels.miscmodels.ordinal_model"
FITS = {  # what is imported before the time begins, and the fit
    "mord": ("mord", on_scale(mord)),
    "statsmodels-logit": (STATSMODELS, on_scale(ordered, link="logit")),
    "statsmodels-probit": (STATSMODELS, on_scale(ordered, link="probit")),
    "ogboost": ("ogboost", ogboost),
    "xgboost": ("xgboost", xgboost),
    "catboost": ("catboost", catboost),
    "gpytorch": ("peer_gpytorch", on_scale(gpytorch)),
}


def main():
    method, source, target = sys.argv[1:]
    warnings.simplefilter("ignore")
    with np.load(source) as problem:
        X, y, X_test = (problem[key] for key in ("X", "y", "X_test"))
        seed = int(problem["seed"])
    module, fit = FITS[method]
    import_module(module)
    began = time.process_time()
    proba = np.asarray(fit(X, y, X_test, seed), dtype=np.float64)
    seconds = time.process_time() - began
    Path(target).write_text(json.dumps({"seconds": seconds, "proba": proba.tolist()}))


if __name__ == "__main__":
    main()
