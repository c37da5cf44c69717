"""The example server, as a user starts it; its rule file is edited while it runs."""

import contextlib
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from waiters import until
from web import get

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.fixture
def server(tmp_path):
    """The folder of a server that runs, its port, and its process."""
    folder = shutil.copytree(EXAMPLES, tmp_path / "examples")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, folder / "server.py", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as process:
        try:
            until(lambda: process.poll() is not None or is_up(port), 60)
            assert process.poll() is None
            yield folder, port, process
        finally:
            process.kill()


def is_up(port):
    with contextlib.suppress(OSError):
        return get(port, "/").status == 404
    return False


def save(path, text):
    """At once, as editors do: who writes in steps may see a step that is wrong told."""
    whole = path.with_suffix(".new")
    whole.write_text(text)
    whole.replace(path)


def test_rules_that_are_edited_count_from_then_on_and_wrong_ones_are_told(server):
    folder, port, process = server
    rules = folder / "rules.toml"
    assert "listening" in process.stdout.readline()
    assert [get(port, "/search/cats").status for _ in range(6)] == [200] * 5 + [429]
    save(rules, rules.read_text().replace('"5/min"', '"7/min"'))
    assert "changed=('search',)" in process.stdout.readline()
    assert [get(port, "/search/cats").status for _ in range(3)] == [200] * 2 + [429]
    save(rules, rules.read_text().replace('"7/min"', '"7/fortnight"'))
    told = process.stdout.readline()
    assert "rules.toml:7: rule search: quota: got " in told
    assert get(port, "/search/cats").status == 429
    save(rules, "rules = []")
    assert "removed=('search', 'reports')" in process.stdout.readline()
    assert get(port, "/search/cats").status == 200
