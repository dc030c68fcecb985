"""Names that are imported when they are asked for."""

import subprocess
import sys

import pytest

from submission.lazy import lazily


def test_a_name_is_had_from_its_module_and_no_other_is():
    get = lazily("made_up", {"sqrt": "math"})
    assert get("sqrt")(9) == 3
    with pytest.raises(AttributeError, match="module 'made_up' has no attribute 'root'"):
        get("root")


@pytest.mark.parametrize("package", ["baselines", "oracle", "starter.encoders", "oracle.estimate"])
def test_packages_load_nothing_heavy(package):
    code = f"import sys, {package}; print({{'torch', 'sklearn', 'scipy', 'pandas'}} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "set()\n"
