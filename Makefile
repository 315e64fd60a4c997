# make run    build and serve the demo
# make test   install what is missing, then run all tests, most of them with the race detector
# make lint   the linters that CI runs
# make fuzz   each fuzz target for FUZZTIME; FUZZ=internal/crm for those of one room
# make screenshots   the pictures in docs/screenshots, from the demo
# make bench  measure everything with 1,000,000 contacts and write docs/benchmarks.md; PEERS=1 measures PocketBase too
# make bench-quick   the same with 100,000 contacts in less than three minutes; OUT=docs writes the page

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
LDFLAGS := -s -w -X donorbook/internal/cli.version=$(VERSION)
FUZZTIME ?= 5s

# Everything but the tests with the race detector is compiled alike, so that nothing is compiled twice.
export CGO_ENABLED = 0
export GOFLAGS = -trimpath

.PHONY: bin/bench build run test lint fuzz bench bench-quick openapi screenshots clean

build:
	go build -ldflags '$(LDFLAGS)' -o bin/donorbook ./cmd/donorbook

run: build
	bin/donorbook serve --demo

# The program is built first: tests that start it find it in the build cache. The pages share next to nothing, so that the race
# detector would find little in the console and make its passwords slow; it watches them in the whole program, in cli. The tests
# of the repository as a whole look at the program from outside, and compare what it allocates with what they allocate themselves.
# The rules are tested once more without it: it sees a part only of what is held against the library of phone numbers. So is the
# plumbing, because what it allocates can be counted only then. The store is tested without it, and once more with it where
# several act at once.
test: build
	.ci/install gcc libc6-dev curl postgresql pgbouncer nginx systemd chromium fonts-liberation
	GOFLAGS= CGO_ENABLED=1 go test -race $$(go list ./... | grep -v -e /console$$ -e /store$$ -e /db$$ -e ^donorbook$$)
	GOFLAGS= CGO_ENABLED=1 go test -race -run "$$(.ci/races internal/store internal/db)" ./internal/store ./internal/db
	go test ./internal/store ./internal/db
	go test . ./internal/console ./internal/crm ./internal/web
	go -C browser test -count=1 ./...

lint:
	.ci/lint

fuzz:
	.ci/fuzz $(FUZZTIME) $(FUZZ)

BENCH = bin/bench -postgres new $(if $(PEERS),-peers)

# What is to be interrupted must be make's own child, not that of a go run between them.
bin/bench: build
	.ci/install postgresql strace
	go build -o $@ ./bench

bench: bin/bench
	$(BENCH) -out $(or $(OUT),docs)

bench-quick: bin/bench
	$(BENCH) -contacts 100000 -rounds 2 -seconds 0.4 -warm 0.15 $(if $(OUT),-out $(OUT))

# openapi writes openapi.json and the reference page anew, after a change of openapi.yaml or of the template of the page.
openapi:
	UPDATE=1 go test ./internal/api -run 'TestOpenAPIJSONEqualsYAML|TestReferencePageEqualsOpenAPIJSON'

screenshots:
	.ci/install chromium fonts-liberation
	SCREENSHOTS=$(CURDIR)/docs/screenshots go -C browser test -count=1 -run TestScreenshots ./...

clean:
	rm -rf bin .cache
