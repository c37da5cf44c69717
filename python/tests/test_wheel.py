"""What is handed to users: the wheel that `make build-python` leaves, and the source distribution."""

import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
import tidegate

ROOT = Path(__file__).resolve().parents[2]
LICENSES = ["LICENSE-APACHE", "LICENSE-MIT"]


@pytest.fixture(scope="module")
def wheel():
    """The members of the wheel, by name."""
    paths = list((ROOT / "build" / "wheels").glob("*.whl"))
    assert len(paths) == 1, "run `make build-python`"
    with zipfile.ZipFile(paths[0]) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def metadata(content):
    return Parser().parsestr(content.decode())


def test_the_wheel_holds_both_licence_texts_and_names_them(wheel):
    folder = f"tidegate-{tidegate.__version__}.dist-info"
    for name in LICENSES:
        assert wheel[f"{folder}/licenses/{name}"] == (ROOT / name).read_bytes()
    told = metadata(wheel[f"{folder}/METADATA"])
    assert sorted(told.get_all("License-File")) == LICENSES
    assert told["License-Expression"] == "MIT OR Apache-2.0"


def test_the_texts_of_the_wheel_name_no_folder_of_the_machine_that_built_it(wheel):
    texts = {name: content for name, content in wheel.items() if not name.endswith((".so", ".pyd"))}
    assert len(texts) > 5
    for name, content in texts.items():
        assert b"file://" not in content, name
        for folder in (ROOT, Path.home()):
            assert str(folder).encode() not in content, f"{name} has {folder}"


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    package = {name.removeprefix("tidegate/") for name in wheel if name.startswith("tidegate/")}
    library = {name for name in package if name.startswith("_tidegate.") and not name.endswith(".pyi")}
    sources = ROOT / "python" / "python" / "tidegate"
    assert len(library) == 1
    assert package - library == {path.name for path in sources.iterdir() if path.suffix in (".py", ".pyi", ".typed")}
    assert {name.split("/")[0] for name in wheel} == {"tidegate", f"tidegate-{tidegate.__version__}.dist-info"}


def test_the_source_distribution_holds_both_licence_texts_too(tmp_path):
    manifest = ROOT / "python" / "Cargo.toml"
    command = [Path(sys.executable).with_name("maturin"), "sdist", "-m", manifest, "-o", tmp_path]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    name = f"tidegate-{tidegate.__version__}"
    with tarfile.open(tmp_path / f"{name}.tar.gz") as archive:
        for licence in LICENSES:
            assert archive.extractfile(f"{name}/{licence}").read() == (ROOT / licence).read_bytes()
        told = metadata(archive.extractfile(f"{name}/PKG-INFO").read())
    assert sorted(told.get_all("License-File")) == LICENSES
