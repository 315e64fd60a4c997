// Command drivers measures the SQLite libraries that the program could use, on the program's own schema and with its own
// statements. It is built once for each library, by a build tag, so that each works in processes of its own and its size
// shows; built without a tag it has no library, and runs the others by turns.
package main

import (
	"cmp"
	"debug/buildinfo"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// candidate is one library, used in one way.
type candidate struct {
	tag, name, module string
	cgo               bool
	skipped           bool // there is no C compiler
	version           string
	size              int64 // of a static, stripped program with it
	rounds            map[string][]reply
}

var candidates = []*candidate{
	{tag: "ncruces", name: "ncruces, its own interface", module: "github.com/ncruces/go-sqlite3"},
	{tag: "ncruces_sql", name: "ncruces, database/sql", module: "github.com/ncruces/go-sqlite3"},
	{tag: "zombiezen", name: "zombiezen, its own interface", module: "zombiezen.com/go/sqlite"},
	{tag: "modernc", name: "modernc, database/sql", module: "modernc.org/sqlite"},
	{tag: "mattn", name: "mattn, database/sql", module: "github.com/mattn/go-sqlite3", cgo: true},
}

// works are what is measured; the number of a create is how many share a transaction.
var works = []struct{ name, title string }{
	{"get", "point read"}, {"list", "list of 20"}, {"create 100", "create, 100 a transaction"}, {"create 1", "create, 1 a transaction"},
}

// comparison is one run.
type comparison struct {
	dir, program     string
	contacts, rounds int
	measured         time.Duration
	bare             int64 // the size of the program without a library
}

func main() {
	var c comparison
	work := flag.String("work", "", "do this work on a file, and tell what it took (used by the program itself)")
	flag.StringVar(&c.program, "program", "../../bin/donorbook", "the program that makes the schema")
	flag.IntVar(&c.contacts, "contacts", 100_000, "how many contacts the file holds")
	flag.IntVar(&c.rounds, "rounds", 7, "how often each library has its turn")
	flag.DurationVar(&c.measured, "time", 500*time.Millisecond, "how long each piece of work is measured")
	flag.Parse()
	var err error
	if *work != "" {
		err = doWork(flag.Arg(0), *work, c.contacts, c.measured)
	} else {
		err = c.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (c *comparison) run() (err error) {
	if c.dir, err = os.MkdirTemp("", "donorbook-drivers-"); err != nil {
		return err
	}
	defer os.RemoveAll(c.dir) //nolint:errcheck // nothing depends on it
	if err := c.buildAll(); err != nil {
		return err
	}
	if err := c.fill(); err != nil {
		return err
	}
	ready := slices.DeleteFunc(slices.Clone(candidates), func(c *candidate) bool { return c.skipped })
	for round := range c.rounds {
		progress("round %d of %d", round+1, c.rounds)
		for _, w := range works {
			for i := range ready {
				one := ready[(i+round)%len(ready)]
				r, err := c.ask(one.tag, w.name, filepath.Join(c.dir, one.tag+".db"))
				if err != nil {
					return err
				}
				one.rounds[w.name] = append(one.rounds[w.name], r)
			}
		}
	}
	fmt.Print(c.table())
	return nil
}

// ask lets a library do some work in a process of its own.
func (c *comparison) ask(tag, work, file string) (r reply, err error) {
	cmd := exec.Command(filepath.Join(c.dir, "with-"+tag), "-work", work, "-contacts", strconv.Itoa(c.contacts), "-time", c.measured.String(), file)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return r, fmt.Errorf("%s, %s: %w", tag, work, err)
	}
	return r, json.Unmarshal(out, &r)
}

// buildAll builds this program with each library, and without any.
func (c *comparison) buildAll() error {
	product, err := buildinfo.ReadFile(c.program)
	if err != nil {
		return fmt.Errorf("%w (make build makes it)", err)
	}
	_, noCompiler := exec.LookPath(cmp.Or(os.Getenv("CC"), "gcc"))
	bare := &candidate{tag: "nothing"}
	for _, one := range append([]*candidate{bare}, candidates...) {
		if one.skipped = one.cgo && noCompiler != nil; one.skipped {
			continue
		}
		progress("building with %s", one.tag)
		if err := one.build(filepath.Join(c.dir, "with-"+one.tag)); err != nil {
			return err
		}
		if used := versionIn(product, one.module); used != "" && used != one.version {
			return fmt.Errorf("%s: the program uses %s, and go.mod here says %s", one.module, used, one.version)
		}
	}
	c.bare = bare.size
	return nil
}

// build makes a static, stripped program, as the product is.
func (one *candidate) build(path string) error {
	flags, enabled := "-s -w", "0"
	if one.cgo {
		flags, enabled = "-s -w -linkmode external -extldflags -static", "1"
	}
	cmd := exec.Command("go", "build", "-trimpath", "-tags", one.tag+",netgo,osusergo,sqlite_omit_load_extension", "-ldflags", flags, "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED="+enabled)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build with %s: %w\n%s", one.tag, err, out)
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}
	stat, err := os.Stat(path)
	if err != nil {
		return err
	}
	one.version, one.size, one.rounds = versionIn(info, one.module), stat.Size(), make(map[string][]reply)
	return nil
}

func versionIn(info *buildinfo.BuildInfo, module string) string {
	for _, dep := range info.Deps {
		if dep.Path == module {
			return dep.Version
		}
	}
	return ""
}

// fill lets the program make the schema, fills it once, and gives each library a copy.
func (c *comparison) fill() error {
	if out, err := exec.Command(c.program, "--data", c.dir, "account", "create", "--name", "Drivers").CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", c.program, err, out)
	}
	progress("filling %d contacts", c.contacts)
	full := filepath.Join(c.dir, "donorbook.db")
	if _, err := c.ask("ncruces", "fill", full); err != nil {
		return err
	}
	for _, one := range candidates {
		if err := copyFile(full, filepath.Join(c.dir, one.tag+".db")); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // it is only read
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return cmp.Or(err, out.Close())
}

// table is what was measured, in markdown.
func (c *comparison) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d contacts, %d rounds; CPU µs an operation, × the first row in the same round: median [min..max].\n\n", c.contacts, c.rounds)
	b.WriteString("| library | cgo |")
	for _, w := range works {
		fmt.Fprintf(&b, " %s |", w.title)
	}
	b.WriteString(" Go heap, a point read | binary |\n|---|---|" + strings.Repeat("---|", len(works)+2) + "\n")
	for _, one := range candidates {
		fmt.Fprintf(&b, "| %s %s | %s |", one.name, one.version, map[bool]string{false: "no", true: "**needed**"}[one.cgo])
		if one.skipped {
			fmt.Fprintf(&b, " not measured: no C compiler |%s\n", strings.Repeat(" |", len(works)+1))
			continue
		}
		for _, w := range works {
			mine, first := one.rounds[w.name], candidates[0].rounds[w.name]
			fmt.Fprintf(&b, " %s, %s× |", spread(mine, nil, 1), spread(mine, first, 2))
		}
		get := one.rounds["get"][0]
		fmt.Fprintf(&b, " %.0f B in %.0f | +%.1f MB |\n", get.Bytes, get.Mallocs, float64(one.size-c.bare)/1e6)
	}
	fmt.Fprintf(&b, "\nThe program without any of them has %.1f MB. What a library keeps outside of Go's heap does not show.\n", float64(c.bare)/1e6)
	return b.String()
}

// spread is the median of the CPU time, with the least and the most; divided, round by round, by another's where there is one.
func spread(rounds, by []reply, digits int) string {
	var values []float64
	for i, r := range rounds {
		if by != nil {
			r.CPU /= by[i].CPU
		}
		values = append(values, r.CPU)
	}
	slices.Sort(values)
	return fmt.Sprintf("%.*f [%.*f..%.*f]", digits, values[len(values)/2], digits, values[0], digits, values[len(values)-1])
}

func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
