"""A method of one's own, begun."""

from pathlib import Path
from typing import Annotated

from typer import Argument, echo

from submission.options import TrackName, of_track, tell_next


def new_method(
    name: Annotated[str, Argument(metavar="NAME", help="A module name in lower case, as my_method.")],
    track: TrackName = "accuracy",
) -> None:
    """Write NAME.py, a method of your own that runs as it is.

    Example: unseen new-method my_method
    """
    from baselines.run import user_method

    echo(user_method.new_method(name, Path.cwd(), track))
    tell_next("check-method", f"{name}:{user_method.class_name(name)}", *of_track(track))
