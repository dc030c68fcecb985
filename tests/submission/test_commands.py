"""`validate` and `pack`."""

from pathlib import Path

import pytest
from command_line import run


def test_a_participant_is_not_told_to_score(folder):
    Path("contest/private").rename("kept")
    assert run("validate", "contest", "contest/public/sample_submission.csv").text == "valid\n"
    assert run("pack", "contest").text == f"{folder / 'contest.zip'}\n"


def test_a_file_that_cannot_be_written_is_named(folder):
    Path("taken.zip").mkdir()
    Path("file").touch()
    result = run("pack", "contest", "--out", "taken.zip", check=False)
    assert (result.code, result.text) == (2, "error: taken.zip is a folder: name a file\n")
    result = run("pack", "contest", "--out", "file/a.zip", check=False)
    assert (result.code, result.text.startswith("error: "), "file" in result.text) == (2, True, True)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["validate", "nowhere", "x.csv"], 2, "nowhere"),
        (["validate", "contest", "nowhere.csv"], 2, "nowhere.csv cannot be read"),
        (["validate", "contest", "contest"], 2, "contest is not a file"),
        (["validate", "contest", "contest/public/train/targets.csv"], 1, "the header is 'id,target'"),
    ],
)
def test_mistakes_get_one_clear_message(arguments, code, message, folder):
    result = run(*arguments, check=False)
    assert (result.code, message in result.text) == (code, True), result.text
