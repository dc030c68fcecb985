"""`build` and `train`."""

from pathlib import Path

import numpy as np
import pytest
from command_line import run

from starter.sources.glyphs.digits import glyph_splits
from submission import Competition


def test_a_dry_run_tells_images_and_disk_and_writes_nothing(folder, weights):
    build = ["build", "other", "--train-sets", 4, "--val-sets", 2, "--test-sets", 4, "--set-size", 40]
    build += ["--classifier", f"tiny={weights}"]
    dry = run(*build, "--dry-run").text
    assert "images" in dry
    assert "disk" in dry
    assert not Path("other").exists()
    assert "Next: unseen predict other" in run(*build).text


def test_a_dry_run_of_the_ood_track(mixes, ood_folder):
    text = run(
        "build",
        "new",
        "--track",
        "ood",
        "--ood",
        ood_folder,
        "--set-size",
        "80",
        "--test-sets",
        8,
        "--dry-run",
    ).text
    assert "images" in text
    assert not (mixes / "new").exists()


def test_a_preset_fills_in_what_is_not_given(folder, weights):
    asked = ["build", "small", "--preset", "small", "--train-sets", 3, "--set-size", 20, "--test-sets", 4]
    run(*asked, "--classifier", f"tiny={weights}")
    described = run("build", "small", "--preset", "small", "--train-sets", 4, check=False)
    assert described.code == 2
    assert "--train-sets: 3 here, 4 asked for" in described.text
    competition = Competition.open("small")
    assert {part: len(competition.sets(part)) for part in competition.sizes} == {
        "train": 3,
        "val": 8,
        "test": 4,
    }
    assert competition.subjects == ("tiny",)
    assert "--preset 'huge' is unknown" in run("build", "x", "--preset", "huge", check=False).text


def test_limits_and_a_deadline_are_set_by_the_build(folder, weights):
    build = ["build", "other", "--train-sets", 4, "--val-sets", 2, "--test-sets", 4, "--set-size", 40]
    build += ["--classifier", f"tiny={weights}", "--decimals", 1]
    text = run(*build, "--daily-limit", 2, "--total-limit", 9, "--deadline", "2999-12-31T23:59").text
    for rule in (
        "2 submissions per day (UTC).",
        "9 submissions in total.",
        "deadline is 2999-12-31 23:59:00",
    ):
        assert rule in text
    sample = "other/public/sample_submission.csv"
    assert "entered as submission 1, 1 left today\n" in run("score", "other", sample, "--team", "a").text
    assert "0 left today" in run("score", "other", sample, "--team", "a").text
    refused = run("score", "other", sample, "--team", "a", check=False)
    assert (refused.code, "team 'a' has made its 2 submissions of" in refused.text) == (2, True)
    refused = run("leaderboard", "other", "--final", check=False)
    assert (refused.code, "private scores can be published only after it" in refused.text) == (2, True)


NET = """from torch import nn


def make(classes):
    return nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(12, classes))
"""


def test_a_network_of_ones_own_that_was_trained_is_built_with(folder):
    digits = glyph_splits(0).train.take(range(400))
    np.savez("digits.npz", images=digits.images, labels=digits.labels)
    Path("own_net.py").write_text(NET)
    network = ["--network", "own_net:make"]
    trained = run(
        *("train", "--source", "digits.npz", "--arch", "own_net:make", *network, "--epochs", 1),
        *("--out", "mine.safetensors", "--device", "cpu", "--image-size", 24, "--seed", 3),
        *("--data-root", "data"),
    )
    told = "build DIR --source digits.npz --image-size 24 --seed 3 --data-root data"
    told += " --classifier mine=mine.safetensors --network own_net:make"
    assert trained.text.endswith(f"Next: unseen {told}\n")
    assert "images" in run(*told.split(), "--set-size", 20, "--dry-run").text


def test_a_network_of_ones_own_stands_in_the_next_command_and_may_be_built_again(folder):
    Path("twice_net.py").write_text(NET)
    build = ["build", "own", "--classifier", "mine=twice_net:make", "--train-sets", 2, "--val-sets", 1]
    build += ["--test-sets", 2, "--set-size", 20, "--test-seed", 1]
    for _ in range(2):
        assert run(*build).text.endswith("Next: unseen predict own --network twice_net:make\n")


def test_a_dry_run_tells_that_a_librarys_weights_are_for_other_classes():
    pytest.importorskip("torchvision")
    said = run("build", "--dry-run", "--classifier", "torchvision:resnet18", check=False).text
    assert "torchvision:resnet18 tells 1000 classes apart, not 10: unseen train --arch torch" in said


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ["build", "new", "--deadline", "2020-01-01T12:00", "--dry-run"],
            2,
            "has passed: give a time in the future",
        ),
        (["build", "new", "--deadline", "2020-01-01T12:00"], 2, "has passed: give a time in the future"),
        (["build", "new", "--deadline", "soon"], 2, "--deadline"),
        (["build", "new", "--source", "nowhere"], 2, "nowhere"),
        (["build", "new", "--set-size", "0"], 2, "--set-size"),
        (["build", "new", "--classifier", "resnet56=nowhere.pt"], 2, "nowhere.pt"),
        (["build", "new", "--classifier", "resnet56"], 2, "resnet56"),
        (["build", "new", "--test-seed", "-1"], 2, "--test-seed must lie in 0..2^63 - 1, got -1"),
        (["build", "contest", "--set-size", "70"], 2, "built with other settings"),
        (["build"], 2, "DIR"),
        (["build", "new", "--image-size", "64", "--dry-run"], 2, "--source glyphs has a size of its own"),
        (["build", "new", "--ratio", "1:1", "--dry-run"], 2, "--ratio is for the ood track"),
    ],
)
def test_mistakes_get_one_clear_message(arguments, code, message, folder):
    result = run(*arguments, check=False)
    assert (result.code, message in result.text) == (code, True), result.text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--ood", "nowhere"), "nowhere"),
        (("--exclude", "zebra"), "--exclude zebra: no such OOD set"),
        (("--ratio", "2"), "--ratio must be"),
        (("--detector", "psm"), "--detector: 'psm' is unknown"),
        (("--preset", "datacv2023"), "--preset datacv2023 is of the accuracy track"),
        (("--group", "a"), "--group is for the accuracy track"),
    ],
)
def test_mistakes_in_the_ood_track(mixes, options, message):
    found = run("build", "new", "--track", "ood", *options, "--dry-run", check=False)
    assert found.code == 2
    assert message in found.text


DEVICES = ("abacus", "meta", "cpu:7", "cuda:99", "")


@pytest.mark.parametrize("device", DEVICES)
def test_a_device_that_cannot_be_used_is_refused_before_anything_is_built(folder, weights, device):
    result = run("build", "new", "--classifier", f"tiny={weights}", "--device", device, check=False)
    assert (result.code, result.text.count("\n")) == (2, 1)
    assert result.text.startswith(f"error: device {device!r} cannot be used here: ")
    assert not Path("new").exists()


@pytest.mark.parametrize("track", ["accuracy", "ood"])
def test_a_mistyped_source_is_told_before_anything_is_made_and_leaves_nothing(folder, track, monkeypatch):
    monkeypatch.setattr("starter.making.build.kept_small", lambda *_, **__: pytest.fail("trained"))
    result = run("build", "new", "--track", track, "--source", "nowhere", check=False)
    assert (result.code, "nowhere" in result.text, result.text.count("\n")) == (2, True, 1)
    assert not Path("new").exists()
