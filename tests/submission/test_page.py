"""How templates are filled in, and names of others in Markdown."""

import pytest

from submission.page import escaped, templates


@pytest.mark.parametrize(("escape", "shown"), [(True, "&lt;b&gt;\n"), (False, "<b>\n")])
def test_values_are_escaped_unless_asked_not_to(tmp_path, escape, shown):
    (tmp_path / "page.html").write_text("{% if value %}\n{{ value }}\n{% endif %}\n")
    assert templates(tmp_path, escape).get_template("page.html").render(value="<b>") == shown


@pytest.mark.parametrize("name", ["a|b", "<script>", "![x](http://a.b)", "`code`", "*x*_y_", "a\nb", "# x"])
def test_no_name_is_mark_up(name):
    shown = escaped(name)
    bare = shown.replace("\\\\", "")
    for character in "|<>![]()`*_.#":
        assert bare.count(character) == bare.count("\\" + character)
    assert shown.isprintable()
