"""Functions that publish the leaderboard."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np

from leaderboard.board.contenders import Baselines, in_private, in_public, kit, while_running
from leaderboard.board.feedback import Listening, together
from leaderboard.board.pages import leaderboard_html, leaderboard_markdown
from leaderboard.board.part import Part
from leaderboard.board.probing import probing_warnings
from leaderboard.board.results import baseline_names, read_methods
from leaderboard.board.shown import Shown, shown
from leaderboard.board.table import FEW, Board, Contender, Standing, leaderboard_csv, standings
from leaderboard.board.told import on_board
from leaderboard.ledger.kept import kept_table
from leaderboard.ledger.ledger import Entry, Ledger
from leaderboard.ledger.teams import plain
from leaderboard.ledger.versions import settle_interrupted
from submission.arrays import FloatArray
from submission.competition import Competition
from submission.errors import UnusableInput
from submission.files import sweep, write_text
from submission.page import templates
from submission.solution import solution_of

PRIVATE = "leaderboard_private.csv"


@dataclass(frozen=True)
class Published:
    """The result of :func:`publish`.

    Attributes:
        standings: Lines of the public leaderboard, best first; with details after the end.
        final: Lines of the private leaderboard; empty before the end.
        warnings: Warnings for the organizer: too few public predictions, teams with a baseline's name,
            submissions that look like probes for labels, files that were left out, private scores of before.
        csv, html, markdown: Paths of the files.
        private_csv: Path of the file with private scores; None before the end.
    """

    standings: tuple[Standing, ...]
    final: tuple[Standing, ...]
    warnings: tuple[str, ...]
    csv: Path
    html: Path
    markdown: Path
    private_csv: Path | None

    def _repr_html_(self) -> str:
        """Returns the HTML for a notebook: rank, name, score and number of submissions."""
        page = templates(Path(__file__).parent).get_template("published.html")
        return page.render(lines=self.standings, page=self.html)


def publish(
    competition: Competition, ended: datetime | None = None, retired: bool = False, out: Path | None = None
) -> Published:
    """Write ``leaderboard.csv``, ``.html`` and ``.md`` from the ledger and the kit's own methods.

    Before the end the files show, for the public part, the teams' ranks and the scores in the answers to
    them, and a few baselines; any further number would reveal something about the labels
    (`leaderboard.board.told`). All methods and statistics are in the table of the validation sets,
    ``leaderboard_validation.csv``. An invalid file is left out with a warning.

    After the end, if the organizer asks for it, the teams' private scores, ranks and the shake-up are
    published too, on the page and in ``leaderboard_private.csv``.

    If other processes submit at the same time, all files are written again, so that the last one to write has
    seen the last submission.

    Args:
        competition: Organizer's copy of the competition.
        ended: Present time, to publish private scores; None for public scores only.
        retired: True, after the end, to show all methods on the test sets too, if these will not be used
            again.
        out: Folder to write to, for example for a read-only copy; None for the competition's folder.

    Raises:
        UnusableInput: this is a participant's copy; the ledger is damaged or lacks a published row; or
            private scores are to be published before the deadline, or methods on test sets before the end.
    """
    if retired and ended is None:
        raise UnusableInput("test sets can be retired only after the end: give --final too")
    competition.require_private()
    if ended is not None and competition.deadline is not None and ended < competition.deadline:
        raise UnusableInput(
            f"the deadline of {competition.name} is {competition.deadline:%Y-%m-%d %H:%M:%S} UTC: "
            "private scores can be published only after it"
        )
    ledger = Ledger(competition.private / "ledger.sqlite")
    ledger.check()
    settle_interrupted(competition, ledger)
    out = out or competition.root
    if not ledger.read_only():
        sweep(competition.root, but=["cache"])
    for _ in range(3):  # without an end it could go on as long as others submit
        head = ledger.head()
        written = _write(competition, ledger, head, ended is not None, retired, out)
        if ledger.head() == head:
            return written
    return written


def _write(
    competition: Competition, ledger: Ledger, head: str, final: bool, retired: bool, root: Path
) -> Published:
    decimals = competition.decimals
    methods, entries = read_methods(competition), ledger.entries()
    predictions, unread = kept_table(competition, ledger, entries)
    known = shown(competition)
    listening = Listening.of(competition, ledger, known)
    running = _while_running(competition, listening, known, entries, predictions)
    boards = [running]
    if final:
        kit_there = methods.predictions if retired else {}
        boards = _after_end(competition, running, entries, predictions, kit_there)
        write_text(root / PRIVATE, leaderboard_csv(boards[0], decimals))
    write_text(root / "leaderboard.csv", leaderboard_csv(boards[-1], decimals))
    on_validation = _on_validation(competition)
    if on_validation.standings:
        boards.append(on_validation)
        write_text(root / "leaderboard_validation.csv", leaderboard_csv(on_validation, decimals))
    write_text(root / "leaderboard.html", leaderboard_html(competition, boards, head))
    write_text(root / "leaderboard.md", leaderboard_markdown(competition, boards, head))
    public = listening.hidden.newest.part
    return Published(
        standings=boards[1].standings if final else running.standings,
        final=boards[0].standings if final else (),
        warnings=(
            *(_endless(competition) if final else _outdated(root)),
            *_few(len(public)),
            *_namesakes(entries, competition),
            *_probing(entries, predictions, public, 10.0**-decimals),
            *unread,
            *methods.warnings,
        ),
        csv=root / "leaderboard.csv",
        html=root / "leaderboard.html",
        markdown=root / "leaderboard.md",
        private_csv=root / PRIVATE if final else None,
    )


def _while_running(
    competition: Competition,
    listening: Listening,
    known: Shown,
    entries: Sequence[Entry],
    predictions: FloatArray,
) -> Board:
    """Returns the public board before the end: teams with the scores of their answers, a few baselines."""
    public, hidden = listening.hidden.newest.part, listening.hidden
    baselines = {
        name: round(public.of_method(found)[0].rmse / hidden.step) * hidden.step
        for name, found in on_board(competition, hidden, known)[0].items()
    }
    scored = [entry for entry in entries if entry.status == "scored"]
    found = while_running(entries, listening.answers(scored, predictions), len(public), baselines)
    return Board("public", standings(found, None, competition.decimals), detailed=False)


def _after_end(
    competition: Competition,
    running: Board,
    entries: Sequence[Entry],
    predictions: FloatArray,
    methods: Baselines,
) -> list[Board]:
    """Returns the private and the public board after the end, with the kit's methods that may be shown."""
    decimals, further, solution = competition.decimals, competition.titles[1:], solution_of(competition)
    public, private = (Part.of(competition, solution, usage) for usage in ("Public", "Private"))
    errors, unknown = np.full(len(public), np.nan), (math.nan,) * len(further)
    seen = [
        Contender(line.name, "baseline", line.score, errors, further=unknown)
        for line in running.standings
        if line.kind == "baseline"
    ]
    teams = in_public(competition, public, entries, predictions)
    before = standings(teams + (kit(public, methods) or seen), public.families, decimals)
    teams = in_private(competition, private, entries, predictions, before)
    after = standings(teams + kit(private, methods), private.families, decimals)
    return [
        Board("private", after, round(private.noise_floor, decimals), further),
        Board("public", before, round(public.noise_floor, decimals), further),
    ]


def _on_validation(competition: Competition) -> Board:
    """Returns the board of all methods on the labelled validation sets, which reveals nothing new."""
    methods = read_methods(competition, "val").predictions if competition.sets("val") else {}
    if not methods:
        return Board("validation", ())
    part = Part.of_validation(competition)
    lines = standings(kit(part, methods), part.families, competition.decimals)
    floor = round(part.noise_floor, competition.decimals)
    return Board("validation", lines, floor, competition.titles[1:])


def _probing(entries: Sequence[Entry], predictions: FloatArray, public: Part, step: float) -> list[str]:
    """Returns warnings about teams, or teams with similar names, whose submissions look like probes."""
    scored = [entry for entry in entries if entry.status == "scored"]
    found = []
    for made in together(scored):
        theirs = predictions[[entry.number - 1 for entry in made]]
        found += probing_warnings(made, theirs, public.columns, step)
    return found


def _namesakes(rows: Sequence[Entry], competition: Competition) -> list[str]:
    """Returns warnings about teams with the name of a baseline, which was predicted after they submitted."""
    baselines = baseline_names(competition)
    return [
        f"team {team!r} reads like the baseline {baselines[plain(team)]!r}: "
        "remove its file from submissions/, and predict it `--as` another name"
        for team in dict.fromkeys(row.team for row in rows)
        if plain(team) in baselines
    ]


def _endless(competition: Competition) -> list[str]:
    if competition.deadline is not None:
        return []
    return ["there is no deadline: submissions are still taken, from teams that know their private scores"]


def _outdated(root: Path) -> list[str]:
    if not (root / PRIVATE).exists():
        return []
    return [f"{root / PRIVATE} is as the last `--final` wrote it: give --final again, or remove the file"]


def _few(public: int) -> list[str]:
    if public >= FEW:
        return []
    return [
        f"the public score is computed from {public} predictions: a few submissions reveal their labels; "
        f"build with more test sets (baselines are shown from {FEW} on)"
    ]
