"""The command `demo`."""

from pathlib import Path

from typer import echo

from unseen.cli import options

DEMO_SETTINGS: dict[str, dict[str, object]] = {
    "accuracy": {"ops_per_set": (1, 3), "referees": ("embedded",), "set_size": 300}
}
"""Settings of the demo that differ from the defaults of a build; small sets keep it short."""
DEMO_ORACLE = {"iterations": 2000, "batch_size": 1000}
"""Parameters of ORA-A in the demo: enough for 36,000 images, and trained in seconds."""


def demo(folder: Path = Path("unseen-demo"), *, track: str = "accuracy") -> None:
    """Build, predict and score a small embedded competition.

    Example: unseen demo

    Options:
        folder (DIR): A new folder, or an earlier demo's.
    """
    from sklearn.base import clone

    from baselines.run.predict import predict as run
    from leaderboard.publish import organizer_table, publish
    from starter.competition.cluster import use_one_thread
    from starter.making.build import build as make
    from starter.making.settings import settings_of
    from unseen.api.methods import DEFAULT, methods_of

    use_one_thread()
    competition = make(folder, settings_of(track, dict(DEMO_SETTINGS.get(track, {}))))
    chosen = {name: clone(methods_of(track)[name]) for name in DEFAULT[track]}
    if "ora-a" in chosen:
        chosen["ora-a"].set_params(**DEMO_ORACLE)
    run(competition, chosen)
    echo(f"{competition.describe()}\n\n{organizer_table(competition)}")
    if "ora-a" in chosen:
        echo(f"In this demo ora-a was trained for {DEMO_ORACLE['iterations']:,} iterations only.")
    echo(f"\nThe leaderboard: {publish(competition).html.resolve()}")
    options.tell_next("new-method", "my_method", *options.of_track(track))
