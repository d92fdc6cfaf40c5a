"""All the wrong proxies there are: importing their files makes them known."""

from matrix.tests.wrong import (
    addresses,
    answers,
    lists,
    names,
    numbers,
    records,
    requests,
    sandboxes,
    tunnels,
)
from matrix.tests.wrong.double import DOUBLES

FILES = (addresses, answers, lists, names, numbers, records, requests, sandboxes, tunnels)

__all__ = ["DOUBLES", "FILES"]
