"""Known answers of the naive model, worked out by hand, and checks of what stands around it.

usage: python3 -m unittest discover -s tests/conformance
"""

import unittest
from itertools import chain
from pathlib import Path

from interpreter import Interpreter, ScriptFault
from model import Clock
from quota import Mistake, Quota, parse_list
from random_keyed import KEY_QUOTA_KINDS, KEYED_KINDS
from random_scripts import scripts
from random_waiting import KEYED_WAITING_KINDS, WAITING_KINDS
from resolution import Blurred, ExactLimiter, SharpKeyedLimiter, SharpLimiter
from run import GOLDEN, differences, equal, equal_within_1_ns

VECTORS = Path(__file__).resolve().parent.parent / "vectors"
SECOND = 10**9


def answers(*commands, rate_limiter=None):
    """What each command prints, without the `ok` of those that only set the scene."""
    world = Interpreter(rate_limiter) if rate_limiter else Interpreter()
    printed = [world.run(command) for command in commands]
    return [answer for answer in printed if answer != "ok"]


class ClockTest(unittest.TestCase):
    def test_a_step_back_is_no_time_and_progress_after_it_counts(self):
        clock = Clock()
        clock.set(1000)
        clock.set(400)
        self.assertEqual(clock.now, 1000)
        clock.set(500)
        clock.advance(7)
        self.assertEqual(clock.now, 1107)

    def test_it_stops_at_the_end_of_time(self):
        clock = Clock()
        clock.advance(2**64)
        clock.set(0)
        clock.advance(5)
        self.assertEqual(clock.now, 2**64 - 1)


class RateLimiterTest(unittest.TestCase):
    def test_gcra_waits_for_exactly_the_token_that_is_missing(self):
        self.assertEqual(
            answers(
                "rate r limit=3 per=1000000000", "decide r cost=3", "advance 333333333", "decide r", "peek r cost=2"
            ),
            [
                "allowed limit=3 remaining=0 retry_after=0 reset_after=1000000000 quota=0",
                "denied limit=3 remaining=0 retry_after=1 reset_after=666666667 quota=0",
                "denied limit=3 remaining=0 retry_after=333333334 reset_after=666666667 quota=0",
            ],
        )

    def test_gcra_admits_89_of_120_calls_a_second_apart_at_30_a_minute(self):
        self.assertEqual(self.admitted_in_two_minutes("gcra"), 89)

    def test_windows_admit_60_59_and_60_of_the_same_calls(self):
        self.assertEqual(self.admitted_in_two_minutes("fixed_window"), 60)
        self.assertEqual(self.admitted_in_two_minutes("sliding_window"), 59)
        self.assertEqual(self.admitted_in_two_minutes("sliding_log"), 60)

    @staticmethod
    def admitted_in_two_minutes(algorithm):
        calls = ["try r", f"advance {SECOND}"] * 120
        return answers(f"rate r limit=30 per={60 * SECOND} algorithm={algorithm}", *calls).count("allowed")

    def test_a_sliding_window_weighs_the_last_window_by_what_of_it_still_counts(self):
        self.assertEqual(
            answers(
                "rate r limit=10 per=1000000 algorithm=sliding_window", "try r cost=8", "advance 1250000", "peek r"
            ),
            ["allowed", "allowed limit=10 remaining=4 retry_after=0 reset_after=750000 quota=0"],
        )

    def test_a_refusal_of_one_quota_charges_none(self):
        self.assertEqual(
            answers("rate r limit=10 per=1000 + limit=1 per=9000", "try r", "try r", "advance 9000", "decide r"),
            ["allowed", "refused", "allowed limit=1 remaining=0 retry_after=0 reset_after=9000 quota=1"],
        )

    def test_a_window_that_is_over_is_not_opened_again_by_a_longer_period(self):
        self.assertEqual(
            answers(
                "rate r limit=2 per=1000 algorithm=fixed_window",
                "try r cost=2",
                "advance 1000",
                "reconfigure r limit=2 per=5000 algorithm=fixed_window",
                "try r cost=2",
            ),
            ["allowed", "allowed"],
        )

    def test_a_refund_gives_back_what_has_not_come_back_by_itself(self):
        self.assertEqual(
            answers("rate r limit=4 per=4000", "try r", "decide r cost=2 as=a", "advance 500", "refund r a", "peek r")[
                2:
            ],
            ["allowed limit=4 remaining=3 retry_after=0 reset_after=1000 quota=0"],
        )

    def test_a_command_on_what_was_never_made_is_a_fault_of_the_script(self):
        with self.assertRaises(ScriptFault):
            answers("try r")
        with self.assertRaises(ScriptFault):
            answers("rate r limit=1 per=1", "refund r a")


class ConcurrencyLimiterTest(unittest.TestCase):
    def test_a_limit_below_what_is_held_leaves_none_available(self):
        self.assertEqual(
            answers(
                "conc c limit=5", "try c cost=4 as=a", "limit c 2", "try c", "release a", "try c cost=2", "stats c"
            ),
            [
                "allowed",
                "refused",
                "allowed",
                "ok limit=2 in_flight=2 available=0 allowed=2 denied=1 released_ok=1 released_failed=0",
            ],
        )

    def test_a_permit_is_released_once(self):
        self.assertEqual(answers("conc c limit=1", "try c as=a", "release a", "release a"), ["allowed", "error permit"])


class QuotaTextTest(unittest.TestCase):
    def test_canonical_texts(self):
        for text, canonical in {
            "100/second": "100/s",
            "5 per 30s": "5/30s",
            "100/60s burst 20": "100/min burst 20",
            "3/2s fixed_window anchor clock": "3/2s fixed_window anchor clock",
            "1/7days;2/1500us": "1/w; 2/1500us",
        }.items():
            with self.subTest(text):
                self.assertEqual("; ".join(map(str, parse_list(text))), canonical)

    def test_what_is_not_right_in_full_is_refused_by_the_name_of_what_is_wrong(self):
        for text, argument in {
            "5/M": "quota",
            "\u0661\u0660/s": "quota",
            "": "quota",
            "10/s\n": "quota",
            "5/0s": "period",
            "9007199254740992/d": "limit",
            "5/s burst 0": "burst",
            "5/s anchor clock": "anchor",
            ";".join(["5/s"] * 17): "quotas",
        }.items():
            with self.subTest(text), self.assertRaises(Mistake) as caught:
                parse_list(text)
            self.assertEqual(caught.exception.argument, argument)

    def test_every_canonical_text_reads_back_as_the_same_quota(self):
        quota = Quota(7, 36 * 3600 * SECOND, burst=9)
        self.assertEqual(parse_list(str(quota)), [quota])


class ResolutionTest(unittest.TestCase):
    # 11 tokens a second: a token is 90,909,090 10/11 ns, and no tick divides it and the nanosecond.
    eleven = ("rate r limit=11 per=1000000000", "try r cost=11")

    def test_a_call_within_a_tick_of_its_instant_is_blurred(self):
        with self.assertRaises(Blurred):
            answers(*self.eleven, "advance 909090909", "try r cost=10", rate_limiter=SharpLimiter)

    def test_a_call_a_nanosecond_away_from_it_is_not(self):
        self.assertEqual(
            answers(*self.eleven, "advance 909090908", "try r cost=10", "advance 2", "try r cost=10"),
            answers(
                *self.eleven,
                "advance 909090908",
                "try r cost=10",
                "advance 2",
                "try r cost=10",
                rate_limiter=SharpLimiter,
            ),
        )

    def test_whole_nanoseconds_are_never_blurred(self):
        commands = ("rate r limit=7 per=1000000000", "try r cost=7", "advance 142857142", "try r", "advance 1", "try r")
        self.assertEqual(answers(*commands, rate_limiter=ExactLimiter), ["allowed", "refused", "allowed"])

    def test_no_committed_script_hangs_on_less_than_a_tick(self):
        for vector in sorted(VECTORS.rglob("*.txt")):
            # The gate's have no model.
            if GOLDEN in vector.parents or VECTORS / "gate" in vector.parents:
                continue
            for number, line in enumerate(vector.read_text(encoding="utf-8").splitlines(), start=1):
                if line.startswith("script "):
                    world = Interpreter(ExactLimiter, SharpKeyedLimiter)
                elif line and not line.startswith("#"):
                    with self.subTest(f"{vector.name}:{number}: {line}"):
                        world.run(line)


class RandomScriptsTest(unittest.TestCase):
    def test_the_same_seed_gives_the_same_scripts(self):
        self.assertEqual(list(scripts(5, 20)), list(scripts(5, 20)))
        self.assertNotEqual(list(scripts(5, 20)), list(scripts(6, 20)))
        self.assertEqual(list(scripts(5, 20, KEYED_KINDS)), list(scripts(5, 20, KEYED_KINDS)))
        self.assertEqual(list(scripts(5, 20, WAITING_KINDS)), list(scripts(5, 20, WAITING_KINDS)))

    def test_they_reach_every_command_status_and_mistake(self):
        seen = set()
        others = (KEYED_KINDS, KEY_QUOTA_KINDS, WAITING_KINDS, KEYED_WAITING_KINDS)
        kinds = (scripts(1, 300), *(scripts(1, 300, kinds) for kinds in others))
        for line in chain.from_iterable(kinds):
            if line.startswith("script "):
                world = Interpreter()
                continue
            answer = world.run(line).split()
            seen |= {line.split()[0], answer[0], " ".join(answer[:2])}
            seen |= {f"W {told.split()[1]}" for told in world.told()}
        for verb in (name.removeprefix("do_") for name in dir(Interpreter) if name.startswith("do_")):
            self.assertIn(verb, seen)
        for status in ("allowed", "refused", "denied", "exceeds_capacity", "keys_full"):
            self.assertIn(status, seen)
        for status in ("granted", "pending", "timed_out", "queue_full", "closed", "cancelled", "too_late"):
            self.assertIn(status, seen)
        for status in ("granted", "timed_out", "exceeds_capacity", "closed"):
            self.assertIn(f"W {status}", seen)
        self.assertLessEqual({"credited", "not_credited"}, seen)
        for argument in (
            "limit",
            "period",
            "burst",
            "anchor",
            "quota",
            "quotas",
            "cost",
            "permits",
            "decision",
            "permit",
            "algorithm",
            "max_keys",
            "address",
            "prefix",
            "max_waiters",
        ):
            self.assertIn(f"error {argument}", seen)


class RunnerTest(unittest.TestCase):
    def test_only_times_may_differ_and_only_by_a_nanosecond(self):
        wanted = "7 denied limit=3 remaining=1 retry_after=10 reset_after=20 quota=0"
        self.assertTrue(equal_within_1_ns(wanted.replace("=10", "=11").replace("=20", "=19"), wanted))
        for wrong in (
            wanted.replace("=10", "=12"),
            wanted.replace("=10", "=never"),
            wanted.replace("remaining=1", "remaining=2"),
            wanted.replace("denied", "allowed"),
            wanted + " more=1",
        ):
            self.assertFalse(equal_within_1_ns(wrong, wanted), wrong)

    def test_a_wait_of_a_nanosecond_is_not_no_wait(self):
        self.assertFalse(equal_within_1_ns("7 denied retry_after=0", "7 denied retry_after=1"))
        self.assertFalse(equal_within_1_ns("7 allowed retry_after=1", "7 allowed retry_after=0"))

    def test_lines_too_many_and_too_few_are_differences(self):
        source = VECTORS / "gcra.txt"
        self.assertEqual(len(differences(source, ["1 ok", "2 ok"], ["1 ok"], equal)), 1)
        self.assertEqual(len(differences(source, ["1 ok"], ["1 ok", "2 ok", "3 ok"], equal)), 2)
        self.assertEqual(len(differences(source, [], ["1 ok"], equal)), 1)


if __name__ == "__main__":
    unittest.main()
