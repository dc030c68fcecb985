"""Names that are imported when they are asked for."""

import subprocess
import sys

import pytest

from submission.lazy import lazily

HEAVY = {"torch", "sklearn", "scipy", "pandas"}


def test_a_name_is_had_from_its_module_and_no_other_is():
    get = lazily("made_up", {"sqrt": "math"})
    assert get("sqrt")(9) == 3
    with pytest.raises(AttributeError, match="module 'made_up' has no attribute 'root'"):
        get("root")


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        *(
            (f"import {name}", HEAVY)
            for name in ("baselines", "oracle", "starter.encoders", "unseen.estimation")
        ),
        (
            "import contextlib, io, unseen\nsys.argv = ['unseen', '--help']\n"
            "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()): unseen.main()",
            {*HEAVY, "numpy", "pydantic"},
        ),
    ],
)
def test_packages_and_the_help_load_nothing_heavy(code, heavy):
    code = f"import sys\n{code}\nprint({heavy} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "set()\n"
