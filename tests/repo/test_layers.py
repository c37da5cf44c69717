"""Arrows only go down (docs/design.md, section 2): the core knows nobody, each wrapper only the layer below it."""

import json
import re
import unittest

from project import ROOT, output

CORE = "tidegate"
OVER_THE_CORE = {"tidegate-ffi", "tidegate-python", "tidegate-node"}
# What only a language border may use.
BORDER_CRATES = {"cbindgen", "jni", "jni-sys", "napi", "napi-derive", "napi-sys", "pyo3", "pyo3-ffi"}
# Headers of the C language, of POSIX and of the JDK, and ours: all that the C glue of Java may see.
GLUE_HEADERS = {"jni.h", "pthread.h", "tidegate.h", "assert.h", "errno.h", "inttypes.h", "limits.h", "string.h"} | {
    f"std{name}.h" for name in ("atomic", "bool", "def", "int", "io", "lib")
}


def members():
    """Cargo's description of each crate of the workspace, by name."""
    metadata = json.loads(output("cargo", "metadata", "--no-deps", "--format-version", "1"))
    return {package["name"]: package for package in metadata["packages"]}


def includes(path):
    """The headers that one C or C++ file includes."""
    return re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', path.read_text("utf-8"), re.MULTILINE)


class Layers(unittest.TestCase):
    def test_the_workspace_is_the_core_and_three_borders(self):
        self.assertEqual(set(members()), {CORE} | OVER_THE_CORE)

    def test_the_core_knows_no_other_crate_of_the_project(self):
        names = {dependency["name"] for dependency in members()[CORE]["dependencies"]}
        self.assertEqual(names & OVER_THE_CORE, set())

    def test_the_core_ships_nothing_of_a_language_border(self):
        names = {dependency["name"] for dependency in members()[CORE]["dependencies"] if dependency["kind"] != "dev"}
        self.assertEqual(names & BORDER_CRATES, set())

    def test_each_border_knows_the_core_and_no_sibling(self):
        packages = members()
        for name in sorted(OVER_THE_CORE):
            with self.subTest(crate=name):
                inside = {dependency["name"] for dependency in packages[name]["dependencies"]} & set(packages)
                self.assertEqual(inside, {CORE})

    def test_the_lock_file_fits_the_manifests(self):
        output("cargo", "metadata", "--locked", "--format-version", "1")

    def test_the_c_header_stands_alone(self):
        outside = {name for name in includes(ROOT / "include/tidegate.h") if not name.startswith("std")}
        self.assertEqual(outside, set())

    def test_the_cpp_headers_stand_on_the_c_header_alone(self):
        for name, wanted in {
            "tidegate.hpp": {"tidegate.h"},
            "tidegate_gate.hpp": {"tidegate.h", "tidegate.hpp"},
        }.items():
            with self.subTest(header=name):
                outside = {included for included in includes(ROOT / "include" / name) if "." in included}
                self.assertEqual(outside, wanted)

    def test_java_s_glue_stands_on_the_c_header_alone(self):
        folder = ROOT / "java/src/main/c"
        sources = sorted(folder.glob("*.c")) + sorted(folder.glob("*.h"))
        self.assertTrue(sources, f"no C sources in {folder}")
        own = {path.name for path in sources}
        for path in sources:
            with self.subTest(file=path.name):
                self.assertEqual(set(includes(path)) - own - GLUE_HEADERS, set())


if __name__ == "__main__":
    unittest.main()
