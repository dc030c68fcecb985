"""The commands of a researcher: tables of papers, classes by meaning, shifts and detectors."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from typer import echo

from submission.errors import UnusableInput
from unseen.cli import options
from unseen.cli.options import Many

if TYPE_CHECKING:
    from starter.studies.study import Study
    from starter.wordnet.manifest import ClassEntry
    from submission.competition import Competition


def classes_similarity(
    *,
    out: Path,
    candidates: Many,
    known: str = "cifar10",
    threshold: float = 0.45,
    near: float = 0.6,
    hyponyms: bool = False,
    overrides: Path | None = None,
    matches: Path | None = None,
    wordnet: Path | None = None,
) -> None:
    """Assign classes by distance to the nearest ID class.

    The manifest assigns each class to ID, near OOD or far OOD by its place in WordNet. Lists are named
    cifar10, imagenet-1k, imagenet-21k and imagenet-21k-p; a file has one label or WordNet id per line.

    Example: unseen classes similarity --id cifar10 --candidates tiny_imagenet.zip --out manifest.csv

    Options:
        out (FILE): The manifest to write, a CSV file.
        threshold: Largest distance of a class that is ID.
        near: Largest distance of a class that is near OOD.
        hyponyms: Count all kinds of an ID class as ID.
    """
    from starter.wordnet import assign, labels

    taxonomy, lists = labels.match_all(known, candidates, overrides, matches, wordnet)
    found = assign.similarity_benchmark(taxonomy, lists[0], lists[1:], threshold, near, hyponyms)
    _write(out, [each.describe() for each in lists], found)


def classes_pruning(
    *,
    out: Path,
    candidates: Many,
    known: str = "cifar10",
    exclude: Many = (),
    overrides: Path | None = None,
    matches: Path | None = None,
    wordnet: Path | None = None,
) -> None:
    """Drop classes that could be mistaken for an ID class.

    The manifest assigns the classes that are left to near and far OOD by their place in WordNet. Lists and
    files are those of `unseen classes similarity`.

    Example: unseen classes pruning --id cifar10 --candidates tiny_imagenet.zip --out manifest.csv

    Options:
        out (FILE): The manifest to write, a CSV file.
        exclude: A synset to drop, or none. [organism.n.01]
    """
    from starter.wordnet import assign, labels

    taxonomy, lists = labels.match_all(known, candidates, overrides, matches, wordnet)
    left_out = [name for name in exclude or [assign.ORGANISM] if name != "none"]
    entries = assign.prune(taxonomy, lists[0], lists[1:], left_out)
    _write(out, [*(each.describe() for each in lists), f"\n{assign.steps_text(entries)}"], entries)


def _write(out: Path, lines: Sequence[str], entries: "Sequence[ClassEntry]") -> None:
    """Write the manifest, and print what was matched and a summary."""
    from starter.wordnet.manifest import summary, write_manifest

    write_manifest(out, entries)
    echo("\n".join((*lines, f"\n{summary(entries)}\n\n{out}")))
    options.tell_next("build", "DIR", "--track", "ood", "--classes", out, "--images", "FOLDER")


def classes_halves(
    manifest: Path, *, images: Path, out: Path, limit: int | None = None, id_up_to: str = "", seed: int = 0
) -> None:
    """Draw validation and test halves from a class manifest.

    Each half has as many ID as OOD images, drawn as evenly from the classes as possible. Labels are 0 for ID
    and 1 for OOD.

    Example: unseen classes halves manifest.csv --images . --out halves --limit 1000

    Options:
        limit: Largest number of ID images in a half. [all]
        id_up_to (T1|T2): ID up to oodness 1 (T1) or 2 (T2). [as assigned]
    """
    from starter.wordnet.images import write_halves
    from starter.wordnet.manifest import read_manifest

    lines = write_halves(read_manifest(manifest, id_up_to), images, out, limit, seed)
    echo("\n".join((*lines, str(out))))


def classes_graph(
    manifest: Path,
    *,
    images: Path,
    classifier: str,
    known: str = "cifar10",
    wordnet: Path | None = None,
    device: str = "cpu",
) -> "Study":
    """Draw which ID classes a manifest's images are taken for.

    Classifies the images of the manifest's other classes, and measures the similarity in meaning between a
    class and the classes predicted for its images. Writes CSV and PNG files to --out. [confusions]

    Example: unseen classes graph manifest.csv --images . --classifier small=small.safetensors --out taken

    Options:
        classifier: NAME=WEIGHTS of a classifier of the ID classes, as for build.
        known: The source of the classifier's classes.
    """
    from starter.studies.confusions import graph_study
    from starter.wordnet.manifest import read_manifest
    from starter.wordnet.wordnet import load_wordnet

    entries, taxonomy = read_manifest(manifest), load_wordnet(wordnet)
    return graph_study(taxonomy, entries, known, classifier, images, device)


def shift_encoder(sources: Many, *, out: Path, seed: int = 0, data_root: Path | None = None) -> None:
    """Train a small encoder of photographs for shift laid.

    It learns from captions that name an image's class and the operation applied to it. 52,000 images take
    eight minutes of processor time. (The encoder of the embedded digits is trained when it is used.)

    Example: unseen shift encoder cifar10.zip cifar100.zip --out encoder.safetensors

    Options:
        sources (SOURCE): Sources, as for build.
        out: The .safetensors file to write.
    """
    from starter.encoders.two_tower import photo_encoder
    from starter.sources.sources import load_source

    if out.exists():
        raise UnusableInput(f"{out} exists already: name another file, or take it away")
    splits = [load_source(source, data_root, seed) for source in sources]
    found = photo_encoder([(each.train, each.classes) for each in splits], out, seed)
    echo(f"{found.name}: {len(found.phrases[0])} classes\n{out}")


def shift_laid(
    folder: Path,
    *,
    encoder: str = "embedded",
    source: str = "glyphs",
    labels: Path | None = None,
    templates: Path | None = None,
    natural: Many = (),
    steps: int = 1000,
    seed: int = 0,
    data_root: Path | None = None,
    device: str = "cpu",
) -> "Study":
    """Separate an encoder's features into meaning and style.

    Writes LAID/laid.safetensors, for the other shift commands, and table3.csv, the zero-shot accuracy with
    each part of the features, by LAID and PCA. The embedded encoder is trained first, for a minute.

    Example: unseen shift laid laid

    Options:
        folder (LAID): The folder of the matrix.
        templates: Texts with "{}" for the meaning, one a line.
        natural: Natural-shift sets, as --val-from.
        steps: Number of training steps.
    """
    from starter.studies.zeroshot import laid_study

    return laid_study(folder, encoder, source, labels, templates, natural, steps, seed, data_root, device)


def shift_measure(
    laid: Path,
    path: Path,
    *,
    encoder: str = "embedded",
    source: str = "glyphs",
    images: int = 1000,
    seed: int = 0,
    data_root: Path | None = None,
    device: str = "cpu",
) -> "Study":
    """Measure each image's shift in meaning and in style.

    Writes degrees.csv (set,row,semantic,covariate) to --out: distances from a competition's unlabelled
    training images, or from those of --source. [degrees]

    Example: unseen shift measure laid unseen-demo

    Options:
        path: A competition, or a folder of folders of images.
        images: Largest number of images from each folder.
    """
    from starter.studies.grid import measure_degrees

    return measure_degrees(laid, path, encoder, source, images, seed, data_root, device)


def shift_grid(
    competition: "Competition",
    *,
    encoder: str = "embedded",
    laid: str = "",
    classifier: str | None = None,
    detectors: Many = (),
    ood: str = "",
    exclude: Many = (),
    only_ood: bool = False,
    group: str = "corruptions",
    images: int = 20_000,
    seed: int = 0,
    device: str = "cpu",
) -> "Study":
    """Show how well OOD detectors do as shifts grow.

    Shifts grow in meaning and in style (Long et al. 2024). Computes AUROC, FPR@95 and AUPR in every cell of
    8 x 8 levels, and correlation and sensitivity along both axes. Writes CSV and PNG files to --out. After an
    interruption the same command continues. [DIR/grid]

    Example: unseen shift grid contest --images 10000

    Options:
        laid: The folder that `unseen shift laid` wrote. [trained here]
        classifier: A classifier of the competition. [the first]
        detectors: An OOD detector, such as msp. [all]
        ood: A folder or zip with a folder for each OOD set. [embedded]
        exclude: An OOD set to leave out.
        only_ood: Shift no images of the ID classes.
        group: Operations: corruptions, default, a, b, wide.
        images: Approximate number of shifted images.
    """
    from starter.studies.grid import grid_study

    sets = ood, exclude, only_ood, group, images
    return grid_study(competition, encoder, laid, classifier, detectors, *sets, seed, device)


def shift_generate(
    out: Path,
    *,
    laid: Path,
    generator: str = "glyphs",
    labels: Path | None = None,
    styles: Path | None = None,
    per_cell: int = 5000,
    encoder: str = "embedded",
    source: str = "glyphs",
    licence: str = "",
    seed: int = 0,
    data_root: Path | None = None,
    device: str = "cpu",
) -> None:
    """Generate images whose shift grows step by step (Syn-IS).

    Every label is combined with every style. Writes a folder of images for each cell of the 8 x 8 grid of
    shifts in meaning and style, prompts.csv and DATASHEET.md. Run again to continue.

    Example: unseen shift generate synis --laid laid --per-cell 20

    Options:
        out: A new folder, or one of an interrupted run.
        generator: glyphs, or module:function (runs its code).
        styles: A CSV (name,prompt,negative). [the paper's 51]
        per_cell: Number of images per cell.
        licence: Licence of the images, for the datasheet.
    """
    from starter.synis.synis import synis

    prompts = generator, labels, styles, per_cell
    grid = synis(out, laid, *prompts, encoder, source, licence, seed, data_root, device)
    cells = int((grid.counts > 0).sum())
    echo(f"{cells * per_cell:,} images in {cells} of {grid.counts.size} cells\n{out / 'DATASHEET.md'}")


def detectors_failure(
    competition: "Competition",
    names: Many = (),
    *,
    shifted: Sequence[Path] = (),
    images: int = 400,
    device: str = "cpu",
) -> "Study":
    """Show whether detectors find new classes or errors.

    Computes the tables of the ImageNet-OOD paper, and misclassification detection, from the public images of
    an OOD competition and from corrupted ones. Writes CSV and PNG files to --out. [DIR/failure]

    Example: unseen detectors failure mixes msp energy knn

    Options:
        names (DETECTOR): The first is compared with.
        shifted: Natural-shift sets, as --val-from.
        images: Largest number of images per shift and set.
    """
    from starter.studies.failure_study import failure_study

    return failure_study(competition, names, shifted, images, device)


def detectors_sanity(
    names: Many = (),
    *,
    arch: str = "small",
    source: str = "glyphs",
    ood: Path | None = None,
    images: int = 500,
    initialisations: int = 5,
    seed: int = 0,
    data_root: Path | None = None,
    device: str = "cpu",
) -> "Study":
    """Run OOD detectors on random networks.

    A random network knows no classes, so a true detector of new classes has an AUROC of 0.5 on it. Writes
    sanity.csv to --out. [sanity]

    Example: unseen detectors sanity msp energy vim --images 200

    Options:
        names (DETECTOR): Such as msp or vim.
        arch: Architecture: small, resnet56, ..., or module:function.
        ood: A folder or zip with a folder for each OOD set.
        images: Largest number of images of a set.
        initialisations: Number of random networks.
    """
    from starter.studies.sanity import sanity

    return sanity(names, arch, source, ood, images, initialisations, seed, data_root, device)


def ablate(
    competition: "Competition",
    *,
    table: str,
    changes: Many = (),
    seeds: int = 1,
    splits: int = 0,
    device: str = "cpu",
    cluster: str | None = None,
    cache: str = "",
) -> None:
    """Reproduce a table of the SYP or the Gscore paper.

    Tables of the SYP paper use the labelled validation sets; those of the Gscore paper, in the OOD track, use
    the meta-train mixes and leave each family out in turn. Writes a CSV and a PNG to DIR/ablation. After an
    interruption the same command continues. --set applies to every row.

    Example: unseen ablate contest --table 4 --set ora-a.iterations=300 --set ora-a.batch_size=100

    Options:
        table: SYP: 1 to 5, fig10; Gscore: 1, 2, 4, fig3, ...; near-far.
        seeds: Number of seeds with which each oracle is trained.
        splits: OOD track: more random splits (paper: 5).
    """
    from starter.competition.cluster import connected
    from starter.observing.cache import place_cache

    if cache:
        place_cache(competition.root, cache)
    with connected(cluster) as workers:
        if competition.track == "accuracy":
            from baselines import BASELINES
            from baselines.run.choose import choose
            from oracle import ORACLES
            from oracle import ablate as syp_tables

            chosen = choose(syp_tables.METHODS, changes, {**BASELINES, **ORACLES})
            found, paths = syp_tables.ablate(competition, table, chosen, seeds, device, cluster=workers)
            lines = [syp_tables.table_text(found), "", *map(str, paths)]
        else:
            from baselines.report import gscore

            frame, paths = gscore.ablate(competition, table, splits, device, workers)
            lines = [gscore.table_text(table, frame), "", *map(str, paths)]
    echo("\n".join(lines))
