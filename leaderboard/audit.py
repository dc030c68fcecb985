"""The check of what was submitted, for `unseen audit`."""

from leaderboard.feedback import public_rows
from leaderboard.ledger import opened
from submission.competition import Competition


def audit(competition: Competition) -> list[str]:
    """Returns a warning if all answers so far are enough to compute the public labels (organizers only)."""
    with opened(competition) as ledger:
        scored = sum(entry.status == "scored" for entry in ledger.entries())
    rows = public_rows(competition)
    if competition.visibility == "practice" or scored <= rows:
        return []
    return [
        f"all teams have {scored:,} scores of {rows:,} public rows: together they can compute every public "
        "label; the limits rest on teams that do not pool their answers"
    ]
