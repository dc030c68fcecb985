"""Classes by their meaning: which of them are ID, near or far OOD, or dropped, and halves drawn from them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option, echo

from submission.options import IdUpTo, Many, WordNetFolder, tell_next

if TYPE_CHECKING:
    from starter.meaning.labels import Matches
    from starter.meaning.manifest import ClassEntry
    from starter.meaning.wordnet import WordNet

ManifestFile = Annotated[Path, Option("--out", help="The manifest to write, a CSV file.")]
Candidates = Annotated[
    list[str], Option(help="Classes to assign; may be repeated. A list's name, a file or class folders.")
]
Known = Annotated[str, Option("--id", help="The ID classes, named in the same way.")]
OverridesFile = Annotated[
    Path | None, Option(help="A CSV with label,synset for labels that are matched wrongly or not at all.")
]
MatchesFile = Annotated[
    Path | None,
    Option(help="Also write how labels were matched, with other senses: edit it for --overrides."),
]


def similarity(
    out: ManifestFile,
    candidates: Candidates,
    known: Known = "cifar10",
    threshold: Annotated[float, Option(help="The distance to an ID class up to which a class is ID.")] = 0.45,
    near: Annotated[float, Option(help="The distance up to which a class is near.")] = 0.6,
    hyponyms: Annotated[
        bool, Option("--hyponyms", help="What is a kind of an ID class is ID at any distance.")
    ] = False,
    overrides: OverridesFile = None,
    matches: MatchesFile = None,
    wordnet: WordNetFolder = None,
) -> None:
    """Assign by the distance to the nearest ID class.

    The manifest says which classes are ID, near or far OOD, or dropped, by their place in WordNet. A list's
    name is cifar10, imagenet-1k, imagenet-21k or imagenet-21k-p; a file has a label or an id a line.

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
        Many, Option(help="A synset below which all is dropped, or none; may be repeated. [organism.n.01]")
    ] = None,
    overrides: OverridesFile = None,
    matches: MatchesFile = None,
    wordnet: WordNetFolder = None,
) -> None:
    """Drop the classes that an ID class may be taken for.

    The manifest says which classes are ID, near or far OOD, or dropped, by their place in WordNet. A list's
    name is cifar10, imagenet-1k, imagenet-21k or imagenet-21k-p; a file has a label or an id a line.

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
    """Returns WordNet, and the ID classes and the candidates with their synsets; how they match is told."""
    from starter.meaning.labels import match_all, read_overrides, write_matches
    from starter.meaning.wordnet import load_wordnet

    taxonomy = load_wordnet(wordnet)
    named, *pool = match_all(taxonomy, [known, *candidates], read_overrides(overrides) if overrides else {})
    echo("\n".join(source.describe() for source in (named, *pool)))
    if matches:
        write_matches(matches, taxonomy, [named, *pool])
    return taxonomy, named, pool


def _write(out: Path, entries: "Sequence[ClassEntry]") -> None:
    """Write the manifest, and tell what is in it."""
    from starter.meaning.manifest import summary, write_manifest

    write_manifest(out, entries)
    echo(f"\n{summary(entries)}\n\n{out}")
    tell_next("build", "DIR", "--track", "ood", "--classes", out, "--images", "FOLDER")


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
    """Draw validation and test halves from a class manifest.

    Each has as many ID as OOD images, as evenly from the classes as can be. Labels: 0 for ID, 1 for OOD.

    Example: unseen classes halves manifest.csv --images . --out halves --limit 1000
    """
    from starter.meaning.images import write_halves
    from starter.meaning.oodsets import manifest_entries

    entries = manifest_entries(manifest, id_up_to)
    lines = write_halves(entries, images, out, (size, size) if size else None, limit, seed)
    echo("\n".join((*lines, str(out))))
