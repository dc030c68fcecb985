"""Every message that `submission` can give stands in a test: the figure "every error's text is pinned"."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WINDOW = 14
"""Characters of a message that a test must hold, in one piece; the whole of it where it is shorter."""
ERRORS = ("UnusableInput", "InvalidSubmission", "ValueError")


def pinned() -> str:
    """The text of the tests that check messages, regular expressions' backslashes taken out."""
    files = [
        *(ROOT / "tests/submission").glob("*.py"),
        ROOT / "tests/test_unseen.py",
        ROOT / "tests/leaderboard/test_commands.py",
        ROOT / "tests/test_leaks.py",
    ]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files if path != Path(__file__))
    return re.sub(r'"\s*\n\s*[rf]*"', "", text).replace("\\", "")


def literals(node: ast.AST) -> Iterator[str]:
    """The constant pieces of the texts in an expression."""
    for child in ast.walk(node):
        if isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield child.value


def messages() -> Iterator[tuple[str, str]]:
    """(where, the longest constant piece) of every text that is raised or listed as a problem."""
    for path in sorted((ROOT / "submission").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            raised = isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)
            name = node.exc.func.id if raised and isinstance(node.exc.func, ast.Name) else ""  # type: ignore[union-attr]
            listed = (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in ("append", "insert")
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id == "problems"
            )
            assigned = isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "problem"
            called = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "_require"
            if name in ERRORS or listed or assigned or called:
                pieces = sorted(literals(node), key=len)
                if pieces and len(pieces[-1].strip()) > 3:
                    yield f"{path.name}:{node.lineno}", pieces[-1].replace("\\", "")


@pytest.mark.parametrize(("where", "text"), [pytest.param(*pair, id=pair[0]) for pair in messages()])
def test_a_test_pins_the_message(where: str, text: str) -> None:
    tests = pinned()
    windows = [text[at : at + WINDOW] for at in range(max(len(text) - WINDOW, 0) + 1)]
    assert any(window in tests for window in windows), f"{where}: no test holds any of {text!r}"


def test_most_messages_are_found() -> None:
    assert len(list(messages())) > 50
