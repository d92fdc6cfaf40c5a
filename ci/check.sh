#!/bin/sh
# Every check that `make check` stands for: one line each, what is wrong below it, exit code 1 if anything is.
set -u
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"
failed=0

check() {
    name=$1
    shift
    if said=$("$@" 2>&1); then
        echo "ok    $name"
    else
        failed=1
        printf 'FAIL  %s\n%s\n' "$name" "$said"
    fi
}

check "ruff: lint" ruff check --quiet --output-format concise .
check "ruff: format" ruff format --check .
check "pyright: types" pyright
check "import-linter: contracts of pyproject.toml" lint-imports --no-cache
check "vermin: attacks and tier 1's launcher run on Python 3.8" vermin --target=3.8- --no-tips --violations --quiet \
    attacks/*.py runners/tier1/inside.py runners/tier1/launcher/*.py
check "tidy: sizes, names, words, what attacks import" python ci/tidy.py
check "schemas are schemas" check-jsonschema --check-metaschema testdata/*.schema.json
check "addresses: their schema" check-jsonschema --schemafile testdata/addresses.schema.json testdata/addresses.json
check "workflow: its schema" check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
for script in ci/*.sh; do check "sh: $script parses" sh -n "$script"; done
check "script of CI parses" bash -n .ci/run
check "table and columns" escape-matrix check

exit $failed
