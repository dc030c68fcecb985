"""The commands of a researcher that are more than one function of the library (`unseen.cli.library`)."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from typer import echo

from unseen.cli import options
from unseen.cli.options import Many

if TYPE_CHECKING:
    from submission.competition import Competition


def classes_assign(
    *,
    out: Path,
    candidates: Many,
    known: str = "cifar10",
    rule: Literal["similarity", "pruning"] = "similarity",
    threshold: float = 0.45,
    near: float = 0.6,
    hyponyms: bool = False,
    exclude: Many = (),
    overrides: Path | None = None,
    matches: Path | None = None,
    wordnet: Path | None = None,
) -> None:
    """Write a class manifest: ID, near OOD and far OOD by WordNet.

    Similarity assigns each class by its distance to the nearest ID class. Pruning drops classes that could
    be mistaken for an ID class. Lists are named cifar10, imagenet-1k, imagenet-21k and imagenet-21k-p; a file
    has one label or WordNet id per line.

    Example: unseen classes assign --id cifar10 --candidates tiny_imagenet.zip --out manifest.csv

    Options:
        out (FILE): The manifest to write, a CSV file.
        rule: The rule that assigns classes.
        threshold: Similarity: largest distance of a class that is ID.
        near: Similarity: largest distance of a class that is near OOD.
        hyponyms: Similarity: count all kinds of an ID class as ID.
        exclude: Pruning: a synset to drop, or none. [organism.n.01]
    """
    from starter.wordnet import assign, labels
    from starter.wordnet.manifest import summary, write_manifest

    taxonomy, (own, *others) = labels.match_all(known, candidates, overrides, matches, wordnet)
    lines = [each.describe() for each in (own, *others)]
    if rule == "similarity":
        entries = assign.similarity_benchmark(taxonomy, own, others, threshold, near, hyponyms)
    else:
        left_out = [name for name in exclude or [assign.ORGANISM] if name != "none"]
        entries = assign.prune(taxonomy, own, others, left_out)
        lines.append(f"\n{assign.steps_text(entries)}")
    write_manifest(out, entries)
    echo("\n".join((*lines, f"\n{summary(entries)}\n\n{out}")))
    options.tell_next("build", "DIR", "--track", "ood", "--classes", out, "--images", "FOLDER")


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
