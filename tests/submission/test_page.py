"""How templates are filled in."""

import pytest
from jinja2 import UndefinedError

from submission.page import templates


@pytest.mark.parametrize(("escape", "shown"), [(True, "&lt;b&gt;\n"), (False, "<b>\n")])
def test_values_are_escaped_unless_asked_not_to(tmp_path, escape, shown):
    (tmp_path / "page.html").write_text("{% if value %}\n{{ value }}\n{% endif %}\n")
    assert templates(tmp_path, escape).get_template("page.html").render(value="<b>") == shown


def test_an_unknown_name_is_an_error(tmp_path):
    (tmp_path / "page.html").write_text("{{ other }}")
    with pytest.raises(UndefinedError, match="other"):
        templates(tmp_path).get_template("page.html").render(value=1)
