"""The one-file scorer gives the kit's number and words on every platform, and tells nothing hidden."""

import ast
import sys
from zipfile import ZipFile

import pytest
from exports import START
from rules import with_rules

from leaderboard.export import PLATFORMS, rehearse
from leaderboard.export.program import scorer, scoring_files, write_private
from submission import UnusableInput
from submission.errors import InvalidSubmission
from submission.files import write_text
from submission.predictions import read_predictions, write_answer
from submission.scoring import score_parts, validate
from submission.solution import solution_of

PARTS = pytest.mark.parametrize(
    ("part", "labels"), [("public", "reference_public"), ("private", "reference_final")]
)


@pytest.fixture
def host(competition, tmp_path):
    write_private(tmp_path / "host", scoring_files(competition))
    return tmp_path / "host"


def test_it_is_one_file_of_pythons_own_library(competition, host):
    assert {path.name for path in (host / "scoring_program").iterdir()} == {"score.py", "metadata.yaml"}
    nodes = list(ast.walk(ast.parse(scorer(competition))))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


@pytest.mark.parametrize("name", ["mine.csv", "answer.txt", "answer.zip"])
@PARTS
def test_the_number_is_the_kits_and_the_order_the_right_one(
    competition, ranked, scored, tmp_path, name, part, labels
):
    fine = with_rules(competition, decimals=2)
    write_private(tmp_path / "host", scoring_files(fine))
    found = []
    for path in ranked.values():
        if name != "mine.csv":
            values = read_predictions(path, fine.ids("test"))
            path = path.with_name("answer.txt")
            write_answer(path, values)
        if name == "answer.zip":
            with ZipFile(path.with_name(name), "w") as archive:
                archive.write(path, "answer.txt")
            path = path.with_name(name)
        files = {name: path.read_bytes(), "metadata": b"x", ".DS_Store": b"", "__MACOSX/._a": b"x"}
        code, _, scores = scored(tmp_path / "host/scoring_program", tmp_path / "host" / labels, files)
        expected = score_parts(validate(fine, path), solution_of(fine))[part]
        assert (code, scores) == (0, {"rmse": round(expected, 2)})
        found.append(expected)
    assert found == sorted(found), "oracle, baseline, constant: lower is better"


def test_an_invalid_file_is_told_what_the_kit_tells(competition, host, scored, tmp_path):
    data = b"id,prediction\ncnn/test_0001,91\nx/y,a\n"
    (tmp_path / "a.csv").write_bytes(data)
    with pytest.raises(InvalidSubmission) as caught:
        validate(competition, tmp_path / "a.csv")
    code, printed, scores = scored(host / "scoring_program", host / "reference_public", {"a.csv": data})
    assert (code, scores) == (1, None)
    assert printed == f"{caught.value}\n".replace(f"{tmp_path}/", "")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"metadata": b""}, "holds nothing"),
        ({"a.csv": b"", "b.csv": b""}, "holds 'a.csv', 'b.csv'"),
        ({"folder/a.csv": b""}, "one regular file"),
        ({"a.csv": b" " * (2 << 20)}, "too large"),
    ],
)
def test_what_is_no_submission_gets_no_score(host, scored, files, message):
    code, printed, scores = scored(host / "scoring_program", host / "reference_public", files)
    assert (code, scores) == (1, None)
    assert message in printed
    assert "Traceback" not in printed


def test_a_link_to_the_solution_is_not_followed(host, scored, tmp_path):
    (tmp_path / "app0/input/res").mkdir(parents=True)
    (tmp_path / "app0/input/res/mine.csv").symlink_to("../ref/targets.csv")
    (tmp_path / "app0").rename(tmp_path / "app1")
    code, printed, scores = scored(host / "scoring_program", host / "reference_public", {})
    assert (code, scores) == (1, None)
    assert "regular file" in printed


def test_the_platforms_own_faults_tell_no_label(host, ranked, scored):
    files = {"a.csv": ranked["constant"].read_bytes()}
    write_text(host / "reference_public/targets.csv", "id,target\ncnn/test_0001,0.9oops\n")
    code, printed, scores = scored(host / "scoring_program", host / "reference_public", files)
    assert (code, scores) == (2, None)
    assert printed == "the scoring program failed (ValueError): tell the organizers\n"


@pytest.mark.slow
@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_rehearsal_tells_good_bad_and_empty_files_apart(competition, platform):
    shown = dict(rehearse(competition, platform, START))
    kinds = ("good", "bad", "empty")
    assert list(shown) == [f"{kind}, {part}" for part in ("public", "private") for kind in kinds]
    for part in ("public", "private"):
        assert shown[f"good, {part}"] == "rmse: 0.0"
        assert "1 problem | line 9" in shown[f"bad, {part}"]
        assert "empty" in shown[f"empty, {part}"]
    with pytest.raises(UnusableInput, match="codabench"):
        rehearse(competition, "moon", START)
