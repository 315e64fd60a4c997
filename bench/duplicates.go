package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm/crmtest"
)

// duplicates measures the finder of duplicates on a file of contacts that tells who is who, or on made-up households:
//
//	bin/bench duplicates [FILE.csv]
//
// The columns are crmtest.HouseholdColumns. All rows become contacts of an empty account, and the shipped program says which
// ones are the same person.
func duplicates(args []string) {
	o := options{program: "bin/donorbook", cache: os.TempDir()}
	if text := os.Getenv("DONORBOOK"); text != "" {
		o.program = text
	}
	b, rows := newBench(o), readLabeled(args)
	defer b.close()
	d, file := &dataset{dir: filepath.Join(b.tmp, "data")}, filepath.Join(b.tmp, "people.csv")
	d.addAccounts(size{1, 0})
	a := d.Accounts[0]
	check(os.WriteFile(file, forImport(rows), 0o600))
	told := output(b.program, "--data", d.dir, "contact", "import", "--account", a.ID, "--force-create", "--json", file)
	if !strings.Contains(told, fmt.Sprintf(`"created": %d,`, len(rows))) {
		fail("not every row has become a contact: %s", told)
	}
	started := time.Now()
	told = output(b.program, "--data", d.dir, "contact", "duplicates", "--account", a.ID, "--csv")
	fmt.Printf("%d contacts, looked through in %.1f s\n", len(rows), time.Since(started).Seconds())
	found := make(map[[2]int]string) // the level of a pair of rows
	for _, pair := range must(csv.NewReader(strings.NewReader(told)).ReadAll())[1:] {
		one := int(must(strconv.ParseInt(pair[0], 10, 64)) - a.id(0))
		other := int(must(strconv.ParseInt(pair[1], 10, 64)) - a.id(0))
		found[[2]int{min(one, other), max(one, other)}] = pair[3]
	}
	judge(rows, found)
}

// labeled is a row of the file by the names of its columns.
type labeled map[string]string

func readLabeled(args []string) (rows []labeled) {
	text := []byte(crmtest.HouseholdColumns + "\n")
	if len(args) > 0 {
		text = must(os.ReadFile(args[0]))
	}
	all := must(csv.NewReader(bytes.NewReader(text)).ReadAll())
	if len(args) == 0 {
		for row := range crmtest.Households(33, 12_000) {
			all = append(all, row[:])
		}
	}
	for _, cells := range all[1:] {
		row := make(labeled)
		for i, name := range all[0] {
			row[name] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, row)
	}
	return rows
}

// forImport is what the program is told of the rows.
func forImport(rows []labeled) []byte {
	var file bytes.Buffer
	w := csv.NewWriter(&file)
	names := strings.Split(crmtest.HouseholdColumns, ",")[2:]
	check(w.Write(names))
	for _, row := range rows {
		var cells []string
		for _, name := range names {
			cell := row[name]
			if _, err := time.Parse(time.DateOnly, cell); name == "dob" && err != nil {
				cell = ""
			} else if cell == "" && (name == "first_name" || name == "last_name") {
				cell = "Unknown"
			}
			cells = append(cells, cell)
		}
		check(w.Write(cells))
	}
	w.Flush()
	return file.Bytes()
}

// tally counts what is right.
type tally struct{ right, all float64 }

func (t *tally) count(right bool) {
	if t.all++; right {
		t.right++
	}
}

func (t *tally) part() float64 { return t.right / max(1, t.all) }

// pairsIn are the pairs within each of several sets.
func pairsIn[K comparable](sets map[K][]int) iter.Seq[[2]int] {
	return func(yield func([2]int) bool) {
		for _, set := range sets {
			for x, i := range set {
				for _, j := range set[x+1:] {
					if !yield([2]int{i, j}) {
						return
					}
				}
			}
		}
	}
}

// judge says how good the pairs are that were found, and how good the groups that they make: one is right where it has all rows
// of a person and no other. Groups of one row do not count.
func judge(rows []labeled, found map[[2]int]string) {
	isSame := func(pair [2]int) bool { return rows[pair[0]]["cluster_id"] == rows[pair[1]]["cluster_id"] }
	var pairs, recall, told, grouped, exact tally
	byLevel := map[string]*tally{"sure": {}, "likely": {}, "possible": {}}
	leaders := make(map[int]int)
	leader := func(i int) int {
		for leaders[i] != i {
			i = leaders[i]
		}
		return i
	}
	for i := range rows {
		leaders[i] = i
	}
	for pair, level := range found {
		pairs.count(isSame(pair))
		byLevel[level].count(isSame(pair))
		leaders[leader(pair[0])] = leader(pair[1])
	}
	people, groups := make(map[string][]int), make(map[int][]int)
	for i, row := range rows {
		people[row["cluster_id"]] = append(people[row["cluster_id"]], i)
		groups[leader(i)] = append(groups[leader(i)], i)
	}
	for pair := range pairsIn(people) {
		_, isFound := found[pair]
		recall.count(isFound)
		if sharesSomething(rows[pair[0]], rows[pair[1]]) {
			told.count(isFound)
		}
	}
	for pair := range pairsIn(groups) {
		grouped.count(isSame(pair))
	}
	alone := func(_ int, group []int) bool { return len(group) < 2 }
	maps.DeleteFunc(groups, alone)
	for _, group := range groups {
		exact.count(slices.Equal(group, people[rows[group[0]]["cluster_id"]]))
	}
	maps.DeleteFunc(people, func(_ string, rows []int) bool { return alone(0, rows) })
	fmt.Printf("pairs: precision %.4f, recall %.4f (%.0f found, %.0f true)\n", pairs.part(), recall.part(), pairs.all, recall.all)
	fmt.Printf("pairs that share an email, phone, birth date, or house number with ZIP: recall %.4f of %.0f\n", told.part(), told.all)
	sum := 0.0
	for _, level := range []string{"sure", "likely", "possible"} {
		sum += byLevel[level].right
		fmt.Printf("%-9s precision %.4f of %.0f; recall with the levels above it %.4f\n",
			level+":", byLevel[level].part(), byLevel[level].all, sum/max(1, recall.all))
	}
	fmt.Printf("groups: precision %.4f, recall %.4f of the pairs in them; "+
		"%.0f of %.0f are exactly one person, of %d people with several contacts\n",
		grouped.part(), grouped.right/max(1, recall.all), exact.right, exact.all, len(people))
}

var digits = regexp.MustCompile(`\d+`)

// sharesSomething tells whether two rows share an email, a phone, the birth date, or the number of the house with the ZIP code.
func sharesSomething(a, b labeled) bool {
	same := func(name string, normal func(string) string) bool {
		return a[name] != "" && normal(a[name]) != "" && normal(a[name]) == normal(b[name])
	}
	phone := func(text string) string {
		all := strings.Join(digits.FindAllString(text, -1), "")
		return all[max(0, len(all)-10):]
	}
	return same("email", strings.ToLower) || same("phone", phone) || same("dob", strings.TrimSpace) ||
		same("zipcode", strings.TrimSpace) && same("address_1", digits.FindString)
}
