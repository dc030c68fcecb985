import hashlib
import io
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest
from predicted import as_predicted
from rules import with_rules

from leaderboard.board.history import history
from leaderboard.board.publish import publish
from leaderboard.entry.select import select
from leaderboard.entry.submit import submit
from leaderboard.ledger.ledger import Ledger
from leaderboard.ledger.rescore import rescore
from leaderboard.ledger.verify import verify
from submission import Competition, InvalidSubmission, UnusableInput, write_predictions
from submission.scoring import parse_submission
from submission.seal import replace_solution
from submission.solution import solution_bytes, solution_of

Clock = Callable[[], datetime]


def test_a_submission_is_scored_and_entered(competition: Competition, halves: Path, clock: Clock) -> None:
    found = submit(competition, halves, "Team A", clock)
    assert (found.number, found.answer.score, found.rows, found.left) == (1, 25.5, 4, None)
    (row,) = Ledger(competition.private / "ledger.sqlite").entries()
    assert (row.team, row.status, row.scorer) == ("Team A", "scored", "rmse-points/1")
    assert row.time == datetime(2026, 1, 1, 1, tzinfo=timezone.utc)
    assert row.digest == hashlib.sha256(halves.read_bytes()).hexdigest()
    assert row.public == pytest.approx(650**0.5, abs=1e-12)
    assert row.private == pytest.approx(825**0.5, abs=1e-12)


def test_an_invalid_submission_is_entered_and_told(
    competition: Competition, halves: Path, clock: Clock
) -> None:
    halves.write_text(halves.read_text().replace("0.5", "nan"))
    entered = "8 problems; entered as submission 1; invalid ones count too\n"
    with pytest.raises(InvalidSubmission, match=entered):
        submit(competition, halves, "Team A", clock)
    with halves.open("r+b") as stream:
        stream.truncate(1 << 30)
    with pytest.raises(InvalidSubmission, match="too large"):
        submit(competition, halves, "Team A", clock)
    rows = Ledger(competition.private / "ledger.sqlite").entries()
    assert [row.status for row in rows] == ["invalid", "invalid"]
    assert [len(row.digest) for row in rows] == [64, 0]
    assert publish(competition).standings == ()
    assert Ledger(competition.private / "ledger.sqlite").file(rows[0]).read_bytes().count(b"nan") == 8


def test_the_scores_of_a_golden_leaderboard(competition: Competition, tmp_path: Path, clock: Clock) -> None:
    """Public targets .9 .5 .8 .6, predicted .8 .6 .9 .4: errors 10 10 10 20 points."""
    predicted = dict.fromkeys(competition.ids("test"), 0.0)
    predicted |= {"cnn/test_0001": 0.8, "cnn/test_0003": 0.6, "vit:b/test_0001": 0.9, "vit:b/test_0003": 0.4}
    write_predictions(tmp_path / "a.csv", predicted)
    assert submit(competition, tmp_path / "a.csv", "a", clock).answer.score == 13.23


@pytest.mark.parametrize(
    "team", ["fd", "FD", "F.D.", "fd (baseline)", "constant", "Constant", "ora a", "Ｏｒａ－A"]
)
def test_no_team_takes_the_name_of_a_baseline(
    competition: Competition, halves: Path, clock: Clock, team: str
) -> None:
    for name in ("fd", "ora-a"):
        write_predictions(
            competition.root / "submissions" / f"{name}.csv", dict.fromkeys(competition.ids("test"), 0.4)
        )
    as_predicted(competition)
    with pytest.raises(UnusableInput, match=r"team name .* reads like the baseline '(fd|constant|ora-a)'"):
        submit(competition, halves, team, clock)
    assert Ledger(competition.private / "ledger.sqlite").entries() == ()


@pytest.mark.parametrize("team", ["A.", "A-", "(a)", "a ."])
def test_no_team_takes_a_name_that_reads_like_another_teams(
    competition: Competition, halves: Path, clock: Clock, team: str
) -> None:
    submit(competition, halves, "A", clock)
    with pytest.raises(UnusableInput, match=r"reads like team 'A': use that or another name"):
        submit(competition, halves, team, clock)
    assert submit(competition, halves, "a", clock).number == 2
    assert submit(competition, halves, "A B", clock).number == 3


def test_no_team_takes_a_name_with_another_teams_id(
    competition: Competition, halves: Path, clock: Clock
) -> None:
    """SHA-256 begins with the same 40 bits for these two names."""
    submit(competition, halves, "team 715633", clock)
    with pytest.raises(UnusableInput, match=r"'team 1597333' has the id of team 'team 715633'"):
        submit(competition, halves, "team 1597333", clock)
    with pytest.raises(UnusableInput, match=r"has the id of team"):
        select(competition, "team 1597333", [1], clock)


def test_a_submission_that_cannot_be_answered_is_told_to_be_entered(
    competition: Competition, halves: Path, clock: Clock
) -> None:
    ladder = with_rules(competition, feedback="ladder")
    (competition.private / "build.json").write_text("{")
    with pytest.raises(
        UnusableInput, match=r"^submission 1 is entered, but cannot be answered now: .*build.json"
    ):
        submit(ladder, halves, "A", clock)
    assert [entry.status for entry in Ledger(competition.private / "ledger.sqlite").entries()] == ["scored"]
    assert '"told": "entered"' in (competition.root / "receipts/0001.json").read_text()


def test_a_file_for_the_validation_sets_is_told_as_one(
    competition: Competition, tmp_path: Path, clock: Clock
) -> None:
    write_predictions(tmp_path / "val.csv", dict.fromkeys(competition.ids("val"), 0.5))
    with pytest.raises(InvalidSubmission, match="these are predictions for the validation sets"):
        submit(competition, tmp_path / "val.csv", "Team", clock)


def test_invalid_submissions_count_and_what_is_over_the_limit_is_not_entered(
    competition: Competition, halves: Path, clock: Clock
) -> None:
    limited = with_rules(competition, daily_limit=3, total_limit=100)
    bad = halves.with_name("bad.csv")
    bad.write_text("id,prediction\n")
    entered = "8 problems; entered as submission 1; invalid ones count too, 2 left today\n"
    with pytest.raises(InvalidSubmission, match=entered):
        submit(limited, bad, "Team A", clock)
    assert [submit(limited, halves, team, clock).left for team in ("Team A", "team a", "Team B")] == [1, 0, 2]
    for path in (halves, bad):
        with pytest.raises(UnusableInput, match=r"team 'Team A' has made its 3 submissions of 2026-01-01"):
            submit(limited, path, "Team A", clock)
    ledger = Ledger(competition.private / "ledger.sqlite")
    assert [entry.team for entry in ledger.entries()] == ["Team A", "Team A", "team a", "Team B"]
    tomorrow = datetime(2026, 1, 2, tzinfo=timezone.utc)
    assert submit(limited, halves, "Team A", lambda: tomorrow).left == 2


def test_a_clock_that_goes_back_opens_nothing_again(competition: Competition, halves: Path) -> None:
    limited = with_rules(competition, daily_limit=2, deadline=datetime(2026, 1, 3, tzinfo=timezone.utc))
    days = [datetime(2026, 1, day, 12, tzinfo=timezone.utc) for day in (1, 2, 3)]
    submit(limited, halves, "A", lambda: days[1])
    assert submit(limited, halves, "A", lambda: days[0]).left == 0
    with pytest.raises(UnusableInput, match="has made its 2 submissions of 2026-01-02"):
        submit(limited, halves, "A", lambda: days[0])
    ledger = Ledger(competition.private / "ledger.sqlite")
    assert [entry.time for entry in ledger.entries()] == [days[1], days[1]]
    with ledger.transaction() as transaction:  # a row after the end, as a correction is
        transaction.rescore(days[2], "ab" * 32, "r", {}, "s")
    with pytest.raises(UnusableInput, match=r"the deadline of .* was 2026-01-03"):
        submit(limited, halves, "B", lambda: days[1])
    with pytest.raises(UnusableInput, match=r"the deadline of .* was 2026-01-03"):
        select(limited, "A", [1], lambda: days[1])


@pytest.mark.parametrize("kind", ["link", "pipe", "device", "folder"])
def test_only_a_regular_file_is_handed_in(competition: Competition, halves: Path, kind: str) -> None:
    """A link might lead to another team's file, and to open a pipe would wait for a writer."""
    path = halves.with_name("mine.csv")
    if kind == "link":
        path.symlink_to(halves)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path = Path("/dev/zero")
    told = "is a symbolic link: hand in the file itself" if kind == "link" else "is not a file"
    with pytest.raises(UnusableInput, match=f"{path} {told}"):
        submit(competition, path, "A", lambda: datetime.now(timezone.utc))
    assert not (competition.private / "ledger.sqlite").exists()


def test_what_becomes_a_pipe_or_a_link_before_it_is_opened_is_judged_by_what_was_opened(
    competition: Competition, halves: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, real = halves.with_name("mine.csv"), os.open

    def swap(make: Callable[[Path], object]) -> Callable[..., int]:
        def opened(name: Path, flags: int, mode: int = 0o777) -> int:
            if name == path:
                path.unlink()
                make(path)
            return real(name, flags, mode)

        return opened

    for make, told in (
        (os.mkfifo, "is not a file"),
        (lambda path: path.symlink_to(halves), "cannot be read: Too many levels of symbolic links"),
    ):
        path.unlink(missing_ok=True)
        path.write_bytes(halves.read_bytes())
        with monkeypatch.context() as patch:
            patch.setattr(os, "open", swap(make))
            with pytest.raises(UnusableInput, match=f"mine.csv {told}"):
                submit(competition, path, "A", lambda: datetime.now(timezone.utc))


ZIP_NAMES = ("mine.zip", "mine.csv", "answer.txt", "mine")


@pytest.mark.parametrize("name", ZIP_NAMES)
def test_a_zip_with_bytes_before_it_is_none_on_arrival_as_when_it_is_kept(
    competition: Competition, halves: Path, clock: Clock, name: str
) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("mine.csv", halves.read_text())
    path = halves.with_name(name)
    path.write_bytes(b"MZ" + stream.getvalue())
    with pytest.raises(InvalidSubmission):
        submit(competition, path, "A", clock)
    submit(competition, halves, "B", clock)
    assert rescore(competition, {"cnn/test_0001": 0.5}, (), "r", clock).entries == 1
    assert [line.entry.status for line in history(competition)] == ["invalid", "scored"]
    assert verify(competition).problems == ()


def forms(values: dict[str, float]) -> dict[str, bytes]:
    """The same predictions in every form, and files that are none."""
    text = "id,prediction\n" + "".join(f"{name},{value}\n" for name, value in values.items())
    answer = "".join(f"{value}\n" for value in values.values())
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("mine.csv", text)
    zipped = stream.getvalue()
    return {
        "csv": text.encode(),
        "answer": answer.encode(),
        "zip": zipped,
        "prefixed": b"ab" + zipped,
        "short": answer.encode()[:-4],
        "wrong first": b"nan" + answer.encode()[3:],
        "empty": b"",
    }


@pytest.mark.parametrize("form", ["csv", "answer", "zip", "prefixed", "short", "wrong first", "empty"])
def test_the_content_alone_says_what_a_file_is(competition: Competition, form: str) -> None:
    data = forms(dict.fromkeys(competition.ids("test"), 0.5))[form]
    found = set()
    for name in ("a.csv", "a.zip", "answer.txt", "a.TXT", "a.exe", "f" * 64):
        try:
            found.add(str(parse_submission(competition, data, Path(name))))
        except InvalidSubmission:
            found.add("invalid")
    assert len(found) == 1
    assert (found == {"invalid"}) == (form not in ("csv", "answer", "zip"))


def test_a_file_over_the_limit_is_not_kept(competition: Competition, halves: Path, clock: Clock) -> None:
    limited = with_rules(competition, total_limit=1)
    submit(limited, halves, "a", clock)
    halves.write_text(halves.read_text().replace("0.5", "0.4"))
    with pytest.raises(UnusableInput, match="has made all of its 1 submissions"):
        submit(limited, halves, "a", clock)
    assert len(list((competition.private / "submissions").iterdir())) == 1


def test_messages_and_files_do_not_depend_on_hidden_labels(
    competition: Competition, halves: Path, clock: Clock, tmp_path: Path
) -> None:
    """What a team sees of an invalid file is the same under other labels."""
    halves.write_text(halves.read_text().replace("0.5", "2", 1))
    other = Competition.open(shutil.copytree(competition.root, tmp_path / "other"))
    rows = [replace(row, prediction=1 - row.prediction) for row in solution_of(other)]
    replace_solution(other.root, solution_bytes(rows))
    seen = []
    for found in (competition, other):
        with pytest.raises(InvalidSubmission) as caught:
            submit(found, halves, "Team", clock)
        seen.append(str(caught.value))
    assert seen[0] == seen[1]


def benchmark(*options: object) -> list[str]:
    """What a small version of the benchmark of the ledger prints."""
    script = Path(__file__).parents[3] / "benchmarks/speed/ledger.py"
    command = [sys.executable, script, *map(str, options)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.slow
def test_many_processes_lose_nothing_double_nothing_and_keep_the_limits() -> None:
    lines = benchmark("--part", "crowd", "--processes", 8, "--each", 5)
    assert lines[1:] == [
        "rows 40, refused 8, of 48",
        "different files among 32 scored rows: 32",
        "rows of a team, limit 20: 20 to 20",
        "verify: 0 problems in 40 rows",
    ]
