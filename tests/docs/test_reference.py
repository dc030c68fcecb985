"""The reference that docs/conf.py makes: every command with every option."""

import re
import runpy

import pytest
from command_line import COMMANDS
from pages import ROOT

pytest.importorskip("sphinx", reason='the docs are built with pip install -e ".[docs]"')


def test_every_command_and_option_has_its_line():
    page = runpy.run_path(str(ROOT / "docs/conf.py"))["commands_page"]()
    for name, lazy in COMMANDS.items():
        section = re.split(r"\n##+ ", page.split(f"# {name}\n")[1])[0]
        command = lazy.load()
        assert f"Example: `unseen {name}" in section
        options = [name for parameter in command.params for name in parameter.opts if name.startswith("--")]
        assert not [name for name in options if f"`{name}" not in section and f", {name}" not in section]
