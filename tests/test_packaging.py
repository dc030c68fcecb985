"""The Dockerfile and the hosted CI run what docs/how-to/publishing.md and .ci/run say."""

import re
from pathlib import Path

import yaml

from unseen import PACKAGES

ROOT = Path(__file__).parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_the_image_holds_what_is_installed() -> None:
    copied = re.findall(r"^COPY (.+) \S+$", DOCKERFILE, re.MULTILINE)
    assert {name for line in copied for name in line.split()} == {
        *("pyproject.toml", "README.md", "LICENSE", "unseen"),
        *PACKAGES,
    }
    kept = (ROOT / ".dockerignore").read_text(encoding="utf-8")
    assert {line[1:] for line in kept.splitlines() if line.startswith("!")} == {
        name for line in copied for name in line.split()
    }


def test_the_image_is_installed_as_the_scoring_host_of_ci_is() -> None:
    """.ci/run makes that host from a wheel and scores with it."""
    pages = (".ci/run", "docs/how-to/publishing.md")
    ci, page = ((ROOT / name).read_text(encoding="utf-8") for name in pages)
    (packages,) = set(re.findall(r"pip install --no-cache-dir ([a-z0-9 ]+) &&", DOCKERFILE))
    assert f'bin/pip" install -q {packages}\n' in ci
    assert f"pip install {packages} && pip install --no-deps -e ." in page
    assert "pip install --no-cache-dir --no-deps ." in DOCKERFILE


def test_nobody_scores_as_root_and_whoever_owns_the_private_folder_can() -> None:
    assert re.search(r"^USER (?!root)\w+$", DOCKERFILE, re.MULTILINE)
    page = (ROOT / "docs/how-to/publishing.md").read_text(encoding="utf-8")
    for text in (DOCKERFILE, page):
        assert '--user "$(id -u):$(id -g)"' in text
    assert re.findall(r"^WORKDIR (.+)$", DOCKERFILE, re.MULTILINE)[-1] == "/tmp", (
        "a user's home is closed to others"
    )


def test_hosted_ci_runs_what_ci_runs_on_the_oldest_python_and_a_new_one() -> None:
    found = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    job = found["jobs"]["ci"]
    assert [step["run"] for step in job["steps"] if "run" in step] == [".ci/run"]
    oldest = re.search(
        r'requires-python = ">=([\d.]+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    )
    assert oldest
    assert oldest[1] in job["strategy"]["matrix"]["python"]
    assert found["permissions"] == {"contents": "read"}
