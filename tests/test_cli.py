"""The command line: every command, its help, the examples that the help shows, and the user's mistakes."""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from audits import unguessable
from command_line import run
from encoders import hasty_encoder
from laids import random_laid
from taxonomy import write_class_zip, write_taxonomy

import unseen
from starter.build.accuracy import build as BUILD
from starter.classifiers import read_classifier, save_classifier
from starter.encoders.two_tower import LENGTH
from starter.meaning.labels import load_classes
from starter.shift.laid import Laid
from starter.sources.glyphs.digits import glyph_splits
from submission import Competition

DEVICES = ("abacus", "meta", "cpu:7", "cuda:99", "")
COMMANDS = sorted(command.name or command.callback.__name__ for command in unseen.app.registered_commands)


@pytest.fixture
def folder(contest, monkeypatch):
    """The working folder, with a competition in `contest` that every predictable method has run on."""
    monkeypatch.chdir(contest.root.parent)
    return contest.root.parent


def test_commands_are_the_designs():
    assert set(COMMANDS) >= {
        *("demo", "build", "train", "show", "materialize", "methods", "new-method", "check-method"),
        *("predict", "report", "validate", "score", "select", "history", "rescore", "verify"),
        *("leaderboard", "pack", "export", "audit", "verify-entry", "classes"),
        *("prediction-graph", "halves", "card", "train-encoder", "laid", "shift", "grid", "syn-is"),
    }


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command):
    text = run(command, "--help").text
    assert "Example: unseen " + command in text
    assert "Usage:" in text


def test_the_version_is_that_of_the_package():
    assert run("--version").text == f"unseen {version('unseen')}\n"


def examples():
    """The example line of every command's help."""
    texts = {
        command.name or command.callback.__name__: command.callback.__doc__
        for command in unseen.app.registered_commands
    }
    found = {name: re.search(r"Example: unseen (.+)", text) for name, text in texts.items()}
    return [pytest.param(match[1].split(), id=name) for name, match in found.items()]


@pytest.mark.parametrize("arguments", examples())
def test_the_examples_of_the_help_run(arguments, folder, weights, monkeypatch, request):
    if arguments[0] in ("demo", "build"):
        (folder / "elsewhere").mkdir()
        monkeypatch.chdir(folder / "elsewhere")
        monkeypatch.setattr("starter.build.folder.train_small", trained(weights))
        monkeypatch.setattr("starter.build.accuracy.build", smaller)
        monkeypatch.setattr(unseen, "DEMO_ORACLE", {"iterations": 20, "batch_size": 100})
    if arguments[0] == "audit":
        unguessable(folder / "contest")
    if arguments[0] in ("validate", "score", "verify-entry"):
        run("predict", "contest", "atc")
    if arguments[0] == "failure":
        request.getfixturevalue("ood_contest")
        arguments = [*arguments, "--images", "20"]
    if arguments[0] in ("classes", "halves", "prediction-graph"):
        class_files(folder, weights, monkeypatch)
    if arguments[0] in ("train-encoder", "laid", "shift", "syn-is"):
        hasty_referee(folder, monkeypatch)
    if arguments[0] == "syn-is":
        arguments = [*arguments[:-1], "1"]
    if arguments[0] == "grid":
        random_laid()[1].save(folder / "laid")
        quick = "--images 600 --encoder laids:encoder --referee laid --detector msp"
        arguments = [*arguments, *quick.split()]
    if arguments[0] == "halves":
        Path("manifest.csv").write_text("source,class,oodness\ncifar10,cat,0\ntiny_imagenet,fox,3\n")
    if arguments[0] in ("select", "history"):
        run("score", "contest", "contest/public/sample_submission.csv", "--team", "ada")
    if arguments[0] == "predict":
        arguments = [*arguments[:-1], "ora-a.iterations=20"]
    assert run(*arguments).text


def class_files(folder, weights, monkeypatch):
    """A small taxonomy, images of classes, a manifest of them, and a classifier of CIFAR-10's classes."""
    monkeypatch.setenv("WNSEARCHDIR", str(write_taxonomy(folder / "wordnet")))
    write_class_zip(folder / "tiny_imagenet.zip", ("fox", "go-kart", "griffin", "poodle"))
    write_class_zip(folder / "cifar10.zip", load_classes("cifar10").labels)
    save_classifier(
        replace(read_classifier(weights), classes=load_classes("cifar10").labels),
        folder / "small.safetensors",
    )
    return run("classes", "similarity", "--candidates", "tiny_imagenet.zip", "--out", "manifest.csv")


def hasty_referee(folder, monkeypatch):
    """In `referee`, an embedded encoder that has learnt next to nothing, and its matrix; photographs."""
    (folder / "referee").mkdir()
    hasty_encoder().save(folder / "referee/encoder-0.safetensors")
    matrix = np.eye(LENGTH, dtype=np.float32)
    Laid(matrix, hasty_encoder().name).save(folder / "referee/laid.safetensors")
    (folder / "unseen-demo").symlink_to(folder / "contest")
    monkeypatch.setattr("starter.encoders.embedded.PHOTO_EPOCHS", (0, 1))
    for name in ("cifar10", "cifar100"):
        write_class_zip(folder / f"{name}.zip", (f"{name} fox", f"{name} poodle"), 60)


def test_a_matrix_comes_with_its_table_and_degrees_with_it(folder, monkeypatch):
    hasty_referee(folder, monkeypatch)
    templates = write(folder / "templates", "{}\n{} on china")
    write_class_zip(folder / "natural.zip", ("photos/0", "photos/7", "drawings/7"))
    asked = ["laid", "referee", "--steps", 5, "--templates", templates, "--natural", "natural.zip"]
    assert "largest |W'W - I|:" in run(*asked).text
    table = pd.read_csv("referee/table3.csv")
    assert len(table) == 3 * 5
    assert set(table["set"]) == {"test", "corrupted", "natural"}
    text = run("shift", "referee", "contest", "--out", "degrees.csv", "--seed", 3).text
    assert "test_0001" in text
    assert Path("degrees.csv").read_text().startswith("set,row,semantic,covariate\nval_0001,0,")
    for path in Path("referee").glob("laid*"):
        Laid(np.eye(LENGTH, dtype=np.float32), "another").save(path)
    wrong = run("shift", "referee", "contest", "--out", "degrees.csv", check=False)
    assert wrong.code == 2
    assert "belongs to the encoder another" in wrong.text


def write(path, text):
    path.write_text(text)
    return path


def test_a_class_manifest_tells_what_was_matched_and_assigned(folder, weights, monkeypatch):
    text = class_files(folder, weights, monkeypatch).text
    assert "tiny_imagenet: 4 labels: 3 by label\n  unmatched: griffin\n" in text
    overrides = ["--overrides", "overrides.csv", "--matches", "matches.csv"]
    Path("overrides.csv").write_text("label,synset\ngriffin,bird\n")
    asked = ["classes", "pruning", "--candidates", "tiny_imagenet.zip", "--out", "pruned.csv", *overrides]
    text = run(*asked).text
    assert "1 by override" in text
    assert "sisters: near" in text
    assert "hyponym of dog" in Path("pruned.csv").read_text()
    assert "below organism.n.01" in Path("pruned.csv").read_text()
    assert "below" not in run(*asked, "--exclude", "none").text + Path("pruned.csv").read_text()
    assert "griffin,n" in Path("matches.csv").read_text()


def test_predictions_of_a_manifests_classes_end_in_tables_and_pictures(folder, weights, monkeypatch):
    class_files(folder, weights, monkeypatch)
    command = ["prediction-graph", "manifest.csv", "--images", ".", "--out", "taken"]
    assert "full graph: " in run(*command, "--classifier", "small=small.safetensors").text
    names = {"edges.csv", "classes.csv", "predictions.csv", "graph.png", "similarities.png"}
    assert {path.name for path in Path("taken").iterdir()} == names


def test_a_dry_run_tells_the_cost_and_writes_nothing(folder, weights):
    build = ["build", "other", "--train-sets", 4, "--val-sets", 2, "--test-sets", 4, "--set-size", 40]
    build += ["--classifier", f"tiny={weights}"]
    dry = run(*build, "--dry-run").text
    assert "images" in dry
    assert "disk" in dry
    assert not Path("other").exists()
    assert "Next: unseen predict other" in run(*build).text


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


def test_an_export_in_datacvs_form_holds_the_sets_in_its_layout(folder):
    assert run("export", "datacv", "contest", "out").text.endswith("out/README.md\n")
    answers = Path("out/participants/answer.txt").read_text().splitlines()
    assert len(list(Path("out/participants/test_data").glob("[!.]*.npy"))) == len(answers) == 12
    assert {path.name for path in Path("out/participants").glob("[!.]*")} == {
        *("answer.txt", "order.csv", "temp", "test_data", "train_data", "val"),
    }


def test_sets_are_written_out_in_every_layout(folder):
    for layout in ("npz", "folders", "datacv"):
        text = run(
            "materialize", "contest", "--out", f"out-{layout}", "--layout", layout, "--part", "val"
        ).text
        assert "6 sets in " in text
    assert "there are" in run("materialize", "contest", "--out", "x", "--layout", "tar", check=False).text


def test_a_report_holds_the_methods_asked_for(folder):
    run("report", "contest", "constant", "atc")
    table = Path("contest/report.csv").read_text()
    assert {line.split(",")[0] for line in table.splitlines()[1:]} == {"constant", "atc"}


def test_the_demo_ends_in_a_table_and_a_leaderboard(folder, weights, monkeypatch):
    monkeypatch.setattr("starter.build.folder.train_small", trained(weights))
    monkeypatch.setattr("starter.build.accuracy.build", smaller)
    monkeypatch.setattr(unseen, "DEMO_ORACLE", {"iterations": 20, "batch_size": 100})
    text = run("demo").text
    assert "are ties" in text
    assert all(name in text for name in ("constant", "fd", "rotation", "ora-a", "noise floor"))
    assert (folder / "unseen-demo/leaderboard.html").exists()


def test_the_demo_of_the_ood_track_has_a_table_a_metric(folder, weights, monkeypatch):
    monkeypatch.setattr("starter.build.folder.train_small", trained(weights))
    monkeypatch.setattr("starter.build.accuracy.build", smaller)
    monkeypatch.setattr("starter.build.ood.DRAWS", 2)
    text = run("demo", "mixes", "--track", "ood").text
    assert text.index("FPR@95\n\nmethod") < text.index("AUROC\n\nmethod")
    assert all(name in text for name in ("constant", "gscore-ude-w", "plugin-mpe", "odin", "noise floor"))


def smaller(folder, settings, *others):
    return BUILD(folder, replace(settings, train_sets=8, val_sets=4, test_sets=16, set_size=50), *others)


def trained(weights):
    from starter.classifiers import read_classifier

    return lambda *arguments, **options: read_classifier(weights).network


def test_from_prediction_to_leaderboard(folder):
    text = run("predict", "contest").text
    assert "not run: ora-a" in text
    assert "not run: gde: `peers` needs a second classifier, and the competition has one" in text
    text = run("validate", "contest", "contest/submissions/fd.csv").text
    assert text == "valid\nNext: unseen score contest contest/submissions/fd.csv --team NAME\n"
    assert "public RMSE" in run("score", "contest", "contest/submissions/fd.csv", "--team", "Ada & Co").text
    text = run("leaderboard", "contest").text
    assert "noise floor" in text
    assert "Ada & Co" in Path("contest/leaderboard.csv").read_text()
    assert "Ada &amp; Co" in Path("contest/leaderboard.html").read_text()
    assert "| method" in run("leaderboard", "contest", "--markdown").text
    assert "| 1 | Ada \\& Co |" in Path("contest/leaderboard.md").read_text()
    assert "private scores: contest/leaderboard_private.csv" in run("leaderboard", "contest", "--final").text


def test_from_submission_to_finals_and_corrections(folder):
    sample = "contest/public/sample_submission.csv"
    for number in (1, 2, 3):
        text = run("score", "contest", sample, "--team", "Ada").text
        assert f"entered as submission {number}\n" in text
    Path("bad.csv").write_text("id,prediction\n")
    result = run("score", "contest", "bad.csv", "--team", "ada", check=False)
    assert (result.code, "id 'tiny/test_0001' is missing" in result.text) == (1, True)
    listed = run("select", "contest", "--team", "ada", 3).text.splitlines()
    assert [line.split()[-1] for line in listed] == ["scored", "scored", "end", "invalid"]
    listed = run("select", "contest", "--team", "ada", "--clear").text.splitlines()
    assert [line.split()[-1] for line in listed] == ["end", "end", "scored", "invalid"]
    assert run("history", "contest", "--team", "ADA").text.count("\n") == 6
    asked = ["rescore", "contest", "--label", "tiny/test_0001=0.5", "--void", "test_0002"]
    text = run(*asked, "--reason", "a mix-up").text
    assert text.startswith("3 submissions were scored anew; the ledger's head is ")
    head = re.search(r"[0-9a-f]{64}", text)[0]
    text = run("verify", "contest", "--head", head).text
    assert text == f"10 rows, 4 submissions, head {head}\nthe ledger is whole\n"
    for kept in Path("contest/private/submissions").iterdir():
        kept.unlink()
    result = run("verify", "contest", check=False)
    assert (result.code, result.text.count("problem: the file of submission")) == (1, 4)


def test_limits_and_a_deadline_are_set_by_the_build(folder, weights):
    build = ["build", "other", "--train-sets", 4, "--val-sets", 2, "--test-sets", 4, "--set-size", 40]
    build += ["--classifier", f"tiny={weights}", "--decimals", 1, "--feedback", "ladder"]
    text = run(*build, "--daily-limit", 2, "--total-limit", 9, "--deadline", "2999-12-31T23:59").text
    assert "limits       submissions of a team: 2 a day (UTC), 9 in all\n" in text
    assert "deadline     2999-12-31 23:59:00 UTC\n" in text
    sample = "other/public/sample_submission.csv"
    assert "entered as submission 1, 1 left today\n" in run("score", "other", sample, "--team", "a").text
    assert "a: no better than submission 1 by" in run("score", "other", sample, "--team", "a").text
    refused = run("score", "other", sample, "--team", "a", check=False)
    assert (refused.code, "team 'a' has made its 2 submissions of" in refused.text) == (2, True)
    refused = run("leaderboard", "other", "--final", check=False)
    assert (refused.code, "private scores are published after it" in refused.text) == (2, True)


def test_a_method_that_the_competition_lacks_something_for_is_refused_by_name(folder):
    result = run("predict", "contest", "atc", "gde+lr", check=False)
    assert result.code == 2
    assert "gde+lr cannot run on contest: `peers` needs a second classifier" in result.text


def test_a_method_of_ones_own(folder):
    assert "Next: unseen check-method mean_margin:MeanMargin" in run("new-method", "mean_margin").text
    assert "FAIL" not in run("check-method", "mean_margin:MeanMargin").text
    run("predict", "contest", "mean_margin:MeanMargin", "--set", "mean_margin:MeanMargin.degree=2")
    assert list(Path("contest/submissions").glob("*MeanMargin*.csv"))


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
        *("--out", "mine.safetensors", "--device", "cpu"),
    )
    told = "build DIR --source digits.npz --classifier mine=mine.safetensors --network own_net:make"
    assert trained.text.endswith(f"Next: unseen {told}\n")
    assert "images" in run(*told.split(), "--dry-run").text


def test_a_file_is_scored_where_it_lies(folder, monkeypatch):
    run("predict", "contest", "constant")
    monkeypatch.chdir("contest/validation")
    text = run("score", Path("../..", "contest"), "constant.csv", "--val").text
    assert text.endswith("Next: unseen validate ../../contest ../../contest/submissions/constant.csv\n")


def test_what_comes_next_is_told_and_runs(folder):
    command, followed = ["new-method", "my_method"], []
    while lines := re.findall("^Next: unseen (.+)$", run(*command).text, re.MULTILINE):
        assert len(lines) == 1
        command = [{"DIR": "contest", "NAME": "Ada"}.get(word, word) for word in shlex.split(lines[0])]
        followed.append(command[0])
    assert followed == ["check-method", "predict", "score", "validate", "score", "leaderboard"]


def test_what_comes_next_is_no_part_of_the_output(folder):
    command = [sys.executable, "-m", "unseen", "pack", "contest"]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    assert done.stdout == f"{folder / 'contest.zip'}\n"
    assert done.stderr == "Next: unseen score contest FILE --team NAME\n"


def test_a_participant_is_not_told_to_score(folder):
    Path("contest/private").rename("kept")
    assert run("validate", "contest", "contest/public/sample_submission.csv").text == "valid\n"
    assert run("pack", "contest").text == f"{folder / 'contest.zip'}\n"


def test_a_method_that_breaks_the_contract_exits_with_1(folder):
    source = "from baselines import Estimator\n\n\nclass Bad(Estimator):\n    def _predict(self, o):\n        return None\n"
    Path("bad_method.py").write_text(source)
    result = run("check-method", "bad_method:Bad", check=False)
    assert result.code == 1
    assert "FAIL" in result.text


def test_methods_lists_every_method():
    from baselines import BASELINES
    from oracle import ORACLES

    text = run("methods").text
    assert all(f"{name} " in text for name in (*BASELINES, *ORACLES))
    assert "ora-a.iterations=30000" in text


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["validate", "nowhere", "x.csv"], 2, "nowhere"),
        (["validate", "contest", "nowhere.csv"], 2, "nowhere.csv cannot be read"),
        (["validate", "contest", "contest"], 2, "contest is not a file"),
        (["validate", "contest", "contest/public/train/targets.csv"], 1, "the header is 'id,target'"),
        (["score", "contest", "contest/public/sample_submission.csv"], 2, "--val"),
        (
            ["score", "contest", "contest/public/sample_submission.csv", "--val"],
            1,
            "these are predictions for the test sets (submissions/), not",
        ),
        (["score", "contest", "contest/public/sample_submission.csv", "--team", "\u202e"], 2, "team"),
        (["select", "contest", "--team", "nobody"], 2, "team 'nobody' has submitted nothing"),
        (["history", "contest"], 2, "nothing was submitted"),
        (["select", "contest", "--team", "a", "1", "--clear"], 2, "not both"),
        (["rescore", "contest", "--label", "x", "--reason", "r"], 2, "--label x: give ID=FRACTION, such as"),
        (["rescore", "contest", "--label", "x=nan", "--reason", "r"], 2, "--label x=nan: give ID=FRACTION"),
        (["rescore", "contest", "--reason", "r"], 2, "nothing would change"),
        (["rescore", "contest"], 2, "--reason"),
        (["verify", "contest", "--head", "ab"], 1, "problem: --head ab: no row has this hash"),
        (
            ["build", "new", "--deadline", "2020-01-01T12:00", "--dry-run"],
            2,
            "has passed: name a time to come",
        ),
        (["build", "new", "--deadline", "2020-01-01T12:00"], 2, "has passed: name a time to come"),
        (["build", "new", "--deadline", "soon"], 2, "--deadline must be a date with a time"),
        (["predict", "contest", "atk"], 2, "there is no method 'atk': did you mean atc? the kit has"),
        (["predict", "contest", "nothing:There"], 2, "no module named 'nothing'"),
        (["predict", "contest", "atc", "--set", "atc"], 2, "is not METHOD.PARAM=VALUE"),
        (["predict", "contest", "atc", "--set", "fd.x=1"], 2, "not among the methods"),
        (
            ["predict", "contest", "ora-a", "--set", "ora-a.steps=1"],
            2,
            "has no such parameter; it has batch_size",
        ),
        (["predict", "contest", "ora-a", "--set", "ora-a.iterations=many"], 2, "'many' is no int"),
        (
            ["predict", "contest", "ora-a", "--set", "ora-a.iterations=0"],
            2,
            "error: ora-a: iterations must be a whole number in 1..10,000,000, got 0\n",
        ),
        (["predict", "contest", "ora-a", "--set", "ora-a.seed=-1"], 2, "error: ora-a: seed must be"),
        (["predict", "contest", "ora-a", "--set", "ora-a.learning_rate=NaN"], 2, "nan is no finite number"),
        (["predict", "contest", "ora-a", "--set", "ora-a.learning_rate=1e6"], 2, "lower learning_rate"),
        (["predict", "contest", "ora-a", "--set", "ora-a.iterations="], 2, "is not METHOD.PARAM=VALUE"),
        (["predict", "contest", "ora-a", "--set", f"ora-a.iterations={'9' * 10_000}"], 2, "is no int"),
        (["predict", "contest", "ora-a", "--set", f"ora-a.iterations={'[' * 100_000}"], 2, "is no int"),
        *(
            (["predict", "contest", "atc", "--device", device], 2, f"device {device!r} cannot be used")
            for device in DEVICES
        ),
        (["show", "contest", "train_9999"], 2, "there is no set 'train_9999'"),
        (["build", "new", "--source", "nowhere"], 2, "nowhere"),
        (["build", "new", "--set-size", "0"], 2, "--set-size must be at least 2"),
        (["build", "new", "--classifier", "resnet56=nowhere.pt"], 2, "nowhere.pt"),
        (["build", "new", "--classifier", "resnet56"], 2, "resnet56"),
        (["build", "new", "--test-seed", "-1"], 2, "--test-seed must lie in 0..2^63 - 1, got -1"),
        (["build", "contest", "--set-size", "70"], 2, "built with other settings"),
        (["new-method", "Not A Name"], 2, "cannot name a module"),
        (["classes", "nearest", "--candidates", "x", "--out", "y"], 2, "there are similarity and pruning"),
        (["classes", "pruning", "--candidates", "x", "--out", "y", "--wordnet", "nowhere"], 2, "nowhere"),
        (
            ["prediction-graph", "nowhere.csv", "--images", ".", "--out", "x", "--classifier", "y"],
            2,
            "nowhere",
        ),
        (["halves", "nowhere.csv", "--images", ".", "--out", "x"], 2, "nowhere"),
        (["frobnicate"], 2, "frobnicate"),
        (["build"], 2, "DIR"),
    ],
)
def test_mistakes_get_one_clear_message(arguments, code, message, folder):
    result = run(*arguments, check=False)
    assert (result.code, message in result.text) == (code, True), result.text


@pytest.mark.parametrize("device", DEVICES)
def test_a_device_that_cannot_be_used_is_refused_before_anything_is_built(folder, weights, device):
    result = run("build", "new", "--classifier", f"tiny={weights}", "--device", device, check=False)
    assert (result.code, result.text.count("\n")) == (2, 1)
    assert result.text.startswith(f"error: device {device!r} cannot be used here: ")
    assert not Path("new").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--grid", "nowhere.safetensors"), "nowhere.safetensors is no encoder of the kit"),
        (("--grid", "embedded", "--referee", "nowhere"), "nowhere is no LAID matrix"),
        (("--grid", "laids:encoder", "--referee", "laid"), "laid belongs to the encoder another"),
        (("--source", "nowhere"), "nowhere"),
    ],
)
@pytest.mark.parametrize("track", ["accuracy", "ood"])
def test_what_is_mistyped_is_told_before_anything_is_made_and_leaves_nothing(
    folder, options, message, track, monkeypatch
):
    Laid(np.eye(LENGTH, dtype=np.float32), "another").save(folder / "laid")
    monkeypatch.setattr(
        "starter.build.folder.train_small", lambda *arguments, **options: pytest.fail("trained")
    )
    if "--source" not in options:
        for module in ("build", "buildmixes"):
            monkeypatch.setattr(f"starter.{module}.load_source", lambda *arguments: pytest.fail("read"))
    result = run("build", "new", "--track", track, *options, check=False)
    assert (result.code, message in result.text, result.text.count("\n")) == (2, True, 1)
    assert not Path("new").exists()


FAILING = """from baselines import Estimator


class Bad(Estimator):
    needs = ()

    def _fit(self, meta):
        self.mean_ = meta.target.mean()
"""


def test_a_method_of_ones_own_that_fails_is_told_in_one_line(folder):
    Path("failing_method.py").write_text(FAILING)
    result = run("predict", "contest", "atc", "failing_method:Bad", check=False)
    line = (
        "error: failing_method:Bad fails in fit for tiny: AttributeError: 'MetaTrain' object has no attribute "
        "'target' (failing_method.py:8); `unseen check-method failing_method:Bad` tells more\n"
    )
    assert (result.code, result.text[-len(line) :]) == (2, line)
    assert sorted(path.name for path in folder.glob("contest/[sv]*/*")) == ["atc.csv", "atc.csv"]
    checked = run("check-method", "failing_method:Bad", check=False)
    assert checked.code == 1
    assert "FAIL fit returns self: AttributeError" in checked.text
    assert "(failing_method.py:8)" in checked.text


def test_a_method_whose_needs_are_no_fields_is_refused_before_anything_runs(folder):
    Path("needy_method.py").write_text(FAILING.replace("needs = ()", 'needs = "moments"'))
    for command in (["predict", "contest"], ["check-method"]):
        result = run(*command, "needy_method:Bad", check=False)
        assert (result.code, result.text.startswith("error: needy_method:Bad: needs must be a tuple")) == (
            2,
            True,
        )


def test_a_closed_pipe_ends_without_a_word(folder):
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "unseen", "validate", "contest", "contest/public/sample_submission.csv"]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert done.stderr == b""


@pytest.mark.parametrize(("encoding", "shown"), [("ascii", "ж"), ("latin-1", "\\u0436")])
def test_a_terminal_without_a_letter_is_no_traceback(folder, encoding, shown):
    command = [sys.executable, "-m", "unseen", "pack", "contest", "--out", "ж.zip"]
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert done.stdout.decode() == f"{shown}.zip\n"  # Typer takes ASCII for a mistake and writes UTF-8


def test_a_file_that_cannot_be_written_is_named(folder):
    Path("taken.zip").mkdir()
    Path("file").touch()
    result = run("pack", "contest", "--out", "taken.zip", check=False)
    assert (result.code, result.text) == (2, "error: taken.zip is a folder: name a file\n")
    result = run("pack", "contest", "--out", "file/a.zip", check=False)
    assert (result.code, result.text.startswith("error: "), "file" in result.text) == (2, True, True)


def test_a_file_system_error_names_the_file(folder, monkeypatch):
    def full(*arguments, **options):
        raise OSError(28, "No space left on device", "contest/sheet.png")

    monkeypatch.setattr("starter.competition.show.contact_sheet", full)
    result = run("show", "contest", check=False)
    assert (result.code, result.text) == (2, "error: No space left on device: contest/sheet.png\n")


def test_an_interrupt_says_how_to_go_on(folder, monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("starter.competition.show.contact_sheet", stop)
    result = run("show", "contest", check=False)
    assert (result.code, "the same command goes on" in result.text) == (130, True)


def test_an_audit_ends_with_1_where_there_is_an_error(folder):
    unguessable(folder / "contest")
    clean = run("audit", "contest").text
    assert clean.endswith("errors: 0, warnings: 1\nNext: unseen pack contest\n")
    Path("contest/private").chmod(0o755)
    found = run("audit", "contest", check=False)
    assert (found.code, found.text.splitlines()[-1]) == (1, "errors: 1, warnings: 1")
    assert "error    contest/private is open to others (mode 0755)" in found.text


def test_an_entry_is_verified_or_not(folder):
    run("new-method", "handed_in")
    run("predict", "contest", "constant", "handed_in:HandedIn")
    entry = "contest/submissions/handed_in.HandedIn.csv"
    found = run("verify-entry", "contest", entry, "--method", "handed_in:HandedIn").text
    assert "warning: handed_in:HandedIn can read contest/private: verify on a participant's copy" in found
    assert "verified: the method predicts all 12 submitted numbers" in found
    other = run("verify-entry", "contest", entry, "--method", "constant", check=False)
    assert (other.code, "not verified: " in other.text, "warning" in other.text) == (1, True, False)
