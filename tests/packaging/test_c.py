"""`make install` for C and C++: complete, found by pkg-config and CMake, movable, removable.

`make test-packaging` gets CMake and pkg-config from pip where a machine lacks them.
"""

import os
import re
import shutil
import unittest

from fresh import ROOT, debug_sections, folder, run

SAMPLE = ROOT / "tests/packaging/c-sample"
PREFIX = "/opt/tidegate"
SAID = {"c": "2 of 3 allowed\n", "cpp": "2 of 3 allowed, 2 entered\n"}

INSTALLED = {
    "include/tidegate.h",
    "include/tidegate.hpp",
    "include/tidegate_gate.hpp",
    "lib/cmake/tidegate/tidegate-config-version.cmake",
    "lib/cmake/tidegate/tidegate-config.cmake",
    "lib/libtidegate.a",
    "lib/libtidegate.so",
    "lib/libtidegate.so.1",
    "lib/pkgconfig/tidegate.pc",
    "share/doc/tidegate/LICENSE-APACHE",
    "share/doc/tidegate/LICENSE-MIT",
}


def make(*arguments):
    return run("make", "--no-print-directory", *arguments, cwd=ROOT)


def files_of(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()}


class Install(unittest.TestCase):
    """What is moved after the installation; no file in it may know where it was."""

    @classmethod
    def setUpClass(cls):
        cls.folder = folder(cls)
        destination = cls.folder / "destination"
        cls.said = make("install", f"PREFIX={PREFIX}", f"DESTDIR={destination}")
        cls.files = files_of(destination)
        cls.prefix = cls.folder / "moved here"
        (destination / PREFIX[1:]).rename(cls.prefix)

    def programs_run(self, built):
        """Both languages, shared and static, as their names say."""
        for language, said in SAID.items():
            for linkage in ("tidegate", "static"):
                with self.subTest(language=language, linkage=linkage):
                    program = built / f"{language}_{linkage}"
                    self.assertEqual(run(program, cwd=built), said)
                    needed = re.findall(r"NEEDED +(libtidegate\S*)", run("objdump", "-p", program, cwd=built))
                    self.assertEqual(needed, ["libtidegate.so.1"] if linkage == "tidegate" else [])

    def test_all_is_installed_under_the_prefix_and_nothing_else(self):
        self.assertEqual(self.files, {f"{PREFIX[1:]}/{name}" for name in INSTALLED})
        self.assertEqual(os.readlink(self.prefix / "lib/libtidegate.so"), "libtidegate.so.1")

    def test_the_shared_library_is_without_debug_information(self):
        self.assertEqual(debug_sections(self.prefix / "lib/libtidegate.so.1"), [])

    def test_it_says_how_to_link_where_the_loader_does_not_look(self):
        self.assertIn(f"-Wl,-rpath,{PREFIX}/lib", self.said)

    def test_it_says_where_cmake_finds_it(self):
        self.assertIn(f"-DCMAKE_PREFIX_PATH={PREFIX}", self.said)

    def test_no_text_names_the_prefix(self):
        naming = [
            name
            for name in sorted(INSTALLED)
            if not name.startswith("lib/libtidegate") and PREFIX in (self.prefix / name).read_text("utf-8")
        ]
        self.assertEqual(naming, [])

    def test_a_project_is_built_by_pkg_config(self):
        # pkg-config and make part words at spaces.
        prefix = self.folder / "moved"
        prefix.symlink_to(self.prefix)
        built = self.folder / "by-pkg-config"
        shutil.copytree(SAMPLE, built)
        run("make", cwd=built, PKG_CONFIG_PATH=str(prefix / "lib/pkgconfig"))
        self.programs_run(built)

    def test_a_project_is_built_by_cmake(self):
        built = self.folder / "by-cmake"
        run("cmake", "-S", SAMPLE, "-B", built, f"-DCMAKE_PREFIX_PATH={self.prefix}", cwd=self.folder)
        run("cmake", "--build", built, cwd=self.folder)
        self.programs_run(built)

    def configured(self, prefix, *lines):
        """What CMake says of a project of these lines that finds its packages under a prefix."""
        project = folder(type(self))
        # Without a language CMake asks nothing of a compiler, not even whether there are shared libraries.
        (project / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.19)\nproject(finds NONE)\n"
            "set_property(GLOBAL PROPERTY TARGET_SUPPORTS_SHARED_LIBS TRUE)\n" + "\n".join(lines) + "\n"
        )
        return run("cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={prefix}", cwd=project)

    def test_cmake_takes_it_for_its_own_series_of_versions_only(self):
        fits = ("", "0.1", "0.1.0 EXACT", "0.1...<0.2", "0.0...0.1")
        does_not = ("0.2", "0.1.999", "0.0.1", "1.0", "0.0...<0.1", "0.2...1.0")
        lines = [
            line
            for wanted in fits + does_not
            for line in (
                "unset(tidegate_DIR CACHE)",
                f"find_package(tidegate {wanted} QUIET)",
                f'message(STATUS "{wanted}: ${{tidegate_FOUND}}")',
            )
        ]
        said = re.findall("^-- ([^:\n]*): ([01])$", self.configured(self.prefix, *lines), re.MULTILINE)
        self.assertEqual(said, [(wanted, "1") for wanted in fits] + [(wanted, "0") for wanted in does_not])

    def test_cmake_offers_what_is_there_and_says_so_if_nothing_is(self):
        without_archive = self.folder / "without the archive"
        shutil.copytree(self.prefix, without_archive, symlinks=True)
        (without_archive / "lib/libtidegate.a").unlink()
        lines = ["find_package(tidegate)"] + [
            f"if(TARGET tidegate::{name})\nmessage(STATUS offered:{name})\nendif()" for name in ("tidegate", "static")
        ]
        self.assertEqual(re.findall("offered:(.*)", self.configured(without_archive, *lines)), ["tidegate"])
        (without_archive / "lib/libtidegate.so.1").unlink()
        with self.assertRaisesRegex(AssertionError, "neither libtidegate.so.1 nor libtidegate.a is in"):
            self.configured(without_archive, "find_package(tidegate REQUIRED)")


class Uninstall(unittest.TestCase):
    def test_it_leaves_no_file_and_no_folder_of_its_own(self):
        destination = folder(type(self))
        where = (f"PREFIX={PREFIX}", f"DESTDIR={destination}")
        make("install", *where)
        make("uninstall", *where)
        self.assertEqual(files_of(destination), set())
        self.assertEqual(sorted(destination.glob("opt/tidegate/*/**/tidegate")), [])


class Arguments(unittest.TestCase):
    def test_a_relative_prefix_is_refused_by_name(self):
        with self.assertRaisesRegex(AssertionError, "PREFIX: got somewhere; allowed: an absolute path"):
            make("install", "PREFIX=somewhere")

    def test_it_builds_no_more_than_c_needs(self):
        self.assertNotRegex(make("-n", "install"), "tidegate-(node|python)|maturin|npm|mvn")


if __name__ == "__main__":
    unittest.main()
