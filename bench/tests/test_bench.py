"""What `make bench` makes of figures: which reach a target, where a peer is ahead, what is kept, what is a failure."""

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

import peers
import reasons
import report
import results
import run
import series
import targets

MACHINE = "a processor, 2 cores, x86_64, an OS"


def row(language="rust", case="gcra allowed", subject="tidegate", ns=10.0, **others):
    figures = {"ns_per_op": ns, "spread": [ns - 1, ns + 1], "rounds": 21, "version": "1.0.0"}
    stamp = {"run": "2030-01-01 00:00 UTC", "quick": False, "machine": MACHINE}
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
        shown = report.summary(targets.judge([row(ns=110), row(subject="governor", ns=100)]), [])
        self.assertIn("MISSED Rust, gcra allowed: 1.10 x the time; target: at most 1.05 x the time", shown)
        self.assertIn("0 reached, 1 missed", shown)


class Standings(unittest.TestCase):
    REASONS = (reasons.Reason("rust", "gcra *", "governor", "because"),)

    def standing(self, ours, peer, reasons=()):
        [found] = peers.standings([ours, peer], reasons)
        return found

    def test_who_is_ahead_only_inside_the_spread_is_equal(self):
        ours = row(ns=10, spread=[9, 11])
        for spread, ahead in (([7, 8.9], "peer"), ([7, 9], None), ([11, 12], None), ([11.1, 12], "tidegate")):
            with self.subTest(spread=spread):
                self.assertEqual(self.standing(ours, row(subject="governor", spread=spread)).ahead, ahead)

    def test_of_rates_the_higher_and_of_memory_the_lower_is_ahead(self):
        self.assertEqual(self.standing(race("rust", "tidegate", 2e6), race("rust", "governor", 3e6)).ahead, "peer")
        overlapping = race("rust", "governor", 4e6) | {"spread": [3e6, 5e6]}
        self.assertIsNone(self.standing(race("rust", "tidegate", 2e6) | {"spread": [1e6, 4e6]}, overlapping).ahead)
        self.assertEqual(self.standing(memory("tidegate", 40), memory("governor", 100)).ahead, "tidegate")

    def test_neither_variants_nor_yardsticks_are_peers_and_other_cases_and_languages_are_apart(self):
        others = [row(subject=subject, ns=1) for subject in ("tidegate acquire", *peers.YARDSTICKS)]
        apart = [row("node", subject="limiter", ns=1), row(case="gcra refused", subject="governor", ns=1)]
        self.assertEqual(peers.standings([row(), *others, *apart]), [])

    def test_a_peer_that_is_ahead_has_the_reason_of_its_language_case_and_name_or_is_unexplained(self):
        for fast, reason in (
            (row(subject="governor", ns=1, spread=[1, 1]), "because"),
            (row(subject="tower", ns=1, spread=[1, 1]), None),
            (row("c", subject="governor", ns=1, spread=[1, 1]), None),
            (row(case="2 quotas", subject="governor", ns=1, spread=[1, 1]), None),
        ):
            with self.subTest(row=fast):
                standing = self.standing(row(fast["language"], fast["case"]), fast, self.REASONS)
                self.assertEqual((standing.ahead, standing.reason), ("peer", reason))
                self.assertEqual(standing.unexplained, reason is None)

    def test_who_is_equal_needs_no_reason(self):
        standing = self.standing(row(), row(subject="tower"))
        self.assertEqual((standing.ahead, standing.unexplained), (None, False))

    def test_the_summary_and_the_page_name_what_is_unexplained_and_count_the_rest(self):
        rows = [row(), row(subject="governor", ns=2), row(subject="tower", ns=3), row(subject="ratelimit", ns=100)]
        standings = peers.standings(rows, self.REASONS)
        shown = report.summary([], standings)
        self.assertIn("Of 3 times beside a peer tidegate is ahead 1 times, equal 0, behind 2.", shown)
        self.assertIn("UNEXPLAINED Rust, gcra allowed: tower 3.0 ns is ahead of 10.0 ns, 0.30 x", shown)
        self.assertEqual(shown.count("UNEXPLAINED"), 1)
        page = report.page({"toolchains": {"rust": "rustc 1"}, "rows": rows}, [], standings)
        self.assertIn("| Rust | gcra allowed | 10.0 ns | governor 2.0 ns | 0.20 x | because |", page)
        self.assertIn("| Rust | gcra allowed | 10.0 ns | tower 3.0 ns | 0.30 x | unexplained |", page)
        self.assertNotIn("ratelimit 100 ns |", page)


class Series(unittest.TestCase):
    def test_growth_is_told_of_subjects_with_two_amounts_where_tidegate_has_them(self):
        ours = [row(case="gcra allowed"), row(case="2 quotas", ns=100)]
        one_amount, alone = row(subject="governor"), row("node", subject="limiter")
        found = series.growing([*ours, one_amount, alone], "quotas")
        self.assertEqual(found, {"rust": {("tidegate", "allowed"): {1: ours[0], 2: ours[1]}}})

    def test_both_ways_of_growing_are_apart(self):
        names = [f"keyed gcra, {name}{way}" for name in ("1,000 keys", "1,000,000 keys") for way in ("", ", Zipf")]
        [(language, found)] = series.growing([row(case=name) for name in names], "keys").items()
        self.assertEqual(language, "rust")
        self.assertEqual(
            {way: list(amounts) for (_, way), amounts in found.items()},
            {
                "uniform": [1_000, 1_000_000],
                "Zipf": [1_000, 1_000_000],
            },
        )

    def test_side_by_side_are_the_timed_cases_with_a_peer_tidegate_first(self):
        peer, ours = row(subject="governor"), row()
        rows = [peer, ours, row(case="alone"), memory("tidegate", 1), memory("governor", 2)]
        self.assertEqual(series.side_by_side(rows, "rust"), {"gcra allowed": [ours, peer]})

    def test_the_page_shows_the_pictures_that_are_drawn(self):
        rows = [row(), row(subject="governor"), row(case="2 quotas")]
        page = report.page({"toolchains": {"rust": "rustc 1"}, "rows": rows}, [], [])
        for name, shown in (("rust", True), ("quotas", True), ("keys", False), ("node", False)):
            self.assertEqual(f"](pictures/bench-{name}.svg)" in page, shown, name)


class Keeping(unittest.TestCase):
    def kept(self):
        rows = [row(), row("node", subject="limiter")]
        return {"toolchains": {"rust": "rustc 1", "node": "v20"}, "rows": rows}

    def test_a_narrowed_run_replaces_the_rows_of_its_languages_alone(self):
        new = row("node", ns=7)
        merged = results.merge(self.kept(), MACHINE, {"node": "v22"}, [new], ["node"])
        self.assertEqual(merged["rows"], [row(), new])
        self.assertEqual(merged["toolchains"], {"rust": "rustc 1", "node": "v22"})

    def test_a_language_that_failed_keeps_no_rows(self):
        self.assertEqual(results.merge(self.kept(), MACHINE, {}, [], ["node"])["rows"], [row()])

    def test_rows_of_another_machine_are_dropped(self):
        new = row("node", machine="another")
        merged = results.merge(self.kept(), "another", {"node": "v22"}, [new], ["node"])
        self.assertEqual(merged["rows"], [new])
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
    def main(self, script, quick=""):
        """main() over a harness that runs this script, without pictures; (exit code, what was shown, results, page)."""
        shown = io.StringIO()
        with tempfile.TemporaryDirectory() as folder:
            latest, page = pathlib.Path(folder) / "latest.json", pathlib.Path(folder) / "benchmarks.md"
            with (
                mock.patch.dict(os.environ, {"LANGS": "python", "QUICK": quick}),
                mock.patch.dict(run.harnesses.HARNESSES, {"python": lambda: ([sys.executable, "-c", script], {})}),
                mock.patch.dict(run.harnesses.TOOLCHAINS, {"python": (sys.executable, "--version")}),
                mock.patch.object(results, "LATEST", latest),
                mock.patch.object(report, "PAGE", page),
                mock.patch.object(run.harnesses, "draw"),
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

    def test_each_row_says_on_which_machine_and_when_it_was_measured(self):
        _, _, kept, page = self.main(f"print({json.dumps(row('python'))!r})", quick="1")
        [kept] = kept["rows"]
        self.assertEqual((kept["machine"], kept["quick"]), (run.machine.describe(), True))
        self.assertRegex(kept["run"], r"^\d{4}-\d\d-\d\d \d\d:\d\d UTC$")
        self.assertIn(run.machine.describe(), page)

    def test_only_a_short_run_that_is_long_ends_badly(self):
        good = f"print({json.dumps(row('python'))!r})"
        with mock.patch.object(run, "QUICK_S", 0):
            code, shown, _, _ = self.main(good, quick="1")
            self.assertEqual(code, 1)
            self.assertRegex(shown, r"FAILED QUICK: got \d+ s; allowed: at most 0 s")
            self.assertEqual(self.main(good)[0], 0)

    def test_a_harness_that_hangs_is_ended(self):
        with mock.patch.object(run, "TIMEOUT_S", 0.1):
            code, shown, _, _ = self.main("import time; time.sleep(60)")
        self.assertEqual(code, 1)
        self.assertIn("FAILED Python: exit code -9", shown)


if __name__ == "__main__":
    unittest.main()
