"""Draw the figure of the page on support vector machines: python docs/figures/draw_svm.py

``--png FOLDER`` also saves a picture there.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ordinality import OrdinalSVM

HERE = Path(__file__).parent
# Dark to light: ordered in colour, and still ordered in grey.
SHADES = ["#2171b5", "#6baed6", "#c6dbef", "#f0f4fa"]
DOTS = ["#08306b", "#2171b5", "#6baed6", "#ffffff"]
MARKERS = ["o", "s", "^", "D"]
CUTS = [-1.0, -0.6, 0.9]  # the second level is narrow, and rare
SIDE = 220
PRICES = {"implicit": 10.0, "explicit": 10.0, "fixed-margin": 10.0, "sum-of-margins": 0.06}


def surface(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The function whose values are cut into the artificial levels."""
    return x + 0.8 * y**2 - 1.0


def artificial(n: int = 160, seed: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Points of the plane and their levels 0..3, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(n, 2))
    return X, np.digitize(surface(*X.T) + 0.6 * rng.normal(size=n), CUTS)


def draw() -> Figure:
    """The regions of the four machines, their thresholds, bands and support vectors."""
    X, y = artificial()
    side = np.linspace(-2.0, 2.0, SIDE)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    truth = np.digitize(surface(*grid.T), CUTS)
    figure, axes = plt.subplots(1, 4, figsize=(13, 3.9), sharey=True)
    for axis, (constraints, C) in zip(axes, PRICES.items(), strict=True):
        model = OrdinalSVM(C, gamma=0.25, constraints=constraints, calibration_folds=None)
        draw_machine(axis, model.fit(X, y), side, grid)
        axis.plot(*X[model.support_].T, "o", ms=8.5, mfc="none", mec="#d55e00", mew=0.9)
        for level, (shade, marker) in enumerate(zip(DOTS, MARKERS, strict=True)):
            axis.plot(*X[y == level].T, marker, ms=3.8, color=shade, mec="black", mew=0.5)
        wrong = np.abs(model.predict(grid) - truth)
        axis.set_title(
            f"{constraints}, C = {C:g}\n{len(model.support_)} support vectors, "
            f"{100 * np.mean(wrong > 0):.1f}% wrong",
            fontsize=9.5,
        )
        print(f"{constraints:15} {len(model.support_):4} {np.mean(wrong > 0):.4f} "
              f"{np.mean(wrong):.4f} {model.thresholds_.round(2)}")  # fmt: skip
    figure.tight_layout()
    return figure


def draw_machine(axis: Axes, model: OrdinalSVM, side: np.ndarray, grid: np.ndarray) -> None:
    """Regions in shades, thresholds as lines, the bands around them dashed."""
    regions = model.predict(grid).reshape(SIDE, SIDE)
    axis.imshow(regions, cmap=mpl.colors.ListedColormap(SHADES), extent=(-2, 2, -2, 2),
                origin="lower", interpolation="nearest", vmin=0, vmax=3)  # fmt: skip
    score = model.predict_latent(grid).reshape(SIDE, SIDE)
    axis.contour(side, side, score, np.unique(model.thresholds_), colors="black",
                 linewidths=1.3, linestyles="-")  # fmt: skip
    axis.contour(side, side, score, np.unique(model.bands_), colors="black",
                 linewidths=0.7, linestyles="--")  # fmt: skip
    axis.set(xlim=(-2, 2), ylim=(-2, 2), aspect="equal", xticks=[], yticks=[])


def main() -> None:
    """Draw, and save as SVG beside this file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--png", type=Path, default=None, help="folder for a picture too")
    args = parser.parse_args()
    mpl.rcParams["svg.hashsalt"] = "ordinality"  # the same drawing gives the same file
    figure = draw()
    figure.savefig(HERE / "svm-formulations.svg", metadata={"Date": None})
    if args.png is not None:
        figure.savefig(args.png / "svm-formulations.png", dpi=100)


if __name__ == "__main__":
    main()
