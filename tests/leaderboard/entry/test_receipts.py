"""What a team gets for its submissions, and its own history of them in a copy without labels."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from rules import with_rules

from leaderboard.board.history import history, history_table
from leaderboard.board.publish import publish
from leaderboard.entry.receipts import read_receipts, receipt_file, receipts_table
from leaderboard.entry.submit import submit
from leaderboard.ledger.ledger import Ledger
from leaderboard.ledger.verify import verify
from submission import Competition, InvalidSubmission, UnusableInput

Clock = Callable[[], datetime]


@pytest.fixture
def mine(competition: Competition, halves: Path, perfect: Path, clock: Clock) -> Competition:
    """A participant's copy with the receipts of Team A: halves, an invalid file; and one of B."""
    submit(competition, halves, "Team A", clock, note="all halves <b>")
    submit(competition, perfect, "B", clock)
    copy = replace(competition, root=competition.root.with_name("mine"))
    shutil.copytree(competition.public, copy.public)
    (copy.root / "submissions").mkdir()
    shutil.copy(halves, copy.root / "submissions/halves.csv")
    halves.write_text("")
    with pytest.raises(InvalidSubmission):
        submit(competition, halves, "team a", clock)
    shutil.copytree(receipt_file(competition, 1).parent, copy.root / "receipts")
    return copy


def test_a_receipt_holds_what_was_told_and_the_rows_hash(
    competition: Competition, halves: Path, clock: Clock
) -> None:
    submit(competition, halves, "Team A", clock, note="  first try ")
    kept = json.loads(receipt_file(competition, 1).read_text())
    (entry,) = Ledger(competition.private / "ledger.sqlite").entries()
    assert kept == {
        "competition": competition.name,
        "number": 1,
        "team": "Team A",
        "time": "2026-01-01T01:00:00+00:00",
        "file": entry.digest,
        "note": "first try",
        "row": entry.hash,
        "score": 25.5,
        "stands": 1,
        "told": "public RMSE 25.50 points",
        "rows": 4,
        "left": None,
        "same": None,
    }
    submit(competition, halves, "B", clock)
    assert verify(competition, [kept["row"]]).problems == ()
    assert receipt_file(competition, 1).parent.stat().st_mode & 0o777 == 0o700


def test_no_receipt_tells_more_than_the_team_heard(
    competition: Competition, halves: Path, clock: Clock
) -> None:
    quiet = with_rules(competition, feedback="ladder")
    submit(quiet, halves, "A", clock)
    submit(quiet, halves, "A", clock)
    kept = json.loads(receipt_file(quiet, 2).read_text())
    first = json.loads(receipt_file(quiet, 1).read_text())
    assert kept["score"] == first["score"]
    assert "private" not in "".join(kept)


def test_a_teams_own_history_without_labels(mine: Competition) -> None:
    assert not mine.private.exists()
    lines = receipts_table(mine, read_receipts(mine, "TEAM A")).splitlines()
    assert lines[0].split("  ")[0] == "number"
    assert [" ".join(line.split()) for line in lines[1:3]] == [
        "1 2026-01-01 01:00:00 Team A submissions/halves.csv public RMSE 25.50 points all halves <b>",
        "3 2026-01-01 03:00:00 team a e3b0c44298fc invalid",
    ]
    assert [record["number"] for record in read_receipts(mine)] == [1, 2, 3]
    with pytest.raises(UnusableInput, match=r"receipts has no receipt of team 'C': put the \.json files"):
        read_receipts(mine, "C")


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"number": 1}', "[" * 100_000, "\x00", '{"competition": "other"'],
)
def test_other_files_are_no_receipts(mine: Competition, text: str) -> None:
    (mine.root / "receipts/0009.json").write_text(text)
    with pytest.raises(UnusableInput, match=r"0009\.json: not a receipt of a submission: remove it"):
        read_receipts(mine)


def test_a_receipt_of_another_competition_is_refused(mine: Competition) -> None:
    path = mine.root / "receipts/0001.json"
    path.write_text(path.read_text().replace(mine.name, "another"))
    with pytest.raises(UnusableInput, match=rf"0001\.json: not a receipt of a submission to {mine.name}"):
        read_receipts(mine)


def test_a_receipt_of_half_a_character_is_refused(mine: Competition) -> None:
    path = mine.root / "receipts/0001.json"
    path.write_text(path.read_text().replace('"team": "', r'"team": "\ud800'))
    with pytest.raises(UnusableInput, match=r"0001\.json: not a receipt of a submission: remove it"):
        read_receipts(mine)


@pytest.mark.parametrize("note", ["two\nlines", "\x1b[2J", "\u202eeman", "x" * 201, "\udc80"])
def test_a_note_is_a_short_printable_line(
    competition: Competition, halves: Path, clock: Clock, note: str
) -> None:
    with pytest.raises(UnusableInput, match="--note must be a line of up to 200 printable characters"):
        submit(competition, halves, "A", clock, note=note)
    assert Ledger(competition.private / "ledger.sqlite").entries() == ()


def test_a_note_is_the_organizers_and_the_teams_and_stands_on_no_board(
    competition: Competition, halves: Path, clock: Clock
) -> None:
    submit(competition, halves, "A", clock, note="temperature 1.7")
    submit(competition, halves, "B", clock)
    header, first, second, _ = history_table(history(competition), 2).splitlines()
    assert header.endswith("  note")
    assert first.endswith("  temperature 1.7")
    assert second.endswith("22.91")
    assert verify(competition).problems == ()
    publish(competition, clock())
    written = [path for path in competition.root.glob("leaderboard*") if path.is_file()]
    assert len(written) >= 4
    assert not any("temperature" in path.read_text() for path in written)


def test_a_submission_counts_where_its_receipt_cannot_be_written(
    competition: Competition, halves: Path, clock: Clock
) -> None:
    (competition.root / "receipts").write_text("a file is in the way")
    assert submit(competition, halves, "A", clock).number == 1
    assert len(Ledger(competition.private / "ledger.sqlite").entries()) == 1
