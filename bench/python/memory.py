"""What a process grows by while keys enter, for each of them. `python memory.py SUBJECT` is such a process."""

import subprocess
import sys
from pathlib import Path

import keyed
from rounds import QUICK, report

CASE = "memory, 1,000,000 keys"
PROCESSES = 1 if QUICK else 3
MILLION = 1_000_000
# Of these, fewer keys: they take long to enter.
FEWER = 200_000
KEYS = {"tidegate": MILLION, "limits": FEWER, "throttled-py": FEWER, "pyrate-limiter": FEWER, "token-bucket": MILLION}


def resident_bytes():
    status = Path("/proc/self/status").read_text("ascii")
    [kilobytes] = [line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(kilobytes) * 1_024


def bytes_per_key(name):
    """Each key stays for minutes and is at hand nowhere else."""
    keys = KEYS[name]
    [subject] = [one for one in keyed.everyone(10, keys) if one.name == name]
    loop = keyed.key_loop(subject)
    before = resident_bytes()
    loop(map(keyed.address, range(keys)))
    return (resident_bytes() - before) / keys


def all_cases():
    """No lines where the system doesn't tell."""
    if not Path("/proc/self/status").exists():
        return
    versions = {one.name: one.version for one in keyed.everyone(10, 1_000)}
    for name in KEYS:
        command = [sys.executable, __file__, name]
        told = [subprocess.run(command, check=True, capture_output=True, text=True) for _ in range(PROCESSES)]
        report(CASE, name, versions[name], [float(one.stdout) for one in told], "bytes_per_key")


if __name__ == "__main__":
    print(bytes_per_key(sys.argv[1]))
