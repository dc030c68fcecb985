"""How a function becomes a command: its parameters are arguments and options, its docstring is the help.

A positional parameter is an argument, and a keyword-only one an option. Its help stands in the docstring's
"Options" as ``name (PLACEHOLDER): text``, or in `COMMON` if several commands have it.
"""

import re
import shlex
from collections import abc
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timezone
from inspect import Parameter, cleandoc
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

from typer import Argument, Option, echo

from submission.errors import UnusableInput, printable

if TYPE_CHECKING:
    from baselines import Estimator
    from submission.competition import Competition

COMMON = """

Options:
    competition (DIR): The competition's folder, or its archive.
    file (FILE): A CSV with id,prediction, or an answer.txt; or a zip.
    track: accuracy (of classifiers), or ood (of OOD detectors).
    device: The device that runs classifiers: cpu, cuda, cuda:1, mps.
    network: module:function of a network of yours, whose code runs.
    cluster (ADDRESS|local:N): A Dask cluster to work on. [this process]
    cache (PATH|URL): Where observations are kept. [DIR/cache]
    names (METHOD|module:Class): Methods of the kit, or your own.
    everything: Without names, all methods but those that take long.
    changes (METHOD.PARAM=VALUE): Set a parameter.
    debug: Print the whole traceback of a method that fails.
    called (NAME): A name for each METHOD, also in --set.
    note: A remark, kept with the run's score in DIR/runs.csv.
    as_json: Print one JSON object, and nothing else.
    out: The folder to write to.
    seed: Seed of everything random.
    encoder: embedded, a file, clip:MODEL=WEIGHTS, or module:function.
    source: The source, as for build, of the ID images.
    labels: A file with one class per line. [the source's classes]
    laid (LAID): The folder that `unseen shift laid` wrote.
    manifest (MANIFEST): A manifest, written by `unseen classes`.
    images: The folder with SOURCE/CLASS/ or SOURCE.zip.
    known: The ID classes: a list, a file or class folders.
    candidates: Classes to assign: a list, a file or folders.
    overrides: A CSV (label,synset) for labels without a match.
    matches: Write matches here, for --overrides.
    wordnet: The folder of WordNet 3.0's data.noun.
"""
FLAGS = {
    "as_json": "--json",
    "everything": "--all",
    "changes": "--set",
    "called": "--as",
    "known": "--id",
    "candidates": "--candidates",
    "features": "--features",
}
"""Options that are not named after their parameter."""
Many = Sequence[str]
KINDS = {str: "TEXT", Path: "PATH", int: "NUMBER", float: "NUMBER"}
"""What the help calls a value, by type."""


def documented(function: Callable[..., object]) -> tuple[str, dict[str, tuple[str, str]]]:
    """Returns the docstring above its options, and placeholder and help of each option."""
    text = cleandoc(function.__doc__ or "")
    return text.partition("\n\nOptions:\n")[0], lines_of(text)


def first_line(text: str | None) -> str:
    """Returns the first line of a docstring."""
    return (text or "").partition("\n")[0]


def lines_of(text: str) -> dict[str, tuple[str, str]]:
    """Returns placeholder and help by parameter, from the lines below "Options:", or "Attributes:"."""
    below = re.split("\n\n(?:Options|Attributes):\n", text)[-1]
    found = re.findall(r"^    (\w+)(?: \((.*?)\))?: (.*(?:\n     .*)*)", below, re.MULTILINE)
    return {name: (placeholder, " ".join(words.split())) for name, placeholder, words in found}


def declare(each: Parameter, placeholder: str, text: str, flag: str = "", **how: Any) -> Parameter:
    """Returns the parameter with what Typer needs to know of it; `how` goes to Typer as it is."""
    kind = Path if each.annotation == "Competition" else each.annotation
    if get_origin(kind) is UnionType:
        kind = next(of for of in get_args(kind) if of is not NoneType)
    many, default = get_origin(kind) is abc.Sequence, each.default
    if many:
        (of,), default = get_args(kind), None if default == () else default
        kind, placeholder = list[of], placeholder or KINDS[of]  # type: ignore[valid-type]
    if each.kind is Parameter.POSITIONAL_OR_KEYWORD:
        placeholder = f"[{placeholder}]..." if many else placeholder or each.name.upper()
        found: Any = Argument(metavar=placeholder, help=text)
    else:
        word = each.name.removesuffix("s") if many else each.name
        flag = flag or FLAGS.get(each.name, f"--{word.replace('_', '-')}")
        if kind is bool and default is not False:
            flag += f"/--no-{flag[2:]}"
        placeholder = placeholder or ("" if kind is bool else KINDS.get(kind, ""))
        text = re.sub(r"(?= \[.*\]$)|$", " Repeatable.", text, count=1) if many else text
        found = Option(flag, metavar=placeholder or None, help=text, **how)
    kind = Annotated[kind if default is Parameter.empty else kind | None, found]
    return each.replace(kind=Parameter.KEYWORD_ONLY, annotation=kind, default=default)


def settings_of_build() -> dict[str, Parameter]:
    """Returns an option for every setting, by name; those that a first competition needs are first."""
    from starter.contest.named_settings import TRACKS, extra_of, fields_of, flag_of, help_of

    fields = {name: field for track in TRACKS for name, field in fields_of(track).items()}
    often, others = dict[str, Parameter](), dict[str, Parameter]()
    for name, field in fields.items():
        tracks = [track for track in TRACKS if name in fields_of(track)]
        panel = "More settings" if len(tracks) == len(TRACKS) else f"More settings, of the {tracks[0]} track"
        first, plain = extra_of(field).get("often", False), field.annotation
        kinds: dict[object, Any] = {(str, ...): Sequence[str], (int, ...): tuple[int, int]}
        kind = plain if plain in (bool, int, float) else kinds.get(get_args(plain), str)
        each = Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        how = {"show_default": False, "hidden": not first, "rich_help_panel": "Settings" if first else panel}
        found = declare(each, extra_of(field).get("metavar", ""), help_of(name), flag_of(name), **how)
        (often if first else others)[name] = found
    return {**often, **others}


def now() -> datetime:
    """Returns the present time, in UTC."""
    return datetime.now(timezone.utc)


def use_networks(networks: Many | None) -> None:
    """Make networks of the user's own, each a module:function, known by their names."""
    if networks:
        from starter.models.classifiers import use_network

        for spec in networks:
            use_network(spec)


def chosen_for(
    competition: "Competition", names: Many, changes: Many, called: Many = (), everything: bool = False
) -> "dict[str, Estimator]":
    """Returns the methods to run; prints those that are left out, with the reason."""
    from baselines.run import choose
    from unseen.api.methods import methods_of, runs

    if names and everything:
        raise UnusableInput("give names of methods or --all, not both")
    kit, which = methods_of(competition.track), ("by default", "with --all")[: 1 + everything]
    unnamed = [name for name, when in runs(competition.track).items() if when in which]
    chosen, left_out = choose.choose_for(competition, names, changes, kit, unnamed, called)
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
