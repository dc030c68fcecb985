"""Contact sheets: the images of the sets that were asked for, under captions that tell only what is public.

The distribution of accuracies: the numbers are the targets', the picture is one, the same each time.
"""

import cv2
import numpy as np
import pytest

from starter.contest.show import (
    COLUMNS,
    SHOWN_SETS,
    accuracies,
    caption,
    contact_sheet,
    plot_accuracies,
    summary,
)
from starter.data.images.arrays import read_npz
from starter.observing.sets import PublicSets
from submission import UnusableInput
from submission.scoretable import validation_groups
from submission.scoring import read_targets

CELL, CAPTION, MARGIN = 64, 22, 8
ROW = CELL + CAPTION + MARGIN


def test_shows_the_first_images_of_each_set_in_the_order_asked_for(noisy, tmp_path):
    names = [noisy.sets("test")[1], "train_0002", noisy.sets("val")[0]]
    path = contact_sheet(noisy, names, tmp_path / "below" / "sheet.png")
    assert path == tmp_path / "below" / "sheet.png"
    train = {rendering.name: rendering for rendering in PublicSets(noisy).train}
    expected = [
        read_npz(noisy.public / f"test/{names[0]}.npz").images,
        train["train_0002"].render(),
        read_npz(noisy.public / f"val/{names[2]}.npz").images,
    ]
    sheet = cv2.imread(str(path))[..., ::-1]
    for row, images in enumerate(expected):
        for column, image in enumerate(images[:COLUMNS]):
            top, left = row * ROW + CAPTION, MARGIN + column * (CELL + MARGIN)
            np.testing.assert_array_equal(sheet[top : top + CELL : 4, left : left + CELL : 4], image)


def test_without_names_the_first_of_each_part(noisy, tmp_path):
    first = [name for part, count in SHOWN_SETS.items() for name in noisy.sets(part)[:count]]
    assert {name.split("_")[0] for name in first} == {"train", "val", "test"}
    contact_sheet(noisy, [], tmp_path / "all.png")
    contact_sheet(noisy, first, tmp_path / "named.png")
    assert (tmp_path / "all.png").read_bytes() == (tmp_path / "named.png").read_bytes()
    assert cv2.imread(str(tmp_path / "all.png")).shape[0] == len(first) * ROW


def test_captions_tell_operations_and_accuracy_where_they_are_public(noisy):
    sets = PublicSets(noisy)
    train, val, test = (noisy.sets(part)[0] for part in ("train", "val", "test"))
    operations = ", ".join(name for name, _ in sets.train[0].recipe.ops)
    accuracies = {part: read_targets(noisy, part) for part in ("train", "val")}
    groups = validation_groups(noisy)
    for part, texts in (("train", [train, operations]), ("val", [val, ", ".join(groups[val])])):
        told = [f"{net} {100 * accuracies[part][f'{net}/{texts[0]}']:.1f} %" for net in ("net", "net2")]
        assert caption(sets, part, texts[0]) == "   ".join([*texts, *told])
    assert caption(sets, "test", test) == test


def test_an_unknown_set_is_refused_with_those_there_are(noisy, tmp_path):
    with pytest.raises(UnusableInput) as error:
        contact_sheet(noisy, ["train_0001", "tset_0001"], tmp_path / "sheet.png")
    assert "'tset_0001'" in str(error.value)
    assert "val_0001 ... val_0003" in str(error.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("place", ["private/solution.csv", "public/val/targets.csv", "sheet.csv"])
def test_nothing_of_the_competition_is_written_over(noisy, place):
    out = noisy.root / place
    before = out.read_bytes() if out.exists() else None
    with pytest.raises(UnusableInput, match=r"choose a path outside it|must end in \.png"):
        contact_sheet(noisy, ["test_0001"], out)
    assert (out.read_bytes() if out.exists() else None) == before


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
