"""The solution: kept as it is, for its owner alone, and no message holds a label."""

import stat
from dataclasses import replace

import pytest

from submission.errors import UnusableInput
from submission.solution import SolutionRow, parse_solution, solution_bytes, write_solution

ROWS = (
    SolutionRow("m/a", 0.123456789, "Public", "m", "a", "seen"),
    SolutionRow("m/b", 1 / 3, "Private", "m", "b", "natural, few"),
)


def test_rows_are_read_back_as_they_were_by_their_owner_alone(tmp_path):
    path = tmp_path / "private" / "solution.csv"
    path.parent.mkdir(mode=0o755)
    write_solution(path, ROWS)
    assert parse_solution(path.read_bytes(), "solution", ["m/b", "m/a"]) == ROWS
    assert path.read_text().splitlines()[0] == "id,prediction,Usage,subject,set,group"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("field", "value"),
    [("id", "m/c"), ("prediction", 1.5), ("prediction", float("nan")), ("usage", "public"), ("group", " ")],
)
def test_a_wrong_field_makes_no_row(field, value):
    with pytest.raises(ValueError, match="no row of a solution") as caught:
        replace(ROWS[0], **{field: value})
    assert "1.5" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"id,", b"ids,"),
        (b"0.123456789", b"0.123456789x"),
        (b",Public", b""),
        (b"m/b,", b"m/a,"),
        (b"Public", b"Private"),
        (b'"natural', b'"nat"ural'),
        (b"seen", b"\xff"),
        (b"m/a,0.123456789,Public,m,a,seen\n", b""),
    ],
)
def test_a_damaged_solution_is_told_without_a_label(old, new):
    with pytest.raises(UnusableInput, match="damaged") as caught:
        parse_solution(solution_bytes(ROWS).replace(old, new), "solution", ["m/a", "m/b"])
    assert not any(label in str(caught.value) for label in ("123", "0.33"))
