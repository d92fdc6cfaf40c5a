"""Read a variable that stands in the environment of the launcher's caller.

The row says the variable's name and where to look: in this process's own environment, or in that of
a program that it executes. Only that variable's value is given back.
Source: openai/codex and google-gemini/gemini-cli environment filters; navikt/cplt env tests.
"""

import json
import os
import subprocess
import sys

SHOW = "import json, os; print(json.dumps(dict(os.environ)))"


def attempt(target):
    """Look it up; a look that works sees at least one variable."""
    if target.where == "program":
        target.step("execute")
        command = [sys.executable, "-I", "-S", "-c", SHOW]
        seen = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    else:
        seen = dict(os.environ)
    target.step("read")
    if not seen:
        raise RuntimeError("not a single variable was seen, so the look may not work")
    if target.variable in seen:
        return seen[target.variable]
    return target.absent("%d variables, %s is none of them" % (len(seen), target.variable))
