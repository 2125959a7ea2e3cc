# `make demo` and `make test` do all their own set-up on a fresh machine; each needs only Python 3.11+. As root on Debian
# `make test` also installs what the tests of real machines and of the node agent need; elsewhere those tests are skipped,
# each with its reason. The operator's tests bring their own API server; the few that want kubectl are skipped without it.
.DEFAULT_GOAL := help
VENV := .venv
# Bytecode is kept: what a process has compiled the next need not.
unexport PYTHONDONTWRITEBYTECODE
BIN := $(VENV)/bin

.PHONY: help setup demo test thorough style lint docs coverage benchmark track-record clean

help:
	@echo "make demo   runs KAFKA-14139 with KIP-903 off, then on, and prints both verdicts and reports"
	@echo "make test   lint, types, layers and all tests"
	@echo "make thorough  all tests with all their examples and seeds, as every night"
	@echo "make docs   builds the documentation site into build/site"
	@echo "make coverage  runs all tests and writes build/coverage/html: which lines and branches they reach"
	@echo "make setup  leaves $(BIN)/highwater"
	@echo "make benchmark  loads real brokers, and Apache Kafka's beside them, for some minutes (docs/internals/performance.md)"
	@echo "make track-record [BUG=NAME] [RUNS=N]  finds bugs of Apache Kafka in releases that have them (docs/track-record.md)"

setup: $(VENV)/.complete

$(VENV)/.complete: pyproject.toml locks/dev.txt locks/jdk.txt locks/uv.txt locks/s3-server.txt scripts/setup
	@sh scripts/setup $(VENV)

demo: setup
	$(BIN)/highwater run scenarios/kip-903/kafka-14139.yaml --switch replica-epoch-check=off,on

style: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

lint: style
	$(BIN)/mypy

# System packages first: Java is among them. Types are checked beside the tests, some of which wait. What pytest makes of the
# tests' files is made once, and not by each worker.
test:
	@sh scripts/system-packages
	@$(MAKE) --no-print-directory style
	@$(BIN)/mypy >$(VENV)/types.log 2>&1 & types=$$!; \
	test -d tests/__pycache__ || $(BIN)/pytest --collect-only --quiet --quiet >/dev/null 2>&1; \
	$(BIN)/pytest -n 6; tests=$$?; \
	wait $$types; types=$$?; cat $(VENV)/types.log; test $$tests = 0 -a $$types = 0

thorough: setup
	@sh scripts/system-packages
	HIGHWATER_THOROUGH=1 $(BIN)/pytest -n 4
	$(BIN)/python -m highwater_lab.benchmarks.fuzz agent-control agent-answers agent-http --seconds 60

docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

coverage: setup
	@sh scripts/system-packages
	@mkdir -p build/coverage
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n 4
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage html --quiet
	$(BIN)/coverage report --format=total

benchmark: setup
	$(BIN)/python -m highwater_lab.benchmarks.broker

# Resumable: finished runs are kept below build/track-record.
track-record: setup
	@sh scripts/system-packages
	$(BIN)/python -m highwater_lab track-record $(BUG) $(if $(RUNS),--runs $(RUNS))

clean:
	rm -rf $(VENV) runs build dist
