"""A gate, from enter to release, with one rule that matches. There is no peer that does the same."""

import tidegate
from rounds import OURS, Subject, together


def all_cases():
    rule = {"name": "api", "match": {"path": {"prefix": "/api/"}}, "concurrency": 100}
    gate = tidegate.Gate([rule])
    statement = 'gate.enter(path="/api/users/17").release()'
    asks = 'gate.stats().rules["api"].in_flight == 0'
    together("gate, 1 rule", True, [Subject(*OURS, statement, {"gate": gate}, asks)])
