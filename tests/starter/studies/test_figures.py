"""Figures of studies."""

import pandas as pd

from starter.studies.figures import failure_figure


def test_a_legend_stands_beside_the_panels():
    rows = {"classifier": ["net", "net"], "detector": ["msp", "energy"], "ind": ["clean", "corrupted"]}
    figure = failure_figure(pd.DataFrame({**rows, "accuracy": [0.9, 0.5], "gain": [0.0, -0.1]}))
    figure.canvas.draw()
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["accuracy", "gain"]
    assert not any(legend.get_window_extent().overlaps(axes.get_window_extent()) for axes in figure.axes)
