"""One version for everything: Cargo.toml says it, the others agree."""

import json
import re
import unittest
import xml.etree.ElementTree as ElementTree

from project import ROOT, output

POM = {"": "http://maven.apache.org/POM/4.0.0"}


def text(name):
    return (ROOT / name).read_text("utf-8")


def workspace_version():
    return re.search(r'^\[workspace\.package\]\nversion = "([^"]+)"', text("Cargo.toml"), re.MULTILINE)[1]


class Versions(unittest.TestCase):
    def test_every_crate_has_the_version_of_the_workspace(self):
        metadata = json.loads(output("cargo", "metadata", "--no-deps", "--format-version", "1"))
        versions = {package["name"]: package["version"] for package in metadata["packages"]}
        self.assertEqual(versions, dict.fromkeys(versions, workspace_version()))

    def test_the_wheel_takes_its_version_from_cargo(self):
        project = re.search(r"^\[project\]\n(.*?)(?=^\[|\Z)", text("python/pyproject.toml"), re.MULTILINE | re.DOTALL)[
            1
        ]
        self.assertIn('"version"', re.search(r"^dynamic *= *\[(.*?)\]", project, re.MULTILINE | re.DOTALL)[1])
        self.assertIsNone(re.search(r"^version\b", project, re.MULTILINE))

    def test_the_npm_package_agrees(self):
        lock = json.loads(text("node/package-lock.json"))
        told = [json.loads(text("node/package.json"))["version"], lock["version"], lock["packages"][""]["version"]]
        self.assertEqual(told, [workspace_version()] * 3)

    def test_the_packages_of_platforms_take_their_version_from_the_npm_package(self):
        self.assertNotIn("optionalDependencies", json.loads(text("node/package.json")))
        self.assertNotRegex(text("node/scripts/pack.mjs"), r"\b\d+\.\d+\.\d+\b")

    def test_each_maven_artifact_agrees(self):
        poms = [name for name in output("git", "ls-files", "java").splitlines() if name.endswith("pom.xml")]
        self.assertIn("java/pom.xml", poms)
        for name in poms:
            with self.subTest(pom=name):
                pom = ElementTree.fromstring(text(name))
                versions = {found.text for place in ("version", "parent/version") for found in pom.findall(place, POM)}
                self.assertEqual(versions, {workspace_version()})

    def test_what_users_are_told_to_depend_on_is_this_version(self):
        told = re.findall(r"<artifactId>tidegate</artifactId>\s*<version>(.*?)</version>", text("java/README.md"))
        self.assertEqual(told, [workspace_version()])

    def test_the_changelog_knows_the_version_or_what_is_unreleased(self):
        headings = re.findall(r"^## \[([^\]]+)\]", text("CHANGELOG.md"), re.MULTILINE)
        self.assertIn(headings[0], ("Unreleased", workspace_version()))
        self.assertIn("### C ABI", text("CHANGELOG.md"))

    def test_licences_are_those_of_the_manifest(self):
        self.assertIn('license = "MIT OR Apache-2.0"', text("Cargo.toml"))
        self.assertIn("MIT License", text("LICENSE-MIT"))
        self.assertIn("Apache License", text("LICENSE-APACHE"))


if __name__ == "__main__":
    unittest.main()
