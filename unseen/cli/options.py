"""Arguments and options that several commands share, and the hint that names the usual next command.

Needs Typer only.
"""

import shlex
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Annotated

from typer import Argument, Option, echo

from submission.errors import printable

Many = list[str] | None
Folder = Annotated[Path, Argument(metavar="DIR", help="The competition's folder.")]
DemoFolder = Annotated[
    Path, Argument(metavar="[DIR]", help="A new folder, or the folder of an earlier demo.")
]
Predictions = Annotated[
    Path,
    Argument(metavar="FILE", help="A CSV with id,prediction, an answer.txt, or a zip with one of these."),
]
TrackName = Annotated[
    str, Option("--track", help="accuracy (of classifiers), or ood (metrics of OOD detectors).")
]
Device = Annotated[str, Option(help="The device that runs classifiers: cpu, cuda, cuda:1, mps.")]
Network = Annotated[
    Many, Option(help="module:function of a network of your own; the command runs its code. Repeatable.")
]
DataRoot = Annotated[
    Path | None, Option(help="The folder where a named source is, or to which it is downloaded.")
]
Workers = Annotated[
    str | None,
    Option(
        "--cluster",
        metavar="ADDRESS|local:N",
        help="A Dask cluster whose workers observe sets and fit the kit's methods. [this process]",
    ),
]
CachePlace = Annotated[
    str,
    Option("--cache", metavar="PATH|URL", help="Keep observations here, now and in later runs. [DIR/cache]"),
]
IdUpTo = Annotated[
    str,
    Option(
        metavar="T1|T2",
        help="Count a manifest's classes of oodness 0-1 (T1) or 0-2 (T2) as ID. [as assigned]",
    ),
]
EncoderSpec = Annotated[
    str,
    Option(
        "--encoder",
        help="embedded, a file, clip:MODEL=WEIGHTS, or module:function (the command runs its code).",
    ),
]
WordNetFolder = Annotated[
    Path | None,
    Option("--wordnet", help="The folder with WordNet 3.0's data.noun. [where system packages put it]"),
]
Names = Annotated[Many, Argument(metavar="[METHOD|module:Class]...", help="Methods of the kit, or your own.")]
Platform = Annotated[str, Argument(metavar="PLATFORM", help="codabench, kaggle or datacv.")]
AsJson = Annotated[bool, Option("--json", help="Print one JSON object, and nothing else.")]
Quiet = Annotated[bool, Option("--quiet", help="Print the result alone, in one line where it is one.")]
Start = Annotated[
    datetime | None, Option(formats=["%Y-%m-%d"], help="Codabench: the first day (UTC). [today]")
]
Changes = Annotated[
    Many, Option("--set", metavar="METHOD.PARAM=VALUE", help="Set a parameter of a method. Repeatable.")
]

Called = Annotated[
    Many,
    Option(
        "--as", metavar="NAME", help="A name for each METHOD, in the same order; --set then uses this name."
    ),
]
Note = Annotated[str, Option("--note", help="A remark, kept with the run's score in DIR/runs.csv.")]


def tell_next(*command: object) -> None:
    """Print the command that usually comes next, on the error stream."""
    echo(printable(f"Next: unseen {shlex.join(map(str, command))}"), err=True)


def repeated(option: str, values: Iterable[str] | None) -> list[str]:
    """Returns the words of an option that was given once for each of the values."""
    return [word for value in values or () for word in (option, value)]


def of_track(track: str) -> tuple[str, ...]:
    """Returns the words of --track; none for the accuracy track, which is the default."""
    return () if track == "accuracy" else ("--track", track)
