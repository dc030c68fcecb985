"""The commands `classes similarity`, `classes pruning` and `classes halves`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option, echo

from submission.options import IdUpTo, Many, WordNetFolder, tell_next

if TYPE_CHECKING:
    from starter.meaning.labels import Matches
    from starter.meaning.manifest import ClassEntry
    from starter.meaning.wordnet import WordNet

ManifestFile = Annotated[Path, Option("--out", dir_okay=False, help="The manifest to write, a CSV file.")]
Candidates = Annotated[
    list[str], Option(help="Classes to assign: the name of a list, a file or class folders. Repeatable.")
]
Known = Annotated[str, Option("--id", help="The ID classes: the name of a list, a file or class folders.")]
OverridesFile = Annotated[
    Path | None, Option(help="A CSV (label,synset) for labels that are matched wrongly or not at all.")
]
MatchesFile = Annotated[
    Path | None,
    Option(
        dir_okay=False,
        help="Also write the match of every label, with its other senses; edit it for --overrides.",
    ),
]


def similarity(
    out: ManifestFile,
    candidates: Candidates,
    known: Known = "cifar10",
    threshold: Annotated[
        float, Option(help="Largest distance from an ID class at which a class is ID.")
    ] = 0.45,
    near: Annotated[float, Option(help="Largest distance at which a class is near OOD.")] = 0.6,
    hyponyms: Annotated[
        bool, Option("--hyponyms", help="Count every kind of an ID class as ID, at any distance.")
    ] = False,
    overrides: OverridesFile = None,
    matches: MatchesFile = None,
    wordnet: WordNetFolder = None,
) -> None:
    """Assign classes by distance to the nearest ID class.

    The manifest assigns each class to ID, near OOD or far OOD, or drops it, by its place in WordNet. Lists
    are named cifar10, imagenet-1k, imagenet-21k and imagenet-21k-p; a file has one label or WordNet id per
    line.

    Example: unseen classes similarity --id cifar10 --candidates tiny_imagenet.zip --out manifest.csv
    """
    from starter.meaning.assign import similarity_benchmark

    taxonomy, named, pool = _matched(known, candidates, overrides, matches, wordnet)
    _write(out, similarity_benchmark(taxonomy, named, pool, threshold, near, hyponyms))


def pruning(
    out: ManifestFile,
    candidates: Candidates,
    known: Known = "cifar10",
    exclude: Annotated[
        Many,
        Option(help="A synset whose hyponyms are all dropped, or none. Repeatable. [organism.n.01]"),
    ] = None,
    overrides: OverridesFile = None,
    matches: MatchesFile = None,
    wordnet: WordNetFolder = None,
) -> None:
    """Drop classes that could be mistaken for an ID class.

    The manifest assigns each class to ID, near OOD or far OOD, or drops it, by its place in WordNet. Lists
    are named cifar10, imagenet-1k, imagenet-21k and imagenet-21k-p; a file has one label or WordNet id per
    line.

    Example: unseen classes pruning --id cifar10 --candidates tiny_imagenet.zip --out manifest.csv
    """
    from starter.meaning.assign import ORGANISM, prune

    taxonomy, named, pool = _matched(known, candidates, overrides, matches, wordnet)
    pruned = prune(taxonomy, named, pool, [name for name in exclude or [ORGANISM] if name != "none"])
    echo(f"\n{pruned.describe()}")
    _write(out, pruned.entries)


def _matched(
    known: str,
    candidates: Sequence[str],
    overrides: Path | None,
    matches: Path | None,
    wordnet: Path | None,
) -> "tuple[WordNet, Matches, list[Matches]]":
    """Returns WordNet, the ID classes and the candidates with their synsets; prints how they were matched."""
    from starter.meaning.labels import match_all, read_overrides, write_matches
    from starter.meaning.wordnet import load_wordnet

    taxonomy = load_wordnet(wordnet)
    named, *pool = match_all(taxonomy, [known, *candidates], read_overrides(overrides) if overrides else {})
    echo("\n".join(source.describe() for source in (named, *pool)))
    if matches:
        write_matches(matches, taxonomy, [named, *pool])
    return taxonomy, named, pool


def _write(out: Path, entries: "Sequence[ClassEntry]") -> None:
    """Write the manifest, and print a summary."""
    from starter.meaning.manifest import summary, write_manifest

    write_manifest(out, entries)
    echo(f"\n{summary(entries)}\n\n{out}")
    tell_next("build", "DIR", "--track", "ood", "--classes", out, "--images", "FOLDER")


def halves(
    manifest: Annotated[Path, Argument(metavar="MANIFEST", help="A class manifest.")],
    images: Annotated[
        Path, Option(help="The folder with SOURCE/CLASS/ or SOURCE.zip for each source in MANIFEST.")
    ],
    out: Annotated[
        Path, Option(file_okay=False, help="The folder for validation.npz, test.npz and classes.csv.")
    ],
    limit: Annotated[
        int | None, Option(min=1, help="Largest number of ID, and of OOD, images in a half. [all]")
    ] = None,
    size: Annotated[
        int | None, Option(min=8, help="Resize images to SIZE x SIZE pixels. [unchanged]")
    ] = None,
    id_up_to: IdUpTo = "",
    seed: Annotated[int, Option(min=0, help="Seed of the draw.")] = 0,
) -> None:
    """Draw validation and test halves from a class manifest.

    Each half has as many ID as OOD images, drawn as evenly from the classes as possible. Labels are 0 for ID
    and 1 for OOD.

    Example: unseen classes halves manifest.csv --images . --out halves --limit 1000
    """
    from starter.meaning.images import write_halves
    from starter.meaning.oodsets import manifest_entries

    entries = manifest_entries(manifest, id_up_to)
    lines = write_halves(entries, images, out, (size, size) if size else None, limit, seed)
    echo("\n".join((*lines, str(out))))
