"""The families of the test sets, from the organizer's record of the build."""

import json
from collections.abc import Sequence

from leaderboard.board.statistics import Families
from submission.competition import Competition
from submission.errors import UnusableInput
from submission.files import read_head
from submission.solution import SolutionRow

_LARGEST = 1 << 30


def families_of(competition: Competition, rows: Sequence[SolutionRow]) -> Families:
    """The families of rows of the solution (n,); a set that the record does not name is one of its own.

    Raises:
        UnusableInput: ``private/build.json`` is damaged.
    """
    named = _recorded(competition)
    return Families.of([named.get(row.set, f"set {row.set}") for row in rows], [row.group for row in rows])


def _recorded(competition: Competition) -> dict[str, str]:
    """The family of every test set in ``private/build.json``, by name; none where there is no such file."""
    path = competition.private / "build.json"
    if not path.exists():
        return {}
    try:
        document = json.loads(read_head(path, _LARGEST))
        return {json.loads(test["recipe"])["name"]: str(test["family"]) for test in document.get("test", ())}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise UnusableInput(
            f"{path} is damaged ({type(error).__name__}): restore it from a backup"
        ) from error
