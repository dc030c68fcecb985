"""The files that `unseen new-method` writes, complete methods for a participant to change."""

import importlib.util
import re
import sys
from pathlib import Path

from baselines.run.choose import class_name
from submission.errors import UnusableInput
from submission.files import write_text
from submission.tracks import require_track

TEMPLATES = {"accuracy": "my_method", "ood": "my_ood_method"}


def new_method(name: str, folder: Path, track: str = "accuracy", sklearn: bool = False) -> Path:
    """Write ``<name>.py`` with a method, or with the scikit-learn pipeline `model`, and return its path."""
    path = folder / f"{name}.py"
    wrong = "use lower-case letters, digits and _, such as my_method"
    if re.fullmatch(r"[a-z][a-z0-9_]*", name):
        taken = name in sys.stdlib_module_names or importlib.util.find_spec(name) is not None
        wrong = f"{path} exists already" if path.exists() else "Python has one of this name" if taken else ""
    if wrong:
        raise UnusableInput(f"{name!r} cannot name a module of yours: {wrong}")
    template = "my_regressor" if sklearn else TEMPLATES[require_track(track)]
    text = Path(__file__).with_name(f"{template}.py").read_text(encoding="utf-8")
    write_text(path, text.replace(template, name).replace(class_name(template), class_name(name)))
    return path
