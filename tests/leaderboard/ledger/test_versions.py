import hashlib
import shutil
import stat
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from leaderboard.board.publish import publish
from leaderboard.entry.submit import submit
from leaderboard.ledger.ledger import Ledger
from leaderboard.ledger.rescore import rescore
from leaderboard.ledger.verify import verify
from submission import Competition, UnusableInput
from submission.seal import replace_solution
from submission.solution import solution_of

Clock = Callable[[], datetime]


def ledger_of(competition: Competition) -> Ledger:
    return Ledger(competition.private / "ledger.sqlite")


def test_every_version_is_kept_for_the_organizer_alone(
    competition: Competition, halves: Path, clock: Clock
) -> None:
    built = (competition.private / "solution.csv").read_bytes()
    first = rescore(competition, {"cnn/test_0001": 0.5}, set(), "one", clock)
    second = rescore(competition, {"cnn/test_0001": 0.4}, set(), "two", clock)
    files = list((competition.private / "solutions").iterdir())
    digests = {hashlib.sha256(built).hexdigest(), first.solution, second.solution}
    assert {path.stem for path in files} == digests
    assert all(hashlib.sha256(path.read_bytes()).hexdigest() == path.stem for path in files)
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    notes = [row[12] for row in ledger_of(competition).rows()]
    assert notes == ["one", "two"]


def stop(*arguments: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("function", ["replacing", "write_seal"])
def test_stopped_after_it_is_recorded_it_is_finished_by_whoever_comes_next(
    competition: Competition, halves: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    submit(competition, halves, "A", clock)
    with monkeypatch.context() as patch:
        patch.setattr(f"submission.seal.{function}", stop)
        with pytest.raises(KeyboardInterrupt):
            rescore(competition, {"cnn/test_0001": 0.5}, set(), "r", clock)
    backup = competition.root.with_name("backup")
    shutil.copytree(competition.root, backup)
    assert submit(competition, halves, "B", clock).answer.score == 15.81
    for found in (competition, Competition.open(backup)):
        assert publish(found).standings[0].score.rmse == 15.81
        assert verify(found).problems == ()
        assert solution_of(found)[0].prediction == 0.5


def test_a_solution_that_the_ledger_does_not_know_is_refused(
    competition: Competition, halves: Path, clock: Clock
) -> None:
    submit(competition, halves, "A", clock)
    rescore(competition, {"cnn/test_0001": 0.5}, set(), "r", clock)
    shutil.rmtree(competition.private / "solutions")
    solution = competition.private / "solution.csv"
    solution.write_text(solution.read_text().replace("0.5", "0.6", 1))
    replace_solution(competition.root, solution.read_bytes())
    with pytest.raises(UnusableInput, match=r"solution\.csv is not the version [0-9a-f]{12} that the ledger"):
        submit(competition, halves, "A", clock)
