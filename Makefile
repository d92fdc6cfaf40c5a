# The one front door. `make` alone says what there is.

SHELL := /bin/sh
VENV := .venv
OUT := out
PYTEST := $(VENV)/bin/python -m pytest --timeout 120
FAST := not real and not facts

.DEFAULT_GOAL := help
.PHONY: help e2e-sandbox e2e-egress clients proxies test test-real dev check bench bench-proxy readme readme-egress lock clean
.NOTPARALLEL:

help: ## say what there is
	@sed -n 's/^\([a-z][a-z0-9-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-20s %s\n", $$1, $$2}'

e2e-sandbox: $(VENV)/.run ## every row under every sandbox found here; ARGS="…" are options of `escape-matrix run`
	@ci/e2e.sh $(ARGS)

e2e-egress: $(VENV)/.run ## the rows about hosts, addresses and names, on tier 1 and on the proxies found here too; ARGS as above
	@ci/egress.sh $(ARGS)

clients: $(VENV)/.run ## the programs that rows about clients start (curl, Node.js, requests …), in .clients
	@ci/clients.sh

proxies: ## the proxies whose columns the table has: squid, tinyproxy, mitmproxy, sandbox-runtime's; the last two in .proxies
	@ci/proxies.sh

test: $(VENV)/.dev ## the project's own tests: no sandbox needed, under two minutes
	@$(PYTEST) -q -n logical -m "$(FAST)" $(ARGS)

test-real: $(VENV)/.dev ## the tests that start real sandboxes, and the facts known of this kind of machine
	@$(PYTEST) -q -m "not ($(FAST))" $(ARGS)

dev: $(VENV)/.dev ## .venv with the tools of this repository, then every check
	@ci/check.sh

check: $(VENV)/.dev ## ruff, pyright, import contracts, schemas, the table, Python 3.8 in attacks/, tidiness
	@ci/check.sh

bench: $(VENV)/.run ## time the whole matrix
	@$(VENV)/bin/python ci/bench.py $(ARGS)

bench-proxy: $(VENV)/.run ## time tier1's egress proxy beside squid, in a network of their own
	@$(VENV)/bin/python ci/bench_proxy.py $(ARGS)

readme: $(VENV)/.run ## run the matrix and write it into README.md
	@ci/readme.sh matrix $(ARGS)

readme-egress: $(VENV)/.run ## run what e2e-egress runs and write it into README.md
	@ci/readme.sh egress $(ARGS)

lock: ## resolve the dependencies anew and write every lock
	@ci/lock.sh

# An interpreter that this account cannot run (another machine's, another account's) is no .venv at all.
ifneq ($(shell $(VENV)/bin/python -c 'print(1)' 2>/dev/null),1)
.PHONY: $(VENV)/.run $(VENV)/.dev
endif

clean: ## remove what was made here
	rm -rf $(VENV) .clients .proxies $(OUT) dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(VENV)/.run: requirements.lock pyproject.toml ci/venv.sh
	@ci/venv.sh requirements.lock
	@touch $@

$(VENV)/.dev: requirements-dev.lock pyproject.toml ci/venv.sh
	@ci/venv.sh requirements-dev.lock
	@touch $@ $(VENV)/.run
