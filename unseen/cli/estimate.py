"""The commands `unseen estimate` and `unseen rank`."""

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Exit, Option, echo

from submission.errors import UnusableInput
from submission.files import write_text
from unseen.cli.options import Device, Json, Network, argument, number, option, text

if TYPE_CHECKING:
    from unseen.estimation.estimation import Estimation, Photos


def estimate(
    sets: Annotated[list[Path], argument("[SET]...", "Further sets.")] = [],
    *,
    unlabelled: Annotated[
        list[Path],
        option("FILE|DIR", "A set without labels; more may follow as SETs. Repeatable.", "--unlabelled"),
    ],
    logits: Annotated[
        Path | None, option("FILE", "The labelled images' logits (n, k): .npy, .npz, .csv.")
    ] = None,
    labels: Annotated[
        Path | None, option("FILE", "Their classes (n,): numbers from 0 on, or --classes.")
    ] = None,
    model: Annotated[str | None, option("NAME=WEIGHTS", "A model, as for build.")] = None,
    labelled: Annotated[Path | None, option("DIR", "With a model: folder of CLASS/IMAGE.")] = None,
    classes: Annotated[Path | None, option("FILE", "The model's classes in order, one a line.")] = None,
    train_sets: Annotated[int, number("With a model: number of sets to learn from, 0 or 6 to 1000.")] = 24,
    referees: Annotated[
        list[str], option("SPEC", "With a model: as build's --referee. Repeatable.", "--referee")
    ] = [],
    image_size: Annotated[int, number("Side to which images are resized; 0: the commonest.", "PIXELS")] = 0,
    resize: Annotated[Literal["crop", "pad", "stretch"], Option(help="How to resize images.")] = "crop",
    skip_unreadable: Annotated[float, number("Share of unreadable images to allow.", "SHARE")] = 0.01,
    device: Device = "cpu",
    engine: Annotated[str, text("What runs a model: openvino, or torch. [openvino on CPUs]")] = "",
    margin: Annotated[float, number("Report a fall larger than this fraction.")] = 0.05,
    level: Annotated[float, number("Share of intervals that should hold the truth.")] = 0.9,
    window: Annotated[
        int | None, number("Estimate windows of so many rows; with --by, of at least so many.", "IMAGES")
    ] = None,
    by: Annotated[
        list[Path], option("FILE", "Cut a set into windows by dates or other keys. Repeatable.", "--by")
    ] = [],
    second: Annotated[
        list[str],
        option(
            "FILE",
            "A second model's logits: first those of the labelled images, then of each set. Repeatable.",
            "--second",
        ),
    ] = [],
    features: Annotated[
        list[str], option("FILE", "Features (n, d), in the same order. Repeatable.", "--features")
    ] = [],
    probabilities: Annotated[bool, Option("--probabilities", help="FILEs hold probabilities.")] = False,
    ask: Annotated[
        int | None, number("Write ask.csv: so many images of each set to label.", "IMAGES")
    ] = None,
    answers: Annotated[Path | None, option("FILE", "An ask.csv with labels, which then count.")] = None,
    fail_below: Annotated[float | None, number("Exit with 1 below this, a fraction.", "ACCURACY")] = None,
    fail_on: Annotated[
        Literal["certain", "likely", "possible"],
        Option(
            help="What is below: the whole interval, the estimate, its lower bound. Windows count together: "
            "even if estimates are as much too low as the interval allows; by a point; not at all."
        ),
    ] = "likely",
    state: Annotated[Path | None, option("FILE", "Count on from the windows of earlier jobs.")] = None,
    out: Annotated[Path, option("FOLDER", "The folder of estimate.html, .json and .csv.")] = Path(),
    as_json: Json = False,
    network: Network = [],
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

    _check_limit(fail_below, state)
    if ask:
        _keep_labels(out / "ask.csv", answers)

    from starter.data.images.imageset import read_classes
    from unseen.estimation.estimation import write_estimation
    from unseen.estimation.inputs import Asked

    named = read_classes(classes) if classes else ()
    asked = Asked(
        train_sets=train_sets,
        referees=tuple(referees),
        image_size=image_size,
        resize=resize,
        skip_unreadable=skip_unreadable,
        device=device,
        engine=engine,
        margin=margin,
        level=level,
        window=window,
        by=by,
    )
    photos: Photos = {}
    with redirect_stdout(sys.stderr if as_json else sys.stdout):
        if model is not None and labelled is not None:
            from unseen.estimation.images import estimate_images

            found, photos = estimate_images(model, labelled, [*unlabelled, *sets], asked, named)
        elif logits is not None and labels is not None:
            from unseen.estimation.from_logits import estimate as run

            found = run(
                logits,
                labels,
                [*unlabelled, *sets],
                second=_labelled_first(second),
                features=_labelled_first(features),
                probabilities=probabilities,
                margin=asked.margin,
                level=asked.level,
                window=asked.window,
                by=by,
                classes=named,
            )
    found, pages = _with_answers(found, photos, ask, answers, out / "ask.csv")
    if fail_below is not None and (window or by or state):
        found = found.watch(fail_below, fail_on, state)
    *written, data = write_estimation(found, out, photos, fail_below, fail_on)
    echo(
        data.read_text() if as_json else "\n".join(map(str, (f"{found}\n", *written, *pages, data))),
        nl=not as_json,
    )
    if state and found.stream:
        found.stream.write(state)
    if fail_below is not None:
        _end_with_alarm(found, fail_below, fail_on)


def _check_limit(fail_below: float | None, state: Path | None) -> None:
    """Refuse a limit that is no fraction, and a state without a limit."""
    if (fail_below or 0) > 1:
        raise UnusableInput(f"--fail-below is a fraction, such as 0.8, got {fail_below:g}")
    if state and fail_below is None:
        raise UnusableInput("--state keeps what --fail-below counts: give both")


def _end_with_alarm(found: "Estimation", limit: float, fail_on: str) -> None:
    """End with exit code 1 for an alarm, and with 2 where no estimate can be trusted."""
    if found.doubted:
        raise UnusableInput(f"--fail-below cannot be judged: {found.warning}")
    if alarm := found.alarm(limit, fail_on):
        echo(alarm, err=True)
        raise Exit(1)


def _keep_labels(ask: Path, answers: Path | None) -> None:
    """Refuse to write a table over one that may have labels, unless these are read."""
    if ask.exists() and not (answers and answers.exists() and answers.samefile(ask)):
        raise UnusableInput(f"{ask} exists: keep its labels by --answers {ask}, or remove it")


def _labelled_first(files: Sequence[str]) -> tuple[str, Sequence[str]] | None:
    """Returns the file of the labelled images and those of the sets; None without files."""
    return (files[0], files[1:]) if files else None


def _with_answers(
    found: "Estimation", photos: "Photos", ask: int | None, answers: Path | None, wanted: Path
) -> tuple["Estimation", list[Path]]:
    """Returns the estimation with the answers, and the written table of images to label, if any are asked."""
    from unseen.estimation.budget import answered, draw, read_answers, with_columns

    files = {name: [file for file, _ in images] for name, images in photos.items()}
    known = read_answers(answers, found, files) if answers else {}
    if ask:
        table = with_columns(draw(found, ask, known, files), answers)
        write_text(wanted, table.to_csv(index=False, lineterminator="\n"))
    return answered(found, known), [wanted] if ask else []


def rank(
    *,
    labels: Annotated[Path, option("FILE", "The labelled rows' classes (n,): numbers or names.")],
    labelled: Annotated[list[str], option("NAME=FILE", "A model's logits of them.", "--labelled", "-l")],
    unlabelled: Annotated[list[str], option("NAME=FILE", "Its logits of others.", "--unlabelled", "-u")],
    keep: Annotated[str, option("NAME", "The model in use: exit with 1 if another is better.")] = "",
    classes: Annotated[Path | None, option("FILE", "The models' classes in order, one a line.")] = None,
    probabilities: Annotated[bool, Option("--probabilities", help="FILEs hold probabilities.")] = False,
    ask: Annotated[int | None, number("Write ask.csv: so many rows to label.", "ROWS")] = None,
    answers: Annotated[Path | None, option("FILE", "An ask.csv with labels, which then count.")] = None,
    as_json: Json = False,
) -> None:
    """Choose among your models on rows without labels.

    Tells how far they can differ there, and by a few labels, where they disagree, which is best.

    Example: unseen rank --labels y.npy -l a=a.npy -l b=b.npy -u a=a2.npy -u b=b2.npy --ask 50
    """
    if ask:
        _keep_labels(Path("ask.csv"), answers)

    from starter.data.images.imageset import read_classes
    from unseen.estimation.ranking import rank as run

    known, new = _of_models("--labelled", labelled), _of_models("--unlabelled", unlabelled)
    named = read_classes(classes) if classes else ()
    found = run(known, labels, new, keep=keep, probabilities=probabilities, classes=named)
    if answers:
        found = found.answered(answers)
    if ask:
        write_text(Path("ask.csv"), found.ask(ask).to_csv(index=False, lineterminator="\n"))
    echo(found.to_json() if as_json else f"{found}", nl=not as_json)
    if keep and found.better:
        raise Exit(1)


def _of_models(name: str, texts: Sequence[str]) -> dict[str, Path]:
    """Returns the file of each model, from texts NAME=FILE of an option."""
    pairs = [each.partition("=")[::2] for each in texts]
    files = {model: Path(file) for model, file in pairs if model and file}
    if len(files) < len(texts):
        raise UnusableInput(f"{name} must be NAME=FILE, once for each model, got {', '.join(texts)}")
    return files
