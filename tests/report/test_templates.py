"""Templates of the pages."""

from __future__ import annotations

from jinja2 import UndefinedError
from markupsafe import Markup

from isr_pipeline.report.sections import SECTIONS
from isr_pipeline.report.templates import FOLDER, rendered
from tests.approved import Approved


class TestTemplates:
    """What a template may rely on."""

    def test_a_name_that_nobody_gave_is_an_error(self, approved: Approved) -> None:
        """It does not leave a hole in the page."""
        with approved.refusal(UndefinedError):
            rendered("sections/data.html", {"facts": {}})

    def test_text_is_escaped_and_markup_is_not_escaped_again(self) -> None:
        """What comes from outside is text; what a template drew is not."""
        page = rendered("sections/data.html", {"facts": {"a<b>": "'&'"}, "docs": 'x">'})
        assert "<dt>a&lt;b&gt;</dt><dd>&#39;&amp;&#39;</dd>" in page
        assert 'href="x&#34;&gt;"' in page
        assert isinstance(page, Markup)

    def test_each_section_has_one_and_none_is_left_over(self) -> None:
        """The list of sections and the folder name the same."""
        drawn = {file.stem for file in (FOLDER / "sections").glob("*.html")}
        assert drawn == {one.name for one in SECTIONS}
