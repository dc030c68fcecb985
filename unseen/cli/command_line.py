"""The command line `unseen`: commands that are imported when they are called, and how each of them ends."""

import io
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any

from typer import Exit, Option, Typer, echo
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from submission.errors import InvalidSubmission, UnusableInput, printable
from unseen.cli import COMMANDS, GROUPS, PANELS

PURPOSE = "Predict a frozen classifier's accuracy on data without labels."
SETTINGS: dict[str, Any] = {
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
INTERRUPTED = 130
"""Exit code after Ctrl-C, as Typer sets it."""


class Headed(TyperCommand):
    """A command whose help lists each option under the heading in its `rich_help_panel`, or "Options"."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the sections of options, in the order in which their first options are declared."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for each in self.get_params(ctx):
            if (record := each.get_help_record(ctx)) is not None:
                own = "Arguments" if each.param_type_name == "argument" else "Options"
                sections.setdefault(getattr(each, "rich_help_panel", None) or own, []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)


class Lazy(TyperCommand):
    """A command that is imported only when it is called, or when its own help or options are needed.

    `module` is one of `unseen.cli`, and the name of its function has "_" where the command's has "-".
    """

    def __init__(self, name: str, module: str, line: str) -> None:
        super().__init__(name, help=line)
        self.module, self.function = f"unseen.cli.{module}", name.replace("-", "_")

    def load(self) -> Any:
        """Returns the Typer command, importing its module."""
        alone = Typer(add_completion=False, **SETTINGS)
        alone.command(self.name, cls=Headed)(getattr(import_module(self.module), self.function))
        return get_command(alone)

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Returns the context of the Typer command."""
        return self.load().make_context(info_name, args, parent, **extra)


class Panels(TyperGroup):
    """The application, whose help has a panel for each kind of reader on a screen of thirty lines."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the panels of commands, and the options in a line."""
        listed = " ".join(PANELS.values()).split()
        formatter.write("\n")
        for heading, names in PANELS.items():
            rows = [(name, self.commands[name].help) for name in names.split()]
            if heading.startswith("Run"):
                rows.append(("and", ", ".join(name for name in self.commands if name not in listed)))
            formatter.write(f"{heading}:\n")
            formatter.indent()
            formatter.write_dl(rows)
            formatter.dedent()
        formatter.write("Options: --version, --install-completion, --show-completion, --help\n")


def command_line() -> TyperGroup:
    """Returns the application `unseen`, without importing any command."""
    root = Typer(help=PURPOSE, no_args_is_help=True, cls=Panels, **SETTINGS)
    root.callback()(options)
    top = get_command(root)
    assert isinstance(top, TyperGroup)
    groups = {
        name: TyperGroup(name=name, help=line, no_args_is_help=True, **SETTINGS)
        for name, line in GROUPS.items()
    }
    for name, (module, line) in COMMANDS.items():
        group, _, own = name.rpartition(" ")
        holder = groups[group] if group else top
        holder.commands[own] = Lazy(own, module, line)
        if group:
            top.commands[group] = groups[group]
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
    """Run a Typer application, and end with its exit code; unusable input gets a line, not a traceback.

    The code is 0 for success, 1 for an invalid submission or a failed check, and 2 for unusable input.
    Characters that the terminal's encoding lacks are printed as escapes. If the reader of a pipe closes it
    (``| head``), Typer ends the command silently.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        command()
    except InvalidSubmission as error:
        _fail(str(error), 1)
    except (UnusableInput, OSError, MemoryError, ModuleNotFoundError) as error:
        _fail(f"error: {error}", 2)
    except SystemExit as end:
        if end.code == INTERRUPTED:
            _fail("interrupted; run the same command again to continue", INTERRUPTED)
        raise


def _fail(message: str, code: int) -> None:
    """Print the message and end; control characters, which file names may contain, are escaped."""
    print("\n".join(map(printable, message.split("\n"))), file=sys.stderr)
    sys.exit(code)
