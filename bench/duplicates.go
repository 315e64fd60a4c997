package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"donorbook/internal/crm/crmtest"
)

// duplicates measures the finder of duplicates on a file of contacts that tells who is who, or on made-up households:
//
//	bin/bench duplicates [FILE.csv]
//
// The columns are rec_id, cluster_id, first_name, middle_name, last_name, email, phone, address_1, city, state, zipcode, country, dob, company. All rows become contacts of an empty account, by the API with
// force_create, and the shipped program says which ones are the same person.
func duplicates(args []string) {
	program, dir := "bin/donorbook", must(os.MkdirTemp("", "duplicates"))
	defer os.RemoveAll(dir) //nolint:errcheck // it is in the directory for such things
	if text := os.Getenv("DONORBOOK"); text != "" {
		program = text
	}
	rows := readLabeled(args)
	output := func(args ...string) string {
		cmd := exec.Command(program, append([]string{"--data", dir}, args...)...)
		cmd.Stderr = os.Stderr
		return string(must(cmd.Output()))
	}
	account := strings.TrimSpace(output("account", "create", "--name", "Duplicates"))
	key := strings.TrimSpace(output("key", "create", "--account", account, "--name", "bench"))
	address := freeAddress()
	server := exec.Command(program, "--data", dir, "serve", "--tls", "off", "--rate-limit", "0", "--listen", address)
	log := must(os.Create(filepath.Join(dir, "log")))
	defer log.Close() //nolint:errcheck // the process has its own
	server.Stdout, server.Stderr, server.SysProcAttr = log, log, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	check(server.Start())
	ids := loadLabeled("http://"+address, key, rows)
	check(server.Process.Signal(syscall.SIGTERM))
	_ = server.Wait()
	started := time.Now()
	found := must(csv.NewReader(strings.NewReader(output("contact", "duplicates", "--account", account, "--csv"))).ReadAll())
	fmt.Printf("%d contacts, looked through in %.1f s\n", len(rows), time.Since(started).Seconds())
	judge(rows, ids, found[1:])
}

// labeled is a row of the file by the names of its columns.
type labeled map[string]string

func readLabeled(args []string) (rows []labeled) {
	names := strings.Split("rec_id,cluster_id,first_name,middle_name,last_name,email,phone,address_1,city,state,zipcode,country,dob,company", ",")
	add := func(cells []string) {
		row := make(labeled)
		for i, name := range names {
			row[name] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, row)
	}
	if len(args) == 0 {
		for row := range crmtest.Households(33, 12_000) {
			add(append(slices.Clone(row[:]), "", "")[:len(names)])
		}
		return rows
	}
	file := must(os.Open(args[0]))
	defer file.Close() //nolint:errcheck // it was only read
	all := must(csv.NewReader(file).ReadAll())
	names = all[0]
	for _, cells := range all[1:] {
		add(cells)
	}
	return rows
}

// loadLabeled makes a contact of each row, and tells which row became which contact.
func loadLabeled(address, key string, rows []labeled) map[int64]int {
	client := &http.Client{Timeout: time.Minute}
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(20 * time.Millisecond) {
		if answer, err := client.Get(address + "/healthz"); err == nil {
			_ = answer.Body.Close()
			break
		}
	}
	ids := make([]int64, len(rows))
	work := make(chan int)
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for i := range work {
				ids[i] = loadRow(client, address, key, contactOf(rows[i]))
			}
		})
	}
	for i := range rows {
		work <- i
	}
	close(work)
	workers.Wait()
	by := make(map[int64]int)
	for i, id := range ids {
		by[id] = i
	}
	return by
}

func contactOf(row labeled) map[string]any {
	c := map[string]any{"first_name": row["first_name"], "last_name": row["last_name"]}
	for _, name := range []string{"first_name", "last_name"} {
		if c[name] == "" {
			c[name] = "Unknown"
		}
	}
	for _, name := range []string{"middle_name", "company"} {
		if row[name] != "" {
			c[name] = row[name]
		}
	}
	if row["email"] != "" {
		c["emails"] = []any{map[string]any{"value": row["email"]}}
	}
	if row["phone"] != "" {
		c["phones"] = []any{map[string]any{"value": row["phone"]}}
	}
	place := make(map[string]any)
	for _, name := range []string{"address_1", "city", "state", "zipcode", "country"} {
		if row[name] != "" {
			place[name] = row[name]
		}
	}
	if len(place) > 0 {
		c["addresses"] = []any{place}
	}
	if born, err := time.Parse(time.DateOnly, row["dob"]); err == nil {
		c["dob"] = born.Format("1/2/2006")
	}
	return c
}

// refusedPath is a field that an answer names.
var refusedPath = regexp.MustCompile(`"((?:emails|phones|addresses)\.\d+[a-z_0-9.]*|[a-z_]+)":\s*\[`)

// loadRow makes a contact. Values that are refused are left out, one after the other.
func loadRow(client *http.Client, address, key string, c map[string]any) int64 {
	for range 12 {
		request := must(http.NewRequest("POST", address+"/v1/contacts?force_create=true", bytes.NewReader(must(json.Marshal(c)))))
		request.Header.Set("Authorization", "Bearer "+key)
		request.Header.Set("Content-Type", "application/json")
		answer := must(client.Do(request))
		body := must(io.ReadAll(answer.Body))
		_ = answer.Body.Close()
		if answer.StatusCode/100 == 2 {
			var made struct {
				Data struct{ ID int64 }
				ID   int64
			}
			check(json.Unmarshal(body, &made))
			return max(made.ID, made.Data.ID)
		}
		path := refusedPath.FindAllStringSubmatch(string(body), -1)
		if answer.StatusCode != http.StatusUnprocessableEntity || len(path) == 0 {
			fail("status %d: %s", answer.StatusCode, body)
		}
		leaveOut(c, strings.Split(path[len(path)-1][1], "."))
	}
	panic("a row that is refused without an end")
}

func leaveOut(c map[string]any, path []string) {
	if list, isList := c[path[0]].([]any); isList && len(path) > 2 && path[2] != "value" {
		delete(list[0].(map[string]any), path[2])
		return
	}
	delete(c, path[0])
}

// judge says how good the pairs are that were found, and how good the groups that they make.
func judge(rows []labeled, ids map[int64]int, found [][]string) {
	type tally struct{ right, all float64 }
	ratio := func(t tally) float64 { return t.right / max(1, t.all) }
	byLevel := map[string]*tally{"sure": {}, "likely": {}, "possible": {}}
	hit, pairs := make(map[[2]int]bool), tally{}
	group := make([]int, len(rows))
	for i := range group {
		group[i] = i
	}
	var leader func(i int) int
	leader = func(i int) int {
		if group[i] != i {
			group[i] = leader(group[i])
		}
		return group[i]
	}
	for _, pair := range found {
		a, b := ids[must(strconv.ParseInt(pair[0], 10, 64))], ids[must(strconv.ParseInt(pair[1], 10, 64))]
		hit[[2]int{min(a, b), max(a, b)}] = true
		for _, t := range []*tally{&pairs, byLevel[pair[3]]} {
			if t.all++; rows[a]["cluster_id"] == rows[b]["cluster_id"] {
				t.right++
			}
		}
		group[leader(a)] = leader(b)
	}
	recall, told := tally{}, tally{}
	people, groups := make(map[string][]int), make(map[int][]int)
	for i, row := range rows {
		people[row["cluster_id"]] = append(people[row["cluster_id"]], i)
		groups[leader(i)] = append(groups[leader(i)], i)
	}
	for _, same := range people {
		for x, i := range same {
			for _, j := range same[x+1:] {
				t := []*tally{&recall}
				if sharesSomething(rows[i], rows[j]) {
					t = append(t, &told)
				}
				for _, t := range t {
					if t.all++; hit[[2]int{min(i, j), max(i, j)}] {
						t.right++
					}
				}
			}
		}
	}
	fmt.Printf("pairs: precision %.4f, recall %.4f (%.0f found, %.0f true)\n", ratio(pairs), ratio(recall), pairs.all, recall.all)
	fmt.Printf("pairs that share an email, phone, birth date, or house number with ZIP: recall %.4f of %.0f\n", ratio(told), told.all)
	sum := 0.0
	for _, level := range []string{"sure", "likely", "possible"} {
		sum += byLevel[level].right
		fmt.Printf("%-9s precision %.4f of %.0f; recall with the levels above it %.4f\n", level+":", ratio(*byLevel[level]), byLevel[level].all, sum/max(1, recall.all))
	}
	judgeGroups(rows, people, groups)
}

// judgeGroups says how good the groups are: one is right where it has all rows of a person and no other. Those of one row do not count.
func judgeGroups(rows []labeled, people map[string][]int, groups map[int][]int) {
	right, all, wanted := 0.0, 0.0, 0.0
	inGroups, ofPeople := 0.0, 0.0 // pairs within groups, and those of one person among them
	for _, g := range groups {
		for x, i := range g {
			for _, j := range g[x+1:] {
				if inGroups++; rows[i]["cluster_id"] == rows[j]["cluster_id"] {
					ofPeople++
				}
			}
		}
		if len(g) > 1 {
			all++
			if same := people[rows[g[0]]["cluster_id"]]; len(same) == len(g) && !slices.ContainsFunc(g, func(i int) bool { return rows[i]["cluster_id"] != rows[g[0]]["cluster_id"] }) {
				right++
			}
		}
	}
	truePairs := 0.0
	for _, same := range people {
		if truePairs += float64(len(same)*(len(same)-1)) / 2; len(same) > 1 {
			wanted++
		}
	}
	fmt.Printf("groups: precision %.4f, recall %.4f of the pairs in them; %.0f of %.0f are exactly one person, of %.0f people with several contacts\n", ofPeople/max(1, inGroups), ofPeople/max(1, truePairs), right, all, wanted)
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
	return same("email", strings.ToLower) || same("phone", phone) || same("dob", strings.TrimSpace) || same("zipcode", strings.TrimSpace) && same("address_1", digits.FindString)
}
