"""The contract between participants and organizers: a competition's folder, its files, and the score.

Needs NumPy and pydantic only; each name is imported when it is asked for.
"""

from typing import TYPE_CHECKING

from submission.lazy import lazily

if TYPE_CHECKING:
    from submission.competition import Competition as Competition
    from submission.errors import InvalidSubmission as InvalidSubmission
    from submission.errors import UnusableInput as UnusableInput
    from submission.ids import make_id as make_id
    from submission.metrics import Score as Score
    from submission.metrics import score as score
    from submission.metrics import skill as skill
    from submission.predictions import read_predictions as read_predictions
    from submission.predictions import write_predictions as write_predictions
    from submission.predictions import write_sample as write_sample
    from submission.scoretable import score_validation as score_validation
    from submission.scoring import SubmissionScore as SubmissionScore
    from submission.scoring import read_targets as read_targets
    from submission.scoring import score_submission as score_submission
    from submission.scoring import validate as validate
    from submission.solution import SolutionRow as SolutionRow
    from submission.solution import solution_of as solution_of
    from submission.solution import write_solution as write_solution

__getattr__ = lazily(
    __name__,
    {
        "Competition": "submission.competition",
        "InvalidSubmission": "submission.errors",
        "Score": "submission.metrics",
        "SolutionRow": "submission.solution",
        "SubmissionScore": "submission.scoring",
        "UnusableInput": "submission.errors",
        "make_id": "submission.ids",
        "read_predictions": "submission.predictions",
        "read_targets": "submission.scoring",
        "score": "submission.metrics",
        "score_submission": "submission.scoring",
        "score_validation": "submission.scoretable",
        "skill": "submission.metrics",
        "solution_of": "submission.solution",
        "validate": "submission.scoring",
        "write_predictions": "submission.predictions",
        "write_sample": "submission.predictions",
        "write_solution": "submission.solution",
    },
)
