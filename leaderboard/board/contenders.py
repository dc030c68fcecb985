"""Which submission stands for each team, while the competition runs and after its end."""

from collections.abc import Mapping, Sequence

from leaderboard.board.feedback import standing
from leaderboard.board.part import Part
from leaderboard.board.table import Contender, Standing
from leaderboard.ledger.ledger import Entry
from submission.arrays import FloatArray
from submission.competition import Competition
from submission.metrics import Score

Baselines = Mapping[str, Mapping[str, float]]


def while_running(
    competition: Competition, public: Part, entries: Sequence[Entry], predictions: FloatArray, kit: Baselines
) -> list[Contender]:
    """The teams that have a valid submission, and the baselines, as the public leaderboard has them.

    Args:
        public: the public part.
        entries: the ledger's.
        predictions: by number less one, (k, ids).
        kit: the predictions of the baselines, {name: {id: fraction}}.
    """
    found = _baselines(public, kit)
    for made in by_team(entries).values():
        scored = [entry for entry in made if entry.status == "scored"]
        if not scored:
            continue
        stood = standing(
            competition, scored, lambda entry: public.errors(predictions[entry.number - 1]), public.families
        )
        history = _history(competition, scored, stood)
        found.append(_team(public, made, stood[-1], predictions, history=history))
    return found


def after_end(
    competition: Competition,
    private: Part,
    entries: Sequence[Entry],
    predictions: FloatArray,
    kit: Baselines,
    before: Sequence[Standing],
) -> list[Contender]:
    """The same after the end: each team by the best private score of its finals.

    Args:
        private: the private part.
        before: the public standings.
    """
    found = _baselines(private, kit)
    public = {line.name: line for line in before if line.kind == "team"}
    for made in by_team(entries).values():
        finals = [(entry.private, entry) for entry in made if entry.final and entry.private is not None]
        if not finals:
            continue
        _, best = min(finals, key=lambda pair: (round(pair[0], competition.decimals), pair[1].number))
        found.append(_team(private, made, best, predictions, public=public.get(made[0].team)))
    return found


def by_team(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    """The submissions of every team, by its id, in the order of arrival."""
    teams: dict[str, list[Entry]] = {}
    for entry in sorted(entries, key=lambda entry: entry.number):
        teams.setdefault(entry.team_id, []).append(entry)
    return teams


def _baselines(part: Part, kit: Baselines) -> list[Contender]:
    return [
        Contender(
            name,
            "baseline",
            *part.of_method(predicted),
            further=tuple(other.of_method(predicted)[0].rmse for other in part.further),
        )
        for name, predicted in kit.items()
    ]


def _team(
    part: Part,
    made: Sequence[Entry],
    entry: Entry,
    predictions: FloatArray,
    history: tuple[tuple[str, float], ...] = (),
    public: Standing | None = None,
) -> Contender:
    """A team by one of its submissions; the RMSE is the ledger's."""
    found = part.score(predictions[entry.number - 1])
    recorded = entry.public if part.rows[0].usage == "Public" else entry.private
    assert recorded is not None
    return Contender(
        name=made[0].team,
        kind="team",
        score=Score(recorded, found.mae, found.spearman, found.n),
        errors=part.errors(predictions[entry.number - 1]),
        number=entry.number,
        last_submission=f"{made[-1].time:%Y-%m-%d %H:%M:%S}",
        submissions=len(made),
        history=history,
        public=public,
        further=tuple(other.score(predictions[entry.number - 1]).rmse for other in part.further),
    )


def _history(
    competition: Competition, scored: Sequence[Entry], stood: Sequence[Entry]
) -> tuple[tuple[str, float], ...]:
    """When another submission came to stand for the team, and its displayed score."""
    points = []
    for entry, best in zip(scored, stood, strict=True):
        if entry is best:
            assert entry.public is not None
            points.append((f"{entry.time:%Y-%m-%d %H:%M}", round(entry.public, competition.decimals)))
    return tuple(points)
