"""The npm packages: the one that is named, and the one with the native library of this platform."""

import json
import re
import subprocess
import tarfile
import unittest

from fresh import LICENCES, ROOT, VERSION, debug_sections, example, folder, run

REQUIRE = re.compile(r"^const (\{.*\}) = require\('tidegate'\);$", re.MULTILINE)
TSC = ROOT / "node/node_modules/.bin/tsc"
# The console is of the browser's types: Node's own are a package of their own, which ours does without.
COMPILER = {"module": "nodenext", "target": "es2022", "lib": ["es2022", "esnext.disposable", "dom"], "strict": True}

SUBPATHS = """
import { Gate } from 'tidegate';
import { gateMiddleware } from 'tidegate/express';
import { gatePlugin } from 'tidegate/fastify';
import { gateHandler } from 'tidegate/http';

const gate: Gate = new Gate([{ name: 'all', concurrency: 1 }]);
const middleware = gateMiddleware(gate, { legacyHeaders: true });
const handler = gateHandler(gate, (request: string, response: number) => request.length + response);
const register = () => gatePlugin({}, { gate }, () => {});
// @ts-expect-error: a plugin needs its gate
const unguarded = () => gatePlugin({}, {}, () => {});
console.log(typeof middleware, typeof handler, typeof register, typeof unguarded);
"""

SERVER = """
import { createServer } from 'node:http';
import { Gate } from 'tidegate';
import { gateHandler } from 'tidegate/http';

const gate = new Gate([{ name: 'all', quota: '1/h' }]);
const server = createServer(gateHandler(gate, (request, response) => response.end('hello')));
server.listen(0, '127.0.0.1', async () => {
  const ask = async () => (await fetch(`http://127.0.0.1:${server.address().port}/`)).status;
  console.log(await ask(), await ask());
  server.close();
  server.closeAllConnections();
});
"""


class Npm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.packed = folder(cls)
        run("node", ROOT / "node/scripts/pack.mjs", cls.packed, cwd=cls.packed)
        script = f"console.log(require({json.dumps(str(ROOT / 'node/lib/target.js'))}).target)"
        cls.platform = "tidegate-" + run("node", "-e", script, cwd=cls.packed).strip()
        cls.project = cls.fresh_project("tidegate", cls.platform)

    @classmethod
    def fresh_project(cls, *packages, options=()):
        """A project into which npm has installed packages from their tarballs, without a registry."""
        at = folder(cls)
        (at / "package.json").write_text('{ "private": true }')
        tarballs = [cls.packed / f"{name}-{VERSION}.tgz" for name in packages]
        run("npm", "install", "--offline", "--no-audit", "--no-fund", *options, *tarballs, cwd=at)
        return at

    def content(self, package):
        """The names in a tarball, and its manifest."""
        with tarfile.open(self.packed / f"{package}-{VERSION}.tgz") as archive:
            names = {name.removeprefix("package/") for name in archive.getnames()}
            return names, json.load(archive.extractfile("package/package.json"))

    def run_here(self, name, text):
        (self.project / name).write_text(text)
        return run("node", name, cwd=self.project)

    def test_the_package_holds_what_it_exports_and_neither_tests_nor_sources_of_the_native_library(self):
        names, manifest = self.content("tidegate")
        self.assertEqual({name for name in names if "/" not in name} & LICENCES, LICENCES)
        exported = set(re.findall(r'"\./([^"]+\.[a-z.]+)"', json.dumps(manifest["exports"])))
        self.assertGreater(len(exported), 8)
        self.assertEqual(exported - names, set())
        self.assertEqual({name.split("/")[0] for name in names if "/" in name}, {"lib", "types"})
        others = {name for name in names if not re.search(r"\.(m?js|d\.m?ts|json|md)$", name)}
        self.assertEqual(others, LICENCES)

    def test_the_package_asks_for_exactly_its_version_of_the_platform_s(self):
        _, manifest = self.content("tidegate")
        self.assertEqual(manifest["version"], VERSION)
        self.assertEqual(manifest["optionalDependencies"], {self.platform: VERSION})

    def test_the_platform_s_package_holds_the_library_alone_and_is_for_that_platform_alone(self):
        names, manifest = self.content(self.platform)
        self.assertEqual(names, {"package.json", "tidegate.node"} | LICENCES)
        system, processor, *library = self.platform.removeprefix("tidegate-").split("-")
        self.assertEqual((manifest["os"], manifest["cpu"], manifest["version"]), ([system], [processor], VERSION))
        libraries = {"gnu": ["glibc"], "musl": ["musl"]}
        self.assertEqual(manifest.get("libc"), libraries[library[0]] if system == "linux" else None)

    def test_the_library_is_without_debug_information(self):
        with tarfile.open(self.packed / f"{self.platform}-{VERSION}.tgz") as archive:
            self.assertEqual(debug_sections(archive.extractfile("package/tidegate.node").read()), [])

    def test_nothing_is_run_when_they_are_installed(self):
        for package in ("tidegate", self.platform):
            names, manifest = self.content(package)
            self.assertNotIn("scripts", manifest)
            self.assertNotIn("binding.gyp", names)  # npm would run node-gyp of its own accord

    def test_no_registry_is_needed_nor_named(self):
        lock = (self.project / "package-lock.json").read_text("utf-8")
        self.assertEqual(re.findall(r'"resolved": "(?!file:).*"', lock), [])

    def test_the_example_runs_as_common_js(self):
        self.assertIn("go ahead", self.run_here("example.cjs", example("js")))

    def test_the_example_runs_as_an_es_module(self):
        text, count = REQUIRE.subn(r"import \1 from 'tidegate';", example("js"))
        self.assertEqual(count, 1)
        self.assertIn("go ahead", self.run_here("example.mjs", text))

    def test_the_example_and_the_subpaths_are_typescript_in_both_kinds_of_module(self):
        text = REQUIRE.sub(r"import \1 from 'tidegate';", example("js"))
        sources = self.project / "typescript"
        sources.mkdir()
        for kind in ("cts", "mts"):
            (sources / f"example.{kind}").write_text(text)
            (sources / f"subpaths.{kind}").write_text(SUBPATHS)
        (sources / "tsconfig.json").write_text(json.dumps({"compilerOptions": COMPILER | {"types": []}}))
        run(TSC, "-p", sources, cwd=sources)
        for kind in ("cjs", "mjs"):
            self.assertIn("go ahead", run("node", f"example.{kind}", cwd=sources))
            self.assertEqual(run("node", f"subpaths.{kind}", cwd=sources), "function function function function\n")

    def test_a_server_behind_the_installed_gate_lets_one_request_through(self):
        self.assertEqual(self.run_here("server.mjs", SERVER), "200 429\n")

    def test_without_the_platform_s_package_the_error_names_it_and_the_fix(self):
        project = self.fresh_project("tidegate", options=["--omit=optional"])
        done = subprocess.run(
            ["node", "-e", "require('tidegate')"], cwd=project, capture_output=True, encoding="utf-8", check=False
        )
        self.assertEqual(done.returncode, 1)
        self.assertIn("TidegateError", done.stderr)
        self.assertIn(f"The native library {self.platform} can't be used", done.stderr)
        self.assertIn(f"npm install {self.platform}@{VERSION}", done.stderr)


if __name__ == "__main__":
    unittest.main()
