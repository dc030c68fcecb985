"""Groups of validation sets: what kind of shift each shows, for reports; test sets' groups stay hidden."""

import csv
import io
from collections.abc import Iterable
from pathlib import Path

from submission import Competition, UnusableInput
from submission.files import write_text

GROUPS_FILE = "val/groups.csv"
HEADER = ["set", "group", "family"]


def write_groups(path: Path, planned: Iterable[tuple[str, str, str]]) -> None:
    """Write ``set,group,family``, a line per validation set."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows(planned)
    write_text(path, lines.getvalue())


def read_groups(competition: Competition) -> dict[str, tuple[str, str]]:
    """Group and family of each validation set, by its name, in the competition's order.

    Raises:
        UnusableInput: the file is missing, was changed, or names other sets.
    """
    path = competition.file(GROUPS_FILE)
    with path.open(encoding="utf-8", newline="") as stream:
        header, *rows = list(csv.reader(stream)) or [[]]
    if header != HEADER or any(len(row) != len(HEADER) for row in rows):
        raise UnusableInput(f"{path} is damaged: its columns must be {','.join(HEADER)}")
    groups = {name: (group, family) for name, group, family in rows}
    if tuple(groups) != competition.sets("val"):
        raise UnusableInput(f"{path} names other sets than public/competition.json")
    return groups
