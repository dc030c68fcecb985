from pathlib import Path

import pytest

from starter.synis.styles import STYLES, read_styles
from submission.errors import UnusableInput


def test_the_51_styles_of_the_paper_put_the_label_in():
    prompts = {style.prompt("red fox") for style in STYLES}
    assert len(prompts) == len(STYLES) == 51
    assert all("red fox" in prompt and "{" not in prompt for prompt in prompts)
    assert "red fox, pixel art style" in prompts


def test_styles_of_ones_own(tmp_path: Path):
    file = tmp_path / "styles.csv"
    file.write_text('name,prompt,negative\nink,"{object}, ink on paper",colour\nplain,{object},\n')
    ink, plain = read_styles(file)
    assert (ink.prompt("cat"), ink.negative) == ("cat, ink on paper", "colour")
    assert (plain.prompt("{x} cat"), plain.negative) == ("{x} cat", "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,prompt\nink,no place\n", "line 2: needs a name, and a prompt with {object}"),
        ("name,prompt\n,{object}\n", "line 2: needs a name"),
        ("name,prompt\nink,{object}\nink,{object} b\n", "line 3: the style 'ink' stands above already"),
        ("name,prompt\n", "holds no style"),
        ("name\nink\n", "no column 'prompt'"),
    ],
)
def test_a_file_that_is_none(tmp_path: Path, text: str, message: str):
    file = tmp_path / "styles.csv"
    file.write_text(text)
    with pytest.raises(UnusableInput, match="styles") as caught:
        read_styles(file)
    assert message in str(caught.value)
