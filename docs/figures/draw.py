"""Draw the figures on Gaussian processes and least squares: python docs/figures/draw.py"""

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from ordinality import LeastSquaresOrdinalGP, OrdinalGP

HERE = Path(__file__).parent
# Dark to light: ordered in colour, and still ordered in grey.
SHADES = ["#08306b", "#2171b5", "#6baed6", "#c6dbef"]


def one_feature() -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Sixty rows of one feature and four levels, as in the page's example."""
    rng = np.random.default_rng(1)
    X = np.sort(rng.uniform(0, 10, size=60))[:, None]
    hidden = np.sin(X[:, 0]) + 0.25 * X[:, 0] + 0.4 * rng.normal(size=60)
    levels = ["poor", "fair", "good", "superb"]
    return X, np.array(levels)[np.digitize(hidden, [0.5, 1.3, 2.2])], levels


def draw_model() -> None:
    """The latent function with its thresholds, and the probabilities below."""
    X, y, levels = one_feature()
    model = OrdinalGP(levels=levels).fit(X, y)
    grid = np.linspace(-2, 13, 400)[:, None]
    mean, var = model.predict_latent(grid)
    sd = np.sqrt(var)
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(7, 6), sharex=True)
    top.fill_between(grid[:, 0], mean - 2 * sd, mean + 2 * sd, color="#dddddd", lw=0)
    top.plot(grid[:, 0], mean, color="black", lw=1.5)
    for threshold in model.thresholds_:
        top.axhline(threshold, color="#2171b5", lw=1, ls="--")
    edges = [mean.min() - 0.5, *model.thresholds_, mean.max() + 0.5]
    for name, low, high in zip(levels, edges, edges[1:], strict=False):
        top.text(13.15, 0.5 * (low + high), name, va="center", fontsize=9)
    top.set_ylabel("latent function")
    proba = model.predict_level_proba(grid)
    bottom.stackplot(grid[:, 0], proba.T, colors=SHADES, labels=levels)
    ranks = np.array([levels.index(label) for label in y])
    for rank in range(4):
        at = X[ranks == rank, 0]
        bottom.plot(at, np.full(len(at), -0.04 - 0.035 * rank), "|", color=SHADES[rank], ms=7)
    bottom.set_ylim(-0.2, 1)
    bottom.set_xlim(-2, 13)
    bottom.set_ylabel("probability of each level")
    bottom.set_xlabel("feature")
    bottom.legend(loc="upper left", fontsize=8, framealpha=0.9)
    figure.tight_layout()
    figure.savefig(HERE / "ordinal-gp.svg")


def twenty_points() -> tuple[np.ndarray, np.ndarray]:
    """The synthetic data of section 5.1 of PLSOR: five categories along a line.

    The paper's counts (2, 3, 10, 5, 1) add up to 21 points, not 20; here the third is 9.
    """
    rng = np.random.default_rng(0)
    runs = [(2, 4, 2), (4, 6, 3), (8, 14, 9), (14, 18, 5), (18, 20, 1)]  # from, to, how many
    X = np.concatenate([np.sort(rng.uniform(low, high, n)) for low, high, n in runs])
    return X[:, None], np.repeat(np.arange(1, 6), [n for _, _, n in runs])


def draw_least_squares() -> None:
    """Figure 1 of PLSOR: mean and deviation of the predicted category, EP and least squares."""
    X, y = twenty_points()
    grid = np.arange(0.0, 20.0, 0.1)[:, None]
    figure, panels = plt.subplots(1, 2, figsize=(8, 3.4), sharey=True)
    models = {"OrdinalGP (EP)": OrdinalGP(), "LeastSquaresOrdinalGP": LeastSquaresOrdinalGP()}
    for panel, (name, model) in zip(panels, models.items(), strict=True):
        proba = model.fit(X, y).predict_level_proba(grid)
        mean = proba @ model.levels_
        sd = np.sqrt(proba @ model.levels_**2 - mean**2)
        panel.fill_between(grid[:, 0], mean - sd, mean + sd, color="#dddddd", lw=0)
        panel.plot(grid[:, 0], mean, color="#2171b5", lw=1.5)
        panel.plot(grid[:, 0], model.predict(grid), color="black", lw=1, ls=":")
        panel.plot(X[:, 0], y, "+", color="black", ms=7)
        panel.set_title(name, fontsize=10)
        panel.set_xlabel("feature")
        panel.set_xlim(0, 20)
        panel.set_xticks(range(0, 21, 5))
    panels[0].set_ylabel("category")
    panels[0].set_yticks(range(1, 6))
    figure.tight_layout()
    figure.savefig(HERE / "least-squares.svg")


if __name__ == "__main__":
    mpl.rcParams["svg.hashsalt"] = "ordinality"  # the same drawing gives the same file
    draw_model()
    draw_least_squares()
