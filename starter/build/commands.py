"""The commands that make: a competition, and a classifier for it."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Context, Option, echo

from submission.options import (
    CachePlace,
    DataRoot,
    Device,
    IdUpTo,
    Many,
    Network,
    TrackName,
    Workers,
    now,
    repeated,
    tell_next,
)


def build(
    context: Context,
    folder: Annotated[Path, Argument(metavar="DIR", help="A new folder, or one to finish building.")],
    preset: Annotated[
        str | None, Option(help="small or datacv2023: what other options are where they are not given.")
    ] = None,
    source: Annotated[str, Option(help="glyphs, cifar10, or a path: class folders, zip or npz.")] = "glyphs",
    classifier: Annotated[
        Many, Option(help="NAME, or NAME=WEIGHTS: a file, official or module:function. Repeatable. [small]")
    ] = None,
    train_sets: Annotated[int, Option(help="How many meta-train sets.")] = 120,
    val_sets: Annotated[int, Option(help="How many labelled validation sets are made.")] = 24,
    test_sets: Annotated[int, Option(help="How many hidden test sets are made.")] = 48,
    set_size: Annotated[int, Option(help="Images in a set.")] = 500,
    group: Annotated[
        str, Option(help="Operations of the meta-train sets: default, a, b, corruptions, wide.")
    ] = "default",
    ops_per_set: Annotated[
        tuple[int, int] | None,
        Option(metavar="LOW HIGH", help="Operations a meta-train set gets. [3 3; wide 0 3; the demo 1 3]"),
    ] = None,
    recipes: Annotated[
        str, Option(help="A file of your own recipes for the meta-train sets, a line of JSON each.")
    ] = "",
    val_from: Annotated[
        Many, Option(help="Natural-shift sets to add to validation: a path; may be repeated.")
    ] = None,
    test_from: Annotated[
        Many,
        Option(
            help="Natural-shift sets to add to the test; repeatable. OOD track: OOD sets of the test alone."
        ),
    ] = None,
    seed: Annotated[int, Option(help="Of the public part.")] = 0,
    test_seed: Annotated[
        int | None, Option(help="Of the test sets: keep it secret. Random unless given.")
    ] = None,
    precision: Annotated[str, Option(help="float32, or bfloat16 (faster where the CPU has it).")] = "float32",
    grid: Annotated[
        str,
        Option(metavar="ENCODER", help="Validation and test sets are cells of a grid of shifts, as in grid."),
    ] = "",
    referee: Annotated[
        str, Option(metavar="REFEREE", help="With --grid: the folder that laid wrote. [trained here]")
    ] = "",
    hidden: Annotated[bool, Option("--hidden", help="Declare the test images published nowhere.")] = False,
    datacv_splits: Annotated[
        bool, Option("--datacv-splits", help="Make all sets from all test images, as DataCV does.")
    ] = False,
    licence: Annotated[
        str, Option(metavar="TEXT", help="Of the images at paths, for the participants. [not stated]")
    ] = "",
    track: TrackName = "accuracy",
    ood: Annotated[
        str, Option(help="OOD track: a folder or zip of one folder per OOD data set. [embedded ones]")
    ] = "",
    classes: Annotated[
        str, Option(metavar="MANIFEST", help="OOD track: its near and far classes are the OOD sets.")
    ] = "",
    images: Annotated[
        str, Option(metavar="ROOT", help="With --classes: the folder of ROOT/SOURCE or ROOT/SOURCE.zip.")
    ] = "",
    id_up_to: IdUpTo = "",
    classes_per_set: Annotated[
        int, Option(metavar="N", help="With --classes: OOD sets of N classes that are related.")
    ] = 1,
    exclude: Annotated[Many, Option(help="OOD track: an OOD set to leave out. Repeatable.")] = None,
    detector: Annotated[Many, Option(help="OOD track: as msp. Repeatable. [msp, odin, energy, mls]")] = None,
    metric: Annotated[
        Many, Option(help="OOD track: fpr95, auroc, fpr80, ...; fpr95 ranks. Repeatable. [fpr95, auroc]")
    ] = None,
    ratio: Annotated[
        str, Option(help="OOD track: hidden (IND share drawn from .2 to .8), IND:OOD as 1:1, or any.")
    ] = "hidden",
    sizes: Annotated[
        tuple[int, int] | None,
        Option(metavar="LOW HIGH", help="OOD track: a mix's images (with --ratio any of each kind)."),
    ] = None,
    fpr: Annotated[
        str, Option(help="OOD track: whose IND images set FPR's threshold: the whole pool's, or the mix's.")
    ] = "pool",
    test_ind: Annotated[
        str, Option(help="OOD track: IND images of the test alone, a folder or zip. [the source's]")
    ] = "",
    daily_limit: Annotated[int, Option(help="Submissions a team may make a day (UTC). [any number]")] = 0,
    total_limit: Annotated[int, Option(help="Submissions a team may make in all. [any number]")] = 0,
    deadline: Annotated[
        str, Option(metavar="TIME", help="The end, as 2026-12-31T23:59 (UTC, or with an offset). [none]")
    ] = "",
    feedback: Annotated[
        str, Option(help="What a team is told: rounded, its public score; ladder, only what is news.")
    ] = "rounded",
    decimals: Annotated[int, Option(help="Of published scores.")] = 2,
    data_root: DataRoot = None,
    network: Network = None,
    device: Device = "cpu",
    cluster: Workers = None,
    cache: CachePlace = "",
    dry_run: Annotated[bool, Option("--dry-run", help="Only print images, time and disk.")] = False,
) -> None:
    """Build a competition, or finish an interrupted build.

    With --cluster, workers observe: they see DIR, or the --cache (as s3://bucket/path). Dask runs whatever
    its scheduler is sent: keep that inside your own network, or use TLS (docs/results/scaling.md).

    Example: unseen build contest --train-sets 20 --val-sets 4 --test-sets 8 --set-size 100
    """
    from starter.build.accuracy import build as make
    from starter.build.estimate import estimate
    from starter.build.settings import settings_of, with_preset
    from starter.classifiers import use_network
    from starter.competition.cluster import connected
    from submission.price import price_text
    from submission.scoring import constant_error

    for spec in network or ():
        use_network(spec)
    options: dict[str, object] = {
        "source": source,
        "classifiers": tuple(classifier or ["small"]),
        "train_sets": train_sets,
        "val_sets": val_sets,
        "test_sets": test_sets,
        "set_size": set_size,
        "group": group,
        "ops_per_set": ops_per_set or (),
        "recipes": recipes,
        "val_from": tuple(val_from or ()),
        "test_from": tuple(test_from or ()),
        "seed": seed,
        "precision": precision,
        "grid": grid,
        "referee": referee,
        "hidden": hidden,
        "datacv_splits": datacv_splits,
        "licence": licence,
        "daily_limit": daily_limit,
        "total_limit": total_limit,
        "deadline": deadline,
        "feedback": feedback,
        "decimals": decimals,
    }
    mixed: dict[str, object] = {"ood": ood, "exclude": tuple(exclude or ()), "ratio": ratio, "fpr": fpr}
    mixed |= {name: tuple(found) for name, found in (("detectors", detector), ("metrics", metric)) if found}
    mixed |= {"test_ind": test_ind, "sizes": tuple(sizes or ()), "classes": classes, "images": images}
    mixed |= {"id_up_to": id_up_to, "classes_per_set": classes_per_set}
    given = _given(context)
    settings = settings_of(track, with_preset(preset, {**options, **mixed}, given, track), given)
    if not (folder / "private/build.json").exists():
        settings.check_deadline(now())
    if dry_run:
        echo(estimate(settings, device))
        return
    with connected(cluster) as workers:
        competition = make(folder, settings, test_seed, device, data_root, workers, cache)
    echo(competition.describe())
    echo(price_text(competition, constant_error(competition), now()))
    tell_next("predict", folder, *repeated("--network", network))


def train(
    out: Annotated[Path, Option(help="The .safetensors file to write.")],
    arch: Annotated[str, Option(help="resnet56, repvgg_a0, resnet18, ..., or module:function.")],
    source: Annotated[str, Option(help="As for build: its training images are learnt from.")] = "cifar10",
    hold_out: Annotated[float, Option(help="Share of the training images to test on instead.")] = 0.0,
    epochs: Annotated[int, Option(help="Passes over the images.")] = 60,
    batch: Annotated[int, Option(help="Images in a step.")] = 128,
    rate: Annotated[float, Option(help="The peak of the learning rate.")] = 0.2,
    flip: Annotated[bool, Option(help="Mirror images at random: not for digits.")] = True,
    seed: Annotated[int, Option(help="Of everything random; give build the same.")] = 0,
    data_root: DataRoot = None,
    network: Network = None,
    device: Annotated[str | None, Option(help="cpu, cuda, ...; a GPU where there is one.")] = None,
) -> None:
    """Train a classifier for build's --classifier.

    Interrupted, the same command goes on.

    Example: unseen train --source glyphs --arch small --no-flip --epochs 1 --out small.safetensors
    """
    from starter.classifiers import use_network
    from starter.classifiers.train import Training
    from starter.classifiers.train import train as run

    for spec in network or ():
        use_network(spec)
    asked = Training(source, arch, hold_out, epochs, batch, rate, flip, seed)
    echo(run(asked, out, device, data_root))
    named = f"{out.stem if ':' in arch else arch}={out}"
    tell_next("build", "DIR", "--source", source, "--classifier", named, *repeated("--network", network))


def _given(context: Context) -> set[str]:
    """The options of this command that the user gave, by the names of settings."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    given = {name for name, source in sources.items() if source is not None and source.name != "DEFAULT"}
    return given | {f"{name}s" for name in ("classifier", "detector", "metric") if name in given}
