"""Arguments and options that several commands share, and steps that several commands take.

An alias carries an option's name, its help and the conversion of its value. Its callback runs while Typer
reads the command line; for a shell that completes words it does nothing.
"""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from traceback import print_exception
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, CallbackParam, Context, Exit, Option, echo

from submission.errors import UnusableInput, printable

if TYPE_CHECKING:
    from baselines import Estimator
    from starter.studies.study import Study
    from submission.competition import Competition
else:
    Competition = object  # pydantic is not loaded for a help text


def _opened(context: Context, folder: Path) -> "Competition":
    """Returns the competition in a folder or an archive."""
    from submission.pack import competition_of

    return folder if context.resilient_parsing else competition_of(folder)  # type: ignore[return-value]


# In Python 3.10 Typer takes the type list[str] of a parameter here for a class.
def use_networks(context: Context, networks: Any) -> list[str]:
    """Make networks of the user's own, each a module:function, known by their names; return them."""
    if networks and not context.resilient_parsing:
        from starter.models.classifiers import use_network

        for spec in networks:
            use_network(spec)
    return networks


def _show_cause(context: Context, debug: bool) -> bool:
    """Print the whole traceback behind an error in which the command ends."""
    if debug and not context.resilient_parsing:
        context.with_resource(_cause_shown())
    return debug


@contextmanager
def _cause_shown() -> Iterator[None]:
    try:
        yield
    except (UnusableInput, Exit) as error:
        if error.__cause__:
            print_exception(error.__cause__)
        raise


def _no_file(folder: Path | None) -> Path | None:
    if folder is not None and folder.is_file():
        raise UnusableInput(f"--out {folder} is a file: name a folder")
    return folder


def argument(metavar: str, words: str) -> Any:
    """Returns an argument, with its help."""
    return Argument(metavar=metavar, help=words)


def option(metavar: str, words: str, *names: str) -> Any:
    """Returns an option with a value, with its help."""
    return Option(*names, metavar=metavar, help=words)


def text(words: str, *names: str) -> Any:
    """Returns an option for a text, with its help."""
    return option("TEXT", words, *names)


def path(words: str, *names: str) -> Any:
    """Returns an option for a file or folder, with its help."""
    return option("PATH", words, *names)


def number(words: str, metavar: str = "NUMBER", *, least: int = 0) -> Any:
    """Returns an option for a number of at least `least`, with its help."""

    def check(parameter: CallbackParam, value: float | None) -> float | None:
        if value is not None and value < least:
            raise UnusableInput(f"{parameter.opts[0]} must be at least {least}, got {value}")
        return value

    return Option(metavar=metavar, help=words, callback=check)


Contest = Annotated[
    Competition,
    Argument(metavar="DIR", parser=Path, callback=_opened, help="The competition's folder, or its archive."),
]
Predictions = Annotated[Path, argument("FILE", "A CSV with id,prediction, or an answer.txt; or a zip.")]
Methods = Annotated[list[str], argument("[METHOD|module:Class]...", "Methods of the kit, or your own.")]
Manifest = Annotated[Path, argument("MANIFEST", "A manifest, written by `unseen classes`.")]

All = Annotated[bool, Option("--all", help="Without names, all methods but those that take long.")]
Cache = Annotated[str, option("PATH|URL", "Where observations are kept. [DIR/cache]")]
Called = Annotated[list[str], option("NAME", "A name for each METHOD, also in --set. Repeatable.", "--as")]
Changes = Annotated[list[str], option("METHOD.PARAM=VALUE", "Set a parameter. Repeatable.", "--set")]
Cluster = Annotated[str | None, option("ADDRESS|local:N", "A Dask cluster to work on. [this process]")]
Debug = Annotated[
    bool, Option("--debug", callback=_show_cause, help="Print the whole traceback of a method that fails.")
]
Device = Annotated[str, text("Where classifiers run, and methods that train: cpu, cuda, cuda:1, mps.")]
Encoder = Annotated[str, text("embedded, a file, clip:MODEL=WEIGHTS, or module:function.")]
Images = Annotated[Path, path("The folder with SOURCE/CLASS/ or SOURCE.zip, and perhaps selection.csv.")]
Json = Annotated[bool, Option("--json", help="Print one JSON object, and nothing else.")]
Labels = Annotated[Path | None, path("A file with one class per line. [the source's classes]")]
Network = Annotated[
    list[str],
    Option(
        "--network",
        metavar="TEXT",
        callback=use_networks,
        help="module:function of a network of yours, whose code runs. Repeatable.",
    ),
]
Note = Annotated[str, text("A remark, kept with the run's score in DIR/runs.csv.")]
Seed = Annotated[int, number("Seed of everything random.")]
Source = Annotated[str, text("The source, as for build, of the ID images.")]
StudyFolder = Annotated[
    Path | None, Option("--out", metavar="PATH", callback=_no_file, help="The folder to write to.")
]
Track = Annotated[str, text("accuracy (of classifiers), or ood (of OOD detectors).")]
Wordnet = Annotated[Path | None, path("The folder of WordNet 3.0's data.noun.")]


def write_study(study: "Study", folder: Path | None) -> None:
    """Write a study to the folder, or to its own, and print what a reader sees first."""
    folder = folder or study.folder
    study.write(folder)
    echo(f"{study.text}\n\n{folder}")


def chosen_for(
    competition: "Competition",
    names: Sequence[str],
    changes: Sequence[str],
    called: Sequence[str] = (),
    everything: bool = False,
    device: str = "cpu",
) -> "dict[str, Estimator]":
    """Returns the methods to run; prints those that are left out, with the reason."""
    from baselines.run import choose
    from unseen.api.methods import methods_of, runs

    if names and everything:
        raise UnusableInput("give names of methods or --all, not both")
    kit = methods_of(competition.track)
    which = ("by default", "with --all") if everything else ("by default",)
    unnamed = [name for name, when in runs(competition.track).items() if when in which]
    chosen, left_out = choose.choose_for(
        competition, names, settings=changes, kit=kit, unnamed=unnamed, called=called, device=device
    )
    for reason in dict.fromkeys(left_out.values()):
        alike = ", ".join(name for name, other in left_out.items() if other == reason)
        echo(f"not run: {alike}: {reason}", err=True)
    return chosen


def warn(*warnings: str) -> None:
    """Print warnings on the error stream; "" is none."""
    for text in filter(None, warnings):
        echo(f"warning: {text}", err=True)


def tell_next(*command: object) -> None:
    """Print the command that usually comes next, on the error stream."""
    echo(printable(f"Next: unseen {shlex.join(map(str, command))}"), err=True)


def repeated(option: str, values: Iterable[str]) -> list[str]:
    """Returns the words of an option that was given once for each of the values."""
    return [word for value in values for word in (option, value)]


def of_track(track: str) -> tuple[str, ...]:
    """Returns the words of --track; none for the accuracy track, which is the default."""
    return () if track == "accuracy" else ("--track", track)
