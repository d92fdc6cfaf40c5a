"""Change a kernel setting through /proc/sys.

The key is a list of ports that belongs to the network namespace, and the one of the harness is its
own. A port of the row's is added to the list, so that nobody else's entry is touched. A sandbox with
a network of its own changes its own list, which is read again here.
Sources: proc_sys_net(5); CVE-2025-31133; CVE-2025-52881; OCI runtime-spec readonlyPaths.
"""


def listed(text, port):
    """Whether the list, of single ports and ranges, has that port."""
    for entry in text.strip().split(","):
        first, _, last = entry.partition("-")
        if first and int(first) <= port <= int(last or first):
            return True
    return False


def attempt(target):
    """Add the port that the harness told, then read the list back."""
    path = "/proc/sys/" + target.key
    target.step("read")
    with open(path) as file:
        before = file.read().strip()
    target.step("open")
    with open(path, "w") as file:
        file.write("%s,%d" % (before, target.value) if before else str(target.value))
    target.step("verify")
    with open(path) as file:
        found = file.read()
    if not listed(found, target.value):
        return "the list is still %s" % found.strip()
    return target.inside("port %d is in the list of the network namespace here" % target.value)
