"""The command line `unseen`: each command is imported only when it is called, so that help is quick."""

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any

from typer import Exit, Option, Typer, echo
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

PURPOSE = "Predict a frozen classifier's accuracy on data without labels: build, run, score, publish."
SETTINGS = {"help_option_names": ["-h", "--help"]}


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

    Args:
        name: Name of the command, such as "verify-entry"; the name of its function has "_" in place of "-".
        module: Name of the module that defines the function.
        line: Line about the command in the list of commands of `--help`.
    """

    def __init__(self, name: str, module: str, line: str) -> None:
        super().__init__(name, help=line)
        self.module, self.function = module, name.replace("-", "_")

    def load(self) -> Any:
        """Returns the Typer command, importing its module."""
        alone = Typer(add_completion=False, rich_markup_mode=None, context_settings=SETTINGS)
        alone.command(self.name, cls=Headed)(getattr(import_module(self.module), self.function))
        return get_command(alone)

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Returns the context of the Typer command."""
        return self.load().make_context(info_name, args, parent, **extra)


def command_line(commands: Mapping[str, tuple[str, str]], groups: Mapping[str, str]) -> TyperGroup:
    """Returns the application `unseen`, with `--version` and shell completion, without importing any command.

    Args:
        commands: Module and line of help by the command's name, in the order of the help; a command of two
            words belongs to the group that the first word names.
        groups: Line of help by the name of a group.
    """
    root = Typer(help=PURPOSE, no_args_is_help=True, rich_markup_mode=None, context_settings=SETTINGS)
    root.callback()(options)
    top = get_command(root)
    assert isinstance(top, TyperGroup)
    for name, (module, line) in commands.items():
        group, _, own = name.rpartition(" ")
        if group and group not in top.commands:
            top.commands[group] = TyperGroup(
                name=group,
                help=groups[group],
                no_args_is_help=True,
                rich_markup_mode=None,
                context_settings=SETTINGS,
            )
        holder = top.commands[group] if group else top
        assert isinstance(holder, TyperGroup)
        holder.commands[own] = Lazy(own, module, line)
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
