"""Change a kernel setting through /proc/sys.

The only key is one of the network namespace that the harness made for itself. A sandbox with a
network of its own changes its own copy, which is read again here.
Sources: proc_sys_net(5); CVE-2025-31133; CVE-2025-52881; OCI runtime-spec readonlyPaths.
"""


def attempt(target):
    """Write the number that the harness told, then read the setting back."""
    target.step("open")
    with open("/proc/sys/" + target.key, "w") as file:
        file.write(str(target.value))
    target.step("read")
    with open("/proc/sys/" + target.key) as file:
        found = file.read().strip()
    if found != str(target.value):
        return "still %s" % found
    return target.inside("%s is %s in the network namespace here" % (target.key, found))
