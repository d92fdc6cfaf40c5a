"""The verdict of a row that starts nothing: a question about lists, and the answer that it must get.

Pure. The control are two rules that look at nothing: one allows all, the other refuses all. Neither may
answer both the question and the harmless one beside it as the row says, or the row tells nobody apart.
The question beside it is the twin too: a rule which refuses everything holds nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from matrix.model import Escaped, Held, Reason, Untested, Verdict

Answer = Mapping[str, Any]


def allow_all(question: str, facts: Mapping[str, Any]) -> Answer:
    """The answer of a rule that finds nothing wrong, proposes nothing, and shows everything as it is."""
    match question:
        case "lint":
            return {"ok": True, "faults": []}
        case "learn":
            return {"proposals": []}
        case _:
            return {"text": " ".join(str(value) for value in facts.get("denial", {}).values())}


def refuse_all(question: str, facts: Mapping[str, Any]) -> Answer:
    """The answer of a rule that finds fault with all, proposes every host everywhere, and shows nothing."""
    match question:
        case "lint":
            faults = [
                {"list": name, "entry": entry, "why": ""}
                for name in ("manifest", "tenant")
                for entry in facts.get(name, ())
            ]
            return {"ok": False, "faults": faults}
        case "learn":
            entries = [f"{denial.get('host')}:{denial.get('port')}" for denial in facts.get("denials", ())]
            return {"proposals": [{"lists": ["manifest", "tenant"], "entry": entry} for entry in entries]}
        case _:
            return {"text": ""}


def fits(expected: Any, answer: Any) -> bool:
    """Whether the answer has what is expected.

    Objects may have more keys. Lists are compared whole and in their order. An object of `has` and
    `lacks` alone is about a text, in which all of the first stand and none of the second.
    """
    match expected, answer:
        case dict(), str() if expected and expected.keys() <= {"has", "lacks"}:
            about = cast("Mapping[str, Sequence[str]]", expected)
            has, lacks = about.get("has", ()), about.get("lacks", ())
            return all(text in answer for text in has) and not any(text in answer for text in lacks)
        case dict(), Mapping():
            wanted, given = cast("Answer", expected), cast("Answer", answer)
            return all(key in given and fits(value, given[key]) for key, value in wanted.items())
        case ((list() | tuple()), (list() | tuple())):
            pairs = (cast("Sequence[Any]", expected), cast("Sequence[Any]", answer))
            return len(pairs[0]) == len(pairs[1]) and all(map(fits, *pairs))
        case _:
            return expected == answer and type(expected) is type(answer)


def blind(asked: Mapping[str, Any]) -> str:
    """Why the row tells nobody apart: which rule that looks at nothing gives both answers; empty: none."""
    for rule in (allow_all, refuse_all):
        both = (rule(asked["question"], each["facts"]) for each in (asked, asked["beside"]))
        if all(
            fits(each["expect"], answer) for each, answer in zip((asked, asked["beside"]), both, strict=True)
        ):
            return f"{rule.__name__.replace('_', ' ')} answers both questions so"
    return ""


def judge(asked: Mapping[str, Any], answer: Answer, beside: Answer) -> Verdict:
    """The verdict on the answers to a row's question, `asked`, and to the harmless one beside it."""
    expect = asked["expect"]
    if why := blind(asked):
        return Untested(reason=Reason.CONTROL_FAILED, evidence=why)
    if not fits(expect, answer):
        return Escaped(evidence=f"answered {short(answer)}, where the row says {short(expect)}")
    if not fits(asked["beside"]["expect"], beside):
        wanted = short(asked["beside"]["expect"])
        return Untested(reason=Reason.OVER_REFUSED, evidence=f"beside it: {short(beside)}, and not {wanted}")
    return Held(evidence=f"answered {short(answer)}")


def short(value: Any) -> str:
    """An answer as evidence quotes it."""
    text = repr(value)
    return text if len(text) <= 200 else text[:199] + "…"  # noqa: PLR2004
