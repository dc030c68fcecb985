"""What installs, checks and releases the kit says the same: the Dockerfile, the workflows, pages, and .ci/run."""

import re
from pathlib import Path
from typing import Any

import yaml

from leaderboard import ledger
from submission import competition as folder
from submission.card import archive_readme
from submission.competition import Competition
from submission.scoring import SCORER
from unseen import PACKAGES
from unseen.estimation.stream import Stream


def text(name: str) -> str:
    return (Path(__file__).parents[1] / name).read_text(encoding="utf-8")


DOCKERFILE, PROJECT = text("Dockerfile"), text("pyproject.toml")


def test_the_image_holds_what_is_installed() -> None:
    copied = {
        name for line in re.findall(r"^COPY (.+) \S+$", DOCKERFILE, re.MULTILINE) for name in line.split()
    }
    assert copied == {"pyproject.toml", "README.md", "LICENSE", "unseen", *PACKAGES}
    assert {line[1:] for line in text(".dockerignore").splitlines() if line.startswith("!")} == copied


def test_the_image_is_installed_as_the_scoring_host_of_ci_is() -> None:
    """.ci/run makes that host from a wheel and scores with it."""
    (packages,) = set(re.findall(r"pip install --no-cache-dir ([a-z0-9 ]+) &&", DOCKERFILE))
    assert f'bin/pip" install -q {packages}\n' in text(".ci/run")
    assert f"pip install {packages} && pip install --no-deps -e ." in text("docs/how-to/publishing.md")
    assert "pip install --no-cache-dir --no-deps ." in DOCKERFILE


def test_nobody_scores_as_root_and_whoever_owns_the_private_folder_can() -> None:
    assert re.search(r"^USER (?!root)\w+$", DOCKERFILE, re.MULTILINE)
    for page in (DOCKERFILE, text("docs/how-to/publishing.md")):
        assert '--user "$(id -u):$(id -g)"' in page
    assert re.findall(r"^WORKDIR (.+)$", DOCKERFILE, re.MULTILINE)[-1] == "/tmp", (
        "a user's home is closed to others"
    )


def test_hosted_ci_runs_the_steps_of_ci_on_the_pythons_that_the_kit_names() -> None:
    found: Any = yaml.safe_load(text(".github/workflows/ci.yml"))
    checks, tests = found["jobs"]["checks"], found["jobs"]["tests"]
    matrix = checks["strategy"]["matrix"]
    (lowest,) = matrix["include"]
    assert sorted(matrix["step"]) == ["docs", "host", "kernels", "lint", "types", "wheel"]
    assert lowest["step"] == "lowest"
    assert checks["steps"][-1]["run"] == ".ci/run ${{ matrix.step }}"
    assert ".ci/run tests" in [step.get("run") for step in tests["steps"]]
    named = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', PROJECT)
    pythons = tests["strategy"]["matrix"]["python"]
    assert (lowest["python"], pythons[0], pythons[-1]) == (named[0], named[0], named[-1])
    assert f'requires-python = ">={named[0]}"' in PROJECT
    assert found["permissions"] == {"contents": "read"}


def test_one_version_is_named_everywhere(competition: Competition) -> None:
    (version,) = re.findall('^version = "(.+)"$', PROJECT, re.MULTILINE)
    assert f"Install version {version} of the kit" in archive_readme(competition), "pip install -e . again"
    citation = yaml.safe_load(text("CITATION.cff"))
    assert citation["version"] == version
    number, _, development = version.partition(".dev")
    date = "not released" if development else citation["date-released"]
    assert re.findall("^## (.+)", text("CHANGELOG.md"), re.MULTILINE)[0] == f"{number} - {date}"


def test_the_page_of_formats_has_the_numbers_of_the_code() -> None:
    numbers = re.findall(r"^\| [^|]+ \| ([\w./-]*\d) \|", text("docs/design/versions.md"), re.MULTILINE)
    assert numbers == [str(each) for each in (folder.VERSION, ledger.VERSION, SCORER, Stream.version)]
