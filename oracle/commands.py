"""The tables of the papers, reproduced."""

from typing import Annotated

from typer import Option, echo

from submission import Competition, UnusableInput
from submission.options import Changes, Device, Folder, Many


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
    """Reproduce a table of the SYP or the Gscore paper.

    SYP's are made on the labelled validation sets; in the OOD track Gscore's on the meta-train mixes, of
    families left out: a CSV and a PNG in DIR/ablation. The former trains many oracles; interrupted, the same
    command goes on. What --set changes holds for every row.

    Example: unseen ablate contest --table 4 --set ora-a.iterations=300 --set ora-a.batch_size=100
    """
    competition = Competition.open(folder)
    echo(PAPERS[competition.track](competition, table, settings, seeds, splits, subject or [], device))


def _syp_table(
    competition: Competition,
    table: str,
    settings: Many,
    seeds: int,
    splits: int,
    subjects: list[str],
    device: str,
) -> str:
    """A table of the SYP paper, and where it is."""
    from baselines import BASELINES
    from baselines.run.choose import choose
    from oracle import ORACLES
    from oracle.ablate import METHODS, ablate

    if subjects:
        raise UnusableInput("--subject is for the OOD track: this competition is of the accuracy track")
    if splits:
        raise UnusableInput(
            "--splits is for the Gscore paper's tables: this competition is of the accuracy track"
        )
    found = ablate(
        competition, table, choose(METHODS, settings or [], {**BASELINES, **ORACLES}), seeds, device
    )
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


PAPERS = {"accuracy": _syp_table, "ood": _gscore_table}
"""Whose tables a competition of each track has."""
