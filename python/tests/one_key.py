"""For tests that hold for limiters with keys as for those without."""

import functools

ASKS = ("acquire", "acquire_async", "decide", "peek", "reserve", "reset", "try_acquire")
FIGURES = ("available", "in_flight", "waiting")
KEY = "ann"


class OneKey:
    """A keyed limiter as if it had no keys: all is asked of one of them.

    A block that is entered holds a permit of the key; whichever one is left releases the last that was entered.
    """

    def __init__(self, keyed, key=KEY):
        self.keyed = keyed
        self.key = key
        self.held = []

    def __getattr__(self, name):
        of_keyed = getattr(self.keyed, name)
        if name in ASKS:
            return functools.partial(of_keyed, self.key)
        if name in FIGURES:
            return of_keyed(self.key)
        return functools.partial(of_keyed, key=self.key) if name == "guard" else of_keyed

    @property
    def limit(self):
        return self.keyed.limit

    @limit.setter
    def limit(self, limit):
        self.keyed.limit = limit

    def __enter__(self):
        self.held.append(self.acquire())
        return self.held[-1]

    def __exit__(self, *exception):
        if permit := self.held.pop():
            permit.__exit__(*exception)

    async def __aenter__(self):
        self.held.append(await self.acquire_async())
        return self.held[-1]

    async def __aexit__(self, *exception):
        self.__exit__(*exception)
