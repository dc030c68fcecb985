"""From a submission to the leaderboard: what the organizer runs on the scoring host."""

import json
from datetime import timezone
from pathlib import Path
from typing import Annotated

from typer import Argument, Exit, Option, echo

import submission
from submission import Competition, UnusableInput
from submission.options import (
    AsJson,
    Device,
    Folder,
    Many,
    Network,
    Platform,
    Predictions,
    Start,
    now,
    tell_next,
)


def score(
    folder: Folder,
    file: Predictions,
    team: Annotated[str | None, Option(help="Organizers: score on the hidden labels for this team.")] = None,
    val: Annotated[bool, Option("--val", help="Score FILE on the labelled validation sets.")] = False,
    note: Annotated[str, Option(help="With --team: a line about it, never published.")] = "",
    as_json: AsJson = False,
) -> None:
    """Score predictions: --val, or a team's (organizers).

    --val is on the validation sets; with --team it is on the test sets, and what a team hands in is recorded
    and counts towards its limit, invalid or not. A receipt for the team is written to DIR/receipts.

    Example: unseen score contest contest/validation/atc.csv --val
    """
    if val == (team is not None):
        raise UnusableInput("say what to score: --val (validation) or --team NAME (organizers: test sets)")
    if val and note:
        raise UnusableInput("--note goes with --team NAME: it is kept with a submission")
    competition = Competition.open(folder)
    if team is None and as_json:
        echo(json.dumps(submission.validation_scores(competition, file)))
        return
    if team is None:
        echo(submission.validation_report(competition, file))
        if (handed_in := folder / "submissions" / file.name).exists():
            tell_next("validate", folder, handed_in)
        return
    from leaderboard import left_text, publish, submit
    from leaderboard.entry.receipts import receipt_file

    receipt = submit(competition, file, team, now, note)
    if as_json:
        echo(json.dumps({"team": team, **receipt.record(competition.decimals), "note": note}))
        publish(competition)
        return
    of = len(competition.ids("test"))
    echo(f"{team}: {receipt.text(competition.decimals)}")
    echo(f"it rests on the {receipt.rows} of {of} predictions that count for now")
    echo(f"entered as submission {receipt.number}{left_text(competition, receipt.left)}")
    if receipt.same:
        echo(f"note: the same file as submission {receipt.same}; it counts as an attempt all the same")
    if (written := receipt_file(competition, receipt.number)).exists():
        echo(f"its receipt, for the team: {written}")
    board = publish(competition)  # whatever stops it, the team knows by now that its file is entered
    for warning in board.warnings:
        echo(f"warning: {warning}", err=True)
    echo(f"updated {board.csv} and {board.html}")
    tell_next("leaderboard", folder)


def select(
    folder: Folder,
    team: Annotated[str, Option(help="The team's name.")],
    numbers: Annotated[
        list[int] | None, Argument(metavar="[NUMBER]...", help="Up to two of the team's submissions.")
    ] = None,
    clear: Annotated[bool, Option("--clear", help="Take the choice back: the best two count.")] = False,
) -> None:
    """Choose a team's submissions that count (organizers).

    Frozen at the deadline; `unseen history` lists the submissions.

    Example: unseen select contest --team ada 1
    """
    from leaderboard import select as choose

    if clear == bool(numbers):
        raise UnusableInput("give one or two numbers of submissions, or --clear, not both")
    choose(Competition.open(folder), team, numbers or [], now)
    chosen = " and ".join(map(str, numbers or []))
    echo(f"{team}: " + (f"submission {chosen} counts at the end" if chosen else "the best two count"))
    tell_next("history", folder, "--team", team)


def history(
    folder: Folder,
    team: Annotated[str | None, Option(help="Only this team's.")] = None,
    as_json: AsJson = False,
) -> None:
    """List every submission with its scores.

    Organizers: RMSE on the public and the private part, by [classifier] where there are several, and by
    (group). A participant's copy lists the receipts that the organizer sent, from DIR/receipts.

    Example: unseen history contest
    """
    from leaderboard import history as found
    from leaderboard import history_table
    from leaderboard.board.history import history_records
    from leaderboard.entry.receipts import read_receipts, receipts_table

    competition = Competition.open(folder)
    if not competition.private.exists():
        receipts = read_receipts(competition, team)
        echo(json.dumps(receipts) if as_json else receipts_table(competition, receipts))
        return
    lines = found(competition, team)
    echo(json.dumps(history_records(lines)) if as_json else history_table(lines, competition.decimals))


def leaderboard(
    folder: Folder,
    final: Annotated[
        bool, Option("--final", help="After the end: publish private scores, ranks and the shake-up too.")
    ] = False,
    retired: Annotated[
        bool, Option("--retired", help="With --final, for sets not used again: all methods on them too.")
    ] = False,
    markdown: Annotated[bool, Option("--markdown", help="The organizer's table as Markdown.")] = False,
    out: Annotated[
        Path | None, Option(metavar="FOLDER", help="Where to write, as for a read-only DIR. [DIR]")
    ] = None,
) -> None:
    """Write leaderboard.csv, .html and .md.

    The last is a table for a README; the organizer's, by group, is printed.

    Example: unseen leaderboard contest
    """
    from leaderboard import publish, tables

    competition = Competition.open(folder)
    published = publish(competition, now() if final else None, retired, out)
    for warning in published.warnings:
        echo(f"warning: {warning}", err=True)
    echo(f"The methods in {folder / 'submissions'} on all test sets, for the organizer only:\n")
    echo(tables(competition, markdown))
    echo(f"\nTeams, with public scores: {published.csv}, {published.html}, {published.markdown}")
    if published.private_csv:
        echo(f"Teams, with private scores: {published.private_csv}, {published.html}, {published.markdown}")


def rescore(
    folder: Folder,
    reason: Annotated[str, Option(help="Why, a line for the record.")],
    label: Annotated[Many, Option(metavar="ID=FRACTION", help="A right label; may be repeated.")] = None,
    void: Annotated[Many, Option(metavar="SET", help="A test set that counts no more; repeatable.")] = None,
) -> None:
    """Correct labels or void test sets (organizers).

    Every submission is scored anew; it is recorded.

    Example: unseen rescore contest --void test_0003 --reason mislabelled
    """
    from leaderboard import publish
    from leaderboard import rescore as correct

    competition = Competition.open(folder)
    done = correct(competition, _labels(label or []), set(void or []), reason, now)
    for line in done.unread:
        echo(f"warning: {line}", err=True)
    echo(f"{done.entries:,} submissions were scored anew; the ledger's head is {done.head}")
    board = publish(competition)
    echo(f"updated {board.csv} and {board.html}")


def verify(
    folder: Folder,
    head: Annotated[Many, Option(help="A head of the ledger that was published; may be repeated.")] = None,
) -> None:
    """Check that the ledger is what it was (organizers).

    Rows that were altered, removed, reordered or lost are found, and files and scores that do not fit. Exit
    code 1 where there is a problem.

    Example: unseen verify contest
    """
    from leaderboard import verify as check

    found = check(Competition.open(folder), head or [])
    echo(f"{found.rows:,} rows, {found.submissions:,} submissions, head {found.head}")
    for problem in found.problems:
        echo(f"problem: {problem}")
    if found.problems:
        raise Exit(1)
    echo("the ledger is whole")


def backup(
    folder: Folder,
    file: Annotated[Path, Argument(metavar="FILE", help="The zip to write: it holds hidden labels.")],
) -> None:
    """Write all that only the organizer has to one file.

    The ledger with its newest rows, every submission and solution. docs/how-to/verifying.md tells how to
    restore it.

    Example: unseen backup contest contest-backup.zip
    """
    from leaderboard import backup as write

    head = write(Competition.open(folder), file)
    echo(f"{file}, with the ledger up to head {head}")


def audit(
    folder: Folder,
    network: Network = None,
    device: Device = "cpu",
    attack: Annotated[
        bool, Option("--attack", help="Seek the public labels by an integer programme on the board.")
    ] = False,
    attack_seconds: Annotated[float, Option(min=1, max=86_400, help="How long it may take.")] = 60,
) -> None:
    """List what could reveal labels or make ranks an accident.

    Errors are to mend before anybody gets the competition; then there are warnings, and what was told about
    the public rows, and can be. Exit code 1 where there is an error.

    Example: unseen audit contest
    """
    from leaderboard.board.audit import attack_board, audit_board
    from starter.classifiers import use_network
    from starter.competition.audit import Finding
    from starter.competition.audit import audit as run
    from starter.competition.sense import doubts

    for spec in network or ():
        use_network(spec)
    competition = Competition.open(folder)
    found = [*run(competition, device), *(Finding("warning", text) for text in doubts(competition, device))]
    told = audit_board(competition, now())
    tried = [attack_board(competition, attack_seconds)] if attack else []
    echo("\n".join(map(str, [*found, told, *tried])))
    leaks = (not told.sound) + sum(not each.sound for each in tried)
    errors = sum(finding.grade == "error" for finding in found) + leaks
    echo(f"errors: {errors}, warnings: {len(found) + leaks - errors}")
    if errors:
        raise Exit(1)
    tell_next("pack", folder)


def export(
    platform: Platform,
    folder: Folder,
    out: Annotated[
        Path | None, Argument(metavar="[OUT]", help="A new folder; it will hold hidden labels.")
    ] = None,
    start: Start = None,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Only try its scoring program: a good, a bad, an empty file.")
    ] = False,
) -> None:
    """Write the competition for another platform.

    Ready to upload; OUT/README.md says how. With --dry-run nothing is written: what the platform would show
    is printed.

    Example: unseen export codabench contest contest-codabench
    """
    from leaderboard.export import export as write
    from leaderboard.export.rehearse import rehearse

    competition = Competition.open(folder)
    first = (start or now()).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=timezone.utc)
    if dry_run:
        for handed_in, shown in rehearse(competition, platform, first):
            echo(f"{handed_in}: {shown}")
        return
    if out is None:
        raise UnusableInput("name the folder to write: unseen export PLATFORM DIR OUT, or --dry-run")
    write(competition, platform, out, first)
    if platform == "datacv":
        from starter.competition.materialize import materialize

        for part in filter(competition.sets, ("train", "val", "test")):
            materialize(competition, out / "participants", "datacv", part)
    echo(out / "README.md")


def _labels(texts: list[str]) -> dict[str, float]:
    """The labels in texts ``ID=FRACTION``."""
    from submission.predictions import NUMBER

    labels = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        if not equals or not NUMBER.fullmatch(value):
            raise UnusableInput(f"--label {text}: give ID=FRACTION, such as small/test_0001=0.5")
        if name in labels:
            raise UnusableInput(f"--label {text}: {name} is given twice")
        labels[name] = float(value)
    return labels
