"""The command line: one function a command, in the order of the work. Everything heavy is imported inside."""

import os
from datetime import datetime, timezone
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Exit, Option, Typer, echo

import submission
from starter.build.commands import build, train
from submission import Competition, UnusableInput
from submission.exits import run as run_to_exit
from submission.options import (
    CachePlace,
    DataRoot,
    Device,
    Folder,
    IdUpTo,
    Many,
    Network,
    Predictions,
    TrackName,
    Workers,
    now,
    repeated,
    tell_next,
)

if TYPE_CHECKING:
    from baselines import Estimator

app = Typer(
    help="Predict a frozen classifier's accuracy on data without labels: build, run, score, publish.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

EXPENSIVE = {
    "ora-a": "trains for minutes per classifier",
    "ora-b": "trains for half an hour per classifier",
    "syp": "trains for half an hour per classifier",
    "unseen-best": "takes some minutes per classifier",
    "projnorm": "trains a network on every set, for hours per classifier",
}
"""Methods that `predict` runs only by name, and why."""
DEMO_ORACLE = {"iterations": 2000, "batch_size": 1000}
"""ORA-A in the demo: enough for 60,000 images, in seconds."""

Names = Annotated[Many, Argument(metavar="[METHOD|module:Class]...", help="The kit's, or your own.")]
Changes = Annotated[Many, Option("--set", metavar="METHOD.PARAM=VALUE", help="A parameter; may be repeated.")]
WordNetFolder = Annotated[
    Path | None, Option("--wordnet", help="The folder of WordNet 3.0's data.noun. [where packages put it]")
]
EncoderSpec = Annotated[
    str,
    Option("--encoder", help="embedded, a file, clip:MODEL=WEIGHTS, or module:function: its code runs."),
]


def _print_version(wanted: bool) -> None:
    if wanted:
        echo(f"unseen {version('unseen')}")
        raise Exit


@app.callback()
def options(
    shown: Annotated[
        bool, Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """What comes before a command."""


@app.command()
def demo(
    folder: Annotated[
        Path, Argument(metavar="[DIR]", help="A new folder, or one of an earlier demo.")
    ] = Path("unseen-demo"),
    track: TrackName = "accuracy",
) -> None:
    """Build, predict and score a small embedded competition.

    Example: unseen demo
    """
    from sklearn.base import clone

    from baselines.run.predict import predict as run
    from leaderboard import publish, tables
    from starter.build.accuracy import build as make
    from starter.build.settings import settings_of

    few_operations = {"ops_per_set": (1, 3)} if track == "accuracy" else {}
    competition = make(folder, settings_of(track, few_operations))
    left_out = {*EXPENSIVE, *_impossible(competition)} - {"ora-a"}
    chosen = {name: clone(method) for name, method in _methods(track).items() if name not in left_out}
    if "ora-a" in chosen:
        chosen["ora-a"].set_params(**DEMO_ORACLE)
    run(competition, chosen)
    echo(f"{competition.describe()}\n\n{tables(competition)}")
    if "ora-a" in chosen:
        echo(f"ora-a is cut to {DEMO_ORACLE['iterations']:,} iterations here.")
    echo(f"\nThe leaderboard: {publish(competition).html.resolve()}")
    tell_next("new-method", "my_method", *_of_track(track))


app.command()(build)


@app.command()
def classes(
    builder: Annotated[str, Argument(metavar="similarity|pruning", help="How classes are assigned.")],
    out: Annotated[Path, Option(help="The manifest to write, a CSV file.")],
    candidates: Annotated[
        list[str], Option(help="Classes to assign; may be repeated. A list's name, a file or class folders.")
    ],
    known: Annotated[str, Option("--id", help="The ID classes, named in the same way.")] = "cifar10",
    threshold: Annotated[
        float, Option(help="similarity: the distance to an ID class up to which a class is ID.")
    ] = 0.45,
    near: Annotated[float, Option(help="similarity: the distance up to which a class is near.")] = 0.6,
    hyponyms: Annotated[
        bool, Option("--hyponyms", help="similarity: what is a kind of an ID class is ID at any distance.")
    ] = False,
    exclude: Annotated[
        Many, Option(help="pruning: a synset below which all is dropped, or none. [organism.n.01]")
    ] = None,
    overrides: Annotated[
        Path | None, Option(help="A CSV with label,synset for labels that are matched wrongly or not at all.")
    ] = None,
    matches: Annotated[
        Path | None,
        Option(help="Also write how labels were matched, with other senses: edit it for --overrides."),
    ] = None,
    wordnet: WordNetFolder = None,
) -> None:
    """Assign classes to ID or OOD by meaning. The manifest says which are ID, near or far OOD, or dropped, by
    their place in WordNet.  A list's name is cifar10, imagenet-1k, imagenet-21k or imagenet-21k-p; a file has
    a label or an id a line. similarity goes by the distance to the nearest ID class; pruning drops what an ID
    class may be taken for.

    Example: unseen classes similarity --id cifar10 --candidates tiny_imagenet.zip --out manifest.csv
    """
    from starter.meaning.assign import ORGANISM, prune, similarity_benchmark
    from starter.meaning.labels import match_all, read_overrides, write_matches
    from starter.meaning.manifest import summary, write_manifest
    from starter.meaning.wordnet import load_wordnet

    if builder not in ("similarity", "pruning"):
        raise UnusableInput(f"there is no builder {builder!r}; there are similarity and pruning")
    taxonomy = load_wordnet(wordnet)
    named, *pool = match_all(taxonomy, [known, *candidates], read_overrides(overrides) if overrides else {})
    echo("\n".join(source.describe() for source in (named, *pool)))
    if matches:
        write_matches(matches, taxonomy, [named, *pool])
    if builder == "similarity":
        entries = similarity_benchmark(taxonomy, named, pool, threshold, near, hyponyms)
    else:
        excluded = [name for name in exclude or [ORGANISM] if name != "none"]
        pruning = prune(taxonomy, named, pool, excluded)
        entries = list(pruning.entries)
        echo(f"\n{pruning.describe()}")
    write_manifest(out, entries)
    echo(f"\n{summary(entries)}\n\n{out}")
    tell_next("build", "DIR", "--track", "ood", "--classes", out, "--images", "FOLDER")


@app.command()
def halves(
    manifest: Annotated[Path, Argument(metavar="MANIFEST", help="A class manifest.")],
    images: Annotated[
        Path, Option(help="Where SOURCE/CLASS/ or SOURCE.zip is, for each source in MANIFEST.")
    ],
    out: Annotated[Path, Option(help="The folder for validation.npz, test.npz and classes.csv.")],
    limit: Annotated[int | None, Option(min=1, help="Images of each kind in a half, at most. [all]")] = None,
    size: Annotated[int | None, Option(min=8, help="Resize images to SIZE x SIZE. [as they are]")] = None,
    id_up_to: IdUpTo = "",
    seed: Annotated[int, Option(min=0, help="Of the draw.")] = 0,
) -> None:
    """Draw validation and test halves from a class manifest. Each has as many ID as OOD images, as evenly
    from the classes as can be. Labels: 0 for ID, 1 for OOD.

    Example: unseen halves manifest.csv --images . --out halves --limit 1000
    """
    from starter.meaning.images import write_halves
    from starter.meaning.oodsets import manifest_entries

    entries = manifest_entries(manifest, id_up_to)
    lines = write_halves(entries, images, out, (size, size) if size else None, limit, seed)
    echo("\n".join((*lines, str(out))))


@app.command("prediction-graph")
def prediction_graph(
    manifest: Annotated[Path, Argument(metavar="MANIFEST", help="A class manifest, as classes writes it.")],
    images: Annotated[
        Path, Option(help="Where SOURCE/CLASS/ or SOURCE.zip is, for each source in MANIFEST.")
    ],
    classifier: Annotated[str, Option(help="NAME=WEIGHTS, as for build: it tells the ID classes apart.")],
    out: Annotated[Path, Option(help="The folder for the tables and pictures.")],
    known: Annotated[str, Option("--id", help="MANIFEST's source of the classifier's classes.")] = "cifar10",
    least_share: Annotated[
        float, Option(help="Edges with a smaller share of a class's images are pruned.")
    ] = 0.25,
    wordnet: WordNetFolder = None,
    network: Network = None,
    device: Device = "cpu",
) -> None:
    """Draw what a manifest's classes are taken for. Its images are classified; how near in meaning are the
    predicted classes? Classes of the ID source itself are left out. Written: edges.csv, classes.csv,
    predictions.csv, and PNGs of the pruned graph and of the mean similarities.

    Example: unseen prediction-graph manifest.csv --images . --classifier small=small.safetensors --out taken
    """
    from starter.classifiers import use_network
    from starter.meaning.manifest import read_manifest
    from starter.meaning.wordnet import load_wordnet
    from starter.studies.confusions import predicted_graph
    from starter.studies.figures import plot_graph, plot_similarities

    for spec in network or ():
        use_network(spec)
    entries, taxonomy = read_manifest(manifest), load_wordnet(wordnet)
    graph = predicted_graph(taxonomy, entries, known, classifier, images, least_share, device)
    written = [*graph.write(out), plot_graph(graph, out / "graph.png")]
    written.append(plot_similarities(graph, out / "similarities.png"))
    echo("\n".join((graph.describe(), *map(str, written))))


app.command()(train)


@app.command()
def show(
    folder: Folder,
    sets: Annotated[Many, Argument(metavar="[SET]...", help="Sets of any part.")] = None,
    out: Annotated[Path | None, Option(help="The PNG to write. [DIR/sheet.png]")] = None,
) -> None:
    """Draw sets, and the distribution of accuracies, as PNGs. The contact sheet tells operations and
    accuracies where these are public. Without names: the first sets of each part.

    Example: unseen show contest train_0001 test_0003
    """
    from starter.competition.show import contact_sheet, plot_accuracies, summary

    competition, sheet = Competition.open(folder), out or folder / "sheet.png"
    echo(contact_sheet(competition, sets or [], sheet))
    echo(f"{plot_accuracies(competition, sheet.with_name('accuracies.png'))}\n{summary(competition)}")


@app.command()
def materialize(
    folder: Folder,
    out: Annotated[Path, Option(help="The folder to write to; it may hold several parts.")],
    layout: Annotated[str, Option(help="npz, folders (class folders of PNG) or datacv (npy).")] = "npz",
    part: Annotated[str, Option(help="train, val or test (images only).")] = "train",
) -> None:
    """Write sets as files; run again to go on. Meta-train sets are rendered from their recipes. In DataCV's
    layout meta-train sets share one labels.npy, or get a folder each where they show different images.

    Example: unseen materialize contest --out sets --layout datacv
    """
    from starter.competition.materialize import materialize as write

    competition = Competition.open(folder)
    written = write(competition, out, layout, part)
    echo(f"{len(competition.sets(part)):,} sets in {written}")


@app.command()
def gbench(
    folder: Annotated[
        Path | None,
        Argument(metavar="[PATH]", help="A folder or zip of OOD data sets, to tell what is missing."),
    ] = None,
) -> None:
    """List Gbench's OOD data sets: names and addresses. Given a folder, tell which are there.

    Example: unseen gbench
    """
    from starter.sources.oodsets import listing, ood_folders

    echo(listing(None if folder is None else ood_folders(str(folder))))


@app.command()
def methods(track: TrackName = "accuracy") -> None:
    """List the methods, what they read, their parameters.

    Example: unseen methods
    """
    from baselines.run.choose import listing

    echo(listing(_methods(track), EXPENSIVE))


@app.command("new-method")
def new_method(
    name: Annotated[str, Argument(metavar="NAME", help="A module name in lower case, as my_method.")],
    track: TrackName = "accuracy",
) -> None:
    """Write NAME.py, a method of your own that runs as it is.

    Example: unseen new-method my_method
    """
    from baselines.run import user_method

    echo(user_method.new_method(name, Path.cwd(), track))
    tell_next("check-method", f"{name}:{user_method.class_name(name)}", *_of_track(track))


@app.command("check-method")
def check_method(
    method: Annotated[str, Argument(metavar="module:Class|METHOD", help="A class of yours, or the kit's.")],
    settings: Changes = None,
    track: TrackName = "accuracy",
) -> None:
    """Check that a method keeps the contract, on made-up sets. Exit code 1 where it does not.

    Example: unseen check-method fd
    """
    from baselines.contract.conformance import check_method as check
    from baselines.run.choose import choose

    checks = check(choose([method], settings or [], _methods(track))[method], track)
    echo("\n".join(map(str, checks)))
    if any(result.problem for result in checks):
        raise Exit(1)
    tell_next("predict", "DIR", method, *repeated("--set", settings))


@app.command()
def predict(
    folder: Folder,
    names: Names = None,
    settings: Changes = None,
    network: Network = None,
    device: Device = "cpu",
    cluster: Workers = None,
    cache: CachePlace = "",
) -> None:
    """Fit methods and write predictions. They are fitted on the meta-train sets; see submissions/ and
    validation/. Without names every method of the kit runs but those that take long (`unseen methods`).

    Example: unseen predict contest atc fd ora-a --set ora-a.iterations=2000
    """
    from baselines.run.predict import predict as run
    from starter.competition.cluster import connected
    from starter.observing.cache import keep_elsewhere

    competition, chosen = _opened(folder, names, settings, network)
    if cache:
        keep_elsewhere(folder, cache)
    with connected(cluster) as workers:
        written = run(competition, chosen, device, cluster=workers)
    for paths in written.values():
        echo("  ".join(map(str, paths.values())))
    checked = (
        ("score", folder, paths["val"], "--val") if "val" in paths else ("validate", folder, paths["test"])
    )
    tell_next(*checked)


@app.command()
def report(
    folder: Folder,
    names: Names = None,
    settings: Changes = None,
    network: Network = None,
    device: Device = "cpu",
) -> None:
    """Fit methods and compare them on the validation sets. Written: report.html (tables and figures) and
    report.csv in DIR. Without names every method of the kit runs but those that take long.

    Example: unseen report contest constant atc fd
    """
    from baselines.report.html import write_report
    from baselines.report.report import run_report

    competition, chosen = _opened(folder, names, settings, network)
    html, table = write_report(run_report(competition, chosen, device), folder)
    echo(f"{html}\n{table}")


@app.command()
def sanity(
    names: Annotated[Many, Argument(metavar="[DETECTOR]...", help="OOD detectors, as msp or vim.")] = None,
    arch: Annotated[str, Option(help="small, resnet56, ..., or module:function.")] = "small",
    source: Annotated[str, Option(help="As for build: the in-distribution images.")] = "glyphs",
    ood: Annotated[
        Path | None, Option(help="A folder or zip of one folder per OOD data set, shown besides.")
    ] = None,
    images: Annotated[int, Option(min=50, help="Images of a set, at most.")] = 500,
    initialisations: Annotated[int, Option(min=1, help="Random networks.")] = 5,
    seed: Annotated[int, Option(min=0, help="Of everything random.")] = 0,
    out: Annotated[Path, Option(help="The CSV to write, a row for each detector, set and network.")] = Path(
        "sanity.csv"
    ),
    data_root: DataRoot = None,
    network: Network = None,
    device: Device = "cpu",
) -> None:
    """Run OOD detectors on random networks. To these nothing is in-distribution: a detector of new classes
    tells nothing apart there (AUROC 0.5). Without names all run that score without the network.

    Example: unseen sanity msp energy vim --images 200
    """
    from starter.classifiers import use_network
    from starter.sources.sources import load_source
    from starter.studies.sanity import chosen, ood_sets, sanity_table, shown
    from starter.studies.sanity import sanity as run
    from submission.files import write_text

    for spec in network or ():
        use_network(spec)
    detectors, splits = chosen(names or []), load_source(source, data_root, seed)
    others = ood_sets(ood, splits.image_size, images, seed) if ood else {}
    found = run(
        arch, splits.classes, shown(splits, others, images, seed), detectors, initialisations, seed, device
    )
    write_text(out, found.to_csv(index=False))
    echo(f"AUROC, mean and deviation over {initialisations} random networks; 0.5 is to tell nothing apart\n")
    echo(f"{sanity_table(found)}\n\n{out}")


@app.command("train-encoder")
def train_encoder(
    sources: Annotated[
        list[str], Argument(metavar="SOURCE...", help="As for build: training images are learnt from.")
    ],
    out: Annotated[Path, Option(help="The .safetensors file to write.")],
    seed: Annotated[int, Option(help="Of everything random.")] = 0,
    data_root: DataRoot = None,
) -> None:
    """Train a small encoder of photographs for laid. Captions tell an image's class and the operation that it
    was put under. More sources are more classes. 52,000 images take eight minutes of a processor's time. (The
    encoder of the embedded digits is trained where it is needed.)

    Example: unseen train-encoder cifar10.zip cifar100.zip --out encoder.safetensors
    """
    from starter.encoders.embedded import photo_encoder
    from starter.sources.sources import load_source

    if out.exists():
        raise UnusableInput(f"{out} exists already: name another file, or take it away")
    splits = [load_source(source, data_root, seed) for source in sources]
    encoder = photo_encoder([(each.train, each.classes) for each in splits], out, seed)
    echo(f"{encoder.name}: {len(encoder.phrases[0])} classes\n{out}")


@app.command()
def grid(
    folder: Folder,
    encoder: EncoderSpec = "embedded",
    referee: Annotated[
        str, Option(metavar="REFEREE", help="The folder that laid wrote. [trained here]")
    ] = "",
    classifier: Annotated[str | None, Option(help="One of the competition's. [the first]")] = None,
    detector: Annotated[Many, Option(help="OOD detectors, as msp. Repeatable. [all]")] = None,
    ood: Annotated[str, Option(help="A folder or zip of one folder per OOD data set. [embedded ones]")] = "",
    exclude: Annotated[Many, Option(help="An OOD set to leave out. Repeatable.")] = None,
    only_ood: Annotated[
        bool, Option("--only-ood", help="Shift OOD sets alone; else a quarter are of the ID classes.")
    ] = False,
    group: Annotated[str, Option(help="Operations: corruptions, default, a, b, wide.")] = "corruptions",
    images: Annotated[int, Option(help="Shifted images, about.")] = 20_000,
    levels: Annotated[int, Option(help="Of either axis.")] = 8,
    least: Annotated[int, Option(help="Cells of fewer images are N/A.")] = 10,
    seed: Annotated[int, Option(help="Of the shifted images, and of what is trained here.")] = 0,
    out: Annotated[Path | None, Option(help="Where to write. [DIR/grid]")] = None,
    network: Network = None,
    device: Device = "cpu",
) -> None:
    """Show how OOD detectors do as shifts grow. They grow in meaning and in style (Long et al. 2024): AUROC,
    FPR@95 and AUPR on every cell, correlation and sensitivity along either axis. Written: CSV, PNG,
    report.html. Interrupted, the same command goes on.

    Example: unseen grid contest --images 10000
    """
    from starter.classifiers import use_network
    from starter.shift.ruler import open_referee
    from starter.studies.grid import Asked, run_grid, summary, write_grid

    for spec in network or ():
        use_network(spec)
    competition, chosen = Competition.open(folder), {"detectors": tuple(detector)} if detector else {}
    asked = Asked(
        classifier or competition.classifiers[0],
        ood=ood,
        exclude=tuple(exclude or ()),
        only_ood=only_ood,
        group=group,
        images=images,
        levels=levels,
        least=least,
        seed=seed,
        **chosen,
    )
    run = run_grid(competition, partial(open_referee, encoder, referee), asked, device)
    echo(f"{summary(run)}\n\n{write_grid(run, out or folder / 'grid')}")


@app.command()
def laid(
    referee: Annotated[Path, Argument(metavar="REFEREE", help="A folder for what is written.")],
    encoder: EncoderSpec = "embedded",
    source: Annotated[str, Option(help="As for build: its test images are classified.")] = "glyphs",
    labels: Annotated[
        Path | None, Option(help="A file with a meaning a line. [the source's classes]")
    ] = None,
    templates: Annotated[
        Path | None, Option(help='A file with a text a line, "{}" for the meaning, the plainest first.')
    ] = None,
    natural: Annotated[Many, Option(help="Labelled natural-shift sets, as --val-from; repeatable.")] = None,
    steps: Annotated[int, Option(help="Of training.")] = 1000,
    seed: Annotated[int, Option(help="Of everything random.")] = 0,
    data_root: DataRoot = None,
    device: Device = "cpu",
) -> None:
    """Part an encoder's features into meaning and style (LAID), beside PCA. Written: REFEREE/laid.safetensors
    for shift, grid, build --grid and syn-is, and table3.csv, how well each part tells the classes. The
    embedded encoder is trained first, in a minute.

    Example: unseen laid referee
    """
    from starter.encoders.choose import load_encoder
    from starter.shift.laid import text_pca, train_laid
    from starter.shift.prompts import choose_prompts
    from starter.sources.sources import load_images, load_source, set_names
    from starter.studies.zeroshot import describe, shown_sets, zero_shot_table
    from submission.files import write_text

    splits = load_source(source, data_root, seed)
    shifted = {
        name: load_images(name, splits.classes, image_size=splits.image_size)
        for path in natural or ()
        for name in set_names(path)
    }
    chosen = load_encoder(encoder, referee, seed, device)
    prompts = choose_prompts(chosen, splits.classes, labels, templates, seed)
    texts = prompts.features(chosen, progress=True)
    found = train_laid(texts, chosen.name, seed, steps, device=device)
    found.save(referee / "laid.safetensors")
    shown, named = shown_sets(splits, shifted, seed), prompts.plain(splits.classes)
    table = zero_shot_table(chosen, named, shown, {"PCA": text_pca(texts), "LAID": found})
    write_text(referee / "table3.csv", table.to_csv(index=False))
    echo(f"{describe(table)}\n\nlargest |W'W - I|: {found.error:.1e}")
    echo(f"{referee / 'laid.safetensors'}\n{referee / 'table3.csv'}")


@app.command()
def shift(
    referee: Annotated[Path, Argument(metavar="REFEREE", help="The folder that laid wrote.")],
    path: Annotated[Path, Argument(metavar="PATH", help="A competition, or a folder of folders of images.")],
    out: Annotated[Path, Option(help="The CSV file to write.")],
    encoder: EncoderSpec = "embedded",
    source: Annotated[str, Option(help="For a folder: its training images are the ID images.")] = "glyphs",
    images: Annotated[int, Option(help="At most that many of each folder.")] = 1000,
    neighbour: Annotated[int, Option(help="Which nearest ID image the distance is to.")] = 10,
    seed: Annotated[int, Option(help="Of the images that are drawn.")] = 0,
    data_root: DataRoot = None,
    device: Device = "cpu",
) -> None:
    """Measure each image's shift in meaning and in style. Written: set,row,semantic,covariate, as distances
    from the ID images. A competition's ID images are its unlabelled training images.

    Example: unseen shift referee unseen-demo --out degrees.csv
    """
    from starter.shift.ruler import read_referee
    from starter.studies.degrees import degree_table, measured_sets
    from submission.files import write_text

    chosen, matrix = read_referee(referee, encoder, device)
    known, sets = measured_sets(path, source, data_root, seed, images)
    table = degree_table(chosen, matrix, known, sets, neighbour, device)
    write_text(out, table.to_csv(index=False, float_format="%.6f"))
    echo(f"{table.groupby('set', sort=False)[['semantic', 'covariate']].mean().round(3)}\n\n{out}")


@app.command("syn-is")
def syn_is(
    out: Annotated[Path, Argument(metavar="OUT", help="A new folder, or one of an interrupted run.")],
    referee: Annotated[Path, Option(metavar="REFEREE", help="The folder that laid wrote.")],
    generator: Annotated[
        str,
        Option(help="glyphs, sdxl-turbo, a folder of such a pipeline, or module:function: its code runs."),
    ] = "glyphs",
    labels: Annotated[Path | None, Option(help="A file with a label a line. [the source's classes]")] = None,
    styles: Annotated[
        Path | None,
        Option(help='A CSV with name,prompt ("{object}" in it),negative. [the paper\'s 51 names]'),
    ] = None,
    per_cell: Annotated[int, Option(min=1, help="Images a cell.")] = 5000,
    encoder: EncoderSpec = "embedded",
    source: Annotated[str, Option(help="Its training images are the ID images.")] = "glyphs",
    semantic: Annotated[
        tuple[float, float] | None, Option(metavar="LOW HIGH", help="Degrees of levels 1-8. [the prompts']")
    ] = None,
    covariate: Annotated[
        tuple[float, float] | None, Option(metavar="LOW HIGH", help="Degrees of levels 1-8. [the prompts']")
    ] = None,
    size: Annotated[int, Option(help="SDXL-Turbo: height and width in pixels.")] = 512,
    steps: Annotated[int, Option(min=1, help="SDXL-Turbo: denoising steps.")] = 1,
    batch: Annotated[int, Option(min=1, help="Prompts at a time.")] = 8,
    licence: Annotated[str, Option(help="Of the images, for the datasheet.")] = "",
    seed: Annotated[int, Option(min=0, help="Of the draws.")] = 0,
    data_root: DataRoot = None,
    device: Device = "cpu",
) -> None:
    """Generate images whose shift grows step by step (Syn-IS). Labels x styles in a folder for each cell of
    the 8 x 8 grid of meaning and style, prompts.csv and DATASHEET.md. Run again to go on.

    Example: unseen syn-is synis --referee referee --per-cell 20
    """
    from starter.shift.ruler import read_referee
    from starter.sources.sources import load_source
    from starter.synis.build import Referee, build_grid
    from starter.synis.generators import choose_generator, choose_prompts

    chosen, matrix = read_referee(referee, encoder, device)
    splits, identity = load_source(source, data_root, seed), f"training images of {Path(source).name}"
    known = Referee(chosen, matrix, splits.train.images, identity)
    prompts = choose_prompts(generator, labels, styles, splits.classes)
    model = choose_generator(generator, device, size, steps)
    ends = (semantic, covariate)
    grid = build_grid(out, known, prompts, model, per_cell, ends, licence, seed, batch, device)
    cells = int((grid.counts > 0).sum())
    echo(f"{cells * per_cell:,} images in {cells} of {grid.counts.size} cells\n{out / 'DATASHEET.md'}")


@app.command()
def failure(
    folder: Folder,
    names: Annotated[
        Many, Argument(metavar="[DETECTOR]...", help="OOD detectors, the first to compare with. [DIR's]")
    ] = None,
    shifted: Annotated[
        list[Path] | None, Option(help="Natural-shift sets of the IND classes; may be repeated.")
    ] = None,
    images: Annotated[int, Option(min=20, help="Of each corruption and natural-shift set, at most.")] = 400,
    network: Network = None,
    device: Device = "cpu",
) -> None:
    """Tell whether OOD detectors find new classes or errors. The tables of the ImageNet-OOD paper and
    misclassification detection, on the images that are public in an OOD competition, corrupted ones besides:
    CSV and PNG in DIR/failure.

    Example: unseen failure mixes msp energy knn
    """
    from starter.classifiers import use_network
    from starter.studies.failure_report import failure_report, report_text

    for spec in network or ():
        use_network(spec)
    tables, paths = failure_report(Competition.open(folder), names or [], shifted or [], images, device)
    echo("\n".join((report_text(tables), "", *map(str, paths))))


@app.command()
def ablate(
    folder: Folder,
    table: Annotated[
        str,
        Option(
            help="1 to 5 or fig10 of the SYP paper; OOD track: 1, 2, 4, fig3, ... of Gscore's, or near-far."
        ),
    ],
    settings: Changes = None,
    seeds: Annotated[int, Option(help="How often each oracle is trained.")] = 1,
    splits: Annotated[
        int,
        Option(
            min=0,
            max=100,
            help="OOD track, tables 1, 2, 4: random splits besides, as in the paper (5 there).",
        ),
    ] = 0,
    subject: Annotated[Many, Option(help="OOD track: only these subjects; repeatable. [all]")] = None,
    device: Device = "cpu",
) -> None:
    """Reproduce a table of the SYP or the Gscore paper. SYP's are made on the labelled validation sets; in
    the OOD track Gscore's on the meta-train mixes, of families left out: a CSV and a PNG in DIR/ablation. The
    former trains many oracles; interrupted, the same command goes on. What --set changes holds for every row.

    Example: unseen ablate contest --table 4 --set ora-a.iterations=300 --set ora-a.batch_size=100
    """
    competition = Competition.open(folder)
    if competition.track == "ood":
        echo(_gscore_table(competition, table, settings, seeds, splits, subject or [], device))
    elif subject:
        raise UnusableInput("--subject is for the OOD track: this competition is of the accuracy track")
    else:
        echo(_syp_table(competition, table, settings, seeds, splits, device))


@app.command()
def validate(folder: Folder, file: Predictions) -> None:
    """Check a submission. "valid", or every problem with its line. Exit code 1 where there is a problem.

    Example: unseen validate contest contest/submissions/atc.csv
    """
    competition = Competition.open(folder)
    submission.validate(competition, file)
    echo("valid")
    if competition.private.exists():
        tell_next("score", folder, file, "--team", "NAME")


@app.command()
def score(
    folder: Folder,
    file: Predictions,
    team: Annotated[str | None, Option(help="Organizers: score on the hidden labels for this team.")] = None,
    val: Annotated[bool, Option("--val", help="Score FILE on the labelled validation sets.")] = False,
) -> None:
    """Score predictions: --val, or a team's (organizers). --val is on the validation sets; with --team it is
    on the test sets, and what a team hands in is recorded and counts towards its limit, invalid or not.

    Example: unseen score contest contest/validation/atc.csv --val
    """
    if val == (team is not None):
        raise UnusableInput("say what to score: --val (validation) or --team NAME (organizers: test sets)")
    competition = Competition.open(folder)
    if team is None:
        echo(submission.validation_report(competition, file))
        if (handed_in := folder / "submissions" / file.name).exists():
            tell_next("validate", folder, handed_in)
        return
    from leaderboard import left_text, publish, submit

    receipt = submit(competition, file, team, now)
    board = publish(competition)
    public, of = receipt.public, len(competition.ids("test"))
    points = f"{public.rmse:.{competition.decimals}f}"
    for warning in board.warnings:
        echo(f"warning: {warning}", err=True)
    if receipt.stands != receipt.number:
        echo(f"{team}: no better than submission {receipt.stands} by more than chance, whose score stands")
    echo(f"{team}: public RMSE {points} points, on the {public.n} of {of} predictions that count for now")
    echo(f"entered as submission {receipt.number}{left_text(competition, receipt.left)}")
    echo(f"updated {board.csv} and {board.html}")
    tell_next("leaderboard", folder)


@app.command()
def leaderboard(
    folder: Folder,
    final: Annotated[
        bool, Option("--final", help="After the end: publish private scores, ranks and the shake-up too.")
    ] = False,
    markdown: Annotated[bool, Option("--markdown", help="The organizer's table as Markdown.")] = False,
) -> None:
    """Write leaderboard.csv, .html and .md. The last is a table for a README; the organizer's, by group, is
    printed.

    Example: unseen leaderboard contest
    """
    from leaderboard import publish, tables

    competition = Competition.open(folder)
    published = publish(competition, now() if final else None)
    for warning in published.warnings:
        echo(f"warning: {warning}", err=True)
    echo(f"The methods in {folder / 'submissions'} on all test sets, for the organizer only:\n")
    echo(tables(competition, markdown))
    echo(f"\nTeams, with public scores: {published.csv}, {published.html}, {published.markdown}")
    if published.private_csv:
        echo(f"Teams, with private scores: {published.private_csv}, {published.html}, {published.markdown}")


@app.command()
def select(
    folder: Folder,
    team: Annotated[str, Option(help="The team's name.")],
    numbers: Annotated[
        list[int] | None, Argument(metavar="[NUMBER]...", help="Up to two submissions; none to list them.")
    ] = None,
    clear: Annotated[bool, Option("--clear", help="Take the choice back: the best two count.")] = False,
) -> None:
    """Choose a team's submissions that count (organizers). Frozen at the deadline.

    Example: unseen select contest --team ada 1
    """
    from leaderboard import select as choose
    from leaderboard import submissions_of

    if clear and numbers:
        raise UnusableInput("give numbers of submissions, or --clear, not both")
    competition = Competition.open(folder)
    if clear or numbers:
        choose(competition, team, numbers or [], now)
    for entry in submissions_of(competition, team):
        final = "  counts at the end" if entry.final else ""
        echo(f"{entry.number:>6}  {entry.time:%Y-%m-%d %H:%M:%S}  {entry.digest[:12]}  {entry.status}{final}")


@app.command()
def history(
    folder: Folder,
    team: Annotated[str | None, Option(help="Only this team's.")] = None,
) -> None:
    """List every submission with its scores (organizers). RMSE on the public and the private part, by
    [classifier] where there are several, and by (group).

    Example: unseen history contest
    """
    from leaderboard import history as found
    from leaderboard import history_table

    competition = Competition.open(folder)
    echo(history_table(found(competition, team), competition.decimals))


@app.command()
def rescore(
    folder: Folder,
    reason: Annotated[str, Option(help="Why, a line for the record.")],
    label: Annotated[Many, Option(metavar="ID=FRACTION", help="A right label; may be repeated.")] = None,
    void: Annotated[Many, Option(metavar="SET", help="A test set that counts no more; repeatable.")] = None,
) -> None:
    """Correct labels or void test sets (organizers). Every submission is scored anew; it is recorded.

    Example: unseen rescore contest --void test_0003 --reason mislabelled
    """
    from leaderboard import publish
    from leaderboard import rescore as correct

    competition = Competition.open(folder)
    done = correct(competition, _labels(label or []), set(void or []), reason, now)
    board = publish(competition)
    echo(f"{done.entries:,} submissions were scored anew; the ledger's head is {done.head}")
    echo(f"updated {board.csv} and {board.html}")


@app.command()
def verify(
    folder: Folder,
    head: Annotated[Many, Option(help="A head of the ledger that was published; may be repeated.")] = None,
) -> None:
    """Check that the ledger is what it was (organizers). Rows that were altered, removed or reordered are
    found, and files and scores that do not fit. Exit code 1 where there is a problem.

    Example: unseen verify contest
    """
    from leaderboard import verify as check

    found = check(Competition.open(folder), head or [])
    echo(f"{found.rows:,} rows, {found.submissions:,} submissions, head {found.head}")
    for problem in found.problems:
        echo(f"problem: {problem}")
    if found.problems:
        raise Exit(1)
    echo("the ledger is whole")


@app.command()
def pack(
    folder: Folder,
    out: Annotated[Path | None, Option(help="The zip to write. [DIR.zip beside DIR]")] = None,
) -> None:
    """Make the participants' archive from public/ alone.

    Example: unseen pack contest
    """
    competition = Competition.open(folder)
    echo(submission.pack(competition, out or Path(f"{folder.resolve()}.zip")))
    if competition.private.exists():
        tell_next("score", folder, "FILE", "--team", "NAME")


@app.command()
def card(folder: Folder) -> None:
    """Write the data card and Croissant metadata. As in the archive: DIR/card.md for people, and
    DIR/croissant.json for programs.

    Example: unseen card contest
    """
    from submission.card import write_cards

    echo("\n".join(map(str, write_cards(Competition.open(folder)))))


@app.command()
def audit(folder: Folder, network: Network = None, device: Device = "cpu") -> None:
    """List what could reveal a hidden label. Errors are to mend before anybody gets the competition; then
    there are warnings. Exit code 1 where there is an error.

    Example: unseen audit contest
    """
    from starter.classifiers import use_network
    from starter.competition.audit import audit as run

    for spec in network or ():
        use_network(spec)
    found = run(Competition.open(folder), device)
    for finding in found:
        echo(finding)
    errors = [finding for finding in found if finding.grade == "error"]
    echo(f"errors: {len(errors)}, warnings: {len(found) - len(errors)}")
    if errors:
        raise Exit(1)
    tell_next("pack", folder)


@app.command("verify-entry")
def verify_entry(
    folder: Folder,
    file: Predictions,
    method: Annotated[str, Option(metavar="module:Class|METHOD", help="What the team hands over.")],
    settings: Changes = None,
    tolerance: Annotated[float, Option(help="Difference of fractions that counts as none.")] = 1e-4,
    network: Network = None,
    device: Device = "cpu",
) -> None:
    """Run a method again and compare with a submitted file. Exit code 1 where they differ. Its code runs
    here: use a participant's copy (unseen pack), which has no labels.

    Example: unseen verify-entry contest contest/submissions/atc.csv --method atc
    """
    from baselines.run.verify_entry import verify_entry as verify

    if ":" in method and (folder / "private").exists():
        echo(f"warning: {method} can read {folder / 'private'}: verify on a participant's copy", err=True)
    competition, chosen = _opened(folder, [method], settings, network)
    found = verify(competition, file, method, chosen[method], tolerance, device)
    echo(found)
    if found.differing:
        raise Exit(1)


@app.command()
def export(
    platform: Annotated[str, Argument(metavar="PLATFORM", help="codabench, kaggle or datacv.")],
    folder: Folder,
    out: Annotated[Path, Argument(metavar="OUT", help="A new folder; it will hold hidden labels.")],
    start: Annotated[
        datetime | None, Option(formats=["%Y-%m-%d"], help="Codabench: the first day (UTC). [today]")
    ] = None,
) -> None:
    """Write the competition for another platform. Ready to upload; OUT/README.md says how.

    Example: unseen export codabench contest contest-codabench
    """
    from leaderboard.export import export as write

    competition = Competition.open(folder)
    first = start or now().replace(hour=0, minute=0, second=0, microsecond=0)
    write(competition, platform, out, first.replace(tzinfo=timezone.utc))
    if platform == "datacv":
        from starter.competition.materialize import materialize as write_sets

        for part in ("train", "val", "test"):
            if competition.sets(part):
                write_sets(competition, out / "participants", "datacv", part)
    echo(out / "README.md")


def _of_track(track: str) -> tuple[str, ...]:
    """The option that names a track, where it must be named."""
    return () if track == "accuracy" else ("--track", track)


def _labels(texts: list[str]) -> dict[str, float]:
    """The labels in texts ``ID=FRACTION``."""
    from submission.predictions import NUMBER

    labels = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        if not equals or not NUMBER.fullmatch(value):
            raise UnusableInput(f"--label {text}: give ID=FRACTION, such as small/test_0001=0.5")
        if name in labels:
            raise UnusableInput(f"--label {text}: {name} stands there twice")
        labels[name] = float(value)
    return labels


def _syp_table(
    competition: Competition, table: str, settings: Many, seeds: int, splits: int, device: str
) -> str:
    """A table of the SYP paper, and where it is."""
    from baselines.run.choose import choose
    from oracle.ablate import METHODS, ablate

    if splits:
        raise UnusableInput(
            "--splits is for the Gscore paper's tables: this competition is of the accuracy track"
        )
    found = ablate(competition, table, choose(METHODS, settings or [], _methods()), seeds, device)
    return f"{found}\n\n{found.table}\n{found.plot}"


def _gscore_table(
    competition: Competition,
    table: str,
    settings: Many,
    seeds: int,
    splits: int,
    subjects: list[str],
    device: str,
) -> str:
    """A table of the Gscore paper, and where it is."""
    from baselines.report.gscore import ablate

    if settings or seeds != 1:
        raise UnusableInput(
            "--set and --seeds are for the SYP paper's tables: this competition is of the OOD track"
        )
    frame, paths = ablate(competition, table, splits, device, subjects)
    return "\n".join([frame.to_string(index=False, float_format="{:.3f}".format), "", *map(str, paths)])


def _opened(
    folder: Path, names: Many, settings: Many, networks: Many
) -> "tuple[Competition, dict[str, Estimator]]":
    """The competition, and the methods to run: those named, or all that are possible and not expensive."""
    from baselines.run.choose import choose
    from starter.classifiers import use_network
    from starter.competition.accuracy import unmet

    for spec in networks or ():
        use_network(spec)
    competition = Competition.open(folder)
    kit = _methods(competition.track)
    left_out = {name: f"{reason}; name it to run it" for name, reason in EXPENSIVE.items() if name in kit}
    left_out |= _impossible(competition)
    chosen = choose(names or [name for name in kit if name not in left_out], settings or [], kit)
    for name, reason in () if names else left_out.items():
        echo(f"not run: {name}: {reason}", err=True)
    for name, method in chosen.items():
        if reason := unmet(method.needs, competition):
            raise UnusableInput(f"{name} cannot run on {folder}: {reason}")
    return competition, chosen


def _impossible(competition: Competition) -> dict[str, str]:
    """The kit's methods that need what the competition does not have, and why."""
    from starter.competition.accuracy import unmet

    kit = _methods(competition.track)
    reasons = {name: unmet(method.needs, competition) for name, method in kit.items()}
    return {name: reason for name, reason in reasons.items() if reason}


def _methods(track: str = "accuracy") -> "dict[str, Estimator]":
    """Every method of the kit for a track, by name."""
    from baselines import BASELINES, OOD_BASELINES
    from oracle import ORACLES

    kit = {"accuracy": {**BASELINES, **ORACLES}, "ood": OOD_BASELINES}
    if track not in kit:
        raise UnusableInput(f"--track {track!r} is unknown; there are {', '.join(kit)}")
    return kit[track]


def main() -> None:
    """Run the command line, with threads of torch that sleep while they wait unless told otherwise.

    Spinning, they are several times slower as soon as anything else runs, and hardly faster if nothing does.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    run_to_exit(app)


if __name__ == "__main__":
    main()
