"""The picture of the README: what ``ordinality fit @wine --target rating`` finds.

python docs/figures/make_wine.py writes docs/figures/wine.svg.
"""

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

import ordinality
from ordinality.datasets import embedded_path
from ordinality.display import LevelProbabilityDisplay, OrdinalConfusionDisplay

found = ordinality.study(embedded_path("wine"), "rating", model="gp")
problem, proba = found.problem, found.choice.selected.proba
figure = Figure(figsize=(11, 3.3), layout="constrained")
axes = figure.subplots(1, 3, width_ratios=[1, 1.7, 1.3])
for ax, column in zip(axes, ("temp", "judge"), strict=False):
    LevelProbabilityDisplay.from_estimator(found.pipeline, problem.frame, column, ax=ax)
axes[0].get_legend().remove()
mode = problem.order.decode(proba.argmax(axis=1))
OrdinalConfusionDisplay.from_predictions(
    problem.y, mode, levels=problem.order.levels, ax=axes[2]
)
with mpl.rc_context({"svg.hashsalt": "wine"}):
    figure.savefig(Path(__file__).with_name("wine.svg"), metadata={"Date": None})
