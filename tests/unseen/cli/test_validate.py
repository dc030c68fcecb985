"""`validate` and `pack`."""

import json
from pathlib import Path

import pytest
from command_line import run


def test_a_participant_is_not_told_to_score(host):
    Path("comp/private").rename("kept")
    assert run("validate", "comp", "comp/public/sample_submission.csv").text == "valid\n"
    assert run("pack", "comp").text == f"{host / 'comp.zip'}\n"


def test_a_file_that_cannot_be_written_is_named(host):
    Path("taken.zip").mkdir()
    Path("file").touch()
    result = run("pack", "comp", "--out", "taken.zip", check=False)
    assert (result.code, result.text) == (2, "error: taken.zip is a folder: name a file\n")
    result = run("pack", "comp", "--out", "file/a.zip", check=False)
    assert (result.code, result.text.startswith("error: "), "file" in result.text) == (2, True, True)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["validate", "nowhere", "x.csv"], 2, "nowhere"),
        (["validate", "comp", "nowhere.csv"], 2, "nowhere.csv cannot be read"),
        (["validate", "comp", "comp"], 2, "comp is not a file"),
        (["validate", "comp", "comp/public/val/targets.csv"], 1, "the header is 'id,target'"),
    ],
)
def test_mistakes_get_one_clear_message(arguments, code, message, host):
    result = run(*arguments, check=False)
    assert (result.code, message in result.text) == (code, True), result.text


def test_a_validation_as_json(host):
    assert json.loads(run("validate", "comp", "comp/public/sample_submission.csv", "--json").text) == {
        "valid": True,
        "problems": [],
    }
    Path("bad.csv").write_text("id,prediction\n")
    result = run("validate", "comp", "bad.csv", "--json", check=False)
    found = json.loads(result.text)
    assert (result.code, found["valid"]) == (1, False)
    assert "id 'cnn/test_0001' is missing" in found["problems"]
