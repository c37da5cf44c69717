"""The manual of the C API, as Markdown, from include/tidegate.h: its chapters, and in each what belongs to it.

usage: c_manual.py > docs/c-api.md      `make header` calls it
"""

import re
from pathlib import Path

HEADER = Path(__file__).resolve().parents[1] / "include" / "tidegate.h"
INTRODUCTION = """# The C API

Made from [tidegate.h](../include/tidegate.h) by `make header`, and says the same. Programs to start from: [getting
started](getting-started/c.md), and for waiting and the gate [include](../include/README.md). In short:

- *Linking*: `-ltidegate`, shared or static; pkg-config and CMake know it.
- *Ownership*: whoever has an object made is its owner, until `_free` ([Objects](#objects)); structs are the
  caller's own.
- *Threads*: any function from any thread at any time, also on one object; none in a signal handler.
- *Errors*: what is returned is 0, an answer above it, or a mistake below it, which changed nothing
  ([Statuses](#statuses-and-versions)). A text that says what is allowed is made where something is built or read.
- *Forks*: a child works at once, without the permits, waits and callbacks of its parent ([a forked
  child](../include/README.md#a-forked-child)).
- *ABI*: nothing is ever removed or changed. Structs grow by their `struct_size`, functions by others with a suffix.
"""


def items(header):
    """Each comment at the margin with the declaration behind it: [(comment, code), ...]; code is empty for chapters."""
    comment, code, found = [], [], []
    for line in [*header.splitlines(), ""]:
        if line.startswith("/*") and not code:
            comment = [line]
        elif comment and not comment[-1].endswith("*/"):
            comment.append(line)
        elif comment and (line or (code and code[0].endswith("{") and not code[-1].startswith("}"))):
            code.append(line)
        elif comment:
            found.append(("\n".join(comment), "\n".join(code)))
            comment, code = [], []
    return found


def prose(comment):
    """The text of a comment without what makes it one."""
    lines = [re.sub(r"^ \*/?( |$)", "", line) for line in comment.removesuffix("*/").rstrip().splitlines()]
    return "\n".join([re.sub(r"^/\*\*? ?", "", lines[0]), *lines[1:]]).strip("\n")


def linked(text):
    """The same as Markdown: functions are links, and nothing outside of code is taken for markup."""
    parts = re.split(r"(`[^`]*`|^ {4,}.*$)", text, flags=re.MULTILINE)
    for place in range(0, len(parts), 2):  # what is not code
        plain = parts[place].replace("_*", r"_\*").replace("<", "&lt;")
        parts[place] = re.sub(r"\b(tidegate_\w+)\(\)", r"[\1()](#\1)", plain)
    return "".join(parts)


def macro(code, text):
    """A row of a table."""
    name, _, value = code.removeprefix("#define ").partition(" ")
    return f"| `{name}` | `{value.strip()}` | {' '.join(linked(text).split())} |"


def name_of(code):
    """What is declared: a function, or a type, whose name is the last but for that of a callback."""
    if code.startswith("typedef"):
        return re.search(r"\(\*(\w+)\)|(\w+);$", code).expand(r"\1\2")
    return re.search(r"\b(tidegate_\w+)\(", code)[1]


def manual(header):
    """The page; a chapter is a comment whose title is underlined."""
    out = []
    rows = False
    for comment, code in items(header):
        text = prose(comment)
        title, underline, rest = (*text.split("\n", 2), "", "")[:3]
        if rows and not code.startswith("#define"):
            out.append("")
        if re.fullmatch("=+", underline):
            out += [f"## {title}", "", *([linked(rest).strip("\n"), ""] if rest else [])]
        elif code.startswith("#define"):
            out += [] if rows else ["| macro | value | |", "| --- | --- | --- |"]
            out.append(macro(code, text))
        elif code.startswith("typedef") or "(" in code:
            out += [f"### {name_of(code)}", "", "```c", code, "```", "", linked(text), ""]
        rows = code.startswith("#define")
    chapters = [line.removeprefix("## ") for line in out if line.startswith("## ")]
    index = [f"- [{title}](#{title.lower().replace(' ', '-')})" for title in chapters]
    return "\n".join([INTRODUCTION, *index, "", *out]).rstrip() + "\n"


if __name__ == "__main__":
    print(manual(HEADER.read_text("utf-8")), end="")
