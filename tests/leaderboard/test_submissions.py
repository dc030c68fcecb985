"""Who may submit, what is entered, and what counts at the end."""

import hashlib
import os
import shutil
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from predicted import as_predicted
from rules import with_fields, with_rules

from leaderboard.events import Team
from leaderboard.ledger import opened
from leaderboard.publish import publish
from leaderboard.solutions import rescore
from leaderboard.submissions import check_open, select, submit
from leaderboard.verify import verify
from submission import Competition, InvalidSubmission, UnusableInput
from submission.predictions import write_predictions
from submission.scoring import validate
from submission.solution import solution_of

NOON = datetime(2026, 5, 10, 12, tzinfo=timezone.utc)
HOUR = timedelta(hours=1)
TEAM = Team("ta", ("a",), "ta")


def entries(competition):
    with opened(competition) as ledger:
        return ledger.entries()


def test_a_submission_is_scored_and_entered(competition, halves, clock):
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


def test_a_file_of_another_competition_is_refused_in_its_folder_and_doubted_elsewhere(
    competition, halves, clock, capsys
):
    """Ids are the same in both; predictions that rank sets in reverse, or by chance, are not of this one."""
    inside = Path(shutil.copytree(competition.root, competition.root.with_name("other"))) / "mine.csv"
    truth = {row.id: 1 - row.prediction for row in solution_of(competition)}
    write_predictions(inside, truth)
    changed = with_fields(competition, files={**competition.files, "test/test_0001.npz": "0" * 64})
    with pytest.raises(UnusableInput, match="lies in another competition's folder"):
        submit(changed, inside, "Team A", clock)
    with pytest.raises(UnusableInput, match="another competition's folder"):
        validate(changed, inside)
    assert not entries(competition)
    submit(competition, halves, "Team A", clock)
    assert capsys.readouterr().err == ""
    submit(competition, inside, "Team A", clock)
    assert "submission 2 hardly orders the sets" in capsys.readouterr().err


def test_an_invalid_submission_is_entered_and_counts(competition, halves, clock):
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


def test_ten_invalid_files_a_day_are_free_where_the_organizer_lets_them_be(
    competition: Competition, halves: Path, tmp_path: Path
) -> None:
    free = with_rules(competition, daily_limit=1, free_invalid=True)
    (tmp_path / "bad.csv").write_text("nothing")
    for team, count in (("Ten", 10), ("Eleven", 11)):
        for _ in range(count):
            with pytest.raises(InvalidSubmission, match="ten invalid ones a day free"):
                submit(free, tmp_path / "bad.csv", team, lambda: NOON)
    assert submit(free, halves, "Ten", lambda: NOON).left == 0
    with pytest.raises(UnusableInput, match="'Eleven' has made its 1 submissions"):
        submit(free, halves, "Eleven", lambda: NOON)


@pytest.mark.parametrize("team", ["F.D.", "Constant", "Ｏｒａ－A", "Ours", "С0Т"])
def test_no_team_takes_the_name_of_a_baseline(competition, halves, clock, team):
    """Neither of one that the organizer predicted nor of the kit's others."""
    own = competition.root / "submissions/ours.csv"
    write_predictions(own, dict.fromkeys(competition.ids("test"), 0.4))
    as_predicted(competition)
    with pytest.raises(UnusableInput, match="reads like the baseline"):
        submit(competition, halves, team, clock)
    assert entries(competition) == ()


def test_no_team_takes_a_name_that_reads_like_another_teams(competition, halves, clock):
    submit(competition, halves, "A", clock)
    for team in ("A.", "(a)", "a ."):
        with pytest.raises(UnusableInput, match="reads like team 'A'"):
            submit(competition, halves, team, clock)
    assert submit(competition, halves, "a", clock).number == 2
    submit(competition, halves, "team 715633", clock)
    with pytest.raises(UnusableInput, match="reads like team 'team 715633'"):  # with the same id
        submit(competition, halves, "team 1597333", clock)


def test_a_hidden_competition_takes_registered_teams_alone(competition, halves, clock):
    hidden = with_rules(competition, visibility="hidden")
    assert submit(hidden, halves, " Ada  Lovelace", clock, new_team=True).created
    with pytest.raises(UnusableInput, match="team 'Ada Lovelace' is registered already: leave new_team out"):
        submit(hidden, halves, "ada lovelace", clock, new_team=True)
    with pytest.raises(UnusableInput, match="not registered: did you mean 'Ada Lovelace'"):
        submit(hidden, halves, "Ada Lovelac", clock)
    with pytest.raises(UnusableInput, match="not registered: is it a new team"):
        submit(hidden, halves, "Xqz", clock)
    assert submit(hidden, halves, "ADA LOVELACE", clock).number == 2
    assert {entry.team for entry in entries(hidden)} == {"Ada Lovelace"}


@pytest.mark.parametrize("kind", ["link", "pipe", "device", "folder"])
def test_only_a_regular_file_is_handed_in(competition, halves, kind):
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


def test_messages_do_not_depend_on_hidden_labels(competition, halves, clock, tmp_path):
    halves.write_text(halves.read_text().replace("0.5", "2", 1))
    other, seen = Competition.open(shutil.copytree(competition.root, tmp_path / "other")), []
    rescore(other, {"cnn/test_0001": 0.1, "cnn/test_0002": 0.9}, (), "r", clock)
    for found in (competition, other):
        with pytest.raises(InvalidSubmission) as caught:
            submit(found, halves, "Team", clock)
        seen.append(str(caught.value))
    assert seen[0] == seen[1]


def test_days_are_those_of_utc_and_the_total_bounds_too(competition):
    assert check_open(competition, TEAM, [NOON] * 10_000, NOON) is None
    limited = with_rules(competition, daily_limit=2, total_limit=4)
    earlier = [NOON - 13 * HOUR] * 2
    far_east = NOON.astimezone(timezone(13 * HOUR))
    for now in (NOON, far_east):
        assert check_open(limited, TEAM, [], now) == 1
        assert check_open(limited, TEAM, [*earlier, NOON - 12 * HOUR], now) == 0
    with pytest.raises(UnusableInput, match=r"2 submissions of 2026-05-10 .*again on 2026-05-11"):
        check_open(limited, TEAM, [NOON, NOON], far_east)
    with pytest.raises(UnusableInput, match="all of its 4 submissions"):
        check_open(limited, TEAM, [*earlier, *earlier], NOON)
    with pytest.raises(UnusableInput, match=r"the deadline of .* was 2026-05-10 12:00:00 UTC"):
        check_open(with_rules(competition, deadline=NOON), TEAM, [], far_east)


def test_only_a_teams_own_valid_submissions_can_be_chosen(competition, halves, perfect, clock):
    submit(competition, halves, "Team A", clock)
    submit(competition, perfect, "B", clock)
    halves.write_text("")
    with pytest.raises(InvalidSubmission):
        submit(competition, halves, "team a", clock)
    for team, numbers, message in (
        ("team a", [2], "not a valid one of team 'Team A'; its valid ones are 1"),
        ("team a", [3], "valid"),
        ("team a", [1, 2, 3], "up to 2"),
        ("C", [1], "not registered"),
    ):
        with pytest.raises(UnusableInput, match=message):
            select(competition, team, numbers, clock)


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

    def __init__(self):
        self.made: list[tuple[str, datetime, float | None]] = []
        self.chosen: dict[str, list[int]] = {}

    def may_submit(self, team, now):
        times = [time for other, time, _ in self.made if other == team]
        today = [time for time in times if time.date() == now.date()]
        return now < END and len(times) < TOTAL and len(today) < DAY

    def may_select(self, team, numbers, now):
        own = {i: value for i, (other, _, value) in enumerate(self.made, 1) if other == team}
        valid = {i for i, value in own.items() if value is not None}
        return now < END and bool(own) and len(set(numbers)) == len(numbers) and set(numbers) <= valid

    def finals(self, entries):
        found: set[int] = set()
        for team in "ab":
            valid = [e for e in entries if e.team.lower() == team and e.public is not None]
            best = [entry.number for entry in sorted(valid, key=lambda e: (e.public, e.number))][:2]
            found.update(self.chosen.get(team) or best)
        return found


def play(competition, model, kind, what, value, now):
    """One event, which must be taken where the model allows it and be refused where not."""
    path, done = competition.root.with_name("mine.csv"), True
    try:
        if kind == "submit":
            write_predictions(path, dict.fromkeys(competition.ids("test"), 0.5 if value is None else value))
            if value is None:
                path.write_text("nothing")
            submit(competition, path, what, lambda: now)
        elif kind == "select":
            select(competition, what, value, lambda: now)
        else:
            rescore(competition, {what: value}, set(), "why", lambda: now)
    except InvalidSubmission:
        assert value is None
    except UnusableInput:
        done = False
    team = what.lower()
    if kind == "submit":
        assert done == model.may_submit(team, now)
        model.made += [(team, now, value)] if done else []
    elif kind == "select":
        assert done == model.may_select(team, value, now)
        if done:
            model.chosen[team] = value


@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=HISTORY)
def test_any_history_is_kept_whole(competition, events):
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
