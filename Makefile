# `make` lists the targets. Two of them do all the set-up on a new machine: `make run` and `make test`.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GOVULNCHECK_VERSION := v1.9.0
GOLANGCI_LINT_VERSION := v2.15.0
BENCHSTAT_VERSION := v0.0.0-20260908200009-22c9c6c9d4da
TOOLS := $(CURDIR)/.cache/bin
GOLANGCI_LINT := $(TOOLS)/golangci-lint-$(GOLANGCI_LINT_VERSION)

# Statement coverage is counted over the hand-written packages, whichever package's tests run a statement.
HAND_WRITTEN = $(shell go list ./... | grep -v -e /graph/generated -e /graph/model -e /internal/pgtest -e /internal/servertest -e /internal/postgres/storetest | paste -sd,)
TEST_FLAGS ?=

# What Go tests run with Node.js.
NODE_MODULES := $(patsubst %,%/node_modules/.package-lock.json,graph/conformance graph/clients rest/conformance internal/webui/browsertest)
VERSION ?= dev
IMAGE ?= postgres:18-alpine

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  \1\t\2/' | expand -t 24

.PHONY: build
build: ## build bin/fencepost
	go build -trimpath -o bin/fencepost ./cmd/fencepost

.PHONY: run
run: build ## serve with a private PostgreSQL on http://127.0.0.1:8080 (more flags: make run ARGS="...")
	@scripts/setup.sh postgres
	./bin/fencepost serve $(ARGS)

.PHONY: test
test: ## run all tests on real PostgreSQL with the race detector, and demand full statement coverage
	@scripts/setup.sh postgres compiler node browser prometheus session
	@$(MAKE) --no-print-directory $(NODE_MODULES)
	go test -race -timeout=40m -covermode=atomic -coverpkg=$(HAND_WRITTEN) -coverprofile=coverage.out $(TEST_FLAGS) ./... | \
	  awk '{ sub(/[ \t]*coverage: .* of statements in .*/, ""); print; fflush() }'
	@scripts/coverage.sh coverage.out

THROUGH_PGBOUNCER ?= ./internal/postgres/... ./rest ./graph ./cmd/fencepost ./internal/server ./internal/cli ./internal/systemtest
.PHONY: test-pgbouncer
test-pgbouncer: ## run the tests of the database and of both doors through PgBouncer in transaction mode
	@scripts/setup.sh postgres node prometheus pgbouncer
	@$(MAKE) --no-print-directory $(NODE_MODULES)
	scripts/test-pgbouncer.sh $(TEST_FLAGS) $(THROUGH_PGBOUNCER)

.PHONY: test-containers
test-containers: ## run the database's tests in containers (another image: make test-containers IMAGE=postgres:15-alpine)
	FENCEPOST_TEST_DATABASE_URL= FENCEPOST_TEST_POSTGRES_BIN= FENCEPOST_TEST_POSTGRES_IMAGE=$(IMAGE) \
	  go test $(TEST_FLAGS) ./internal/pgtest ./internal/postgres/... ./migrations

%/node_modules/.package-lock.json: %/package-lock.json
	cd $* && npm ci --ignore-scripts --no-audit --no-fund

.PHONY: mutations
mutations: ## remove each guard from a copy of the code and demand that a test notices (only some: make mutations ARGS="claim")
	@scripts/setup.sh postgres
	@scripts/mutations.sh $(ARGS)

.PHONY: image
image: ## build the container image fencepost:VERSION (make image VERSION=v1.2.3; by default "dev")
	docker build --build-arg VERSION=$(VERSION) --tag fencepost:$(VERSION) .

.PHONY: package
package: ## check what is shipped: deployment files, the image with a job run through it, and that a release can be repeated
	@scripts/setup.sh postgres node prometheus session systemd docker
	scripts/lint-deploy.sh
	scripts/image-test.sh
	scripts/release-test.sh

.PHONY: release
release: ## make the archives, bills of materials and checksums of the tagged commit in dist/
	scripts/release.sh

HISTORIES ?= 1000000
.PHONY: model-long
model-long: ## check random histories of real calls against the model for hours (fewer: make model-long HISTORIES=5000)
	@scripts/setup.sh postgres
	go test -count=1 -timeout=0 -v -run=HaveAnExplanation ./internal/model -rapid.checks=$(HISTORIES)

FUZZTIME ?= 30s
.PHONY: fuzz
fuzz: ## give each parser made-up input for 30 seconds (longer: make fuzz FUZZTIME=1h; only some: ARGS=Cursor)
	@scripts/setup.sh postgres
	@scripts/fuzz.sh $(FUZZTIME) $(ARGS)

MINUTES ?= 5
.PHONY: soak
soak: ## load two servers and two workers while things break, for some minutes, and audit the books (make soak MINUTES=20 ARGS="--seed 7")
	@scripts/setup.sh postgres
	cd bench && go run ./soak --minutes $(MINUTES) $(ARGS)

.PHONY: cover
cover: ## show the coverage of the latest test run in a browser
	go tool cover -html=coverage.out

.PHONY: generate
generate: ## regenerate the code that comes from schema.graphqls
	go generate ./...

.PHONY: web
web: ## build the playground's pages anew, which are committed so that a build needs no Node.js
	cd internal/webui/playground && npm ci --ignore-scripts --no-audit --no-fund && npm run build

.PHONY: fmt
fmt: $(GOLANGCI_LINT) ## format the code
	$(GOLANGCI_LINT) fmt

.PHONY: lint
lint: $(GOLANGCI_LINT) ## check the code with go vet and the linters, and that it builds for macOS
	go vet ./...
	$(GOLANGCI_LINT) run
	GOOS=darwin go build ./...

.PHONY: vulncheck
vulncheck: ## look for known weaknesses in what the program calls (needs the network)
	go run golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION) ./...

$(GOLANGCI_LINT):
	GOBIN=$(TOOLS) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	mv $(TOOLS)/golangci-lint $@

.PHONY: bench
bench: ## measure against PostgreSQL alone, its limit and peers, in some ten minutes; AGAINST=/path/to/fencepost adds an older binary
	cd bench && go run . --profile quick --report reports/quick $(if $(AGAINST),--against $(abspath $(AGAINST)))

.PHONY: bench-tracing
bench-tracing: ## measure what OTLP traces cost, in some five minutes
	cd bench && go run . --profile tracing --report reports/tracing

.PHONY: bench-full
bench-full: ## the same with up to 10,000,000 rows, and with plots
	cd bench && go run . --profile full --report reports/full

.PHONY: bench-cliffs
bench-cliffs: ## look for extremes at which a rate breaks off, and for unfairness, in some twenty minutes
	cd bench && go run . --profile cliffs --report reports/cliffs

# The Go benchmarks, on one processor so that their names and allocations are the same on every machine.
MEASURE_PARTS = go test -run='^$$' -bench=. -benchmem -cpu=1
PARTS := ./internal/job ./rest ./graph
RECORDED := bench/recorded/parts.txt

.PHONY: bench-go
bench-go: ## measure single parts, compare with the recorded run, and fail when one allocates more often
	@mkdir -p .cache
	$(MEASURE_PARTS) -count=6 -benchtime=0.2s $(PARTS) | tee .cache/parts.txt
	go run golang.org/x/perf/cmd/benchstat@$(BENCHSTAT_VERSION) $(RECORDED) .cache/parts.txt
	scripts/allocations.sh $(RECORDED) .cache/parts.txt

.PHONY: bench-go-allocations
bench-go-allocations: ## count the allocations alone, in some seconds
	@mkdir -p .cache
	$(MEASURE_PARTS) -count=3 -benchtime=0.1s $(PARTS) | tee .cache/allocations.txt
	scripts/allocations.sh $(RECORDED) .cache/allocations.txt

.PHONY: bench-go-record
bench-go-record: ## measure single parts as the run that later ones are compared with
	$(MEASURE_PARTS) -count=6 -benchtime=0.2s $(PARTS) > $(RECORDED)
