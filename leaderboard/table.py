"""Who stands where on the public part, and ``leaderboard.csv``."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from leaderboard.ledger import Entry
from leaderboard.teams import team_id
from submission.metrics import Score, skill

COLUMNS = (
    *("Rank", "TeamId", "TeamName", "LastSubmissionDate", "Score", "SubmissionCount"),  # Kaggle's
    *("MAE", "Spearman", "Skill", "NoiseFloor", "Kind"),
)
CONSTANT = "constant"
"""The baseline that skill is measured against: the meta-train mean for every set."""
FEW = 10
"""With fewer public predictions RMSE alone is published: every further number helps to solve for labels."""


@dataclass(frozen=True)
class Standing:
    """One line of the public leaderboard. All numbers are rounded as they are published.

    Attributes:
        name: the team's or the baseline's name.
        kind: "team" or "baseline".
        score: on the public part only, in points; MAE and Spearman are nan with fewer than `FEW` predictions.
        skill: against `CONSTANT`, from the published scores; nan where there is no such baseline.
        rank: 1, 2, 2, 4, ...; None for a baseline.
        last_submission: UTC, "YYYY-MM-DD hh:mm:ss"; empty for a baseline.
        submissions: how many the team made, invalid ones among them; 0 for a baseline.
    """

    name: str
    kind: str
    score: Score
    skill: float
    rank: int | None = None
    last_submission: str = ""
    submissions: int = 0


def standings(rows: Sequence[Entry], baselines: Mapping[str, Score], decimals: int) -> tuple[Standing, ...]:
    """The leaderboard, best first: each team's best submission, and the baselines, pinned and unranked.

    Teams have competition ranks ("1, 2, 2, 4") by the public RMSE as displayed, so that order and display
    agree; inside a tie the earlier submission stands first, below a baseline of the same score. A team
    without a valid submission is not listed.

    Args:
        rows: the ledger's.
        baselines: the public score of every baseline, by name.
        decimals: of published scores.
    """
    constant = published(baselines[CONSTANT], decimals).rmse if CONSTANT in baselines else math.nan
    placed: list[tuple[float, int, Standing]] = []  # a baseline before, and a team by its submission's number
    for name, baseline in baselines.items():
        score = published(baseline, decimals)
        placed.append((score.rmse, 0, Standing(name, "baseline", score, skill(score.rmse, constant))))
    for entries in _by_team(rows).values():
        scored = [(round(e.public, decimals), e.number) for e in entries if e.public is not None]
        if scored:
            rmse, number = min(scored)
            score = Score(rmse, math.nan, math.nan, FEW)
            team = Standing(
                name=entries[0].team,
                kind="team",
                score=score,
                skill=skill(score.rmse, constant),
                last_submission=f"{entries[-1].time:%Y-%m-%d %H:%M:%S}",
                submissions=len(entries),
            )
            placed.append((score.rmse, number, team))
    return _ranked([standing for _, _, standing in sorted(placed, key=lambda triple: triple[:2])])


def published(score: Score, decimals: int) -> Score:
    """What of a public score is published: rounded, and with fewer than `FEW` predictions RMSE alone.

    >>> published(Score(rmse=4.9849, mae=3.14159, spearman=0.77777, n=3), 2)
    Score(rmse=4.98, mae=nan, spearman=nan, n=3)
    """
    score = score.rounded(decimals)
    return score if score.n >= FEW else replace(score, mae=math.nan, spearman=math.nan)


def leaderboard_csv(standings: Sequence[Standing], noise_floor: float, decimals: int) -> str:
    """The text of ``leaderboard.csv``: Kaggle's columns, then `MAE` to `Kind`; unknown numbers are empty.

    Names that a spreadsheet would take for a formula get a ``'`` in front.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for line in standings:
        team = line.kind == "team"
        writer.writerow(
            [
                line.rank or "",
                team_id(line.name) if team else "",
                _harmless(line.name),
                line.last_submission,
                shown(line.score.rmse, decimals),
                line.submissions if team else "",
                *(shown(x, decimals) for x in (line.score.mae, line.score.spearman, line.skill, noise_floor)),
                line.kind,
            ]
        )
    return stream.getvalue()


def shown(value: float, decimals: int) -> str:
    """A number as it is published; empty for nan.

    >>> shown(4.987, 2), shown(float("nan"), 2)
    ('4.99', '')
    """
    return "" if math.isnan(value) else f"{round(value, decimals) + 0.0:.{decimals}f}"  # no "-0.00"


def _by_team(rows: Sequence[Entry]) -> dict[str, list[Entry]]:
    teams: dict[str, list[Entry]] = {}
    for row in sorted(rows, key=lambda row: row.number):
        teams.setdefault(row.team_id, []).append(row)
    return teams


def _ranked(lines: Sequence[Standing]) -> tuple[Standing, ...]:
    ranked: list[Standing] = []
    teams: list[Standing] = []
    for line in lines:
        if line.kind == "team":
            tied = teams and teams[-1].score.rmse == line.score.rmse
            line = replace(line, rank=teams[-1].rank if tied else len(teams) + 1)
            teams.append(line)
        ranked.append(line)
    return tuple(ranked)


def _harmless(text: str) -> str:
    """`text` such that a spreadsheet does not run it: one line, no formula."""
    line = "".join(character if character.isprintable() else "\ufffd" for character in text)
    return f"'{line}" if text.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) else line
