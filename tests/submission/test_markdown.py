"""Names of others in Markdown."""

import pytest

from submission.markdown import escaped


@pytest.mark.parametrize(
    "name",
    ["a|b", "<script>", "![x](http://a.b)", "`code`", "*x*_y_", "www.example.com", "a\nb", "# x", "\u202ex"],
)
def test_no_name_is_mark_up(name: str) -> None:
    shown = escaped(name)
    bare = shown.replace("\\\\", "")
    for character in "|<>![]()`*_.#":
        assert bare.count(character) == bare.count("\\" + character)
    assert shown.isprintable()
