"""Submissions: who may make one and when, its score, and a team's choice of those that count."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

from leaderboard.events import Team, check_line, now, present
from leaderboard.feedback import public_score, scores_before_end
from leaderboard.heads import CHANGES, RECEIPTS, keep_receipt
from leaderboard.ledger import FINALS, Ledger, opened
from leaderboard.solutions import version
from leaderboard.teams import check_team, registered
from submission.competition import Competition
from submission.errors import InvalidSubmission, UnusableInput, printable, tell
from submission.parser import parse
from submission.predictions import read_bytes
from submission.scoring import SCORER, check_place, score_parts, score_rows
from submission.solution import SolutionRow, counting_rows, solution_bytes
from submission.table import Tabular

LONGEST_NOTE = 200
"""Largest number of characters of a team's note on a submission."""
UNORDERED = 0.3
"""Rank correlation below which a file may be another competition's: of chance alone, it is in most cases."""
FREE = 10
"""Number of a team's invalid files in a day that do not count in a competition with `free_invalid`."""


@dataclass(frozen=True)
class Receipt(Tabular):
    """The answer to a valid submission: its public score if a team gets one, in words too, of `rows`."""

    number: int
    score: float | None
    answer: str
    rows: int
    left: int | None  # number of further submissions today, None for any number
    same: int | None = None  # number of the team's earlier submission of the same file
    created: bool = False  # whether the team was registered with this submission

    def _rows(self) -> list[list[str]]:
        facts = {"submission": self.number, "answer": self.answer, "left": self.left}
        facts |= {"same file as": self.same}
        shown = {name: str(value) for name, value in facts.items() if value is not None}
        return [[*shown], [*shown.values()]]


def submit(
    competition: Competition,
    path: Path,
    team: str,
    clock: Callable[[], datetime] = now,
    note: str = "",
    new_team: bool = False,
) -> Receipt:
    """Validate and score a team's file, and enter it in the ledger.

    An invalid file is entered too, and the answer to it depends on no hidden label; other errors enter
    nothing. Limits are checked and the row is added while no other process can add one; `clock` is called
    then. `new_team` registers the team, in a hidden competition too, and refuses one that is registered.
    """
    check_line("note", note, LONGEST_NOTE)
    name = check_team(team)
    file = _handed_in(competition, path)
    with opened(competition, writing=True) as ledger:
        facts, receipt = _enter(
            competition, ledger, file, team=name, note=note.strip(), now=clock(), new_team=new_team
        )
    keep_receipt(receipt_file(competition, receipt.number), {**facts, **vars(receipt)})
    if file.invalid is not None:
        within = " today" if competition.total_limit is None else " within the limits"
        left = "" if receipt.left is None else f", {receipt.left:,} left{within}"
        free = competition.free_invalid
        counted = "a team has ten invalid ones a day free" if free else f"invalid ones count too{left}"
        told = f"entered as submission {receipt.number}; {counted}"
        raise InvalidSubmission(file.invalid.name, file.invalid.problems, told) from file.invalid
    return receipt


@dataclass(frozen=True)
class _File:
    """A file that was handed in: printable name, bytes (None if it is too large), predictions or problems."""

    name: str
    data: bytes | None
    predictions: Mapping[str, float]
    invalid: InvalidSubmission | None


def _handed_in(competition: Competition, path: Path) -> _File:
    """Read a file as it is handed in, and parse it."""
    check_place(competition, path)
    ids = competition.ids("test")
    name = printable(path.name)
    data = None
    try:
        data = read_bytes(path, ids, follow=False)
        return _File(name, data, parse(data, ids, str(path)), invalid=None)
    except InvalidSubmission as error:
        return _File(name, data, {}, invalid=error)


def _enter(
    competition: Competition, ledger: Ledger, file: _File, team: str, note: str, now: datetime, new_team: bool
) -> tuple[dict[str, object], Receipt]:
    """Check a team's limits, score its file, add it to the open ledger; returns its facts and the answer."""
    before = len(ledger.teams())
    counted = registered(competition, ledger, team, now, new_team or competition.visibility == "practice")
    created = len(ledger.teams()) > before
    if new_team and not created:
        raise UnusableInput(f"team {counted.name!r} is registered already: leave --new-team out")
    made = ledger.made(counted)
    rules = present(competition, ledger.changes())
    left = check_open(rules, counted, _counted(rules, made), now)
    solution = version(competition, ledger)
    counting = counting_rows(competition, solution)
    scores = score_parts(file.predictions, counting) if file.predictions else {}
    number = ledger.next_entry()
    digest = "" if file.data is None else ledger.keep_file(file.data, file.predictions or None)
    row = ledger.append(
        now,
        "submission",
        entry=number,
        team=counted.name,
        team_id=counted.id,
        file=file.name,
        digest=digest,
        status="scored" if scores else "invalid",
        scorer=SCORER,
        solution=hashlib.sha256(solution_bytes(solution)).hexdigest(),
        note=note or None,
        **scores,
    )
    facts: dict[str, object] = {
        "competition": competition.name,
        "team": counted.name,
        "time": now.astimezone(timezone.utc).isoformat(timespec="seconds"),
        "file": file.name,
        "digest": digest,
        "row": row,
        "note": note,
    }
    if scores and score_rows(file.predictions, counting).spearman < UNORDERED:  # the organizer alone is told
        tell(
            f"warning: submission {number} hardly orders the sets (rank correlation below {UNORDERED}): was "
            "it made for this competition? Ids name sets only; its row stays"
        )
    score, answer = _answered(competition, scores, counting)
    return facts, Receipt(
        number=number,
        score=score,
        answer=answer,
        rows=sum(line.usage == "Public" for line in counting),
        left=left,
        same=next((earlier for earlier, _, _, known in made if known == digest), None),
        created=created,
    )


def _answered(
    competition: Competition, scores: Mapping[str, float], counting: Sequence[SolutionRow]
) -> tuple[float | None, str]:
    """Returns the public score if a team gets one, and the answer in words."""
    public = sum(row.usage == "Public" for row in counting)
    if not scores:
        return None, "invalid"
    if not scores_before_end(competition, public):
        return None, "entered; there are no scores before the end"
    score = public_score(competition, scores["public"])
    shown = f"{score:.{competition.decimals}f}"
    return score, f"public RMSE {shown} points, from {public} of {len(counting)} predictions"


def receipt_file(competition: Competition, number: int) -> Path:
    """Returns the path of a submission's receipt in the organizer's copy."""
    return competition.root / RECEIPTS / f"{number:04d}.json"


def select(
    competition: Competition, team: str, numbers: Sequence[int], clock: Callable[[], datetime] = now
) -> str:
    """Record which valid submissions, up to `FINALS`, count for a team; none undoes it. Returns the head."""
    if len(set(numbers)) != len(numbers) or len(numbers) > FINALS:
        raise UnusableInput(f"choose up to {FINALS} different submissions")
    with opened(competition, writing=True) as ledger:
        time = clock()
        chooser = registered(competition, ledger, check_team(team), time)
        check_before_deadline(present(competition, ledger.changes()), chooser, time)
        scored = [number for number, _, status, _ in ledger.made(chooser) if status == "scored"]
        for number in numbers:
            if number not in scored:
                valid = ", ".join(map(str, scored[-20:])) or "none yet"
                raise UnusableInput(
                    f"submission {number} is not a valid one of team {chooser.name!r}; "
                    f"its valid ones are {valid}"
                )
        chosen = " ".join(map(str, numbers))
        ledger.append(time, "selection", team=chooser.name, team_id=chooser.id, note=chosen)
        entered = ledger.newest()
    return keep_change(competition, entered, team=chooser.name, chosen=numbers)


def keep_change(competition: Competition, entered: tuple[int, str], **facts: object) -> str:
    """Write the receipt of a choice or a change, and return the hash of its row."""
    number, row = entered
    known = {"competition": competition.name, "event": number, "row": row, **facts}
    keep_receipt(competition.root / RECEIPTS / CHANGES / f"{number:04d}.json", known)
    return row


def _counted(competition: Competition, made: Iterable[tuple[int, datetime, str, str]]) -> list[datetime]:
    """Returns the times of submissions that count: with `free_invalid` not `FREE` invalid ones a day."""
    free = Counter[date]()
    times = []
    for _, time, status, _ in made:
        day = time.astimezone(timezone.utc).date()
        free[day] += status == "invalid"
        if status != "invalid" or not competition.free_invalid or free[day] > FREE:
            times.append(time)
    return times


def check_open(competition: Competition, team: Team, times: Sequence[datetime], now: datetime) -> int | None:
    """Returns how many submissions a team may still make today (UTC) after one now; None for any number."""
    now = now.astimezone(timezone.utc)
    check_before_deadline(competition, team, now)
    if competition.total_limit is not None and len(times) >= competition.total_limit:
        raise UnusableInput(
            f"team {team.name!r} has made all of its {competition.total_limit:,} submissions; "
            "nothing was entered"
        )
    today = [time for time in times if time.astimezone(timezone.utc).date() == now.date()]
    if competition.daily_limit is not None and len(today) >= competition.daily_limit:
        raise UnusableInput(
            f"team {team.name!r} has made its {competition.daily_limit:,} submissions of {now:%Y-%m-%d} "
            f"(UTC); nothing was entered: submit again on {now + timedelta(days=1):%Y-%m-%d}"
        )
    used = ((competition.daily_limit, len(today)), (competition.total_limit, len(times)))
    return min((limit - made - 1 for limit, made in used if limit is not None), default=None)


def check_before_deadline(competition: Competition, team: Team, now: datetime) -> None:
    """Refuse a submission or a choice after the deadline, the team's own if it has a later one."""
    if competition.deadline is None:
        return
    deadline = max(competition.deadline, team.deadline or competition.deadline)
    if now >= deadline:
        raise UnusableInput(
            f"the deadline of {competition.name} was {deadline:%Y-%m-%d %H:%M:%S} UTC, and it is "
            f"{now.astimezone(timezone.utc):%Y-%m-%d %H:%M:%S}: nothing was entered"
        )
