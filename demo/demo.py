"""Guards a real HTTP server with tidegate, fires real requests at it, then races ten threads for one window's tokens.

Ends with a line `DEMO {...}` that run.py judges.
"""

import http.client
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import tidegate

AT_ONCE = 4
REQUESTS = 10
WORK_S = 0.2
VISITS = "3/2s fixed_window"

RACE_LIMIT = 1_000_000
RACE_THREADS = 10
RACE_S = 3.5
# 3.5 s of calls see the windows that open at 0, 1, 2 and 3 s.
RACE_WINDOWS = 4

at_once = tidegate.ConcurrencyLimiter(AT_ONCE)
visits = tidegate.RateLimiter(VISITS)


@at_once.guard()
def work():
    time.sleep(WORK_S)


class Handler(BaseHTTPRequestHandler):
    """/limit: four at once. /nolimit: the same work for all. /visit: three in two seconds."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/limit":
            try:
                work()
            except tidegate.Refused:
                # When a permit comes back is not known; a second is the least that the header can say.
                self.answer(429, retry_after=1)
            else:
                self.answer(200)
        elif self.path == "/nolimit":
            time.sleep(WORK_S)
            self.answer(200)
        else:
            decision = visits.decide()
            if decision:
                self.answer(200)
            else:
                self.answer(429, retry_after=decision.retry_after_seconds)

    def answer(self, status, retry_after=None):
        self.send_response(status)
        if retry_after is not None:
            self.send_header("Retry-After", str(retry_after))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        """Says nothing: the figures are told below."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    # As many may knock at once as are sent.
    request_queue_size = 2 * REQUESTS


def get(port, path, ready=None):
    """(status, Retry-After or None) of one request; connects first and waits at `ready` for the others."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.connect()
        if ready is not None:
            ready.wait()
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
        return response.status, response.getheader("Retry-After")
    finally:
        connection.close()


def get_at_once(port, path):
    """The answers to ten requests that are sent at the same time."""
    ready = threading.Barrier(REQUESTS)
    answers = []
    threads = [
        threading.Thread(target=lambda: answers.append(get(port, path, ready)), name=f"client-{number}")
        for number in range(REQUESTS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def names_a_wait(retry_after):
    return retry_after is not None and retry_after.isdigit() and int(retry_after) >= 1


def serve():
    """Runs the server and its clients; what they saw."""
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, name="server", daemon=True).start()
    port = server.server_address[1]
    print(f"a server on port {port}, {REQUESTS} requests at once:")

    limit = get_at_once(port, "/limit")
    refused = [retry_after for status, retry_after in limit if status == 429]
    limit_ok = sum(status == 200 for status, _ in limit)
    print(f"  /limit    {limit_ok} x 200, {len(refused)} x 429 (Retry-After: {', '.join(map(str, refused))})")

    nolimit_ok = sum(status == 200 for status, _ in get_at_once(port, "/nolimit"))
    print(f"  /nolimit  {nolimit_ok} x 200")

    seen = [get(port, "/visit") for _ in range(4)]
    retry_after = seen[-1][1]
    if names_a_wait(retry_after):
        time.sleep(int(retry_after))
    seen.append(get(port, "/visit"))
    visit = " ".join(str(status) for status, _ in seen)
    print(f"  /visit    {visit} (the last one after the {retry_after} s of Retry-After)")

    server.shutdown()
    server.server_close()
    return {
        "limit_ok": limit_ok,
        "limit_refused": len(refused),
        "retry_after": all(map(names_a_wait, [*refused, retry_after])),
        "nolimit_ok": nolimit_ok,
        "visit": visit,
    }


def race():
    """Ten threads ask one fixed window as fast as they can; what they were told."""
    try_acquire = tidegate.RateLimiter(f"{RACE_LIMIT}/s fixed_window").try_acquire
    begun = []
    ready = threading.Barrier(RACE_THREADS, action=lambda: begun.append(time.monotonic()))
    counts = []

    def run():
        admitted = calls = 0
        ready.wait()
        end = begun[0] + RACE_S
        while time.monotonic() < end:
            for _ in range(1000):
                if try_acquire():
                    admitted += 1
            calls += 1000
        counts.append((admitted, calls))

    threads = [threading.Thread(target=run, name=f"racer-{number}") for number in range(RACE_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - begun[0]

    admitted, calls = map(sum, zip(*counts, strict=True))
    print(
        f"{RACE_THREADS} threads for {seconds:.2f} s on {RACE_LIMIT:,} per second: {admitted:,} of {calls:,} admitted"
    )
    return {
        "race_limit": RACE_LIMIT,
        "race_admitted": admitted,
        "race_refused": calls - admitted,
        "race_calls_per_s": round(calls / seconds),
    }


def main():
    figures = {"language": "python", **serve(), **race()}
    figures["ok"] = (
        figures["limit_ok"] == AT_ONCE
        and figures["limit_refused"] == REQUESTS - AT_ONCE
        and figures["retry_after"]
        and figures["nolimit_ok"] == REQUESTS
        and figures["visit"] == "200 200 200 429 200"
        and figures["race_admitted"] == RACE_WINDOWS * RACE_LIMIT
        and figures["race_refused"] > 0
    )
    print(f"DEMO {json.dumps(figures)}")
    raise SystemExit(0 if figures["ok"] else 1)


if __name__ == "__main__":
    main()
