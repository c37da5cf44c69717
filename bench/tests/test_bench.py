"""The judging of `make bench`: which figures reach a target, which rows are kept, and what ends it with a failure."""

import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import report
import results
import run
import targets

MACHINE = {"cpu": "a processor", "cores": 2, "architecture": "x86_64", "os": "an OS"}


def row(language="rust", case="gcra allowed", subject="tidegate", ns=10.0, **others):
    figures = {"ns_per_op": ns, "spread": [ns - 1, ns + 1], "rounds": 21, "version": "1.0.0"}
    stamp = {"run": "2030-01-01 00:00 UTC", "quick": False}
    return {"language": language, "case": case, "subject": subject} | figures | stamp | others


def race(language, subject, per_second):
    figures = row(language, "counter race", subject)
    del figures["ns_per_op"]
    return figures | {"ops_per_s": per_second, "spread": [per_second, per_second]}


def memory(subject, amount, case=targets.MEMORY, unit="bytes_per_key"):
    figures = row("rust", case, subject)
    del figures["ns_per_op"]
    return figures | {unit: amount, "spread": [amount, amount]}


def verdict(ours, peer, language, label, measure):
    """The verdict on the one target of this language, label and measure."""
    rows = [one for one in (ours, peer) if one is not None]
    [found] = [
        one
        for one in targets.judge(rows)
        if (one.target.ours[0], one.target.label, one.target.measure) == (language, label, measure)
    ]
    return found


class Judging(unittest.TestCase):
    def test_each_bound_is_reached_up_to_it_and_missed_beyond(self):
        governor, tokio = row(subject="governor", ns=100), row(case=targets.PERMIT, subject="tokio", ns=100)
        two = row(case="gcra allowed, 2 threads", subject="governor", ns=120)
        java = race("java", "AtomicInteger", 10e6)
        limits, limiter = row("python", subject="limits", ns=3000), row("node", subject="limiter", ns=100)
        keyed, batch = "keyed gcra, 1,000 keys", "keyed gcra, 100 keys in one call"
        guava, core = row("java", subject="Guava", ns=100), row(ns=10)
        cases = [
            (row(ns=105), row(ns=105.1), governor, "gcra allowed", targets.TIME_RATIO),
            (row(case=two["case"], ns=100), row(case=two["case"], ns=100.1), two, two["case"], targets.SPEED_RATIO),
            (
                row(case=targets.PERMIT, ns=70),
                row(case=targets.PERMIT, ns=70.1),
                tokio,
                targets.PERMIT,
                targets.TIME_RATIO,
            ),
            (
                race("rust", "tidegate", 15e6),
                race("rust", "tidegate", 14.9e6),
                java,
                "counter race, 10 threads",
                targets.SPEED_RATIO,
            ),
            (row("c", ns=13), row("c", ns=13.1), core, "gcra allowed, through the .so", targets.EXTRA_NS),
            (row("python", ns=75), row("python", ns=75.1), None, "try_acquire(), gcra allowed", targets.OWN_NS),
            (row("python", ns=60), row("python", ns=60.1), limits, "try_acquire(), gcra allowed", targets.SPEED_RATIO),
            (row("node", ns=50), row("node", ns=50.1), None, "tryAcquire(), gcra allowed", targets.OWN_NS),
            (row("node", ns=40), row("node", ns=40.1), limiter, "tryAcquire(), gcra allowed", targets.SPEED_RATIO),
            (row("java", ns=75), row("java", ns=75.1), guava, "tryAcquire(), gcra allowed", targets.TIME_RATIO),
            (
                memory("tidegate", 40),
                memory("tidegate", 40.1),
                memory("governor", 100),
                targets.MEMORY,
                targets.MEMORY_RATIO,
            ),
            (
                memory("tidegate", 256, targets.WAITERS, "bytes_per_waiter"),
                memory("tidegate", 257, targets.WAITERS, "bytes_per_waiter"),
                None,
                targets.WAITERS,
                targets.OWN_BYTES,
            ),
            (
                row(subject=targets.ACQUIRE, ns=12),
                row(subject=targets.ACQUIRE, ns=12.1),
                row(ns=10),
                "acquire, gcra allowed",
                targets.EXTRA_NS,
            ),
            (
                row("python", keyed, ns=110),
                row("python", keyed, ns=110.1),
                None,
                "try_acquire(key), 1,000 keys",
                targets.OWN_NS,
            ),
            (
                row("python", batch, ns=50),
                row("python", batch, ns=50.1),
                row("python", batch, targets.SINGLE_CALLS, ns=100),
                "try_acquire_many(keys), 100 keys in one call",
                targets.TIME_RATIO,
            ),
        ]
        for good, bad, peer, label, measure in cases:
            with self.subTest(language=good["language"], label=label):
                self.assertIs(verdict(good, peer, good["language"], label, measure).reached, True)
                self.assertIs(verdict(bad, peer, bad["language"], label, measure).reached, False)

    def test_what_was_not_measured_is_neither_reached_nor_missed(self):
        for ours, peer in ((None, row(subject="governor")), (row(), None)):
            found = verdict(ours, peer, "rust", "gcra allowed", targets.TIME_RATIO)
            self.assertEqual((found.value, found.reached), (None, None))
            self.assertEqual(report.reached_cell(found), "not measured")

    def test_a_ratio_over_two_runs_says_so(self):
        found = verdict(row(), row(subject="governor", run="earlier"), "rust", "gcra allowed", targets.TIME_RATIO)
        self.assertEqual(report.reached_cell(found), "yes (two runs)")

    def test_memory_is_told_in_bytes(self):
        ours, theirs = memory("tidegate", 40.2), memory("governor", 109.6)
        [found] = [one for one in targets.judge([ours, theirs]) if one.target.label == targets.MEMORY]
        self.assertEqual(report.target_cells(found)[2:5], ("40.2 bytes", "governor 110 bytes", "0.37 x the memory"))
        self.assertEqual(next(report.language_cells([ours]))[2:4], ("40.2 bytes", "40.2 … 40.2"))
        self.assertEqual(results.parse(json.dumps(ours), "rust"), ours)

    def test_the_table_and_the_summary_say_what_was_missed(self):
        shown = report.summary(targets.judge([row(ns=110), row(subject="governor", ns=100)]))
        self.assertIn("MISSED Rust, gcra allowed: 1.10 x the time; target: at most 1.05 x the time", shown)
        self.assertIn("0 reached, 1 missed", shown)


class Keeping(unittest.TestCase):
    def kept(self):
        rows = [row(), row("node", subject="limiter")]
        return {"machine": MACHINE, "toolchains": {"rust": "rustc 1", "node": "v20"}, "rows": rows}

    def test_a_narrowed_run_replaces_the_rows_of_its_languages_alone(self):
        new = row("node", ns=7)
        merged = results.merge(self.kept(), MACHINE, {"node": "v22"}, [new], ["node"])
        self.assertEqual(merged["rows"], [row(), new])
        self.assertEqual(merged["toolchains"], {"rust": "rustc 1", "node": "v22"})

    def test_a_language_that_failed_keeps_no_rows(self):
        self.assertEqual(results.merge(self.kept(), MACHINE, {}, [], ["node"])["rows"], [row()])

    def test_rows_of_another_machine_are_dropped(self):
        merged = results.merge(self.kept(), MACHINE | {"cores": 64}, {"node": "v22"}, [row("node")], ["node"])
        self.assertEqual(merged["rows"], [row("node")])
        self.assertEqual(merged["toolchains"], {"node": "v22"})

    def test_what_is_saved_is_loaded(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "results/latest.json"
            with mock.patch.object(results, "LATEST", path):
                self.assertEqual(results.load(), results.NOTHING)
                results.save(self.kept())
                self.assertEqual(results.load(), self.kept())

    def test_each_wrong_field_of_a_line_is_named(self):
        self.assertEqual(results.parse(json.dumps(row()), "rust"), row())
        wrong = {"language": "c", "case": "", "subject": None, "version": 1, "spread": [2, 1], "rounds": 0}
        for name, value in wrong.items():
            with self.subTest(field=name), self.assertRaisesRegex(ValueError, f"^{name}: got "):
                results.parse(json.dumps(row() | {name: value}), "rust")
        for figures in ({"ns_per_op": 0}, {"ns_per_op": "1"}, {"ops_per_s": 5}):
            with self.subTest(figures=figures), self.assertRaisesRegex(ValueError, "^figure: got "):
                results.parse(json.dumps(row() | figures), "rust")


class Running(unittest.TestCase):
    def main(self, script):
        """main() over a harness that runs this script; (exit code, what was shown, results, page)."""
        shown = io.StringIO()
        with tempfile.TemporaryDirectory() as folder:
            latest, page = pathlib.Path(folder) / "latest.json", pathlib.Path(folder) / "benchmarks.md"
            with (
                mock.patch.dict(os.environ, {"LANGS": "python", "QUICK": ""}),
                mock.patch.dict(run.harnesses.HARNESSES, {"python": lambda: ([sys.executable, "-c", script], {})}),
                mock.patch.dict(run.harnesses.TOOLCHAINS, {"python": (sys.executable, "--version")}),
                mock.patch.object(results, "LATEST", latest),
                mock.patch.object(report, "PAGE", page),
                contextlib.redirect_stdout(shown),
                self.assertRaises(SystemExit) as ended,
            ):
                run.main()
            return (
                ended.exception.code,
                shown.getvalue(),
                json.loads(latest.read_text("utf-8")),
                page.read_text("utf-8"),
            )

    def test_a_missed_speed_is_told_and_ends_well(self):
        code, shown, kept, page = self.main(f"print({json.dumps(row('python', ns=80))!r})")
        self.assertEqual(code, 0)
        self.assertIn("MISSED Python, try_acquire(), gcra allowed: 80.0 ns; target: at most 75.0 ns", shown)
        self.assertEqual([one["ns_per_op"] for one in kept["rows"]], [80])
        self.assertRegex(page, r"\| Python \| try_acquire\(\), gcra allowed \| 80\.0 ns \|.*\| MISSED \|")

    def test_a_harness_that_fails_leaves_no_rows_and_ends_badly(self):
        good = f"print({json.dumps(row('python'))!r}, flush=True)"
        scripts = {
            "exit code 3": f"{good}; raise SystemExit(3)",
            "no rows": "pass",
            "language: got 'node'": f"print({json.dumps(row('node'))!r})",
        }
        for message, script in scripts.items():
            with self.subTest(message=message):
                code, shown, kept, _ = self.main(script)
                self.assertEqual((code, kept["rows"]), (1, []))
                self.assertIn(f"FAILED Python: {message}", shown)


if __name__ == "__main__":
    unittest.main()
