"""Colours that keep their order in grey, and words that stay words."""

import subprocess
import sys

import numpy as np
import pytest

from ordinality.display.palette import (
    BAD,
    GOOD,
    NEUTRAL,
    axes,
    level_legend,
    plain,
    shades,
    strokes,
)


def lightness(colours):
    return np.array(colours) @ [0.30, 0.59, 0.11]


@pytest.mark.parametrize("n", [1, 2, 3, 7, 12, 30])
def test_levels_darken_from_the_lowest_to_the_highest(n):
    grey = lightness(shades(n))
    assert len(grey) == n
    assert np.all(np.diff(grey) < 0)
    if 1 < n < 8:
        assert np.all(np.diff(grey) < -0.06)  # apart by more than a printer's error


def test_lines_over_levels_differ_in_stroke_as_well_as_in_colour():
    lines = strokes(5)
    assert len({str(line["linestyle"]) for line in lines}) == 5
    assert len({line["marker"] for line in lines}) == 5
    assert np.all(lightness([line["color"] for line in lines]) < 0.8)  # seen on white


def test_more_lines_than_strokes_begin_again():
    assert len(strokes(20)) == 20


def test_good_bad_and_neutral_are_different_greys():
    from matplotlib.colors import to_rgb

    grey = lightness([to_rgb(colour) for colour in (GOOD, BAD, NEUTRAL)])
    assert np.min(np.abs(np.diff(np.sort(grey)))) > 0.08


def test_dollars_are_escaped_and_lines_are_joined():
    assert plain("$a$\nand\t b") == r"\$a\$ and b"
    assert plain(3) == "3"


def test_the_middle_of_a_long_name_is_left_out():
    short = plain("begins with this " + "and " * 30 + "ends so", 24)
    assert len(short) <= 24
    assert short.startswith("begins")
    assert short.endswith("ends so")


def test_axes_that_are_given_are_used():
    ax = axes(None, 3.0, 2.0)
    assert axes(ax) is ax
    assert ax.figure.get_size_inches().tolist() == [3.0, 2.0]


def test_a_legend_of_many_levels_shows_evenly_spaced_ones_highest_first():
    ax = axes(None)
    handles = ax.plot(np.zeros((2, 40)))
    legend = level_legend(ax, handles, list(range(40)))
    shown = [int(text.get_text()) for text in legend.get_texts()]
    assert shown == sorted(shown, reverse=True)
    assert shown[0] == 39
    assert shown[-1] == 0
    assert len(shown) <= 16


def test_displays_load_matplotlib_only_when_they_draw():
    code = "import sys; import ordinality.display; print('matplotlib' in sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "False"
