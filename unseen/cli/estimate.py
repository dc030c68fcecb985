"""The command `unseen estimate`."""

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

from typer import Argument, Exit, Option, echo

from submission.errors import UnusableInput
from unseen.cli import options
from unseen.cli.options import Many


def estimate(
    unlabelled: Annotated[
        list[Path], Option(metavar="FILE|DIR", help="A set without labels; more may follow as SETs.")
    ],
    sets: Annotated[list[Path] | None, Argument(metavar="[SET]...", help="Further sets.")] = None,
    logits: Annotated[
        Path | None, Option(metavar="FILE", help="The labelled images' logits (n, k), .npy.")
    ] = None,
    labels: Annotated[
        Path | None, Option(metavar="FILE", help="Their labels (n,), columns of logits, .npy.")
    ] = None,
    model: Annotated[str | None, Option(metavar="NAME=WEIGHTS", help="A model, as for build.")] = None,
    labelled: Annotated[
        Path | None, Option(metavar="DIR", help="With a model: folder of CLASS/IMAGE.")
    ] = None,
    classes: Annotated[
        Path | None, Option(metavar="FILE", help="The model's classes in order, one a line.")
    ] = None,
    network: options.Network = None,
    train_sets: Annotated[
        int, Option(help="With a model: number of sets to learn from, 0 or 6 to 1000.")
    ] = 24,
    referee: Annotated[
        Many, Option(metavar="SPEC", help="With a model: as build's --referee. Repeatable.")
    ] = None,
    rotations: Annotated[bool, Option("--rotations", help="With a model: see turned copies too.")] = False,
    image_size: Annotated[int, Option(min=0, max=4096, metavar="N", help="Pixels; 0: the commonest.")] = 0,
    resize: options.Resize = "crop",
    skip_unreadable: options.SkipUnreadable = 0.01,
    device: options.Device = "cpu",
    engine: Annotated[str, Option(help="What runs a model: openvino, or torch. [torch]")] = "",
    second: Annotated[
        Many, Option(metavar="FILE", help="A second model's logits, labelled first. Repeatable.")
    ] = None,
    features: Annotated[
        Many, Option(metavar="FILE", help="Features (n, d), labelled first. Repeatable.")
    ] = None,
    probabilities: Annotated[bool, Option("--probabilities", help="FILEs hold probabilities.")] = False,
    margin: Annotated[float, Option(help="A fall of more than this, a fraction, is told.")] = 0.05,
    level: Annotated[float, Option(help="Of the intervals.")] = 0.9,
    window: Annotated[int | None, Option(metavar="N", help="Estimate each N images, as of a stream.")] = None,
    fail_below: Annotated[
        float | None, Option(min=0, max=1, metavar="ACCURACY", help="Exit with 1 below this.")
    ] = None,
    out: Annotated[
        Path, Option(metavar="FOLDER", help="The folder of estimate.html, .json and .csv.")
    ] = Path(),
    as_json: options.AsJson = False,
) -> None:
    """Estimate a model's accuracy on images without labels.

    Give logits, for any task with classes; or a model and images: then meta-train sets are made by distorting
    labelled images. The model must not have been trained on the labelled images. As a check, the accuracy on
    each half of them is first estimated from the other half.

    Example: unseen estimate --logits val.npy --labels val_labels.npy --unlabelled today.npy
    """
    of_images, of_logits = {model is None, labelled is None}, {logits is None, labels is None}
    if (of_images, of_logits) not in (({False}, {True}), ({True}, {False})):
        raise UnusableInput("give either --logits and --labels, or --model and --labelled")

    from unseen.estimation.estimation import write_estimation
    from unseen.estimation.inputs import read_classes

    given, named, photos = [*unlabelled, *(sets or [])], read_classes(classes) if classes else (), None
    with redirect_stdout(sys.stderr if as_json else sys.stdout):
        if model is not None and labelled is not None:
            from starter.images.reading import Fit
            from unseen.estimation.images import Asked, estimate_images

            options.use_networks(network)
            asked = Asked(
                train_sets,
                referees=tuple(referee or ()),
                fit=Fit((image_size, image_size) if image_size else None, resize, skip_unreadable),
                device=device,
                margin=margin,
                level=level,
                window=window,
                engine=engine,
                classes=named,
                rotations=rotations,
            )
            found, photos = estimate_images(model, labelled, given, asked)
        elif logits is not None and labels is not None:
            from unseen.estimation.from_logits import estimate as run

            other, inner = ((each[0], each[1:]) if each else None for each in (second, features))
            found = run(logits, labels, given, other, inner, probabilities, margin, level, window, named)
    *pages, data = write_estimation(found, out, photos, fail_below)
    echo(data.read_text() if as_json else "\n".join(map(str, (f"{found}\n", *pages, data))), nl=not as_json)
    if fail_below is not None and (low := found.below(fail_below)):
        echo(f"below {100 * fail_below:g} %: {', '.join(low)}", err=True)
        raise Exit(1)
