"""Text of others in Markdown."""

import re


def escaped(text: str) -> str:
    """`text` as Markdown shows it, whatever it holds: one line, no mark-up, no HTML, no link.

    >>> print(escaped("a_b | <i>"))
    a\\_b \\| \\<i\\>
    """
    line = "".join(character if character.isprintable() else "\ufffd" for character in text)
    return re.sub(r"([!-&(-,./:-@\[-`{-~])", r"\\\1", line)
