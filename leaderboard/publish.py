"""The published leaderboard: open the ledger, check its chain, read its rows, rank them, write the files."""

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from pathlib import Path

from leaderboard.columns import FIRST, Board, board_csv, board_markdown, page_columns
from leaderboard.feedback import FEW, public_score, scores_before_end
from leaderboard.ledger import Entry, check_chain, entries_of, opened
from leaderboard.solutions import newest_solution, predictions_of, version
from leaderboard.standings import (
    Predictions,
    Standing,
    decided_pairs,
    in_private,
    in_public,
    of_methods,
    rank_groups,
    standings,
    while_running,
)
from submission.competition import VISIBILITIES, Competition
from submission.errors import InvalidSubmission, UnusableInput
from submission.files import sha256, sweep, write_text
from submission.metrics import Score
from submission.page import escaped, templates
from submission.predictions import predicted_files
from submission.scoretable import Methods, Targets, legend, score_cells
from submission.scoring import validate
from submission.solution import SolutionRow, counting_rows
from submission.table import Tabular, cell, text_table

PRIVATE = "leaderboard_private.csv"
LONGEST = 1.3
"""End of drawn intervals, as a multiple of the largest score: those of few families can be very wide."""
NOT_PREDICTED = (
    "there is no record that `unseen predict` wrote its present content; predict the method again to show "
    "it, or remove the file if it is a participant's"
)


@dataclass(frozen=True)
class Published(Tabular):
    """The result of :func:`publish`.

    Attributes:
        standings: Lines of the public leaderboard, best first; with details after the end.
        final: Lines of the private leaderboard; empty before the end.
        warnings: Warnings for the organizer: too few public predictions, files that were left out.
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

    def _rows(self) -> list[list[str]]:
        rows = [["team", "rank", "RMSE"]]
        for line in self.final or self.standings:
            name = line.name if line.kind == "team" else f"{line.name} (baseline)"
            rows.append([name, str(line.rank or ""), str(line.score.rmse)])
        return rows

    def _repr_html_(self) -> str:
        """Returns the page for a notebook."""
        return f'<iframe srcdoc="{escape(self.html.read_text("utf-8"))}" width="100%" height="600"></iframe>'


def publish(
    competition: Competition, ended: datetime | None = None, retired: bool = False, out: Path | None = None
) -> Published:
    """Write ``leaderboard.csv``, ``.html`` and ``.md`` from the ledger and the kit's own methods.

    Before the end the files show the teams' ranks and best public scores, and in a practice competition the
    methods below them (`leaderboard.feedback`). All methods and statistics are in the table of the validation
    sets, ``leaderboard_validation.csv``. An invalid file is left out with a warning.

    After the end, if the organizer asks for it, the teams' private scores, ranks and changes of rank are
    published too, on the page and in ``leaderboard_private.csv``.

    If other processes submit at the same time, all files are written again, so that the last one to write has
    seen the last submission. `ended` is the present time, to publish private scores; `retired` shows all
    methods on the test sets too, after the end; `out` is another folder to write to.
    """
    if retired and ended is None:
        raise UnusableInput("test sets can be retired only after the end: give --final too")
    competition.require_private()
    final, root = ended is not None, out or competition.root
    if not final and (root / PRIVATE).exists():
        raise UnusableInput(f"the leaderboard is final: give --final, or remove {root / PRIVATE}")
    if ended is not None and competition.deadline is not None and ended < competition.deadline:
        raise UnusableInput(
            f"the deadline of {competition.name} is {competition.deadline:%Y-%m-%d %H:%M:%S} UTC: "
            "private scores can be published only after it"
        )
    if os.access(competition.root, os.W_OK):
        sweep(competition.root, but=["cache"])
    for _ in range(3):  # without an end it could go on as long as others submit
        with opened(competition) as ledger:
            rows = ledger.rows()
            check_chain(competition, rows)
            entries = entries_of(rows)
            scored = [entry for entry in entries if entry.status == "scored" and ended is not None]
            predictions = {each.number: predictions_of(competition, ledger, each) for each in scored}
            solution = version(competition, ledger)
            head = ledger.head
        published = _write(competition, entries, predictions, solution, head, final, retired, root)
        with opened(competition) as ledger:
            if ledger.head == head:
                break
    return published


def _write(
    competition: Competition,
    entries: Sequence[Entry],
    predictions: Predictions,
    solution: Sequence[SolutionRow],
    head: str,
    final: bool,
    retired: bool,
    root: Path,
) -> Published:
    methods, warnings = read_methods(competition)
    whole = retired or competition.visibility == "practice"
    public, kit = _parts(competition, solution, "Public"), methods if whole else {}
    if final:
        private = _parts(competition, solution, "Private")
        boards = _after_end(competition, public, private, entries, kit, predictions, whole)
    else:
        boards = [_while_running(competition, public, entries, kit)]
    files = {"leaderboard.csv": board_csv(boards[-1])}
    if final:
        files[PRIVATE] = board_csv(boards[0])
    if (on_validation := _on_validation(competition)).standings:
        boards.append(on_validation)
        files["leaderboard_validation.csv"] = board_csv(on_validation)
    files["leaderboard.html"] = leaderboard_html(competition, boards, head)
    files["leaderboard.md"] = leaderboard_markdown(competition, boards, head)
    for name, text in files.items():
        write_text(root / name, text)
    return Published(
        standings=boards[int(final)].standings,
        final=boards[0].standings if final else (),
        warnings=(*_doubts(competition, len(public[0]), final), *warnings),
        csv=root / "leaderboard.csv",
        html=root / "leaderboard.html",
        markdown=root / "leaderboard.md",
        private_csv=root / PRIVATE if final else None,
    )


def _parts(competition: Competition, solution: Sequence[SolutionRow], usage: str) -> list[Targets]:
    """Returns the targets of the public or private rows for each metric, the ranking one first."""
    rows = [row for row in solution if row.usage == usage]
    chosen = (counting_rows(competition, rows, metric) for metric in competition.metrics)
    return [Targets.of_solution(competition, each) for each in chosen]


def _while_running(
    competition: Competition, public: Sequence[Targets], entries: Sequence[Entry], methods: Methods
) -> Board:
    lines = while_running(competition, entries, len(public[0]))
    for method in of_methods(public[:1], methods, own_methods(competition)):
        rmse = public_score(competition, method.score.rmse)
        lines.append(Standing(method.name, method.kind, Score(rmse, math.nan, math.nan, 0)))
    decimals = competition.decimals
    return Board("public", standings(lines, None, decimals), decimals, detailed=False)


def _after_end(
    competition: Competition,
    public: Sequence[Targets],
    private: Sequence[Targets],
    entries: Sequence[Entry],
    methods: Methods,
    predictions: Predictions,
    whole: bool,
) -> list[Board]:
    """Returns the private and the public board; `whole` is True if they may have scores by group."""
    own, teams = own_methods(competition), in_public(competition, public, entries, predictions)
    lines = [*teams, *of_methods(public, methods, own)]
    before = _board(competition, "public", public, lines, whole)
    lines = in_private(competition, private, entries, predictions, before.standings)
    lines += of_methods(private, methods, own)
    return [_board(competition, "private", private, lines, whole), before]


def _on_validation(competition: Competition) -> Board:
    """Returns the board of all methods on the labelled validation sets, which reveals nothing new."""
    methods = read_methods(competition, "val")[0] if competition.sets("val") else {}
    if not methods:
        return Board("validation", (), competition.decimals)
    parts = [Targets.of_validation(competition, metric) for metric in competition.metrics]
    lines = of_methods(parts, methods, own_methods(competition))
    return _board(competition, "validation", parts, lines, whole=True)


def _board(
    competition: Competition, part: str, parts: Sequence[Targets], lines: Sequence[Standing], whole: bool
) -> Board:
    decimals, first = competition.decimals, parts[0]
    ranked = standings(lines, first.families, decimals)
    groups = first.group_scores(dict.fromkeys(first.ids, 0.0)) if whole else ()
    further = (*competition.titles[1:], *groups)
    return Board(part, ranked, decimals, round(first.noise_floor, decimals), further)


def own_methods(competition: Competition) -> set[str]:
    """Returns the names of the methods that `unseen predict` ran and that are not the kit's."""
    written = predicted_files(competition.root)
    return {Path(path).stem for path, kinds in written.items() if "yours" in kinds.values()}


def _doubts(competition: Competition, rows: int, final: bool) -> Iterator[str]:
    """Yield warnings about what the published scores say."""
    if final and competition.deadline is None:
        yield "there is no deadline: submissions are still taken, from teams that know their private scores"
    if not scores_before_end(competition, rows):
        yield (
            f"the public score is computed from {rows} predictions, so that a few scores would reveal their "
            f"labels: none is given before the end; build with more test sets ({FEW} public ones)"
        )


def read_methods(competition: Competition, part: str = "test") -> tuple[Methods, list[str]]:
    """Returns the predictions of the kit's methods for the test or validation sets, and warnings.

    Each warning names a file that is left out: invalid, unreadable, with a name that cannot be printed, a
    link into ``private/``, or not written by `unseen predict`, such as a participant's.
    """
    folder = competition.root / {"test": "submissions", "val": "validation"}[part]
    private, methods, warnings = competition.private.resolve(), {}, []
    written = predicted_files(competition.root)
    for path in sorted(folder.glob("*.csv")):
        if not path.name.isprintable():
            warnings.append(f"left out {str(path)!r}: its name cannot be printed; rename it")
            continue
        if Path(os.path.realpath(path)).is_relative_to(private):  # resolve() fails on a loop
            warnings.append(f"left out {path}: it is a link into {competition.private}")
            continue
        try:
            found = validate(competition, path, part)
        except InvalidSubmission as error:
            more = f" (and {len(error.problems) - 1} more)" if len(error.problems) > 1 else ""
            warnings.append(f"left out {path}: {error.problems[0]}{more}")
        except UnusableInput as error:
            warnings.append(f"left out {error}")
        else:
            if sha256(path) in written.get(f"{folder.name}/{path.name}", ()):
                methods[path.stem] = found
            else:
                warnings.append(f"left out {path}: {NOT_PREDICTED}")
    return methods, warnings


def organizer_table(competition: Competition) -> str:
    """Returns the scores of the kit's methods on all test sets, by group, as text for a terminal.

    There is a table for each metric, the ranking one first; below it stands how many pairs of methods the
    paired test tells apart.
    """
    methods, solution, texts = read_methods(competition)[0], newest_solution(competition), []
    for metric, title in zip(competition.metrics, competition.titles, strict=True):
        targets = Targets.of_solution(competition, counting_rows(competition, solution, metric))
        lines = sorted(of_methods([targets], methods), key=lambda line: line.score.rmse)
        decided = decided_pairs(rank_groups(lines, targets.families))
        heading = f"{title}\n\n" if len(competition.metrics) > 1 else ""
        table = f"{heading}{text_table(score_cells(targets, methods))}\n\n{legend(targets.groups)}"
        texts.append(f"{table}\n{decided}".rstrip())
    return "\n\n".join(texts)


def leaderboard_html(competition: Competition, boards: Sequence[Board], head: str) -> str:
    """Returns the text of ``leaderboard.html``, self-contained and with every value escaped.

    The page's Content-Security-Policy allows only its own style and script, by their SHA-256. The teams come
    first; all their numbers after the end, the methods and the notes are folded. If no team has submitted
    yet, the page explains how to hand in.
    """
    page = templates(Path(__file__).parent)
    page.filters["place"] = lambda points, end: f"{99 * min(points, end) / end:.1f}"
    page.filters["points"] = lambda value: cell(value, competition.decimals)
    page.tests["number"] = lambda value: not math.isnan(value)
    drawn = [column for board in boards for column in page_columns(board, board.standings)]
    return page.get_template("page.html").render(
        competition=competition,
        visibility=VISIBILITIES[competition.visibility],
        boards=boards,
        first=FIRST,
        columns=page_columns,
        legends={column.title: column.legend for column in drawn if column.legend},
        scale=_scale,
        decided=_decided,
        head=head,
        lanes=lambda lines: max((number for line in lines for number in line.rank_groups), default=0),
    )


def _decided(lines: Sequence[Standing]) -> str:
    return decided_pairs(line.rank_groups for line in lines)


def _scale(board: Board, lines: Sequence[Standing]) -> float:
    """Returns the end of the bars' scale in points: longer intervals than `LONGEST` are cut there."""
    scores = [value for value in (board.noise_floor, *(line.score.rmse for line in lines)) if value == value]
    ends = [line.high for line in lines if line.high == line.high]
    return min(max([*scores, *ends], default=0.0), LONGEST * max(scores, default=0.0)) or 1.0


def leaderboard_markdown(competition: Competition, boards: Sequence[Board], head: str) -> str:
    """Returns Markdown with the competition's name, a table for each board, and the ledger's head."""
    blocks = [f"**{escaped(competition.name)}** ({competition.visibility})"]
    if names := " and ".join(escaped(line.name) for line in boards[0].winners):
        blocks.append(f"Final: {names} won.")
    for board in boards:
        noise = f"; noise floor {cell(board.noise_floor, board.decimals)}" if board.detailed else ""
        title = f"RMSE of {competition.titles[0]} in points on {board.where}{noise}."
        decided = _decided(board.teams or board.methods)
        blocks += [f"{title} {decided}".rstrip(), board_markdown(board)]
    return "\n\n".join([*blocks, f"Ledger: `{head}`"]) + "\n"
