"""How all pictures look, and how they are saved: the same figures give the same file."""

import io
import re

import matplotlib

# Half dark, so that they can be read on a light page and on a dark one.
INK, GRID = "#6e7781", "#8b949e55"
COLOURS = {"line": "#2f81f7", "good": "#2da44e", "bad": "#d9662b"}

# Text stays text, in the reader's font.
matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "tidegate", "font.family": "sans-serif"})
matplotlib.rcParams.update(dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor"), INK))
matplotlib.rcParams.update(dict.fromkeys(("xtick.color", "ytick.color"), INK))


def save(figure, path):
    """Writes a figure as SVG, on whatever background the page has."""
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", transparent=True, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    path.write_text(re.sub(r" +$", "", drawn.getvalue(), flags=re.MULTILINE), "utf-8")
