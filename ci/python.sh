#!/bin/sh
# Prints the path of a Python 3.11 or newer that can make a virtual environment for this account.
# The system's own comes first: other accounts and sandboxes that show /usr can reach it too. A
# version manager's shim counts as the interpreter behind it, and only if this account can run that.
set -u

probe='
import sys, venv, ensurepip
if sys.version_info >= (3, 11):
    print(sys._base_executable if sys.prefix != sys.base_prefix else sys.executable)
'

for candidate in "${PYTHON:-}" /usr/bin/python3 python3 python3.14 python3.13 python3.12 python3.11 \
    /opt/homebrew/bin/python3 /usr/local/bin/python3; do
    [ -n "$candidate" ] || continue
    found=$("$candidate" -I -c "$probe" 2>/dev/null) || continue
    if [ -n "$found" ] && [ -x "$found" ]; then
        printf '%s\n' "$found"
        exit 0
    fi
done

cat >&2 <<'MESSAGE'
No Python 3.11 or newer that can make a virtual environment is in reach of this account.
Looked at $PYTHON, /usr/bin/python3, python3 and python3.11 to python3.14 on PATH, Homebrew and /usr/local.
Install one (Debian and Ubuntu: apt-get install python3 python3-venv) or name one: make PYTHON=/path/to/python3
MESSAGE
exit 1
