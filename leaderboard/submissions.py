"""Submissions: who may make one and when, its score, and a team's choice of those that count."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

from leaderboard.events import Team, check_line, present
from leaderboard.feedback import public_score, scores_before_end
from leaderboard.heads import CHANGES, RECEIPTS, keep_receipt
from leaderboard.ledger import FINALS, Ledger, opened
from leaderboard.solutions import version
from leaderboard.teams import check_team, registered
from submission.competition import Competition
from submission.errors import InvalidSubmission, UnusableInput, printable
from submission.parser import parse
from submission.predictions import read_bytes
from submission.scoring import SCORER, score_parts
from submission.solution import counting_rows, solution_bytes
from submission.table import Tabular

LONGEST_NOTE = 200
"""Largest number of characters of a team's note on a submission."""
FREE = 10
"""Number of a team's invalid files in a day that do not count in a competition with `free_invalid`."""


@dataclass(frozen=True)
class Receipt(Tabular):
    """The answer to a valid submission: its public score if a team gets one, in words too, of `rows`.

    `left` is the number of further submissions today, None for any number; `same` that of the team's earlier
    submission of the same file; `created` is True if the team was registered with this submission.
    """

    number: int
    score: float | None
    answer: str
    rows: int
    left: int | None
    same: int | None = None
    created: bool = False

    def _rows(self) -> list[list[str]]:
        facts = {"submission": self.number, "answer": self.answer, "left": self.left}
        facts |= {"same file as": self.same}
        shown = {name: str(value) for name, value in facts.items() if value is not None}
        return [[*shown], [*shown.values()]]


def submit(
    competition: Competition,
    path: Path,
    team: str,
    clock: Callable[[], datetime],
    note: str = "",
    new_team: bool = False,
) -> Receipt:
    """Validate and score a team's file, and enter it in the ledger.

    An invalid file is entered as invalid and counts as a submission; the answer to it depends on no hidden
    label. Limits are checked and the row is added while no other process can add one; `clock` is called then.
    The answer is written as a receipt for the team. `new_team` registers the team in a hidden competition
    too. Errors other than an invalid file's enter nothing.
    """
    check_line("note", note, LONGEST_NOTE)
    name = check_team(team)
    file = _handed_in(competition, path)
    with opened(competition, writing=True) as ledger:
        create = new_team or competition.visibility == "practice"
        entered = _enter(competition, ledger, file, team=name, note=note.strip(), now=clock(), create=create)
    facts = {
        "competition": competition.name,
        "number": entered.number,
        "team": entered.team,
        "time": entered.time.astimezone(timezone.utc).isoformat(timespec="seconds"),
        "file": file.name,
        "digest": file.digest,
        "row": entered.row,
        "note": note.strip(),
    }
    if file.invalid is not None:
        keep_receipt(receipt_file(competition, entered.number), {**facts, "answer": "invalid"})
        free = "a team has ten invalid ones a day free"
        counted = f"invalid ones count too{left_text(competition, entered.left)}"
        counted = free if competition.free_invalid else counted
        told = f"entered as submission {entered.number}; {counted}"
        raise InvalidSubmission(file.invalid.name, file.invalid.problems, told) from file.invalid
    receipt = _answered(competition, entered)
    keep_receipt(receipt_file(competition, entered.number), {**facts, **vars(receipt)})
    return receipt


@dataclass(frozen=True)
class _File:
    """A file that was handed in: printable name, bytes (None if it is too large), predictions or problems."""

    name: str
    data: bytes | None
    predictions: Mapping[str, float]
    invalid: InvalidSubmission | None

    @property
    def digest(self) -> str:
        """Its SHA-256; "" if it is too large to read."""
        return "" if self.data is None else hashlib.sha256(self.data).hexdigest()


def _handed_in(competition: Competition, path: Path) -> _File:
    """Read a file as it is handed in, and parse it."""
    ids = competition.ids("test")
    name = printable(path.name)
    data = None
    try:
        data = read_bytes(path, ids, follow=False)
        return _File(name, data, parse(data, ids, str(path)), invalid=None)
    except InvalidSubmission as error:
        return _File(name, data, {}, invalid=error)


@dataclass(frozen=True)
class _Entered:
    """A submission as it was entered, with the hash of its `row`; `public` of `counting` rows are scored."""

    number: int
    row: str
    time: datetime
    team: str
    created: bool
    left: int | None
    same: int | None
    scores: Mapping[str, float]
    public: int
    counting: int


def _enter(
    competition: Competition, ledger: Ledger, file: _File, team: str, note: str, now: datetime, create: bool
) -> _Entered:
    """Check a team's limits, score its file, and add it to the open ledger."""
    before = len(ledger.teams())
    counted = registered(competition, ledger, team, now, create)
    made = ledger.made(counted)
    rules = present(competition, ledger.changes())
    left = check_open(rules, counted, _counted(rules, made), now)
    solution = version(competition, ledger)
    counting = counting_rows(competition, solution)
    scores = score_parts(file.predictions, counting) if file.predictions else {}
    number = ledger.next_entry()
    if file.data is not None:
        ledger.keep_file(file.data, file.predictions or None)
    row = ledger.append(
        now,
        "submission",
        entry=number,
        team=counted.name,
        team_id=counted.id,
        file=file.name,
        digest=file.digest,
        status="scored" if scores else "invalid",
        scorer=SCORER,
        solution=hashlib.sha256(solution_bytes(solution)).hexdigest(),
        note=note or None,
        **scores,
    )
    return _Entered(
        number=number,
        row=row,
        time=now,
        team=counted.name,
        created=len(ledger.teams()) > before,
        left=left,
        same=next((earlier for earlier, _, _, digest in made if digest == file.digest), None),
        scores=scores,
        public=sum(line.usage == "Public" for line in counting),
        counting=len(counting),
    )


def _answered(competition: Competition, entered: _Entered) -> Receipt:
    """Returns the answer to a valid submission, with its public score if a team gets one."""
    score = None
    answer = "entered; there are no scores before the end"
    if scores_before_end(competition, entered.public):
        score = public_score(competition, entered.scores["public"])
        shown = f"{score:.{competition.decimals}f}"
        answer = f"public RMSE {shown} points, from {entered.public} of {entered.counting} predictions"
    return Receipt(
        number=entered.number,
        score=score,
        answer=answer,
        rows=entered.public,
        left=entered.left,
        same=entered.same,
        created=entered.created,
    )


def receipt_file(competition: Competition, number: int) -> Path:
    """Returns the path of a submission's receipt in the organizer's copy."""
    return competition.root / RECEIPTS / f"{number:04d}.json"


def select(competition: Competition, team: str, numbers: Sequence[int], clock: Callable[[], datetime]) -> str:
    """Record that the submissions `numbers` count for a team at the end, in place of an earlier choice.

    They are valid ones of the team, at most `FINALS`; none undoes the choice. Returns the ledger's head.
    """
    if len(set(numbers)) != len(numbers) or len(numbers) > FINALS:
        raise UnusableInput(f"choose up to {FINALS} different submissions")
    with opened(competition, writing=True) as ledger:
        now = clock()
        chooser = registered(competition, ledger, check_team(team), now)
        check_before_deadline(present(competition, ledger.changes()), chooser, now)
        scored = [number for number, _, status, _ in ledger.made(chooser) if status == "scored"]
        for number in numbers:
            if number not in scored:
                valid = ", ".join(map(str, scored[-20:])) or "none yet"
                raise UnusableInput(
                    f"submission {number} is not a valid one of team {chooser.name!r}; "
                    f"its valid ones are {valid}"
                )
        chosen = " ".join(map(str, numbers))
        ledger.append(now, "selection", team=chooser.name, team_id=chooser.id, note=chosen)
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
    """Returns the number of submissions that a team may still make today after one now; None for any number.

    Days are those of UTC; `times` are those of the team's earlier submissions that count.
    """
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


def left_text(competition: Competition, left: int | None) -> str:
    """Returns the result of `check_open` in words, such as ", 2 left today"; "" for any number."""
    today = "" if competition.daily_limit is None else " today"
    return "" if left is None else f", {left:,} left{today}"


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
