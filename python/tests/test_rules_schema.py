"""docs/rules.schema.json, as an editor uses it: it takes sound rule files and none that the gate would call faulty."""

import copy
import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs/rules.schema.json").read_text())
EXAMPLE = json.loads((ROOT / "tests/rules/example.json").read_text())
FAULTY = json.loads((ROOT / "tests/rules/faulty.json").read_text())["cases"]


def faults(file):
    return list(Draft202012Validator(SCHEMA).iter_errors(file))


def test_it_is_a_schema_that_takes_the_example():
    Draft202012Validator.check_schema(SCHEMA)
    assert faults(EXAMPLE) == []


@pytest.mark.parametrize("case", FAULTY, ids=lambda case: case["argument"])
def test_it_refuses_what_the_gate_refuses(case):
    assert faults(case["file"])


@pytest.mark.parametrize("limiters", [{}, {"quota": "5/s", "concurrency": 4}])
def test_a_rule_has_a_quota_or_a_concurrency_and_not_both(limiters):
    file = copy.deepcopy(EXAMPLE)
    file["rules"] = [{"name": "a"} | limiters]
    assert faults(file)
