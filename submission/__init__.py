"""The contract between participants and organizers: a competition's folder, its files, and the score.

Needs NumPy and pydantic only; each name is imported when it is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from submission.competition import Competition as Competition
    from submission.errors import InvalidSubmission as InvalidSubmission
    from submission.errors import UnusableInput as UnusableInput
    from submission.ids import make_id as make_id
    from submission.metrics import Score as Score
    from submission.predictions import read_predictions as read_predictions
    from submission.predictions import write_predictions as write_predictions
    from submission.predictions import write_sample as write_sample
    from submission.scoretable import score_validation as score_validation
    from submission.scoring import validate as validate
    from submission.solution import SolutionRow as SolutionRow
    from submission.solution import solution_of as solution_of
    from submission.solution import write_solution as write_solution

HOMES = {
    "Competition": "submission.competition",
    "InvalidSubmission": "submission.errors",
    "Score": "submission.metrics",
    "SolutionRow": "submission.solution",
    "UnusableInput": "submission.errors",
    "make_id": "submission.ids",
    "read_predictions": "submission.predictions",
    "score_validation": "submission.scoretable",
    "solution_of": "submission.solution",
    "validate": "submission.scoring",
    "write_predictions": "submission.predictions",
    "write_sample": "submission.predictions",
    "write_solution": "submission.solution",
}
"""The names above, each with the module that defines it."""


def __getattr__(name: str) -> object:
    """Returns one of `HOMES` (PEP 562)."""
    if name not in HOMES:
        raise AttributeError(f"module 'submission' has no attribute {name!r}")
    return getattr(import_module(HOMES[name]), name)
