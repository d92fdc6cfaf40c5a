"""A command beside the proxy that allows everything: what each is told, and the end of both."""

import json
import os
import socket
import sys
from pathlib import Path

import pytest

from matrix.internet.stage import Stage
from matrix.scene import scene
from runners import command, unconfined
from runners.allow_all import beside
from runners.contract import Channel, Egress, Identity, Launch, Policy, StartError
from runners.process import Process

SHOW = "import json, os; print(json.dumps(dict(os.environ)))"
RUNNERS = [unconfined.Runner({}), command.Runner({"argv": ["{command}"], "rules": "none"})]


def launch(tmp_path, egress, code=SHOW):
    policy = Policy(workspace=tmp_path, egress=egress, environment={"GRANTED": "1"})
    return Launch(
        run=tmp_path, policy=policy, command=(sys.executable, "-c", code), identity=Identity.current(),
        cwd=tmp_path, environment={"PATH": os.environ["PATH"]},
    )  # fmt: skip


def output(running):
    """All that the command prints."""
    with os.fdopen(os.dup(running.output)) as text:
        return text.read()


def end(running):
    while running.poll() is None:
        pass
    running.close()


def place(url):
    host, _, port = url.removeprefix("http://").partition(":")
    return host, int(port)


@pytest.mark.parametrize("runner", RUNNERS, ids=["unconfined", "command"])
def test_the_command_finds_the_proxy_in_every_variable(runner, tmp_path):
    running = runner.start(launch(tmp_path, Egress()))
    told = json.loads(output(running))
    urls = {told.pop(name) for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")}
    assert len(urls) == 1
    assert (told["NO_PROXY"], told["no_proxy"], told["NODE_USE_ENV_PROXY"]) == ("", "", "1")
    assert told["GRANTED"] == "1"
    assert "ALL_PROXY" not in told
    assert place(running.neighbour) != place(urls.pop()), "the neighbour has a proxy of its own"
    end(running)


def test_every_change_is_taken_and_nothing_is_refused_or_kept(tmp_path):
    running = RUNNERS[0].start(launch(tmp_path, Egress()))
    with Stage(in_world=False) as stage:
        row = {"answers": {"a.test": [{"A": ["$PRIV10"]}]}, "request": {"connect": "a.test:443"}}
        window = stage.begin(scene(row), "em")
        running.renew(window.egress())
        assert running.change(window.egress(changes={"tenant": ("*",)})) == ()
        for _ in range(2):
            with socket.create_connection(place(running.neighbour), 5) as client:
                client.sendall(b"CONNECT a.test:443 HTTP/1.1\r\n\r\n")
                assert client.recv(100).startswith(b"HTTP/1.1 200")
            assert running.dials() == ("10.11.12.13:443",)
            assert running.log() == "allowed 10.11.12.13:443"
            assert (running.denials(), running.proposals()) == ((), ())
            running.renew(window.egress())
            assert (running.dials(), running.log()) == ((), "")
    output(running)
    end(running)


def test_closed_nobody_listens_any_more(tmp_path):
    running = RUNNERS[0].start(launch(tmp_path, Egress()))
    url = json.loads(output(running))["HTTP_PROXY"]
    socket.create_connection(place(url), 5).close()
    end(running)
    for each in (url, running.neighbour):
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(place(each), 5)


def test_it_is_the_launcher_that_is_asked_about(tmp_path):
    running = RUNNERS[0].start(launch(tmp_path, Egress(), "raise SystemExit(7)"))
    assert running.argv[0] == sys.executable
    assert running.pid > 0
    assert output(running) == ""
    while running.poll() is None:
        pass
    assert running.poll().code == 7
    running.kill()
    assert running.errors > 0
    running.close()


def test_without_a_policy_there_is_no_proxy(tmp_path):
    for runner in (*RUNNERS, command.Runner({"argv": ["{command}"]})):
        running = runner.start(launch(tmp_path, None))
        assert isinstance(running, Process)
        assert "HTTP_PROXY" not in json.loads(output(running))
        end(running)


def test_a_command_that_cannot_start_leaves_no_proxy(tmp_path, monkeypatch):
    opened = []
    real = beside.Proxy

    def noted(*args):
        opened.append(real(*args))
        return opened[-1]

    monkeypatch.setattr(beside, "Proxy", noted)
    asked = launch(tmp_path, Egress())
    wrong = Launch(**{**vars(asked), "command": (str(Path("/no/such/program")),)})
    with pytest.raises(StartError, match="no/such/program"):
        RUNNERS[0].start(wrong)
    for proxy in opened:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(place(proxy.url), 5)


def test_a_proxy_that_cannot_listen_is_a_start_that_failed(tmp_path, monkeypatch):
    def taken(*_):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(beside, "Proxy", taken)
    with pytest.raises(StartError, match=r"cannot listen: .*Too many open files"):
        RUNNERS[0].start(launch(tmp_path, Egress()))


def test_channels_are_those_of_the_proxy():
    for runner in RUNNERS:
        assert {Channel.PROXY, Channel.DIAL_LOG, Channel.DECISIONS} <= runner.channels
        assert Channel.RECORDS not in runner.channels
    assert not command.Runner({"argv": ["{command}"]}).channels & beside.CHANNELS
    stated = command.Runner({"argv": ["{command}"], "channels": ["terminal"], "rules": "none"})
    assert stated.channels == beside.CHANNELS | {Channel.TERMINAL}


def test_a_proxy_without_rules_is_a_contradiction():
    with pytest.raises(ValueError, match=r"options\.channels: .* needs .* options\.rules"):
        command.Runner({"argv": ["{command}"], "channels": ["proxy"]})


@pytest.mark.parametrize("runner", RUNNERS, ids=["unconfined", "command"])
def test_every_decision_is_that_of_a_rule_which_looks_at_nothing(runner):
    assert runner.decide("lint", {"manifest": ["10.0.0.1"]}) == {"ok": True, "faults": []}
    assert runner.decide("learn", {"denials": [{"host": "a.test"}]}) == {"proposals": []}
    assert runner.decide("show", {"denial": {"host": "a\x1b[2J"}}) == {"text": "a\x1b[2J"}
    with pytest.raises(KeyError):
        runner.decide("why", {})
