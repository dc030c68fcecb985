"""The commands of the organizer, from a submission to the leaderboard; most of them run on a scoring host."""

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Exit, Option, echo

from submission.errors import UnusableInput
from unseen.cli import options
from unseen.cli.options import Contest, Device, Json, Network, Predictions, argument, option, path, text

if TYPE_CHECKING:
    from submission.competition import Competition


Reason = Annotated[str, text("The reason, one line, which the board and the archive publish.")]


def score(
    competition: Contest,
    file: Predictions,
    *,
    team: Annotated[str | None, text("Organizers: score a submission of this team.")] = None,
    val: Annotated[bool, Option("--val", help="Score FILE on the labelled validation sets.")] = False,
    new_team: Annotated[bool, Option("--new-team", help="With --team: register the team first.")] = False,
    note: Annotated[str, text("With --team: a remark on the submission, never published.")] = "",
) -> None:
    """Score predictions: --val, or --team NAME (organizers).

    --val scores predictions of the validation sets. --team scores predictions of the test sets and records
    the file as a submission, which counts towards the team's limits even if it is invalid. It writes a
    receipt for the team to DIR/receipts. In a hidden competition a team's first file wants --new-team.

    Example: unseen score contest contest/validation/atc.csv --val
    """
    from leaderboard.standings import validation_report
    from leaderboard.submissions import receipt_file, submit
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
        receipt = submit(competition, file, team=team, note=note, new_team=new_team)
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


def select(
    competition: Contest,
    numbers: Annotated[list[int], argument("[NUMBER]...", "Up to two submissions. [the two best]")] = [],
    *,
    team: Annotated[str, text("The team's name.")],
) -> None:
    """Choose the submissions of a team that count (organizers).

    The choice cannot be changed after the deadline. `unseen history` lists the submissions.

    Example: unseen select contest --team ada 1
    """
    from leaderboard.submissions import select as choose

    head = choose(competition, team, numbers)
    chosen = f"submission {numbers[0]} counts" if numbers else "the best two count"
    chosen = f"submissions {numbers[0]} and {numbers[1]} count" if len(numbers) > 1 else chosen
    echo(f"{team}: {chosen}" + (" at the end" if numbers else ""))
    echo(f"the ledger's head is {head}")
    _update(competition)
    options.tell_next("history", competition.root, "--team", team)


def history(
    competition: Contest,
    *,
    team: Annotated[str | None, text("Only the submissions of this team.")] = None,
    as_json: Json = False,
) -> None:
    """List submissions with their scores (organizers).

    Scores are the RMSE on the public and on the private part, in [brackets] by classifier if there are
    several, and in (parentheses) by group of sets.

    Example: unseen history contest
    """
    from leaderboard import history as kept

    records = kept.history(competition, team)
    echo(json.dumps(records) if as_json else kept.history_table(competition, records))


def leaderboard(
    competition: Contest,
    *,
    final: Annotated[bool, Option("--final", help="After the end: publish private scores too.")] = False,
    retired: Annotated[bool, Option("--retired", help="With --final: all methods too.")] = False,
    table: Annotated[bool, Option("--table", help="Print all methods' scores, for you alone.")] = False,
    out: Annotated[Path | None, option("FOLDER", "The folder to write to. [DIR]")] = None,
    asked: Annotated[list[str], option("TITLE", "A column: R squared. Repeatable.", "--column")] = [],
) -> None:
    """Write leaderboard.csv, .html and .md.

    leaderboard.md is a table for a README. --out makes a site: index.html is the page again.

    Example: unseen leaderboard contest
    """
    from leaderboard.publish import organizer_table, publish

    ended = datetime.now(timezone.utc) if final else None
    published = publish(competition, ended, retired, out, tuple(asked))
    options.warn(*published.warnings)
    if table:
        echo(f"The methods in {competition.root / 'submissions'} on all test sets, for the organizer only:\n")
        echo(f"{organizer_table(competition)}\n")
    echo(f"Teams, with public scores: {published.csv}, {published.html}, {published.markdown}")
    if published.private_csv:
        echo(f"Teams, with private scores: {published.private_csv}, {published.html}, {published.markdown}")


def rescore(
    competition: Contest,
    *,
    reason: Reason,
    labels: Annotated[list[str], option("ID=FRACTION", "A corrected label. Repeatable.", "--label")] = [],
    void: Annotated[list[str], option("SET", "A test set not to count. Repeatable.", "--void")] = [],
    images: Annotated[list[Path], path("A CSV of image labels: set,image,class. Repeatable.")] = [],
) -> None:
    """Correct labels or void test sets (organizers).

    Every submission is scored again; the ledger records the change, and the board says it. --images works out
    the accuracies of the sets that it names: images count from 0, and images corrected before stay so. It
    prints hidden values, before and after, for you alone.

    Example: unseen rescore contest --void test_0003 --reason mislabelled
    """
    from leaderboard.solutions import rescore as correct
    from submission.parser import NUMBER

    pairs = [text.rpartition("=") for text in labels]
    if not all(NUMBER.fullmatch(value) for *_, value in pairs):
        raise UnusableInput(f"--label {' '.join(labels)}: give ID=FRACTION, such as small/test_0001=0.5")
    given = {name: float(value) for name, _, value in pairs}
    done = correct(competition, given, set(void), reason, images=images)
    for name, (before, after) in done.changed.items():
        echo(f"{name}: {100 * before:.2f} % -> {100 * after:.2f} %")
    echo(f"submissions scored again: {done.submissions:,}; the ledger's head is {done.head}")
    _update(competition)


def amend(
    competition: Contest,
    *,
    reason: Reason,
    deadline: Annotated[str | None, text("New end, as 2026-12-31T23:59 (UTC); or none.")] = None,
    daily_limit: Annotated[int | None, options.number("Submissions a day; 0 for any number.")] = None,
    total_limit: Annotated[int | None, options.number("Submissions in all; 0 for any number.")] = None,
    contact: Annotated[str | None, text("Contact for participants.")] = None,
) -> None:
    """Change the deadline, a limit or the contact (organizers).

    The competition may be running; a date alone ends at 23:59 (UTC). The ledger records the change, and the
    board and the archive's README say it with its date and reason. In a hidden competition the total limit
    cannot rise above a fifth of the public sets.

    Example: unseen amend contest --deadline 2099-12-31 --reason holiday
    """
    from leaderboard.changes import amend as change

    amended = change(
        competition,
        reason,
        deadline=deadline,
        daily_limit=daily_limit,
        total_limit=total_limit,
        contact=contact,
    )
    _tell_change(amended, len(amended.notices) - len(competition.notices), later=deadline is not None)


def team(
    competition: Contest,
    name: Annotated[str, argument("NAME", "The team's name.")],
    action: Annotated[str, argument("ACTION", "rename, merge, withdraw, disqualify or extend.")],
    *,
    reason: Reason,
    to: Annotated[str | None, text("The new name, the other team, or the own deadline.")] = None,
) -> None:
    """Rename, merge, extend or withdraw a team (organizers).

    rename --to NAME, merge --to TEAM (the submissions count for that team), extend --to TIME (a later
    deadline; a date alone is its 23:59, UTC), withdraw, disqualify. All of the team's submissions stay in the
    ledger; the board shows what counts from now on, and says the change with its date and reason.

    Example: unseen team contest ada rename --to ada-l --reason misspelt
    """
    from leaderboard.changes import team as change_team

    _tell_change(change_team(competition, name, action, to=to, reason=reason), 1, later=action == "extend")


def _tell_change(competition: "Competition", count: int, later: bool) -> None:
    """Print the newest notices and the ledger's head, warn of a late deadline, and write the board."""
    from leaderboard.ledger import newest_head
    from leaderboard.publish import PRIVATE

    if later and (competition.root / PRIVATE).exists():
        options.warn("private scores are published: who submits from now on can know them")
    echo("\n".join(competition.notices[-count:]))
    echo(f"the ledger's head is {newest_head(competition)}")
    _update(competition)


def verify(
    competition: Contest,
    *,
    heads: Annotated[list[str], text("A published head of the ledger. Repeatable.", "--head")] = [],
) -> None:
    """Check that nobody altered the ledger (organizers).

    Finds rows that were altered or removed, and files, predictions and scores that do not match them. The
    exit code is 1 if there is a problem.

    Example: unseen verify contest
    """
    from leaderboard.verify import verify as check

    found = check(competition, heads)
    echo(f"rows: {found.rows:,}, submissions: {found.submissions:,}, head {found.head}")
    for problem in found.problems:
        echo(f"problem: {problem}")
    if found.problems:
        raise Exit(1)
    echo("the ledger is unaltered")


def audit(competition: Contest, *, device: Device = "cpu", network: Network = []) -> None:
    """List risks: revealed labels, and ranks that are accidents.

    Correct all errors before you publish the competition. Warnings follow about the sets, and notes about
    what was submitted so far. The exit code is 1 if there is an error.

    Example: unseen audit contest
    """
    from leaderboard.audit import audit as audit_submissions
    from starter.contest import audit as checks

    found = [*checks.audit(competition, device)]
    found += [("note", text) for text in audit_submissions(competition)]
    echo("\n".join(f"{grade:<7}  {text}" for grade, text in found))
    errors, warnings = (sum(grade == each for each, _ in found) for grade in ("error", "warning"))
    echo(f"errors: {errors}, warnings: {warnings}")
    if errors:
        raise Exit(1)
    options.tell_next("pack", competition.root)


def pack(
    competition: Contest,
    *,
    out: Annotated[Path | None, path("The zip to write. [DIR.zip beside DIR]")] = None,
    beside: Annotated[list[Path], path("A file to add, such as code. Repeatable.", "--with")] = [],
) -> None:
    """Make the archive for participants from public/ alone.

    Example: unseen pack contest
    """
    from submission.pack import write_archive

    echo(write_archive(competition, out or Path(f"{competition.root.resolve()}.zip"), beside))
    if competition.private.exists():
        options.tell_next("score", competition.root, "FILE", "--team", "NAME")


def export(
    platform: Annotated[str, argument("PLATFORM", "codabench, kaggle or datacv.")],
    competition: Contest,
    out: Annotated[Path | None, argument("OUT", "A new folder, for hidden labels.")] = None,
    *,
    start: Annotated[str, option("YYYY-MM-DD", "Codabench: the first day, from 0:00 UTC. [today]")] = "",
    dry_run: Annotated[bool, Option("--dry-run", help="Only try the scoring program.")] = False,
) -> None:
    """Write the competition for another platform.

    The result is ready to upload; OUT/README.md says how. --dry-run writes nothing and prints the scores and
    messages that the platform would show.

    Example: unseen export codabench contest contest-codabench
    """
    from leaderboard.export import PLATFORMS, rehearse
    from leaderboard.export import export as write
    from submission.competition import time_of

    day = time_of(start, "--start: ") if start else datetime.now(timezone.utc)
    first = day.replace(hour=0, minute=0, second=0, microsecond=0)
    if dry_run:
        for handed_in, shown in rehearse(competition, platform, first):
            echo(f"{handed_in}: {shown}")
        return
    if out is None:
        raise UnusableInput("name the folder to write to: unseen export PLATFORM DIR OUT, or use --dry-run")
    parts: list[str] = []
    if platform == "datacv":
        from starter.contest.materialize import materialize  # before anything is written: a host may lack it

        parts = [part for part in ("train", "val", "test") if competition.sets(part)]
    write(competition, platform, out, first)
    for part in parts:
        materialize(competition, out=out / "participants", layout="datacv", part=part, notes=out)
    echo(f"{PLATFORMS[platform].LIMITS}\n{out / 'README.md'}")


def verify_entry(
    competition: Contest,
    file: Predictions,
    *,
    method: Annotated[str, option("module:Class|METHOD", "The team's, or the kit's.")],
    changes: options.Changes = [],
    device: Device = "cpu",
    debug: options.Debug = False,
    network: Network = [],
    trust: Annotated[bool, Option("--trust", help="Let a team's own code read all that you can.")] = False,
) -> None:
    """Run a method again and compare with a submitted file.

    The exit code is 1 if predictions differ by more than 0.0001; 20 of these are shown. In the organizer's
    folder a team's own code runs in a sandbox (bubblewrap) without network and hidden labels.

    Example: unseen verify-entry contest contest/submissions/atc.csv --method atc
    """
    from baselines.run.predict import verify_entry as verify

    if ":" in method and competition.private.exists() and not trust:
        from baselines.run.sandbox import run_confined

        words = options.repeated("--set", changes) + options.repeated("--network", network)
        words += ["--debug"] if debug else []
        code = Path.cwd().joinpath(method.partition(":")[0]).parent
        arguments = ["verify-entry", str(file), "--method", method, "--device", device, *words]
        raise Exit(run_confined(competition, [file, code], arguments))
    chosen = options.chosen_for(competition, [method], changes, device=device)
    apart, count = verify(competition, file, method, chosen[method], device), len(competition.ids("test"))
    if len(apart):
        echo(f"not verified: {len(apart)} of {count} predictions differ\n{apart.head(20).to_string()}")
        raise Exit(1)
    echo(f"verified: the method predicts all {count} submitted numbers")


def show(
    competition: Contest,
    sets: Annotated[list[str], argument("[SET]...", "Names of sets. [the first of each part]")] = [],
    *,
    out: Annotated[Path | None, path("The PNG file to write. [DIR/sheet.png]")] = None,
) -> None:
    """Draw sets, and a histogram of accuracies, as PNG files.

    The contact sheet names what sets are made of, and their accuracies, where these are public.

    Example: unseen show contest train_0001 test_0003
    """
    from starter.contest.show import show as draw

    echo(draw(competition, sets, out=out))


def materialize(
    competition: Contest,
    *,
    out: Annotated[Path, path("The folder to write to; it may hold several parts.")],
    layout: Annotated[str, text("npz, folders (of PNG files) or datacv (npy files).")] = "npz",
    part: Annotated[str, text("train, val or test (images without labels).")] = "train",
) -> None:
    """Write sets as files; run again to continue.

    Meta-train sets are rendered from their recipes; the same competition gives the same bytes. In DataCV's
    layout the meta-train sets share one labels.npy; if they show different images, each gets a folder, as
    validation sets have.

    Example: unseen materialize contest --out sets --layout datacv
    """
    from starter.contest.materialize import materialize as write

    echo(write(competition, out=out, layout=layout, part=part))


def backup(
    competition: Contest, file: Annotated[Path, argument("FILE", "The zip to write: it holds hidden labels.")]
) -> None:
    """Write the organizer's private files to one zip file.

    The file holds the ledger with its newest rows, every submission and every solution; submissions may come
    in meanwhile. docs/how-to/verifying.md explains how to restore it.

    Example: unseen backup contest contest-backup.zip
    """
    from leaderboard.verify import backup as write

    echo(write(competition, file))
