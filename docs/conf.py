"""Sphinx: `python -m sphinx -W --keep-going -b html docs build/docs` from the repository's root.

The reference is made here from the code: a page for the command line, out of the commands themselves, one for
the data sets of Gbench, and one a package, out of the docstrings. Nothing is loaded from the network, neither
while building nor by the pages.
"""

import inspect
import pkgutil
import sys
from importlib import import_module
from pathlib import Path

import typer
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

project = "Unseen"
author = "The authors of Unseen"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = "Unseen"
html_theme_options = {"source_directory": "docs/"}
html_show_copyright = False
default_role = "code"
smartquotes = False  # --option, not –option
myst_heading_anchors = 3
myst_links_external_new_tab = False
napoleon_use_ivar = True
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {
    "members": True,
    "ignore-module-all": True,
    "no-value": True,
    "exclude-members": "set, set_fit_request, set_predict_request, set_score_request",
}
python_use_unqualified_type_names = True
suppress_warnings = ["ref.python"]  # a class that a package hands on has two names

TOPS = ("submission", "starter", "baselines", "oracle", "leaderboard", "unseen")
PACKAGES = tuple(
    sorted(
        ".".join(path.parent.relative_to(ROOT).parts)
        for top in TOPS
        for path in (ROOT / top).rglob("__init__.py")
    )
)


def write_reference(app: Sphinx) -> None:
    """The pages below ``reference/`` that are made, not written."""
    folder = Path(app.srcdir) / "reference"
    _write(folder / "commands.md", commands_page())
    for package in PACKAGES:
        _write(folder / f"{package}.rst", package_page(package))


def commands_page() -> str:
    """Every command of `unseen` with its help, arguments and options, as Markdown."""
    top = import_module("unseen").app
    text = ["# The command line", "", str(top.help), ""]
    for name, command in top.commands.items():
        if isinstance(command, typer.core.TyperGroup):
            text += [f"## {name}", "", f"{command.help} Its commands:", ""]
            for own, member in command.commands.items():
                text += command_section(f"{name} {own}", member.load(), "###")
        else:
            text += command_section(name, command.load(), "##")
    return "\n".join(text)


def command_section(name: str, command: typer.core.TyperCommand, heading: str) -> list[str]:
    """A command with its help, arguments and options, as lines of Markdown."""
    context = command.context_class(command, info_name=f"unseen {name}")
    usage = " ".join(command.collect_usage_pieces(context))
    body, _, example = inspect.cleandoc(command.help or "").partition("Example: ")
    text = [f"{heading} {name}", "", body.strip(), "", "```text", f"unseen {name} {usage}", "```", ""]
    text += [f"Example: `{example.strip()}`", ""]
    for parameter in command.params:
        parameter.hidden = False
        name, words = parameter.get_help_record(context)
        declared = parameter.metavar if parameter.param_type_name == "argument" else name
        text.append(f"- `{declared}`: {' '.join(words.split())}")
    return [*text, ""]


def package_page(package: str) -> str:
    """A package with its own modules, each with what its docstrings say, as reStructuredText."""
    found = import_module(package)
    modules = sorted(
        f"{package}.{module.name}" for module in pkgutil.iter_modules(found.__path__) if not module.ispkg
    )
    text = [package, "=" * len(package), "", f".. automodule:: {package}", ""]
    for module in modules:
        text += [module, "-" * len(module), "", f".. automodule:: {module}", ""]
    return "\n".join(text)


def _write(path: Path, text: str) -> None:
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def as_text(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Bars mean norms and absolute values, and lines of them tables: reStructuredText has neither."""
    made: list[str] = []
    for line in lines:
        table = line.lstrip().startswith("|")
        if table and not (made and made[-1].startswith("    |")):
            made += ["", "::", ""]
        elif made and made[-1].startswith("    |") and not table:
            made.append("")
        made.append(f"    {line.strip()}" if table else line.replace("|", "\\|"))
    lines[:] = made


def keep_colon(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Napoleon takes what stands before a colon for the type of an attribute, if text follows on its line."""
    if what in ("data", "attribute", "property") and lines:
        head, colon, tail = lines[0].partition(": ")
        lines[:1] = [f"{head}:", tail] if colon else [head]


def setup(app: Sphinx) -> None:
    """Sphinx calls this."""
    app.connect("builder-inited", write_reference)
    app.connect("autodoc-process-docstring", keep_colon, priority=100)
    app.connect("autodoc-process-docstring", as_text, priority=999)
