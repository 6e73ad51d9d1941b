"""Figures of experiments: panels, regions and bands, and files that are the same every time."""

import io

import pytest

from ordinality.display.curves import Curve, Panel, bands_along, curves, regions, save


def test_a_curve_with_a_spread_has_error_bars_and_one_without_is_a_line():
    measured, smooth = Curve("ep", [1, 2], [0.5, 0.4], [0.1, 0.1]), Curve("fit", [1, 2], [1, 2])
    figure = curves([Panel("a set", "error", [measured, smooth])], "rounds")
    (ax,) = figure.axes
    assert (ax.get_title(), ax.get_xlabel(), ax.get_ylabel()) == ("a set", "rounds", "error")
    assert [container.get_label() for container in ax.containers] == ["ep"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["ep", "fit"]


def test_regions_and_rows_of_every_level_are_drawn():
    X, y = [[0, 0], [1, 1], [0, 1]], [1, 2, 1]
    figure = regions([("halves", lambda P: 1 + (P[:, 0] > 0.5), X, y)], columns=1)
    assert figure.axes[0].get_title() == "halves"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["2", "1"]


def test_bands_are_two_standard_deviations_wide():
    panel = ("ep", [0, 1], [1, 2], [0.1, 0.2], [0.5], [1])
    (ax, *_) = bands_along([panel], x_title="input", y_title="level").axes
    (band,) = ax.collections
    edges = band.get_paths()[0].vertices[:, 1]
    assert (ax.get_ylabel(), edges.min(), edges.max()) == ("level", 0.8, pytest.approx(2.4))


def test_the_same_numbers_give_the_same_file():
    files = [io.BytesIO(), io.BytesIO()]
    for file in files:
        save(curves([Panel("", "", [])], "rounds"), file)
    assert files[0].getvalue() == files[1].getvalue()
    assert b"<svg" in files[0].getvalue()
