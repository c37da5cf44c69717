"""What is told of the machine: enough to judge a figure by, and nothing that names it."""

import os
import pathlib
import platform
import re
import subprocess


def cpu():
    """The model of the processor, as its maker calls it."""
    info = pathlib.Path("/proc/cpuinfo")
    if info.is_file():
        found = re.search(r"^model name\s*:\s*(.+)$", info.read_text("utf-8"), re.MULTILINE)
        if found:
            return found[1].strip()
    if platform.system() == "Darwin":
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout.strip()
    return platform.processor() or platform.machine()


def system():
    """The operating system and its release, without what a vendor adds to the kernel's."""
    kernel = f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}"
    try:
        return f"{platform.freedesktop_os_release()['PRETTY_NAME']}, {kernel}"
    except (OSError, KeyError):
        return kernel


def describe():
    """The machine as it stands beside each figure."""
    return f"{cpu()}, {os.cpu_count()} cores, {platform.machine()}, {system()}"
