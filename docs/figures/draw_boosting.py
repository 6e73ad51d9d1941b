"""Draw the figures of the page on thresholded ensembles: python docs/figures/draw_boosting.py

The second, errors against rounds on abalone, needs the data folder (ORDINALITY_DATA) and some
minutes; without the folder only the first is drawn. ``--png FOLDER`` also saves pictures there.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one fit a core instead

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from joblib import Parallel, delayed
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from ordinality import OrdinalBoost, RankBoost

HERE = Path(__file__).parent
# Dark to light: ordered in colour, and still ordered in grey.
SHADES = ["#08306b", "#2171b5", "#6baed6", "#c6dbef"]
MARKERS = ["o", "s", "^", "D"]
CUTS = [0.25, 0.5, 0.75]
ROUNDS, PARTITIONS = 2000, 4
CHECKPOINTS = np.unique(np.geomspace(1, ROUNDS, 28).round().astype(int))
# Colours are safe for colour-blind readers; markers and line styles differ too.
ALGORITHMS = {
    "RankBoost-AE": (RankBoost(), "#000000", "^"),
    "ORBoost-LR": (OrdinalBoost("left-right"), "#d55e00", "s"),
    "ORBoost-All": (OrdinalBoost("all"), "#0072b2", "o"),
}
STYLES = {"perceptron": "-", "sigmoid": (0, (4, 1.5))}


# Boundaries, figure 2 of Lin & Li


def surface(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The function whose values are cut into the artificial levels."""
    return y + 0.18 * np.sin(2.0 * np.pi * x)


def artificial() -> tuple[np.ndarray, np.ndarray]:
    """Three hundred points of the unit square, and their levels 0..3, without noise."""
    X = np.random.default_rng(6).uniform(size=(300, 2))
    return X, np.digitize(surface(X[:, 0], X[:, 1]), CUTS)


def draw_boundaries() -> Figure:
    """The data, and the regions of 200 perceptrons and of 200 sigmoids."""
    X, y = artificial()
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), sharey=True)
    side = np.linspace(0.0, 1.0, 240)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    for axis, learner in zip(axes[1:], STYLES, strict=True):
        model = OrdinalBoost(learner=learner, n_estimators=200, calibration_folds=None)
        regions = model.fit(X, y).predict(grid).reshape(240, 240)
        error = np.mean(model.predict(grid) != np.digitize(surface(*grid.T), CUTS))
        axis.imshow(regions, cmap=mpl.colors.ListedColormap(SHADES), extent=(0, 1, 0, 1),
                    origin="lower", interpolation="nearest")  # fmt: skip
        axis.set_title(f"200 {learner}s: {100 * error:.1f}% of the square wrong", fontsize=10)
    for level, (shade, marker) in enumerate(zip(SHADES, MARKERS, strict=True)):
        rows = X[y == level]
        axes[0].plot(*rows.T, marker, ms=4, color=shade, mec="black", mew=0.4, zorder=3)
    axes[0].set_title("300 points of four levels", fontsize=10)
    edged = [withStroke(linewidth=3.0, foreground="white")]  # visible on dark and light shades
    for axis in axes:
        for cut in CUTS:
            truth = cut - surface(side, 0.0)
            axis.plot(side, truth, color="black", lw=1.2, ls="--", path_effects=edged)
        axis.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=[0, 1], yticks=[0, 1])
    figure.tight_layout()
    return figure


# Errors against rounds, figure 3 of Lin & Li


def abalone(folder: Path, partition: int) -> tuple[np.ndarray, ...]:
    """X, y, X_test, y_test: ten levels of equal frequency, sex as indicators."""
    import polars as pl

    table = pl.read_csv(folder / "regression" / "abalone.csv.gz").drop("target")
    X = table.to_dummies([c for c in table.columns if table[c].dtype == pl.String])
    X = X.to_numpy().astype(float)
    labels = pl.read_csv(folder / "equal_frequency_partitions" / "abalone.csv.gz")
    y = labels["label_10"].to_numpy()
    train = labels[f"train10_{partition:02d}"].to_numpy().astype(bool)
    return X[train], y[train], X[~train], y[~train]


def errors(folder: Path, partition: int, name: str, learner: str) -> np.ndarray:
    """Classification and absolute error at the checkpoints; (train or test, 2, T)."""
    X, y, X_test, y_test = abalone(folder, partition)
    model = ALGORITHMS[name][0].set_params(
        learner=learner, n_estimators=ROUNDS, calibration_folds=None, random_state=partition
    )
    model.fit(X, y)
    parts = []
    for rows, labels in ((X, y), (X_test, y_test)):
        stages = enumerate(model.staged_predict(rows), start=1)
        away = [np.abs(found - labels) for t, found in stages if t in CHECKPOINTS]
        parts.append([[np.mean(a > 0) for a in away], [np.mean(a) for a in away]])
    return np.array(parts)


def draw_errors(folder: Path) -> Figure:
    """Training and test errors against rounds, averaged over partitions."""
    pairs = [(name, learner) for name in ALGORITHMS for learner in STYLES]
    cells = [(p, *pair) for pair in pairs for p in range(1, PARTITIONS + 1)]
    found = Parallel(n_jobs=2)(delayed(errors)(folder, *cell) for cell in cells)
    means = np.array(found).reshape(len(pairs), PARTITIONS, 2, 2, -1).mean(axis=1)
    figure, axes = plt.subplots(2, 2, figsize=(9, 6.4), sharex=True)
    for (name, learner), mean in zip(pairs, means, strict=True):
        _, colour, marker = ALGORITHMS[name]
        for axis, line in zip(axes.ravel(), mean.reshape(4, -1), strict=True):
            axis.plot(CHECKPOINTS, line, color=colour, ls=STYLES[learner], lw=1.4,
                      marker=marker, ms=4, mfc=colour if learner == "perceptron" else "white",
                      markevery=3, label=f"{name}, {learner}")  # fmt: skip
        print(f"{name:13} {learner:11} test {mean[1, 0, -1]:.3f} {mean[1, 1, -1]:.3f}")
    label(axes)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), ncols=3, loc="lower center",
                  fontsize=9, frameon=False)  # fmt: skip
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    return figure


def label(axes: np.ndarray) -> None:
    """Titles, and a logarithmic axis of rounds."""
    first: Axes = axes[0, 0]
    first.set_xscale("log")
    first.xaxis.set_major_formatter("{x:g}")
    axes[1, 1].set_ylim(1.35, 1.85)  # the first rounds of ORBoost-LR are far above
    for row, part in zip(axes, ("training", "test"), strict=True):
        for axis, kind in zip(row, ("classification", "absolute"), strict=True):
            axis.set_title(f"{part}: {kind} error", fontsize=10)
            axis.grid(color="#dddddd", lw=0.5)
    for axis in axes[1]:
        axis.set_xlabel("rounds")


def main() -> None:
    """Draw, and save as SVG beside this file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--png", type=Path, default=None, help="folder for pictures too")
    args = parser.parse_args()
    mpl.rcParams["svg.hashsalt"] = "ordinality"  # the same drawing gives the same file
    figures = {"ensemble-boundaries": draw_boundaries()}
    if "ORDINALITY_DATA" in os.environ:
        figures["ensemble-errors"] = draw_errors(Path(os.environ["ORDINALITY_DATA"]))
    for name, figure in figures.items():
        figure.savefig(HERE / f"{name}.svg", metadata={"Date": None})
        if args.png is not None:
            figure.savefig(args.png / f"{name}.png", dpi=110)


if __name__ == "__main__":
    main()
