"""Any history of a competition: what the ledger tells is what a plain list of events tells."""

import shutil
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rules import with_rules

from leaderboard.entry.select import select
from leaderboard.entry.submit import submit
from leaderboard.ledger.ledger import Entry, Ledger
from leaderboard.ledger.rescore import rescore
from leaderboard.ledger.verify import verify
from submission import Competition, InvalidSubmission, UnusableInput, score_submission, write_predictions

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
    path = competition.root.with_name("mine.csv")
    done = True
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
@given(history=HISTORY)
def test_any_history_is_kept_whole(competition: Competition, history: list) -> None:
    with tempfile.TemporaryDirectory() as folder:
        played = Competition.open(shutil.copytree(competition.root, Path(folder) / "contest"))
        played = with_rules(played, daily_limit=DAY, total_limit=TOTAL, deadline=END)
        ledger, model, now = Ledger(played.private / "ledger.sqlite"), Model(), START
        for hours, (kind, what, value) in history:
            now += timedelta(hours=hours)
            play(played, model, kind, what, value, now)
        entries = ledger.entries()
        assert [(e.team.lower(), e.time, e.status) for e in entries] == [
            (team, time, "invalid" if value is None else "scored") for team, time, value in model.made
        ]
        assert {entry.number for entry in entries if entry.final} == model.finals(entries)
        path = Path(folder) / "again.csv"
        for entry, (_, _, value) in zip(entries, model.made, strict=True):
            if value is not None:
                write_predictions(path, dict.fromkeys(played.ids("test"), value))
                assert entry.public == score_submission(played, path).public.rmse
        assert verify(played).problems == ()
