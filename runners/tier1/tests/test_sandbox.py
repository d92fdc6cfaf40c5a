"""What bwrap is asked for, against a golden file, and what the command finds in its environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.contract import Egress, Policy
from runners.system import View
from runners.tier1 import sandbox

GOLDEN = Path(__file__).with_name("strict.golden.txt")
VIEW = View(shown=("/usr",), links=(("usr/bin", "/bin"), ("usr/lib", "/lib")))
PRESENT = {"/etc/ssl/certs": True, "/proc/acpi": True, "/proc/kcore": False}


def policy(**more: object) -> Policy:
    given = {"PATH": "/usr/bin", "GIVEN": "a b"}
    return Policy(
        **{"workspace": Path("/ws 1"), "environment": given, "shown": (Path("/opt/clients"),), **more}
    )


def test_the_command_line_is_the_golden_one() -> None:
    groups = (
        *sandbox.first(policy(egress=Egress()), VIEW, PRESENT, Path("/run/empty")),
        *sandbox.last(policy()),
    )
    text = "".join(" ".join(group) + "\n" for group in groups)
    if not GOLDEN.exists():
        GOLDEN.write_text(text)
        pytest.fail(f"{GOLDEN} is new: look at it")
    assert text == GOLDEN.read_text()


def test_without_egress_there_is_no_proxy_and_nothing_but_what_is_granted() -> None:
    assert sandbox.environment(policy()) == {"PATH": "/usr/bin", "GIVEN": "a b"}


def test_with_egress_the_proxy_s_variables_are_ours_alone() -> None:
    foreign = {
        **dict.fromkeys(("HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"), "socks5://elsewhere"),
        "NO_PROXY": "*",
        "NODE_USE_ENV_PROXY": "0",
        "KEPT": "1",
    }
    assert sandbox.environment(policy(environment=foreign, egress=Egress())) == {
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:3128"),
        "NO_PROXY": "",
        "no_proxy": "",
        "NODE_USE_ENV_PROXY": "1",
        "KEPT": "1",
    }


def test_there_is_no_resolver_inside_and_names_are_looked_up_in_files_alone() -> None:
    assert "hosts: files\n" in sandbox.FILES["/etc/nsswitch.conf"]
    assert "/etc/resolv.conf" not in {*sandbox.FILES, *sandbox.RUNTIME}


def test_what_is_shown_of_etc_is_never_private() -> None:
    assert not any("private" in path or path in {"/etc", "/etc/ssl", "/etc/pki"} for path in sandbox.RUNTIME)
