"""The reference that docs/conf.py makes: every command with every option, and docstrings as their authors meant them."""

import runpy

import pytest
from pages import COMMANDS, ROOT

pytest.importorskip("sphinx", reason='the docs are built with pip install -e ".[docs]"')


@pytest.fixture(scope="module")
def conf():
    return runpy.run_path(str(ROOT / "docs/conf.py"))


def test_every_command_and_option_has_its_line(conf):
    page = conf["commands_page"]()
    for name, command in COMMANDS.commands.items():
        section = page.split(f"\n## {name}\n")[1].split("\n## ")[0]
        assert f"Example: `unseen {name}" in section
        options = [name for parameter in command.params for name in parameter.opts if name.startswith("--")]
        assert not [name for name in options if f"`{name}" not in section and f", {name}" not in section]


def test_a_package_page_names_its_own_modules(conf):
    page = conf["package_page"]("starter")
    assert ".. automodule:: starter.sets.recipe\n" in page
    assert "starter.detectors" not in page


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        (["the norm |x|"], ["the norm \\|x\\|"]),
        (
            ["columns", "", "| a | b |", "|---|---|", "", "more"],
            ["columns", "", "", "::", "", "    | a | b |", "    |---|---|", "", "", "more"],
        ),
    ],
)
def test_bars_are_norms_and_tables(conf, lines, shown):
    conf["as_text"](None, "module", "m", None, None, lines)
    assert lines == shown


def test_a_colon_makes_no_type(conf):
    lines = ["Prototypes: clone one.", "More."]
    conf["keep_colon"](None, "data", "m", None, None, lines)
    assert lines == ["Prototypes:", "clone one.", "More."]
