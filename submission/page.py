"""Jinja, as all pages and texts of the kit are filled in: an unknown name is an error, values are escaped."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def templates(folder: Path, escape: bool = True) -> Environment:
    """What reads the templates of a folder.

    Args:
        folder: where they are.
        escape: values as HTML; False for Markdown and YAML, whose templates quote what needs it.
    """
    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=escape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
