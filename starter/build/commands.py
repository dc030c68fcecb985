"""The commands `build` and `train`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option, echo

from starter.build.flags import with_settings
from submission import UnusableInput
from submission.options import (
    CachePlace,
    DataRoot,
    Device,
    Many,
    Network,
    Workers,
    now,
    repeated,
    tell_next,
)

if TYPE_CHECKING:
    from starter.build.settings import Settings


@with_settings
def build(
    folder: Annotated[
        Path | None, Argument(metavar="DIR", help="A new folder, or one to finish building.")
    ] = None,
    settings: Annotated[
        Path | None, Option(metavar="FILE", help="Read settings from a TOML file; options override it.")
    ] = None,
    write_settings: Annotated[
        Path | None, Option(metavar="FILE", help="Only write all settings to a TOML file, with comments.")
    ] = None,
    preset: Annotated[str | None, Option(help="Use the settings of a preset: small, or datacv2023.")] = None,
    track: Annotated[
        str | None, Option(help="accuracy (of classifiers), or ood (metrics of OOD detectors). [accuracy]")
    ] = None,
    test_seed: Annotated[
        int | None, Option(help="The seed of the test sets; keep it secret. [a random one]")
    ] = None,
    data_root: DataRoot = None,
    network: Network = None,
    device: Device = "cpu",
    cluster: Workers = None,
    cache: CachePlace = "",
    dry_run: Annotated[
        bool, Option("--dry-run", help="Only print the number of images, the time and the disk space.")
    ] = False,
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

    from starter.build.file import write_file

    asked = _asked(settings, preset, track, given)
    if write_settings:
        write_file(write_settings, asked)
        tell_next("build", "DIR", "--settings", write_settings)
    else:
        _build(folder, asked, test_seed, data_root, network, device, cluster, cache, dry_run)


def _asked(file: Path | None, name: str | None, track: str | None, given: dict[str, object]) -> "Settings":
    """Returns the settings: those of the options, else of the file, else of the preset, else the defaults."""
    from starter.build.file import check_track, read_file
    from starter.build.presets import preset
    from starter.build.settings import settings_of

    found = read_file(file) if file else {}
    of = track or str(found.get("track", "accuracy"))
    if file:
        check_track(file, found, of)
        found.pop("track", None)
    return settings_of(of, {**(preset(name, of) if name else {}), **found, **given})


def _build(
    folder: Path | None,
    asked: "Settings",
    test_seed: int | None,
    data_root: Path | None,
    network: Many,
    device: str,
    cluster: str | None,
    cache: str,
    dry_run: bool,
) -> None:
    from starter.build.build import build as make
    from starter.build.cost import cost
    from starter.classifiers import own_network, use_network
    from starter.competition.cluster import connected
    from starter.competition.sense import doubts
    from submission.price import price_text
    from submission.scoring import constant_error

    own = [*(network or ()), *filter(None, map(own_network, asked.classifiers))]
    for spec in own:
        use_network(spec)
    if folder is None or not (folder / "private/build.json").exists():
        asked.check_deadline(now())
    if dry_run or folder is None:
        echo(cost(asked, device))
        return
    with connected(cluster) as workers:
        competition = make(folder, asked, test_seed, device, data_root, workers, cache)
    echo(competition.describe())
    echo(price_text(competition, constant_error(competition), now()))
    for doubt in doubts(competition, device):
        echo(f"warning: {doubt}", err=True)
    tell_next("predict", folder, *repeated("--network", dict.fromkeys(own)))


def train(
    out: Annotated[Path, Option(help="The .safetensors file to write.")],
    arch: Annotated[str, Option(help="resnet56, ..., timm:NET, torchvision:NET, module:function.")],
    source: Annotated[
        str, Option(help="A source, as for build; the classifier is trained on its training images.")
    ] = "cifar10",
    hold_out: Annotated[
        float, Option(help="Share of the training images to test on, 0 to 0.9. [0: use the test images]")
    ] = 0.0,
    epochs: Annotated[int, Option(help="Number of passes over the images.")] = 60,
    batch: Annotated[int, Option(help="Number of images in a step.")] = 128,
    rate: Annotated[float, Option(help="Highest learning rate.")] = 0.2,
    flip: Annotated[bool, Option(help="Mirror images at random; not for digits.")] = True,
    seed: Annotated[int, Option(help="Seed of everything random; use the same one for build.")] = 0,
    image_size: Annotated[
        int,
        Option(
            help="Height and width of the images in pixels; use the same for build. [the most common size]"
        ),
    ] = 0,
    resize: Annotated[str, Option(help="How to resize images: crop, pad or stretch.")] = "crop",
    skip_unreadable: Annotated[
        float, Option(help="Largest share of unreadable images; these are left out.")
    ] = 0.01,
    start: Annotated[
        str,
        Option(
            help="Initial weights: a file, or pretrained (with timm:NET or torchvision:NET). [random ones]"
        ),
    ] = "",
    data_root: DataRoot = None,
    network: Network = None,
    device: Annotated[str | None, Option(help="cpu, cuda, ... [a GPU if there is one, else cpu]")] = None,
) -> None:
    """Train a classifier for build's --classifier.

    After an interruption, the same command continues.

    Example: unseen train --source glyphs --arch small --no-flip --epochs 3 --out small.safetensors
    """
    from starter.classifiers import use_network
    from starter.classifiers.train import Training
    from starter.classifiers.train import train as run

    for spec in network or ():
        use_network(spec)
    asked = Training(
        *(source, arch, hold_out, epochs, batch, rate, flip, seed, image_size, resize, skip_unreadable, start)
    )
    echo(run(asked, out, device, data_root))
    named = f"{out.stem if ':' in arch else arch}={out}"  # the file tells its architecture
    same: list[object] = ["--source", source]
    same += ["--image-size", image_size] if image_size else []
    same += ["--resize", resize] if resize != "crop" else []
    same += ["--skip-unreadable", skip_unreadable] if skip_unreadable != 0.01 else []
    same += ["--seed", seed] if seed else []
    same += ["--data-root", data_root] if data_root else []
    tell_next("build", "DIR", *same, "--classifier", named, *repeated("--network", network))
