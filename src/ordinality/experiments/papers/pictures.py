"""The papers' figures of made-up data: what they are drawn from, and the drawing's data.

The pictures are drawn by `ordinality.display`; here the models are fitted whose predictions
they show.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ordinality.datasets import Split, bands_2d, five_levels_1d, three_ranks_2d
from ordinality.experiments.results_page import ResultTable, shown
from ordinality.experiments.spec import Spec

__all__ = [
    "along_a_line",
    "bands",
    "ensemble_regions",
    "five_levels",
    "gp_regions",
    "likelihood_curves",
    "likelihood_table",
    "three_ranks",
]

NOISE = {"lower noise": 0.2, "higher noise": 0.8}


def three_ranks(name: str, partition: int) -> Split:
    """Three ranks in the plane, with lower or higher noise."""
    return three_ranks_2d(noise=NOISE[name], seed=partition)


def five_levels(name: str, partition: int) -> Split:
    """Five levels on a line."""
    return five_levels_1d(seed=partition)


def bands(name: str, partition: int) -> Split:
    """Five bands in the plane; ranks begin with 0."""
    split = bands_2d(seed=partition)
    return split._replace(y=split.y - 1, y_test=split.y_test - 1)


# ------------------------------------------------------------------------------ drawings


def gp_regions(spec: Spec, rows: Any) -> Any:
    """Regions that the machine, MAP and EP predict: a line of panels for each noise."""
    from ordinality.display.curves import regions
    from ordinality.estimators import OrdinalGP, OrdinalSVMCV

    panels = []
    for name in spec.sets:
        split = spec.problem(name, 1)
        for method in spec.methods:
            model: Any = (
                OrdinalSVMCV(calibration_folds=None, random_state=1)
                if method.name == "svm"
                else OrdinalGP(inference=method.settings["inference"], random_state=1)
            )
            predict = model.fit(split.X, split.y).predict
            panels.append((f"{method.title}, {name}", predict, split.X, split.y))
    return regions(panels, columns=len(spec.methods))


LOSS = ("likelihood", "first derivative of the loss", "second derivative of the loss")
SIGNS = ("p(y | f)", "−∂ log p / ∂f", "−∂² log p / ∂f²")
THRESHOLDS = (-3.0, 3.0)


def _ordinal_loss(level: int, f: np.ndarray) -> tuple[np.ndarray, ...]:
    """p(y | f), and both derivatives of -log p(y | f); three levels, unit noise."""
    from ordinality.gp.likelihoods import Ordinal

    jet = Ordinal(np.array(THRESHOLDS), noise=1.0).point(np.full(f.size, level - 1), f)
    return np.exp(jet.value), -jet.d1, -jet.d2


def likelihood_curves(spec: Spec, rows: Any) -> Any:
    """The likelihood of three levels and the derivatives of its loss, over the latent value."""
    from ordinality.display.curves import Curve, Panel, curves

    f = np.linspace(-9.0, 9.0, 361)
    by_level = {f"y = {level}": _ordinal_loss(level, f) for level in (1, 2, 3)}
    panels = [
        Panel(title, sign, [Curve(label, f, found[i]) for label, found in by_level.items()])
        for i, (title, sign) in enumerate(zip(LOSS, SIGNS, strict=True))
    ]
    return curves(panels, "latent value f(x)", columns=3, ticks=range(-9, 10, 3))


def likelihood_table(spec: Spec, rows: Any) -> ResultTable:
    """The same at a few latent values."""
    values = np.array([-6.0, -3.0, 0.0, 3.0, 6.0])

    def cells(level: int, i: int) -> list[str]:  # + 0.0: no minus before a zero
        return [shown(x[i].round(4) + 0.0, 4) for x in _ordinal_loss(level, values)]

    lines = [
        [shown(f, 0), str(level), *cells(level, i)]
        for i, f in enumerate(values)
        for level in (1, 2, 3)
    ]
    return ResultTable(spec, ["f(x)", "y", *LOSS], lines, "The paper prints the curves alone.")


def ensemble_regions(spec: Spec, rows: Any) -> Any:
    """Regions that 200 perceptrons and 200 sigmoids predict, by all margins."""
    from ordinality.display.curves import regions
    from ordinality.estimators import OrdinalBoost

    split = spec.problem("bands", 1)
    panels = []
    for learner in ("perceptron", "sigmoid"):
        model = OrdinalBoost(
            learner=learner, n_estimators=200, calibration_folds=None, random_state=1
        )
        predict = model.fit(split.X, split.y).predict
        panels.append((f"ORBoost-All, 200 {learner}s", predict, split.X, split.y))
    return regions(panels, columns=2)


def along_a_line(spec: Spec, rows: Any) -> Any:
    """Mean and deviation of the predicted level along the line, by EP and by PLSOR."""
    from ordinality.display.curves import bands_along
    from ordinality.estimators import LeastSquaresOrdinalGP, OrdinalGP

    split = spec.problem("line", 1)
    panels = []
    models: Any = (OrdinalGP(), LeastSquaresOrdinalGP())  # in the order of the spec's methods
    for method, model in zip(spec.methods, models, strict=True):
        proba = model.fit(split.X, split.y).predict_level_proba(split.X_test)
        mean = proba @ model.levels_
        sd = np.sqrt(np.maximum(proba @ model.levels_**2 - mean**2, 0.0))
        seen = (split.X[:, 0], split.y)
        panels.append((method.title, split.X_test[:, 0], mean, sd, *seen))
    return bands_along(panels, x_title="input", y_title="level")
