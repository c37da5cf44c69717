"""The Maven artifact, in a local repository of its own, and a project that depends on it."""

import glob
import os
import re
import shutil
import subprocess
import unittest
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path

from fresh import LICENCES, ROOT, VERSION, debug_sections, example, folder, run

POM = {"": "http://maven.apache.org/POM/4.0.0"}

SAMPLE = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>sample</groupId>
  <artifactId>sample</artifactId>
  <version>1</version>
  <properties>
    <maven.compiler.release>17</maven.compiler.release>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency>
      <groupId>io.github.tidegate</groupId>
      <artifactId>tidegate</artifactId>
      <version>{version}</version>
    </dependency>
  </dependencies>
  <build><plugins>{plugins}</plugins></build>
</project>
"""

GATE = """package sample;

import io.github.tidegate.Attributes;
import io.github.tidegate.Entry;
import io.github.tidegate.Format;
import io.github.tidegate.Gate;

public class Gated {
    public static void main(String[] arguments) throws InterruptedException {
        Gate gate = Gate.of("rules: [{name: all, key: client, quota: 1/h}]", Format.YAML);
        try (Entry entry = gate.enter(Attributes.of("client", "ann"))) {
            System.out.println("entered");
        }
        System.out.println(gate.tryEnter(Attributes.of("client", "ann")).isPresent());
    }
}
"""

# Both have classes, and so native code, of their own.
TWICE = """
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;

public class Twice {
    public static void main(String[] arguments) throws Exception {
        URL[] jar = {Path.of(arguments[0]).toUri().toURL()};
        try (URLClassLoader one = new URLClassLoader(jar, null); URLClassLoader other = new URLClassLoader(jar, null)) {
            Object first = limiter(one);
            Object second = limiter(other);
            System.out.println(first.getClass() != second.getClass());
            System.out.println(acquire(first) + " " + acquire(second) + " " + acquire(first) + " " + acquire(second));
        }
    }

    static Object limiter(ClassLoader loader) throws Exception {
        Class<?> type = loader.loadClass("io.github.tidegate.RateLimiter");
        return type.getMethod("of", String.class, String[].class).invoke(null, "1/h", new String[0]);
    }

    static Object acquire(Object limiter) throws Exception {
        return limiter.getClass().getMethod("tryAcquire").invoke(limiter);
    }
}
"""


def jdks():
    """The JDKs from 17 on that are found here, one of each version: {17: home, 25: home}."""
    places = [os.environ.get("JAVA_HOME"), Path(os.path.realpath(shutil.which("javac"))).parents[1]]
    places += [value for name, value in os.environ.items() if name.startswith("JAVA_HOME_")]
    found = {}
    for place in [
        *filter(None, places),
        *glob.glob("/usr/lib/jvm/*"),
        *glob.glob("/Library/Java/JavaVirtualMachines/*/Contents/Home"),
    ]:
        if (Path(place) / "bin/javac").exists() and (Path(place) / "release").exists():
            told = re.search(r'^JAVA_VERSION="(\d+)', (Path(place) / "release").read_text("utf-8"), re.MULTILINE)
            if int(told[1]) >= 17:
                found.setdefault(int(told[1]), Path(place))
    return found


def plugins():
    """The plugins that compile, of the versions that the project itself is compiled with."""
    ours = ElementTree.parse(ROOT / "java/pom.xml").findall("build/plugins/plugin", POM)
    wanted = ("maven-resources-plugin", "maven-compiler-plugin")
    named = {plugin.find("artifactId", POM).text: plugin.find("version", POM).text for plugin in ours}
    return "".join(
        f"<plugin><artifactId>{name}</artifactId><version>{named[name]}</version></plugin>" for name in wanted
    )


class Maven(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fresh = folder(cls)
        # Filled with what was downloaded before, but for what is ours.
        cls.repository = cls.fresh / "repository"
        shutil.copytree(ROOT / "build/m2", cls.repository, ignore=shutil.ignore_patterns("tidegate"))
        # As users do, without the checks of the sources that `make test-java` does.
        cls.maven("install", "-DskipTests", "-Dspotless.check.skip", pom=ROOT / "java/pom.xml")
        cls.installed = cls.repository / "io/github/tidegate/tidegate" / VERSION
        cls.jar = cls.installed / f"tidegate-{VERSION}.jar"

    @classmethod
    def maven(cls, *goals, pom, **environment):
        command = ["mvn", "-B", "-q", "-Dstyle.color=never", f"-Dmaven.repo.local={cls.repository}"]
        return run(*command, "-f", pom, *goals, cwd=cls.fresh, **environment)

    def java(self, home, *arguments):
        """What a program prints; nothing is allowed on the error output, where the JVM would warn."""
        command = [home / "bin/java", *map(str, arguments)]
        done = subprocess.run(command, cwd=self.fresh, capture_output=True, encoding="utf-8", check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_the_repository_holds_the_jar_its_sources_and_its_manual(self):
        names = {path.name for path in self.installed.iterdir() if path.suffix in (".jar", ".pom")}
        kinds = (".jar", ".pom", "-sources.jar", "-javadoc.jar")
        self.assertEqual(names, {f"tidegate-{VERSION}{kind}" for kind in kinds})

    def test_the_jar_holds_the_native_library_and_the_licences_and_no_tests(self):
        with zipfile.ZipFile(self.jar) as archive:
            names = {name for name in archive.namelist() if not name.endswith("/")}
            libraries = {name: archive.read(name) for name in names if name.startswith("native/")}
        self.assertEqual(
            {name for name in names if name.startswith("META-INF/LICENSE")}, {f"META-INF/{name}" for name in LICENCES}
        )
        [(name, library)] = libraries.items()
        self.assertRegex(name, r"^native/\w+-\w+(-musl)?/(lib)?tidegate_jni\.(so|dylib|dll)$")
        self.assertEqual(debug_sections(library), [])
        classes = {name for name in names if name.endswith(".class")}
        self.assertEqual([name for name in classes if "Test" in name or "Conformance" in name], [])
        self.assertEqual({Path(name).parent.as_posix() for name in classes}, {".", "io/github/tidegate"})

    def test_the_jar_is_a_named_module_that_exports_its_one_package(self):
        for version, home in jdks().items():
            with self.subTest(jdk=version):
                told = run(home / "bin/jar", "--describe-module", "--file", self.jar, cwd=self.fresh)
                told = told.strip().splitlines()
                self.assertRegex(told[0], r"^io\.github\.tidegate(@\S+)? jar:")
                self.assertEqual(told[1:], ["exports io.github.tidegate", "requires java.base mandated"])

    def test_a_project_that_depends_on_it_compiles_and_runs_on_the_class_path_and_on_the_module_path(self):
        for version, home in jdks().items():
            with self.subTest(jdk=version):
                project = self.sample(f"sample-{version}")
                self.maven("compile", pom=project / "pom.xml", JAVA_HOME=str(home))
                paths = f"{project / 'target/classes'}{os.pathsep}{self.jar}"
                on_class_path = ["--enable-native-access=ALL-UNNAMED", "-cp", paths]
                on_module_path = ["--enable-native-access=io.github.tidegate", "-p", paths, "-m"]
                for program, said in (("Example", "go ahead\n"), ("Gated", "entered\nfalse\n")):
                    self.assertEqual(self.java(home, *on_class_path, f"sample.{program}"), said)
                    self.assertEqual(self.java(home, *on_module_path, f"sample/sample.{program}"), said)

    def test_the_gate_of_servlets_is_a_named_module_without_its_frameworks(self):
        modules = ["-pl", ".,servlet"]  # the others want whole frameworks to be compiled
        self.maven("install", *modules, "-DskipTests", "-Dspotless.check.skip", pom=ROOT / "java/frameworks/pom.xml")
        name = f"tidegate-servlet-{VERSION}"
        jar = self.installed.parents[1] / f"tidegate-servlet/{VERSION}/{name}.jar"
        with zipfile.ZipFile(jar) as archive:
            names = set(archive.namelist())
        folders = {Path(name).parent.as_posix() for name in names if name.endswith(".class")}
        self.assertEqual(folders, {"io/github/tidegate/servlet"})
        self.assertLessEqual({f"META-INF/{name}" for name in LICENCES}, names)
        told = run("jar", "--describe-module", "--file", jar, cwd=self.fresh)
        self.assertIn("io.github.tidegate.servlet@", told)

    def sample(self, name):
        """A project with the README's example, in a module of its own."""
        sources = self.fresh / name / "src/main/java"
        (sources / "sample").mkdir(parents=True)
        (sources / "module-info.java").write_text("module sample {\n    requires io.github.tidegate;\n}\n")
        (sources / "sample/Example.java").write_text("package sample;\n\n" + example("java"))
        (sources / "sample/Gated.java").write_text(GATE)
        (self.fresh / name / "pom.xml").write_text(SAMPLE.format(version=VERSION, plugins=plugins()))
        return self.fresh / name

    def test_it_can_be_loaded_twice_in_one_process(self):
        (self.fresh / "Twice.java").write_text(TWICE)
        for version, home in jdks().items():
            with self.subTest(jdk=version):
                said = self.java(home, "--enable-native-access=ALL-UNNAMED", "Twice.java", self.jar)
                self.assertEqual(said, "true\ntrue true false false\n")


if __name__ == "__main__":
    unittest.main()
