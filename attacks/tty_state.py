"""Change the state of the caller's terminal so that it stays changed after the run.

"raw": no line editing, with a told number as the least count of bytes of a read. "size": told rows
and columns. None of it needs the terminal to be the controlling one.
Source: tcsetattr(3), ioctl_tty(2); anthropic-experimental/sandbox-runtime test/helpers/pty-ctty.py.
"""

import fcntl
import os
import signal
import struct
import termios
import tty


def raw(number):
    """Set raw mode with VMIN as told; returns what the terminal then says."""
    tty.setraw(0)
    mode = termios.tcgetattr(0)
    mode[6][termios.VMIN] = number
    termios.tcsetattr(0, termios.TCSANOW, mode)
    found = termios.tcgetattr(0)
    return not found[3] & termios.ICANON and found[6][termios.VMIN] == number


def size(rows, columns):
    """Set the size; returns whether the terminal then says so."""
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))
    return tuple(os.get_terminal_size(0)) == (columns, rows)


def attempt(target):
    """Change it; a descriptor 0 that is no terminal, or a refused change, is the sandbox's answer."""
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # a background process may change it, if it ignores this
    target.step("change")
    try:
        done = raw(target.number) if target.what == "raw" else size(target.number, target.number + 1)
    except termios.error as error:  # no OSError, though it is an errno and its text
        raise OSError(*error.args) from None
    if done:
        return target.inside("the terminal was changed while the sandbox ran, and not afterwards")
    return "changed"
