"""The commands: functions whose signatures are read by Typer, each with its arguments, options and help.

Their modules import what does the work only when a command is called.
"""

from collections.abc import Callable

from unseen.cli import build, estimate, organizer, participant, research

GROUPS = {
    "classes": "Assign classes to ID or OOD by meaning, with WordNet.",
    "shift": "Measure shifts in meaning and shifts in style separately.",
    "detectors": "Study what OOD detectors detect.",
}
"""The first word of every command of two words, with its line in the help."""
PANELS = {
    "Take part in a competition": "demo methods new-method check-method predict report validate score",
    "Run a competition": "build audit pack leaderboard",
    "Do research": "compare ablate classes shift detectors",
    "Estimate the accuracy of your own model": "estimate rank",
}
"""The first screen of the help by reader; what it does not list is named in a line of its own."""

COMMANDS: dict[str, Callable[..., None]] = {
    "demo": participant.demo,
    "methods": participant.methods,
    "new-method": participant.new_method,
    "check-method": participant.check_method,
    "predict": participant.predict,
    "report": participant.report,
    "runs": participant.runs,
    "validate": participant.validate,
    "ablate": research.ablate,
    "score": organizer.score,
    "select": organizer.select,
    "history": organizer.history,
    "leaderboard": organizer.leaderboard,
    "rescore": organizer.rescore,
    "amend": organizer.amend,
    "team": organizer.team,
    "verify": organizer.verify,
    "audit": organizer.audit,
    "pack": organizer.pack,
    "export": organizer.export,
    "build": build.build,
    "train": build.train,
    "estimate": estimate.estimate,
    "rank": estimate.rank,
    "show": organizer.show,
    "materialize": organizer.materialize,
    "backup": organizer.backup,
    "verify-entry": organizer.verify_entry,
    "compare": research.compare,
    "classes assign": research.classes_assign,
    "classes halves": research.classes_halves,
    "classes graph": research.classes_graph,
    "shift encoder": research.shift_encoder,
    "shift laid": research.shift_laid,
    "shift grid": research.shift_grid,
    "shift generate": research.shift_generate,
    "detectors failure": research.detectors_failure,
    "detectors sanity": research.detectors_sanity,
}
"""Every command's function; of a name of two words, the first is a group."""
