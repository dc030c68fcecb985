"""Commands of organizers that need both the kit and the leaderboard, which do not know each other."""

from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated

from typer import Argument, Exit, Option, echo

from submission import Competition
from submission.options import Device, Folder, Network, now, tell_next


def audit(folder: Folder, network: Network = None, device: Device = "cpu") -> None:
    """List what could reveal a hidden label.

    Errors are to mend before anybody gets the competition; then there are warnings, and what was told about
    the public rows, and can be. Exit code 1 where there is an error.

    Example: unseen audit contest
    """
    from leaderboard.board.audit import audit_board
    from starter.classifiers import use_network
    from starter.competition.audit import audit as run

    for spec in network or ():
        use_network(spec)
    competition = Competition.open(folder)
    found, told = run(competition, device), audit_board(competition, now())
    for finding in found:
        echo(finding)
    echo(told)
    errors = sum(finding.grade == "error" for finding in found)
    echo(f"errors: {errors + (not told.sound)}, warnings: {len(found) - errors}")
    if errors or not told.sound:
        raise Exit(1)
    tell_next("pack", folder)


def export(
    platform: Annotated[str, Argument(metavar="PLATFORM", help="codabench, kaggle or datacv.")],
    folder: Folder,
    out: Annotated[Path, Argument(metavar="OUT", help="A new folder; it will hold hidden labels.")],
    start: Annotated[
        datetime | None, Option(formats=["%Y-%m-%d"], help="Codabench: the first day (UTC). [today]")
    ] = None,
) -> None:
    """Write the competition for another platform.

    Ready to upload; OUT/README.md says how.

    Example: unseen export codabench contest contest-codabench
    """
    from leaderboard.export import export as write

    competition = Competition.open(folder)
    first = start or now().replace(hour=0, minute=0, second=0, microsecond=0)
    write(competition, platform, out, first.replace(tzinfo=timezone.utc))
    if platform == "datacv":
        from starter.competition.materialize import materialize as write_sets

        for part in ("train", "val", "test"):
            if competition.sets(part):
                write_sets(competition, out / "participants", "datacv", part)
    echo(out / "README.md")
