import stat
from dataclasses import replace
from pathlib import Path

import pytest

from submission.errors import UnusableInput
from submission.solution import SolutionRow, read_solution, write_solution

ROWS = (
    SolutionRow("m/a", 0.123456789, "Public", "m", "a", "seen"),
    SolutionRow("m/b", 1 / 3, "Private", "m", "b", "natural, few"),
)


def test_rows_are_read_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "private" / "solution.csv"
    write_solution(path, ROWS)
    assert read_solution(path, ["m/b", "m/a"]) == ROWS
    assert path.read_text().splitlines()[0] == "id,prediction,Usage,subject,set,group"


def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "private" / "solution.csv"
    path.parent.mkdir(mode=0o755)
    write_solution(path, ROWS)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("id", "m/c", "'m/c' is not that of subject 'm' and set 'a'"),
        ("prediction", 1.5, r"must be a float in \[0, 1\]"),
        ("prediction", float("nan"), r"must be a float in \[0, 1\]"),
        ("usage", "public", "must be one of Public, Private, Ignored, got 'public'"),
        ("group", " ", "must be a line of text, got ' '"),
    ],
)
def test_a_wrong_field_is_named(field: str, value: object, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{field}: {message}") as caught:
        replace(ROWS[0], **{field: value})
    assert "1.5" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("id,", "ids,", "its first line must be id,prediction"),
        ("0.123456789", "0.123456789x", "line 2 is not a row of a solution"),
        ("0.123456789", "123.456789", "line 2 is not a row of a solution"),
        (",Public", "", "line 2 is not a row of a solution"),
        ("m/a,", "m/c,", "line 2 is not a row of a solution"),
        (",b,", ",a,", "line 3 is not a row of a solution"),
        ("Public", "Private", "no row has the Usage Public"),
        ("Private", "Public", "no row has the Usage Private"),
        ('"natural', '"nat"ural', "it is not CSV"),
        ("m/b,", "m/a,", "line 3 is not a row of a solution"),
    ],
)
def test_a_damaged_solution_is_told_without_a_label(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "solution.csv"
    write_solution(path, ROWS)
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(UnusableInput, match=message) as caught:
        read_solution(path, ["m/a", "m/b"])
    assert "123" not in str(caught.value)
    assert "0.33" not in str(caught.value)


@pytest.mark.parametrize("ids", [["m/a"], ["m/a", "m/b", "m/c"], ["m/a", "m/c"]])
def test_a_solution_of_other_sets_is_refused(tmp_path: Path, ids: list[str]) -> None:
    write_solution(tmp_path / "solution.csv", ROWS)
    with pytest.raises(UnusableInput, match="its ids are not those of the test sets"):
        read_solution(tmp_path / "solution.csv", ids)


def test_an_empty_or_missing_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "solution.csv"
    with pytest.raises(UnusableInput, match="cannot be read: No such file"):
        read_solution(path, [])
    path.touch()
    with pytest.raises(UnusableInput, match="its first line must be"):
        read_solution(path, [])
