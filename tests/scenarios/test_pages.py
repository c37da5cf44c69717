"""No page is forgotten."""

import re
from pathlib import Path

from conftest import PAGES

NAMES = {page.stem for page in PAGES.glob("*.md")} - {"README"}


def test_each_page_is_tested():
    modules = [file.read_text(encoding="utf-8") for file in Path(__file__).parent.glob("test_*.py")]
    assert set(re.findall(r'^PAGE = "(.+)"$', "\n".join(modules), re.MULTILINE)) == NAMES


def test_each_page_is_in_the_index():
    assert set(re.findall(r"\]\(([\w-]+)\.md\)", (PAGES / "README.md").read_text(encoding="utf-8"))) == NAMES
