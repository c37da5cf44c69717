"""Pages of docs/scenarios as what they say: a rule file, and code that uses it."""

import importlib.util
import re
from pathlib import Path

import pytest
from tidegate import ManualClock

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "scenarios"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Page:
    """What a page prints, pasted into a folder: its rules as rules.toml, its Python code as a module."""

    def __init__(self, name, folder):
        blocks = BLOCK.findall((PAGES / f"{name}.md").read_text(encoding="utf-8"))
        self.rules = [text for tag, text in blocks if tag == "toml"]
        self.node = [text for tag, text in blocks if tag == "js"]
        self.file = folder / "rules.toml"
        if self.rules:
            self.file.write_text(self.rules[0], encoding="utf-8")
        source = folder / f"{name.replace('-', '_')}.py"
        source.write_text("\n".join(text for tag, text in blocks if tag == "python"), encoding="utf-8")
        spec = importlib.util.spec_from_file_location(source.stem, source)
        self.code = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.code)

    def save(self, rules):
        """Saves the rule file anew, whole: half of it would be rules, too."""
        new = self.file.with_suffix(".new")
        new.write_text(rules, encoding="utf-8")
        new.replace(self.file)


@pytest.fixture
def page(request, tmp_path, monkeypatch):
    """The page that the module of the tests names as PAGE."""
    monkeypatch.chdir(tmp_path)
    return Page(request.module.PAGE, tmp_path)


@pytest.fixture
def clock():
    return ManualClock()
