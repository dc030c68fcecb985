"""The command `new-method`."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option, echo

from submission.options import TrackName, of_track, tell_next


def new_method(
    name: Annotated[str, Argument(metavar="NAME", help="A module name in lower case, such as my_method.")],
    track: TrackName = "accuracy",
    sklearn: Annotated[
        bool, Option("--sklearn", help="Write a scikit-learn pipeline that learns from a table of features.")
    ] = False,
) -> None:
    """Write NAME.py, a complete method for you to change.

    Example: unseen new-method my_method
    """
    from baselines.run import user_method

    echo(user_method.new_method(name, Path.cwd(), track, sklearn))
    method = user_method.MODEL if sklearn else user_method.class_name(name)
    tell_next("check-method", f"{name}:{method}", *of_track(track))
