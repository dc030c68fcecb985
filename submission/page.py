"""Jinja, as all pages and texts of the kit are filled in: an unknown name is an error, values are escaped.

Text of others in Markdown.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment


def templates(folder: Path, escape: bool = True) -> "Environment":
    """What reads the templates of a folder.

    Args:
        folder: where they are.
        escape: values as HTML; False for Markdown and YAML, whose templates quote what needs it.
    """
    # Imported here: where another platform runs the kit's scorer there is NumPy only.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=escape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def escaped(text: str) -> str:
    """`text` as Markdown shows it, whatever it holds: one line, no mark-up, no HTML, no link.

    >>> print(escaped("a_b | <i>"))
    a\\_b \\| \\<i\\>
    """
    line = "".join(character if character.isprintable() else "\ufffd" for character in text)
    return re.sub(r"([!-&(-,./:-@\[-`{-~])", r"\\\1", line)
