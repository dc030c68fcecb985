"""Publishing the leaderboard."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from leaderboard.board.contenders import after_end, by_team, while_running
from leaderboard.board.pages import leaderboard_html, leaderboard_markdown
from leaderboard.board.part import Part
from leaderboard.board.probing import probing_warning
from leaderboard.board.results import baseline_names, read_methods
from leaderboard.board.table import FEW, Board, Standing, leaderboard_csv, standings
from leaderboard.ledger.kept import kept_table
from leaderboard.ledger.ledger import Entry, Ledger
from leaderboard.ledger.teams import plain
from leaderboard.ledger.versions import settle_interrupted
from submission.arrays import FloatArray
from submission.competition import Competition
from submission.errors import UnusableInput
from submission.files import sweep, write_text
from submission.solution import solution_of


@dataclass(frozen=True)
class Published:
    """What :func:`publish` wrote.

    Attributes:
        standings: the lines of the public leaderboard, best first.
        final: those of the private one; none before the end.
        warnings: for the organizer, a line each: too few public predictions, teams that have a baseline's
            name, submissions that look like probes, files that were left out.
        csv, html, markdown: the files.
        private_csv: the file with private scores; None before the end.
    """

    standings: tuple[Standing, ...]
    final: tuple[Standing, ...]
    warnings: tuple[str, ...]
    csv: Path
    html: Path
    markdown: Path
    private_csv: Path | None


def publish(competition: Competition, ended: datetime | None = None, out: Path | None = None) -> Published:
    """Write ``leaderboard.csv``, ``.html`` and ``.md`` from the ledger and the kit's own methods.

    They show scores on the public part only. The methods of ``submissions/`` stand there as unranked
    baselines; a file that is not valid (any more) is left out with a warning.

    After the end private scores, ranks and the shake-up are published too, on the page and in
    ``leaderboard_private.csv``: that is for the organizer to say.

    Where others submit meanwhile, all are written again: the last to write has seen the last submission.

    Args:
        competition: the organizer's copy.
        ended: the time now, if private scores are to be published.
        out: the folder to write to, as for a copy that cannot be written; the competition's own unless given.

    Raises:
        UnusableInput: this is a participant's copy, the ledger is damaged or lacks a row that was told, or
            private scores are to be published before the deadline.
    """
    competition.require_private()
    if ended is not None and competition.deadline is not None and ended < competition.deadline:
        raise UnusableInput(
            f"the deadline of {competition.name} is {competition.deadline:%Y-%m-%d %H:%M:%S} UTC: "
            "private scores are published after it"
        )
    ledger = Ledger(competition.private / "ledger.sqlite")
    ledger.check()
    settle_interrupted(competition, ledger)
    private, out = competition.private, out or competition.root
    if not ledger.read_only():
        sweep(out, private, private / "submissions", private / "solutions")
    for _ in range(3):  # without an end it could go on as long as others submit
        head = ledger.head()
        written = _write(competition, ledger, head, ended is not None, out)
        if ledger.head() == head:
            return written
    return written


def _write(competition: Competition, ledger: Ledger, head: str, final: bool, root: Path) -> Published:
    decimals, solution = competition.decimals, solution_of(competition)
    methods, entries = read_methods(competition), ledger.entries()
    predictions, unread = kept_table(competition, ledger, entries)
    public = Part.of(competition, solution, "Public")
    lines = standings(
        while_running(competition, public, entries, predictions, methods.predictions),
        public.families,
        decimals,
    )
    further = competition.titles[1:]
    boards = [Board("public", lines, round(public.noise_floor, decimals), further)]
    if final:
        private = Part.of(competition, solution, "Private")
        found = after_end(competition, private, entries, predictions, methods.predictions, lines)
        last = standings(found, private.families, decimals)
        boards.insert(0, Board("private", last, round(private.noise_floor, decimals), further))
        write_text(root / "leaderboard_private.csv", leaderboard_csv(boards[0], decimals))
    write_text(root / "leaderboard.csv", leaderboard_csv(boards[-1], decimals))
    write_text(root / "leaderboard.html", leaderboard_html(competition, boards, head))
    write_text(root / "leaderboard.md", leaderboard_markdown(competition, boards, head))
    return Published(
        standings=lines,
        final=boards[0].standings if final else (),
        warnings=(
            *(_endless(competition) if final else ()),
            *_few(len(public.rows)),
            *_namesakes(entries, competition),
            *_probing(entries, predictions),
            *unread,
            *methods.warnings,
        ),
        csv=root / "leaderboard.csv",
        html=root / "leaderboard.html",
        markdown=root / "leaderboard.md",
        private_csv=root / "leaderboard_private.csv" if final else None,
    )


def _probing(entries: Sequence[Entry], predictions: FloatArray) -> list[str]:
    """Warnings of teams whose submissions look like probes."""
    found = []
    for made in by_team(entries).values():
        scored = [entry for entry in made if entry.status == "scored"]
        found.append(probing_warning(scored, predictions[[entry.number - 1 for entry in scored]]))
    return [warning for warning in found if warning]


def _namesakes(rows: Sequence[Entry], competition: Competition) -> list[str]:
    """Teams entered before a baseline of their name stood in ``submissions/``."""
    baselines = baseline_names(competition)
    return [
        f"team {team!r} reads like the baseline {baselines[plain(team)]!r}: rename that file in submissions/"
        for team in dict.fromkeys(row.team for row in rows)
        if plain(team) in baselines
    ]


def _endless(competition: Competition) -> list[str]:
    if competition.deadline is not None:
        return []
    return ["there is no deadline: submissions are still taken, from teams that know their private scores"]


def _few(public: int) -> list[str]:
    if public >= FEW:
        return []
    return [
        f"the public score rests on {public} predictions: a few submissions tell their labels; "
        f"build with more test sets (MAE and Spearman are published from {FEW} on)"
    ]
