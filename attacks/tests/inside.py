"""What tests of attacks share: an attempt without a sandbox, a C library and a socket that only note."""

import contextlib
import ctypes
import errno
import gc
import importlib
import sys
import warnings

import pytest

TOKEN = "em0123456789abcdef"
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux's own interfaces")
load = importlib.import_module  # an attack, or one of the two files beside it: conftest.py shows their folder


def target(platform="linux", steps=None, **told):
    """What an attack is given; `steps` takes each step it names."""

    def speak(kind, **facts):
        if kind == "step" and steps is not None:
            steps.append(facts["step"])

    return load("launcher").Target({"token": TOKEN, **told}, speak, platform)


def run(attack, platform="linux", **told):
    """(what it said, the facts, the steps), as the in-sandbox launcher would report them."""
    steps = []
    with as_if_it_ended():
        given = target(platform, steps, **told)
        said, facts = load("launcher").judge_nothing(load(attack).attempt, given)
        del given
    return said, facts, steps


@contextlib.contextmanager
def as_if_it_ended():
    """An attack lives in a forked child, whose end closes what it opened; here that child is this process."""
    gc.disable()  # so that all of the attempt's rubbish is young, and found by the quickest collection
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            yield
            gc.collect(0)
    finally:
        gc.enable()


class FakeLibc:
    """Writes down each call with what byref() holds; answers as told, refuses with an errno, or succeeds."""

    def __init__(self, refuse=0, **answers):
        self.calls, self.refuse, self.answers = [], refuse, answers

    def __getattr__(self, name):
        def call(*arguments):
            given = [getattr(argument, "_obj", argument) for argument in arguments]
            self.calls.append((name, *map(plain, given)))
            if self.refuse:
                return refused(self.refuse)
            answer = self.answers.get(name, 0)
            return answer(*given) if callable(answer) else answer

        self.__dict__[name] = call  # one function a name: attacks set its argtypes
        return call


def plain(argument):
    """An argument as a person would compare it."""
    if isinstance(argument, ctypes.Array) and not isinstance(argument[0], bytes):
        return tuple(argument)
    return getattr(argument, "value", argument)


def refused(code):
    """As a call of libc that fails with that errno."""
    ctypes.set_errno(code)
    return -1


class Recorder:
    """A socket that keeps what is asked of it and never sends."""

    made = ()

    def __init__(self, *arguments):
        self.calls = [("socket", *arguments)]
        type(self).made = (*self.made, self)

    def __getattr__(self, name):
        def call(*arguments):
            self.calls.append((name, *arguments))
            if name.startswith("recv"):
                raise TimeoutError(errno.ETIMEDOUT, "nothing came")
            return 0

        return call


def received(listener):
    """What the next guest of a listener sends."""
    guest, _ = listener.accept()
    with guest:
        guest.settimeout(2)
        return guest.recv(4096).decode()
