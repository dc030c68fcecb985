"""Estimates from a model and folders of images."""

import os
import shutil
from pathlib import Path

import cv2
import pytest
import torch
from command_line import run
from safetensors.torch import save_file

from starter.data.images.reading import Fit
from starter.data.sources.glyphs.digits import CLASSES, glyph_splits
from submission.errors import UnusableInput
from unseen.estimation.images import Asked, estimate_images, read_labelled

pytestmark = pytest.mark.slow
NET = """from torch import nn


def make(classes):
    return nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(12, classes))
"""


@pytest.fixture(scope="session")
def written_photos(once):
    """Digits in files, once for all tests: `val` with a folder a class, `today` and `dark` without."""
    return once("photos", write_photos)


def write_photos(folder):
    splits = glyph_splits(0)
    known = zip(splits.reference.images[:900], splits.reference.labels, strict=False)
    for i, (image, label) in enumerate(known):
        written(folder / "val" / CLASSES[label] / f"{i}.png", image)
    for i, image in enumerate(splits.test_base.images[:100]):
        written(folder / "today" / f"{i}.png", image)
        written(folder / "dark" / "below" / f"{i}.png", image // 8)


@pytest.fixture
def photos(written_photos, tmp_path, monkeypatch):
    """The working folder, with links to those files: a test may take some away."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("unseen.estimation.images.SET_SIZE", 60)
    shutil.copytree(written_photos, tmp_path, copy_function=os.link, dirs_exist_ok=True)
    return tmp_path


def written(path, image):
    path.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(path), image[:, :, ::-1])


def estimated(weights, *unlabelled, classes=(), **asked):
    sets = [*map(Path, unlabelled)]
    return estimate_images(f"tiny={weights}", Path("val"), sets, Asked(**asked), classes)


SMALL = {"train_sets": 6}


def test_a_model_is_judged_on_folders_of_images_and_referees_are_heard(photos, weights):
    """Referees see edges, by another way than the model, and judge images that their probes have not learnt."""
    found, images = estimated(weights, "today", "dark", **SMALL)
    today, dark = found.sets
    assert dark.accuracy < today.accuracy
    assert len(images["dark"]) == dark.images == 100
    assert images["dark"][0][0] == "below/0.png"
    assert today.outside < dark.outside
    assert found.classes == CLASSES
    heard, _ = estimated(weights, "today", "dark", **SMALL, referees=("referees:edges",))
    assert heard.sets[1].accuracy < heard.sets[0].accuracy
    assert heard.sets[0].methods["gated"] != today.methods["gated"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({**SMALL, "referees": ("referees:blind",)}, "referees:blind is at chance"),
        ({**SMALL, "referees": ("nowhere:encoder",)}, "nowhere"),
        ({**SMALL, "referees": ("referees:fussy",)}, "cannot encode images of 32 x 32 pixels"),
        ({"train_sets": 3}, "train_sets must be 0, or 6 to 1,000, got 3"),
        ({"train_sets": 0, "level": 5}, "level"),
        ({"train_sets": 0, "classes": CLASSES[::-1]}, "classes, must name the classes of the model"),
        ({"train_sets": 0, "classes": CLASSES[:9]}, f"val: no class '{CLASSES[9]}'; the classes are"),
    ],
)
def test_settings_that_cannot_be_are_refused(photos, weights, asked, message):
    with pytest.raises(UnusableInput, match=message):
        estimated(weights, "today", **asked)


def test_an_empty_folder_is_a_class_of_which_nothing_is_labelled(photos, weights):
    for image in (Path("val") / CLASSES[4]).iterdir():
        image.unlink()
    found, _ = estimated(weights, "today", **SMALL)
    assert found.classes == CLASSES
    assert f"no labelled image is of class {CLASSES[4]}, which" in " ".join(found.sets[0].remarks)
    (Path("val") / CLASSES[4]).rmdir()
    with pytest.raises(UnusableInput, match="an empty folder is a class without images"):
        estimated(weights, "today", train_sets=0)
    found, pictures = estimated(weights, "today", train_sets=0, classes=CLASSES, window=50)
    assert (found.classes, "gated" in found.table) == (CLASSES, False)
    assert list(pictures) == [each.name for each in found.sets] == ["today 0-49", "today 50-99"]
    assert len(pictures["today 50-99"]) == 50


def test_classes_may_be_named_with_other_accents_and_numbers_are_in_their_order(photos):
    known, _ = read_labelled(Path("val"), Fit())
    for i, label in enumerate(CLASSES):
        (Path("val") / label).rename(Path("val") / f"e\u0301{i}")
    named = tuple(f"\u00e9{i}" for i in range(len(CLASSES)))
    found, again = read_labelled(Path("val"), Fit(), named[::-1])
    assert (again, sorted(found.truth)) == (named[::-1], sorted(9 - known.truth))
    assert read_labelled(Path("val"), Fit())[1] == named
    for i in range(len(named)):
        (Path("val") / f"e\u0301{i}").rename(Path("val") / str(i + 3))
    assert read_labelled(Path("val"), Fit())[1] == tuple(map(str, range(3, 13)))


def test_folders_may_have_any_names_and_images_get_the_size_asked_for(photos, weights):
    names = ["Tuesday, 8 o'clock (1)", "v1.2"]
    shutil.move("today", names[0])
    shutil.move("dark", names[1])
    found, pictures = estimated(weights, *names, train_sets=0, image_size=24, resize="stretch")
    assert ([each.name for each in found.sets], list(pictures)) == (names, names)
    assert pictures["v1.2"][0][1].shape == (24, 24, 3)
    with pytest.raises(UnusableInput, match=r"v1\.2 is given twice"):
        estimated(weights, "v1.2", "v1.2", train_sets=0)


def test_a_network_of_ones_own_is_named_and_the_page_shows_images_to_label(photos):
    Path("pooling_net.py").write_text(NET)
    tensors = {"body.2.weight": torch.eye(10, 12), "body.2.bias": torch.zeros(10)}
    save_file(tensors, "mine.safetensors", {"arch": "pooling_net:make"})
    command = ("estimate", "--model", "mine=mine.safetensors", "--labelled", "val", "--unlabelled", "today")
    command += ("--train-sets", "0")
    refused = run(*command, check=False)
    assert (refused.code, "name it with --network module:function" in refused.text) == (2, True)
    assert "\ntoday " in run(*command, "--network", "pooling_net:make").text
    assert Path("estimate.html").read_text().count('<img alt="An image ') == 12
