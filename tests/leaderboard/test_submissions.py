"""Who may submit, what is entered, what counts at the end, and a team's own history."""

import hashlib
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from predicted import as_predicted
from rules import with_rules

from leaderboard.history import history, history_table
from leaderboard.ledger import Entry, opened
from leaderboard.publish import publish
from leaderboard.receipts import read_receipts, receipt_file, receipts_table
from leaderboard.solutions import rescore
from leaderboard.submissions import check_open, select, submit
from leaderboard.teams import add_team
from leaderboard.verify import verify
from submission import Competition, InvalidSubmission, UnusableInput, score_submission, write_predictions

Clock = Callable[[], datetime]
NOON = datetime(2026, 5, 10, 12, tzinfo=timezone.utc)
HOUR = timedelta(hours=1)


def entries(competition: Competition) -> tuple[Entry, ...]:
    with opened(competition) as ledger:
        return ledger.entries()


def test_a_submission_is_scored_and_entered(competition: Competition, halves: Path, clock: Clock) -> None:
    found = submit(competition, halves, "Team A", clock)
    assert (found.number, found.score, found.rows, found.left, found.created) == (1, 25.5, 4, None, True)
    (row,) = entries(competition)
    assert (row.team, row.status, row.scorer) == ("Team A", "scored", "rmse-points/1")
    assert row.time == datetime(2026, 1, 1, 1, tzinfo=timezone.utc)
    assert row.digest == hashlib.sha256(halves.read_bytes()).hexdigest()
    assert row.public == pytest.approx(650**0.5, abs=1e-12)
    assert row.private == pytest.approx(825**0.5, abs=1e-12)
    with opened(competition) as ledger:
        assert ledger.file(row.digest) == halves.read_bytes()
        assert ledger.predictions(row.digest).tolist() == [0.5] * 8
    again = submit(competition, halves, "TEAM a", clock)
    assert (again.same, again.created) == (1, False)


def test_an_invalid_submission_is_entered_and_counts(
    competition: Competition, halves: Path, clock: Clock
) -> None:
    limited = with_rules(competition, daily_limit=3)
    halves.write_text(halves.read_text().replace("0.5", "nan"))
    with pytest.raises(InvalidSubmission, match=r"8 problems; entered as submission 1; .*, 2 left today\n"):
        submit(limited, halves, "Team A", clock)
    with halves.open("r+b") as stream:
        stream.truncate(1 << 30)
    with pytest.raises(InvalidSubmission, match="too large"):
        submit(limited, halves, "Team A", clock)
    rows = entries(limited)
    assert [(row.status, len(row.digest)) for row in rows] == [("invalid", 64), ("invalid", 0)]
    assert verify(limited).problems == ()
    assert publish(limited).standings == ()


@pytest.mark.parametrize("team", ["fd", "F.D.", "fd (baseline)", "Constant", "Ｏｒａ－A"])
def test_no_team_takes_the_name_of_a_baseline(
    competition: Competition, halves: Path, clock: Clock, team: str
) -> None:
    for name in ("fd", "ora-a"):
        write_predictions(
            competition.root / "submissions" / f"{name}.csv", dict.fromkeys(competition.ids("test"), 0.4)
        )
    as_predicted(competition)
    with pytest.raises(UnusableInput, match="reads like the baseline"):
        submit(competition, halves, team, clock)
    assert entries(competition) == ()


def test_no_team_takes_a_name_that_reads_like_another_teams(
    competition: Competition, halves: Path, clock: Clock
) -> None:
    submit(competition, halves, "A", clock)
    for team in ("A.", "(a)", "a ."):
        with pytest.raises(UnusableInput, match="reads like team 'A'"):
            submit(competition, halves, team, clock)
    assert submit(competition, halves, "a", clock).number == 2
    add_team(competition, "team 715633", clock)
    with pytest.raises(UnusableInput, match="reads like team 'team 715633'"):  # with the same id
        add_team(competition, "team 1597333", clock)


def test_a_hidden_competition_takes_registered_teams_alone(
    competition: Competition, halves: Path, clock: Clock
) -> None:
    hidden = with_rules(competition, visibility="hidden")
    assert add_team(hidden, " Ada  Lovelace", clock) == "Ada Lovelace"
    add_team(hidden, "ada lovelace", clock)
    with pytest.raises(UnusableInput, match="not registered: did you mean 'Ada Lovelace'"):
        submit(hidden, halves, "Ada Lovelac", clock)
    with pytest.raises(UnusableInput, match="not registered: is it a new team"):
        submit(hidden, halves, "Xqz", clock)
    assert submit(hidden, halves, "ADA LOVELACE", clock).number == 1
    assert submit(hidden, halves, "Bob", clock, new_team=True).created
    assert [entry.team for entry in entries(hidden)] == ["Ada Lovelace", "Bob"]


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
    with pytest.raises(UnusableInput, match=r"symbolic link|is not a file"):
        submit(competition, path, "A", lambda: NOON)
    assert entries(competition) == ()


def test_messages_do_not_depend_on_hidden_labels(
    competition: Competition, halves: Path, clock: Clock, tmp_path: Path
) -> None:
    halves.write_text(halves.read_text().replace("0.5", "2", 1))
    other, seen = Competition.open(shutil.copytree(competition.root, tmp_path / "other")), []
    rescore(other, {"cnn/test_0001": 0.1, "cnn/test_0002": 0.9}, (), "r", clock)
    for found in (competition, other):
        with pytest.raises(InvalidSubmission) as caught:
            submit(found, halves, "Team", clock)
        seen.append(str(caught.value))
    assert seen[0] == seen[1]


def test_days_are_those_of_utc_and_the_total_bounds_too(competition: Competition) -> None:
    assert check_open(competition, "a", [NOON] * 10_000, NOON) is None
    limited = with_rules(competition, daily_limit=2, total_limit=4)
    earlier = [NOON - 13 * HOUR] * 2
    far_east = NOON.astimezone(timezone(13 * HOUR))
    for now in (NOON, far_east):
        assert check_open(limited, "a", [], now) == 1
        assert check_open(limited, "a", [*earlier, NOON - 12 * HOUR], now) == 0
    with pytest.raises(UnusableInput, match=r"2 submissions of 2026-05-10 .*again on 2026-05-11"):
        check_open(limited, "a", [NOON, NOON], far_east)
    with pytest.raises(UnusableInput, match="all of its 4 submissions"):
        check_open(limited, "a", [*earlier, *earlier], NOON)


@pytest.fixture
def entered(competition: Competition, halves: Path, perfect: Path, clock: Clock) -> Competition:
    """Halves of Team A, perfect predictions of B, and an invalid file of Team A."""
    submit(competition, halves, "Team A", clock, note="  all halves <b>")
    submit(competition, perfect, "B", clock)
    bad = halves.with_name("bad.csv")
    bad.write_text("")
    with pytest.raises(InvalidSubmission):
        submit(competition, bad, "team a", clock)
    return competition


@pytest.mark.parametrize(
    ("numbers", "message"),
    [([2], "not a valid one of team 'Team A'; its valid ones are 1"), ([3], "valid"), ([1, 2, 3], "up to 2")],
)
def test_only_a_teams_own_valid_submissions_can_be_chosen(
    entered: Competition, clock: Clock, numbers: list[int], message: str
) -> None:
    with pytest.raises(UnusableInput, match=message):
        select(entered, "team a", numbers, clock)
    with pytest.raises(UnusableInput, match="not registered"):
        select(entered, "C", [1], clock)


def test_scores_by_part_classifier_and_group_worked_out_by_hand(entered: Competition) -> None:
    """Errors of halves in points: cnn 40 20 0 20, vit:b 30 30 10 40; test_0001 and 3 public, 1 and 2 seen."""
    first, second, third = history(entered)
    assert dict(first.rmse) == pytest.approx(
        {
            "overall": (5900 / 8) ** 0.5,
            "public": (2600 / 4) ** 0.5,
            "private": (3300 / 4) ** 0.5,
            "[cnn]": (2400 / 4) ** 0.5,
            "[vit:b]": (3500 / 4) ** 0.5,
            "(seen)": (3800 / 4) ** 0.5,
            "(unseen)": (2100 / 4) ** 0.5,
        }
    )
    assert set(second.rmse.values()) == {0}
    assert third.rmse == {}
    assert [line.entry.number for line in history(entered, "TEAM A")] == [1, 3]
    with pytest.raises(UnusableInput, match="nothing was submitted by team 'C'"):
        history(entered, "C")
    table = history_table(history(entered), 2).splitlines()
    assert table[1].split()[:5] == ["1*", "2026-01-01", "01:00:00", first.entry.digest[:12], "Team"]
    assert table[1].split()[6:] == ["27.16", "25.50", "28.72", "24.49", "29.58", "30.82", "22.91", "all", "halves", "<b>"]  # fmt: skip
    assert table[3].endswith("invalid")


def test_a_receipt_holds_the_answer_and_the_rows_hash(entered: Competition) -> None:
    kept = json.loads(receipt_file(entered, 1).read_text())
    assert kept == {
        "competition": entered.name,
        "number": 1,
        "team": "Team A",
        "time": "2026-01-01T01:00:00+00:00",
        "file": entries(entered)[0].digest,
        "note": "all halves <b>",
        "row": entries(entered)[0].hash,
        "score": 25.5,
        "answer": "public RMSE 25.50 points",
        "rows": 4,
        "left": None,
        "same": None,
    }
    assert receipt_file(entered, 1).parent.stat().st_mode & 0o777 == 0o700


@pytest.fixture
def mine(entered: Competition, halves: Path) -> Competition:
    """A participant's copy with all receipts."""
    copy = with_root(entered, entered.root.with_name("mine"))
    (copy.root / "submissions").mkdir()
    shutil.copy(halves, copy.root / "submissions/halves.csv")
    shutil.copytree(receipt_file(entered, 1).parent, copy.root / "receipts")
    return copy


def with_root(competition: Competition, root: Path) -> Competition:
    shutil.copytree(competition.public, root / "public")
    return Competition.open(root)


def test_a_teams_own_history_without_labels(mine: Competition) -> None:
    lines = receipts_table(mine, read_receipts(mine, "TEAM A")).splitlines()
    assert [" ".join(line.split()) for line in lines[1:3]] == [
        "1 2026-01-01 01:00:00 Team A submissions/halves.csv public RMSE 25.50 points all halves <b>",
        "3 2026-01-01 03:00:00 Team A e3b0c44298fc invalid",
    ]
    assert [record["number"] for record in read_receipts(mine)] == [1, 2, 3]
    with pytest.raises(UnusableInput, match=r"no receipt of team 'C'"):
        read_receipts(mine, "C")


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"number": 1}', "[" * 100_000, "\x00", r'{"team": "\ud800"}']
)
def test_other_files_are_no_receipts(mine: Competition, text: str) -> None:
    (mine.root / "receipts/0009.json").write_text(text)
    with pytest.raises(UnusableInput, match=r"0009\.json: not a receipt"):
        read_receipts(mine)
    (mine.root / "receipts/0009.json").unlink()
    path = mine.root / "receipts/0001.json"
    path.write_text(path.read_text().replace(mine.name, "another"))
    with pytest.raises(UnusableInput, match="not a receipt of a submission to"):
        read_receipts(mine)


def test_a_zip_with_bytes_before_it_is_invalid_when_it_comes_and_later(
    competition: Competition, halves: Path, clock: Clock
) -> None:
    path = halves.with_name("mine.zip")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mine.csv", halves.read_text())
    path.write_bytes(b"MZ" + path.read_bytes())
    with pytest.raises(InvalidSubmission):
        submit(competition, path, "A", clock)
    submit(competition, halves, "B", clock)
    assert rescore(competition, {"cnn/test_0001": 0.5}, (), "r", clock).entries == 1
    assert verify(competition).problems == ()


START = datetime(2026, 6, 1, tzinfo=timezone.utc)
DAY, TOTAL, END = 3, 6, START + timedelta(hours=60)
EVENTS = st.one_of(
    st.tuples(st.just("submit"), st.sampled_from("abA"), st.sampled_from([None, 0.0, 0.3, 0.6, 1.0])),
    st.tuples(st.just("select"), st.sampled_from("ab"), st.lists(st.integers(1, 12), max_size=2)),
    st.tuples(st.just("label"), st.sampled_from(["cnn/test_0001", "vit:b/test_0004"]), st.sampled_from([0.2, 0.9])),
)  # fmt: skip
HISTORY = st.lists(st.tuples(st.integers(0, 8), EVENTS), max_size=14)


class Model:
    """Who submitted what and when, and who chose what, in plain lists."""

    def __init__(self) -> None:
        self.made: list[tuple[str, datetime, float | None]] = []
        self.chosen: dict[str, list[int]] = {}

    def may_submit(self, team: str, now: datetime) -> bool:
        times = [time for other, time, _ in self.made if other == team]
        today = [time for time in times if time.date() == now.date()]
        return now < END and len(times) < TOTAL and len(today) < DAY

    def may_select(self, team: str, numbers: list[int], now: datetime) -> bool:
        own = {i: value for i, (other, _, value) in enumerate(self.made, 1) if other == team}
        valid = {i for i, value in own.items() if value is not None}
        return now < END and bool(own) and len(set(numbers)) == len(numbers) and set(numbers) <= valid

    def finals(self, entries: tuple[Entry, ...]) -> set[int]:
        found: set[int] = set()
        for team in "ab":
            valid = [e for e in entries if e.team.lower() == team and e.public is not None]
            best = [entry.number for entry in sorted(valid, key=lambda e: (e.public, e.number))][:2]
            found.update(self.chosen.get(team) or best)
        return found


def play(competition: Competition, model: Model, kind: str, what: str, value: object, now: datetime) -> None:
    """One event, which must be taken where the model allows it and be refused where not."""
    path, done = competition.root.with_name("mine.csv"), True
    try:
        if kind == "submit":
            write_predictions(path, dict.fromkeys(competition.ids("test"), 0.5 if value is None else value))  # type: ignore[arg-type]
            if value is None:
                path.write_text("nothing")
            submit(competition, path, what, lambda: now)
        elif kind == "select":
            select(competition, what, value, lambda: now)  # type: ignore[arg-type]
        else:
            rescore(competition, {what: value}, set(), "why", lambda: now)  # type: ignore[dict-item]
    except InvalidSubmission:
        assert value is None
    except UnusableInput:
        done = False
    team = what.lower()
    if kind == "submit":
        assert done == model.may_submit(team, now)
        model.made += [(team, now, value)] if done else []  # type: ignore[list-item]
    elif kind == "select":
        assert done == model.may_select(team, value, now)  # type: ignore[arg-type]
        if done:
            model.chosen[team] = value  # type: ignore[assignment]


@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=HISTORY)
def test_any_history_is_kept_whole(competition: Competition, events: list) -> None:
    """What the ledger tells is what a plain list of events tells."""
    with tempfile.TemporaryDirectory() as folder:
        played = Competition.open(shutil.copytree(competition.root, Path(folder) / "contest"))
        played = with_rules(played, daily_limit=DAY, total_limit=TOTAL, deadline=END)
        model, now = Model(), START
        for hours, (kind, what, value) in events:
            now += timedelta(hours=hours)
            play(played, model, kind, what, value, now)
        found = entries(played)
        assert [(e.team.lower(), e.time, e.status) for e in found] == [
            (team, time, "invalid" if value is None else "scored") for team, time, value in model.made
        ]
        assert {entry.number for entry in found if entry.final} == model.finals(found)
        assert verify(played).problems == ()
        assert all(entry.public is not None or entry.status == "invalid" for entry in found)


def test_the_scores_of_a_golden_leaderboard(competition: Competition, tmp_path: Path, clock: Clock) -> None:
    """Public targets .9 .5 .8 .6, predicted .8 .6 .9 .4: errors 10 10 10 20 points."""
    predicted = dict.fromkeys(competition.ids("test"), 0.0)
    predicted |= {"cnn/test_0001": 0.8, "cnn/test_0003": 0.6, "vit:b/test_0001": 0.9, "vit:b/test_0003": 0.4}
    write_predictions(tmp_path / "a.csv", predicted)
    assert submit(competition, tmp_path / "a.csv", "a", clock).score == 13.23
    assert entries(competition)[0].public == score_submission(competition, tmp_path / "a.csv").public.rmse
