"""`estimate` on the command line."""

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import run


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    labels = rng.integers(4, size=800)
    logits = 2 * (rng.normal(size=(800, 4)) + 3 * np.eye(4)[labels])
    np.save("val.npy", logits[:400])
    np.save("val_labels.npy", labels[:400])
    np.save("today.npy", logits[400:])
    np.save("noise.npy", rng.normal(size=(400, 4)))
    Path("val.csv").write_text("0,1\n")
    np.save("text.npy", np.array(["cat"] * 400))
    return ("estimate", "--logits", "val.npy", "--labels", "val_labels.npy", "--unlabelled", "today.npy")


def test_it_checks_itself_and_writes_three_files(files):
    text = run(*files, "noise.npy", "--out", "answer").text
    assert text.index("check: each half") < text.index("\ntoday ") < text.index("\nnoise ")
    assert {path.name for path in Path("answer").iterdir()} == {
        "estimate.html",
        "estimate.json",
        "estimate.csv",
    }


def test_features_are_compared_too(files):
    text = run(*files, "--features", "val.npy", "--features", "today.npy").text
    assert "the mean of atc-ne-ts, cott-gate;" in text


def test_json_is_all_that_is_printed(files):
    result = run(*files, "--json", "--fail-below", "0.2")
    assert json.loads(result.text) == json.loads(Path("estimate.json").read_text())


def test_classes_are_named_by_a_file(files):
    Path("classes.txt").write_text("ant\nbee\n\ncat \nd\u00f6g\n", encoding="utf-8")
    told = json.loads(run(*files, "--classes", "classes.txt", "--json").text)
    assert told["classes"] == ["ant", "bee", "cat", "d\u00f6g"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ant\nbee\n", "error: 2 classes are named, but the logits have 4 columns: name each"),
        ("ant\nbee\nant\ncat\n", "error: classes.txt: names the class 'ant' twice"),
        ("ant\n", "error: classes.txt: two or more classes are expected, one a line"),
        (None, "error: classes.txt: cannot be read (No such file or directory)"),
    ],
)
def test_classes_that_do_not_fit_are_refused(files, text, message):
    if text:
        Path("classes.txt").write_text(text)
    result = run(*files, "--classes", "classes.txt", check=False)
    assert (result.code, result.text) == (2, f"{message}\n")


def test_a_job_can_go_by_the_exit_code(files):
    assert run(*files, "--fail-below", "0.8").code == 0
    result = run(*files, "noise.npy", "--fail-below", "0.8", check=False)
    assert (result.code, result.text.splitlines()[-1]) == (1, "below 80 %: noise")
    told = json.loads(Path("estimate.json").read_text())["fail_below"]
    assert told == {"limit": 0.8, "below": ["noise"]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--labels", "text.npy"), "error: text.npy holds <U3, not numbers"),
        (("--labels", "none.npy"), "error: none.npy: no such file"),
        (("--probabilities",), "error: val.npy holds no probabilities"),
        (("--fail-below", "80"), "error: --fail-below must be a fraction in [0, 1], got 80"),
        (
            ("--features", "val.npy"),
            "error: features are given for 0 unlabelled sets in place of 1: give those",
        ),
        (
            ("--second", "val.npy"),
            "error: the second model's logits are given for 0 unlabelled sets in place of 1",
        ),
        (("--features", "none.npy", "--features", "today.npy"), "error: none.npy: no such file"),
        (
            ("--referee", "lite0"),
            "error: give --logits and --labels, or --model and --labelled: leave out --referee",
        ),
        (
            ("--train-sets", "24", "--device", "cpu"),
            "error: give --logits and --labels, or --model and --labelled: leave out --train-sets and --device",
        ),
        (("--margin", "5"), "error: --margin must be a fraction in [0, 1], got 5\n"),
        (("--level", "5"), "error: --level must lie between 0 and 1, got 5\n"),
        (
            ("--logits", "val.csv"),
            "error: val.csv is no .npy: read its numbers and save them with numpy.save",
        ),
        (("--logits", "."), "error: . is a folder: use `unseen estimate --model"),
        (("--window", "3"), "error: --window must be a whole number, 20 images or more, got 3"),
    ],
)
def test_mistakes_get_one_line(files, arguments, message):
    result = run(*files, *arguments, check=False)
    assert (result.code, result.text.startswith(message), result.text.count("\n")) == (2, True, 1), (
        result.text
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ("--model", "tiny=x.pt", "--labelled", "val", "--probabilities"),
            "or --model and --labelled: leave out --probabilities",
        ),
        ((), "give --logits and --labels, or --model and --labelled\n"),
        (("--logits", "val.npy"), "or --model and --labelled: also give --labels"),
        (("--features", "val.npy"), "or --model and --labelled: also give --logits and --labels"),
        (("--model", "tiny=x.pt"), "or --model and --labelled: also give --labelled"),
        (("--labelled", "val"), "or --model and --labelled: also give --model"),
        (("--model", "nets/x.pt", "--labelled", "val"), "write --model resnet56=nets/x.pt"),
        (("--model", "tiny=x.pt", "--labelled", "val"), "today.npy: logits go with --logits and --labels"),
    ],
)
def test_missing_options_are_named(files, arguments, told):
    result = run("estimate", "--unlabelled", "today.npy", *arguments, check=False)
    assert (result.code, told in result.text) == (2, True), result.text
