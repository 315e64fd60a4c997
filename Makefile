# make run    build and serve the demo
# make test   install what is missing, then run all tests, with the race detector where goroutines share something
# make test-clients   run clients that generators make from the OpenAPI document against a server
# make postman   write bin/donorbook.postman_collection.json, to import into Postman
# make check  the linters and the tests on SQLite, in about a minute: for daily work
# make lint   run the linters that CI runs
# make release   write archives for eight platforms, checksums and a bill of materials into dist
# make image  build the container image donorbook with buildah, podman or docker
# make test-image   build that image with buildah and run it
# make fuzz   run each fuzz target for FUZZTIME, then make oracle; FUZZ=internal/crm runs those below a directory alone
# make oracle   do everything in random orders and compare with a model, CHECKS times on each database; ORACLE=create,edit,merge limits what is done
# make screenshots   take the pictures in docs/screenshots anew, from the demo
# make bench  measure all goals with 1,000,000 contacts and gifts, and write docs/benchmarks.md, in less than 15 minutes; the first time it also makes the data; PEERS=1 measures PocketBase too
# make bench-quick   the same with 100,000 contacts and gifts in less than three minutes; OUT=docs writes the page

FUZZTIME ?= 5s

# Plain go build and go test use the same flags and so the same build cache. A release is built without cgo and with -trimpath: .ci/release.

.PHONY: oracle bin/bench build run check test test-packages test-races test-browser test-clients test-image postman lint release image fuzz bench bench-quick openapi zones screenshots clean

build:
	go build -o bin/donorbook ./cmd/donorbook

run: build
	bin/donorbook serve --demo

# The packages in which goroutines share something. Their tests that work at once are called TestConcurrent... and run with the race detector,
# all others without it. The package web runs with it as a whole: every test of it has a server. The console is left out: its pages share next to nothing.
# So is the command line: what works at once in its servers is the store, the API and the web, and a program that is killed reports no race.
RACY = internal/store/book internal/api internal/db
CONCURRENT = ^TestConcurrent

# make lint runs go vet. The race detector leaves out the code of SQLite, where it would take ten times as long and find nothing of ours:
# two goroutines that use one connection are seen in the package around it.
# What CI starts ends before it needs the memory that it would collect by Go's default: compilers, linters and tests have a fourth less to do.
# Tests that measure the memory of the program start it with its own defaults.
build check test lint fuzz oracle test-clients test-image: export GOGC ?= 1000

GOTEST = go test -vet=off -timeout 20m
RACETEST = $(GOTEST) -race -gcflags=github.com/ncruces/go-sqlite3-wasm/...=-race=false

# The program is built first: tests that start it find it in the build cache. The tests of the repository as a whole come first and
# alone, because they measure the program. Then what takes longest begins first, and more works at once than there are processors, because most
# tests wait now and then: those in the browser for pages, those of the packages for processes and databases.
test: build
	.ci/install gcc libc6-dev curl jq nodejs php-cli php-curl python3 postgresql pgbouncer nginx systemd chromium-headless-shell fonts-liberation
	$(GOTEST) .
	.ci/scratch $(MAKE) --no-print-directory -j3 -O test-browser test-packages test-races test-clients

# Rules, store and doors, without processes, databases and files. Tests on PostgreSQL are called so, or are subtests called postgres.
check: lint
	.ci/scratch $(GOTEST) -skip '$(CONCURRENT)|[Pp]ostgre|/^postgres$$' ./internal/crm/... ./internal/store/... ./internal/api ./internal/console/... ./internal/assistant ./internal/config ./client

test-packages:
	go -C internal/pay/honest test -vet=off ./...
	$(GOTEST) $$(go list ./... | grep -vE '^donorbook$$|/($(subst $() ,|,$(RACY)))$$')
	$(GOTEST) -skip '$(CONCURRENT)' $(addprefix ./,$(RACY))

test-races:
	$(RACETEST) -run '$(CONCURRENT)' $(addprefix ./,$(RACY))
	$(RACETEST) ./internal/web/...

test-browser:
	go -C browser test -vet=off -count=1 -timeout 20m -parallel 4 ./...

test-clients: build
	interop/run

postman:
	interop/install
	gunzip -c internal/api/openapi.json.gz >.cache/openapi.json
	mkdir -p bin
	interop/postman .cache/openapi.json bin/donorbook.postman_collection.json

lint:
	.ci/lint

release:
	.ci/release

image:
	.ci/image

test-image:
	.ci/test-image

fuzz:
	.ci/fuzz $(FUZZTIME) $(FUZZ)
	$(if $(FUZZ),,$(MAKE) --no-print-directory oracle)

CHECKS ?= 200

oracle:
	.ci/scratch $(GOTEST) ./internal/store/book -run TestOracle -v -rapid.checks=$(CHECKS) -rapid.nofailfile

BENCH = bin/bench -postgres $(if $(PEERS),-peers)

# The benchmark must be make's own child, not that of a go run, so that Ctrl-C reaches it.
bin/bench:
	.ci/install postgresql
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o bin/donorbook ./cmd/donorbook # as a release is built
	go build -o $@ ./bench

bench: bin/bench
	$(BENCH) -out $(or $(OUT),docs)

bench-quick: bin/bench
	$(BENCH) -contacts 100000 -rounds 2 -for 350ms -warm 100ms $(if $(OUT),-out $(OUT))

# openapi makes the documents that the program serves, and the types and calls of the Go client, anew. Run it after a change of openapi.yaml, of the table of
# operations or of the page's template.
openapi:
	UPDATE=1 go test ./internal/api -run TestServedDocumentsAreUpToDate

# zones takes over the time zones of the Go that is installed. Run it after a new release of Go.
zones:
	UPDATE=1 go test ./internal/crm/text -run TestTimezonesAreThoseOfGo

screenshots:
	.ci/install chromium-headless-shell fonts-liberation
	SCREENSHOTS=$(CURDIR)/docs/screenshots go -C browser test -count=1 -run TestScreenshots ./...

clean:
	rm -rf bin dist .cache
