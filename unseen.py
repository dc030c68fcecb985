"""The command line: one function a command, in the order of the work. Everything heavy is imported inside."""

import json
import os
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from submission.errors import InvalidSubmission, UnusableInput

if TYPE_CHECKING:
    from baselines import Estimator

app = typer.Typer(
    help="Predict a frozen classifier's accuracy on data without labels: build, run, score, publish.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

EXPENSIVE = {"ora-a": "trains for minutes per classifier"}
"""Methods that `predict` runs only by name, and why."""
INTERRUPTED = 130
"""The exit code that Typer gives Ctrl-C."""
DEMO_ORACLE = {"iterations": 3000, "batch_size": 2000}
"""ORA-A in the demo: enough for 60,000 images, in seconds."""

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The competition's folder.")]
Predictions = Annotated[
    Path, typer.Argument(metavar="FILE", help="A CSV file with the columns id,prediction.")
]
Device = Annotated[str, typer.Option(help="Where classifiers run: cpu, cuda, cuda:1, mps.")]


@app.command()
def demo(
    folder: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="A new folder, or one of an earlier demo.")
    ] = Path("unseen-demo"),
) -> None:
    """Build, predict and score a small competition on embedded images.

    Example: unseen demo
    """
    from sklearn.base import clone

    from baselines.predict import predict as run
    from leaderboard import publish, results
    from starter.build import build as make
    from starter.plan import Settings

    competition = make(folder, Settings(ops_per_set=(1, 3)))
    chosen = {name: clone(method) for name, method in _methods().items()}
    chosen["ora-a"].set_params(**DEMO_ORACLE)
    run(competition, chosen)
    typer.echo(f"{competition.describe()}\n\n{results(competition).table()}")
    typer.echo(f"ora-a is cut to {DEMO_ORACLE['iterations']:,} iterations here.")
    typer.echo(f"\nThe leaderboard: {publish(competition).html.resolve()}\nNext: unseen new-method my_method")


@app.command()
def build(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder, or one to finish building.")],
    source: Annotated[
        str, typer.Option(help="glyphs, cifar10, or a path: class folders, zip or npz.")
    ] = "glyphs",
    classifier: Annotated[
        list[str] | None,
        typer.Option(help="NAME or NAME=WEIGHTS (a file, or `official`); may be repeated. [small]"),
    ] = None,
    train_sets: Annotated[int, typer.Option(help="How many meta-train sets.")] = 120,
    val_sets: Annotated[int, typer.Option(help="How many labelled validation sets are made.")] = 24,
    test_sets: Annotated[int, typer.Option(help="How many hidden test sets are made.")] = 48,
    set_size: Annotated[int, typer.Option(help="Images in a set.")] = 500,
    group: Annotated[
        str, typer.Option(help="What meta-train sets are made with: default, corruptions.")
    ] = "default",
    ops_per_set: Annotated[
        tuple[int, int],
        typer.Option(metavar="LOW HIGH", help="Operations a meta-train set gets; the demo has 1 3."),
    ] = (3, 3),
    val_from: Annotated[
        list[str] | None,
        typer.Option(help="Natural-shift sets to add to validation: a path; may be repeated."),
    ] = None,
    test_from: Annotated[
        list[str] | None, typer.Option(help="Natural-shift sets to add to the test; may be repeated.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the public part.")] = 0,
    test_seed: Annotated[
        int | None, typer.Option(help="Of the test sets: keep it secret. Random unless given.")
    ] = None,
    precision: Annotated[
        str, typer.Option(help="float32, or bfloat16 (faster where the CPU has it).")
    ] = "float32",
    hidden: Annotated[
        bool, typer.Option("--hidden", help="Declare that the test images are published nowhere.")
    ] = False,
    data_root: Annotated[
        Path | None, typer.Option(help="Where a named source is, or is downloaded to.")
    ] = None,
    device: Device = "cpu",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print images, time and disk.")] = False,
) -> None:
    """Build a competition, or finish an interrupted build.

    Example: unseen build contest --train-sets 20 --val-sets 4 --test-sets 8 --set-size 100
    """
    from starter.build import build as make
    from starter.estimate import estimate
    from starter.plan import Settings

    settings = Settings(
        source=source,
        classifiers=tuple(classifier or ["small"]),
        train_sets=train_sets,
        val_sets=val_sets,
        test_sets=test_sets,
        set_size=set_size,
        group=group,
        ops_per_set=ops_per_set,
        val_from=tuple(val_from or ()),
        test_from=tuple(test_from or ()),
        seed=seed,
        precision=precision,
        hidden=hidden,
    )
    if dry_run:
        typer.echo(estimate(settings, device))
        return
    typer.echo(make(folder, settings, test_seed, device, data_root).describe())
    typer.echo(f"\nNext: unseen predict {folder}")


@app.command()
def show(
    folder: Folder,
    sets: Annotated[list[str] | None, typer.Argument(metavar="[SET]...", help="Sets of any part.")] = None,
    out: Annotated[Path | None, typer.Option(help="The PNG to write. [DIR/sheet.png]")] = None,
) -> None:
    """Draw a contact sheet of sets (a PNG).

    Operations and accuracies stand with them where they are public. Without names: the first
    meta-train sets.

    Example: unseen show contest train_0001 test_0003
    """
    from starter.show import contact_sheet
    from submission import Competition

    typer.echo(contact_sheet(Competition.open(folder), sets or [], out or folder / "sheet.png"))


@app.command()
def methods() -> None:
    """The kit's methods, what each reads of a set, and its parameters.

    Example: unseen methods
    """
    for name, method in _methods().items():
        reads = ", ".join(("logits", *method.needs))
        typer.echo(f"{name:<12} {_summary(method)}\n{'':<12} reads {reads}")
        own = {
            key: value
            for key, value in method.get_params(deep=False).items()
            if key not in ("indicator", "needs")
        }
        if any(value is not None for value in own.values()):
            typer.echo(f"{'':<12} --set " + " ".join(f"{name}.{key}={value}" for key, value in own.items()))
        if name in EXPENSIVE:
            typer.echo(f"{'':<12} runs only by name: {EXPENSIVE[name]}")


@app.command("new-method")
def new_method(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A module name in lower case, as my_method.")],
) -> None:
    """Write NAME.py, a method of your own that runs as it is.

    Example: unseen new-method my_method
    """
    from baselines.user_method import class_name
    from baselines.user_method import new_method as write

    path = write(name, Path.cwd())
    typer.echo(f"{path}\nNext: unseen check-method {name}:{class_name(name)}")


@app.command("check-method")
def check_method(
    method: Annotated[
        str, typer.Argument(metavar="module:Class|METHOD", help="A class of yours, or the kit's.")
    ],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="METHOD.PARAM=VALUE", help="A parameter; may be repeated."),
    ] = None,
) -> None:
    """Check that a method keeps the contract, on made-up sets.

    Exit code 1 where it does not.

    Example: unseen check-method fd
    """
    from baselines.conformance import check_method as check

    checks = check(_choose([method], settings or [])[method])
    for result in checks:
        typer.echo(
            f"{'FAIL' if result.problem else 'ok':<5}{result.rule}"
            + (f": {result.problem}" if result.problem else "")
        )
    if any(result.problem for result in checks):
        raise typer.Exit(1)


@app.command()
def predict(
    folder: Folder,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[METHOD|module:Class]...", help="The kit's, or your own.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="METHOD.PARAM=VALUE", help="A parameter; may be repeated."),
    ] = None,
    device: Device = "cpu",
) -> None:
    """Fit methods on the meta-train sets; write submissions/ and validation/.

    Without names every method of the kit runs but those that take long (ora-a).

    Example: unseen predict contest atc fd ora-a --set ora-a.iterations=2000
    """
    from baselines.predict import predict as run
    from submission import Competition

    competition = Competition.open(folder)
    chosen = _choose(names or [name for name in _methods() if name not in EXPENSIVE], settings or [])
    if not names:
        for name, reason in EXPENSIVE.items():
            typer.echo(f"not run: {name} ({reason}); name it to run it", err=True)
    for paths in run(competition, chosen, device).values():
        typer.echo("  ".join(map(str, paths.values())))
    if "val" in paths:
        typer.echo(f"\nNext: unseen score {folder} {paths['val']} --val")


@app.command()
def validate(folder: Folder, file: Predictions) -> None:
    """Check a submission: "valid", or every problem with its line.

    Exit code 1 where there is a problem.

    Example: unseen validate contest contest/submissions/atc.csv
    """
    from submission import Competition
    from submission import validate as check

    check(Competition.open(folder), file)
    typer.echo("valid")


@app.command()
def score(
    folder: Folder,
    file: Predictions,
    team: Annotated[
        str | None, typer.Option(help="Organizers: score on the hidden labels for this team.")
    ] = None,
    val: Annotated[bool, typer.Option("--val", help="Score FILE on the labelled validation sets.")] = False,
) -> None:
    """Score predictions on the validation sets (--val) or, organizers, the test sets (--team).

    Example: unseen score contest contest/validation/atc.csv --val
    """
    from submission import Competition

    if val == (team is not None):
        raise UnusableInput(
            "say what to score: --val (validation sets) or --team NAME (organizers: the test sets)"
        )
    competition = Competition.open(folder)
    if val:
        from submission import validation_report

        typer.echo(validation_report(competition, file))
        return
    from leaderboard import publish, submit

    assert team is not None
    public = submit(competition, file, team, lambda: datetime.now(timezone.utc))
    board = publish(competition)
    points, of = f"{public.rmse:.{competition.decimals}f}", len(competition.ids("test"))
    typer.echo(
        f"{team}: public RMSE {points} points, on the {public.n} of {of} predictions that count for now"
    )
    typer.echo(f"updated {board.csv} and {board.html}")


@app.command()
def leaderboard(
    folder: Folder,
    markdown: Annotated[bool, typer.Option("--markdown", help="The table as Markdown.")] = False,
) -> None:
    """Write the leaderboard, and print the organizer's table by group.

    Example: unseen leaderboard contest
    """
    from leaderboard import publish, results
    from submission import Competition

    competition = Competition.open(folder)
    published = publish(competition)
    for warning in published.warnings:
        typer.echo(f"warning: {warning}", err=True)
    typer.echo(f"The methods in {folder / 'submissions'} on all test sets, for the organizer only:\n")
    typer.echo(results(competition).table(markdown))
    typer.echo(f"\nTeams, with public scores: {published.csv}, {published.html}")


@app.command()
def pack(
    folder: Folder,
    out: Annotated[Path | None, typer.Option(help="The zip to write. [DIR.zip beside DIR]")] = None,
) -> None:
    """Make the participants' archive from public/ alone.

    Example: unseen pack contest
    """
    from submission import Competition
    from submission import pack as write

    target = out or Path(f"{folder.resolve()}.zip")
    typer.echo(write(Competition.open(folder), target))


def _methods() -> "dict[str, Estimator]":
    """Every method of the kit, by name."""
    from baselines import BASELINES
    from oracle import ORACLES

    return {**BASELINES, **ORACLES}


def _choose(names: list[str], settings: list[str]) -> "dict[str, Estimator]":
    """Fresh copies of the methods named, with the parameters that `--set` asks for."""
    from sklearn.base import clone

    from baselines.user_method import load_method, set_parameters

    kit = _methods()
    chosen = {}
    for name in names:
        if name not in kit and ":" not in name:
            raise UnusableInput(
                f"there is no method {name!r}; the kit has {', '.join(kit)}, or give module:Class"
            )
        chosen[name] = clone(kit[name]) if name in kit else load_method(name)
    set_parameters(chosen, _parsed(settings))
    return chosen


def _parsed(settings: list[str]) -> dict[str, dict[str, object]]:
    """METHOD.PARAM=VALUE lines as method -> parameter -> value; a value is JSON, else text."""
    found: dict[str, dict[str, object]] = {}
    for setting in settings:
        target, equals, text = setting.partition("=")
        method, dot, parameter = target.rpartition(".")
        if not (method and dot and parameter and equals):
            raise UnusableInput(f"--set {setting!r} is not METHOD.PARAM=VALUE, as in ora-a.iterations=2000")
        try:
            value = json.loads(text)
        except json.JSONDecodeError:
            value = text
        found.setdefault(method, {})[parameter] = value
    return found


def _summary(method: "Estimator") -> str:
    """The first line of what the method, or its indicator, says of itself."""
    documented = getattr(method, "indicator", type(method))
    return (documented.__doc__ or "").strip().splitlines()[0]


def main() -> None:
    """Run the command line: 0 done, 1 an invalid submission or a failed check, 2 unusable input.

    Threads of torch sleep while they wait unless told otherwise: spinning, they are several times slower as
    soon as anything else runs on the machine, and hardly faster on an idle one.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        app()
    except InvalidSubmission as error:
        sys.exit(_failed(str(error), 1))
    except UnusableInput as error:
        sys.exit(_failed(f"error: {error}", 2))
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        sys.exit(_failed(f"error: {error.strerror or error}{where}", 2))
    except SystemExit as end:
        if end.code == INTERRUPTED:
            _failed("interrupted; the same command goes on where it stopped", INTERRUPTED)
        raise


def _failed(message: str, code: int) -> int:
    print(message, file=sys.stderr)
    return code


if __name__ == "__main__":
    main()
