"""The commands `show` and `materialize`."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option, echo

from submission import Competition
from submission.options import Folder, Many


def show(
    folder: Folder,
    sets: Annotated[
        Many, Argument(metavar="[SET]...", help="Names of sets. [the first sets of each part]")
    ] = None,
    out: Annotated[Path | None, Option(help="The PNG file to write. [DIR/sheet.png]")] = None,
) -> None:
    """Draw sets, and a histogram of accuracies, as PNG files.

    The contact sheet names the operations and accuracies of sets for which these are public.

    Example: unseen show contest train_0001 test_0003
    """
    from starter.competition.show import contact_sheet, plot_accuracies, summary

    competition, sheet = Competition.open(folder), out or folder / "sheet.png"
    echo(contact_sheet(competition, sets or [], sheet))
    echo(f"{plot_accuracies(competition, sheet.with_name('accuracies.png'))}\n{summary(competition)}")


def materialize(
    folder: Folder,
    out: Annotated[Path, Option(help="The folder to write to; it may hold several parts.")],
    layout: Annotated[
        str, Option(help="npz, folders (class folders of PNG files) or datacv (npy files).")
    ] = "npz",
    part: Annotated[str, Option(help="train, val or test (images without labels).")] = "train",
) -> None:
    """Write sets as files; run again to continue.

    Meta-train sets are rendered from their recipes. In DataCV's layout the meta-train sets share one
    labels.npy; if they show different images, each gets a folder.

    Example: unseen materialize contest --out sets --layout datacv
    """
    from starter.competition.materialize import materialize as write

    competition = Competition.open(folder)
    written = write(competition, out, layout, part)
    echo(f"{len(competition.sets(part)):,} sets in {written}")
