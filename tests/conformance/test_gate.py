"""The comparison of gate drivers can fail."""

import tempfile
import unittest
from pathlib import Path

from gate import differences, unanswered, wanted

VECTOR = """# A comment.
script one
gate G a.toml
= ok
enter G path=/a
= denied rule=a limit=1
"""
RIGHT = ["file vector.txt", "script one", "3 ok", "5 denied rule=a limit=1"]


class Gate(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.vector = Path(folder.name) / "vector.txt"

    def vector_of(self, text):
        self.vector.write_text(text, encoding="utf-8")
        return self.vector

    def test_the_answers_of_a_vector_are_its_transcript(self):
        self.assertEqual(wanted(self.vector_of(VECTOR))[0], RIGHT)
        self.assertEqual(unanswered(*wanted(self.vector)), [])
        self.assertEqual(differences(self.vector, RIGHT), [])

    def test_another_answer_is_shown_with_its_command(self):
        [problem] = differences(self.vector_of(VECTOR), [*RIGHT[:3], "5 allowed rules=a"])
        self.assertIn("vector.txt:5: enter G path=/a", problem)

    def test_an_answer_that_is_missing_or_too_many_is_told(self):
        self.vector_of(VECTOR)
        self.assertEqual(differences(self.vector, RIGHT[:3]), ["3 lines, wanted 4"])
        self.assertEqual(differences(self.vector, [*RIGHT, "6 ok"]), ["5 lines, wanted 4"])

    def test_a_command_needs_one_answer(self):
        self.assertEqual(unanswered(*wanted(self.vector_of(VECTOR + "stats G\n"))), ["line 7: stats G"])
        self.assertEqual(unanswered(*wanted(self.vector_of(VECTOR + "= ok\n"))), ["line 5: enter G path=/a"])


if __name__ == "__main__":
    unittest.main()
