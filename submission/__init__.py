"""The contract between participants and organizers: a competition's folder, its files, and the score.

Needs NumPy only.
"""

from submission.competition import Competition
from submission.errors import InvalidSubmission, UnusableInput
from submission.ids import make_id, split_id
from submission.metrics import Score, noise_floor, score, skill
from submission.pack import pack
from submission.predictions import read_predictions, write_predictions, write_sample
from submission.scoring import (
    SubmissionScore,
    score_submission,
    score_validation,
    validate,
    validation_report,
)
from submission.solution import SolutionRow, write_solution

__all__ = [
    "Competition",
    "InvalidSubmission",
    "Score",
    "SolutionRow",
    "SubmissionScore",
    "UnusableInput",
    "make_id",
    "noise_floor",
    "pack",
    "read_predictions",
    "score",
    "score_submission",
    "score_validation",
    "skill",
    "split_id",
    "validate",
    "validation_report",
    "write_predictions",
    "write_sample",
    "write_solution",
]
