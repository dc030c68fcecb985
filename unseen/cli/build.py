"""The commands `build` and `train`, and the settings of a build as options of `unseen build`."""

from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from typer import CallbackParam, Context, Exit, Option, echo

from submission.errors import UnusableInput
from submission.files import require_writable
from unseen.cli import options
from unseen.cli.options import Cache, Cluster, Device, Network, argument, number, option, path, text

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from starter.contest.settings import Settings

RARE = ("network", "device", "cluster", "cache")
"""Options of `build` besides the settings that only --help-all shows."""
METAVARS: dict[Any, str] = {str: "TEXT", list[str]: "TEXT", int: "NUMBER", float: "NUMBER"}
"""What the help calls a value, by its type."""


def _print_all(context: Context, wanted: bool) -> None:
    """Print the help with the options that it hides, and end."""
    if wanted:
        each: Any
        for each in context.command.params:
            each.hidden = False
        echo(context.get_help())
        raise Exit


def build(
    context: Context,
    folder: Annotated[Path | None, argument("DIR", "A new folder, or one to finish.")] = None,
    *,
    settings: Annotated[Path | None, option("FILE", "Settings in TOML; options override them.")] = None,
    write_settings: Annotated[Path | None, option("FILE", "Only write all settings as TOML.")] = None,
    preset: Annotated[str, text("Use the settings of a preset: small, or datacv2023.")] = "",
    track: Annotated[str, text("accuracy (of classifiers), or ood (of OOD detectors). [accuracy]")] = "",
    test_seed: Annotated[int | None, number("Secret seed of the test sets, 2^32 or more. [random]")] = None,
    network: Network = [],
    device: Device = "cpu",
    cluster: Cluster = None,
    cache: Cache = "",
    dry_run: Annotated[bool, Option("--dry-run", help="Only print images, disk space and warnings.")] = False,
    help_all: Annotated[
        bool,
        Option(
            "--help-all",
            is_eager=True,
            expose_value=False,
            callback=_print_all,
            help="Show all options and exit.",
        ),
    ] = False,
) -> None:
    """Build a competition, or finish an interrupted build.

    Options override the --settings file, and the file overrides the preset. With --cluster, workers observe
    the sets; they must see DIR, and the --cache, under the same path. Dask runs any code that its scheduler
    receives: keep the scheduler inside your own network, or use TLS (docs/results/scaling.md).

    Example: unseen build contest --train-sets 20 --val-sets 4 --test-sets 8 --set-size 100
    """
    if not (write_settings or dry_run):
        _begin(folder)
    asked = _asked(settings, preset, track, context.ensure_object(dict))
    if write_settings:
        from starter.contest.named_settings import write_file

        write_file(write_settings, asked)
        options.tell_next("build", "DIR", "--settings", write_settings)
        return

    from starter.models.classifiers import Spec
    from submission.competition import future_of

    codes = filter(None, (Spec.parse(each).own_code for each in asked.classifiers))
    own = dict.fromkeys(options.use_networks(context, [*network, *codes]))
    begun = folder is not None and (folder / "private/build.json").exists()
    if asked.deadline and not begun:
        future_of("--deadline", asked.deadline, datetime.now(timezone.utc))
    if dry_run or folder is None:
        from starter.contest.build import dry_run as rehearse

        cost, warnings = rehearse(asked, test_seed, device)
        echo(cost)
        options.warn(*warnings)
        return

    from leaderboard.feedback import price
    from starter.contest import build as making
    from starter.contest.audit import rank_warnings
    from starter.contest.cluster import connected

    with connected(cluster) as workers:
        competition = making.build(
            folder, asked, test_seed=test_seed, device=device, cluster=workers, cache=cache
        )
    echo("\n".join(filter(None, (competition.describe(), price(competition)))))
    options.warn(*rank_warnings(competition, device))
    options.tell_next("predict", folder, *options.repeated("--network", own))


def _begin(folder: Path | None) -> None:
    """Tell at once, before what takes seconds, that a folder is built in, or that it cannot be."""
    if folder is None:
        raise UnusableInput("name the folder to build in: unseen build DIR")
    require_writable(folder)
    echo(f"Builds {folder}: reads the source, renders its sets and observes them.", err=True)


def _asked(file: Path | None, name: str, track: str, given: Mapping[str, Any]) -> "Settings":
    """Returns the settings: those of the options, else of the file, else of the preset, else the defaults."""
    from starter.contest.named_settings import preset, read_file, settings_of

    of_file = read_file(file) if file else {}
    stated = str(of_file.pop("track", "accuracy"))
    of = track or stated
    return settings_of(of, {**(preset(name, of) if name else {}), **of_file, **given})


def train(
    *,
    arch: Annotated[str, text("resnet56, ..., timm:NET, torchvision:NET, module:function.")],
    source: Annotated[str, text("A source, as for build, with its training images.")] = "cifar10",
    epochs: Annotated[int, number("Number of passes over the images.")] = 60,
    batch: Annotated[int, number("Number of images in a step.")] = 128,
    rate: Annotated[float, number("Highest learning rate.")] = 0.2,
    flip: Annotated[bool, Option(help="Mirror images at random; not for digits.")] = True,
    seed: Annotated[int, number("Seed of weights, order, crops and splits; use the same one for build.")] = 0,
    image_size: Annotated[int, number("Pixels of a side, as for build. [the commonest size]")] = 0,
    resize: Annotated[Literal["crop", "pad", "stretch"], Option(help="How to resize images.")] = "crop",
    skip_unreadable: Annotated[
        float, number("Largest share of unreadable images, which are left out.", "SHARE")
    ] = 0.01,
    start: Annotated[str, text("Initial weights: a file, or pretrained (of a library's NET).")] = "",
    head_alone: Annotated[
        bool, Option("--head-alone", help="Train the last layer; the others stay as in --start.")
    ] = False,
    out: Annotated[Path, path("The .safetensors file to write.")],
    network: Network = [],
    device: Annotated[str | None, text("cpu, cuda, ... [a GPU if there is one, else cpu]")] = None,
) -> None:
    """Train a classifier for build's --classifier.

    After an interruption, the same command continues.

    Example: unseen train --source glyphs --arch small --no-flip --epochs 3 --out small.safetensors
    """
    from starter.models.classifiers import train as training

    asked = training.Training(
        arch=arch,
        source=source,
        epochs=epochs,
        batch=batch,
        rate=rate,
        flip=flip,
        seed=seed,
        image_size=image_size,
        resize=resize,
        skip_unreadable=skip_unreadable,
        start=start,
        head_alone=head_alone,
    )
    echo(training.train(asked, out, device))
    usual = training.Training(arch)
    names = ("image_size", "resize", "skip_unreadable", "seed")
    changed = [name for name in names if getattr(asked, name) != getattr(usual, name)]
    same = [word for name in changed for word in (f"--{name.replace('_', '-')}", getattr(asked, name))]
    named = f"{out.stem if ':' in arch else arch}={out}"  # the file tells its architecture
    networks = options.repeated("--network", network)
    options.tell_next("build", "DIR", "--source", source, *same, "--classifier", named, *networks)


def settings() -> Callable[..., None]:
    """Returns a function that does nothing, with a parameter for every setting, the usual ones first."""
    from starter.contest.named_settings import TRACKS, extra_of, fields_of

    fields = {name: field for track in TRACKS for name, field in fields_of(track).items()}
    often = [name for name, field in fields.items() if extra_of(field).get("often")]
    rarely = [name for name in fields if name not in often]

    def declare() -> None:
        """Declare the settings."""

    parameters = [_parameter(name, fields[name]) for name in (*often, *rarely)]
    declare.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return declare


def _parameter(name: str, field: "FieldInfo") -> Parameter:
    """Returns a setting's parameter, None where the option is not given."""
    from starter.contest.named_settings import TRACKS, extra_of, fields_of, flag_of, help_of

    tracks = [track for track in TRACKS if name in fields_of(track)]
    more = "More settings" if len(tracks) == len(TRACKS) else f"More settings, of the {tracks[0]} track"
    kind = _kind(field.annotation)
    often = bool(extra_of(field).get("often"))
    flag = flag_of(name)
    declared = Option(
        f"{flag}/--no-{flag[2:]}" if kind is bool else flag,
        metavar=extra_of(field).get("metavar") or METAVARS.get(kind),
        help=help_of(name, "Repeatable." if kind == list[str] else ""),
        show_default=False,
        hidden=not often,
        rich_help_panel="Settings" if often else more,
        expose_value=False,
        callback=_keep,
    )
    return Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, declared])


def _kind(annotation: object) -> Any:
    """Returns the type of a setting's option: a number, on/off, a list or a pair, else a text."""
    if annotation in (bool, int, float):
        return annotation
    if get_args(annotation) == (str, ...):
        return list[str]
    return tuple[int, int] if get_args(annotation) == (int, ...) else str


def _keep(context: Context, parameter: CallbackParam, value: Any) -> Any:
    """Keep the value of a setting that is given."""
    if value not in (None, [], ()):
        context.ensure_object(dict)[parameter.name] = value
    return value
