"""The solution: the hidden targets of the test sets, ``id,prediction,Usage,subject,set,group``."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from submission.arrays import IntArray
from submission.competition import SOLUTION, Competition
from submission.errors import UnusableInput
from submission.files import csv_text, replacing, write_bytes
from submission.ids import split_id
from submission.tracks import TRACKS

COLUMNS = ("id", "prediction", "Usage", "subject", "set", "group")
COUNTING = ("Public", "Private")
USAGES = (*COUNTING, "Ignored")
IMAGES = "private/images.npz"
"""File with the class of each test image by set, and the predicted one by id, in the accuracy track."""


@dataclass(frozen=True)
class SolutionRow:
    """The target of one id."""

    id: str
    prediction: float  # target, a fraction in [0, 1]: the prediction of a perfect submission
    usage: str  # "Public" (published leaderboard), "Private" (scored at the end), or "Ignored" (voided)
    subject: str  # as in the id
    set: str  # as in the id
    group: str  # such as "seen" or "natural"; organizers see scores by group

    def __post_init__(self) -> None:
        named = split_id(self.id) == (self.subject, self.set) and self.group.strip()
        if not named or self.usage not in USAGES or not 0 <= self.prediction <= 1:
            raise ValueError(f"{self.id}: no row of a solution")  # a label: never in a message


def write_solution(path: Path, rows: Iterable[SolutionRow]) -> None:
    """Write the solution, readable by its owner alone (mode 0600 in a folder of mode 0700), atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.parent.chmod(0o700)
    write_bytes(path, solution_bytes(rows), private=True)


def write_images(root: Path, truth: Mapping[str, IntArray], predicted: Mapping[str, IntArray]) -> None:
    """Write the classes (n,) of each test set's images, and the predicted ones of each id, atomically."""
    with replacing(root / IMAGES, private=True) as temporary, temporary.open("wb") as file:
        known = {name: np.asarray(classes, np.int32) for name, classes in {**truth, **predicted}.items()}
        np.savez_compressed(file, **known)  # type: ignore[arg-type]


def read_images(competition: Competition) -> dict[str, IntArray]:
    """Returns the classes (n,) of each test set's images by its name, and the predicted ones by id."""
    path = competition.root / IMAGES
    if not path.exists():
        raise UnusableInput(f"{path} is missing: correct whole sets with --label ID=FRACTION")
    with np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name].astype(np.int64) for name in arrays.files}


def solution_bytes(rows: Iterable[SolutionRow]) -> bytes:
    """Returns the bytes that :func:`write_solution` writes."""
    values = ((row.id, repr(row.prediction), row.usage, row.subject, row.set, row.group) for row in rows)
    return csv_text([COLUMNS, *values]).encode()


def parse_solution(data: bytes, path: str, ids: Sequence[str]) -> tuple[SolutionRow, ...]:
    """Returns the rows in the bytes of the solution of these test ids; errors name `path`, never a label."""
    try:
        header, *records = csv.reader(io.StringIO(data.decode(), newline=""), strict=True)
        rows = tuple(SolutionRow(name, float(target), *rest) for name, target, *rest in records)
        whole = tuple(header) == COLUMNS and sorted(row.id for row in rows) == sorted(ids)
    except (ValueError, TypeError, csv.Error):
        whole = False
    if not whole or not set(COUNTING) <= {row.usage for row in rows}:
        raise UnusableInput(f"{path} is damaged, or of another competition: restore it from a backup")
    return rows


def solution_of(competition: Competition, metric: str | None = None) -> tuple[SolutionRow, ...]:
    """Returns the rows of the built solution that count for `metric`; the ledger has later versions."""
    return counting_rows(competition, whole_solution(competition), metric)


def whole_solution(competition: Competition) -> tuple[SolutionRow, ...]:
    """Returns the rows of the built solution of all test sets."""
    competition.require_private()
    path = str(competition.root / SOLUTION)
    return parse_solution(competition.sealed(SOLUTION), path, competition.ids("test"))


def counting_rows(
    competition: Competition, rows: Iterable[SolutionRow], metric: str | None = None
) -> tuple[SolutionRow, ...]:
    """Returns the rows among `rows` that count for `metric`, by default the ranking one."""
    track = TRACKS[competition.track]
    metric = metric or competition.metrics[0]
    return tuple(row for row in rows if row.usage in COUNTING and track.metric(row.subject) == metric)
