"""The commands of a researcher: tables of papers, manifests of classes, shifts and studies of detectors."""

from pathlib import Path
from typing import Annotated

from typer import Option, echo

from submission.errors import UnusableInput
from unseen.cli import options
from unseen.cli.options import Contest, Device, Network, StudyFolder, argument, number, option, path, text


def compare(
    scores: Annotated[Path, argument("SCORES", "The table, items x systems.")],
    *,
    families: Annotated[str, option("COLUMN", "What items share, such as their source.")] = "",
    lower: Annotated[bool, Option("--lower", help="Lower is better, as for errors.")] = False,
    as_json: options.Json = False,
) -> None:
    """Say which of a benchmark's systems can be told apart.

    The file is a CSV, by commas or tabs, with a row for each item and a column of numbers for each system, or
    with a row for each item and system; or such rows as JSON lines. A first column of texts, or named as item
    or doc_id, names the items. Prints each system's mean with its interval, which pairs a paired test tells
    apart after Holm's correction, and the difference that so many items can resolve.

    Example: unseen compare scores.csv --families subject
    """
    from leaderboard.compare import compare as report

    echo(report(scores, families=families, lower=lower, as_json=as_json))


def ablate(
    competition: Contest,
    *,
    table: Annotated[str, text("SYP: 1 to 5, 2-test, fig4, fig6, fig10; Gscore: 1, 2, fig3, ...; near-far.")],
    changes: options.Changes = [],
    seeds: Annotated[int, number("Number of seeds with which each oracle is trained.", least=1)] = 1,
    splits: Annotated[int, number("OOD track: more random splits (paper: 5).")] = 0,
    device: Device = "cpu",
    cluster: options.Cluster = None,
    cache: options.Cache = "",
    debug: options.Debug = False,
    network: Network = [],
) -> None:
    """Reproduce a table of the SYP or the Gscore paper.

    Tables of the SYP paper use the labelled validation sets, 2-test an organizer's hidden test sets, fig4 the
    meta-train sets; those of the Gscore paper, in the OOD track, use the meta-train mixes and leave each
    family out in turn. Writes a CSV and PNGs to DIR/ablation. After an interruption the same command
    continues. --set applies to every row.

    Example: unseen ablate contest --table 4 --set ora-a.iterations=300 --set ora-a.batch_size=100
    """
    echo(f"Table {table}: every row is fitted, and the sets are observed where they were not.", err=True)

    from starter.contest.cluster import connected
    from starter.observing.cache import place_cache

    if cache:
        place_cache(competition.root, cache)
    with connected(cluster) as workers:
        if competition.track == "accuracy":
            from baselines import BASELINES
            from baselines.run.choose import choose
            from oracle import ORACLES
            from oracle import ablate as syp_tables

            chosen = choose(syp_tables.METHODS, changes, {**BASELINES, **ORACLES}, device=device)
            found, paths = syp_tables.ablate(competition, table, chosen, seeds, device, cluster=workers)
            lines = [syp_tables.table_text(found), "", *map(str, paths)]
        else:
            from baselines.report import gscore

            frame, paths = gscore.ablate(competition, table, splits, device, workers)
            lines = [gscore.table_text(table, frame), "", *map(str, paths)]
    echo("\n".join(lines))


def classes_assign(
    *,
    out: Annotated[Path, option("FILE", "The manifest to write, a CSV file.")],
    candidates: Annotated[
        list[str], text("Classes to assign: a list, a file or folders. Repeatable.", "--candidates")
    ],
    known: Annotated[str, text("The ID classes: a list, a file or class folders.", "--id")] = "cifar10",
    rule: Annotated[str, text("The rule that assigns classes: similarity or pruning.")] = "similarity",
    threshold: Annotated[float, number("Similarity: largest distance of a class that is ID.")] = 0.45,
    hyponyms: Annotated[
        bool, Option("--hyponyms", help="Similarity: count all kinds of an ID class as ID.")
    ] = False,
    exclude: Annotated[
        list[str], text("Pruning: a synset to drop, or none. Repeatable. [organism.n.01]", "--exclude")
    ] = [],
    overrides: Annotated[Path | None, path("A CSV (label,synset) for labels without a match.")] = None,
    matches: Annotated[Path | None, path("Write matches here, for --overrides.")] = None,
    wordnet: options.Wordnet = None,
) -> None:
    """Write a class manifest: ID, near OOD and far OOD by WordNet.

    Similarity assigns each class by its distance to the nearest ID class. Pruning drops classes that could
    be mistaken for an ID class. Lists are named cifar10, imagenet-1k, imagenet-21k and imagenet-21k-p; a file
    has one label or WordNet id per line.

    Example: unseen classes assign --id cifar10 --candidates tiny_imagenet.zip --out manifest.csv
    """
    from starter.data.wordnet.assign import RULES, assign_classes
    from starter.data.wordnet.labels import match_all

    if rule not in RULES:
        raise UnusableInput(f"--rule {rule!r} is unknown; there are {', '.join(RULES)}")
    taxonomy, classes = match_all(known, candidates, overrides, matches, wordnet)
    echo(assign_classes(taxonomy, classes, out, rule, threshold, hyponyms=hyponyms, exclude=exclude))


def classes_halves(
    manifest: options.Manifest,
    *,
    images: options.Images,
    out: Annotated[Path, path("The folder to write to.")],
    limit: Annotated[int | None, number("Largest number of ID images in a half. [all]")] = None,
    id_up_to: Annotated[str, option("T1|T2", "ID up to oodness 1 (T1) or 2 (T2). [as assigned]")] = "",
    seed: options.Seed = 0,
) -> None:
    """Draw validation and test halves from a class manifest.

    Each half has as many ID as OOD images, drawn as evenly from the classes as possible. Labels are 0 for ID
    and 1 for OOD. Writes validation.npz, test.npz and classes.csv, which has the number of images of each
    class in either half, in their order.

    Example: unseen classes halves manifest.csv --images . --out halves --limit 1000
    """
    from starter.data.wordnet.images import write_halves

    echo(write_halves(manifest, images=images, out=out, limit=limit, id_up_to=id_up_to, seed=seed))


def classes_graph(
    manifest: options.Manifest,
    *,
    images: options.Images,
    classifier: Annotated[str, text("NAME=WEIGHTS of a classifier of the ID classes, as for build.")],
    known: Annotated[
        str, text("The source of the classifier's classes, in the order of its logits.", "--id")
    ] = "cifar10",
    wordnet: options.Wordnet = None,
    image_size: Annotated[
        int, number("Pixels of a side that the classifier expects. [the commonest size]")
    ] = 0,
    device: Device = "cpu",
    network: Network = [],
    out: StudyFolder = None,
) -> None:
    """Draw which ID classes a manifest's images are taken for.

    Classifies the images of the manifest's other classes, and measures the similarity in meaning between a
    class and the classes predicted for its images. Writes CSV and PNG files to --out. [confusions]

    Example: unseen classes graph manifest.csv --images . --classifier small=small.safetensors --out taken
    """
    from starter.studies.confusions import graph_study

    study = graph_study(
        manifest,
        images=images,
        classifier=classifier,
        known=known,
        wordnet=wordnet,
        image_size=image_size,
        device=device,
    )
    options.write_study(study, out)


def shift_encoder(
    sources: Annotated[list[str], argument("[SOURCE]...", "Sources, as for build.")],
    *,
    out: Annotated[Path, path("The .safetensors file to write.")],
    seed: options.Seed = 0,
) -> None:
    """Train a small encoder of photographs for shift laid.

    It learns from captions that name an image's class and the operation applied to it. 52,000 images take
    eight minutes of processor time. The source "glyphs" alone gives the encoder that comes with the kit.

    Example: unseen shift encoder cifar10.zip cifar100.zip --out encoder.safetensors
    """
    from starter.models.encoders.two_tower import photo_encoder

    echo(photo_encoder(sources, out=out, seed=seed))


def shift_laid(
    folder: Annotated[Path, argument("LAID", "The folder of the matrix.")],
    *,
    encoder: options.Encoder = "embedded",
    source: options.Source = "glyphs",
    labels: options.Labels = None,
    natural: Annotated[list[str], text("Natural-shift sets, as --val-from. Repeatable.", "--natural")] = [],
    steps: Annotated[int, number("Number of training steps.", least=1)] = 1000,
    seed: options.Seed = 0,
    device: Device = "cpu",
    network: Network = [],
    out: StudyFolder = None,
) -> None:
    """Separate an encoder's features into meaning and style.

    Writes LAID/laid.safetensors, for the other shift commands, and table3.csv, the zero-shot accuracy with
    each part of the features, by LAID and PCA.

    Example: unseen shift laid laid
    """
    from starter.studies.shift.laid import FILE
    from starter.studies.zeroshot import laid_study

    laid, study = laid_study(
        encoder=encoder, source=source, labels=labels, natural=natural, steps=steps, seed=seed, device=device
    )
    laid.save(folder / FILE)
    options.write_study(study, out or folder)


def shift_grid(
    competition: Contest,
    *,
    encoder: options.Encoder = "embedded",
    laid: Annotated[str, text("The folder that `unseen shift laid` wrote. [trained here]")] = "",
    classifier: Annotated[str | None, text("A classifier of the competition. [the first]")] = None,
    detectors: Annotated[
        list[str], text("An OOD detector, such as msp. Repeatable. [all]", "--detector")
    ] = [],
    ood: Annotated[str, text("Folders of OOD sets, or what shift generate wrote. [embedded]")] = "",
    group: Annotated[str, text("Operations: none, corruptions, a, b, wide. [none with --ood]")] = "",
    images: Annotated[int, number("Approximate number of shifted images.", least=1)] = 20_000,
    seed: options.Seed = 0,
    device: Device = "cpu",
    network: Network = [],
    out: StudyFolder = None,
) -> None:
    """Show how well OOD detectors do as shifts grow.

    Shifts grow in meaning and in style (Long et al. 2024). Computes AUROC, FPR@95 and AUPR in every cell of
    8 x 8 levels, and correlation and sensitivity along both axes. Half of the competition's base images are
    IND. Images of --ood stay as they are, those of shift generate in their cells; a --group of operations
    shifts the other half, too. Writes CSV and PNG files to --out. After an interruption the same command
    continues. [DIR/grid]

    Example: unseen shift grid contest --images 10000
    """
    from starter.studies.shift.study import Shifts, grid_study

    shifts = Shifts(ood=ood, group=group, images=images, seed=seed)
    study = grid_study(
        competition,
        shifts,
        encoder=encoder,
        laid=laid,
        classifier=classifier,
        detectors=detectors,
        device=device,
    )
    options.write_study(study, out)


def shift_generate(
    out: Annotated[Path, argument("OUT", "A new folder, or one of an interrupted run.")],
    *,
    laid: Annotated[Path, option("LAID", "The folder that `unseen shift laid` wrote.", "--laid")],
    generator: Annotated[str, text("glyphs, or module:function (runs its code).")] = "glyphs",
    labels: options.Labels = None,
    styles: Annotated[Path | None, path("A CSV (name,prompt,negative). [the paper's 51]")] = None,
    per_cell: Annotated[int, number("Number of images per cell.", least=1)] = 5000,
    encoder: options.Encoder = "embedded",
    source: options.Source = "glyphs",
    licence: Annotated[str, text("Licence of the images, for the datasheet.")] = "",
    seed: options.Seed = 0,
    device: Device = "cpu",
    network: Network = [],
) -> None:
    """Generate images whose shift grows step by step (Syn-IS).

    Every label is combined with every style. Writes a folder of images for each cell of the 8 x 8 grid of
    shifts in meaning and style, prompts.csv and DATASHEET.md. Run again to continue.

    Example: unseen shift generate synis --laid laid --per-cell 20
    """
    from starter.studies.synis import Request, synis

    request = Request(
        generator=generator, labels=labels, styles=styles, per_cell=per_cell, licence=licence, seed=seed
    )
    echo(synis(out, laid, request, encoder=encoder, source=source, device=device))


def detectors_failure(
    competition: Contest,
    names: Annotated[
        list[str], argument("[DETECTOR]...", "The first is compared with. [the competition's]")
    ] = [],
    *,
    shifted: Annotated[list[Path], path("Natural-shift sets, as --val-from. Repeatable.", "--shifted")] = [],
    images: Annotated[int, number("Largest number of images per shift and set.", least=1)] = 400,
    device: Device = "cpu",
    network: Network = [],
    out: StudyFolder = None,
) -> None:
    """Show whether detectors find new classes or errors.

    Computes the tables of the ImageNet-OOD paper, and misclassification detection, from the public images of
    an OOD competition and from corrupted ones. Writes CSV files to --out. [DIR/failure]

    Example: unseen detectors failure mixes msp energy knn
    """
    from starter.studies.failure_study import failure_study

    options.write_study(failure_study(competition, names, shifted=shifted, images=images, device=device), out)


def detectors_sanity(
    names: Annotated[list[str], argument("[DETECTOR]...", "Such as msp or vim.")] = [],
    *,
    arch: Annotated[str, text("Architecture: small, resnet56, ..., or module:function.")] = "small",
    source: options.Source = "glyphs",
    ood: Annotated[Path | None, path("A folder or zip with a folder for each OOD set.")] = None,
    images: Annotated[int, number("Largest number of images of a set.", least=1)] = 500,
    initialisations: Annotated[int, number("Number of random networks.", least=1)] = 5,
    seed: options.Seed = 0,
    device: Device = "cpu",
    network: Network = [],
    out: StudyFolder = None,
) -> None:
    """Run OOD detectors on random networks.

    A random network knows no classes, so a true detector of new classes has an AUROC of 0.5 on it. The sets
    are ID images under corruptions of severity 5, and OOD sets. Writes sanity.csv to --out. [sanity]

    Example: unseen detectors sanity msp energy vim --images 200
    """
    from starter.studies.sanity import sanity, sanity_sets

    sets = sanity_sets(source, ood, images, seed)
    options.write_study(sanity(*sets, names, arch=arch, count=initialisations, seed=seed, device=device), out)
