"""Known answers of the naive model when somebody waits, worked out by hand.

usage: python3 -m unittest discover -s tests/conformance
"""

import unittest

from interpreter import Interpreter, ScriptFault
from resolution import Blurred, ExactLimiter


def answers(*commands, rate_limiter=None):
    """What each command prints, then who was told what, without the `ok` of those that only set the scene."""
    world = Interpreter(rate_limiter) if rate_limiter else Interpreter()
    printed = [answer for command in commands for answer in (world.run(command), *world.told())]
    return [answer for answer in printed if answer != "ok"]


class WaitingTest(unittest.TestCase):
    def test_a_release_grants_those_who_fit_in_the_order_in_which_they_came(self):
        self.assertEqual(
            answers(
                "conc c limit=2", "try c cost=2 as=a", "wait z c", "wait y c", "wait x c", "release a", "release z"
            ),
            ["allowed", "pending", "pending", "pending", "y granted", "z granted", "x granted"],
        )

    def test_tokens_are_charged_as_of_when_they_are_due_however_late_it_is(self):
        self.assertEqual(
            answers("rate r limit=1 per=10", "try r", "wait w r", "wait v r", "advance 35", "peek r"),
            [
                "allowed",
                "pending",
                "pending",
                "v granted",
                "w granted",
                "allowed limit=1 remaining=1 retry_after=0 reset_after=0 quota=0",
            ],
        )

    def test_a_grant_comes_before_a_deadline_at_the_same_time(self):
        self.assertEqual(
            answers("rate r limit=1 per=10", "try r", "wait w r timeout=9", "wait v r timeout=10", "advance 10"),
            ["allowed", "timed_out", "pending", "v granted"],
        )

    def test_the_longest_of_several_quotas_is_predicted(self):
        self.assertEqual(
            answers(
                "rate r limit=1 per=10 + limit=2 per=100 algorithm=fixed_window",
                "try r",
                "wait a r",
                "wait b r timeout=99",
                "wait c r timeout=100",
                "advance 100",
            ),
            ["allowed", "pending", "timed_out", "pending", "a granted", "c granted"],
        )

    def test_a_wait_that_is_over_is_cancelled_too_late(self):
        self.assertEqual(
            answers("conc c limit=1", "wait w c", "cancel w", "wait v c", "cancel v", "cancel v"),
            ["granted", "too_late", "pending", "cancelled", "too_late"],
        )

    def test_a_hole_in_a_row_of_reservations_is_not_given_away(self):
        self.assertEqual(
            answers("rate r limit=1 per=10", "try r", "reserve r as=a", "reserve r", "unreserve r a", "reserve r"),
            ["allowed", "granted wait=10", "granted wait=20", "not_credited", "granted wait=30"],
        )

    def test_each_key_has_a_line_of_its_own(self):
        self.assertEqual(
            answers(
                "conc c limit=1 max_keys=9",
                "try c key=a as=a",
                "wait w c key=a",
                "wait v c key=b",
                "try c key=a",
                "release a",
                "waiting c",
            ),
            ["allowed", "pending", "granted", "refused", "w granted", "ok waiting=0 timed_out=0 cancelled=0"],
        )

    def test_nobody_waits_for_a_key_in_a_table_that_may_be_full(self):
        with self.assertRaises(ScriptFault):
            answers("conc c limit=1 max_keys=3", "wait w c key=a")

    def test_a_name_waits_once_at_a_time(self):
        with self.assertRaises(ScriptFault):
            answers("conc c limit=0", "wait w c", "wait w c")
        with self.assertRaises(ScriptFault):
            answers("cancel w")

    def test_waits_that_a_core_would_round_are_blurred(self):
        # 11 tokens a second: no tick divides a token and the nanosecond.
        with self.assertRaises(Blurred):
            answers("rate r limit=11 per=1000000000", "wait w r", rate_limiter=ExactLimiter)
        with self.assertRaises(Blurred):
            answers("rate r limit=11 per=1000000000", "reserve r", rate_limiter=ExactLimiter)


if __name__ == "__main__":
    unittest.main()
