from pathlib import Path

import pytest
from large import large_competition

from leaderboard.board.part import families_of
from submission import UnusableInput
from submission.solution import solution_of


def test_families_come_from_the_record_of_the_build(tmp_path: Path) -> None:
    competition = large_competition(tmp_path / "contest")
    public = [row for row in solution_of(competition) if row.usage == "Public"]
    families = families_of(competition, public)
    assert len(families) == 8
    assert families.sizes.tolist() == [3.0] * 8
    assert sorted(families.strata.tolist()) == [0] * 4 + [1] * 4


def test_without_a_record_every_set_is_a_family_whatever_sees_it(tmp_path: Path) -> None:
    competition = large_competition(tmp_path / "contest")
    (competition.private / "build.json").unlink()
    assert len(families_of(competition, solution_of(competition))) == 60


@pytest.mark.parametrize("text", ["{", "[]", '{"test": [{}]}', '{"test": [{"recipe": "x", "family": "y"}]}'])
def test_a_damaged_record_is_named(tmp_path: Path, text: str) -> None:
    competition = large_competition(tmp_path / "contest")
    (competition.private / "build.json").write_text(text)
    with pytest.raises(UnusableInput, match=r"build\.json is damaged .*: restore it from a backup"):
        families_of(competition, solution_of(competition))
