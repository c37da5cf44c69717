"""A FastAPI service behind a gate, whose rules can be edited while it runs.

pip install tidegate fastapi uvicorn
python server.py [PORT] [RULES]
curl -i localhost:8000/search/cats
"""

import asyncio
import sys
from pathlib import Path

import tidegate
import uvicorn
from fastapi import FastAPI
from tidegate.asgi import GateMiddleware

port, rules = [*sys.argv[1:], *(8000, Path(__file__).with_name("rules.toml"))[len(sys.argv) - 1 :]]
gate = tidegate.Gate.open(rules, watch=True)
app = FastAPI()
app.add_middleware(GateMiddleware, gate=gate)


@app.get("/search/{what}")
async def search(what: str) -> dict[str, str]:
    return {"found": what}


@app.get("/reports/{number}")
async def report(number: int) -> dict[str, int]:
    await asyncio.sleep(1)
    return {"report": number}


def tell(event: tidegate.GateEvent) -> None:
    """One line for each reload, and for all that was wrong with one."""
    if event.reloaded is not None:
        print(event.reloaded, flush=True)
    for fault in event.faults:
        print(fault, flush=True)


if __name__ == "__main__":
    gate.listen(tell)
    print(f"listening on http://127.0.0.1:{port}, behind {rules}", flush=True)
    uvicorn.run(app, port=int(port), log_level="warning")
