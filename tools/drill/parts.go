package main

// A part of the drill tries one promise.
type part struct {
	name, promise string
	needs         []string // names of programs
	steps         []step
}

// step is a command of a part.
type step struct {
	args []string
	env  string // a variable
}

func test(args ...string) step {
	return step{args: append([]string{"go", "test", "-json", "-vet=off", "-count=1", "-tags=drill", "-timeout=60m"}, args...)}
}

func onPostgres(packages ...string) step {
	s := test(packages...)
	s.env = "DONORBOOK_ENGINE=postgres"
	return s
}

func raced(args ...string) step {
	s := test(append([]string{"-race", "-gcflags=github.com/ncruces/go-sqlite3-wasm/...=-race=false"}, args...)...)
	s.env = "CGO_ENABLED=1"
	return s
}

// parts are all that make test has no time for or that needs other programs, those first that find most.
//
// The race detector leaves out the code of SQLite, where it would take ten times as long and find nothing of ours: two goroutines
// that use one connection are seen in the package around it. The console and the command line are left out: their pages and
// commands share next to nothing, and what works at once in their servers is the store, the API and the web.
var parts = []part{
	{"postgres", "Everything that make test tries on SQLite works the same on PostgreSQL", []string{"postgres"}, []step{
		onPostgres("./internal/store/...", "./internal/api", "./internal/assistant"),
	}},
	{"race", "What happens at the same time does not get mixed up", []string{"postgres", "gcc"}, []step{
		raced("-run=^TestConcurrent", "./internal/store/book", "./internal/api", "./internal/db"),
		raced("./internal/web/..."),
	}},
	{"browser", "The pages work in a browser: with the keyboard, without scripts, on a phone, for everyone", []string{"chromium"}, []step{
		{args: []string{"go", "-C", "browser", "test", "-json", "-vet=off", "-count=1", "-timeout=30m", "-parallel=4", "./..."}},
	}},
	{"outages", "A database that fails, is replaced or stands behind a pooler loses no write that was answered",
		[]string{"postgres", "pgbouncer"}, []step{test("./internal/db", "./internal/pgtest")}},
	{"kills", "A program that is killed at any moment loses no write that was answered, and does nothing twice", []string{"postgres"},
		[]step{test("./internal/cli")}},
	{"nodes", "Nodes behind nginx start, stop and are replaced while clients go on", []string{"postgres", "nginx", "systemd-analyze"},
		[]step{test("./deploy")}},
	{"attacks", "Strangers and careless clients neither fill the memory nor delay others", nil,
		[]step{test("-run=Attack|Hostile|CostLittle|LeaveNothing|DelaysNobody", ".")}},
	{"cost", "No operation and no page costs more than it is worth, with 100,000 records and the longest texts", nil,
		[]step{test("-run=TestWhatEachRequestCostsAtItsWorst", ".")}},
	{"documents", "Every command of the README, of the tour of the API and of the client pages does what they say",
		[]string{"curl", "jq", "python3", "node", "php"}, []step{test("-run=Readme|ClientPages", ".")}},
	{"rules", "The rules hold for many inputs that nobody has chosen", nil,
		[]step{test("./internal/crm/...", "./internal/table", "./internal/pdf", "./internal/demo", "./internal/pay", "./client")}},
	{"platforms", "The program is small, and right for Windows, macOS and FreeBSD", nil,
		[]step{test("-run=Program", "."), test("./bench")}},
	{"clients", "Clients that other people's tools make from the OpenAPI document work", []string{"node", "npm", "curl"},
		[]step{{args: []string{"make", "--no-print-directory", "test-clients"}}}},
	{"stripe", "The Stripe of the tests answers as Stripe's own description says", nil,
		[]step{{args: []string{"go", "-C", "internal/pay/honest", "test", "-json", "-vet=off", "-count=1", "./..."}}}},
	{"oracle", "Random sequences of everything that people do agree with a model, on both databases", []string{"postgres"}, []step{
		test("-run=^TestOracle$", "./internal/store/book", "-rapid.checks=200"),
	}},
	{"fuzz", "No input of a parser ends the program", nil, []step{{args: []string{".ci/fuzz", "5s"}}}},
	{"container", "The container image starts, is healthy, stops and belongs to nobody's root", []string{"buildah", "jq", "curl"},
		[]step{{args: []string{".ci/test-image"}}}},
}

// A program is one that a part needs, the command that tells its version, and the Debian packages that have it.
type program struct {
	version  []string
	packages string
}

var programs = map[string]program{
	"postgres":        {[]string{"sh", "-c", "$(ls /usr/lib/postgresql/*/bin/initdb | sort -V | tail -n 1) --version"}, "postgresql"},
	"pgbouncer":       {[]string{"/usr/sbin/pgbouncer", "--version"}, "pgbouncer"},
	"nginx":           {[]string{"/usr/sbin/nginx", "-v"}, "nginx"},
	"systemd-analyze": {[]string{"systemd-analyze", "--version"}, "systemd"},
	"gcc":             {[]string{"gcc", "--version"}, "gcc libc6-dev"},
	"chromium":        {[]string{"sh", "-c", "chromium-headless-shell --version || chromium --version"}, "chromium-headless-shell fonts-liberation"},
	"curl":            {[]string{"curl", "--version"}, "curl"},
	"jq":              {[]string{"jq", "--version"}, "jq"},
	"python3":         {[]string{"python3", "--version"}, "python3"},
	"node": {[]string{"node", "-e",
		"const [a, b] = process.versions.node.split('.'); if (a < 20 || a == 20 && b < 19) process.exit(1); console.log('Node.js ' + process.version)"},
		"nodejs (20.19 or newer)"},
	"npm":     {[]string{"npm", "--version"}, "npm"},
	"php":     {[]string{"sh", "-c", "php -r 'exit(extension_loaded(\"curl\") ? 0 : 1);' && php --version"}, "php-cli php-curl"},
	"buildah": {[]string{"buildah", "--version"}, "buildah"},
}
