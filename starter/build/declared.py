"""Declarations of settings: fields of a pydantic model with a type, limits, a default and a `Flag`."""

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from submission import UnusableInput

KINDS = {
    "int_type": "a whole number",
    "float_type": "a number",
    "string_type": "text",
    "bool_type": "true or false",
    "tuple_type": "a list",
}
"""Names of the expected types, by pydantic's type of error."""


@dataclass(frozen=True)
class Flag:
    """The texts about a setting.

    Attributes:
        help: One line, for the command line and the settings file.
        default: Text to show in place of the default value, if that value alone says too little; else "".
        metavar: Placeholder for the value in the help; "" for Typer's own.
        name: Name of the option, if it differs from the name of the setting; else "".
        often: True for the dozen settings that the help lists first.
    """

    help: str
    default: str = ""
    metavar: str = ""
    name: str = ""
    often: bool = False


class Declared(BaseModel):
    """Base of settings; values that cannot be used raise UnusableInput with a line that names the option."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise UnusableInput(_problem(type(self), error.errors()[0])) from error


def told(field: FieldInfo) -> Flag:
    """Returns the texts about a setting."""
    return next(each for each in field.metadata if isinstance(each, Flag))


def flag_of(name: str, field: FieldInfo | None = None) -> str:
    """Returns the option of a setting: the name in its `Flag` if there is one, else the name of the setting.

    >>> flag_of("set_size")
    '--set-size'
    """
    own = told(field).name if field else ""
    return f"--{(own or name).replace('_', '-')}"


def problem_of(field: FieldInfo, value: object) -> str:
    """Returns the problem with the type or the size of a setting's value; "" if there is none."""
    declared = create_model(
        "Declared", __config__=ConfigDict(strict=True), value=(field.annotation or object, field)
    )
    try:
        declared(value=value)
    except ValidationError as error:
        return _must(error.errors()[0])
    return ""


def _problem(model: type[BaseModel], found: ErrorDetails) -> str:
    """Returns one line that describes the first problem that pydantic found."""
    if found["type"] == "value_error":
        return str(found["ctx"]["error"])
    name = str(found["loc"][0])
    if found["type"] == "extra_forbidden":
        return f"there is no setting {name!r}"
    return f"{flag_of(name, model.model_fields[name])} {_must(found)}"


def _must(found: ErrorDetails) -> str:
    context, got = found.get("ctx", {}), found["input"]
    limits = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
    if limit := next((f"{word} {context[key]}" for key, word in limits.items() if key in context), ""):
        return f"must be {limit}, got {got}"
    return f"must be {KINDS.get(found['type'], found['msg'])}, got {got!r}"
