"""python -m runners.tier1: the reference sandbox for a person."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from runners.contract import Egress, Policy
from runners.tier1 import door, seatbelt

RUN = """\
Run a command with one directory, its runtime, and the hosts of two lists. It reaches them by HTTP_PROXY and
HTTPS_PROXY alone; without a list it has no network. Its exit code is ours; 2 and 125: it was not started.
"""
EXAMPLE = """\
An example: a manifest that allows one package index, and what is refused beside it

  echo example.org > egress.txt
  python -P -m runners.tier1 run --manifest egress.txt --records refused.jsonl -- curl https://files.example.org
  python -m runners.tier1 learn refused.jsonl      # what to add, and to which list
  python -m runners.tier1 lint egress.txt          # whether the list may be installed
"""
_AsWritten = argparse.RawDescriptionHelpFormatter
_ENTRY = "host[:port], *.domain for any depth below it; 80 and 443 where no port is named"


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the arguments say; gives the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    cut = words.index("--") if "--" in words else len(words)
    made, command = parser(), tuple(words[cut + 1 :])
    asked = made.parse_args(words[:cut])
    if bool(command) is not (asked.do == "run"):
        made.error(
            "a command stands behind --, as in: run -- python3 -V" if not command else "run alone has one"
        )
    try:
        match asked.do:
            case "learn":
                return door.learn(asked.file)
            case "lint":
                return door.check(_egress(asked))
            case "profile":
                print(seatbelt.profile(_policy(asked), port=asked.port), end="")
                return 0
            case _:
                return _run(asked, command)
    except (OSError, ValueError) as error:
        return door.complain([str(error)])


def _run(asked: argparse.Namespace, command: tuple[str, ...]) -> int:
    if not sys.platform.startswith("linux"):
        return door.complain(
            [f"tier 1 runs on Linux, not on {sys.platform}; `profile` prints the macOS profile"]
        )
    options = {"bwrap": asked.bwrap, "links": "keep" if asked.keep_links else "cover"}
    return door.run(
        door.Asked(command=command, policy=_policy(asked), records=asked.records, options=options)
    )


def _policy(asked: argparse.Namespace) -> Policy:
    listed = any((asked.manifest, asked.tenant, asked.allow, asked.tenant_allow))
    workspace = asked.workspace.resolve()
    return Policy(
        workspace=workspace,
        hidden=tuple(_absolute(path) for path in asked.hide),
        protected=(*(_absolute(path) for path in asked.protect), *_ours(asked, workspace)),
        shown=tuple(path.resolve() for path in asked.show),
        environment=door.environment(asked.set, getattr(asked, "pass")),
        egress=_egress(asked) if listed else None,
    )


def _ours(asked: argparse.Namespace, workspace: Path) -> Iterator[Path]:
    """The files of lists and records that lie in the workspace: they are not the command's to change."""
    for file in filter(None, (asked.manifest, asked.tenant, getattr(asked, "records", None))):
        for path in (_absolute(file), file.parent.resolve() / file.name):
            if path.is_relative_to(workspace):
                yield path
                break


def _absolute(path: Path) -> Path:
    """From the root, its links as they are: who guards it declines them."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow them


def _egress(asked: argparse.Namespace) -> Egress:
    return Egress(
        manifest=door.entries(asked.manifest, asked.allow),
        tenant=door.entries(asked.tenant, asked.tenant_allow),
        principal=asked.principal,
        resolver=door.resolver(asked.resolver or ""),
    )


def parser() -> argparse.ArgumentParser:
    """The command line, but for the command behind --."""
    made = argparse.ArgumentParser(
        "python -P -m runners.tier1", description=__doc__, epilog=EXAMPLE, formatter_class=_AsWritten
    )
    verbs = made.add_subparsers(dest="do", required=True, metavar="run|learn|lint|profile")
    run = verbs.add_parser(
        "run",
        help="run a command in the sandbox",
        usage="python -P -m runners.tier1 run [OPTIONS] -- COMMAND [ARGUMENTS]",
        description=RUN,
        epilog=EXAMPLE,
        formatter_class=_AsWritten,
    )
    _about_paths(run)
    _one(run, "--manifest", "FILE", "the command's own list, one entry a line", Path)
    _about_lists(run)
    _one(run, "--records", "FILE", "append every refusal to it, one JSON object a line", Path)
    run.add_argument(
        "--bwrap", choices=("system", "wheel"), default="system", help="which bubblewrap (default: system)"
    )
    run.add_argument(
        "--keep-links", action="store_true", help="leave hard links that lead out of the workspace"
    )
    learn = verbs.add_parser("learn", help="print the entries that would allow what was refused")
    learn.add_argument("file", type=Path, metavar="RECORDS", help="the file of `run --records`")
    check = verbs.add_parser("lint", help="print what is wrong with a list; exit code 1 if anything is")
    check.add_argument("manifest", type=Path, nargs="?", metavar="MANIFEST", help="the command's own list")
    _about_lists(check)
    profile = verbs.add_parser("profile", help="print the same policy for macOS; no Mac has shown it to hold")
    _about_paths(profile)
    _one(profile, "--manifest", "FILE", "as of run", Path)
    _about_lists(profile)
    profile.add_argument(
        "--port", type=int, default=3128, metavar="N", help="of the proxy on loopback (default: 3128)"
    )
    return made


def _about_paths(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--workspace",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="to read and write (default: where you are)",
    )
    _many(verb, "--hide", "PATH", "below the workspace: cannot be read", Path)
    _many(verb, "--protect", "PATH", "below the workspace: cannot be created or changed", Path)
    _many(verb, "--show", "PATH", "beside the workspace: can be read", Path)
    _many(verb, "--set", "NAME=VALUE", "a variable of the command", _assignment)
    _many(verb, "--pass", "NAME", "a variable of ours, as it is", str)


def _about_lists(verb: argparse.ArgumentParser) -> None:
    _one(verb, "--tenant", "FILE", "the tenant's list, which reaches private networks too", Path)
    _many(verb, "--allow", "ENTRY", f"one more entry of the manifest: {_ENTRY}", str)
    _many(verb, "--tenant-allow", "ENTRY", "one more of the tenant's list; a range as 10.0.0.0/8 too", str)
    verb.add_argument(
        "--principal", choices=("plugin", "agent", "harness"), default="plugin", help="whose list it is"
    )
    _one(verb, "--resolver", "ADDRESS[:PORT]", "whom the proxy asks for names", str)


def _one(verb: argparse.ArgumentParser, name: str, shown: str, text: str, kind: Callable[[str], Any]) -> None:
    verb.add_argument(name, type=kind, metavar=shown, help=text)


def _many(
    verb: argparse.ArgumentParser, name: str, shown: str, text: str, kind: Callable[[str], Any]
) -> None:
    verb.add_argument(
        name, type=kind, metavar=shown, help=f"{text}; may be repeated", action="append", default=[]
    )


def _assignment(text: str) -> str:
    name, equals, _ = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"{text!r} is no NAME=VALUE")
    return text


if __name__ == "__main__":
    sys.exit(main())
