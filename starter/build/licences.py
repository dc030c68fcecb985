"""The licences of a competition's images: one line a source, which travels in the participants' archive."""

from pathlib import Path

from starter.build.plan import Settings

NAMED = {
    "cifar10": (
        "its authors state none (https://www.cs.toronto.edu/~kriz/cifar.html); cite A. Krizhevsky, Learning "
        "Multiple Layers of Features from Tiny Images, 2009"
    ),
    "glyphs": (
        "rendered from what these ship: scikit-learn (BSD-3-Clause; UCI's handwritten digits, CC BY 4.0; "
        "photographs china.jpg and flower.jpg, CC BY 2.0), Matplotlib (its licence; typefaces DejaVu, STIX "
        "and Computer Modern; sample data) and OpenCV (Apache-2.0; Hershey fonts)"
    ),
}
"""Of the sources that have a name."""
UNKNOWN = "not stated"


def licences(settings: Settings) -> str:
    """The text of ``public/LICENCES.txt``. Sources of test sets are not named: that would tell their kind.

    >>> print(licences(Settings(source="photos", licence="CC0 1.0", test_from=("here/x",))), end="")
    photos: CC0 1.0
    test sets from elsewhere: CC0 1.0
    """
    given = settings.licence or UNKNOWN
    lines = {settings.source: NAMED.get(settings.source, given)}
    lines |= dict.fromkeys(settings.public_paths, given)
    text = "".join(f"{_last(path)}: {licence}\n" for path, licence in lines.items())
    return text + (f"test sets from elsewhere: {given}\n" if settings.test_from else "")


def _last(path: str) -> str:
    return Path(path).absolute().name
