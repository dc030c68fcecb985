import shutil
from pathlib import Path

import pytest

from submission import Competition, UnusableInput, score_submission, write_predictions
from submission import competition as competition_module
from submission.solution import solution_of


def test_a_participants_copy_gets_no_seal(competition: Competition) -> None:
    shutil.rmtree(competition.private)
    competition.save()
    assert not competition.private.exists()


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("private/solution.csv", "0.9", "0.1"),
        ("private/solution.csv", "\n", "\r\n"),
        ("private/solution.csv", "Public", "Private"),
        ("public/competition.json", '"decimals": 2', '"decimals": 0'),
        ("public/competition.json", '"test_0001": 100', '"test_0001": 101'),
    ],
)
def test_nobody_is_scored_with_a_changed_file(
    competition: Competition, tmp_path: Path, file: str, old: str, new: str
) -> None:
    write_predictions(tmp_path / "a.csv", dict.fromkeys(competition.ids("test"), 0.5))
    before = repr(score_submission(competition, tmp_path / "a.csv"))
    path = competition.root / file
    text = path.read_text()
    path.write_bytes(text.replace(old, new).encode())
    mend = r"restore it from a backup, or remove .*competition\.json and run the same `unseen build` again"
    with pytest.raises(UnusableInput, match=f"{file} is not the file that the build recorded .*: {mend}"):
        score_submission(Competition.open(competition.root), tmp_path / "a.csv")
    path.write_text(text)
    assert repr(score_submission(competition, tmp_path / "a.csv")) == before


@pytest.mark.parametrize("record", ["", "\xff\x00", "{}", '{"sha256": []}'])
def test_a_damaged_record_seals_nothing(competition: Competition, record: str) -> None:
    (competition.private / "build.json").write_text(record)
    with pytest.raises(UnusableInput, match=r"competition\.json is not the file that the build recorded"):
        solution_of(competition)


def test_stopped_between_seal_and_description_the_competition_is_not_finished(
    competition: Competition, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = competition.public / "competition.json"
    path.unlink()
    (competition.private / "build.json").unlink()

    def stop(path: Path, text: str) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(competition_module, "write_text", stop)
        with pytest.raises(KeyboardInterrupt):
            competition.save()
    assert (competition.private / "build.json").exists()
    with pytest.raises(UnusableInput, match="run the same `unseen build` again"):
        Competition.open(competition.root)
    competition.save()
    assert len(solution_of(Competition.open(competition.root))) == 8
