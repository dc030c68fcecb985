"""The command line `unseen`: its commands in panels, and how each of them ends."""

import io
import re
import sys
from collections.abc import Callable
from importlib.metadata import distributions, version
from inspect import cleandoc
from typing import Annotated, Any

from typer import Exit, Option, Typer, echo
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from submission.errors import InvalidSubmission, UnusableInput, naming_options, printable
from unseen.cli import COMMANDS, GROUPS, PANELS, build

PURPOSE = "Predict a frozen classifier's accuracy on data without labels."
LOOK: dict[str, Any] = {"rich_markup_mode": None, "context_settings": {"help_option_names": ["-h", "--help"]}}
INTERRUPTED = 130
"""Exit code after Ctrl-C, as Typer sets it."""


class Command(TyperCommand):
    """A command whose options are made of its function when it is called, or when its own help is needed."""

    def __init__(self, name: str, function: Callable[..., None]) -> None:
        super().__init__(name, help=cleandoc(function.__doc__ or ""), **LOOK)
        self.function = function

    def load(self) -> "Command":
        """Returns the command with its options."""
        if self.callback is None:
            made = _typed(self.function)
            self.callback = made.callback
            self.params = made.params
            if self.function is build.build:
                each: Any
                for each in self.params:
                    each.hidden = each.name in build.RARE  # --help-all alone shows these
                self.params += _typed(build.settings()).params
        return self

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Returns the context of a call."""
        self.load()
        return super().make_context(info_name, args, parent, **extra)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the sections of options, in the order in which their first options are declared."""
        sections: dict[str, list[tuple[str, str]]] = {}
        each: Any
        for each in self.get_params(ctx):
            if (record := each.get_help_record(ctx)) is not None:
                argument = each.param_type_name == "argument"
                heading = "Arguments" if argument else each.rich_help_panel or "Options"
                sections.setdefault(heading, []).append((each.metavar if argument else record[0], record[1]))
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)


def _typed(function: Callable[..., None]) -> Any:
    """Returns the command that Typer makes of a function."""
    alone = Typer(add_completion=False)
    alone.command()(function)
    return get_command(alone)


class Panels(TyperGroup):
    """The application, whose help has a panel for each kind of reader on a screen of thirty lines."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the panels of commands, and the options in a line."""
        listed = " ".join(PANELS.values()).split()
        formatter.write("\n")
        for heading, names in PANELS.items():
            rows = [(name, first_line(self.commands[name].help)) for name in names.split()]
            if heading.startswith("Run"):
                rows.append(("and", ", ".join(name for name in self.commands if name not in listed)))
            formatter.write(f"{heading}:\n")
            formatter.indent()
            formatter.write_dl(rows)
            formatter.dedent()
        formatter.write("Options: --version, --install-completion, --show-completion, --help\n")


def first_line(text: str | None) -> str:
    """Returns the first line of a command's help."""
    return (text or "").partition("\n")[0]


def command_line() -> TyperGroup:
    """Returns the application `unseen`; of commands only what their help is listed by."""
    root = Typer(help=PURPOSE, no_args_is_help=True, cls=Panels, **LOOK)
    root.callback()(options)
    top = get_command(root)
    assert isinstance(top, TyperGroup)
    for name, function in COMMANDS.items():
        group, _, own = name.rpartition(" ")
        if group and group not in top.commands:
            top.commands[group] = TyperGroup(name=group, help=GROUPS[group], no_args_is_help=True, **LOOK)
        holder = top.commands[group] if group else top
        assert isinstance(holder, TyperGroup)
        holder.commands[own] = Command(own, function)
    return top


def _print_version(wanted: bool) -> None:
    if wanted:
        echo(f"unseen {version('unseen')}")
        raise Exit


def options(
    shown: Annotated[
        bool, Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Declare the options that come before a command."""


def run(command: Callable[[], object]) -> None:
    """Run a Typer application, and end: with 1 for an invalid submission or a failed check, 2 for misuse."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with naming_options():
            command()
    except InvalidSubmission as error:
        _fail(str(error), 1)
    except UnusableInput as error:
        _fail(f"error: {error.args[0]}", 2)
    except ModuleNotFoundError as error:
        _fail(f"error: {error}{_remedy()}", 2)
    except PermissionError as error:
        _fail(f"error: {error.filename}: no permission; to write, run in a folder of your own", 2)
    except (OSError, MemoryError) as error:
        _fail(f"error: {error}", 2)
    except SystemExit as end:
        if end.code == INTERRUPTED:
            _fail("interrupted; run the same command again to continue", INTERRUPTED)
        raise


def _remedy() -> str:
    """Returns how to install the packages that the kit requires and that are missing; "" if none is."""
    required = [text for kit in distributions(name="unseen") for text in kit.requires or ()]
    always = [text for text in required if not re.search("extra ==|python_version", text)]
    names = dict.fromkeys(re.split(r"[^\w.-]", text)[0] for text in always)
    missing = [name for name in names if not any(distributions(name=name))]
    if not missing:
        return ""
    return f": this command needs more than a scoring host: pip install {' '.join(missing)}"


def _fail(message: str, code: int) -> None:
    """Print the message and end; control characters, which file names may contain, are escaped."""
    print("\n".join(map(printable, message.split("\n"))), file=sys.stderr)
    sys.exit(code)
