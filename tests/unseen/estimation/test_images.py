"""Estimates from a model and folders of images."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from command_line import run
from safetensors.torch import save_file

from starter.sources.glyphs.digits import CLASSES, glyph_splits
from submission import UnusableInput
from unseen.estimation.images import Asked, estimate_images, fit_of, parted

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
    shutil.copytree(written_photos, tmp_path, copy_function=os.link, dirs_exist_ok=True)
    return tmp_path


def written(path, image):
    path.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(path), image[:, :, ::-1])


def test_a_model_is_judged_on_folders_of_images(photos, weights):
    found, images = estimate_images(
        f"tiny={weights}", Path("val"), [Path("today"), Path("dark")], Asked(train_sets=6, set_size=60)
    )
    today, dark = found.sets
    assert "unseen-best" in found.table.columns
    assert dark.accuracy < today.accuracy
    assert images["dark"].images.shape[0] == len(images["dark"].files) == dark.images == 100
    assert images["dark"].files[0] == "below/0.png"
    assert today.learnt[0] <= today.methods["unseen-best"] <= today.learnt[1]
    assert today.outside < dark.outside
    assert found.classes == CLASSES
    alone, _ = estimate_images(f"tiny={weights}", Path("val"), [Path("today")], Asked(0))
    assert "unseen-best" not in alone.table.columns
    assert alone.sets[0].learnt is None


def test_referees_are_heard(photos, weights):
    """Edges are seen by another way than the model's, and judge images that their probes have not learnt."""
    spec = "referees:edges"
    asked = Asked(train_sets=6, set_size=60, referees=(spec,))
    found, _ = estimate_images(f"tiny={weights}", Path("val"), [Path("today"), Path("dark")], asked)
    alone, _ = estimate_images(f"tiny={weights}", Path("val"), [Path("today")], replace(asked, referees=()))
    today, dark = found.sets
    assert dark.accuracy < today.accuracy
    assert today.methods["unseen-best"] != alone.sets[0].methods["unseen-best"]


def test_turned_copies_are_read_if_asked_for(photos, weights):
    given = f"tiny={weights}", Path("val"), [Path("today"), Path("dark")]
    turned, _ = estimate_images(*given, Asked(train_sets=6, set_size=60, rotations=True))
    upright, _ = estimate_images(*given, Asked(train_sets=6, set_size=60))
    for one, other in zip(turned.sets, upright.sets, strict=True):
        changed = {name for name in one.methods if one.methods[name] != other.methods[name]}
        assert changed == {"unseen-best"}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("referees:blind", "--referee referees:blind is at chance"),
        ("nowhere:encoder", "nowhere"),
        ("referees:fussy", "cannot encode images of 32 x 32 pixels"),
    ],
)
def test_referees_that_cannot_judge_are_refused(photos, weights, spec, message):
    asked = Asked(train_sets=6, set_size=60, referees=(spec,))
    with pytest.raises(UnusableInput, match=message):
        estimate_images(f"tiny={weights}", Path("val"), [Path("today")], asked)


def test_few_labelled_images_are_refused(photos, weights):
    for i in range(30):
        written(Path("few") / CLASSES[i % 2] / f"{i}.png", np.zeros((32, 32, 3), np.uint8))
    with pytest.raises(UnusableInput, match="few: 30 images are too few: 50 or more are expected"):
        estimate_images(f"tiny={weights}", Path("few"), [Path("today")], Asked(0))


def test_an_empty_folder_is_a_class_of_which_nothing_is_labelled(photos, weights):
    for image in (Path("val") / CLASSES[4]).iterdir():
        image.unlink()
    found, _ = estimate_images(f"tiny={weights}", Path("val"), [Path("today")], Asked(6, 60))
    assert found.classes == CLASSES
    assert f"no labelled image is of class {CLASSES[4]}, which" in " ".join(found.sets[0].remarks)


def test_a_file_of_classes_takes_the_place_of_empty_folders(photos, weights):
    for number, name in ((4, "four"), (5, "five")):
        shutil.rmtree(Path("val") / CLASSES[number])
        Path(name).mkdir()
    given = f"tiny={weights}", Path("val"), [Path("today")]
    found, _ = estimate_images(*given, Asked(0, classes=CLASSES))
    assert found.classes == CLASSES
    with pytest.raises(UnusableInput, match="--classes must name the model's classes in its order"):
        estimate_images(*given, Asked(0, classes=CLASSES[::-1]))
    with pytest.raises(UnusableInput, match=f"val/{CLASSES[9]}: no class of this name is in --classes"):
        estimate_images(*given, Asked(0, classes=CLASSES[:9]))


def test_folders_may_have_any_names(photos, weights):
    shutil.move("today", "Tuesday, 8 o'clock (1)")
    shutil.move("dark", "v1.2")
    unlabelled = [Path("Tuesday, 8 o'clock (1)"), Path("v1.2")]
    found, pictures = estimate_images(f"tiny={weights}", Path("val"), unlabelled, Asked(6, 60))
    names = ["Tuesday, 8 o'clock (1)", "v1.2"]
    assert ([each.name for each in found.sets], list(pictures)) == (names, names)


def test_a_network_of_ones_own_is_named(photos):
    Path("pooling_net.py").write_text(NET)
    tensors = {"body.2.weight": torch.eye(10, 12), "body.2.bias": torch.zeros(10)}
    save_file(tensors, "mine.safetensors", {"arch": "pooling_net:make"})
    command = ("estimate", "--model", "mine=mine.safetensors", "--labelled", "val", "--unlabelled", "today")
    command += ("--train-sets", "0")
    refused = run(*command, check=False)
    assert (refused.code, "name it with --network module:function" in refused.text) == (2, True)
    assert "\ntoday " in run(*command, "--network", "pooling_net:make").text


def test_a_missing_class_folder_is_told(photos, weights):
    shutil.rmtree(Path("val") / CLASSES[4])
    with pytest.raises(
        UnusableInput,
        match=r"has 9 class folders, .*; add an empty folder for each class without images, or name them all",
    ):
        estimate_images(f"tiny={weights}", Path("val"), [Path("today")], Asked(0))


def test_images_get_the_size_that_is_asked_for(photos, weights):
    asked = Asked(0, fit=fit_of(24, "stretch"))
    _, pictures = estimate_images(f"tiny={weights}", Path("val"), [Path("today")], asked)
    assert pictures["today"].images.shape == (100, 24, 24, 3)


def test_unreadable_images_are_left_out_up_to_a_share(photos, weights, capsys):
    for file in sorted(Path("today").iterdir())[:3]:
        file.unlink()  # it is linked to other tests' copies
        file.write_bytes(b"damaged")
    given = f"tiny={weights}", Path("val"), [Path("today")]
    with pytest.raises(UnusableInput, match=r"of 100 images cannot be read; --skip-unreadable 0\.03 leaves"):
        estimate_images(*given, Asked(0))
    _, pictures = estimate_images(*given, Asked(0, fit=fit_of(0, "crop", 0.03)))
    assert len(pictures["today"].images) == 97
    with pytest.raises(UnusableInput, match=r"--skip-unreadable must be a share in \[0, 1\), got 1"):
        fit_of(0, "crop", 1.0)


def test_parts_have_the_same_shares_of_classes():
    labels = np.random.default_rng(0).integers(4, size=99)
    parts = parted(labels, 3)
    assert sorted(np.concatenate(parts)) == list(range(99))
    counts = [np.bincount(labels[rows], minlength=4) for rows in parts]
    assert np.ptp(counts, axis=0).max() <= 1


def test_windows_show_their_own_images(photos, weights):
    found, pictures = estimate_images(f"tiny={weights}", Path("val"), [Path("today")], Asked(0, window=50))
    assert list(pictures) == [each.name for each in found.sets] == ["today 0", "today 50"]
    assert (len(pictures["today 50"].images), len(pictures["today 50"].files)) == (50, 50)


def test_the_page_shows_what_the_model_is_least_sure_of(photos, weights):
    run(
        "estimate",
        "--model",
        f"tiny={weights}",
        "--labelled",
        "val",
        "--unlabelled",
        "today",
        "--train-sets",
        "0",
    )
    assert Path("estimate.html").read_text().count('<img alt="Image ') == 12


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--labelled", "none"), "none"),
        (("--labelled", "today"), "images are expected as today/<class>/<image>"),
        (("--train-sets", "0", "--referee", "lite0"), "--referee is read by unseen-best alone: it needs"),
        (("--train-sets", "0", "--rotations"), "--rotations is read by unseen-best alone: it needs"),
        (("--image-size", "-1"), "--image-size must be 1 to 4096, got -1"),
        (("--resize", "bend"), "--resize must be crop, pad, stretch, got 'bend'"),
        (("--level", "5", "--referee", "none.pt"), "--level must lie between 0 and 1, got 5"),
        (("--train-sets", "3"), "--train-sets must be 0, or 6 to 1,000, got 3"),
        (("--logits", "val.npy"), "give --logits and --labels, or --model and --labelled"),
    ],
)
def test_mistakes_get_one_line(photos, weights, arguments, message):
    command = ("estimate", "--model", f"tiny={weights}", "--labelled", "val", "--unlabelled", "today")
    result = run(*command, *arguments, check=False)
    assert (result.code, message in result.text) == (2, True), result.text


def test_a_set_that_is_given_twice_is_refused(photos, weights):
    with pytest.raises(UnusableInput, match="the unlabelled set today is given twice"):
        estimate_images(f"tiny={weights}", Path("val"), [Path("today"), Path("today")], Asked(0))
