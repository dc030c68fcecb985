"""The commands that make a competition and show it."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from audits import unguessable
from command_line import run

from starter.data.sources.glyphs.digits import glyph_splits
from submission.competition import Competition

SMALL = ("--train-sets", 4, "--val-sets", 2, "--test-sets", 4, "--set-size", 40)
NET = """from torch import nn


class Own(nn.Sequential):
    def forward(self, x):
        return super().forward(x if x.sum() > 0 else x)


def make(classes):
    return Own(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(12, classes))
"""


def test_a_dry_run_tells_images_and_disk_and_writes_nothing(mixes, ood_folder):
    for track in ((), ("--track", "ood", "--ood", ood_folder)):
        text = run("build", "new", *track, "--set-size", "80", "--test-sets", 8, "--dry-run").text
        assert "images per classifier and takes about" in text
        assert "warning: test sets of 80 images" in text
    assert not (mixes / "new").exists()
    said = run("build", "--dry-run", "--classifier", "torchvision:resnet18", check=False).text
    assert "torchvision:resnet18 tells 1000 classes apart, not 10: unseen train --arch torch" in said


def test_a_preset_fills_in_what_is_not_given(folder, weights):
    asked = ["build", "small", "--preset", "small", "--train-sets", 3, "--set-size", 20, "--test-sets", 4]
    assert "Next: unseen predict small" in run(*asked, "--classifier", f"tiny={weights}").text
    described = run("build", "small", "--preset", "small", "--train-sets", 4, check=False)
    assert described.code == 2
    assert "--train-sets: 3 here, 4 asked for" in described.text
    competition = Competition.open("small")
    sizes = {part: len(competition.sets(part)) for part in competition.sizes}
    assert sizes == {"train": 3, "val": 8, "test": 4}
    assert competition.subjects == ("tiny",)


def test_limits_and_a_deadline_are_set_by_the_build(folder, weights):
    build = ["build", "other", *SMALL, "--classifier", f"tiny={weights}", "--decimals", 1]
    text = run(*build, "--daily-limit", 2, "--total-limit", 9, "--deadline", "2999-12-31T23:59").text
    rules = ("2 submissions per day (UTC).", "9 submissions in total.", "deadline is 2999-12-31 23:59:00")
    assert [rule for rule in rules if rule not in text] == []
    score = ("score", "other", "other/public/sample_submission.csv", "--team", "a")
    for number, left in ((1, 1), (2, 0)):
        run(*score)
        assert json.loads(Path(f"other/receipts/{number:04d}.json").read_text())["left"] == left
    for command, words in (
        (score, "team 'a' has made its 2 submissions of"),
        (("leaderboard", "other", "--final"), "private scores can be published only after it"),
    ):
        refused = run(*command, check=False)
        assert (refused.code, words in refused.text) == (2, True)


def test_a_network_of_ones_own_that_was_trained_is_built_with(folder):
    digits = glyph_splits(0).train.take(range(400))
    np.savez("digits.npz", images=digits.images, labels=digits.labels)
    Path("own_net.py").write_text(NET)
    network = ["--network", "own_net:make"]
    trained = run(
        *("train", "--source", "digits.npz", "--arch", "own_net:make", *network, "--epochs", 1),
        *("--out", "mine.safetensors", "--device", "cpu", "--image-size", 24, "--seed", 3),
    )
    told = "build DIR --source digits.npz --image-size 24 --seed 3"
    told += " --classifier mine=mine.safetensors --network own_net:make"
    assert trained.text.endswith(f"Next: unseen {told}\n")
    assert "images" in run(*told.split(), "--set-size", 20, "--dry-run").text
    build = ["build", "own", *told.split()[2:], *SMALL[:-1], 20, "--test-seed", 1]
    for _ in range(2):
        assert run(*build).text.endswith("Next: unseen predict own --network own_net:make\n")
    assert Competition.open("own").computes == "float32", "its code decides, so that PyTorch computes"
    for words, state in ((("--with", "own_net.py"), "is in the archive"), ((), "the archive lacks")):
        run("pack", "own", *words)
        with zipfile.ZipFile("own.zip") as archive:
            assert ("own_net.py" in archive.namelist()) == bool(words)
            readme = archive.read("own/README.md").decode()
        assert f"organizer's code: `own_net.py`, which {state}" in readme
    run(*readme.partition("\nunseen ")[2].partition(" #")[0].split())
    assert Path("own/submissions/fd.csv").exists(), "the README's first command runs"


def test_sets_are_shown_and_written_out_in_every_layout(mixes):
    shown = run("show", "mixes", "train_0001", "test_0001").text
    assert "tiny:msp:fpr95: 12 meta-train sets, FPR@95" in shown
    for layout in ("npz", "folders", "datacv"):
        text = run("materialize", "mixes", "--out", layout, "--layout", layout, "--part", "val").text
        assert text == f"{layout}/val\n"
    assert {path.name for path in (mixes / "folders/val/val_0001").iterdir()} == {"ind", "ood"}


def test_an_audit_ends_with_1_where_there_is_an_error(folder):
    unguessable(folder / "contest")
    clean = run("audit", "contest").text
    assert "warning  public sets: 4, fewer than 10" in clean
    assert "\nerrors: 0, " in clean
    assert clean.endswith("\nNext: unseen pack contest\n")
    Path("contest/private").chmod(0o755)
    found = run("audit", "contest", check=False)
    assert (found.code, found.text.splitlines()[-1][:10]) == (1, "errors: 1,")
    assert "error    contest/private is open to others (mode 0755)" in found.text


OOD = ("build", "new", "--dry-run", "--track", "ood")
HIDDEN = ("build", "new", "--dry-run", "--hidden", "--test-sets", "0", "--test-from", "nowhere")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("build",), "DIR"),
        (("build", "new", "--deadline", "2020-01-01T12:00", "--dry-run"), "has passed"),
        (("build", "new", "--source", "nowhere"), "nowhere"),
        (("build", "new", "--track", "ood", "--source", "nowhere"), "nowhere"),
        (("build", "new", "--classifier", "resnet56=nowhere.pt"), "nowhere.pt"),
        (("build", "new", "--classifier", "resnet56"), "resnet56"),
        (("build", "new", "--test-seed", "-1"), "--test-seed"),
        ((*HIDDEN, "--test-seed", "5"), "below 2^32 and can be guessed"),
        (("build", "new", "--device", "abacus"), "device 'abacus' cannot be used here"),
        (("build", "mixes", "--set-size", "70"), "built with other settings"),
        (("build", "new", "--image-size", "64", "--dry-run"), "--source glyphs has"),
        (("build", "new", "--ratio", "1:1", "--dry-run"), "--ratio: there is no such setting"),
        ((*OOD, "--ood", "nowhere"), "nowhere"),
        ((*OOD, "--exclude", "zebra"), "--exclude zebra"),
        ((*OOD, "--preset", "datacv2023"), "--preset 'datacv2023' is none"),
        ((*OOD, "--group", "a"), "--group: there is no such setting"),
    ],
)
def test_mistakes_are_refused_before_anything_is_built(arguments, word, mixes):
    result = run(*arguments, check=False)
    assert (result.code, word in result.text) == (2, True), result.text
    assert not Path("new/public").exists()
