"""Runs every code block of the guides as pasted: each must end well, and print what the page says that it prints.

The blocks of a page share a folder, in which its rule files lie. A `text` block straight behind a code block is what it
prints. One that serves on port 8000 is asked by two clients until it refuses, and ended.

usage: run.py [LANG ...]    only these languages; all by default
"""

import fnmatch
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import zip_longest

import shell
from languages import LANGUAGES, ROOT, WORK, build_rust, make_folders, run

PAGES = ("*.md", "*/README.md", "docs/**/*.md")
# Pages whose blocks another test runs, and which.
ELSEWHERE = {
    "docs/c-api.md": "tests/c/run.sh",  # declarations of the header, which is compiled there
    "node/README.md": "node/test/readme.test.js",
    "docs/moving/*.md": "tests/moving",
    "docs/scenarios/*.md": "tests/scenarios",
}
# What a page must not be without: the README has an example in each.
FIRST_PAGE = ("README.md", {"sh", "toml", "python", "js", "java", "rust", "c", "cpp"})
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Block:
    page: str
    number: int  # on its page, from 1
    line: int
    tag: str
    code: str
    printed: str | None  # what the page says that it prints, if it does
    path: str  # what the page has its reader ask of a server

    @property
    def name(self):
        return f"{re.sub(r'[^a-z0-9]+', '-', self.page.lower().removesuffix('.md'))}-{self.number}"

    @property
    def folder(self):
        return WORK / self.page.removesuffix(".md")


def blocks_of(page, text):
    """The blocks of one page, each with what it prints."""
    found = list(BLOCK.finditer(text))
    asked = re.search(r"localhost:8000(/[\w/-]*)", text)
    blocks = []
    for number, (match, following) in enumerate(zip_longest(found, found[1:]), 1):
        prints = following and following[1] == "text" and not text[match.end() : following.start()].strip()
        line = text.count("\n", 0, match.start()) + 1
        printed = following[2] if prints else None
        blocks.append(Block(page, number, line, match[1], match[2], printed, asked[1] if asked else "/"))
    return blocks


def pages():
    """The names of the pages that are for this test."""
    names = sorted({path.relative_to(ROOT).as_posix() for pattern in PAGES for path in ROOT.glob(pattern)})
    return [name for name in names if not any(fnmatch.fnmatch(name, pattern) for pattern in ELSEWHERE)]


def fault_of(block):
    """What went wrong with one block, or None."""
    if block.tag == "sh":
        return shell.fault_of(block.code)
    if block.tag not in LANGUAGES:
        return f"got {block.tag!r}; allowed: {', '.join(['sh', 'text', *LANGUAGES])}"
    try:
        return run(block)
    except Exception as error:  # such as a time-out: the others are run all the same
        return repr(error)


def run_all(blocks):
    """Runs blocks, two at once; how many failed."""
    failed = 0
    with ThreadPoolExecutor(2) as runners:
        for block, fault in zip(blocks, runners.map(fault_of, blocks), strict=True):
            failed += fault is not None
            print(f"{'ok' if fault is None else 'FAILED'} {block.page}:{block.line} {block.tag}", flush=True)
            if fault:
                print(fault)
    return failed


def main():
    languages = set(sys.argv[1:] or LANGUAGES.values())
    blocks = [block for page in pages() for block in blocks_of(page, (ROOT / page).read_text(encoding="utf-8"))]
    missing = FIRST_PAGE[1] - {block.tag for block in blocks if block.page == FIRST_PAGE[0]}
    make_folders(blocks)
    blocks = [block for block in blocks if block.tag != "text" and LANGUAGES.get(block.tag) in {None, *languages}]
    rust = [block for block in blocks if block.tag == "rust"]
    failed = len(missing)
    with ThreadPoolExecutor(1) as builder:
        built = builder.submit(build_rust, rust)
        failed += run_all([block for block in blocks if block.tag != "rust"])
        built.result()
    failed += run_all(rust)
    if missing:
        print(f"FAILED {FIRST_PAGE[0]} has no example in {', '.join(sorted(missing))}")
    print(f"{len(blocks) + len(missing) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
