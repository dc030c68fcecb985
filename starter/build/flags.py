"""The options of `unseen build`, made from the declarations of the settings."""

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, signature
from types import NoneType
from typing import Annotated, Any, get_args

from pydantic.fields import FieldInfo
from typer import Option

from starter.build.declared import flag_of, told
from starter.build.settings import PLANS, Settings, every_field, own_fields

OFTEN, MORE = "Settings", "More settings"
OF_TRACK = {"accuracy": "More settings, of the accuracy track", "ood": "More settings, of the OOD track"}
"""Headings of the options in the help: the most used ones, the others, and those of one track."""


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Returns the command with an option for every setting.

    Args:
        command: Function with a keyword parameter `given`, which gets the values of the settings that were
            given, by name. Its other parameters remain options.
    """
    settings = _parameters()
    own = [each for name, each in signature(command).parameters.items() if name != "given"]
    often = [each for each in settings if each.annotation.__metadata__[0].rich_help_panel == OFTEN]
    others = [each for each in settings if each not in often]
    ordered = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in (*own[:1], *often, *own[1:], *others)]

    @wraps(command)
    def taking(**options: Any) -> None:
        found = {each.name: options.pop(each.name) for each in settings}
        given = {name: _value(value) for name, value in found.items() if value not in (None, [])}
        command(**options, given=given)

    taking.__annotations__ = {each.name: each.annotation for each in ordered}
    taking.__signature__ = signature(command).replace(parameters=ordered)  # type: ignore[attr-defined]
    return taking


def _parameters() -> list[Parameter]:
    """Returns an optional parameter for each setting, common ones first."""
    headings: Mapping[str, str] = {
        name: OF_TRACK[track] for track, plan in PLANS.items() for name in own_fields(plan)
    } | dict.fromkeys(own_fields(Settings), MORE)
    return [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=None,
            annotation=_annotation(name, field, OFTEN if told(field).often else headings[name]),
        )
        for name, field in sorted(every_field().items(), key=lambda each: headings[each[0]] != MORE)
    ]


def _annotation(name: str, field: FieldInfo, heading: str) -> Any:
    """Returns the annotation from which Typer makes an option."""
    declared, word = told(field), flag_of(name, field)
    words = f"{word}/--no-{word.removeprefix('--')}" if field.annotation is bool else word
    option = Option(
        words,
        help=f"{declared.help} [{shown_default(field)}]" if shown_default(field) else declared.help,
        metavar=declared.metavar or None,
        show_default=False,
        rich_help_panel=heading,
    )
    return Annotated[_given_as(field) | None, option]


def _given_as(field: FieldInfo) -> Any:
    """Returns the type of an option's value: a list of texts, two whole numbers, or the setting's type."""
    kinds = {(str, ...): list[str], (int, ...): tuple[int, int], (int, NoneType): int}
    return kinds[get_args(field.annotation)] if get_args(field.annotation) else field.annotation


def shown_default(field: FieldInfo) -> str:
    """Returns the default of a setting as readable text; "" if there is none, or for an on/off setting."""
    found = told(field).default or field.default
    if isinstance(found, bool):
        return ""
    return ", ".join(map(str, found)) if isinstance(found, tuple) else str(found)


def _value(given: Any) -> Any:
    return tuple(given) if isinstance(given, list) else given
