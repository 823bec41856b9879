# `make` lists the targets. Each works on a fresh clone with Go and needs no
# other preparation; what a target cannot do here, it says.

GO      ?= go
# Empty means: what the go command knows.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)

# How long each fuzz target runs, and how many run side by side.
FUZZTIME ?= 30s
FUZZJOBS ?= 2

# The linter, in exactly this version: others find other things.
GOLANGCI_VERSION := 2.15.0
GOLANGCI         := .cache/bin/golangci-lint-$(GOLANGCI_VERSION)

# The exec-server that we are compatible with, in exactly this version: tests of
# the client run against it, too.
CODEX_VERSION := 0.171.0
CODEX_DIR     := .cache/codex-$(CODEX_VERSION)

# The transcripts of the Codex exec-server, if they have been checked out
# beside this repository.
CONFORMANCE ?= ../shared/conformance
SCENARIOS   ?= proc- handshake session transport environment fs- http- sandbox-

HELPER := internal/helper/embedded/airlock-helper

.DEFAULT_GOAL := help
.PHONY: help build test volume lint cross fuzz bench regress codex conformance check clean

help: ## list the targets
	@sed -nE 's/^([a-z]+):.*## (.*)/\1|\2/p' $(MAKEFILE_LIST) | \
		while IFS='|' read -r name text; do printf '  make %-12s %s\n' "$$name" "$$text"; done

# The helper is built first, for the same system, and embedded. Without the tag
# airlock executes itself as the helper, which takes longer and more memory.
build: ## build ./airlock, static and stripped
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o $(HELPER) ./cmd/airlock-helper
	CGO_ENABLED=0 $(GO) build -trimpath -tags embedhelper -ldflags '-s -w -X main.version=$(VERSION)' -o airlock ./cmd/airlock

# The race detector is built with cgo. Where there is no C compiler the tests
# run without it rather than not at all.
test: ## run all tests, with the race detector where there is a C compiler
	@if printf '#include <stdlib.h>\nint main(void) { return 0; }\n' | $${CC:-cc} -x c -o /dev/null - 2>/dev/null; then \
		echo 'CGO_ENABLED=1 $(GO) test -race ./...'; \
		CGO_ENABLED=1 $(GO) test -race ./...; \
	else \
		echo 'make test: no C compiler, so the race detector is off' \
			'(on Debian: apt-get install gcc libc6-dev)'; \
		$(GO) test ./...; \
	fi

# With the race detector these tests move a part of what they do here.
volume: ## run the tests of much data at full size, without the race detector
	$(GO) test -count=1 -run '^TestVolume' ./test/fault

lint: $(GOLANGCI) ## check style, common faults and go.mod
	$(GOLANGCI) run ./...
	$(GO) mod tidy -diff

$(GOLANGCI):
	@echo 'building golangci-lint $(GOLANGCI_VERSION), which takes some minutes the first time'
	GOBIN=$(CURDIR)/.cache/build $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(GOLANGCI_VERSION)
	mkdir -p $(dir $@)
	mv .cache/build/golangci-lint $@

cross: ## build and vet everything, tests included, for the other systems
	@set -e; for system in darwin windows; do \
		echo "GOOS=$$system $(GO) build ./... && $(GO) vet ./..."; \
		GOOS=$$system CGO_ENABLED=0 $(GO) build ./...; \
		GOOS=$$system CGO_ENABLED=0 $(GO) vet ./...; \
	done

# Each package is built once, with the fuzzer's instruments; then each target,
# which is a folder and a name, runs in its folder. Output is shown when a target
# has ended, so that those side by side do not mix. Inputs that fail are written
# to testdata/fuzz, inputs of interest are kept in .cache. A target that fails
# with its time being over and nothing else has not failed: golang/go#75804.
fuzz: ## run each fuzz target for FUZZTIME (30s)
	@set -e; mkdir -p .cache/fuzz; \
	targets=$$(grep -rE --include='*_test.go' '^func Fuzz' . | \
		sed -E 's|^\./(.*)/[^/]*:func (Fuzz[A-Za-z0-9_]*).*|\1 \2|' | sort -u); \
	[ -n "$$targets" ] || { echo 'make fuzz: no fuzz targets found' >&2; exit 1; }; \
	echo "$$(echo "$$targets" | wc -l) fuzz targets, $(FUZZTIME) each, $(FUZZJOBS) at a time"; \
	for dir in $$(echo "$$targets" | cut -d ' ' -f 1 | uniq); do \
		$(GO) test -c -fuzz . -o .cache/fuzz/$$dir/fuzz.test ./$$dir; \
	done; \
	echo "$$targets" | xargs -P $(FUZZJOBS) -L 1 sh -c 'cd "$$0"; \
		out=$$("$(CURDIR)/.cache/fuzz/$$0/fuzz.test" -test.run "^$$" -test.fuzz "^$$1$$" -test.parallel 1 \
			-test.fuzztime $(FUZZTIME) -test.fuzzminimizetime 5s -test.fuzzcachedir "$(CURDIR)/.cache/fuzz/$$0" 2>&1); status=$$?; \
		what=$$(echo "$$out" | grep -vE "^(fuzz: |--- FAIL: |FAIL$$|PASS$$)"); \
		if [ $$status -eq 0 ] || [ "$$what" = "    context deadline exceeded" ]; \
		then echo "ok   $$0 $$1: $$(echo "$$out" | grep "^fuzz: elapsed" | tail -n 1)"; \
		else echo "FAIL $$0 $$1"; echo "$$out"; exit 1; fi'

bench: ## measure, side by side with the exec-server in CODEX_BIN if that is set
	$(GO) run ./bench

# Only what can be compared on any machine is: ratios to the least that has to be
# done for the same.
regress: build ## measure, and fail if it is slower than bench/baseline.json says
	$(GO) run ./bench --airlock './airlock serve' --against bench/baseline.json

codex: $(CODEX_DIR) ## install the Codex exec-server, with npm, and print its path
	@find $(CURDIR)/$(CODEX_DIR) -path '*/vendor/*' -name codex -type f -perm -u+x

$(CODEX_DIR):
	npm install --silent --no-save --prefix $@.new @openai/codex@$(CODEX_VERSION) >&2
	mv $@.new $@

conformance: build ## replay the recorded transcripts against ./airlock
	@[ -e $(CONFORMANCE)/run.mjs ] || { \
		echo 'make conformance: no transcripts at $(CONFORMANCE): nothing to do'; exit 0; }; \
	command -v node >/dev/null || { echo 'make conformance: needs node' >&2; exit 1; }; \
	set -e; for only in $(SCENARIOS); do \
		node $(CONFORMANCE)/run.mjs --server './airlock serve' --only $$only; \
	done

check: lint test volume cross fuzz conformance regress ## all of it, except bench

clean: ## remove what has been built
	rm -rf airlock airlock.exe .cache $(dir $(HELPER))
