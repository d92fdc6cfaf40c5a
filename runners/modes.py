"""The options that runners of real sandboxes share: a configuration by name, and changes to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def mode_options(modes: Sequence[str] = ("strict", "usual", "open"), **more: Any) -> Mapping[str, Any]:
    """The JSON Schema of a runner's options: mode, flags, without, and what the runner adds."""
    return {
        "type": "object",
        "required": ["mode"],
        "additionalProperties": False,
        "properties": {
            "mode": {
                "enum": list(modes),
                "description": "strict: all that the sandbox can close. usual: as its own documentation "
                "starts it. open: nothing closed, a proof that the harness sees.",
            },
            "flags": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Arguments to add behind those of the mode.",
            },
            "without": {
                "type": "array",
                "items": {"type": "string", "pattern": "^-"},
                "description": "Flags of the mode to leave out, each with its values: one protection less.",
            },
            **more,
        },
    }


def assemble(
    program: Sequence[str],
    groups: Iterable[Sequence[str]],
    options: Mapping[str, Any],
    command: Sequence[str],
) -> tuple[str, ...]:
    """The argv: each group is a flag with its values, so that `without` takes away whole groups.

    `--flag=value` goes by its flag or by the whole.
    """
    without = set(options.get("without", ()))
    kept = [group for group in groups if not without & {group[0], group[0].partition("=")[0]}]
    return (*program, *(word for group in kept for word in group), *options.get("flags", ()), *command)
