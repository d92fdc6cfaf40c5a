"""The decisions of a rule that looks at nothing: every list is fine, and everything is shown as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def decide(question: str, facts: Mapping[str, Any]) -> Mapping[str, Any]:
    """The answer to a question of a row. Raises KeyError for an unknown question."""
    match question:
        case "lint":
            return {"ok": True, "faults": []}
        case "learn":
            return {"proposals": []}
        case "show":
            return {"text": " ".join(str(value) for value in facts.get("denial", {}).values())}
        case _:
            raise KeyError(question)
