"""The checks of what was submitted, for `unseen audit`: what teams could do that pool answers, and who may.

What a constant, the true values and the methods in ``submissions/`` explain is taken away, so that teams that
hand in a method of the kit, or a blend of several, are not alike. What is left of copies points in one
direction, also if they are blended or scaled.
"""

import itertools

import numpy as np

from leaderboard.feedback import public_rows, scores_before_end, sets_of
from leaderboard.ledger import Ledger, opened
from leaderboard.methods import read_methods
from leaderboard.solutions import counting_solution
from submission.arrays import FloatArray
from submission.competition import Competition

ALIKE = 0.75
"""Smallest correlation of what is left of two teams' predictions that is worth a remark."""
SMALL = 0.45
"""What is left, in points, that counts in full: more than rounding to whole points leaves."""
FREE = 20
"""Number of dimensions that are never explained, so that chance seldom makes a correlation of `ALIKE`."""


def audit(competition: Competition) -> list[str]:
    """Returns remarks on teams that could pool, or seem to pool, their answers (organizers only)."""
    if competition.visibility == "practice":
        return []
    with opened(competition) as ledger:
        scored = sum(entry.status == "scored" for entry in ledger.entries())
    rows = public_rows(competition)
    sets = sets_of(competition, rows)
    of_all = (
        f"all teams together have {scored:,} scores of {sets:,} public sets: who had all of them could "
        "compute every public label; the limits rest on teams that do not pool their answers, and this does "
        "not say that any do"
    )
    known = scores_before_end(competition, rows) and scored >= sets
    return [*([of_all] if known else []), *alike_teams(competition)]


def alike_teams(competition: Competition) -> list[str]:
    """Returns a remark for each pair of teams that hand in alike predictions; none without known methods."""
    rows = counting_solution(competition)
    methods = read_methods(competition).predictions
    if not methods:
        return []
    targets = [row.prediction for row in rows]
    known = [targets, *([values[row.id] for row in rows] for values in methods.values())]
    with opened(competition) as ledger:
        teams = _submitted(competition, ledger, [row.id for row in rows])
    left = {team: own_parts(100 * files, 100 * np.array(known)) for team, files in teams.items()}
    remarks = []
    for one, other in itertools.combinations(left, 2):
        likeness = float((left[one] @ left[other].T).max())
        if likeness >= ALIKE:
            remarks.append(
                f"teams {one!r} and {other!r} hand in predictions that are alike (correlation "
                f"{likeness:.2f}) beyond what {len(methods)} methods in submissions/ explain: they may pool "
                "their answers, use the same code, or a method of the kit that is not there (unseen predict)"
            )
    return remarks


def _submitted(competition: Competition, ledger: Ledger, ids: list[str]) -> dict[str, FloatArray]:
    """Returns the different predictions (files, ids) of each team by its name."""
    places = {name: place for place, name in enumerate(competition.ids("test"))}
    digests: dict[str, dict[str, None]] = {}
    for entry in ledger.entries():
        if entry.status == "scored":
            digests.setdefault(entry.team, {})[entry.digest] = None
    chosen = [places[name] for name in ids]
    return {
        team: np.array([ledger.predictions(digest)[chosen] for digest in files])
        for team, files in digests.items()
    }


def own_parts(files: FloatArray, known: FloatArray) -> FloatArray:
    """Returns what a constant and known values do not explain of predictions, with lengths of at most 1.

    The dot product of two results is a correlation; it shrinks where less than `SMALL` is left. `files`
    (f, rows) and `known` (k, rows), true values and known methods' predictions, are in points.
    """
    rows = files.shape[1]
    _, sizes, directions = np.linalg.svd(np.vstack([np.full(rows, 100.0), known]), full_matrices=False)
    explained = directions[sizes > 1e-6 * sizes[0]][: max(0, rows - FREE)]
    left = files - files @ explained.T @ explained
    lengths = np.linalg.norm(left, axis=1, keepdims=True)
    return np.asarray(left / np.maximum(lengths, SMALL * np.sqrt(rows)))
