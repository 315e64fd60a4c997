// Drill tries what make test has no time for, or what needs other programs: make drill. It looks for all programs before it starts,
// says what each part has tried, and ends with a table, which OUT=docs writes to docs/reliability.md.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"
)

//go:embed page.md.tmpl
var page string

// outcome is what became of a part.
type outcome struct {
	Promise, Name         string
	Passed, Times, failed int // Passed are the tests of all rounds
	took                  time.Duration
	log                   bytes.Buffer
}

func main() {
	only := flag.String("only", "", "the parts to try, separated by commas")
	times := flag.Int("times", 1, "how often")
	out := flag.String("out", "", "the directory to write the page into")
	seed := flag.Uint64("seed", rand.Uint64N(1e9)+1, "where chance begins")
	packages := flag.Bool("packages", false, "print the Debian packages that the parts need, and end")
	flag.Parse()
	chosen, err := choose(*only)
	if err == nil && *packages {
		fmt.Println(strings.Join(needed(chosen), " "))
		return
	}
	if err == nil {
		err = drill(chosen, *times, *seed, *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "drill:", err)
		os.Exit(1)
	}
}

func choose(only string) (chosen []part, err error) {
	if only == "" {
		return parts, nil
	}
	for name := range strings.SplitSeq(only, ",") {
		at := slices.IndexFunc(parts, func(p part) bool { return p.name == name })
		if at < 0 {
			var names []string
			for _, p := range parts {
				names = append(names, p.name)
			}
			return nil, fmt.Errorf("there is no part %q: the parts are %s", name, strings.Join(names, ", "))
		}
		chosen = append(chosen, parts[at])
	}
	return chosen, nil
}

// needed are the Debian packages of the parts, without what is said about them.
func needed(chosen []part) (names []string) {
	for _, p := range chosen {
		for _, need := range p.needs {
			list, _, _ := strings.Cut(programs[need].packages, " (")
			names = append(names, strings.Fields(list)...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func drill(chosen []part, times int, seed uint64, out string) error {
	if err := lookFor(chosen); err != nil {
		return err
	}
	fmt.Printf("The seed is %d: SEED=%d repeats what is drawn by chance.\n", seed, seed)
	var outcomes []*outcome
	failed := 0
	for _, p := range chosen {
		o := &outcome{Promise: p.promise, Name: p.name}
		for range times {
			o.try(p, seed+uint64(o.Times))
		}
		outcomes = append(outcomes, o)
		fmt.Printf("%-10s %-60s %s\n", o.Name, o.Result(), o.Took())
		if o.failed > 0 {
			failed++
			fmt.Println(o.log.String())
		}
	}
	told := table(outcomes, seed)
	fmt.Print("\n", told)
	if failed > 0 {
		return fmt.Errorf("%d of %d parts failed", failed, len(chosen))
	}
	if out == "" {
		return nil
	}
	if len(chosen) < len(parts) {
		return fmt.Errorf("the page is of all parts: leave out ONLY")
	}
	return os.WriteFile(filepath.Join(out, "reliability.md"), []byte(told), 0o644)
}

// lookFor lists the programs that the parts need, with their versions, and fails if one is missing.
func lookFor(chosen []part) error {
	wanted := map[string]bool{}
	for _, p := range chosen {
		for _, need := range p.needs {
			wanted[need] = true
		}
	}
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		version := programs[name].version
		told, err := exec.Command(version[0], version[1:]...).CombinedOutput()
		line, _, _ := strings.Cut(strings.TrimSpace(string(told)), "\n")
		if err != nil || line == "" {
			missing = append(missing, programs[name].packages)
			line = "missing"
		}
		fmt.Printf("%-16s %s\n", name, line)
	}
	if len(missing) > 0 {
		return fmt.Errorf("nothing was started, because programs are missing: apt-get install %s", strings.Join(missing, " "))
	}
	return nil
}

// try runs the steps of a part once.
func (o *outcome) try(p part, seed uint64) {
	begun := time.Now()
	for _, s := range p.steps {
		cmd := exec.Command(".ci/scratch", s.args...)
		cmd.Env = append(os.Environ(), "DONORBOOK_SEED="+strconv.FormatUint(seed, 10))
		if s.env != "" {
			cmd.Env = append(cmd.Env, s.env)
		}
		var complaints bytes.Buffer
		cmd.Stderr = &complaints
		printed, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err == nil {
			o.read(printed)
			err = cmd.Wait()
		}
		if err != nil {
			o.log.Write(complaints.Bytes())
			o.failed = max(o.failed, 1)
			fmt.Fprintf(&o.log, "%s: %v\n", strings.Join(s.args, " "), err)
		}
	}
	o.Times++
	o.took += time.Since(begun)
}

// event is a line of go test -json.
type event struct{ Action, Package, Test, Output string }

// read counts the tests of a step, and keeps what it prints: of tests, that of those that failed alone.
func (o *outcome) read(printed io.Reader) {
	lines := bufio.NewReader(printed)
	said := map[string]*strings.Builder{}
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if json.Unmarshal(line, &e) != nil || e.Action == "" {
			o.log.Write(line)
		} else {
			name := e.Package + " " + e.Test
			switch e.Action {
			case "output":
				if said[name] == nil {
					said[name] = &strings.Builder{}
				}
				said[name].WriteString(e.Output)
			case "pass":
				if e.Test != "" {
					o.Passed++
				}
				delete(said, name)
			case "fail":
				o.failed++
				if said[name] != nil {
					o.log.WriteString(said[name].String())
				}
			case "skip":
				if e.Test != "" { // nothing that the drill promises is left out
					o.failed++
					fmt.Fprintf(&o.log, "%s was not tried:\n%s", name, said[name])
				}
			}
		}
		if err != nil {
			return
		}
	}
}

// Result is what the table says of a part.
func (o *outcome) Result() string {
	switch {
	case o.failed > 0:
		return fmt.Sprintf("**failed** (%d tests passed)", o.Passed)
	case o.Passed > 0:
		return fmt.Sprintf("%d tests passed", o.Passed)
	}
	return "passed"
}

func (o *outcome) Took() time.Duration { return o.took.Round(time.Second) }

func table(outcomes []*outcome, seed uint64) string {
	system, _ := exec.Command("sh", "-c", ". /etc/os-release; echo $PRETTY_NAME").Output()
	cores, _ := exec.Command("nproc").Output()
	version, _ := exec.Command("go", "env", "GOVERSION").Output()
	total := time.Duration(0)
	for _, o := range outcomes {
		total += o.took
	}
	var b strings.Builder
	err := template.Must(template.New("page").Parse(page)).Execute(&b, map[string]any{
		"Parts": outcomes, "Seed": seed, "Day": time.Now().UTC().Format(time.DateOnly), "Took": total.Round(time.Minute),
		"System": cmp.Or(strings.TrimSpace(string(system)), "an unknown system"), "Cores": strings.TrimSpace(string(cores)),
		"Go": strings.TrimSpace(string(version)),
	})
	if err != nil {
		panic(err) // the template is ours
	}
	return b.String()
}
