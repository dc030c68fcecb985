"""The checks of what was submitted, for `unseen audit`: what teams that pool their answers could compute."""

from leaderboard.feedback import public_rows, scores_before_end, sets_of
from leaderboard.ledger import opened
from submission.competition import Competition


def audit(competition: Competition) -> list[str]:
    """Returns a remark if all teams together could know every public label (organizers only)."""
    if competition.visibility == "practice":
        return []
    with opened(competition) as ledger:
        scored = sum(entry.status == "scored" for entry in ledger.entries())
    rows = public_rows(competition)
    sets = sets_of(competition, rows)
    if not scores_before_end(competition, rows) or scored < sets:
        return []
    return [
        f"all teams together have {scored:,} scores of {sets:,} public sets: who had all of them could "
        "compute every public label; the limits rest on teams that do not pool their answers, and this does "
        "not say that any do"
    ]
