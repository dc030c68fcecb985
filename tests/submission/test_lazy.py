"""Names of packages are imported when they are asked for."""

import subprocess
import sys

import pytest

import submission

HEAVY = {"torch", "sklearn", "scipy", "pandas"}


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("import submission, starter.encoders, unseen.estimation", HEAVY),
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
    with pytest.raises(AttributeError, match="module 'submission' has no attribute 'root'"):
        _ = submission.root
