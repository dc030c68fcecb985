"""The command line `unseen`: its commands in panels, and how each of them ends."""

import io
import sys
from collections.abc import Callable
from importlib.metadata import version
from inspect import Parameter, Signature, signature
from pathlib import Path
from traceback import print_exception
from typing import Annotated, Any

from typer import Context, Exit, Option, Typer, echo
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from submission.errors import InvalidSubmission, UnusableInput, naming_options, printable
from unseen.cli import COMMANDS, GROUPS, PANELS, WORDS
from unseen.cli.library import SETTINGS, declared
from unseen.cli.options import COMMON, Many, declare, documented, first_line, lines_of, use_networks

PURPOSE = "Predict a frozen classifier's accuracy on data without labels."
LOOK: dict[str, Any] = {
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
OPTION = Parameter.KEYWORD_ONLY
INTERRUPTED = 130
"""Exit code after Ctrl-C, as Typer sets it."""


class Command(TyperCommand):
    """A command whose options are made of its function when it is called, or when its own help is needed.

    Its help lists each option under the heading in its `rich_help_panel`, or "Options".
    """

    def __init__(self, name: str, function: Callable[..., object]) -> None:
        super().__init__(name, help=documented(function)[0], **LOOK)
        self.function = function

    def load(self) -> "Command":
        """Returns the command with its options."""
        if self.callback is None:
            alone = Typer(add_completion=False)
            alone.command()(command_of(self.function))
            made: Any = get_command(alone)
            self.callback, self.params = made.callback, made.params
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


def _print_all(context: Context, wanted: bool) -> None:
    """Print the help with the options that it hides, and end."""
    if wanted:
        each: Any
        for each in context.command.params:
            each.hidden = False
        echo(context.get_help())
        raise Exit


def command_of(function: Callable[..., object]) -> Callable[..., None]:
    """Returns the function from which Typer makes a command.

    A parameter `competition` is opened from its folder, `given` stands for the settings of a build, and one
    of a class in `SETTINGS` for its fields. A command with a device also takes networks of the user's own,
    and one with methods --debug. A returned study is written and printed.
    """
    text, own = documented(function)
    notes, taken = {**lines_of(COMMON), **own}, signature(function)
    parameters, study = dict[str, Parameter](), taken.return_annotation == "Study"
    groups = dict[str, Callable[..., object]]()
    for name, each in taken.parameters.items():
        if each.annotation in SETTINGS:
            groups[name] = declared(SETTINGS[each.annotation])
            parameters |= signature(groups[name]).parameters
            notes |= documented(groups[name])[1]
        else:
            parameters[name] = each
    if "changes" in parameters:
        parameters["debug"] = Parameter("debug", OPTION, annotation=bool, default=False)
    if "device" in parameters:
        parameters.setdefault("network", Parameter("network", OPTION, annotation=Many, default=()))
    if study:
        parameters["out"] = Parameter("out", OPTION, annotation=Path | None, default=None)
    settings = dict[str, Parameter]()
    if parameters.pop("given", None):
        from unseen.cli.options import settings_of_build

        wanted = Parameter("help_all", OPTION, annotation=bool, default=False)
        how: dict[str, Any] = {"is_eager": True, "expose_value": False, "callback": _print_all}
        settings = {"": declare(wanted, "", "Show all options and exit.", **how), **settings_of_build()}
    often = own if settings else notes
    options = [declare(each, *notes[name], hidden=name not in often) for name, each in parameters.items()]

    def command(**values: Any) -> None:
        chosen = {name: value for name, value in values.items() if value not in (None, [])}
        for name, each in parameters.items():  # 1 is the least where the default counts something, else 0
            least = int(name in taken.parameters and type(each.default) is int and each.default > 0)
            if isinstance(value := chosen.get(name), int | float) and value < least:
                raise UnusableInput(f"--{name.replace('_', '-')} must be at least {least}, got {value}")
        use_networks(chosen.get("network"))
        if study and (out := chosen.get("out")) and out.is_file():
            raise UnusableInput(f"--out {out} is a file: name a folder")
        if "competition" in chosen:
            from submission.competition import Competition
            from submission.pack import unpacked

            chosen["competition"] = Competition.open(unpacked(chosen["competition"]))
        chosen["given"] = {name: chosen[name] for name in settings if name in chosen}
        for name, make in groups.items():
            fields = signature(make).parameters
            chosen[name] = make(**{field: chosen[field] for field in fields if field in chosen})
        try:
            found: Any = function(
                **{name: value for name, value in chosen.items() if name in taken.parameters}
            )
        except (UnusableInput, Exit) as error:
            if chosen.get("debug") and error.__cause__:
                print_exception(error.__cause__)
            raise
        if study:
            found.write(folder := chosen.get("out", found.folder))
            echo(f"{found.text}\n\n{folder}")
        elif found is not None:
            echo(found)

    command.__doc__ = text
    command.__signature__ = Signature([*options, *settings.values()])  # type: ignore[attr-defined]
    return command


class Panels(TyperGroup):
    """The application, whose help has a panel for each kind of reader on a screen of thirty lines."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Returns the command that is called; a word of other tools is answered with the kit's own."""
        for name, words in WORDS.items():
            if args[0] in words.split():
                told = f"`unseen {name}`: {first_line(self.commands[name].help)}"
                ctx.fail(f"There is no command {args[0]!r}. Did you mean {told}")
        return super().resolve_command(ctx, args)

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
    """Run a Typer application, and end with its exit code; unusable input gets a line, not a traceback.

    The code is 0 for success, 1 for an invalid submission or a failed check, and 2 for unusable input.
    Characters that the terminal's encoding lacks are printed as escapes. If the reader of a pipe closes it
    (``| head``), Typer ends the command silently.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with naming_options():
            command()
    except InvalidSubmission as error:
        _fail(str(error), 1)
    except UnusableInput as error:
        _fail(f"error: {error.args[0]}", 2)
    except (OSError, MemoryError, ModuleNotFoundError) as error:
        _fail(f"error: {error}", 2)
    except SystemExit as end:
        if end.code == INTERRUPTED:
            _fail("interrupted; run the same command again to continue", INTERRUPTED)
        raise


def _fail(message: str, code: int) -> None:
    """Print the message and end; control characters, which file names may contain, are escaped."""
    print("\n".join(map(printable, message.split("\n"))), file=sys.stderr)
    sys.exit(code)
