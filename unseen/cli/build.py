"""The commands `build` and `train`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer import echo

from submission.errors import UnusableInput
from unseen.cli import options
from unseen.cli.options import Many

if TYPE_CHECKING:
    from starter.contest.settings import Settings
    from starter.models.classifiers.train import Training


def build(
    folder: Path | None = None,
    *,
    settings: Path | None = None,
    write_settings: Path | None = None,
    preset: str = "",
    track: str = "",
    test_seed: int | None = None,
    network: Many = (),
    device: str = "cpu",
    cluster: str | None = None,
    cache: str = "",
    dry_run: bool = False,
    given: Mapping[str, Any],
) -> None:
    """Build a competition, or finish an interrupted build.

    Options override the --settings file, and the file overrides the preset. With --cluster, workers observe
    the sets; they must be able to read DIR, or the --cache (such as s3://bucket/path). Dask runs any code
    that its scheduler receives: keep the scheduler inside your own network, or use TLS
    (docs/results/scaling.md).

    Example: unseen build contest --train-sets 20 --val-sets 4 --test-sets 8 --set-size 100

    Options:
        folder (DIR): A new folder, or one to finish.
        settings (FILE): Settings in TOML; options override them.
        write_settings (FILE): Only write all settings as TOML.
        preset: Use the settings of a preset: small, or datacv2023.
        track: accuracy (of classifiers), or ood (of OOD detectors). [accuracy]
        test_seed: Seed of the test sets, a secret. [random]
        dry_run: Only print images, disk space and warnings.
    """
    if folder is None and not (write_settings or dry_run):
        raise UnusableInput("name the folder to build in: unseen build DIR")
    asked = _asked(settings, preset, track, given)
    if write_settings:
        from starter.contest.named_settings import write_file

        write_file(write_settings, asked)
        options.tell_next("build", "DIR", "--settings", write_settings)
        return

    from leaderboard.feedback import price
    from starter.contest import build as making
    from starter.contest.audit import rank_warnings
    from starter.contest.cluster import connected
    from starter.models.classifiers import Spec

    own = [*network, *filter(None, (Spec.parse(text).own_code for text in asked.classifiers))]
    options.use_networks(own)
    begun = folder is not None and (folder / "private/build.json").exists()
    if asked.deadline and asked.deadline <= options.now() and not begun:
        raise UnusableInput(
            f"--deadline {asked.deadline:%Y-%m-%d %H:%M} has passed: give a time in the future"
        )
    if dry_run or folder is None:
        cost, warnings = making.dry_run(asked, device)
        echo(cost)
        options.warn(*warnings)
        return
    with connected(cluster) as workers:
        competition = making.build(folder, asked, test_seed, device, workers, cache)
    echo("\n".join(filter(None, (competition.describe(), price(competition)))))
    options.warn(*(finding.text for finding in rank_warnings(competition, device)))
    options.tell_next("predict", folder, *options.repeated("--network", dict.fromkeys(own)))


def _asked(file: Path | None, name: str, track: str, given: Mapping[str, Any]) -> "Settings":
    """Returns the settings: those of the options, else of the file, else of the preset, else the defaults."""
    from starter.contest.named_settings import read_file, settings_of
    from starter.contest.presets import preset

    found = read_file(file) if file else {}
    stated = str(found.pop("track", "accuracy"))
    of = track or stated
    return settings_of(of, {**(preset(name, of) if name else {}), **found, **given})


def train(
    asked: "Training",
    *,
    out: Path,
    network: Many = (),
    device: str | None = None,
) -> None:
    """Train a classifier for build's --classifier.

    After an interruption, the same command continues.

    Example: unseen train --source glyphs --arch small --no-flip --epochs 3 --out small.safetensors

    Options:
        out: The .safetensors file to write.
        device: cpu, cuda, ... [a GPU if there is one, else cpu]
    """
    from starter.models.classifiers import train as training

    echo(training.train(asked, out, device))
    usual = training.Training(asked.arch)
    names = ("image_size", "resize", "skip_unreadable", "seed")
    told = [(name, getattr(asked, name)) for name in names if getattr(asked, name) != getattr(usual, name)]
    same = [word for name, value in told for word in (f"--{name.replace('_', '-')}", value)]
    named = f"{out.stem if ':' in asked.arch else asked.arch}={out}"  # the file tells its architecture
    networks = options.repeated("--network", network)
    options.tell_next("build", "DIR", "--source", asked.source, *same, "--classifier", named, *networks)
