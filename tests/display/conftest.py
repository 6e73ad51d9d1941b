"""What tests of displays share: no window, no figure left open, and models to draw."""

import matplotlib as mpl
import numpy as np
import pandas
import pytest

from ordinality.estimators import OrdinalBoost, OrdinalGP

mpl.use("agg")

# Names that a drawing must show as they stand.
AWKWARD = ["pay $5 or $10", "<script>alert(1)</script>", "100 % of it_", "_low^2 & on" * 6]


@pytest.fixture(autouse=True)
def close_figures():
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.fixture
def drawn():
    """Draw a display wholly, since much of what goes wrong does so only then."""

    def draw(display):
        display.figure_.canvas.draw()
        assert display.ax_.figure is display.figure_
        return display.ax_

    return draw


@pytest.fixture(scope="session")
def rows():
    """Rows of two features, and ranks of four levels."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, size=(60, 2))
    return X, np.digitize(X[:, 0] + X[:, 1] ** 2 + 0.2 * rng.normal(size=60), [-0.4, 0.2, 0.8])


@pytest.fixture(scope="session")
def process(rows):
    X, y = rows
    return OrdinalGP(optimizer=None).fit(X, y)


@pytest.fixture(scope="session")
def ensemble(rows):
    X, y = rows
    return OrdinalBoost(n_estimators=12).fit(X[:40], y[:40])


@pytest.fixture(scope="session", params=[2, 4, 13])
def counted(request, rows):
    """A model of few, some or many levels, along one feature."""
    x = rows[0][:, :1]
    y = np.digitize(x[:, 0], np.quantile(x, np.linspace(0, 1, request.param + 1)[1:-1]))
    return OrdinalGP(optimizer=None, noise=0.3).fit(x, y), x, y


@pytest.fixture(scope="session")
def awkward(rows):
    """A model whose names are full of signs that mean something elsewhere."""
    X, y = rows
    frame = pandas.DataFrame(X, columns=["$x_1$ and $y$", "<b> & 50 %"])
    labels = np.array(AWKWARD)[y]
    return OrdinalGP(optimizer=None, levels=AWKWARD).fit(frame, labels), frame, labels


@pytest.fixture
def shows():
    """Whether axes show a text as it stands: no part of it taken for mathematics."""
    from matplotlib.cbook import is_math_text
    from matplotlib.text import Text

    def check(ax, words):
        shown = []
        for text in ax.figure.findobj(Text):
            assert not is_math_text(text.get_text()), f"{text.get_text()!r} is mathematics"
            shown.append(text.get_text().replace(r"\$", "$"))
        return any(words in text for text in shown)

    return check
