"""What was told about the public rows, number by number, and what it leaves of their labels' error.

The estimate is that of `submission.told`. Counted are the baselines on the board and every answer to a
submission, under every version of the solution that was in force; all submissions are taken to be known,
since a team may hand in what everybody has.
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
        part: the rows, of the metric that ranks.
        rows: which of the m rows of all versions they are (m,).
        last: the number of the last submission that was told of them; 0 for none.
    """

    part: Part
    rows: NDArray[np.bool_]
    last: int


@dataclass(frozen=True)
class Hidden:
    """The public rows of all versions: a corrected label makes another row of it.

    Attributes:
        columns: where each of the m rows stands among the ids of the test sets (m,).
        prior: what a participant starts from (m,), in points.
        error: of the prior, in points.
        versions: those that were in force, the newest last.
        step: to which scores of baselines are rounded, in points.
    """

    columns: IntArray
    prior: FloatArray
    error: float
    versions: tuple[Version, ...]
    step: float

    @property
    def newest(self) -> Version:
        """The version in force."""
        return self.versions[-1]

    def added(self, predictions: FloatArray) -> FloatArray:
        """What predictions (ids,) add to the prior (m,), in points."""
        return 100 * np.asarray(predictions)[self.columns] - self.prior

    def left(self, known: Knowledge) -> float:
        """What is left of the error of the labels that count now, in points."""
        return known.error(self.newest.rows)

    def of_baselines(self, baselines: Sequence[Mapping[str, float]], ids: Sequence[str]) -> Knowledge:
        """What everybody knows who sees the RMSE of these baselines, under every version."""
        known = Knowledge(self.error, len(self.columns))
        for version in self.versions:
            for found in baselines:
                values = np.array([found[name] for name in ids])
                score = version.part.score(values).rmse
                known.number(self.added(values), score, self.step, version.rows)
        return known


def hidden_rows(competition: Competition, ledger: Ledger, shown: Shown) -> Hidden:
    """The public rows of every version that the ledger names.

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
    """The baselines on the board before the end, and what is known by them.

    As many of those chosen as leave `KEPT` of the prior's error; none with fewer than `FEW` public rows.
    """
    ids = competition.ids("test")
    names = list(shown.baselines) if len(hidden.newest.part) >= FEW else []
    while True:
        known = hidden.of_baselines([shown.baselines[name] for name in names], ids)
        if not names or hidden.left(known) >= KEPT * hidden.error:
            return {name: shown.baselines[name] for name in names}, known
        names.pop()


def _versions(competition: Competition, ledger: Ledger) -> list[tuple[tuple[SolutionRow, ...], int]]:
    """All rows of every version in force while there were submissions, and the last of these, by number."""
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
