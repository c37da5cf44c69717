"""Links in the guides lead somewhere: to files that are there, and headings that are on their pages."""

import re
import unittest
from pathlib import PurePosixPath

from project import ROOT, committed_texts

LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")


def anchors(text):
    """What headings are called in links: in small letters, without signs, spaces as hyphens; a second one gets -1."""
    seen = {}
    for title in re.findall(r"^#{1,6} +(.*?) *$", FENCED.sub("", text), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        anchor = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        seen[anchor] = seen.get(anchor, -1) + 1
        yield anchor if seen[anchor] == 0 else f"{anchor}-{seen[anchor]}"


def links(text):
    """The targets of links, code left out."""
    return LINK.findall(CODE.sub("`", FENCED.sub("", text)))


def fault_of(page, target):
    """What is wrong with a link on a page, or None. The web is not looked at."""
    if re.match(r"[a-z]+:", target):
        return None
    path, _, anchor = target.partition("#")
    place = (ROOT / page).parent / path if path else ROOT / page
    if not place.exists():
        return f"{page}: {target}: no such file"
    if anchor and (place.suffix != ".md" or anchor not in anchors(place.read_text("utf-8"))):
        return f"{page}: {target}: no such heading"
    return None


class Links(unittest.TestCase):
    def test_every_relative_link_leads_to_a_file_and_a_heading(self):
        pages = [(name, text) for name, text in committed_texts() if name.endswith(".md")]
        faults = [fault_of(name, target) for name, text in pages for target in links(text)]
        self.assertGreater(len(faults), 100)
        self.assertEqual([fault for fault in faults if fault], [])

    def test_a_link_to_no_file_or_no_heading_is_found(self):
        self.assertIn("no such file", fault_of("README.md", "docs/nothing.md"))
        self.assertIn("no such heading", fault_of("README.md", "docs/keyed.md#nothing"))
        self.assertIsNone(fault_of("docs/guarantees.md", "keyed.md#which-keys"))
        self.assertEqual(links("[a](b.md), `[c](d.md)`, ![e](f.svg), [`g`](h.md)"), ["b.md", "f.svg", "h.md"])

    def test_every_promise_names_a_test(self):
        text = (ROOT / "docs/guarantees.md").read_text("utf-8")
        promises = re.findall(r"^\| (?!promise|---)(.*) \| (.*) \|$", text, re.MULTILINE)
        self.assertGreater(len(promises), 30)
        for promise, shown_by in promises:
            with self.subTest(promise=promise):
                self.assertTrue(any("test" in PurePosixPath(target).as_posix() for target in links(shown_by)))

    def test_every_guide_is_in_the_index(self):
        docs = ROOT / "docs"
        index = links((docs / "README.md").read_text("utf-8"))
        folders = {PurePosixPath(target).parts[0] for target in index if target.endswith(("/", "/README.md"))}
        guides = [path.relative_to(docs) for path in docs.glob("**/*.md") if path.name != "README.md"]
        missing = [str(guide) for guide in guides if str(guide) not in index and guide.parts[0] not in folders]
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
