# make run    build and serve the demo
# make test   run the tests: in five minutes, with nothing but Go
# make drill  try everything else, which needs time, load, chance or other programs; ONLY=browser,race tries parts, TIMES=50 repeats them,
#             SEED=7 repeats what is drawn by chance, and OUT=docs writes docs/reliability.md
# make test-clients   run clients that generators make from the OpenAPI document against a server
# make postman   write bin/donorbook.postman_collection.json, to import into Postman
# make lint   run the linters that CI runs
# make release   write archives for eight platforms, checksums and a bill of materials into dist
# make image  build the container image donorbook with buildah, podman or docker
# make test-image   build that image with buildah and run it
# make fuzz   run each fuzz target for FUZZTIME; FUZZ=internal/crm runs those below a directory alone
# make oracle   do everything in random orders and compare with a model, CHECKS times on each database; ORACLE=create,edit,merge limits what is done
# make screenshots   take the pictures in docs/screenshots anew, from the demo
# make bench  measure all goals with 1,000,000 contacts and gifts, and write docs/benchmarks.md, in less than 15 minutes; the first time it also makes the data; PEERS=1 measures PocketBase too
# make bench-quick   the same with 100,000 contacts and gifts in less than three minutes; OUT=docs writes the page

FUZZTIME ?= 5s

# Everything is built in one way, the way of a release: without cgo, so that what is compiled does not depend on whether there is a C
# compiler. The race detector alone needs one.
export CGO_ENABLED = 0

.PHONY: oracle bin/bench build run test drill test-clients test-image postman lint release image fuzz bench bench-quick openapi zones screenshots clean

build:
	go build -o bin/donorbook ./cmd/donorbook

run: build
	bin/donorbook serve --demo

# What these start ends before it needs the memory that it would collect by Go's default: a tenth less to do. Tests that measure the
# memory of the program start it with its own defaults.
build test drill lint fuzz oracle test-clients test-image: export GOGC ?= 1000

# The packages that take longest begin first, so that they do not end alone.
test:
	.ci/scratch go test -vet=off -timeout 20m ./internal/store/book ./internal/cli ./internal/console ./internal/api ./internal/db ./...
	@.ci/not-run

drill: build
	go run ./tools/drill $(if $(ONLY),-only $(ONLY)) $(if $(TIMES),-times $(TIMES)) $(if $(SEED),-seed $(SEED)) $(if $(OUT),-out $(OUT))

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

CHECKS ?= 200

oracle:
	.ci/scratch go test -vet=off -timeout 4h -tags drill ./internal/store/book -run ^TestOracle$$ -v -rapid.checks=$(CHECKS) -rapid.nofailfile

BENCH = bin/bench -postgres $(if $(PEERS),-peers)

# The benchmark must be make's own child, not that of a go run, so that Ctrl-C reaches it.
bin/bench:
	.ci/install postgresql
	go build -trimpath -ldflags='-s -w' -o bin/donorbook ./cmd/donorbook # as a release is built
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
	UPDATE=1 go test -tags drill ./internal/crm/text -run TestTimezonesAreThoseOfGo

screenshots:
	.ci/install chromium-headless-shell fonts-liberation
	SCREENSHOTS=$(CURDIR)/docs/screenshots go -C browser test -count=1 -run TestScreenshots ./...

clean:
	rm -rf bin dist .cache
