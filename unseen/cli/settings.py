"""The settings of a build as options of `unseen build`, made of the fields of the tracks' models."""

from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Annotated, Any, get_args

from typer import CallbackParam, Context, Option

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

METAVARS: dict[Any, str] = {str: "TEXT", list[str]: "TEXT", int: "NUMBER", float: "NUMBER"}
"""What the help calls a value, by its type."""


def settings() -> Callable[..., None]:
    """Returns a function with a parameter for every setting; those that a first competition needs are first.

    It does nothing: its parameters become options, whose values `given` returns.
    """
    from starter.contest.named_settings import TRACKS, extra_of, fields_of

    fields = {name: field for track in TRACKS for name, field in fields_of(track).items()}
    often = [name for name, field in fields.items() if extra_of(field).get("often")]
    rarely = [name for name in fields if name not in often]

    def declare() -> None:
        """Declare the settings."""

    parameters = [_parameter(name, fields[name]) for name in (*often, *rarely)]
    declare.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return declare


def _parameter(name: str, field: "FieldInfo") -> Parameter:
    """Returns a setting's parameter, None where the option is not given."""
    from starter.contest.named_settings import extra_of, flag_of, help_of

    kind, often = _kind(field.annotation), bool(extra_of(field).get("often"))
    flag = flag_of(name)
    option = Option(
        f"{flag}/--no-{flag[2:]}" if kind is bool else flag,
        metavar=extra_of(field).get("metavar") or METAVARS.get(kind),
        help=help_of(name, "Repeatable." if kind == list[str] else ""),
        show_default=False,
        hidden=not often,
        rich_help_panel="Settings" if often else _panel(name),
        expose_value=False,
        callback=_keep,
    )
    kind = Annotated[kind | None, option]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=kind)


def _kind(annotation: object) -> Any:
    """Returns the type of a setting's option: a number, on/off, a list or a pair, else a text."""
    if annotation in (bool, int, float):
        return annotation
    if get_args(annotation) == (str, ...):
        return list[str]
    return tuple[int, int] if get_args(annotation) == (int, ...) else str


def _panel(name: str) -> str:
    """Returns the heading of a setting that a first competition does not need."""
    from starter.contest.named_settings import TRACKS, fields_of

    tracks = [track for track in TRACKS if name in fields_of(track)]
    return "More settings" if len(tracks) == len(TRACKS) else f"More settings, of the {tracks[0]} track"


def _keep(context: Context, parameter: CallbackParam, value: Any) -> Any:
    """Keep the value of a setting that is given."""
    if value not in (None, [], ()):
        context.ensure_object(dict)[parameter.name] = value
    return value


def given(context: Context) -> Mapping[str, Any]:
    """Returns the settings that were given as options."""
    return context.ensure_object(dict)
