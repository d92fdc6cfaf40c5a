"""Any sandbox that a command line starts, described in a backends file without a line of Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from runners.allow_all import beside, decisions
from runners.contract import (
    Channel,
    Expressible,
    Found,
    Identity,
    Inexpressible,
    Launch,
    Missing,
    Policy,
    Running,
)
from runners.local import Local, find

_TEMPLATE = {"type": "array", "items": {"type": "string"}}


class Runner(Local):
    """An argv template.

    `{workspace}` is replaced inside every element. `{command}`, alone in its element, is replaced
    by the command's own elements, anywhere. `{hide}`, `{protect}`, `{show}` and `{grant}`, alone in
    theirs, are replaced by the options of that name, once for every hidden path, protected path,
    shown path and granted variable, with `{path}`, or `{name}` and `{value}`, filled in.
    """

    OPTIONS: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "required": ["argv"],
        "additionalProperties": False,
        "properties": {
            "argv": {
                **_TEMPLATE,
                "minItems": 1,
                "contains": {"const": "{command}"},
                "description": 'The launcher and its arguments. "{command}" stands alone in one element; '
                '"{workspace}" may stand inside any.',
            },
            "python": {
                "type": "string",
                "description": "The interpreter as a path inside (default: the system's python3).",
            },
            "channels": {
                "type": "array",
                "items": {"enum": [channel.value for channel in Channel]},
                "uniqueItems": True,
                "description": "What the launcher carries to the command (default: all of them, as one local "
                "process does).",
            },
            "hide": {
                **_TEMPLATE,
                "description": 'What makes one path unreadable, with "{path}"; stands in argv at "{hide}". '
                "An empty list says that hiding is asked for and not done.",
            },
            "protect": {
                **_TEMPLATE,
                "description": 'What makes one path read-only, with "{path}"; stands in argv at "{protect}". '
                "An empty list says that protection is asked for and not done.",
            },
            "show": {
                **_TEMPLATE,
                "description": 'What makes one path beside the workspace readable, with "{path}"; stands in '
                'argv at "{show}". Left out, the programs that some rows start may be missing inside.',
            },
            "grant": {
                **_TEMPLATE,
                "description": 'What gives one variable, with "{name}" and "{value}"; stands in argv at '
                '"{grant}". Without it, granted variables are in the launcher\'s environment.',
            },
            "rules": {
                "enum": ["none"],
                "description": 'The rules of the proxy beside the command. "none": it allows '
                "everything, as do the decisions. Left out, there is no proxy.",
            },
        },
    }

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self.template: tuple[str, ...] = tuple(options["argv"])
        for problem in _contradictions(self.template, options):
            raise ValueError(problem)
        if "channels" in options:
            self.channels = frozenset(Channel(name) for name in options["channels"])
        if "rules" in options:
            self.channels |= beside.CHANNELS

    def find(self, identity: Identity) -> Found | Missing:
        """The launcher, and what it says of itself."""
        program = self.template[0]
        if program == "{command}":
            return Found("no launcher")
        return find(program, identity, f"install {program}, or correct options.argv")

    def express(self, policy: Policy) -> Expressible | Inexpressible:
        """What the template has words for."""
        for option, paths in (("hide", policy.hidden), ("protect", policy.protected)):
            if paths and option not in self.options:
                return Inexpressible(f"options.{option} does not say how")
        return Expressible()

    def argv(self, launch: Launch) -> tuple[str, ...]:
        """The template, filled in."""
        policy = launch.policy
        spliced: dict[str, tuple[str, ...]] = {
            "{command}": launch.command,
            "{hide}": self._paths("hide", policy.hidden),
            "{protect}": self._paths("protect", policy.protected),
            "{show}": self._paths("show", policy.shown),
            "{grant}": _fill(
                self.options.get("grant", ()),
                ({"{name}": name, "{value}": value} for name, value in policy.environment.items()),
            ),
        }
        filled: list[str] = []
        for element in self.template:
            workspace = element.replace("{workspace}", str(policy.workspace))
            filled += spliced.get(element, (workspace,))
        return tuple(filled)

    def start(self, launch: Launch) -> Running:
        """The template; where the rules say so, beside a proxy that allows everything. Raises StartError."""
        start = super().start
        return beside.start(launch, start) if "rules" in self.options else start(launch)

    def decide(self, question: str, facts: Mapping[str, Any]) -> Mapping[str, Any]:
        """Everything is fine: the only rules there can be are none."""
        return decisions.decide(question, facts)

    def environment(self, launch: Launch) -> Mapping[str, str]:
        """The caller's alone where the template grants variables in its own words."""
        return launch.environment if "grant" in self.options else super().environment(launch)

    def python(self) -> str:
        """The interpreter that the table names."""
        return self.options.get("python", super().python())

    def _paths(self, option: str, paths: Iterable[Path]) -> tuple[str, ...]:
        return _fill(self.options.get(option, ()), ({"{path}": str(path)} for path in paths))


def _fill(template: Iterable[str], values: Iterable[Mapping[str, str]]) -> tuple[str, ...]:
    """The template once for each value."""
    elements = tuple(template)
    return tuple(_replace(element, value) for value in values for element in elements)


def _replace(element: str, value: Mapping[str, str]) -> str:
    for word, meaning in value.items():
        element = element.replace(word, meaning)
    return element


def _contradictions(template: tuple[str, ...], options: Mapping[str, Any]) -> Iterable[str]:
    """What is wrong with a template, in words that say what to do."""
    if "{command}" not in template:
        yield 'options.argv has no element "{command}": put it, alone, where the command belongs'
    for element in template:
        for word in ("{command}", "{hide}", "{protect}", "{show}", "{grant}"):
            if word in element and word != element:
                yield f"options.argv: {word} must stand alone in its element, not in {element!r}"
    for option in ("hide", "protect", "show", "grant"):
        if options.get(option) and f"{{{option}}}" not in template:
            yield f'options.{option} is never used: put "{{{option}}}" into options.argv'
    carried = beside.CHANNELS.intersection(options.get("channels", ()))
    if carried and "rules" not in options:
        yield f'options.channels: {min(carried)} needs a proxy and its rules: add options.rules = "none"'
