"""The commands that make a competition and show it: `build`, `train`, `show` and `materialize`."""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args

from pydantic.fields import FieldInfo
from typer import Argument, Context, Option, echo

from starter.making.settings import (
    TRACKS,
    extra_of,
    fields_of,
    flag_of,
    help_of,
    read_file,
    settings_of,
    write_file,
)
from starter.tracks.settings import Settings
from submission.competition import Competition
from submission.errors import UnusableInput
from unseen.cli import options
from unseen.cli.options import Many

SAME = ("image_size", "resize", "skip_unreadable", "seed", "data_root")
"""Options of `train` that a build with its classifier needs too, where they were given."""


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Returns the command with an option for every setting; `given` gets the values of those in use."""
    fields = {name: field for track in TRACKS for name, field in fields_of(track).items()}
    options = [_option(name, field) for name, field in fields.items()]
    own = [each for each in signature(command).parameters.values() if each.name != "given"]
    often = [each for each in options if extra_of(fields[each.name]).get("often")]
    others = [each for each in options if each not in often]
    ordered = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in (*own[:1], *often, *own[1:], *others)]

    @wraps(command)
    def taking(**values: Any) -> None:
        given = {name: values.pop(name) for name in fields}
        command(**values, given={name: value for name, value in given.items() if value not in (None, [])})

    taking.__annotations__ = {each.name: each.annotation for each in ordered}
    taking.__signature__ = signature(command).replace(parameters=ordered)  # type: ignore[attr-defined]
    return taking


def _option(name: str, field: FieldInfo) -> Parameter:
    """Returns the parameter from which Typer makes the option of a setting."""
    word, extra, annotation = flag_of(name), extra_of(field), field.annotation
    tracks = [track for track in TRACKS if name in fields_of(track)]
    panel = "More settings" if len(tracks) == len(TRACKS) else f"More settings, of the {tracks[0]} track"
    option = Option(
        f"{word}/--no-{word.removeprefix('--')}" if annotation is bool else word,
        help=help_of(name),
        metavar=extra.get("metavar"),
        show_default=False,
        rich_help_panel="Settings" if extra.get("often") else panel,
    )
    kinds = {(str, ...): list[str], (int, ...): tuple[int, int], (int, NoneType): int}
    kind = annotation if annotation in (bool, int, float) else kinds.get(get_args(annotation), str)
    return Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option])


@with_settings
def build(
    folder: Annotated[Path | None, Argument(metavar="DIR", help="A new folder, or one to finish.")] = None,
    settings: Annotated[
        Path | None, Option(metavar="FILE", help="Settings in TOML; options override them.")
    ] = None,
    write_settings: Annotated[
        Path | None, Option(metavar="FILE", help="Only write all settings as TOML.")
    ] = None,
    preset: Annotated[str | None, Option(help="Use the settings of a preset: small, or datacv2023.")] = None,
    track: Annotated[
        str | None, Option(help="accuracy (of classifiers), or ood (of OOD detectors). [accuracy]")
    ] = None,
    test_seed: Annotated[int | None, Option(min=0, help="Seed of the test sets, a secret. [random]")] = None,
    data_root: options.DataRoot = None,
    network: options.Network = None,
    device: options.Device = "cpu",
    cluster: options.Workers = None,
    cache: options.CachePlace = "",
    dry_run: Annotated[bool, Option("--dry-run", help="Only print images and disk space.")] = False,
    *,
    given: dict[str, object],
) -> None:
    """Build a competition, or finish an interrupted build.

    Options override the --settings file, and the file overrides the preset. With --cluster, workers observe
    the sets; they must be able to read DIR, or the --cache (such as s3://bucket/path). Dask runs any code
    that its scheduler receives: keep the scheduler inside your own network, or use TLS
    (docs/results/scaling.md).

    Example: unseen build contest --train-sets 20 --val-sets 4 --test-sets 8 --set-size 100
    """
    if folder is None and not (write_settings or dry_run):
        raise UnusableInput("name the folder to build in: unseen build DIR")
    asked = _asked(settings, preset, track, given)
    if write_settings:
        write_file(write_settings, asked)
        options.tell_next("build", "DIR", "--settings", write_settings)
        return

    from leaderboard.feedback import price
    from starter.classifiers import Spec
    from starter.competition.audit import rank_warnings
    from starter.competition.cluster import connected
    from starter.making import build as making

    own = [*(network or ()), *filter(None, (Spec.parse(text).own_code for text in asked.classifiers))]
    options.use_networks(own)
    begun = folder is not None and (folder / "private/build.json").exists()
    if asked.deadline and asked.deadline <= options.now() and not begun:
        raise UnusableInput(
            f"--deadline {asked.deadline:%Y-%m-%d %H:%M} has passed: give a time in the future"
        )
    if dry_run or folder is None:
        echo(making.dry_run(asked, device, data_root))
        return
    with connected(cluster) as workers:
        competition = making.build(folder, asked, test_seed, device, data_root, workers, cache)
    echo("\n".join(filter(None, (competition.describe(), price(competition)))))
    for finding in rank_warnings(competition, device):
        echo(f"warning: {finding.text}", err=True)
    options.tell_next("predict", folder, *options.repeated("--network", dict.fromkeys(own)))


def _asked(file: Path | None, name: str | None, track: str | None, given: dict[str, object]) -> Settings:
    """Returns the settings: those of the options, else of the file, else of the preset, else the defaults."""
    from starter.making.presets import preset

    found = read_file(file) if file else {}
    of = track or str(found.get("track", "accuracy"))
    found.pop("track", None)
    return settings_of(of, {**(preset(name, of) if name else {}), **found, **given})


def train(
    context: Context,
    out: Annotated[Path, Option(help="The .safetensors file to write.")],
    arch: Annotated[str, Option(help="resnet56, ..., timm:NET, torchvision:NET, module:function.")],
    source: Annotated[str, Option(help="A source, as for build, with its training images.")] = "cifar10",
    hold_out: Annotated[float, Option(help="Share of images to test on. [0: use the test images]")] = 0.0,
    epochs: Annotated[int, Option(help="Number of passes over the images.")] = 60,
    batch: Annotated[int, Option(help="Number of images in a step.")] = 128,
    rate: Annotated[float, Option(help="Highest learning rate.")] = 0.2,
    flip: Annotated[bool, Option(help="Mirror images at random; not for digits.")] = True,
    seed: Annotated[int, Option(help="Seed of everything random; use the same one for build.")] = 0,
    image_size: Annotated[int, Option(help="Pixels of a side, as for build. [the commonest size]")] = 0,
    resize: options.Resize = "crop",
    skip_unreadable: options.SkipUnreadable = 0.01,
    start: Annotated[str, Option(help="Initial weights: a file, or pretrained (of a library's NET).")] = "",
    data_root: options.DataRoot = None,
    network: options.Network = None,
    device: Annotated[str | None, Option(help="cpu, cuda, ... [a GPU if there is one, else cpu]")] = None,
) -> None:
    """Train a classifier for build's --classifier.

    After an interruption, the same command continues.

    Example: unseen train --source glyphs --arch small --no-flip --epochs 3 --out small.safetensors
    """
    from starter.classifiers import train as training

    options.use_networks(network)
    asked = training.Training(
        *(source, arch, hold_out, epochs, batch, rate, flip, seed, image_size, resize, skip_unreadable, start)
    )
    echo(training.train(asked, out, device, data_root))
    same = [
        word
        for name in SAME
        for flag in options.typed(context, [name])
        for word in (flag, context.params[name])
    ]
    named = f"{out.stem if ':' in arch else arch}={out}"  # the file tells its architecture
    options.tell_next(
        "build",
        "DIR",
        "--source",
        source,
        *same,
        "--classifier",
        named,
        *options.repeated("--network", network),
    )


def show(
    folder: options.Folder,
    sets: Annotated[
        Many, Argument(metavar="[SET]...", help="Names of sets. [the first of each part]")
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
    folder: options.Folder,
    out: Annotated[Path, Option(help="The folder to write to; it may hold several parts.")],
    layout: Annotated[str, Option(help="npz, folders (of PNG files) or datacv (npy files).")] = "npz",
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
