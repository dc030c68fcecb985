import sqlite3
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from leaderboard.entry.select import select
from leaderboard.entry.submit import submit
from leaderboard.ledger.chain import COLUMNS, GENESIS, link
from leaderboard.ledger.ledger import Ledger
from leaderboard.ledger.rescore import rescore
from leaderboard.ledger.verify import verify
from submission import Competition, InvalidSubmission

Clock = Callable[[], datetime]


@pytest.fixture
def entered(competition: Competition, halves: Path, perfect: Path, clock: Clock) -> Competition:
    """Rows: submissions 1 and 2, an invalid submission 3, a choice, a correction, two scores, submission 4."""
    submit(competition, halves, "A", clock)
    submit(competition, perfect, "B", clock)
    bad = halves.with_name("bad.csv")
    bad.write_text("id,prediction\n")
    with pytest.raises(InvalidSubmission):
        submit(competition, bad, "A", clock)
    select(competition, "A", [1], clock)
    rescore(competition, {"cnn/test_0001": 0.5}, set(), "a mix-up", clock)
    submit(competition, halves, "A", clock)
    return competition


def ledger_of(competition: Competition) -> Ledger:
    return Ledger(competition.private / "ledger.sqlite")


def tamper(competition: Competition, *statements: str) -> None:
    """Run SQL with the triggers that keep rows from changes taken away."""
    connection = sqlite3.connect(competition.private / "ledger.sqlite")
    connection.executescript("DROP TRIGGER no_update; DROP TRIGGER no_delete;")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def test_a_ledger_as_it_was_is_whole(entered: Competition) -> None:
    found = verify(entered)
    assert (found.rows, found.submissions, found.problems) == (8, 4, ())
    assert found.head == ledger_of(entered).head()


def test_no_ledger_is_whole_too(competition: Competition) -> None:
    found = verify(competition)
    assert (found.rows, found.submissions, found.head, found.problems) == (0, 0, GENESIS, ())
    assert not (competition.private / "ledger.sqlite").exists()


CHANGES = (
    "team = 'C'",
    "team_id = 'x'",
    "time = '2025-01-01T00:00:00.000000+00:00'",
    "public = 0.5",
    "private = 0.5",
    "digest = 'a'",
    "solution = 'a'",
    "note = 'b'",
    "entry = 9",
    "nonce = ''",
)


def test_every_altered_and_every_removed_row_is_found(entered: Competition) -> None:
    path = ledger_of(entered).path
    whole = path.read_bytes()
    for number in range(1, 9):
        for change in CHANGES:
            tamper(entered, f"UPDATE events SET {change} WHERE number = {number}")
            assert verify(entered).problems == (f"row {number} was altered: its hash does not fit",)
            path.write_bytes(whole)
        tamper(entered, f"DELETE FROM events WHERE number = {number}")
        assert "8 rows were written, but there are 7: rows were removed" in verify(entered).problems
        path.write_bytes(whole)


def test_rows_that_changed_places_are_found(entered: Competition) -> None:
    tamper(
        entered,
        "UPDATE events SET number = -1 WHERE number = 2",
        "UPDATE events SET number = 2 WHERE number = 3",
        "UPDATE events SET number = 3 WHERE number = -1",
    )
    assert verify(entered).problems == (
        "row 2 was altered: its hash does not fit",
        "row 3 was altered: its hash does not fit",
        "row 4 does not follow the row before it",
    )


def rewrite(competition: Competition, keep: int) -> None:
    """What an organizer who cheats can do: the first rows with another score, in a chain that fits."""
    rows = [list(row[:-1]) for row in ledger_of(competition).rows()[:keep]]
    rows[0][COLUMNS.index("public")] = 0.1
    chained(competition, rows)


def chained(competition: Competition, rows: list[list]) -> None:
    """A ledger of these rows, in a chain that fits."""
    previous = GENESIS
    (competition.private / "ledger.sqlite").unlink()
    (competition.private / "head").unlink()
    with ledger_of(competition).transaction() as transaction:
        for row in rows:
            row[-1] = previous
            previous = link(row)
            places = ", ".join("?" * (len(COLUMNS) + 1))
            transaction._connection.execute(f"INSERT INTO events VALUES ({places})", [*row, previous])


@pytest.mark.parametrize("name", ["leaderboard.csv", "leaderboard.html", "leaderboard.md"])
def test_a_chain_written_anew_is_found_by_a_head_that_was_published(entered: Competition, name: str) -> None:
    head = ledger_of(entered).head()
    assert verify(entered, [head, ledger_of(entered).entries()[0].hash]).problems == ()
    rewrite(entered, keep=1)
    assert verify(entered, [head]).problems == (
        f"--head {head}: no row has this hash, so the chain was rewritten or cut",
    )
    (entered.root / name).write_text(f"the ledger's head {head}\n")
    assert verify(entered).problems == (
        f"{entered.root / name}, head {head}: no row has this hash, so the chain was rewritten or cut",
    )


def test_a_score_that_its_file_does_not_get_is_found_even_in_a_whole_chain(entered: Competition) -> None:
    rewrite(entered, keep=4)
    assert verify(entered).problems == ("submission 1 has another score than its file",)


def test_a_kept_file_that_is_missing_or_changed_is_found(entered: Competition) -> None:
    ledger = ledger_of(entered)
    first, second, third, _ = (ledger.file(entry) for entry in ledger.entries())
    second.unlink()
    third.write_text("")
    assert verify(entered).problems == (
        f"the file of submission 2 is missing: {second}",
        f"the file of submission 3 was changed: {third}",
    )
    first.write_text("id,prediction\n")
    assert len(verify(entered).problems) == 4


def test_rows_out_of_time_order_are_found(entered: Competition) -> None:
    """As releases wrote them that believed a clock that went back."""
    rows = [list(row[:-1]) for row in ledger_of(entered).rows()]
    rows[1][COLUMNS.index("time")] = "2025-01-01T00:00:00.000000+00:00"
    chained(entered, rows)
    assert verify(entered).problems == (
        "row 2 is of 2025-01-01T00:00:00.000000+00:00, before the row above it: a clock went back",
    )


def test_a_version_of_the_solution_that_is_missing_is_found(entered: Competition) -> None:
    version = ledger_of(entered).entries()[2].solution
    (entered.private / "solutions" / f"{version}.csv").unlink()
    assert verify(entered).problems == (f"the solution of submission 3 is not kept: {version}",)


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda path: path.write_bytes(b"no database" * 500), "is damaged (file is not a database)"),
        (lambda path: path.write_bytes(b""), "is not a ledger of version 2, but of 0"),
        (
            lambda path: sqlite3.connect(path).execute("DROP TABLE events"),
            "is damaged (no such table: events",
        ),
    ],
)
def test_a_file_that_is_no_ledger_is_a_problem_and_no_wrong_usage(
    entered: Competition, damage: Callable[[Path], object], told: str
) -> None:
    damage(ledger_of(entered).path)
    found = verify(entered)
    assert (found.rows, found.head, len(found.problems)) == (0, "unreadable", 1)
    assert told in found.problems[0]
