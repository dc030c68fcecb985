"""`classes graph`, `shift laid`, `measure` and `grid`, `detectors failure`."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import run
from laids import random_laid
from prepared import class_files, hasty_laid
from taxonomy import write_class_zip

from starter.encoders.two_tower import LENGTH
from starter.shift.laid import Laid


def test_predictions_of_a_manifests_classes_end_in_tables_and_pictures(folder, weights, monkeypatch):
    class_files(folder, weights, monkeypatch)
    command = ["classes", "graph", "manifest.csv", "--images", ".", "--out", "taken"]
    assert "full graph: " in run(*command, "--classifier", "small=small.safetensors").text
    names = {"edges.csv", "classes.csv", "predictions.csv", "graph.png", "similarities.png"}
    assert {path.name for path in Path("taken").iterdir()} == names


def test_a_matrix_comes_with_its_table_and_degrees_with_it(folder, monkeypatch):
    hasty_laid(folder, monkeypatch)
    Path("templates").write_text("{}\n{} on china")
    write_class_zip(folder / "natural.zip", ("photos/0", "photos/7", "drawings/7"))
    asked = ["shift", "laid", "laid", "--steps", 5, "--templates", "templates", "--natural", "natural.zip"]
    assert "largest |W'W - I|:" in run(*asked).text
    table = pd.read_csv("laid/table3.csv")
    assert len(table) == 3 * 5
    assert set(table["set"]) == {"test", "corrupted", "natural"}
    text = run("shift", "measure", "laid", "contest", "--out", "degrees.csv", "--seed", 3).text
    assert "test_0001" in text
    assert Path("degrees.csv").read_text().startswith("set,row,semantic,covariate\nval_0001,0,")
    for option in ("--neighbour", "--images"):
        assert run("shift", "measure", "laid", "contest", "--out", "d.csv", option, 0, check=False).code == 2
    for path in Path("laid").glob("laid*"):
        Laid(np.eye(LENGTH, dtype=np.float32), "another").save(path)
    wrong = run("shift", "measure", "laid", "contest", "--out", "degrees.csv", check=False)
    assert wrong.code == 2
    assert "belongs to the encoder another" in wrong.text


def test_detectors_on_a_grid(folder, ood_folder):
    random_laid()[1].save(folder / "laid")
    options = ("--ood", ood_folder, "--images", "600", "--levels", "4", "--least", "5", "--detector", "msp")
    text = run("shift", "grid", "contest", "--encoder", "laids:encoder", "--laid", "laid", *options).text
    assert "corr. fitted" in text
    assert "contest/grid/report.html" in text
    with (folder / "contest/grid/cells.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 16


def test_failure_detection(mixes):
    text = run("detectors", "failure", "mixes", "msp", "--images", "20").text
    assert "new_class" in text
    assert "mixes/failure/auroc.csv" in text


GRAPH = ["classes", "graph", "nowhere.csv", "--images", ".", "--classifier", "y"]


@pytest.mark.parametrize(
    "command", [("laid", "x"), ("measure", "x", "y", "--out", "z"), ("encoder", "x", "--out", "y")]
)
def test_a_seed_is_not_negative(command):
    result = run("shift", *command, "--seed", -1, check=False)
    assert (result.code, "--seed" in result.text) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            [*GRAPH, "--out", "x"],
            2,
            "nowhere",
        ),
        (
            ["shift", "grid", "contest", "--images", "300", "--encoder", "nowhere"],
            2,
            "nowhere is no encoder",
        ),
        (
            [
                "shift",
                "grid",
                "contest",
                "--images",
                "300",
                "--laid",
                "nothing",
                "--encoder",
                "laids:encoder",
            ],
            2,
            "nothing is no LAID matrix",
        ),
        (["shift", "grid", "contest", "--levels", "1"], 2, "--levels must be"),
        (["shift", "grid", "contest", "--out", "contest/public/competition.json"], 2, "is a file"),
        (["shift", "laid", "laid", "--steps", 0], 2, "--steps"),
        (["shift", "laid", "contest/public/competition.json"], 2, "is a file"),
        (["shift", "measure", "laid", "contest", "--out", "contest"], 2, "is a directory"),
        (["detectors", "sanity", "--out", "contest"], 2, "is a directory"),
        ([*GRAPH, "--out", "x", "--least-share", 7], 2, "--least-share"),
        ([*GRAPH, "--out", "contest/public/competition.json"], 2, "is a file"),
        (["shift", "grid", "nowhere"], 2, "nowhere"),
    ],
)
def test_mistakes_get_one_clear_message(arguments, code, message, folder):
    result = run(*arguments, check=False)
    assert (result.code, message in result.text) == (code, True), result.text
