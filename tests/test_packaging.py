"""What installs, checks and releases the kit says the same: the Dockerfile, the workflows, pages, and .ci/run."""

import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

from leaderboard import ledger
from submission import competition
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
    assert re.findall(r"^WORKDIR (.+)$", DOCKERFILE, re.MULTILINE)[-1] == "/tmp", "any user can enter it"


def test_hosted_ci_runs_the_steps_of_ci_on_the_pythons_that_the_kit_names() -> None:
    jobs: Any = yaml.safe_load(text(".github/workflows/ci.yml"))["jobs"]
    matrix, pythons = (jobs[name]["strategy"]["matrix"] for name in ("checks", "tests"))
    (lowest,) = matrix["include"]
    assert " ".join(sorted([*matrix["step"], lowest["step"]])) == "docs host kernels lint lowest types wheel"
    runs = [step["run"] for name in jobs for step in jobs[name]["steps"] if ".ci/run" in step.get("run", "")]
    assert runs == [".ci/run ${{ matrix.step }}", ".ci/run tests"]
    named = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', PROJECT)
    assert (lowest["python"], pythons["python"][0], pythons["python"][-1]) == (named[0], named[0], named[-1])
    assert f'requires-python = ">={named[0]}"' in PROJECT


def test_one_version_is_named_everywhere() -> None:
    (number,) = re.findall('^version = "(.+)"$', PROJECT, re.MULTILINE)
    citation = yaml.safe_load(text("CITATION.cff"))
    assert (citation["version"], version("unseen")) == (number, number), "pip install -e . again"
    date = "not released" if ".dev" in number else citation["date-released"]
    assert f"\n\n## {number.partition('.dev')[0]} - {date}\n" in text("CHANGELOG.md")[:40]


def test_the_page_of_formats_has_the_numbers_of_the_code() -> None:
    numbers = re.findall(r"^\| [^|]+ \| ([\w./-]*\d) \|", text("docs/design/versions.md"), re.MULTILINE)
    assert numbers == [str(each) for each in (competition.VERSION, ledger.VERSION, SCORER, Stream.version)]
