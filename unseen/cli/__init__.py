"""The commands: every public function of these modules is one, such as `verify_entry` for verify-entry.

The modules import what does the work only when a command is called.
"""

from collections.abc import Callable
from inspect import isfunction

from unseen.cli import build, estimate, library, organizer, participant

GROUPS = {
    "classes": "Assign classes to ID or OOD by meaning, with WordNet.",
    "shift": "Measure shifts in meaning and shifts in style separately.",
    "detectors": "Study what OOD detectors detect.",
}
"""The first word of every command of two words, with its line in the help."""
PANELS = {
    "Take part in a competition": "demo methods new-method check-method predict report validate score",
    "Run a competition": "build audit pack leaderboard export",
    "Do research": "compare ablate classes shift detectors",
    "Estimate the accuracy of your own model": "estimate",
}
"""The first screen of the help by reader; what it does not list is named in a line of its own."""

WORDS = {
    "demo": "example tutorial start quickstart",
    "methods": "list ls baselines models",
    "new-method": "new init create template",
    "check-method": "check test",
    "predict": "run fit infer",
    "report": "evaluate eval benchmark",
    "score": "submit upload grade",
    "leaderboard": "board rank ranking results publish",
    "show": "view plot info",
}
"""What people who know other tools type, by the command that they want."""


def _commands() -> dict[str, Callable[..., object]]:
    found = dict[str, Callable[..., object]]()
    for module in (participant, organizer, build, estimate):
        for name, function in vars(module).items():
            if isfunction(function) and function.__module__ == module.__name__ and not name.startswith("_"):
                group, _, own = name.partition("_")
                found[f"{group} {own}" if group in GROUPS else name.replace("_", "-")] = function
    return {**found, **{name: library.declared(target) for name, target in library.FUNCTIONS.items()}}


COMMANDS = _commands()
"""Every command's function; of a name of two words, the first is a group."""
