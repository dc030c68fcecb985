"""Running the command line inside the tests."""

import contextlib
import io
import sys

import unseen
import unseen.cli

TOP = unseen.app.commands
COMMANDS = {
    name: (TOP[name.split()[0]].commands[name.split()[1]] if " " in name else TOP[name])
    for name in unseen.cli.COMMANDS
}
"""Every command by its name, of two words in a group; `load` imports it."""


def run(*arguments, check=True):
    """Run in this process through `main`'s own handling: (exit code, what was printed)."""
    return Run(*map(str, arguments), check=check)


class Run:
    def __init__(self, *arguments, check):
        out = io.StringIO()
        old, sys.argv = sys.argv, ["unseen", *arguments]
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                unseen.main()
            self.code = 0
        except SystemExit as end:
            self.code = end.code or 0
        finally:
            sys.argv = old
        self.text = out.getvalue()
        assert "Traceback" not in self.text or "--debug" in arguments
        if check:
            assert self.code == 0, self.text
