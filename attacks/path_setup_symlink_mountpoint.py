"""A symbolic link of the workspace on the way to a path that the launcher is asked to guard.

Whoever creates what is missing at such a path (a mount point, a placeholder), and follows the
link, creates it outside. The launcher does so before anything runs inside; this code is what a
naive launcher does, and unconfined it is the proof that the trap is armed. Inside it tries the same.
"root" is where a launcher that has moved the host's root sees it while it builds ("/oldroot").
Source: CVE-2026-87766 (bubblewrap before 0.12), CVE-2024-42472 (flatpak), CVE-2024-45310 (runc).
"""

import os


def resolved(link, root):
    """Where the link leads for somebody who sees the host's root at `root`."""
    text = os.readlink(link)
    if not text.startswith(root + "/"):
        raise NotImplementedError("the link leads to %s, which is not below %s" % (text, root))
    return text[len(root) :]


def attempt(target):
    """Create directory, or empty file, through the link, like mkdir -p and touch do."""
    target.step("resolve")
    folder = resolved(target.link, target.root) if target.root else target.link
    where = os.path.join(folder, target.rest) if target.rest else folder
    target.step("create")
    if target.create == "directory":
        os.makedirs(where)
    else:
        os.close(os.open(where, os.O_WRONLY | os.O_CREAT, 0o666))
    return target.inside("it was created here") if os.path.exists(where) else ""
