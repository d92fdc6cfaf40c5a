"""A key in a kernel keyring: in a fresh session keyring of the harness, or in the account's user keyring.

`plant.ring` is session or user; `plant.write` as for sysv. The harness joins a new anonymous session
keyring before it makes its first key, and all that it starts later inherits that one, so that
nothing touches the caller's own. Joining holds for one thread: plant and launch in the same one.
Sources: keyrings(7), session-keyring(7), user-keyring(7).
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from contextlib import suppress

from matrix.evidence import Acted, Attempted, Nothing, Seen, Sighting
from matrix.witnesses import kernel_keys
from matrix.witnesses.contract import Ground, Planted, Unplantable, Watching, fresh_token
from runners.contract import default_python

_joined: set[int] = set()  # session keyrings that this process made


class Witness(Watching):
    """One key for each arm."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.ring = str(ground.case.plant["ring"])
        self.write = bool(ground.case.plant.get("write"))
        self.name = f"esc-{secrets.token_hex(8)}"
        self.key = 0

    def plant(self) -> Planted:
        """Add it under a random name, which the attack is told."""
        if sys.platform != "linux":
            raise Unplantable("there are no kernel keyrings")
        content = "as planted" if self.write else self.ground.token
        try:
            if self.ring == "session" and kernel_keys.session() not in _joined:
                _joined.add(kernel_keys.join())
            self.key = self._add(content)
        except OSError as error:
            raise Unplantable(f"cannot add a key to the {self.ring} keyring: {error.strerror}") from error
        self.ground.record("key", str(self.key))  # it has no number before
        told = {"name": self.name, "token": self.ground.token} if self.write else {"name": self.name}
        return Planted(told=told)

    def _add(self, content: str) -> int:
        """As the account itself: a user keyring is found by who asks."""
        identity = self.ground.identity
        if self.ring == "session" or identity.uid == os.getuid():
            return kernel_keys.add(self.ring, self.name, content.encode())
        with open(kernel_keys.__file__, encoding="utf-8") as file:  # noqa: PTH123 - handed over as it is
            program = file.read()
        added = subprocess.run(
            [default_python(), "-I", "-S", "-c", program, self.ring, self.name],
            input=content.encode(),
            capture_output=True,
            check=False,
            timeout=10,
            cwd="/",
            env={},
            user=identity.uid,
            group=identity.gid,
            extra_groups=identity.groups,
        )
        if added.returncode:
            raise Unplantable(f"cannot add a key as {identity.name}: {added.stderr.decode()[-200:]}")
        return int(added.stdout)

    def _content(self) -> str:
        try:
            return kernel_keys.read(self.key).decode("latin-1")
        except OSError:
            return ""

    def look(self, attempted: Attempted | None) -> Sighting:
        """The attack read the canary, or the key holds it."""
        token = self.ground.token
        if self.write:
            held = self._content() == token
            return Seen(how=f"the key in the {self.ring} keyring holds the canary") if held else Nothing()
        if attempted is not None and isinstance(said := attempted.said, Acted) and token in said.trace:
            return Seen(how=f"the attack read the canary from the {self.ring} keyring")
        return Nothing()

    def check(self) -> str:
        """The key still holds what was put there, and shows a change."""
        expected = fresh_token()
        try:
            if not self.write and self._content() != self.ground.token:
                return f"the key in the {self.ring} keyring no longer holds the canary"
            kernel_keys.update(self.key, expected.encode())
        except OSError as error:
            return f"the key in the {self.ring} keyring: {error.strerror}"
        return "" if self._content() == expected else "the key does not show a change"

    def close(self) -> None:
        """Have the kernel forget it."""
        if self.key:
            with suppress(OSError):
                kernel_keys.forget(self.key)
