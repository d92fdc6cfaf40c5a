"""What a launcher said on standard error, in the one line that evidence has room for."""

import pytest

from matrix.drive import complaint

MOUNT = """\
mount: ./usr: wrong fs type, bad option, bad superblock on /usr.
       dmesg(1) may have more information after failed mount system call.
"""


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        ("", ""),
        (" \n\n", ""),
        ("first\nlast\n\n", "last"),
        (MOUNT, "mount: ./usr: wrong fs type, bad option, bad superblock on /usr."),
        ("   only this", "only this"),
        ("x" * 1000, "x" * 300),
    ],
)
def test_the_complaint_is_the_last_line_that_begins_one(errors: str, said: str) -> None:
    assert complaint(errors) == said
