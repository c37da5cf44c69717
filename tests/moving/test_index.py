"""No page is forgotten."""

import re

from pages import FOLDER

NAMES = {page.stem for page in FOLDER.glob("*.md")} - {"README"}


def test_each_page_is_in_the_index():
    assert set(re.findall(r"\]\(([\w-]+)\.md\)", (FOLDER / "README.md").read_text(encoding="utf-8"))) == NAMES
