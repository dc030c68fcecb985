import shutil
import subprocess
from pathlib import Path

import pytest

from submission import Competition, UnusableInput, score_submission, write_predictions
from submission import competition as competition_module
from submission.solution import solution_of


def test_the_seal_is_what_sha256sum_checks(competition: Competition) -> None:
    command = ["sha256sum", "--check", "--strict", "private/seal.sha256"]
    checked = subprocess.run(command, cwd=competition.root, capture_output=True, text=True, check=True)
    assert checked.stdout == "private/solution.csv: OK\npublic/competition.json: OK\n"


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
        ("public/competition.json", '"decimals": 2', '"decimals": 9'),
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
    with pytest.raises(UnusableInput, match=f"{file} is not the file that the build sealed .*: {mend}"):
        score_submission(Competition.open(competition.root), tmp_path / "a.csv")
    path.write_text(text)
    assert repr(score_submission(competition, tmp_path / "a.csv")) == before


@pytest.mark.parametrize("seal", ["", "\xff\x00", "0  private/solution.csv\n", "x" * 10_000])
def test_a_damaged_seal_seals_nothing(competition: Competition, seal: str) -> None:
    (competition.private / "seal.sha256").write_text(seal)
    with pytest.raises(UnusableInput, match=r"competition\.json is not the file that the build sealed"):
        solution_of(competition)


def test_a_missing_seal_is_told(competition: Competition) -> None:
    (competition.private / "seal.sha256").unlink()
    with pytest.raises(UnusableInput, match=r"seal\.sha256 is missing: restore it from a backup, or remove"):
        solution_of(competition)


def test_stopped_between_seal_and_description_the_competition_is_not_finished(
    competition: Competition, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = competition.public / "competition.json"
    path.unlink()
    (competition.private / "seal.sha256").unlink()

    def stop(path: Path, text: str) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(competition_module, "write_text", stop)
        with pytest.raises(KeyboardInterrupt):
            competition.save()
    assert (competition.private / "seal.sha256").exists()
    with pytest.raises(UnusableInput, match="only half built: run the same `unseen build` again"):
        Competition.open(competition.root)
    competition.save()
    assert len(solution_of(Competition.open(competition.root))) == 8
