"""The judge of the counts can fail; and it reads what callgrind writes."""

import unittest

import run

PROFILE = """\
events: Ir

fl=???
fn=once
0 42
cfn=allowed
calls=1 0
0 120020
cfn=refused
calls=1 +3
0 90000

ob=/usr/bin/python3
fn=loop
+4 7
cob=/here/_tidegate.abi3.so
cfn=call
calls=3 0
-1 300
* 2

ob=/here/_tidegate.abi3.so
fn=call
0 200
+1 90
cob=/lib/libc.so.6
cfn=malloc
calls=3 0
0 10
"""


class Judging(unittest.TestCase):
    def test_up_to_the_tolerance_a_call_is_within_its_budget(self):
        self.assertEqual(run.judge("call", 105, 100), (True, "call: 105 of 100 instructions"))

    def test_above_it_fails_by_name_with_figures(self):
        self.assertEqual(run.judge("call", 106, 100), (False, "call: got 106 instructions; allowed: 100 and 5%"))

    def test_far_below_is_told(self):
        self.assertEqual(
            run.judge("call", 89, 100), (True, "call: 89 instructions are far below the budget of 100: lower it")
        )

    def test_a_call_without_a_budget_fails_and_so_does_a_budget_without_a_call(self):
        self.assertFalse(run.judge("call", 89, None)[0])
        self.assertFalse(run.judge("call", None, 100)[0])


class Reading(unittest.TestCase):
    def test_what_a_function_called_is_read_by_name(self):
        self.assertEqual(run.called_by("once", PROFILE), {"allowed": 120020, "refused": 90000})

    def test_what_is_run_in_a_library_itself_is_summed(self):
        self.assertEqual(run.inside(r"/_tidegate\.", PROFILE), 290)
        self.assertEqual(run.inside("python", PROFILE), 9)


if __name__ == "__main__":
    unittest.main()
