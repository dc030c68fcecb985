"""Arguments and options that several commands share, and the hint that names the usual next command.

Needs Typer only.
"""

import shlex
from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Context, Option, echo

from submission.errors import printable

Many = list[str] | None
Folder = Annotated[Path, Argument(metavar="DIR", help="The competition's folder.")]
Predictions = Annotated[
    Path, Argument(metavar="FILE", help="A CSV with id,prediction, or an answer.txt; or a zip.")
]
TrackName = Annotated[str, Option("--track", help="accuracy (of classifiers), or ood (of OOD detectors).")]
Device = Annotated[str, Option(help="The device that runs classifiers: cpu, cuda, cuda:1, mps.")]
Network = Annotated[Many, Option(help="module:function of a network of yours, whose code runs. Repeatable.")]
DataRoot = Annotated[Path | None, Option(help="The folder of a named source, or of its download.")]
Resize = Annotated[Literal["crop", "pad", "stretch"], Option(help="How to resize images.")]
SkipUnreadable = Annotated[
    float, Option(min=0, max=0.99, metavar="SHARE", help="Share of unreadable images to allow.")
]
Workers = Annotated[
    str | None,
    Option("--cluster", metavar="ADDRESS|local:N", help="A Dask cluster to work on. [this process]"),
]
CachePlace = Annotated[
    str, Option("--cache", metavar="PATH|URL", help="Where observations are kept. [DIR/cache]")
]
Names = Annotated[Many, Argument(metavar="[METHOD|module:Class]...", help="Methods of the kit, or your own.")]
Changes = Annotated[Many, Option("--set", metavar="METHOD.PARAM=VALUE", help="Set a parameter. Repeatable.")]
Called = Annotated[
    Many, Option("--as", metavar="NAME", help="A name for each METHOD, also in --set. Repeatable.")
]
Note = Annotated[str, Option("--note", help="A remark, kept with the run's score in DIR/runs.csv.")]
AsJson = Annotated[bool, Option("--json", help="Print one JSON object, and nothing else.")]


def now() -> datetime:
    """Returns the present time, in UTC."""
    return datetime.now(timezone.utc)


def use_networks(networks: Many) -> None:
    """Make networks of the user's own, each a module:function, known by their names."""
    if networks:
        from starter.classifiers import use_network

        for spec in networks:
            use_network(spec)


def typed(context: Context, names: Iterable[str]) -> list[str]:
    """Returns which of the options the user gave, by their flags; the function's names have "_" for "-"."""
    sources = {name: context.get_parameter_source(name) for name in names}
    return [f"--{name.replace('_', '-')}" for name, of in sources.items() if of and of.name == "COMMANDLINE"]


def tell_next(*command: object) -> None:
    """Print the command that usually comes next, on the error stream."""
    echo(printable(f"Next: unseen {shlex.join(map(str, command))}"), err=True)


def repeated(option: str, values: Iterable[str] | None) -> list[str]:
    """Returns the words of an option that was given once for each of the values."""
    return [word for value in values or () for word in (option, value)]


def of_track(track: str) -> tuple[str, ...]:
    """Returns the words of --track; none for the accuracy track, which is the default."""
    return () if track == "accuracy" else ("--track", track)
