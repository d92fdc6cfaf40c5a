"""What tests of real clients share: one attempt, with the clients' own scripts from ci/clients."""

from pathlib import Path

from attacks.tests.inside import as_if_it_ended, load, target

KIT = Path(__file__).parents[2] / "ci" / "clients"


def ask(tmp_path, client, steps=(), url="https://x.test/", **request):
    """(what it said, the facts, the steps), of a row that goes through the proxy where it has steps."""
    told = {"ca": str(tmp_path / "ca.pem"), "clients": str(KIT)}
    asked = {"client": client, "url": url, **request}
    named = []
    given = target(**told, **({} if steps else asked))
    given._speak = lambda _, step: named.append(step)
    if steps:
        given.told["steps"] = [{"request": asked, "step": step, "keep": False} for step in steps]
    with as_if_it_ended():
        said, facts = load("launcher").judge_nothing(load("proxy_client").attempt, given)
    return said, facts, named
