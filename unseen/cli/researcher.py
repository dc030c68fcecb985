"""The command `ablate`; the other commands of researchers are functions of the library."""

from typing import TYPE_CHECKING

from typer import echo

from unseen.cli.options import Many

if TYPE_CHECKING:
    from submission.competition import Competition


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
