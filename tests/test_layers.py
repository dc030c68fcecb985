"""What import-linter cannot say (its contracts stand in pyproject.toml): what a command loads when it runs."""

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("submission", "starter", "baselines", "oracle", "leaderboard")
HEAVY = {"torch", "torchvision", "sklearn", "lightgbm", "scipy", "matplotlib", "cv2", "pytorch_ood", "pandas"}


def imported(path: Path) -> set[str]:
    """The top-level packages that a module imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
    return found


def loaded_by(*arguments: str) -> set[str]:
    """The heavy packages that a command loads."""
    code = (
        "import sys, unseen\n"
        f"sys.argv = ['unseen', *{list(arguments)!r}]\n"
        "try:\n    unseen.main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "print('LOADED', *sorted(name for name in sys.modules if '.' not in name))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split()) & HEAVY


def test_light_commands_load_nothing_heavy(contest):
    from submission import write_predictions

    files = {part: contest.root / f"{part}.csv" for part in ("test", "val")}
    for part, path in files.items():
        write_predictions(path, dict.fromkeys(contest.ids(part), 0.5))
    root = str(contest.root)
    for arguments in (
        ["--help"],
        ["validate", root, str(files["test"])],
        ["score", root, str(files["test"]), "--team", "a team"],
        ["score", root, str(files["val"]), "--val"],
        ["select", root, "--team", "a team", "1"],
        ["history", root],
        ["rescore", root, "--void", "test_0003", "--reason", "mislabelled"],
        ["verify", root],
        ["leaderboard", root],
        ["pack", root],
        ["card", root],
        ["export", "codabench", root, f"{root}-codabench"],
        ["export", "kaggle", root, f"{root}-kaggle"],
    ):
        assert loaded_by(*arguments) == set(), arguments


def test_no_pickle_eval_or_extractall():
    for package in (*PACKAGES, "unseen.py"):
        path = ROOT / package
        for module in [path] if path.is_file() else path.rglob("*.py"):
            tree = ast.parse(module.read_text(encoding="utf-8"))
            assert not imported(module) & {"pickle", "joblib", "dill", "shelve", "marshal"}, module
            calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
            names = {func.id for func in calls if isinstance(func, ast.Name)}
            assert not names & {"eval", "exec"}, module
            assert not any(isinstance(func, ast.Attribute) and func.attr == "extractall" for func in calls), (
                module
            )


def test_detectors_import_pytorch_ood_only_when_they_are_used():
    code = "import sys, starter.detectors; print('pytorch_ood' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]
