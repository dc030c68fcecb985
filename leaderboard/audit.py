"""The checks of what was submitted, for `unseen audit`: a list of functions that yield warnings."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from leaderboard.feedback import public_rows
from leaderboard.ledger import Entry, clock_warning, opened
from leaderboard.teams import baseline_names, plain
from submission.competition import Competition


def audit(competition: Competition, now: datetime) -> list[str]:
    """Returns the warnings of all checks of the submissions so far (organizers only)."""
    with opened(competition) as ledger:
        entries, newest = ledger.entries(), ledger.newest()[2]
    found = [warning for check in CHECKS for warning in check(competition, entries)]
    return [*found, *filter(None, [clock_warning(newest, now)])]


def _pooled(competition: Competition, entries: Sequence[Entry]) -> Iterator[str]:
    """Yield a warning if all answers together are enough to compute the public labels."""
    rows, scored = public_rows(competition), sum(entry.status == "scored" for entry in entries)
    if competition.visibility == "hidden" and scored > rows:
        yield (
            f"all teams have {scored:,} scores of {rows:,} public rows: together they can compute every "
            "public label; the limits rest on teams that do not pool their answers"
        )


def _namesakes(competition: Competition, entries: Sequence[Entry]) -> Iterator[str]:
    """Yield a warning for each team with the name of a method that was predicted after it submitted."""
    baselines = baseline_names(competition)
    for team in dict.fromkeys(entry.team for entry in entries):
        if plain(team) in baselines:
            yield (
                f"team {team!r} reads like the baseline {baselines[plain(team)]!r}: "
                "remove its file from submissions/, and predict it `--as` another name"
            )


CHECKS: tuple[Callable[[Competition, Sequence[Entry]], Iterator[str]], ...] = (_pooled, _namesakes)
