"""The command `unseen estimate`."""

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

from typer import Argument, Context, Exit, Option, echo

from submission import UnusableInput
from unseen.cli.options import AsJson, Device, Many, Network

OF_IMAGES = (
    *("model", "labelled", "network", "train_sets", "referee", "rotations", "image_size", "resize"),
    *("skip_unreadable", "device", "engine"),
)
"""The options of an estimate from a model and images; the first two are required."""
OF_LOGITS = ("logits", "labels", "second", "features", "probabilities")
"""The options of an estimate from logits; the first two are required."""


def estimate(
    context: Context,
    unlabelled: Annotated[
        list[Path],
        Option(metavar="FILE|DIR", help="A set without labels, logits or images; more may follow as SETs."),
    ],
    sets: Annotated[
        list[Path] | None, Argument(metavar="[SET]...", help="Further sets without labels.")
    ] = None,
    logits: Annotated[
        Path | None, Option(metavar="FILE", help="An .npy of the labelled images' logits (n, k).")
    ] = None,
    labels: Annotated[
        Path | None, Option(metavar="FILE", help="An .npy of their labels (n,): the logits' columns.")
    ] = None,
    model: Annotated[
        str | None, Option(metavar="NAME=WEIGHTS", help="In place of logits: as build's --classifier.")
    ] = None,
    labelled: Annotated[
        Path | None, Option(metavar="DIR", help="With a model: a folder or zip of CLASS/IMAGE.")
    ] = None,
    classes: Annotated[
        Path | None,
        Option(metavar="FILE", help="A text file of the classes' names in the model's order, one a line."),
    ] = None,
    network: Network = None,
    train_sets: Annotated[
        int, Option(help="With a model: sets made of the labelled images to learn from; 0 for none.")
    ] = 24,
    referee: Annotated[
        list[str] | None,
        Option(metavar="SPEC", help="With a model: an independent encoder, as build's --referee; repeat."),
    ] = None,
    rotations: Annotated[
        bool,
        Option("--rotations", help="With a model: see turned copies too, in four times the time."),
    ] = False,
    image_size: Annotated[
        int,
        Option(metavar="N", help="With a model: pixels of a side. [the commonest size]", show_default=False),
    ] = 0,
    resize: Annotated[str, Option(help="How to resize images: crop, pad or stretch.")] = "crop",
    skip_unreadable: Annotated[
        float, Option(metavar="SHARE", help="Largest share of unreadable images, which are left out.")
    ] = 0.01,
    device: Device = "cpu",
    engine: Annotated[str, Option(help="What runs a model: openvino, or torch. [torch]")] = "",
    second: Annotated[
        Many, Option(metavar="FILE", help="A second model's logits: the labelled, then each set's; repeat.")
    ] = None,
    features: Annotated[
        Many,
        Option(metavar="FILE", help="The model's features (n, d): the labelled, then each set's; repeat."),
    ] = None,
    probabilities: Annotated[
        bool, Option("--probabilities", help="The files hold probabilities, not logits.")
    ] = False,
    margin: Annotated[float, Option(help="A fall of more than this, a fraction, is told.")] = 0.05,
    level: Annotated[float, Option(help="Of the intervals.")] = 0.9,
    window: Annotated[
        int | None, Option(metavar="N", help="Estimate each N images in their order, as of a stream.")
    ] = None,
    fail_below: Annotated[
        float | None, Option(metavar="ACCURACY", help="Exit code 1 where an estimate lies below.")
    ] = None,
    out: Annotated[
        Path, Option(metavar="FOLDER", help="Where estimate.html, .json and .csv are written.")
    ] = Path(),
    as_json: AsJson = False,
) -> None:
    """Estimate a model's accuracy on images without labels.

    Give logits, for any task with classes; or a model and images: then meta-train sets are made by distorting
    labelled images. The model must not have been trained on the labelled images. As a check, the accuracy on
    each half of them is first estimated from the other half.

    Example: unseen estimate --logits val.npy --labels val_labels.npy --unlabelled today.npy
    """
    if fail_below is not None and not 0 <= fail_below <= 1:
        raise UnusableInput(f"--fail-below must be a fraction in [0, 1], got {fail_below:g}")

    given, images = [*unlabelled, *(sets or [])], None
    _check_options([name for name in context.params if _is_typed(context, name)])

    from unseen.estimation.from_logits import estimate as run
    from unseen.estimation.inputs import read_classes
    from unseen.estimation.page import write_estimation

    named = read_classes(classes) if classes else ()
    with redirect_stdout(sys.stderr if as_json else sys.stdout):
        if model is not None and labelled is not None:
            _check_images(model, [labelled, *given])
            from starter.classifiers import use_network
            from unseen.estimation.images import Asked, estimate_images, fit_of

            for spec in network or ():
                use_network(spec)
            asked = Asked(
                train_sets,
                referees=tuple(referee or ()),
                fit=fit_of(image_size, resize, skip_unreadable),
                device=device,
                margin=margin,
                level=level,
                window=window,
                engine=engine,
                classes=named,
                rotations=rotations,
            )
            found, images = estimate_images(model, labelled, given, asked)
        elif logits is not None and labels is not None:
            beside = _parted(second), _parted(features)
            found = run(logits, labels, given, *beside, probabilities, margin, level, window, named)
    *pages, data = write_estimation(found, out, images, fail_below)
    echo(data.read_text() if as_json else "\n".join(map(str, (f"{found}\n", *pages, data))), nl=not as_json)
    if fail_below is not None and (low := found.below(fail_below)):
        echo(f"below {100 * fail_below:g} %: {', '.join(low)}", err=True)
        raise Exit(1)


def _parted(files: Many) -> tuple[str, list[str]] | None:
    """Returns the file of the labelled images and those of the sets; None without files."""
    return (files[0], files[1:]) if files else None


def _is_typed(context: Context, name: str) -> bool:
    """Returns True if the user gave the option, whatever its default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _check_options(typed: Sequence[str]) -> None:
    """Raise UnusableInput unless the first two options of one kind are given, and none of the other kind."""
    pairs = "give --logits and --labels, or --model and --labelled"
    kinds = [[name for name in kind if name in typed] for kind in (OF_IMAGES, OF_LOGITS)]
    missing = [[name for name in kind[:2] if name not in typed] for kind in (OF_IMAGES, OF_LOGITS)]
    if not any(kinds):
        raise UnusableInput(pairs)
    if all(kinds):
        surplus = kinds[0] if missing[0] else kinds[1]
        raise UnusableInput(f"{pairs}: leave out {_flags(surplus)}")
    lacking = missing[0] if kinds[0] else missing[1]
    if lacking:
        raise UnusableInput(f"{pairs}: also give {_flags(lacking)}")


def _flags(names: Sequence[str]) -> str:
    return " and ".join(f"--{name.replace('_', '-')}" for name in names)


def _check_images(model: str, paths: Sequence[Path]) -> None:
    """Raise UnusableInput if a model has no name, or a path is of logits."""
    if "=" not in model and Path(model).suffix in (".pt", ".pth", ".safetensors"):
        raise UnusableInput(
            f"--model {model} has no name: write --model resnet56={model}, with your network's name"
        )
    for path in paths:
        if path.suffix == ".npy":
            raise UnusableInput(f"{path}: logits go with --logits and --labels, not with --model")
