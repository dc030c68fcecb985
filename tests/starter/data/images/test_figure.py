"""The same data give the same bytes."""

import cv2

from starter.data.images.figure import new_figure, png, save_png


def drawn():
    figure = new_figure(2, 1)
    figure.subplots().plot([0, 1, 3])
    return figure


def test_the_size_is_in_inches(tmp_path):
    path = save_png(drawn(), tmp_path / "below" / "a.png", dpi=50)
    assert cv2.imread(str(path)).shape == (50, 100, 3)
    assert path.read_bytes() == png(drawn(), dpi=50)
    assert b"Software" not in path.read_bytes()
