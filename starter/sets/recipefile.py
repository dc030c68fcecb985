"""A file of recipes of one's own."""

from pathlib import Path

from starter.sets.recipe import Recipe
from submission.errors import UnusableInput

MAX_BYTES = 1 << 26


def read_recipes(path: Path | str) -> list[Recipe]:
    """The recipes in a file of one's own: a line of JSON each, as `Recipe.to_json` writes it; blank lines are
    skipped.

    Raises:
        UnusableInput: no such file, larger than 64 MB, not UTF-8, no recipe in it, a line that is none, or a
            name that stands there twice; the message names the file and the line.
    """
    path = Path(path)
    if not path.is_file():
        raise UnusableInput(f"recipes {path}: {'not a file' if path.exists() else 'no such file'}")
    if path.stat().st_size > MAX_BYTES:
        raise UnusableInput(f"recipes {path}: more than {MAX_BYTES >> 20} MB; give fewer recipes")
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UnusableInput(f"recipes {path}: cannot be read ({error})") from error
    recipes: list[Recipe] = []
    first: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            recipe = Recipe.from_json(line)
        except UnusableInput as error:
            raise UnusableInput(f"{path}, line {number}: {error}") from error
        if first.setdefault(recipe.name, number) != number:
            raise UnusableInput(
                f"{path}, line {number}: the name {recipe.name!r} stands in line {first[recipe.name]} already"
            )
        recipes.append(recipe)
    if not recipes:
        raise UnusableInput(f"recipes {path}: holds no recipe, which is one line of JSON")
    return recipes
