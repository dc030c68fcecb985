"""Jinja templates of all pages and texts, and escapes of what others write for Markdown and spreadsheets."""

import base64
import hashlib
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment


def templates(folder: Path, escape: bool = True) -> "Environment":
    """Returns a reader of the templates of a folder, which may extend ``base.html``; `escape` is for HTML."""
    # Imported here: where another platform runs the kit's scorer there is NumPy only.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    read = Environment(
        loader=FileSystemLoader([folder, Path(__file__).parent]),
        autoescape=escape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    # the hash by which a Content-Security-Policy names an inline script or style (CSP 3, 2.3.1)
    read.filters["source_hash"] = lambda text: f"sha256-{encoded(hashlib.sha256(text.encode()).digest())}"
    read.tests["number"] = lambda value: not math.isnan(value)
    return read


def encoded(data: bytes) -> str:
    """Returns bytes in base64, as for a picture inside a page."""
    return base64.b64encode(data).decode()


def harmless(text: str) -> str:
    """Returns `text` as a cell of a CSV that no spreadsheet runs: one line, no formula.

    >>> harmless("=1+1"), harmless("a=1")
    ("'=1+1", 'a=1')
    """
    line = "".join(character if character.isprintable() else "\ufffd" for character in text)
    return f"'{line}" if text.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) else line


def escaped(text: str) -> str:
    r"""Returns `text` escaped so that Markdown shows it literally: one line, no mark-up, no HTML, no link.

    >>> print(escaped("a_b | <i>"))
    a\_b \| \<i\>
    """
    line = "".join(character if character.isprintable() else "\ufffd" for character in text)
    return re.sub(r"([!-&(-,./:-@\[-`{-~])", r"\\\1", line)
