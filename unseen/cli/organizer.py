"""The commands of the organizer, from a submission to the leaderboard; most of them run on a scoring host."""

import json
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from typer import Exit, echo

from submission.errors import UnusableInput
from unseen.cli import options
from unseen.cli.options import Many

if TYPE_CHECKING:
    from submission.competition import Competition


def score(
    competition: "Competition",
    file: Path,
    *,
    team: str | None = None,
    val: bool = False,
    new_team: bool = False,
    note: str = "",
) -> None:
    """Score predictions: --val, or --team NAME (organizers).

    --val scores predictions of the validation sets. --team scores predictions of the test sets and records
    the file as a submission, which counts towards the team's limits even if it is invalid. It writes a
    receipt for the team to DIR/receipts. In a hidden competition a team's first file wants --new-team.

    Example: unseen score contest contest/validation/atc.csv --val

    Options:
        team: Organizers: score a submission of this team.
        val: Score FILE on the labelled validation sets.
        new_team: With --team: register the team first.
        note: With --team: a remark on the submission, never published.
    """
    from leaderboard.submissions import receipt_file, submit
    from submission.scoretable import validation_report
    from submission.scoring import validate

    if val == (team is not None) or (val and (note or new_team)):
        raise UnusableInput(
            "give --val for the validation sets, or --team NAME for the test sets (organizers); --note and "
            "--new-team go with --team"
        )
    if team is None:
        echo(validation_report(competition, {file.stem: validate(competition, file, "val")}))
        if (handed_in := competition.out / "submissions" / file.name).exists():
            options.tell_next("validate", competition.root, handed_in)
        return
    try:
        receipt = submit(competition, file, team, options.now, note, new_team)
        echo(receipt)
        if receipt.created:
            echo(f"{team} is a new team")
        if (written := receipt_file(competition, receipt.number)).exists():
            echo(f"receipt for the team: {written}")
        _update(competition)
    except KeyboardInterrupt as stopped:
        raise UnusableInput(
            "interrupted; hand the file in again only if `unseen history` does not list it"
        ) from stopped


def _update(competition: "Competition") -> None:
    """Write the leaderboard again, if it can be written; the ledger has the change in any case."""
    from leaderboard.publish import publish

    try:
        board = publish(competition)
    except (OSError, UnusableInput) as error:
        options.warn(f"this is entered, but the leaderboard was not written again: {error}")
        return
    options.warn(*board.warnings)
    echo(f"updated {board.csv} and {board.html}")


def select(competition: "Competition", numbers: Sequence[int] = (), *, team: str) -> None:
    """Choose the submissions of a team that count (organizers).

    The choice cannot be changed after the deadline. `unseen history` lists the submissions.

    Example: unseen select contest --team ada 1

    Options:
        numbers: Up to two submissions. [the two best]
        team: The team's name.
    """
    from leaderboard.submissions import select as choose

    choose(competition, team, numbers, options.now)
    chosen = " and ".join(map(str, numbers))
    echo(f"{team}: " + (f"submission {chosen} counts at the end" if chosen else "the best two count"))
    options.tell_next("history", competition.root, "--team", team)


def history(competition: "Competition", *, team: str | None = None, as_json: bool = False) -> None:
    """List submissions with their scores (organizers).

    Scores are the RMSE on the public and on the private part, in [brackets] by classifier if there are
    several, and in (parentheses) by group.

    Example: unseen history contest

    Options:
        team: Only the submissions of this team.
    """
    from leaderboard import history as kept

    records = kept.history(competition, team)
    echo(json.dumps(records) if as_json else kept.history_table(competition, records))


def leaderboard(
    competition: "Competition",
    *,
    final: bool = False,
    retired: bool = False,
    table: bool = False,
    out: Path | None = None,
) -> None:
    """Write leaderboard.csv, .html and .md.

    leaderboard.md is a table for a README.

    Example: unseen leaderboard contest

    Options:
        final: After the end: publish private scores too.
        retired: With --final: all methods too.
        table: Print all methods' scores, for you alone.
        out (FOLDER): The folder to write to. [DIR]
    """
    from leaderboard.publish import organizer_table, publish

    published = publish(competition, options.now() if final else None, retired, out)
    options.warn(*published.warnings)
    if table:
        echo(f"The methods in {competition.root / 'submissions'} on all test sets, for the organizer only:\n")
        echo(f"{organizer_table(competition)}\n")
    echo(f"Teams, with public scores: {published.csv}, {published.html}, {published.markdown}")
    if published.private_csv:
        echo(f"Teams, with private scores: {published.private_csv}, {published.html}, {published.markdown}")


def rescore(competition: "Competition", *, reason: str, labels: Many = (), void: Many = ()) -> None:
    """Correct labels or void test sets (organizers).

    Every submission is scored again, and the ledger records the change.

    Example: unseen rescore contest --void test_0003 --reason mislabelled

    Options:
        reason: The reason, one line, recorded in the ledger.
        labels (ID=FRACTION): A corrected label.
        void (SET): A test set not to count.
    """
    from leaderboard.solutions import rescore as correct
    from submission.parser import NUMBER

    pairs = [text.rpartition("=") for text in labels]
    if not all(NUMBER.fullmatch(value) for *_, value in pairs):
        raise UnusableInput(f"--label {' '.join(labels)}: give ID=FRACTION, such as small/test_0001=0.5")
    corrected = {name: float(value) for name, _, value in pairs}
    scored, head = correct(competition, corrected, set(void), reason, options.now)
    echo(f"submissions scored again: {scored:,}; the ledger's head is {head}")
    _update(competition)


def verify(competition: "Competition", *, heads: Many = ()) -> None:
    """Check that nobody altered the ledger (organizers).

    Finds rows that were altered or removed, and files, predictions and scores that do not match them. The
    exit code is 1 if there is a problem.

    Example: unseen verify contest

    Options:
        heads: A published head of the ledger.
    """
    from leaderboard.verify import verify as check

    found = check(competition, heads)
    echo(f"rows: {found.rows:,}, submissions: {found.submissions:,}, head {found.head}")
    for problem in found.problems:
        echo(f"problem: {problem}")
    if found.problems:
        raise Exit(1)
    echo("the ledger is unaltered")


def audit(competition: "Competition", *, device: str = "cpu") -> None:
    """List risks: revealed labels, and ranks that are accidents.

    Correct all errors before you publish the competition. Warnings follow, about the sets and about what was
    submitted so far. The exit code is 1 if there is an error.

    Example: unseen audit contest
    """
    from leaderboard.audit import audit as audit_submissions
    from starter.contest import audit as checks

    found = [*checks.audit(competition, device)]
    found += [checks.Finding("warning", text) for text in audit_submissions(competition)]
    echo("\n".join(map(str, found)))
    errors, warnings = (sum(each.grade == grade for each in found) for grade in ("error", "warning"))
    echo(f"errors: {errors}, warnings: {warnings}")
    if errors:
        raise Exit(1)
    options.tell_next("pack", competition.root)


def pack(competition: "Competition", *, out: Path | None = None) -> None:
    """Make the archive for participants from public/ alone.

    Example: unseen pack contest

    Options:
        out: The zip to write. [DIR.zip beside DIR]
    """
    from submission.pack import write_archive

    echo(write_archive(competition, out or Path(f"{competition.root.resolve()}.zip")))
    if competition.private.exists():
        options.tell_next("score", competition.root, "FILE", "--team", "NAME")


def export(
    platform: str,
    competition: "Competition",
    out: Path | None = None,
    *,
    start: datetime | None = None,
    dry_run: bool = False,
) -> None:
    """Write the competition for another platform.

    The result is ready to upload; OUT/README.md says how. --dry-run writes nothing and prints the scores and
    messages that the platform would show.

    Example: unseen export codabench contest contest-codabench

    Options:
        platform: codabench, kaggle or datacv.
        out: A new folder, for hidden labels.
        start (YYYY-MM-DD): Codabench: the first day. [today]
        dry_run: Only try the scoring program.
    """
    from leaderboard.export import PLATFORMS, rehearse
    from leaderboard.export import export as write

    first = (start or options.now()).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=timezone.utc)
    if dry_run:
        for handed_in, shown in rehearse(competition, platform, first):
            echo(f"{handed_in}: {shown}")
        return
    if out is None:
        raise UnusableInput("name the folder to write to: unseen export PLATFORM DIR OUT, or use --dry-run")
    write(competition, platform, out, first)
    if platform == "datacv":
        from starter.contest.materialize import materialize

        for part in filter(competition.sets, ("train", "val", "test")):
            materialize(competition, out=out / "participants", layout="datacv", part=part)
    echo(f"{PLATFORMS[platform].LIMITS}\n{out / 'README.md'}")


def verify_entry(
    competition: "Competition", file: Path, *, method: str, changes: Many = (), device: str = "cpu"
) -> None:
    """Run a method again and compare with a submitted file.

    The exit code is 1 if predictions differ by more than 0.0001; 20 of these are shown. The command
    runs the team's code: use a participant's copy (`unseen pack`), which has no hidden labels.

    Example: unseen verify-entry contest contest/submissions/atc.csv --method atc

    Options:
        method (module:Class|METHOD): The team's, or the kit's.
    """
    from baselines.run.predict import verify_entry as verify

    if ":" in method and competition.private.exists():
        options.warn(f"{method} can read the labels in {competition.private}: use a participant's copy")
    chosen = options.chosen_for(competition, [method], changes)
    apart, count = verify(competition, file, method, chosen[method], device), len(competition.ids("test"))
    if len(apart):
        echo(f"not verified: {len(apart)} of {count} predictions differ\n{apart.head(20).to_string()}")
        raise Exit(1)
    echo(f"verified: the method predicts all {count} submitted numbers")
