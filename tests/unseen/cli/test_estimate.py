"""`estimate` on the command line."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
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
    np.save("text.npy", np.array(["cat"] * 400))
    texts = {"four": "ant\nbee\n\ncat \nd\u00f6g\n", "two": "ant\nbee\n", "twice": "ant\nant\n"}
    for name, text in texts.items():
        Path(name).write_text(text, encoding="utf-8")
    return ("estimate", "--logits", "val.npy", "--labels", "val_labels.npy", "--unlabelled", "today.npy")


def test_it_checks_itself_and_writes_three_files(files):
    text = run(*files, "noise.npy", "--out", "answer").text
    assert text.index("check: each half") < text.index("\ntoday ") < text.index("\nnoise ")
    assert {path.suffix for path in Path("answer").glob("estimate.*")} == {".html", ".json", ".csv"}


def test_json_is_all_that_is_printed_and_classes_are_named_by_a_file(files):
    result = run(*files, "--classes", "four", "--features", "val.npy", "--features", "today.npy", "--json")
    told = json.loads(result.text)
    assert told == json.loads(Path("estimate.json").read_text())
    assert told["classes"] == ["ant", "bee", "cat", "d\u00f6g"]


def test_a_job_can_go_by_the_exit_code(files):
    assert run(*files, "--fail-below", "0.8").code == 0
    result = run(*files, "noise.npy", "--fail-below", "0.8", check=False)
    assert (result.code, result.text.splitlines()[-1]) == (1, "below 80 % (likely): noise")
    np.save("moved.npy", np.roll(np.load("val_labels.npy"), 1))
    moved = ["moved.npy" if word == "val_labels.npy" else word for word in files]
    result = run(*moved, "--fail-below", "0.1", check=False)
    assert (result.code, "--fail-below cannot be judged: " in result.text) == (2, True)


def test_a_job_counts_on_from_the_windows_of_the_job_before(files):
    """Each window of noise alone is too little for an alarm; half of the stream is below."""
    Path("days.txt").write_text("2026-11-09\n" * 20 + "2026-11-08\n" * 380)
    np.save("noise.npy", np.load("noise.npy")[:40] / 9)
    options = ("--window", "20", "--fail-below", "0.8", "--state", "state.json")
    quiet = run(*files, *options, "--by", "days.txt", "--json")
    assert json.loads(quiet.text)["stream"]["windows"] == 2
    alarm = run(*files[:-1], "noise.npy", *options, check=False)
    assert alarm.text.splitlines()[-1] == "below 80 % (likely) since noise 0-19, shown by noise 20-39"
    assert alarm.code == 1
    assert run(*files, *options, check=False).code == 1
    other = run(*files, *options, "--fail-below", "0.7", check=False)
    assert (other.code, "state.json: its stream is for the limit 0.8," in other.text) == (2, True)


def test_labels_that_it_asks_for_count(files):
    run(*files, "--ask", "20")
    refused = run(*files, "--ask", "40", check=False)
    assert (refused.code, "ask.csv exists: keep its labels" in refused.text) == (2, True)
    noted = Path("ask.csv").read_text().replace("label\n", "label,note\n").replace(",\n", ",1,007\n", 5)
    Path("ask.csv").write_text(noted)
    text = run(*files, "--ask", "40", "--answers", "ask.csv").text
    assert "today: your 5 labels give" in text
    assert "today: 15 rows have no label" in text
    lines = Path("ask.csv").read_text().splitlines()
    assert (len(lines), sum(line.endswith(",1,007") for line in lines)) == (41, 5)


MODEL = ("--model", "tiny=x.pt", "--labelled", "val")
LOGITS = ("--logits", "val.npy", "--labels", "val_labels.npy")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "give either --logits and --labels, or --model and --labelled"),
        (MODEL[:2], "give either"),
        ((*LOGITS, *MODEL), "give either"),
        (MODEL, "val: no such file or folder"),
        ((*MODEL, "--resize", "bend"), "'--resize'"),
        ((*LOGITS, "--labels", "text.npy"), "text.npy holds 'cat', which is no named class: give --classes"),
        ((*LOGITS, "--labels", "none.npy"), "none.npy: cannot be read as a .npy file (No such file"),
        ((*LOGITS, "--fail-below", "80"), "--fail-below is a fraction"),
        ((*LOGITS, "--state", "new.json"), "--state keeps what --fail-below counts: give both"),
        ((*LOGITS, "--features", "val.npy"), "features must be those of the labelled images, then of today"),
        ((*LOGITS, "--window", "3"), "--window must be 20 images or more, got 3"),
        ((*LOGITS, "--classes", "two"), "2 classes are named, but the logits have 4 columns"),
        ((*LOGITS, "--classes", "twice"), "twice: names the class 'ant' twice"),
        ((*LOGITS, "--classes", "none"), "none cannot be read: No such file"),
    ],
)
def test_mistakes_are_refused(files, arguments, words):
    result = run("estimate", "--unlabelled", "today.npy", *arguments, check=False)
    assert (result.code, words in result.text) == (2, True), result.text


def test_models_are_compared_and_a_job_goes_by_the_exit_code(files):
    known, today = np.load("val.npy"), np.load("today.npy")
    wrong = np.random.default_rng(1).random((400, 1)) < 0.1
    np.save("old.npy", np.where(wrong, -known, known))
    np.save("old_today.npy", np.where(wrong, -today, today))
    words = ("-l", "old=old.npy", "-l", "new=val.npy", "-u", "new=today.npy", "-u", "old=old_today.npy")
    call = ("rank", "--labels", "val_labels.npy", *words, "--keep")
    assert "No model is better than old beyond doubt" in run(*call, "old", "--ask", "30").text
    table = pd.read_csv("ask.csv")
    table.assign(label=today[table.row].argmax(axis=1)).to_csv("ask.csv", index=False)
    result = run(*call, "old", "--answers", "ask.csv", "--json", check=False)
    assert (result.code, json.loads(result.text)["better"]) == (1, ["new"])
    assert run(*call, "new", "--answers", "ask.csv").code == 0
    for option in (("-l", "old"), ("-l", "old=val.npy"), ("--ask", "9")):
        assert run(*call, "old", *option, check=False).code == 2
