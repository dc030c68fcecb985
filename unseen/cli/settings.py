"""The settings of a competition as options of `build`."""

from collections.abc import Sequence
from inspect import Parameter
from typing import Any, get_args

from starter.making.settings import TRACKS, extra_of, fields_of, flag_of, help_of
from unseen.cli.options import declare


def settings_of_build() -> dict[str, Parameter]:
    """Returns an option for every setting, by name; those that a first competition needs are first."""
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
