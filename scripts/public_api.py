"""Lists what the Rust crate offers, a declaration a line: `make public-api` keeps it in core/public-api.txt.

Read from the pages that a stable `cargo doc` writes, as rustdoc's JSON needs a nightly compiler. Left out is what the
standard library implements for every type, and what the pages say of an item beyond its declaration.

usage: public_api.py FOLDER     the crate's folder among the pages: target/doc/tidegate
"""

import html.parser
import pathlib
import re
import sys

# Elements whose text is no part of a declaration: links to the source, "Read more", notable traits.
ASIDE = re.compile(r"\b(src|rightside|tooltip|anchor|since|docblock|hideme)\b")
VOID = {"br", "hr", "img", "input", "link", "meta", "wbr"}


class Page(html.parser.HTMLParser):
    """The declarations of one page, in `declarations`: its own and those of its members and implementations."""

    def __init__(self):
        super().__init__()
        self.declarations = []
        # Of each open element: may its text be told, and does a declaration end with it?
        self.open = []
        self.text = None

    def handle_starttag(self, tag, attributes):
        if tag in VOID:
            if tag == "br" and self.text is not None:
                self.text.append(" ")
            return
        attributes = dict(attributes)
        classes = attributes.get("class") or ""
        silent = bool(self.open and self.open[-1][1]) or attributes.get("id") == "blanket-implementations-list"
        silent = (
            silent
            or bool(self.text is not None and ASIDE.search(classes))
            or tag in ("nav", "script", "rustdoc-topbar")
        )
        declares = not silent and self.text is None and ("code-header" in classes or "item-decl" in classes)
        if declares:
            self.text = []
        self.open.append((tag, silent, declares))

    def handle_endtag(self, tag):
        while self.open:
            opened, _, declares = self.open.pop()
            if declares:
                self.declarations.append(plain("".join(self.text)))
                self.text = None
            if opened == tag:
                break

    def handle_data(self, data):
        if self.text is not None and not self.open[-1][1]:
            self.text.append(data)


def plain(declaration):
    """A declaration on one line, without comments; spacing differs among versions of rustdoc."""
    declaration = re.sub(r"//[^\n]*|/\*.*?\*/", " ", declaration)
    declaration = re.sub(r"\s+", " ", declaration)
    # Rust 1.88 forgets the first word of a struct whose fields are private and have no names.
    declaration = re.sub(r"^struct ", "pub struct ", declaration)
    declaration = re.sub(r"(?<=[(<\[]) | (?=[)>\],;])", "", declaration)
    return re.sub(r",(?=[)>\]])|, (?=\})", "", declaration).strip()


# What says nothing to users: the heading of an item's own functions, traits that only the compiler knows, and the
# functions of an implementation, which are those of its trait.
UNTOLD = re.compile(r"impl(<[^>]*>)? [^ ]+$|impl.* (Freeze|StructuralPartialEq|UnsafeUnpin) for |(unsafe )?fn ")


def listing(folder):
    """`path: declaration` of everything on the crate's pages, sorted."""
    lines = set()
    for path in folder.rglob("*.html"):
        name = path.stem.partition(".")[2]
        if not name:
            continue
        page = Page()
        page.feed(path.read_text("utf-8"))
        item = "::".join((*path.parent.relative_to(folder.parent).parts, name))
        lines.update(f"{item}: {declaration}" for declaration in page.declarations if not UNTOLD.match(declaration))
    return "".join(f"{line}\n" for line in sorted(lines))


if __name__ == "__main__":
    sys.stdout.write(listing(pathlib.Path(sys.argv[1])))
