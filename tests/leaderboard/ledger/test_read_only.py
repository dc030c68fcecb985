"""A copy that cannot be written is verified, listed and published elsewhere as it lies."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest

from leaderboard.board.history import history
from leaderboard.board.publish import publish
from leaderboard.entry.submit import submit
from leaderboard.ledger.ledger import Ledger
from leaderboard.ledger.rescore import rescore
from leaderboard.ledger.verify import verify
from submission import Competition, UnusableInput

Clock = Callable[[], datetime]
NOBODY = 65534


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that other users reach, unlike pytest's."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)  # noqa: PTH101
        yield Path(name)


@pytest.fixture
def elsewhere(folder: Path) -> Path:
    """A folder that the reader can write to."""
    path = folder / "elsewhere"
    path.mkdir()
    path.chmod(0o777)
    return path


@pytest.fixture(params=[False, True], ids=["plain", "corrected"])
def locked(
    request: pytest.FixtureRequest, competition: Competition, halves: Path, clock: Clock, elsewhere: Path
) -> Iterator[Competition]:
    """A copy of a competition with a submission, for a user who may only read it."""
    submit(competition, halves, "A", clock)
    if request.param:
        rescore(competition, {"cnn/test_0001": 0.5}, (), "r", clock)
    publish(competition)
    (competition.private / "predictions.bin").unlink()
    copy = Competition.open(shutil.copytree(competition.root, elsewhere.with_name("copy")))
    paths = [copy.root, *copy.root.rglob("*")]
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    root = os.getuid() == 0
    if root:  # who may write anything
        os.seteuid(NOBODY)
    yield copy
    if root:
        os.seteuid(0)
    for path in paths:
        path.chmod(0o755)


def test_it_is_verified_listed_and_published_elsewhere(locked: Competition, elsewhere: Path) -> None:
    before = sorted(locked.root.rglob("*"))
    assert Ledger(locked.private / "ledger.sqlite").read_only()
    assert verify(locked).problems == ()
    (line,) = history(locked)
    assert line.rmse["public"] == line.entry.public
    published = publish(locked, out=elsewhere)
    assert [standing.name for standing in published.standings] == ["A"]
    assert published.html.parent == elsewhere
    names = ["leaderboard.csv", "leaderboard.html", "leaderboard.md"]
    assert sorted(path.name for path in elsewhere.iterdir()) == names
    assert (elsewhere / "leaderboard.csv").read_bytes() == (locked.root / "leaderboard.csv").read_bytes()
    assert sorted(locked.root.rglob("*")) == before


def test_nothing_can_be_added_to_it(locked: Competition, halves: Path, clock: Clock, elsewhere: Path) -> None:
    mine = elsewhere / "mine.csv"
    mine.write_text((locked.root / "public/sample_submission.csv").read_text())
    with pytest.raises(UnusableInput, match="cannot be written: this copy is for reading"):
        submit(locked, mine, "B", clock)
