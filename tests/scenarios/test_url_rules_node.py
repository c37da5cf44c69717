"""Limits by URL once more: the Express service of the page, over HTTP."""

import os
import subprocess

import pytest
from conftest import ROOT
from waiters import Waiter, until
from web import get

PAGE = "url-rules"
# Runs the page's service; its work goes on or fails when told by a line. Prints the port, then answers each line.
RUN = """
const { service } = require('./service.cjs');
const { Gate } = require('tidegate');

const gate = Gate.open('rules.toml', { watch: true });
let told, fails = false;
const goesOn = new Promise((resolve) => { told = resolve; });
async function work(path) {
  if (fails) throw new Error('as told');
  if (path !== '/nolimit') await goesOn;
}
const server = service(gate, work).listen(0, '127.0.0.1', () => console.log(server.address().port));
const tell = { go: told, fail: () => { fails = true; }, well: () => { fails = false; }, rules: () => {} };
require('node:readline').createInterface({ input: process.stdin })
  .on('line', (line) => { tell[line](); console.log(gate.rules.rules.map((rule) => rule.name).join()); })
  .on('close', () => process.exit());
"""


class Service:
    """The page's service in a process of its own."""

    def __init__(self, process):
        self.process = process
        self.port = int(process.stdout.readline())

    def tell(self, line):
        """Tells it what its work does; gives the names of its rules."""
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip().split(",")

    def get(self, path):
        return get(self.port, path)


@pytest.fixture
def service(page, tmp_path):
    modules = tmp_path / "node_modules"
    modules.mkdir()
    (modules / "tidegate").symlink_to(ROOT / "node")
    (modules / "express").symlink_to(ROOT / "node" / "node_modules" / "express")
    (tmp_path / "service.cjs").write_text(page.node[0])
    (tmp_path / "run.cjs").write_text(RUN)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(["node", "run.cjs"], env={**os.environ, "NODE_ENV": "production"}, **pipes) as process:
        yield Service(process)
        process.stdin.close()


def test_of_ten_requests_four_pass_six_are_told_why_and_other_paths_are_untouched(service):
    waiters = [Waiter(service.get, "/limit") for _ in range(10)]
    until(lambda: sum(not waiter.is_waiting for waiter in waiters) == 6)
    for refused in (waiter.join() for waiter in waiters if not waiter.is_waiting):
        assert (refused.status, refused.json["rule"]) == (429, "limit")
        assert "limit: 4 permits, 0 available" in refused.json["detail"]
    assert [service.get("/nolimit").status for _ in range(10)] == [200] * 10
    service.tell("go")
    assert sorted(waiter.join().status for waiter in waiters) == [200] * 4 + [429] * 6


def test_permits_come_back_when_the_handler_raises(service):
    service.tell("fail")
    assert [service.get("/limit").status for _ in range(5)] == [500] * 5
    service.tell("well")
    service.tell("go")
    assert service.get("/limit").status == 200


def test_a_rule_that_is_added_while_it_runs_counts(service, page):
    page.save(page.rules[0] + page.rules[1].replace("concurrency = 1", "concurrency = 0"))
    until(lambda: "nolimit" in service.tell("rules"))
    refused = service.get("/nolimit")
    assert (refused.status, refused.json["rule"]) == (429, "nolimit")
