"""What CONTRIBUTING, the tour, the library's page and CITATION.cff name is there, and the pictures that pages show."""

import ast
import re
from pathlib import Path

import pytest
import yaml
from pages import PAGES, ROOT
from PIL import Image

import unseen
from starter.observing.observation import NEEDS, Observation

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
TOUR = (ROOT / "docs/design/tour.md").read_text(encoding="utf-8")
API = (ROOT / "docs/api.md").read_text(encoding="utf-8")


def test_every_file_that_is_named_exists():
    named = {path for path in re.findall(r"`([\w.-]+/[\w./-]*)`", CONTRIBUTING) if "<" not in path}
    assert len(named) > 20
    named |= set(re.findall(r"`([\w/]+\.py)`", TOUR))
    assert sorted(path for path in named if not (ROOT / path).exists()) == []


def test_the_tutorial_lists_every_field_of_an_observation():
    text = (ROOT / "docs/tutorials/participant.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.+?) \| .+ \| (.+) \|$", text, re.MULTILINE)
    fields = {name: there for names, there in rows for name in re.findall(r"`(\w+)", names)}
    assert {name for name, there in fields.items() if there != "always"} == set(NEEDS)
    assert all(hasattr(Observation, name) or name in vars(Observation)["__annotations__"] for name in fields)


@pytest.mark.parametrize("package", ["starter", "baselines", "leaderboard", "oracle", "benchmarks"])
def test_every_room_is_named(package):
    (line,) = re.findall(rf"^\| `{package}/` \| (.*) \|$", CONTRIBUTING, re.MULTILINE)
    rooms = {path.parent.name for path in ROOT.glob(f"{package}/*/*.py")}
    assert rooms <= set(re.findall(r"`(\w+)`", line))


def test_registries_are_where_the_recipes_say():
    found = re.findall(r"`([A-Z]+)`\s\(`([\w/]+\.py)`\)", CONTRIBUTING)
    assert found
    for name, path in found:
        assert re.search(rf"^{name}\b", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE), path


@pytest.mark.parametrize("path", ["README.md", ".ci/run", "CONTRIBUTING.md"])
def test_the_whole_run_is_the_readmes_and_cis(path):
    assert re.search(r"OMP_NUM_THREADS=1 pytest -n 2[`\n ]", (ROOT / path).read_text(encoding="utf-8"))


def test_the_calls_of_the_tour_stand_in_their_files():
    calls = re.findall(r"`([\w/]+\.py):(\w+)`", TOUR)
    assert len(calls) == 12
    for path, name in calls:
        body = ast.parse((ROOT / path).read_text(encoding="utf-8")).body
        assert name in {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}, name


def test_every_name_of_the_library_has_its_line_and_its_place():
    lines = dict(re.findall(r"^\| `unseen\.(\w+)` \| (.+) \|$", API, re.MULTILINE))
    types = {name for name in dir(unseen) if isinstance(getattr(unseen, name), type)}
    errors = {name for name in types if issubclass(getattr(unseen, name), Exception)}
    assert set(lines) == set(dir(unseen)) - errors
    assert all(f"`unseen.{name}`" in API for name in errors)
    for name, line in lines.items():
        assert getattr(unseen, name).__doc__.partition("\n\n")[0].split() == line.split(), name
    assert sorted(re.findall(r"^\.\. auto\w+:: (\w+)$", API, re.MULTILINE)) == sorted(dir(unseen))


def test_every_decision_has_its_date_and_status():
    index = (ROOT / "docs/decisions/index.md").read_text(encoding="utf-8")
    row = r"^\| \[\d{4}\]\((.+)\) \| (.+) \| [\d-]{10} \| (?:holds|changed [\d-]{10}) \|$"
    texts = {each.name: each.read_text(encoding="utf-8") for each in ROOT.glob("docs/decisions/0*")}
    titles = {name: re.sub(r"# \d+[.:]? (.+)\n[^$]*", r"\1", text) for name, text in texts.items()}
    assert dict(re.findall(row, index, re.MULTILINE)) == titles


def test_the_citation_is_complete():
    found = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert found.keys() >= {"cff-version", "message", "title", "authors"}
    assert found["license"] in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for paper in found["references"]:
        assert paper["type"] in ("article", "conference-paper")
        assert all(author.keys() == {"family-names", "given-names"} for author in paper["authors"])
        assert re.fullmatch(r"10\.\d{4,9}/\S+", paper.get("doi", "10.1234/none"))


def test_pictures_are_there_and_fit_a_page_and_a_script_makes_those_of_the_readme():
    shown = [
        (page, name)
        for page in PAGES
        for name in re.findall(r"!\[[^\]]+\]\(([^)]+\.png)\)", page.read_text(encoding="utf-8"))
    ]
    script = (ROOT / "docs/images/make.py").read_text(encoding="utf-8")
    for page, name in shown:
        with Image.open(page.parent / name) as picture:
            assert 200 <= picture.width <= 1600, name
        assert (page.parent / name).stat().st_size < 500_000, name
        assert page.name != "README.md" or f'HERE / "{Path(name).name}"' in script, name
