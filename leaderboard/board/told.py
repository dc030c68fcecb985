"""The numbers published about the public rows, and the error of the labels that they leave.

The error is estimated by `submission.told`, from the baselines on the board and every answer to a submission,
under every version of the solution. All submissions are assumed to be known, since a team may hand in
predictions that everybody has.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leaderboard.board.part import Part
from leaderboard.board.shown import Shown
from leaderboard.board.table import FEW
from leaderboard.ledger.chain import COLUMNS
from leaderboard.ledger.ledger import Ledger
from leaderboard.ledger.versions import read_version
from submission.arrays import FloatArray, IntArray
from submission.competition import Competition
from submission.solution import SolutionRow, counting_rows, solution_of
from submission.told import KEPT, Knowledge


@dataclass(frozen=True)
class Version:
    """The public rows under one version of the solution.

    Attributes:
        part: The rows of the ranking metric.
        rows: True (m,) for these rows, among the m rows of all versions.
        last: Number of the last submission that was answered under this version; 0 for none.
    """

    part: Part
    rows: NDArray[np.bool_]
    last: int


@dataclass(frozen=True)
class Hidden:
    """The public rows of all versions of the solution; a row with a corrected label counts as another row.

    Attributes:
        columns: Places of the m rows among the ids of the test sets (m,).
        prior: Predictions with which a participant starts (m,), in points.
        error: RMSE of the prior, in points.
        versions: All versions, the newest last.
        step: Points to multiples of which the baselines' scores are rounded.
    """

    columns: IntArray
    prior: FloatArray
    error: float
    versions: tuple[Version, ...]
    step: float

    @property
    def newest(self) -> Version:
        """The newest version."""
        return self.versions[-1]

    def added(self, predictions: FloatArray) -> FloatArray:
        """Returns the differences between predictions (ids,) and the prior, in points, (m,)."""
        return 100 * np.asarray(predictions)[self.columns] - self.prior

    def left(self, known: Knowledge) -> float:
        """Returns the remaining error of the labels that count now, in points."""
        return known.error(self.newest.rows)

    def of_baselines(self, baselines: Sequence[Mapping[str, float]], ids: Sequence[str]) -> Knowledge:
        """Returns the knowledge of everybody who sees the RMSE of these baselines, under every version."""
        known = Knowledge(self.error, len(self.columns))
        for version in self.versions:
            for found in baselines:
                values = np.array([found[name] for name in ids])
                score = version.part.score(values).rmse
                known.number(self.added(values), score, self.step, version.rows)
        return known


def hidden_rows(competition: Competition, ledger: Ledger, shown: Shown) -> Hidden:
    """Returns the public rows of every version of the solution that the ledger names.

    Raises:
        UnusableInput: the ledger or the solution is damaged.
    """
    found = [(counting_rows(competition, rows), last) for rows, last in _versions(competition, ledger)]
    known: dict[tuple[str, float], int] = {}
    for rows, _ in found:
        for row in rows:
            if row.usage == "Public":
                known.setdefault((row.id, row.prediction), len(known))
    place = {name: column for column, name in enumerate(competition.ids("test"))}
    versions = []
    for rows, last in found:
        mine = np.zeros(len(known), dtype=bool)
        mine[[known[row.id, row.prediction] for row in rows if row.usage == "Public"]] = True
        versions.append(Version(Part.of_rows(competition, rows, "Public"), mine, last))
    names = [name for name, _ in known]
    return Hidden(
        columns=np.array([place[name] for name in names]),
        prior=100 * np.array([shown.prior[name] for name in names]),
        error=shown.error,
        versions=tuple(versions),
        step=10.0 ** -min(competition.decimals, 1),
    )


def on_board(
    competition: Competition, hidden: Hidden, shown: Shown
) -> tuple[dict[str, Mapping[str, float]], Knowledge]:
    """Returns the baselines on the board before the end, and the knowledge that they give.

    They are as many of the chosen ones as leave `KEPT` of the prior's error; none with fewer than `FEW`
    public rows.
    """
    ids = competition.ids("test")
    names = list(shown.baselines) if len(hidden.newest.part) >= FEW else []
    while True:
        known = hidden.of_baselines([shown.baselines[name] for name in names], ids)
        if not names or hidden.left(known) >= KEPT * hidden.error:
            return {name: shown.baselines[name] for name in names}, known
        names.pop()


def _versions(competition: Competition, ledger: Ledger) -> list[tuple[tuple[SolutionRow, ...], int]]:
    """Returns the rows of every version of the solution, each with the number of its last submission."""
    digests: list[str] = []
    last: dict[str, int] = {}
    number = 0
    for values in ledger.rows():
        row = dict(zip(COLUMNS, values, strict=False))
        if row["event"] == "submission":
            number = row["entry"]
        elif row["event"] != "solution":
            continue
        digest = str(row["solution"])
        if not digests or digests[-1] != digest:
            digests.append(digest)
        last[digest] = number
    found = [(read_version(competition, digest), last[digest]) for digest in digests[:-1]]
    return [(rows, at) for rows, at in found if rows is not None] + [(solution_of(competition), number)]
