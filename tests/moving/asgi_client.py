"""Asks an ASGI application, without a server."""

import asyncio


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = {name.decode().lower(): value.decode() for name, value in headers}
        self.body = body.decode()


def ask(app, path="/search", client="203.0.113.7", method="GET", **headers):
    """One request; a header x_user is X-User, but X_ALL_CAPITALS is spelt as it stands."""

    def spelt(name):
        return name if name.isupper() else name.replace("_", "-")

    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "scheme": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(spelt(name).lower().encode(), value.encode()) for name, value in headers.items()],
        "client": (client, 40_000),
        "server": ("localhost", 80),
    }
    sent = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return Answer(sent[0]["status"], sent[0]["headers"], body)
