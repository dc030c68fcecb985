"""The styles of Syn-IS: templates that turn a label into a prompt."""

from dataclasses import dataclass
from pathlib import Path

from starter.images.files import unusable
from submission.textfile import read_rows

STYLE_NAMES = (
    "art nouveau", "constructivist", "expressionist", "graffiti", "hyperrealism", "impressionist",
    "pointillism", "pop art", "renaissance", "surrealist", "typography", "watercolor", "cybernetic",
    "cyberpunk game", "gta", "retro arcade", "retro game", "rpg fantasy game", "pixel art", "line art",
    "comic book", "3d-model", "dreamscape", "dystopian", "fairy tale", "gothic", "grunge", "kawaii",
    "lovecraftian", "macabre", "manga", "metropolis", "minimalist", "monochrome", "nautical", "space",
    "stained glass", "collage", "flat papercut", "paper mache", "paper quilling", "papercut collage",
    "papercut shadow box", "stacked papercut", "thick layered papercut", "film noir", "glamour", "hdr",
    "iphone photographic", "long exposure", "tilt-shift",
)  # fmt: skip
"""The 51 styles of Long et al. 2024, appendix D. SDXL's templates are not the kit's to ship."""
OBJECT = "{object}"


@dataclass(frozen=True)
class Style:
    """A style.

    Attributes:
        name: what it is called.
        template: the prompt, in which ``{object}`` stands for the label.
        negative: what the image should not show; "" for nothing. SDXL-Turbo, which runs without guidance,
            does not heed it.
    """

    name: str
    template: str
    negative: str = ""

    def prompt(self, label: str) -> str:
        """The prompt for a label.

        >>> Style("pixel art", "{object}, pixel art style").prompt("cat")
        'cat, pixel art style'
        """
        return self.template.replace(OBJECT, label)


STYLES = tuple(Style(name, f"{OBJECT}, {name} style") for name in STYLE_NAMES)
"""Every named style by its name alone."""


def read_styles(path: Path) -> tuple[Style, ...]:
    """Styles from a CSV with the columns name, prompt (with ``{object}``) and, if wanted, negative.

    Raises:
        UnusableInput: the file cannot be read, lacks a column, or has a style twice, without ``{object}``, or
            none at all.
    """
    styles: dict[str, Style] = {}
    for line, row in read_rows(path, ("name", "prompt")):
        if not row["name"] or OBJECT not in row["prompt"]:
            raise unusable(path, f"line {line}: needs a name, and a prompt with {OBJECT} in it")
        if row["name"] in styles:
            raise unusable(path, f"line {line}: the style {row['name']!r} stands above already")
        styles[row["name"]] = Style(row["name"], row["prompt"], row.get("negative", ""))
    if not styles:
        raise unusable(path, "holds no style: give it rows under name,prompt")
    return tuple(styles.values())
