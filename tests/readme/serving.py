"""A block that serves HTTP on port 8000, here on a free one: two clients ask until they are refused."""

import http.client
import re
import socket
import subprocess
import sys
import time
from dataclasses import replace

START_S = 30
# Of one client, with room for what comes back meanwhile.
MOST_REQUESTS = 100


def fault_of(block, commands):
    """What went wrong with the server, or None; `commands` writes a block, and says how it is run."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    [*build, serve] = commands(replace(block, code=re.sub(r"\b8000\b", str(port), block.code)))
    for step in build:
        done = subprocess.run(step, cwd=block.folder, capture_output=True, encoding="utf-8", check=False)
        if done.returncode != 0:
            return f"{' '.join(step)} ended with {done.returncode}\n{done.stdout}{done.stderr}"
    with subprocess.Popen(serve, cwd=block.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as server:
        try:
            return ask_until_refused(port, block.path)
        except OSError as error:
            server.kill()
            return f"{error!r}\n{server.stdout.read().decode()}"
        finally:
            server.kill()


def ask_until_refused(port, path):
    """Two clients of a server with a budget for each: the first uses its own up, which must leave the other's alone."""
    deadline = time.monotonic() + START_S
    for client in ("127.0.0.1", "127.0.0.2") if sys.platform == "linux" else ("127.0.0.1",):
        admitted = 0
        while (response := ask(port, path, client, deadline)).status == 200 and admitted < MOST_REQUESTS:
            admitted += 1
        if admitted == 0 or response.status != 429 or int(response.headers["Retry-After"]) < 1:
            return f"{client} at {path}: {admitted} admitted, then {response.status} with {response.headers}"
    return None


def ask(port, path, client, deadline):
    """The response to one request from an address; the server may still be starting."""
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10, source_address=(client, 0))
        try:
            connection.request("GET", path)
            return connection.getresponse()
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        finally:
            connection.close()
