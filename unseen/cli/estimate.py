"""The command `unseen estimate`."""

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from typer import Exit, echo

from submission.errors import UnusableInput
from submission.files import write_text
from unseen.cli.options import Many

if TYPE_CHECKING:
    from unseen.estimation.inputs import Asked


def estimate(
    sets: Sequence[Path] = (),
    *,
    unlabelled: Sequence[Path],
    logits: Path | None = None,
    labels: Path | None = None,
    model: str | None = None,
    labelled: Path | None = None,
    classes: Path | None = None,
    asked: "Asked",
    second: Many = (),
    features: Many = (),
    probabilities: bool = False,
    ask: int | None = None,
    answers: Path | None = None,
    fail_below: float | None = None,
    fail_on: Literal["certain", "likely", "possible"] = "likely",
    out: Path = Path(),
    as_json: bool = False,
) -> None:
    """Estimate a model's accuracy on images without labels.

    Give logits, for any task with classes; or a model and images: then meta-train sets are made by distorting
    labelled images. The model must not have been trained on the labelled images. As a check, the accuracy on
    each half of them is first estimated from the other half.

    Example: unseen estimate --logits val.npy --labels val_labels.npy --unlabelled today.npy

    Options:
        sets (SET): Further sets.
        unlabelled (FILE|DIR): A set without labels; more may follow as SETs.
        logits (FILE): The labelled images' logits (n, k): .npy, .npz, .csv.
        labels (FILE): Their classes (n,): numbers from 0 on, or --classes.
        model (NAME=WEIGHTS): A model, as for build.
        labelled (DIR): With a model: folder of CLASS/IMAGE.
        classes (FILE): The model's classes in order, one a line.
        second (FILE): A second model's logits: first those of the labelled images, then of each set.
        features (FILE): Features (n, d), in the same order.
        probabilities: FILEs hold probabilities.
        ask (IMAGES): Write ask.csv: so many images of each set to label.
        answers (FILE): An ask.csv with labels, which then count.
        fail_below (ACCURACY): Exit with 1 below this, a fraction.
        fail_on: What is below: the whole interval, the estimate, or its lower end.
        out (FOLDER): The folder of estimate.html, .json and .csv.
    """
    of_images, of_logits = {model is None, labelled is None}, {logits is None, labels is None}
    if (of_images, of_logits) not in (({False}, {True}), ({True}, {False})):
        raise UnusableInput("give either --logits and --labels, or --model and --labelled")

    if (fail_below or 0) > 1:
        raise UnusableInput(f"--fail-below is a fraction, such as 0.8, got {fail_below:g}")

    wanted = out / "ask.csv"
    if ask and wanted.exists() and not (answers and answers.exists() and answers.samefile(wanted)):
        raise UnusableInput(f"{wanted} exists: keep its labels by --answers {wanted}, or remove it")

    from starter.data.images.classes import read_classes
    from unseen.estimation.budget import answered, draw, read_answers, with_columns
    from unseen.estimation.estimation import write_estimation

    given, named = [*unlabelled, *sets], read_classes(classes) if classes else ()
    photos = dict[str, list[tuple[str, Any]]]()
    with redirect_stdout(sys.stderr if as_json else sys.stdout):
        if model is not None and labelled is not None:
            from unseen.estimation.images import estimate_images

            found, photos = estimate_images(model, labelled, given, asked, named)
        elif logits is not None and labels is not None:
            from unseen.estimation.from_logits import estimate as run

            other, inner = ((each[0], each[1:]) if each else None for each in (second, features))
            rules = asked.margin, asked.level, asked.window
            found = run(logits, labels, given, other, inner, probabilities, *rules, named)
    files = {name: [file for file, _ in images] for name, images in photos.items()}
    known = read_answers(answers, found, files) if answers else {}
    if ask:
        table = with_columns(draw(found, ask, known, files), answers)
        write_text(wanted, table.to_csv(index=False, lineterminator="\n"))
    found = answered(found, known)
    *pages, data = write_estimation(found, out, photos, fail_below, fail_on)
    pages += [wanted] if ask else []
    echo(data.read_text() if as_json else "\n".join(map(str, (f"{found}\n", *pages, data))), nl=not as_json)
    if fail_below is not None and (low := found.below(fail_below, fail_on)):
        echo(f"below {100 * fail_below:g} % ({fail_on}): {', '.join(low)}", err=True)
        raise Exit(1)
