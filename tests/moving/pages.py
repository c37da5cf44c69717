"""Pages of docs/moving as what they say: rows of settings, and code that uses them."""

import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "moving"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Row:
    """A setting: what is code in its first cell, what is code in its second, and the third, which is what differs."""

    name: str
    theirs: list[str]
    ours: list[str]
    differs: str

    def __repr__(self):
        return self.name


class Page:
    """A page by its name."""

    def __init__(self, name):
        text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
        self.blocks = BLOCK.findall(text)
        self.rows = []
        self.tested = set()
        for line in BLOCK.sub("", text).splitlines():
            if line.startswith("| ") and not line.startswith((f"| {name} ", "| --- ")):
                theirs, ours, differs = line.removeprefix("| ").removesuffix(" |").split(" | ")
                self.rows.append(Row(theirs, CODE.findall(theirs), CODE.findall(ours), differs))

    def row(self, *names):
        """Makes a decorator: the test is about the rows whose first cells are, or begin with, these: each as `row`."""
        rows = [self.find(name) for name in names]
        self.tested.update(row.name for row in rows)
        return pytest.mark.parametrize("row", rows, ids=repr)

    def find(self, name):
        named = [row for row in self.rows if row.name == name] or [
            row for row in self.rows if row.name.startswith(name)
        ]
        assert len(named) == 1, f"{len(named)} rows begin with {name}"
        return named[0]

    @property
    def untested(self):
        return [row.name for row in self.rows if row.name not in self.tested]

    def load(self, number, folder):
        """Pastes a block into a file, and imports it."""
        file = folder / f"block_{number}.py"
        file.write_text(self.blocks[number][1], encoding="utf-8")
        spec = importlib.util.spec_from_file_location(file.stem, file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
