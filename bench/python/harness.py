"""tidegate beside its peers in Python, interleaved in one process. Prints JSON lines; `bench/run.py` reads them."""

import asyncio

import gate
import keyed
import memory
import permits
import rate
import tasks
import web


def main():
    event_loop = asyncio.new_event_loop()
    # Before anything is timed.
    rate.same_work()
    rate.same_threads()
    keyed.same_work()
    permits.same_work()
    tasks.same_work(event_loop)

    rate.all_cases()
    permits.all_cases()
    tasks.all_cases(event_loop)
    gate.all_cases()
    web.all_cases()
    # Last, since millions of keys make all that comes after them slower.
    keyed.all_cases()
    memory.all_cases()
    event_loop.close()


if __name__ == "__main__":
    main()
