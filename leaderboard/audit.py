"""The checks of what was submitted, for `unseen audit`."""

from leaderboard.feedback import public_rows, scores_before_end, sets_of
from leaderboard.ledger import opened
from leaderboard.pooling import alike_teams
from submission.competition import Competition


def audit(competition: Competition) -> list[str]:
    """Returns remarks on teams that could pool, or seem to pool, their answers (organizers only)."""
    if competition.visibility == "practice":
        return []
    return [*scores_of_all_teams(competition), *alike_teams(competition)]


def scores_of_all_teams(competition: Competition) -> list[str]:
    """Returns a remark if the scores of all teams are as many as the public sets."""
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
