"""The tables of all commands; each is imported only when it is called."""

COMMANDS = {
    "demo": ("demo", "Build, predict and score a small embedded competition."),
    "methods": ("participant", "List the methods with their inputs and parameters."),
    "new-method": ("participant", "Write NAME.py, a complete method for you to change."),
    "check-method": ("participant", "Check on artificial sets that a method keeps the contract."),
    "predict": ("participant", "Fit methods and write predictions."),
    "report": ("participant", "Fit methods and compare them on the validation sets."),
    "validate": ("participant", "Check a submission."),
    "score": ("organizer", "Score predictions: --val, or --team NAME (organizers)."),
    "build": ("build", "Build a competition, or finish an interrupted build."),
    "train": ("build", "Train a classifier for build's --classifier."),
    "show": ("build", "Draw sets, and a histogram of accuracies, as PNG files."),
    "materialize": ("build", "Write sets as files; run again to continue."),
    "audit": ("organizer", "List risks: revealed labels, and ranks that are accidents."),
    "pack": ("organizer", "Make the archive for participants from public/ alone."),
    "team add": ("organizer", "Register a team, so that it may submit (organizers)."),
    "select": ("organizer", "Choose the submissions of a team that count (organizers)."),
    "history": ("organizer", "List submissions with their scores, or receipts."),
    "leaderboard": ("organizer", "Write leaderboard.csv, .html and .md."),
    "rescore": ("organizer", "Correct labels or void test sets (organizers)."),
    "verify": ("organizer", "Check that nobody altered the ledger (organizers)."),
    "backup": ("organizer", "Write the organizer's private files to one zip file."),
    "verify-entry": ("organizer", "Run a method again and compare with a submitted file."),
    "export": ("organizer", "Write the competition for another platform."),
    "ablate": ("researcher", "Reproduce a table of the SYP or the Gscore paper."),
    "classes similarity": ("researcher", "Assign classes by distance to the nearest ID class."),
    "classes pruning": ("researcher", "Drop classes that could be mistaken for an ID class."),
    "classes halves": ("researcher", "Draw validation and test halves from a class manifest."),
    "classes graph": ("researcher", "Draw which ID classes a manifest's images are taken for."),
    "shift encoder": ("researcher", "Train a small encoder of photographs for shift laid."),
    "shift laid": ("researcher", "Separate an encoder's features into meaning and style."),
    "shift measure": ("researcher", "Measure each image's shift in meaning and in style."),
    "shift grid": ("researcher", "Show how well OOD detectors do as shifts grow."),
    "shift generate": ("researcher", "Generate images whose shift grows step by step (Syn-IS)."),
    "detectors failure": ("researcher", "Show whether detectors find new classes or errors."),
    "detectors sanity": ("researcher", "Run OOD detectors on random networks."),
    "estimate": ("estimate", "Estimate a model's accuracy on images without labels."),
}
"""Every command with its function's module in `unseen.cli`, and the first line of its docstring."""
GROUPS = {
    "team": "The teams of a competition (organizers).",
    "classes": "Assign classes to ID or OOD by meaning, with WordNet.",
    "shift": "Measure shifts in meaning and shifts in style separately.",
    "detectors": "Study what OOD detectors detect.",
}
"""The first word of every command of two words, with its line in the help."""
PANELS = {
    "Take part in a competition": "demo methods new-method check-method predict report validate score",
    "Run a competition": "build audit pack leaderboard export",
    "Do research": "ablate classes shift detectors",
    "Estimate the accuracy of your own model": "estimate",
}
"""The first screen of the help by reader; what it does not list is named in a line of its own."""
