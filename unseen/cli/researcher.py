"""The commands of a researcher: tables of papers, classes by meaning, shifts and detectors."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option, echo

from submission.competition import Competition
from submission.errors import UnusableInput
from unseen.cli import options
from unseen.cli.options import Many

if TYPE_CHECKING:
    from starter.wordnet.manifest import ClassEntry

ManifestFile = Annotated[Path, Option("--out", dir_okay=False, help="The manifest to write, a CSV file.")]
Candidates = Annotated[list[str], Option(help="Classes to assign: a list, a file or folders. Repeatable.")]
Known = Annotated[str, Option("--id", help="The ID classes: a list, a file or class folders.")]
OverridesFile = Annotated[Path | None, Option(help="A CSV (label,synset) for labels without a match.")]
MatchesFile = Annotated[Path | None, Option(dir_okay=False, help="Write matches here, for --overrides.")]
WordNetFolder = Annotated[Path | None, Option("--wordnet", help="The folder of WordNet 3.0's data.noun.")]
Manifest = Annotated[Path, Argument(metavar="MANIFEST", help="A manifest, written by `unseen classes`.")]
ClassFolders = Annotated[Path, Option("--images", help="The folder with SOURCE/CLASS/ or SOURCE.zip.")]
OutFolder = Annotated[Path, Option("--out", file_okay=False, help="The folder to write to.")]
LaidFolder = Annotated[Path, Argument(metavar="LAID", file_okay=False, help="The folder of the matrix.")]
EncoderSpec = Annotated[
    str, Option("--encoder", help="embedded, a file, clip:MODEL=WEIGHTS, or module:function.")
]
Seed = Annotated[int, Option(min=0, help="Seed of everything random.")]
IndSource = Annotated[str, Option("--source", help="The source, as for build, of the ID images.")]
Labels = Annotated[Path | None, Option(help="A file with one class per line. [the source's classes]")]


def similarity(
    out: ManifestFile,
    candidates: Candidates,
    known: Known = "cifar10",
    threshold: Annotated[float, Option(min=0, help="Largest distance of a class that is ID.")] = 0.45,
    near: Annotated[float, Option(max=1, help="Largest distance of a class that is near OOD.")] = 0.6,
    hyponyms: Annotated[bool, Option("--hyponyms", help="Count all kinds of an ID class as ID.")] = False,
    overrides: OverridesFile = None,
    matches: MatchesFile = None,
    wordnet: WordNetFolder = None,
) -> None:
    """Assign classes by distance to the nearest ID class.

    The manifest assigns each class to ID, near OOD or far OOD by its place in WordNet. Lists are named
    cifar10, imagenet-1k, imagenet-21k and imagenet-21k-p; a file has one label or WordNet id per line.

    Example: unseen classes similarity --id cifar10 --candidates tiny_imagenet.zip --out manifest.csv
    """
    from starter.wordnet import assign, labels

    taxonomy, lists = labels.match_all(known, candidates, overrides, matches, wordnet)
    found = assign.similarity_benchmark(taxonomy, lists[0], lists[1:], threshold, near, hyponyms)
    _write(out, [each.describe() for each in lists], found)


def pruning(
    out: ManifestFile,
    candidates: Candidates,
    known: Known = "cifar10",
    exclude: Annotated[Many, Option(help="A synset to drop, or none. Repeatable. [organism.n.01]")] = None,
    overrides: OverridesFile = None,
    matches: MatchesFile = None,
    wordnet: WordNetFolder = None,
) -> None:
    """Drop classes that could be mistaken for an ID class.

    The manifest assigns the classes that are left to near and far OOD by their place in WordNet. Lists and
    files are those of `unseen classes similarity`.

    Example: unseen classes pruning --id cifar10 --candidates tiny_imagenet.zip --out manifest.csv
    """
    from starter.wordnet import assign, labels

    taxonomy, lists = labels.match_all(known, candidates, overrides, matches, wordnet)
    left_out = [name for name in exclude or [assign.ORGANISM] if name != "none"]
    entries = assign.prune(taxonomy, lists[0], lists[1:], left_out)
    _write(out, [*(each.describe() for each in lists), f"\n{assign.steps_text(entries)}"], entries)


def _write(out: Path, told: Sequence[str], entries: "Sequence[ClassEntry]") -> None:
    """Write the manifest, and print what was matched and a summary."""
    from starter.wordnet.manifest import summary, write_manifest

    write_manifest(out, entries)
    echo("\n".join((*told, f"\n{summary(entries)}\n\n{out}")))
    options.tell_next("build", "DIR", "--track", "ood", "--classes", out, "--images", "FOLDER")


def halves(
    manifest: Manifest,
    images: ClassFolders,
    out: OutFolder,
    limit: Annotated[int | None, Option(min=1, help="Largest number of ID images in a half. [all]")] = None,
    id_up_to: Annotated[
        str, Option(metavar="T1|T2", help="ID up to oodness 1 (T1) or 2 (T2). [as assigned]")
    ] = "",
    seed: Seed = 0,
) -> None:
    """Draw validation and test halves from a class manifest.

    Each half has as many ID as OOD images, drawn as evenly from the classes as possible. Labels are 0 for ID
    and 1 for OOD.

    Example: unseen classes halves manifest.csv --images . --out halves --limit 1000
    """
    from starter.wordnet.images import write_halves
    from starter.wordnet.manifest import read_manifest

    lines = write_halves(read_manifest(manifest, id_up_to), images, out, limit, seed)
    echo("\n".join((*lines, str(out))))


def graph(
    manifest: Manifest,
    images: ClassFolders,
    classifier: Annotated[str, Option(help="NAME=WEIGHTS of a classifier of the ID classes, as for build.")],
    out: OutFolder,
    known: Annotated[str, Option("--id", help="The source of the classifier's classes.")] = "cifar10",
    wordnet: WordNetFolder = None,
    network: options.Network = None,
    device: options.Device = "cpu",
) -> None:
    """Draw which ID classes a manifest's images are taken for.

    Classifies the images of the manifest's other classes, and measures the similarity in meaning between a
    class and the classes predicted for its images. Writes CSV and PNG files.

    Example: unseen classes graph manifest.csv --images . --classifier small=small.safetensors --out taken
    """
    from starter.studies.confusions import graph_study, graph_text
    from starter.wordnet.manifest import read_manifest
    from starter.wordnet.wordnet import load_wordnet

    options.use_networks(network)
    entries, taxonomy = read_manifest(manifest), load_wordnet(wordnet)
    study = graph_study(taxonomy, entries, known, classifier, images, device)
    echo("\n".join((graph_text(study.tables["edges"]), *map(str, study.write(out)))))


def laid(
    folder: LaidFolder,
    encoder: EncoderSpec = "embedded",
    source: Annotated[str, Option(help="A source, as for build; its test images are classified.")] = "glyphs",
    labels: Labels = None,
    templates: Annotated[Path | None, Option(help='Texts with "{}" for the meaning, one a line.')] = None,
    natural: Annotated[Many, Option(help="Natural-shift sets, as --val-from. Repeatable.")] = None,
    steps: Annotated[int, Option(min=1, help="Number of training steps.")] = 1000,
    seed: Seed = 0,
    data_root: options.DataRoot = None,
    device: options.Device = "cpu",
) -> None:
    """Separate an encoder's features into meaning and style.

    Writes LAID/laid.safetensors, for the other shift commands, and table3.csv, the zero-shot accuracy with
    each part of the features, by LAID and PCA. The embedded encoder is trained first, for a minute.

    Example: unseen shift laid laid
    """
    from starter.studies.zeroshot import laid_study, zero_shot_text

    found, study = laid_study(
        folder, encoder, source, labels, templates, natural or (), steps, seed, data_root, device
    )
    echo(f"{zero_shot_text(study.tables['table3'])}\n\nlargest |W'W - I|: {found.error:.1e}")
    echo("\n".join(map(str, (folder / "laid.safetensors", *study.write(folder)))))


def measure(
    laid: LaidFolder,
    path: Annotated[Path, Argument(metavar="PATH", help="A competition, or a folder of folders of images.")],
    out: Annotated[Path, Option(dir_okay=False, help="The CSV file to write.")],
    encoder: EncoderSpec = "embedded",
    source: IndSource = "glyphs",
    images: Annotated[int, Option(min=1, help="Largest number of images from each folder.")] = 1000,
    seed: Seed = 0,
    data_root: options.DataRoot = None,
    device: options.Device = "cpu",
) -> None:
    """Measure each image's shift in meaning and in style.

    Writes a CSV (set,row,semantic,covariate) of distances from a competition's unlabelled training images,
    or from those of --source.

    Example: unseen shift measure laid unseen-demo --out degrees.csv
    """
    from starter.studies.grid import measure_degrees
    from submission.files import write_text

    table = measure_degrees(laid, path, encoder, source, images, seed, data_root, device)
    write_text(out, table.to_csv(index=False, float_format="%.6f"))
    echo(f"{table.groupby('set', sort=False)[['semantic', 'covariate']].mean().round(3)}\n\n{out}")


def grid(
    folder: options.Folder,
    encoder: EncoderSpec = "embedded",
    laid: Annotated[str, Option(help="The folder that `unseen shift laid` wrote. [trained here]")] = "",
    classifier: Annotated[str | None, Option(help="A classifier of the competition. [the first]")] = None,
    detector: Annotated[Many, Option(help="An OOD detector, such as msp. Repeatable. [all]")] = None,
    ood: Annotated[str, Option(help="A folder or zip with a folder for each OOD set. [embedded]")] = "",
    exclude: Annotated[Many, Option(help="An OOD set to leave out. Repeatable.")] = None,
    only_ood: Annotated[bool, Option("--only-ood", help="Shift no images of the ID classes.")] = False,
    group: Annotated[str, Option(help="Operations: corruptions, default, a, b, wide.")] = "corruptions",
    images: Annotated[int, Option(min=100, help="Approximate number of shifted images.")] = 20_000,
    seed: Seed = 0,
    out: Annotated[Path | None, Option(file_okay=False, help="The folder to write to. [DIR/grid]")] = None,
    network: options.Network = None,
    device: options.Device = "cpu",
) -> None:
    """Show how well OOD detectors do as shifts grow.

    Shifts grow in meaning and in style (Long et al. 2024). Computes AUROC, FPR@95 and AUPR in every cell of
    8 x 8 levels, and correlation and sensitivity along both axes. Writes CSV and PNG files. After an
    interruption the same command continues.

    Example: unseen shift grid contest --images 10000
    """
    from starter.studies.grid import grid_study, grid_text

    options.use_networks(network)
    competition, sets = Competition.open(folder), (ood, exclude or (), only_ood, group, images)
    study = grid_study(competition, encoder, laid, classifier, detector or (), *sets, seed, device)
    target = out or folder / "grid"
    study.write(target)
    echo(f"{grid_text(study.tables)}\n\n{target}")


def failure(
    folder: options.Folder,
    names: Annotated[Many, Argument(metavar="[DETECTOR]...", help="The first is compared with.")] = None,
    shifted: Annotated[
        list[Path] | None, Option(help="Natural-shift sets, as --val-from. Repeatable.")
    ] = None,
    images: Annotated[int, Option(min=20, help="Largest number of images per shift and set.")] = 400,
    network: options.Network = None,
    device: options.Device = "cpu",
) -> None:
    """Show whether detectors find new classes or errors.

    Computes the tables of the ImageNet-OOD paper, and misclassification detection, from the public images of
    an OOD competition and from corrupted ones. Writes CSV and PNG files to DIR/failure.

    Example: unseen detectors failure mixes msp energy knn
    """
    from starter.studies.failure_study import failure_study, report_text

    options.use_networks(network)
    study = failure_study(Competition.open(folder), names or [], shifted or [], images, device)
    echo("\n".join((report_text(study.tables), "", *map(str, study.write(folder / "failure")))))


def sanity(
    names: Annotated[Many, Argument(metavar="[DETECTOR]...", help="Such as msp or vim.")] = None,
    arch: Annotated[str, Option(help="Architecture: small, resnet56, ..., or module:function.")] = "small",
    source: IndSource = "glyphs",
    ood: Annotated[Path | None, Option(help="A folder or zip with a folder for each OOD set.")] = None,
    images: Annotated[int, Option(min=50, help="Largest number of images of a set.")] = 500,
    initialisations: Annotated[int, Option(min=1, help="Number of random networks.")] = 5,
    seed: Seed = 0,
    out: Annotated[Path, Option(dir_okay=False, help="The CSV file to write.")] = Path("sanity.csv"),
    data_root: options.DataRoot = None,
    network: options.Network = None,
    device: options.Device = "cpu",
) -> None:
    """Run OOD detectors on random networks.

    A random network knows no classes, so a true detector of new classes has an AUROC of 0.5 on it.

    Example: unseen detectors sanity msp energy vim --images 200
    """
    from starter.studies import sanity as study
    from submission.files import write_text

    options.use_networks(network)
    table = study.sanity(names or (), arch, source, ood, images, initialisations, seed, data_root, device)
    write_text(out, table.to_csv(index=False))
    echo(f"{study.sanity_text(table)}\n\n{out}")


def encoder(
    sources: Annotated[list[str], Argument(metavar="SOURCE...", help="Sources, as for build.")],
    out: Annotated[Path, Option(help="The .safetensors file to write.")],
    seed: Seed = 0,
    data_root: options.DataRoot = None,
) -> None:
    """Train a small encoder of photographs for shift laid.

    It learns from captions that name an image's class and the operation applied to it. 52,000 images take
    eight minutes of processor time. (The encoder of the embedded digits is trained when it is used.)

    Example: unseen shift encoder cifar10.zip cifar100.zip --out encoder.safetensors
    """
    from starter.encoders.two_tower import photo_encoder
    from starter.sources.sources import load_source

    if out.exists():
        raise UnusableInput(f"{out} exists already: name another file, or take it away")
    splits = [load_source(source, data_root, seed) for source in sources]
    found = photo_encoder([(each.train, each.classes) for each in splits], out, seed)
    echo(f"{found.name}: {len(found.phrases[0])} classes\n{out}")


def generate(
    out: Annotated[Path, Argument(file_okay=False, help="A new folder, or one of an interrupted run.")],
    laid: Annotated[Path, Option(metavar="LAID", help="The folder that shift laid wrote.")],
    generator: Annotated[str, Option(help="glyphs, or module:function (runs its code).")] = "glyphs",
    labels: Labels = None,
    styles: Annotated[Path | None, Option(help="A CSV (name,prompt,negative). [the paper's 51]")] = None,
    per_cell: Annotated[int, Option(min=1, help="Number of images per cell.")] = 5000,
    encoder: EncoderSpec = "embedded",
    source: IndSource = "glyphs",
    licence: Annotated[str, Option(help="Licence of the images, for the datasheet.")] = "",
    seed: Seed = 0,
    data_root: options.DataRoot = None,
    device: options.Device = "cpu",
) -> None:
    """Generate images whose shift grows step by step (Syn-IS).

    Every label is combined with every style. Writes a folder of images for each cell of the 8 x 8 grid of
    shifts in meaning and style, prompts.csv and DATASHEET.md. Run again to continue.

    Example: unseen shift generate synis --laid laid --per-cell 20
    """
    from starter.synis.synis import synis

    prompts = generator, labels, styles, per_cell
    grid = synis(out, laid, *prompts, encoder, source, licence, seed, data_root, device)
    cells = int((grid.counts > 0).sum())
    echo(f"{cells * per_cell:,} images in {cells} of {grid.counts.size} cells\n{out / 'DATASHEET.md'}")


def ablate(
    folder: options.Folder,
    table: Annotated[str, Option(help="SYP: 1 to 5, fig10; Gscore: 1, 2, 4, fig3, ...; near-far.")],
    settings: options.Changes = None,
    seeds: Annotated[int, Option(help="Number of seeds with which each oracle is trained.")] = 1,
    splits: Annotated[int, Option(min=0, max=100, help="OOD track: more random splits (paper: 5).")] = 0,
    device: options.Device = "cpu",
    cluster: options.Workers = None,
    cache: options.CachePlace = "",
) -> None:
    """Reproduce a table of the SYP or the Gscore paper.

    Tables of the SYP paper use the labelled validation sets; those of the Gscore paper, in the OOD track, use
    the meta-train mixes and leave each family out in turn. Writes a CSV and a PNG to DIR/ablation. After an
    interruption the same command continues. --set applies to every row.

    Example: unseen ablate contest --table 4 --set ora-a.iterations=300 --set ora-a.batch_size=100
    """
    from starter.competition.cluster import connected
    from starter.observing.cache import place_cache

    competition = Competition.open(folder)
    syp = competition.track == "accuracy"
    if cache:
        place_cache(folder, cache)
    with connected(cluster) as workers:
        if syp:
            from baselines import BASELINES
            from baselines.run.choose import choose
            from oracle import ORACLES
            from oracle import ablate as syp_tables

            chosen = choose(syp_tables.METHODS, settings or [], {**BASELINES, **ORACLES})
            found, paths = syp_tables.ablate(competition, table, chosen, seeds, device, cluster=workers)
            lines = [syp_tables.table_text(found), "", *map(str, paths)]
        else:
            from baselines.report import gscore

            frame, paths = gscore.ablate(competition, table, splits, device, workers)
            lines = [gscore.table_text(table, frame), "", *map(str, paths)]
    echo("\n".join(lines))
