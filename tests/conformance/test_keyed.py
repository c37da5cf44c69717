"""Known answers of the naive model with keys, and what the scripts with keys are kept clear of.

usage: python3 -m unittest discover -s tests/conformance
"""

import unittest

from interpreter import Interpreter, ScriptFault
from resolution import Blurred, ExactLimiter, SharpKeyedLimiter

EIGHT = "many r keys=1,2,3,4,5,6,7,8"


def answers(*commands, sharp=False):
    """What each command prints, without the `ok` of those that only set the scene."""
    world = Interpreter(ExactLimiter, SharpKeyedLimiter) if sharp else Interpreter()
    printed = [world.run(command) for command in commands]
    return [answer for answer in printed if not answer.startswith("ok")]


class KeyedRateLimiterTest(unittest.TestCase):
    def test_a_key_spends_its_own_tokens_only(self):
        self.assertEqual(
            answers("rate r limit=1 per=9 max_keys=1", "try r key=a", "try r key=", "try r key=%61"),
            ["allowed", "allowed", "refused"],
        )

    def test_the_ninth_key_takes_the_slot_of_who_owes_least(self):
        self.assertEqual(
            answers(
                "rate r limit=2 per=2000 max_keys=3",
                "many r keys=1,2,3,4,5,6,7 cost=2",
                "try r key=8",
                "try r key=9 cost=2",
                "peek r key=8",
            )[-1],
            "allowed limit=2 remaining=2 retry_after=0 reset_after=0 quota=0",
        )

    def test_the_ninth_key_is_told_when_the_first_is_at_rest(self):
        self.assertEqual(
            answers("rate r limit=2 per=2000 max_keys=3 when_full=deny_new", EIGHT, "advance 300", "decide r key=9"),
            ["keys_full limit=2 remaining=0 retry_after=700 reset_after=0 quota=0"],
        )

    def test_a_refund_is_for_the_key_that_was_granted(self):
        self.assertEqual(
            answers("rate r limit=1 per=9 max_keys=3", "decide r key=a as=d", "refund r d key=b", "refund r d key=a")[
                1:
            ],
            ["error decision"],
        )

    def test_a_key_with_a_quota_of_its_own_keeps_what_is_used_and_takes_no_slot(self):
        self.assertEqual(
            answers(
                "rate r limit=4 per=4000 max_keys=3 when_full=deny_new",
                "try r key=own cost=3",
                "quota r key=own limit=8 per=4000",
                EIGHT,
                "peek r key=own",
                "clear r key=own",
                "peek r key=own",
            ),
            [
                "allowed",
                "allowed limit=8 remaining=5 retry_after=0 reset_after=1500 quota=0",
                "allowed limit=4 remaining=1 retry_after=0 reset_after=3000 quota=0",
            ],
        )

    def test_refusals_are_counted_in_a_sketch(self):
        commands = ("rate r limit=0 per=9 max_keys=3 track_denied=2", "many r keys=a,a,a,b,c,c")
        world = Interpreter()
        self.assertEqual([world.run(command) for command in (*commands, "top r n=5")][-1], "ok 63:3:1 61:3:0")

    def test_a_key_is_for_keyed_limiters_and_only_for_them(self):
        with self.assertRaises(ScriptFault):
            answers("rate r limit=1 per=9 max_keys=3", "try r")
        with self.assertRaises(ScriptFault):
            answers("rate r limit=1 per=9", "try r key=a")


class KeyedConcurrencyLimiterTest(unittest.TestCase):
    def test_a_ninth_key_waits_until_another_has_no_permit_out(self):
        taken = [f"try c key={key} as={key}" for key in range(8)]
        self.assertEqual(
            answers("conc c limit=1 max_keys=2", *taken, "try c key=9", "release 3", "try c key=9")[8:],
            ["refused", "allowed"],
        )


class BlurTest(unittest.TestCase):
    def test_who_goes_is_blurred_if_two_owe_as_much_until_the_same_time(self):
        commands = ("rate r limit=2 per=2000 max_keys=3", EIGHT, "advance 1", "try r key=9")
        self.assertEqual(answers(*commands), ["allowed"])
        with self.assertRaises(Blurred):
            answers(*commands, sharp=True)

    def test_a_refund_after_another_key_was_reset_is_blurred_if_it_has_an_effect(self):
        commands = ("rate r limit=2 per=2000 max_keys=3", "decide r key=a as=d", "reset r key=b", "refund r d key=a")
        with self.assertRaises(Blurred):
            answers(*commands, sharp=True)
        self.assertEqual(len(answers(*commands[:-1], "advance 1000", commands[-1], sharp=True)), 1)

    def test_what_is_blurred_changes_nothing(self):
        world = Interpreter(ExactLimiter, SharpKeyedLimiter)
        for command in ("rate r limit=2 per=2000 max_keys=3", "many r keys=1,2,3,4,5,6,7"):
            world.run(command)
        with self.assertRaises(Blurred):
            world.run("many r keys=8,9")
        self.assertEqual(world.run("stats r"), "ok allowed=7 denied=0 evicted_live=0 capacity=3")
        self.assertEqual(world.run("peek r key=8 cost=2").split()[0], "allowed")


if __name__ == "__main__":
    unittest.main()
