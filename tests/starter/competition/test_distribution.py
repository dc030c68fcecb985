"""The distribution of accuracies: the numbers are the targets', the picture is one, the same each time."""

import cv2
import numpy as np

from starter.competition.distribution import accuracies, plot_accuracies, summary


def test_accuracies_are_the_targets_in_percent(built):
    targets = built.targets("train")
    np.testing.assert_allclose(
        accuracies(built, "tiny", "train"), [100 * value for value in targets.values()]
    )
    assert len(accuracies(built, "tiny", "val")) == 6
    assert len(accuracies(built, "another", "val")) == 0


def test_the_summary_tells_the_spread_of_each_public_part(built):
    train = accuracies(built, "tiny", "train")
    first, second = summary(built).splitlines()
    assert first.startswith(f"tiny: 12 meta-train sets, accuracy {train.min():.1f} to {train.max():.1f} %")
    assert f"median {np.median(train):.1f}, standard deviation {train.std():.1f}" in first
    assert second.startswith("tiny: 6 validation sets")


def test_the_picture_shows_bars_and_is_the_same_each_time(built, tmp_path):
    one, two = (plot_accuracies(built, tmp_path / name).read_bytes() for name in ("a.png", "b.png"))
    assert one == two
    image = cv2.imdecode(np.frombuffer(one, np.uint8), cv2.IMREAD_COLOR)
    assert image.shape[1] == 770
    assert len(np.unique(image.reshape(-1, 3), axis=0)) > 10
