"""The published leaderboard: open the ledger, check its chain, make the boards, write the files."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from html import escape
from pathlib import Path

from leaderboard.boards import Moment, final_boards, running_boards
from leaderboard.changes import follow
from leaderboard.columns import ASKED, FIRST, Board, board_csv, board_markdown, page_columns
from leaderboard.feedback import scores_before_end
from leaderboard.heads import read_heads, write_heads
from leaderboard.ledger import Ledger, ledger_path, newest_head, opened
from leaderboard.methods import Shown, read_methods
from leaderboard.pairs import decided_pairs
from leaderboard.solutions import newest_solution
from leaderboard.standings import Standing, told_apart
from leaderboard.verify import file_problems
from submission.competition import FEW, VISIBILITIES, Competition
from submission.errors import UnusableInput
from submission.files import sweep, write_text
from submission.page import escaped, templates
from submission.predictions import predicted_files
from submission.scoretable import Targets, legend, score_cells
from submission.solution import COUNTING
from submission.table import Tabular, cell, text_table

PRIVATE = "leaderboard_private.csv"
LONGEST = 1.3
"""End of drawn intervals, as a multiple of the largest score: those of few families can be very wide."""
ATTEMPTS = 3
"""How often files are written at most while others submit, who could go on for ever."""


@dataclass(frozen=True, repr=False)
class Published(Tabular):
    """The result of :func:`publish`: lines of the boards, warnings, and the paths of the files."""

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
            name = line.name if line.kind == "team" else f"{line.name} ({line.kind})"
            rows.append([name, str(line.rank or ""), str(line.score.rmse)])
        return rows

    def _repr_html_(self) -> str:
        """Returns the page for a notebook."""
        return f'<iframe srcdoc="{escape(self.html.read_text("utf-8"))}" width="100%" height="600"></iframe>'


def publish(
    competition: Competition,
    ended: datetime | None = None,
    retired: bool = False,
    out: Path | None = None,
    asked: tuple[str, ...] = (),
) -> Published:
    """Write ``leaderboard.csv``, ``.html`` and ``.md`` from the ledger and the kit's own methods.

    `ended` is the present time, to publish private scores too; `asked` names columns of `ASKED`. If others
    submit meanwhile, all files are written again, so that the last one to write has seen the last submission.
    """
    root = out or competition.root
    if strange := set(asked) - set(ASKED):
        raise UnusableInput(f"no column {min(strange)!r} can be asked for; choose from {', '.join(ASKED)}")
    if retired and ended is None:
        raise UnusableInput("test sets can be retired only after the end: give --final too")
    if ended is None and (root / PRIVATE).exists():
        raise UnusableInput(
            f"the leaderboard is final: remove {root / PRIVATE}, or, after all deadlines, give --final"
        )
    for _ in range(ATTEMPTS):
        with opened(competition) as ledger:
            if out is not None:
                ledger.check_published(competition, read_heads(out))
            competition = follow(competition, ledger)
            if ended is not None:
                _check_ended(competition, ledger, ended)
            moment = Moment.read(competition, ledger, final=ended is not None)
            write_heads(root, moment.head)
        published = _written(competition, moment, ended is not None, retired, root, asked=asked)
        if newest_head(competition) == moment.head:
            break
    if os.access(competition.root, os.W_OK):
        sweep(competition.root, but=["cache"])
    return published


def _check_ended(competition: Competition, ledger: Ledger, now: datetime) -> None:
    """Refuse private scores before the last deadline, or of predictions that are not the files'."""
    active = [team for team in ledger.teams().values() if team.state == "active"]
    ends = [(competition.deadline, competition.name)]
    ends += [(team.deadline, f"team {team.name!r}") for team in active]
    if late := [(end, whose) for end, whose in ends if end is not None and now < end]:
        deadline, whose = max(late)
        raise UnusableInput(
            f"the deadline of {whose} is {deadline:%Y-%m-%d %H:%M:%S} UTC: "
            "private scores can be published only after it"
        )
    if problem := next(file_problems(competition, ledger), ""):
        raise UnusableInput(f"{ledger_path(competition)}: {problem}; run `unseen verify`")


def _written(
    competition: Competition, moment: Moment, final: bool, retired: bool, root: Path, asked: tuple[str, ...]
) -> Published:
    """Make the boards of a moment, write them to `root`, and return them."""
    whole = retired or competition.visibility == "practice"
    written = predicted_files(competition.root)
    methods = read_methods(competition, "test", written)
    shown = methods if whole else Shown({}, methods.own, ())
    on_validation = read_methods(competition, "val", written)
    if final:
        boards = final_boards(competition, moment, shown, on_validation, whole)
    else:
        boards = running_boards(competition, moment, shown, on_validation)
    boards = [replace(board, asked=asked) for board in boards]
    names = {"public": "leaderboard.csv", "private": PRIVATE, "validation": "leaderboard_validation.csv"}
    files = {names[board.part]: board_csv(board) for board in boards}
    files["leaderboard.html"] = leaderboard_html(competition, boards, moment.head, moment.sets)
    files["leaderboard.md"] = leaderboard_markdown(competition, boards, moment.head)
    if root != competition.root:
        files["index.html"] = files["leaderboard.html"]
    for name, text in files.items():
        write_text(root / name, text)
    lines = {board.part: board.standings for board in boards}
    return Published(
        standings=lines["public"],
        final=lines.get("private", ()),
        warnings=(*_doubts(competition, len(moment.public[0]), final), *methods.warnings),
        csv=root / "leaderboard.csv",
        html=root / "leaderboard.html",
        markdown=root / "leaderboard.md",
        private_csv=root / PRIVATE if final else None,
    )


def _doubts(competition: Competition, rows: int, final: bool) -> Iterator[str]:
    """Yield warnings about what the published scores say."""
    if final and competition.deadline is None:
        yield "there is no deadline: submissions are still taken, from teams that know their private scores"
    if not final and not scores_before_end(competition, rows):
        yield (
            f"the public score is computed from {rows} predictions, so that a few scores would reveal their "
            f"labels: none is given before the end; build with more test sets ({FEW} public ones)"
        )


def organizer_table(competition: Competition) -> str:
    """Returns tables of the kit's methods on all test sets, one a metric, with the pairs told apart."""
    methods = read_methods(competition).predictions
    solution = [row for row in newest_solution(competition) if row.usage in COUNTING]
    parts = Targets.of_solution(competition, solution).by_metric(competition)
    texts = []
    for targets, title in zip(parts.values(), competition.titles, strict=True):
        heading = f"{title}\n\n" if len(competition.metrics) > 1 else ""
        table = f"{heading}{text_table(score_cells(targets, methods))}\n\n{legend(targets.groups)}"
        texts.append(f"{table}\n{told_apart(targets, methods)}".rstrip())
    return "\n\n".join(texts)


def leaderboard_html(competition: Competition, boards: Sequence[Board], head: str, sets: int) -> str:
    """Returns the text of ``leaderboard.html``, self-contained and with every value escaped."""
    page = templates(Path(__file__).parent)
    page.filters["place"] = lambda points, end: f"{99 * min(points, end) / end:.1f}"
    page.filters["points"] = lambda value: cell(value, competition.decimals)
    drawn = [column for board in boards for column in page_columns(board, board.standings)]
    return page.get_template("page.html").render(
        competition=competition,
        visibility=VISIBILITIES[competition.visibility],
        boards=boards,
        first=FIRST,
        columns=page_columns,
        legends={column.title: column.legend for column in drawn if column.legend},
        scale=_scale,
        decided=decided_pairs,
        head=head,
        sets=sets,
        lanes=lambda lines: max((number for line in lines for number in line.rank_groups), default=0),
    )


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
        decided = decided_pairs(line.rank_groups for line in board.teams or board.methods)
        blocks += [f"{title} {decided}".rstrip(), board_markdown(board)]
    notices = "\n".join(f"- {escaped(text)}" for text in competition.notices)
    blocks += [f"Changes:\n\n{notices}"] if notices else []
    return "\n\n".join([*blocks, f"Ledger: `{head}`"]) + "\n"
