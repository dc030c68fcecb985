"""The commands `classes graph`, `shift laid`, `measure` and `grid`, and `detectors failure` and `sanity`."""

from functools import partial
from pathlib import Path
from typing import Annotated

from typer import Argument, Option, echo

from submission import Competition
from submission.options import DataRoot, Device, EncoderSpec, Folder, Many, Network, WordNetFolder


def graph(
    manifest: Annotated[
        Path, Argument(metavar="MANIFEST", help="A class manifest, written by `unseen classes`.")
    ],
    images: Annotated[
        Path, Option(help="The folder with SOURCE/CLASS/ or SOURCE.zip for each source in MANIFEST.")
    ],
    classifier: Annotated[str, Option(help="NAME=WEIGHTS of a classifier of the ID classes, as for build.")],
    out: Annotated[Path, Option(file_okay=False, help="The folder for the tables and pictures.")],
    known: Annotated[
        str, Option("--id", help="The source in MANIFEST that has the classifier's classes.")
    ] = "cifar10",
    least_share: Annotated[
        float,
        Option(min=0, max=1, help="Leave out edges with a smaller share than this of a class's images."),
    ] = 0.25,
    wordnet: WordNetFolder = None,
    network: Network = None,
    device: Device = "cpu",
) -> None:
    """Draw which ID classes a manifest's images are taken for.

    Classifies the images of the manifest's classes, except those of the ID source itself, and measures the
    similarity in meaning between a class and the classes predicted for its images. Writes edges.csv,
    classes.csv, predictions.csv, and PNG files of the graph and of the mean similarities.

    Example: unseen classes graph manifest.csv --images . --classifier small=small.safetensors --out taken
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


def laid(
    folder: Annotated[Path, Argument(metavar="LAID", file_okay=False, help="The folder to write to.")],
    encoder: EncoderSpec = "embedded",
    source: Annotated[
        str, Option(help="A source, as for build, whose test images are classified.")
    ] = "glyphs",
    labels: Annotated[
        Path | None, Option(help="A file with one meaning per line. [the source's classes]")
    ] = None,
    templates: Annotated[
        Path | None,
        Option(help='A file with one text per line, "{}" for the meaning; the plainest text first.'),
    ] = None,
    natural: Annotated[
        Many, Option(help="Labelled natural-shift sets, as build's --val-from. Repeatable.")
    ] = None,
    steps: Annotated[int, Option(min=1, help="Number of training steps.")] = 1000,
    seed: Annotated[int, Option(min=0, help="Seed of everything random.")] = 0,
    data_root: DataRoot = None,
    device: Device = "cpu",
) -> None:
    """Separate an encoder's features into meaning and style.

    Uses LAID, and PCA for comparison. Writes LAID/laid.safetensors, for the other shift commands and for
    build --grid, and table3.csv, the zero-shot accuracy with each part of the features. The embedded encoder
    is trained first, which takes a minute.

    Example: unseen shift laid laid
    """
    from starter.encoders.choose import load_encoder
    from starter.images.reading import Fit
    from starter.shift.laid import text_pca, train_laid
    from starter.shift.prompts import choose_prompts
    from starter.sources.sources import load_images, load_source, set_names
    from starter.studies.zeroshot import describe, shown_sets, zero_shot_table
    from submission.files import write_text

    splits = load_source(source, data_root, seed)
    shifted = {
        name: load_images(name, splits.classes, fit=Fit(splits.image_size))
        for path in natural or ()
        for name in set_names(path, splits.classes)
    }
    chosen = load_encoder(encoder, folder, seed, device)
    prompts = choose_prompts(chosen, splits.classes, labels, templates, seed)
    texts = prompts.features(chosen, progress=True)
    found = train_laid(texts, chosen.name, seed, steps, device=device)
    found.save(folder / "laid.safetensors")
    shown, named = shown_sets(splits, shifted, seed), prompts.plain(splits.classes)
    table = zero_shot_table(chosen, named, shown, {"PCA": text_pca(texts), "LAID": found})
    write_text(folder / "table3.csv", table.to_csv(index=False))
    echo(f"{describe(table)}\n\nlargest |W'W - I|: {found.error:.1e}")
    echo(f"{folder / 'laid.safetensors'}\n{folder / 'table3.csv'}")


def measure(
    laid: Annotated[Path, Argument(metavar="LAID", help="The folder that shift laid wrote.")],
    path: Annotated[Path, Argument(metavar="PATH", help="A competition, or a folder of folders of images.")],
    out: Annotated[Path, Option(dir_okay=False, help="The CSV file to write.")],
    encoder: EncoderSpec = "embedded",
    source: Annotated[
        str, Option(help="For a folder: the source whose training images are the ID images.")
    ] = "glyphs",
    images: Annotated[
        int, Option(min=1, help="For a folder: largest number of images from each of its folders.")
    ] = 1000,
    neighbour: Annotated[
        int, Option(min=1, help="k: a shift is the distance to the k-th nearest ID image.")
    ] = 10,
    seed: Annotated[int, Option(min=0, help="For a folder: seed of the draw of images.")] = 0,
    data_root: DataRoot = None,
    device: Device = "cpu",
) -> None:
    """Measure each image's shift in meaning and in style.

    Writes a CSV (set,row,semantic,covariate) of distances from the ID images. The ID images of a competition
    are its unlabelled training images.

    Example: unseen shift measure laid unseen-demo --out degrees.csv
    """
    from starter.shift.ruler import read_laid
    from starter.studies.degrees import degree_table, measured_sets
    from submission.files import write_text

    chosen, matrix = read_laid(laid, encoder, device)
    known, sets = measured_sets(path, source, data_root, seed, images)
    table = degree_table(chosen, matrix, known, sets, neighbour, device)
    write_text(out, table.to_csv(index=False, float_format="%.6f"))
    echo(f"{table.groupby('set', sort=False)[['semantic', 'covariate']].mean().round(3)}\n\n{out}")


def grid(
    folder: Folder,
    encoder: EncoderSpec = "embedded",
    laid: Annotated[
        str, Option(metavar="LAID", help="The folder that `unseen shift laid` wrote. [trained here]")
    ] = "",
    classifier: Annotated[str | None, Option(help="A classifier of the competition. [the first]")] = None,
    detector: Annotated[Many, Option(help="An OOD detector, such as msp. Repeatable. [all]")] = None,
    ood: Annotated[
        str, Option(help="A folder or zip with a folder for each OOD data set. [embedded ones]")
    ] = "",
    exclude: Annotated[Many, Option(help="An OOD set to leave out. Repeatable.")] = None,
    only_ood: Annotated[
        bool,
        Option("--only-ood", help="Use shifted OOD images only; else a quarter are of the ID classes."),
    ] = False,
    group: Annotated[
        str, Option(help="Group of operations: corruptions, default, a, b, wide.")
    ] = "corruptions",
    images: Annotated[int, Option(help="Approximate number of shifted images.")] = 20_000,
    levels: Annotated[int, Option(help="Number of levels of each axis.")] = 8,
    least: Annotated[int, Option(help="Smallest number of images of a cell that is evaluated.")] = 10,
    seed: Annotated[int, Option(help="Seed of the shifted images and of all training.")] = 0,
    out: Annotated[Path | None, Option(file_okay=False, help="The folder to write to. [DIR/grid]")] = None,
    network: Network = None,
    device: Device = "cpu",
) -> None:
    """Show how well OOD detectors do as shifts grow.

    Shifts grow in meaning and in style (Long et al. 2024). Computes AUROC, FPR@95 and AUPR in every cell, and
    correlation and sensitivity along both axes. Writes CSV and PNG files and report.html. After an
    interruption the same command continues.

    Example: unseen shift grid contest --images 10000
    """
    from starter.classifiers import use_network
    from starter.shift.ruler import open_laid
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
    run = run_grid(competition, partial(open_laid, encoder, laid), asked, device)
    echo(f"{summary(run)}\n\n{write_grid(run, out or folder / 'grid')}")


def failure(
    folder: Folder,
    names: Annotated[
        Many,
        Argument(
            metavar="[DETECTOR]...",
            help="OOD detectors; the others are compared with the first. [those of the competition]",
        ),
    ] = None,
    shifted: Annotated[
        list[Path] | None, Option(help="A path of natural-shift sets of the IND classes. Repeatable.")
    ] = None,
    images: Annotated[
        int, Option(min=20, help="Largest number of images per corruption and per natural-shift set.")
    ] = 400,
    network: Network = None,
    device: Device = "cpu",
) -> None:
    """Show whether detectors find new classes or errors.

    Computes the tables of the ImageNet-OOD paper, and misclassification detection, from the public images of
    an OOD competition and from corrupted ones. Writes CSV and PNG files to DIR/failure.

    Example: unseen detectors failure mixes msp energy knn
    """
    from starter.classifiers import use_network
    from starter.studies.failure_report import failure_report, report_text

    for spec in network or ():
        use_network(spec)
    tables, paths = failure_report(Competition.open(folder), names or [], shifted or [], images, device)
    echo("\n".join((report_text(tables), "", *map(str, paths))))


def sanity(
    names: Annotated[
        Many,
        Argument(
            metavar="[DETECTOR]...",
            help="OOD detectors, such as msp or vim. [all that need only an Observation]",
        ),
    ] = None,
    arch: Annotated[
        str, Option(help="Architecture of the networks: small, resnet56, ..., or module:function.")
    ] = "small",
    source: Annotated[str, Option(help="The source of the IND images, as for build.")] = "glyphs",
    ood: Annotated[
        Path | None,
        Option(
            help="A folder or zip with a folder for each OOD data set, in addition to corrupted IND images."
        ),
    ] = None,
    images: Annotated[int, Option(min=50, help="Largest number of images of a set.")] = 500,
    initialisations: Annotated[int, Option(min=1, help="Number of random networks.")] = 5,
    seed: Annotated[int, Option(min=0, help="Seed of everything random.")] = 0,
    out: Annotated[
        Path,
        Option(dir_okay=False, help="The CSV file to write, with a row for each detector, set and network."),
    ] = Path("sanity.csv"),
    data_root: DataRoot = None,
    network: Network = None,
    device: Device = "cpu",
) -> None:
    """Run OOD detectors on random networks.

    A random network knows no classes, so a true detector of new classes has an AUROC of 0.5 on it.

    Example: unseen detectors sanity msp energy vim --images 200
    """
    from starter.classifiers import use_network
    from starter.images.reading import Fit
    from starter.sources.oodsets import load_ood_sets
    from starter.sources.sources import load_source
    from starter.studies.sanity import chosen, sanity_table, shown
    from starter.studies.sanity import sanity as run
    from submission.files import write_text
    from submission.random import SANITY

    for spec in network or ():
        use_network(spec)
    detectors, splits = chosen(names or []), load_source(source, data_root, seed)
    others = load_ood_sets(str(ood), (), Fit(splits.image_size), (), images, seed, SANITY) if ood else {}
    found = run(
        arch, splits.classes, shown(splits, others, images, seed), detectors, initialisations, seed, device
    )
    write_text(out, found.to_csv(index=False))
    echo(f"{sanity_table(found)}\n\n{out}")
