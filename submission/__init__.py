"""The contract between participants and organizers: a competition's folder, its files, and the score.

Needs NumPy and pydantic only; `Competition`, which needs both, is imported when it is asked for.
"""

from typing import TYPE_CHECKING

from submission.errors import InvalidSubmission as InvalidSubmission
from submission.errors import UnusableInput as UnusableInput
from submission.ids import make_id as make_id

if TYPE_CHECKING:
    from submission.competition import Competition as Competition


def __getattr__(name: str) -> object:
    """Returns `Competition` (PEP 562)."""
    if name != "Competition":
        raise AttributeError(f"module 'submission' has no attribute {name!r}")
    from submission.competition import Competition

    return Competition
