"""The commands of the organizer, from a submission to the leaderboard; most of them run on a scoring host."""

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated

from typer import Argument, Exit, Option, echo

from leaderboard.audit import audit as audit_submissions
from leaderboard.history import history as submissions
from leaderboard.history import history_table, read_receipts
from leaderboard.publish import PRIVATE, organizer_table, publish
from leaderboard.solutions import rescore as correct
from leaderboard.submissions import Receipt, left_text, receipt_file, submit
from leaderboard.submissions import select as choose
from leaderboard.teams import add_team
from leaderboard.verify import backup as write_backup
from leaderboard.verify import verify as check_ledger
from submission.competition import Competition
from submission.errors import UnusableInput
from submission.pack import write_archive
from submission.parser import NUMBER
from submission.scoretable import validation_report, validation_scores
from unseen.cli import options
from unseen.cli.options import Many
from unseen.cli.participant import opened

Team = Annotated[str, Option(help="The team's name.")]


def score(
    folder: options.Folder,
    file: options.Predictions,
    team: Annotated[str | None, Option(help="Organizers: score a submission of this team.")] = None,
    val: Annotated[bool, Option("--val", help="Score FILE on the labelled validation sets.")] = False,
    new_team: Annotated[bool, Option("--new-team", help="With --team: register the team first.")] = False,
    note: Annotated[str, Option(help="With --team: a remark on the submission, never published.")] = "",
    as_json: options.AsJson = False,
) -> None:
    """Score predictions: --val, or --team NAME (organizers).

    --val scores predictions of the validation sets. --team scores predictions of the test sets and records
    the file as a submission, which counts towards the team's limits even if it is invalid. It writes a
    receipt for the team to DIR/receipts. A hidden competition takes files of registered teams only.

    Example: unseen score contest contest/validation/atc.csv --val
    """
    if val == (team is not None) or (val and (note or new_team)):
        raise UnusableInput(
            "give --val (validation sets) or --team NAME (organizers: test sets, with --note and --new-team)"
        )
    competition = Competition.open(folder)
    if team is not None:
        try:
            receipt = submit(competition, file, team, options.now, note, new_team)
            _tell(competition, team, receipt, note, as_json)
        except KeyboardInterrupt as stopped:
            raise UnusableInput(
                "interrupted; hand the file in again only if `unseen history` does not list it"
            ) from stopped
    elif as_json:
        echo(json.dumps(validation_scores(competition, file)))
    else:
        echo(validation_report(competition, file))
        if (handed_in := folder / "submissions" / file.name).exists():
            options.tell_next("validate", folder, handed_in)


def _tell(competition: Competition, team: str, receipt: Receipt, note: str, as_json: bool) -> None:
    """Print the answer to a submission, and bring the leaderboard up to date."""
    record = {"team": team, **receipt.record(competition.decimals), "note": note}
    if as_json:
        echo(json.dumps(record))
    else:
        of = len(competition.by_metric(competition.ids("test"))[competition.metrics[0]])
        kind = f" of {competition.titles[0]}" if len(competition.metrics) > 1 else ""
        echo(f"{team}: {record['answer']}")
        if receipt.created:
            echo(f"{team} is a new team")
        echo(f"computed from the {receipt.rows} of {of} predictions{kind} that are public before the end")
        echo(f"entered as submission {receipt.number}{left_text(competition, receipt.left)}")
        if receipt.same:
            echo(f"note: the same file as submission {receipt.same}; it still counts as a submission")
        if (written := receipt_file(competition, receipt.number)).exists():
            echo(f"receipt for the team: {written}")
    if receipt.warning:
        echo(f"warning: {receipt.warning}", err=True)
    try:
        _update(competition, as_json)
    except BrokenPipeError:
        raise
    except (OSError, UnusableInput) as error:
        raise UnusableInput(f"submission {receipt.number} is entered, but then: {error}") from error
    if not as_json:
        options.tell_next("leaderboard", competition.root)


def _update(competition: Competition, silent: bool = False) -> None:
    """Write the leaderboard again, unless it is the final one, which `leaderboard --final` alone writes."""
    if (competition.root / PRIVATE).exists():
        echo("warning: the leaderboard is final; `unseen leaderboard --final` writes it again", err=True)
        return
    board = publish(competition)
    if not silent:
        for warning in board.warnings:
            echo(f"warning: {warning}", err=True)
        echo(f"updated {board.csv} and {board.html}")


def add(
    folder: options.Folder, name: Annotated[str, Argument(help="The team's name, as all will see it.")]
) -> None:
    """Register a team, so that it may submit (organizers).

    Example: unseen team add contest Ada
    """
    echo(f"registered: {add_team(Competition.open(folder), name, options.now)}")


def select(
    folder: options.Folder,
    team: Team,
    numbers: Annotated[
        list[int] | None, Argument(metavar="[NUMBER]...", help="Up to two submissions.")
    ] = None,
    clear: Annotated[bool, Option("--clear", help="Undo the choice: the two best count.")] = False,
) -> None:
    """Choose the submissions of a team that count (organizers).

    The choice cannot be changed after the deadline. `unseen history` lists the submissions.

    Example: unseen select contest --team ada 1
    """
    if clear == bool(numbers):
        raise UnusableInput("give one or two numbers of submissions, or --clear, not both")
    choose(Competition.open(folder), team, numbers or [], options.now)
    chosen = " and ".join(map(str, numbers or []))
    echo(f"{team}: " + (f"submission {chosen} counts at the end" if chosen else "the best two count"))
    options.tell_next("history", folder, "--team", team)


def history(
    folder: options.Folder,
    team: Annotated[str | None, Option(help="Only the submissions of this team.")] = None,
    as_json: options.AsJson = False,
) -> None:
    """List submissions with their scores, or receipts.

    In the organizer's copy, scores are the RMSE on the public and on the private part, in [brackets] by
    classifier if there are several, and in (parentheses) by group. A participant's copy lists the receipts
    that the organizer sent, from DIR/receipts.

    Example: unseen history contest
    """
    competition = Competition.open(folder)
    records = (submissions if competition.private.exists() else read_receipts)(competition, team)
    echo(json.dumps(records) if as_json else history_table(competition, records))


def leaderboard(
    folder: options.Folder,
    final: Annotated[bool, Option("--final", help="After the end: publish private scores too.")] = False,
    retired: Annotated[bool, Option("--retired", help="With --final: all methods too.")] = False,
    table: Annotated[bool, Option("--table", help="Print all methods' scores, for you alone.")] = False,
    out: Annotated[Path | None, Option(metavar="FOLDER", help="The folder to write to. [DIR]")] = None,
) -> None:
    """Write leaderboard.csv, .html and .md.

    leaderboard.md is a table for a README.

    Example: unseen leaderboard contest
    """
    competition = Competition.open(folder)
    published = publish(competition, options.now() if final else None, retired, out)
    for warning in published.warnings:
        echo(f"warning: {warning}", err=True)
    if table:
        echo(f"The methods in {folder / 'submissions'} on all test sets, for the organizer only:\n")
        echo(f"{organizer_table(competition)}\n")
    echo(f"Teams, with public scores: {published.csv}, {published.html}, {published.markdown}")
    if published.private_csv:
        echo(f"Teams, with private scores: {published.private_csv}, {published.html}, {published.markdown}")


def rescore(
    folder: options.Folder,
    reason: Annotated[str, Option(help="The reason, one line, recorded in the ledger.")],
    label: Annotated[Many, Option(metavar="ID=FRACTION", help="A corrected label. Repeatable.")] = None,
    void: Annotated[Many, Option(metavar="SET", help="A test set not to count. Repeatable.")] = None,
) -> None:
    """Correct labels or void test sets (organizers).

    Every submission is scored again, and the ledger records the change.

    Example: unseen rescore contest --void test_0003 --reason mislabelled
    """
    competition = Competition.open(folder)
    scored, head = correct(competition, _labels(label or []), set(void or []), reason, options.now)
    echo(f"submissions scored again: {scored:,}; the ledger's head is {head}")
    _update(competition)


def _labels(texts: list[str]) -> dict[str, float]:
    """Returns the labels by id, from texts ``ID=FRACTION``."""
    labels = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        if not equals or not NUMBER.fullmatch(value) or name in labels:
            raise UnusableInput(f"--label {text}: give ID=FRACTION, such as small/test_0001=0.5, an id once")
        labels[name] = float(value)
    return labels


def verify(
    folder: options.Folder,
    head: Annotated[Many, Option(help="A published head of the ledger. Repeatable.")] = None,
) -> None:
    """Check that nobody altered the ledger (organizers).

    Finds rows that were altered or removed, and files, predictions and scores that do not match them. The
    exit code is 1 if there is a problem.

    Example: unseen verify contest
    """
    found = check_ledger(Competition.open(folder), head or [])
    echo(f"rows: {found.rows:,}, submissions: {found.submissions:,}, head {found.head}")
    for problem in found.problems:
        echo(f"problem: {problem}")
    if found.problems:
        raise Exit(1)
    echo("the ledger is unaltered")


def backup(
    folder: options.Folder,
    file: Annotated[Path, Argument(metavar="FILE", help="The zip to write: it holds hidden labels.")],
) -> None:
    """Write the organizer's private files to one zip file.

    The file holds the ledger with its newest rows, every submission and every solution.
    docs/how-to/verifying.md explains how to restore it.

    Example: unseen backup contest contest-backup.zip
    """
    echo(f"{file}, with the ledger up to head {write_backup(Competition.open(folder), file)}")


def audit(folder: options.Folder, network: options.Network = None, device: options.Device = "cpu") -> None:
    """List risks: revealed labels, and ranks that are accidents.

    Correct all errors before you publish the competition. Warnings follow, about the sets and about what was
    submitted so far. The exit code is 1 if there is an error.

    Example: unseen audit contest
    """
    from starter.competition.audit import Finding
    from starter.competition.audit import audit as run

    options.use_networks(network)
    competition = Competition.open(folder)
    found = [*run(competition, device)]
    found += [Finding("warning", text) for text in audit_submissions(competition, options.now())]
    echo("\n".join(map(str, found)))
    errors, warnings = (sum(each.grade == grade for each in found) for grade in ("error", "warning"))
    echo(f"errors: {errors}, warnings: {warnings}")
    if errors:
        raise Exit(1)
    options.tell_next("pack", folder)


def pack(
    folder: options.Folder,
    out: Annotated[Path | None, Option(help="The zip to write. [DIR.zip beside DIR]")] = None,
) -> None:
    """Make the archive for participants from public/ alone.

    Example: unseen pack contest
    """
    competition = Competition.open(folder)
    echo(write_archive(competition, out or Path(f"{folder.resolve()}.zip")))
    if competition.private.exists():
        options.tell_next("score", folder, "FILE", "--team", "NAME")


def export(
    platform: Annotated[str, Argument(metavar="PLATFORM", help="codabench, kaggle or datacv.")],
    folder: options.Folder,
    out: Annotated[Path | None, Argument(metavar="[OUT]", help="A new folder, for hidden labels.")] = None,
    start: Annotated[
        datetime | None, Option(formats=["%Y-%m-%d"], help="Codabench: the first day. [today]")
    ] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Only try the scoring program.")] = False,
) -> None:
    """Write the competition for another platform.

    The result is ready to upload; OUT/README.md says how. --dry-run writes nothing and prints the scores and
    messages that the platform would show.

    Example: unseen export codabench contest contest-codabench
    """
    from leaderboard.export import PLATFORMS, rehearse
    from leaderboard.export import export as write

    competition = Competition.open(folder)
    first = (start or options.now()).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=timezone.utc)
    if dry_run:
        for handed_in, shown in rehearse(competition, platform, first):
            echo(f"{handed_in}: {shown}")
        return
    if out is None:
        raise UnusableInput("name the folder to write to: unseen export PLATFORM DIR OUT, or use --dry-run")
    write(competition, platform, out, first)
    if platform == "datacv":
        from starter.competition.materialize import materialize

        for part in filter(competition.sets, ("train", "val", "test")):
            materialize(competition, out / "participants", "datacv", part)
    echo(f"{PLATFORMS[platform].LIMITS}\n{out / 'README.md'}")


def verify_entry(
    folder: options.Folder,
    file: options.Predictions,
    method: Annotated[str, Option(metavar="module:Class|METHOD", help="The team's, or the kit's.")],
    settings: options.Changes = None,
    network: options.Network = None,
    device: options.Device = "cpu",
) -> None:
    """Run a method again and compare with a submitted file.

    The exit code is 1 if predictions differ by more than 0.0001; 20 of these are shown. The command
    runs the team's code: use a participant's copy (`unseen pack`), which has no hidden labels.

    Example: unseen verify-entry contest contest/submissions/atc.csv --method atc
    """
    from baselines.run.predict import verify_entry as verify

    private = folder / "private"
    if ":" in method and private.exists():
        echo(f"warning: {method} can read the labels in {private}: use a participant's copy", err=True)
    competition, chosen = opened(folder, [method], settings, network)
    apart, count = verify(competition, file, method, chosen[method], device), len(competition.ids("test"))
    if len(apart):
        echo(f"not verified: {len(apart)} of {count} predictions differ\n{apart.head(20).to_string()}")
        raise Exit(1)
    echo(f"verified: the method predicts all {count} submitted numbers")
