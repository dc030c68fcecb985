"""`classes similarity`, `pruning` and `halves`."""

from pathlib import Path

import pytest
from command_line import run
from prepared import class_files


def test_a_class_manifest_tells_what_was_matched_and_assigned(folder, weights, monkeypatch):
    text = class_files(folder, weights, monkeypatch).text
    assert "tiny_imagenet: 4 labels: 3 by label\n  unmatched: griffin (--overrides" in text
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


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["classes", "pruning", "--candidates", "x", "--out", "y", "--wordnet", "nowhere"], 2, "nowhere"),
        (["classes", "halves", "nowhere.csv", "--images", ".", "--out", "x"], 2, "nowhere"),
        (["classes", "nearest"], 2, "nearest"),
        (["classes", "pruning", "--near", "1"], 2, "--near"),
        (["classes", "similarity", "--exclude", "none"], 2, "--exclude"),
    ],
)
def test_mistakes_get_one_clear_message(arguments, code, message, folder):
    result = run(*arguments, check=False)
    assert (result.code, message in result.text) == (code, True), result.text
