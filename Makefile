# The table of contents: `make` lists it. Each target sets up what it needs, the virtual environment included.
SPEC   ?= tasks/specs/helpdesk_v1.toml
EXPORT ?=
TASK   ?=
WORKERS ?= 0
TICKETS ?=
PYTHON ?= python3
TEST   ?= tests
TEST_WORKERS ?= auto
ARGS   ?=

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# One target at a time: the stages follow one another and each uses all processors itself (so `make -j` is safe, and not faster).
.NOTPARALLEL:
.PHONY: help setup taskset sample ingest deid build-tasks train evaluate report play explain test lint bench lock schemas reference clean-data

VENV   := .venv
PY     := $(VENV)/bin/python
READY  := $(VENV)/.ready
DATA   := $(or $(RECORDGYM_DATA),data)
FIELD   = $(shell sed -n 's/^$(1) *= *"\{0,1\}\([^"#]*[^"\# ]\).*/\1/p' "$(SPEC)" 2>/dev/null | head -n 1)
TASKSET  := $(call FIELD,name)
SUPPLIER := $(call FIELD,supplier)
# The sample is made where the spec is the sample's and no other export is named.
NEEDS_SAMPLE := $(if $(EXPORT),,$(filter true,$(call FIELD,sample)))
EXPORTED := $(or $(EXPORT),$(if $(NEEDS_SAMPLE),$(DATA)/raw/sample))

help: ## what there is
	@echo 'recordgym: records of enterprise systems -> certified tasks -> trained agents'
	@echo
	@echo '  make ingest deid build-tasks                               the sample, from nothing to a certified task set'
	@echo '  make ingest deid build-tasks SPEC=my.toml EXPORT=folder    your own export (a spec names the variable of its token key)'
	@echo '  make test                                                  every test'
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo '  variables: SPEC=$(SPEC) EXPORT=$(EXPORT) TASK=$(TASK) WORKERS=$(WORKERS) (0: one per processor) TICKETS=$(TICKETS) ARGS=$(ARGS)'
	@echo '  each is the same as `.venv/bin/python -m samples|ingest|deid|tasks|environments|training.ppo|training.evaluate|training.compare|training.review`, which explain themselves with --help'

setup: $(READY) ## the virtual environment, from requirements.lock

$(READY): requirements.lock pyproject.toml
	@command -v git >/dev/null || { echo 'error: git is not installed (Debian: apt-get install git)' >&2; exit 2; }
	@for python in '$(PYTHON)' python3.11 python3.12 python3.13; do \
	   if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found=$$python; break; fi; \
	 done; \
	 if [ -z "$${found:-}" ]; then \
	   echo 'error: Python 3.11 or newer is needed, none was found (name one: make PYTHON=/path/to/python3.11 ...)' >&2; exit 2; fi; \
	 if ! "$$found" -c 'import ensurepip, venv' 2>/dev/null; then \
	   echo "error: $$found cannot make virtual environments (Debian: apt-get install python3-venv)" >&2; exit 2; fi; \
	 if ! [ -x $(PY) ]; then "$$found" -m venv $(VENV); fi
	@echo "setting up $(VENV): $$(grep -c == requirements.lock) packages, once, in a few minutes" >&2
	@PYTHONUNBUFFERED=1 $(PY) -m pip install --progress-bar off --disable-pip-version-check -r requirements.lock \
	 | awk '/^(Collecting|Requirement already)/ { if (++n % 20 == 0) { print "  " n " looked up or fetched"; fflush() } } \
	        /^Installing/ { print "  installing them, which takes longest"; fflush() }' >&2
	@$(PY) -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

sample: $(READY) ## the synthetic supplier's exports (data/raw/sample) and their truth (data/truth/sample)
	@$(PY) -m samples $(if $(TICKETS),--tickets $(TICKETS))

ingest: $(READY) $(if $(NEEDS_SAMPLE),sample) ## an export -> data/records/<supplier>
	@$(PY) -m ingest --spec "$(SPEC)" $(if $(EXPORTED),--export "$(EXPORTED)") --workers $(WORKERS)

deid: $(READY) ## records -> data/clean/<supplier>: tokens instead of people (ingests first where there is nothing)
	@[ -e "$(DATA)/records/$(SUPPLIER)/manifest.json" ] || $(MAKE) --no-print-directory ingest
	@$(PY) -m deid --spec "$(SPEC)" --workers $(WORKERS)

build-tasks: $(READY) ## clean records -> data/tasksets/<name>: certified tasks, hold-out, report
	@[ -e "$(DATA)/clean/$(SUPPLIER)/manifest.json" ] || $(MAKE) --no-print-directory deid
	@$(PY) -m tasks --spec "$(SPEC)" --workers $(WORKERS)

taskset: $(READY)
	@[ -e "$(DATA)/tasksets/$(TASKSET)/manifest.json" ] || $(MAKE) --no-print-directory build-tasks

play: taskset ## play a task yourself in the terminal (TASK=..., else they are listed)
	@$(PY) -m environments play $(TASKSET) $(TASK)

explain: taskset ## why a record became a task, and where what the agent sees comes from (TASK=..., else they are listed)
	@$(PY) -m tasks explain $(TASKSET) $(TASK)

train: taskset ## warm start, PPO and held-out evaluation on the CPU -> data/runs/<id>
	@$(PY) -m training.ppo --taskset $(TASKSET) $(ARGS)

report: taskset ## the task set's report once more, its verdict, and where the reports of its runs lie (fails where it says FAIL)
	@ls -1 "$(DATA)"/runs/*/report.html 2>/dev/null || echo 'no runs yet: make train'
	@$(PY) -m tasks report $(TASKSET)

test: $(READY) ## every test (TEST=tests/unit/rewards for some)
	@$(PY) -m pytest -n $(TEST_WORKERS) --dist loadfile $(TEST)

lint: $(READY) ## format, style, types, who imports whom, declared dependencies (all are run, whichever fails)
	@failed=; \
	 $(PY) -m ruff format --check . || failed="$$failed format"; \
	 $(PY) -m ruff check . || failed="$$failed style"; \
	 $(PY) -m mypy || failed="$$failed types"; \
	 $(VENV)/bin/lint-imports || failed="$$failed imports"; \
	 $(VENV)/bin/deptry . || failed="$$failed dependencies"; \
	 [ -z "$$failed" ] || { echo "error: failed:$$failed" >&2; exit 1; }

bench: taskset ## figures against the sample's truth and named peers
	@for script in benchmarks/[a-z]*.py; do name=$$(basename $$script .py); echo "== $$name"; $(PY) -m benchmarks.$$name; done

reference: $(READY) ## write docs/reference/*.md again after a change of what they are about
	@$(PY) -m training.reference

schemas: $(READY) ## write schemas/json/*.json again after a change of a type that crosses a file
	@$(PY) -m schemas export

lock: $(READY) ## write requirements.lock again after a change of the dependencies in pyproject.toml
	@$(PY) -m pip install -qq --disable-pip-version-check --no-build-isolation -e '.[data,deid,quality,gym,train,lm,hosts,dev]'
	@$(PY) .ci/lock.py

clean-data: ## remove what the stages wrote (exports of your own, runs, keys and vaults stay)
	@for part in raw/sample truth records clean tasksets; do rm -rf "$(DATA)/$$part"; done
	@echo "removed from $(DATA): raw/sample truth records clean tasksets"
