"""The solution: the hidden targets of the test sets, ``id,prediction,Usage,subject,set,group``."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from submission.competition import Competition
from submission.errors import UnusableInput
from submission.files import replacing
from submission.ids import split_id
from submission.seal import SOLUTION, check_sealed
from submission.tracks import TRACKS

COLUMNS = ("id", "prediction", "Usage", "subject", "set", "group")
COUNTING = ("Public", "Private")
USAGES = (*COUNTING, "Ignored")


@dataclass(frozen=True)
class SolutionRow:
    """The target of one id.

    Attributes:
        id: Id, ``<subject>/<set>``.
        prediction: Target, a fraction in [0, 1]: the prediction of a perfect submission.
        usage: "Public" (scored on the published leaderboard), "Private" (scored at the end) or "Ignored" (its
            set was voided).
        subject: Name of the subject, as in the id.
        set: Name of the set, as in the id.
        group: Group of the set, such as "seen" or "natural"; organizers see scores by group.
    """

    id: str
    prediction: float
    usage: str
    subject: str
    set: str
    group: str

    def __post_init__(self) -> None:
        if split_id(self.id) != (self.subject, self.set):
            raise ValueError(f"id: {self.id!r} is not that of subject {self.subject!r} and set {self.set!r}")
        if not isinstance(self.prediction, float) or not 0 <= self.prediction <= 1:
            raise ValueError("prediction: must be a float in [0, 1]")  # a label: never in a message
        if self.usage not in USAGES:
            raise ValueError(f"usage: must be one of {', '.join(USAGES)}, got {self.usage!r}")
        if not isinstance(self.group, str) or not self.group.strip() or not self.group.isprintable():
            raise ValueError(f"group: must be a line of text, got {self.group!r}")


def write_solution(path: Path, rows: Iterable[SolutionRow]) -> None:
    """Write the solution, readable by its owner alone (mode 0600 in a folder of mode 0700), atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.parent.chmod(0o700)
    with replacing(path) as temporary:
        temporary.touch(mode=0o600, exist_ok=False)
        temporary.write_bytes(solution_bytes(rows))


def solution_bytes(rows: Iterable[SolutionRow]) -> bytes:
    """Returns the bytes that :func:`write_solution` writes."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([row.id, repr(row.prediction), row.usage, row.subject, row.set, row.group])
    return stream.getvalue().encode()


def read_solution(path: Path, ids: Sequence[str]) -> tuple[SolutionRow, ...]:
    """Read the solution of the test sets with these ids (each once, in any order); rows in file order."""
    try:
        return parse_solution(path.read_bytes(), str(path), ids)
    except OSError as error:
        raise UnusableInput(f"{path} cannot be read: {error.strerror}") from error


def parse_solution(data: bytes, path: str, ids: Sequence[str]) -> tuple[SolutionRow, ...]:
    """Returns the rows in the bytes of a solution; `path` names it in errors."""
    try:
        lines = io.StringIO(data.decode(), newline="")
        header, *records = list(csv.reader(lines, strict=True)) or [[]]
    except (UnicodeDecodeError, csv.Error) as error:
        raise UnusableInput(f"{path} is damaged: it is not CSV in UTF-8") from error
    if tuple(header) != COLUMNS:
        raise UnusableInput(f"{path} is damaged: its first line must be {','.join(COLUMNS)}")
    rows = tuple(_row(path, line, record) for line, record in enumerate(records, 2))
    if sorted(row.id for row in rows) != sorted(ids):
        raise UnusableInput(
            f"{path} does not fit public/competition.json: its ids are not those of the test sets"
        )
    for usage in COUNTING:
        if not any(row.usage == usage for row in rows):
            raise UnusableInput(f"{path} is damaged: no row has the Usage {usage}")
    return rows


def solution_of(competition: Competition, metric: str | None = None) -> tuple[SolutionRow, ...]:
    """Returns the rows of the solution that count for `metric`, by default the ranking one.

    Corrections are included, and voided sets are left out.
    """
    return counting_rows(competition, whole_solution(competition), metric)


def whole_solution(competition: Competition) -> tuple[SolutionRow, ...]:
    """Returns the rows of the solution of all test sets, voided ones included."""
    competition.require_private()
    check_sealed(competition.root, SOLUTION)
    return read_solution(competition.root / SOLUTION, competition.ids("test"))


def counting_rows(
    competition: Competition, rows: Iterable[SolutionRow], metric: str | None = None
) -> tuple[SolutionRow, ...]:
    """Returns the rows among `rows` that count for `metric`, by default the ranking one."""
    track, metric = TRACKS[competition.track], metric or competition.metrics[0]
    return tuple(row for row in rows if row.usage in COUNTING and track.metric(row.subject) == metric)


def _row(path: str, line: int, record: Sequence[str]) -> SolutionRow:
    try:
        name, target, usage, subject, set_name, group = record
        return SolutionRow(name, float(target), usage, subject, set_name, group)
    except ValueError:  # not chained: float's message would show the target
        raise UnusableInput(f"{path} is damaged: line {line} is not a row of a solution") from None
