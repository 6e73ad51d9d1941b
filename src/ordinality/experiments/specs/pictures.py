"""The papers' figures of made-up data: what they are drawn from, and the drawing's data.

The pictures are drawn by `ordinality.display`; here the models are fitted whose predictions
they show.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ordinality.datasets import Split, bands_2d, five_levels_1d, three_ranks_2d
from ordinality.experiments.values import Spec

__all__ = [
    "along_a_line",
    "bands",
    "ensemble_regions",
    "five_levels",
    "gp_regions",
    "three_ranks",
]

NOISE = {"lower noise": 0.2, "higher noise": 0.8}


def three_ranks(name: str, partition: int) -> Split:
    """Three ranks in the plane, with lower or higher noise.

    Examples
    --------
    >>> three_ranks("lower noise", 1).X.shape
    (60, 2)
    """
    return three_ranks_2d(noise=NOISE[name], seed=partition)


def five_levels(name: str, partition: int) -> Split:
    """Five levels on a line.

    Examples
    --------
    >>> five_levels("line", 1).X_test.shape
    (200, 1)
    """
    return five_levels_1d(seed=partition)


def bands(name: str, partition: int) -> Split:
    """Five bands in the plane; ranks begin with 0.

    Examples
    --------
    >>> int(bands("bands", 1).y.min())
    0
    """
    split = bands_2d(seed=partition)
    return split._replace(y=split.y - 1, y_test=split.y_test - 1)


# ------------------------------------------------------------------------------ drawings


def gp_regions(spec: Spec, rows: Any) -> Any:
    """Regions that the machine, MAP and EP predict: a line of panels for each noise.

    Examples
    --------
    >>> gp_regions.__name__
    'gp_regions'
    """
    from ordinality.display.experiments import regions
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


def ensemble_regions(spec: Spec, rows: Any) -> Any:
    """Regions that 200 perceptrons and 200 sigmoids predict, by all margins.

    Examples
    --------
    >>> ensemble_regions.__name__
    'ensemble_regions'
    """
    from ordinality.display.experiments import regions
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
    """Mean and deviation of the predicted level along the line, by EP and by PLSOR.

    Examples
    --------
    >>> along_a_line.__name__
    'along_a_line'
    """
    from ordinality.display.experiments import bands_along
    from ordinality.estimators import LeastSquaresOrdinalGP, OrdinalGP

    split = spec.problem("line", 1)
    panels = []
    for title, model in (("EP", OrdinalGP()), ("PLSOR", LeastSquaresOrdinalGP())):
        proba = model.fit(split.X, split.y).predict_level_proba(split.X_test)
        mean = proba @ model.levels_
        sd = np.sqrt(np.maximum(proba @ model.levels_**2 - mean**2, 0.0))
        panels.append((title, split.X_test[:, 0], mean, sd, split.X[:, 0], split.y))
    return bands_along(panels, x_title="input", y_title="level")
