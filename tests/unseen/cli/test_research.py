"""`classes`, `shift`, `detectors` and `ablate`: what each command prints and writes, and what it refuses."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import run
from laids import random_laid
from prepared import class_files, embedded_laid
from taxonomy import write_class_zip

from starter.models.encoders.two_tower import LENGTH
from starter.studies.shift.laid import Laid


def test_a_class_manifest_tells_what_was_matched_and_assigned(folder, weights, monkeypatch):
    text = class_files(folder, weights, monkeypatch).text
    assert "tiny_imagenet: 4 labels: 3 by label\n  unmatched: griffin (--overrides" in text
    assert "unseen build DIR --track ood --classes manifest.csv" in text
    overrides = ["--overrides", "overrides.csv", "--matches", "matches.csv"]
    Path("overrides.csv").write_text("label,synset\ngriffin,bird\n")
    command = ["classes", "assign", "--rule", "pruning", "--candidates", "tiny_imagenet.zip", *overrides]
    command += ["--out", "pruned.csv"]
    text = run(*command).text
    assert "1 by override" in text
    assert "sisters: near" in text
    assert "hyponym of dog" in Path("pruned.csv").read_text()
    assert "below organism.n.01" in Path("pruned.csv").read_text()
    assert "below" not in run(*command, "--exclude", "none").text + Path("pruned.csv").read_text()
    assert "griffin,n" in Path("matches.csv").read_text()
    graph = ["classes", "graph", "manifest.csv", "--images", ".", "--out", "taken"]
    assert "full graph: " in run(*graph, "--classifier", "small=small.safetensors").text
    assert (folder / "taken/edges.csv").is_file()


def test_a_matrix_comes_with_its_table_and_belongs_to_its_encoder(folder, monkeypatch):
    embedded_laid(folder, monkeypatch)
    write_class_zip(folder / "natural.zip", ("photos/0", "photos/7", "drawings/7"))
    run("shift", "laid", "laid", "--steps", 5, "--natural", "natural.zip")
    table = pd.read_csv("laid/table3.csv")
    assert len(table) == 3 * 5
    assert set(table["set"]) == {"test", "corrupted", "natural"}
    for path in Path("laid").glob("laid*"):
        Laid(np.eye(LENGTH, dtype=np.float32), "another").save(path)
    wrong = run("shift", "generate", "made", "--laid", "laid", "--per-cell", 1, check=False)
    assert (wrong.code, "another" in wrong.text) == (2, True)


def test_images_are_generated_cell_by_cell(folder, monkeypatch):
    embedded_laid(folder, monkeypatch)
    text = run("shift", "generate", "made", "--laid", "laid", "--per-cell", 1).text
    assert "made/DATASHEET.md" in text
    images = [path for path in Path("made").rglob("*.png")]
    assert f"{len(images)} images in {len(images)} of 64 cells" in text
    grid = run("shift", "grid", "contest", "--ood", "made", "--detector", "msp").text
    assert f"{len(images)} shifted images in {len(images)} of 64 cells" in grid
    wrong = run("shift", "generate", "other", "--laid", "laid", "--source", "nowhere", check=False)
    assert (wrong.code, "nowhere" in wrong.text) == (2, True)
    assert not (folder / "other").exists()


def test_an_encoder_that_is_there_is_not_overwritten(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.safetensors").write_text("weights")
    found = run("shift", "encoder", "nowhere.zip", "--out", "mine.safetensors", check=False)
    assert (found.code, "exists already" in found.text) == (2, True)
    assert Path("mine.safetensors").read_text() == "weights"


def test_detectors_on_a_grid(folder, ood_folder):
    random_laid()[1].save(folder / "laid")
    options = ("--encoder", "laids:encoder", "--ood", ood_folder, "--images", "300", "--detector", "msp")
    text = run("shift", "grid", "contest", "--laid", "laid", *options).text
    assert "semantic_correlation" in text
    assert "contest/grid" in text
    assert len(pd.read_csv("contest/grid/cells.csv")) == 64
    wrong = run("shift", "grid", "contest", "--laid", "nothing", *options, check=False)
    assert (wrong.code, "nothing is no LAID matrix" in wrong.text) == (2, True)


def test_detectors_of_classes_and_of_errors(mixes):
    text = run("detectors", "failure", "mixes", "msp", "energy", "--images", "20").text
    assert "new_class" in text
    assert "rank_near" in text
    assert {"auroc.csv", "contrasts.csv"} < {path.name for path in Path("mixes/failure").iterdir()}
    text = run("detectors", "sanity", "msp", "--images", 50, "--initialisations", 1, "--out", "s").text
    assert "0.5 is chance level" in text
    assert pd.read_csv("s/sanity.csv")[["new_class", "failure"]].notna().all(axis=None)


def test_a_table_of_the_paper(mixes):
    text = run("ablate", "mixes", "--table", "4").text
    assert "mixes/ablation/gscore-4.csv" in text
    assert "NaN" not in text
    assert "correlation of Gscore" in text
    assert "random" in run("ablate", "mixes", "--table", "4", "--splits", "5").text
    wrong = run("ablate", "mixes", "--table", "9", check=False)
    assert (wrong.code, "fig3" in wrong.text) == (2, True)


GRAPH = ["classes", "graph", "nowhere.csv", "--images", ".", "--classifier", "y"]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["classes", "assign", "--candidates", "x", "--out", "y", "--wordnet", "nowhere"], "nowhere"),
        (["classes", "halves", "nowhere.csv", "--images", ".", "--out", "x"], "nowhere"),
        (["classes", "nearest"], "nearest"),
        ([*GRAPH, "--out", "x"], "nowhere"),
        ([*GRAPH, "--out", "contest/public/competition.json"], "is a file"),
        (["shift", "laid", "laid", "--steps", 0], "--steps"),
        (["shift", "laid", "x", "--seed", -1], "--seed"),
        (["shift", "grid", "contest", "--out", "contest/public/competition.json"], "is a file"),
        (["shift", "grid", "nowhere"], "nowhere"),
        (["shift", "grid", "contest", "--encoder", "nowhere"], "nowhere"),
        (["shift", "generate", "made", "--laid", "nothing"], "nothing is no LAID matrix"),
        (["detectors", "sanity", "--out", "contest/public/competition.json"], "is a file"),
    ],
)
def test_mistakes_get_one_clear_message(arguments, word, folder):
    result = run(*arguments, check=False)
    assert (result.code, word in result.text) == (2, True), result.text
