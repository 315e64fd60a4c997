package cli

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"donorbook/internal/store"
	"donorbook/internal/store/book"
)

// TestDuplicates: the command and the API list the same pairs, and a merge of all sure ones goes on after kill -9 and leaves no half merge.
func TestDuplicates(t *testing.T) { eachEngine(t, listAndMergeDuplicates) }

func listAndMergeDuplicates(t *testing.T, e engine) {
	const pairs = 60
	data := e.data(t)
	account, key := newKey(t, data)
	p := serve(t, data)
	for i := range pairs {
		name := fmt.Sprintf("%c%c%c%cson", 'B'+i%7, "aeiou"[i%5], 'b'+i/7, "aeiou"[i/5%5])
		for range 2 {
			a := p.call(key, http.StatusCreated, "POST", "/v1/contacts?force_create=true",
				fmt.Sprintf(`{"first_name":"Pat%c","last_name":%q,"emails":["x%d@p%d.example"],"phones":["+1%d5550%d"],"dob":"%d/%d/19%d"}`, 'a'+i%20, name, i*i*37, i, 201+i*7, 100+i, 1+i%12, 1+i%28, 20+i))
			id := decode[struct{ ID int64 }](t, a.body).ID
			p.call(key, http.StatusCreated, "POST", "/v1/transactions", fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"cash","transacted_at":"2026-01-31"}`, id))
		}
	}
	p.stop()
	args := []string{"--data", data}
	if url := databaseOf(data); url != "" {
		args = append(args, "--database", url)
	}
	run := func(command ...string) string { return result(t, append(command, args...)...) }
	rows, err := csv.NewReader(strings.NewReader(run("contact", "duplicates", "--account", account, "--csv", "--level", "certain"))).ReadAll()
	if err != nil || len(rows) != 1+pairs || strings.Join(rows[0], ",") != "contact_id_a,contact_id_b,probability,level,reasons" || rows[1][3] != "sure" || !strings.Contains(rows[1][4], "same phone") {
		t.Fatalf("%v: the command lists %d rows, first %q", err, len(rows), rows[:min(2, len(rows))])
	}
	mergeSure(t, data, account)

	total := func(list string) int64 {
		a := p.call(key, http.StatusOK, "GET", "/v1/"+list+"?per_page=1", "")
		return decode[struct{ Meta struct{ Total int64 } }](t, a.body).Meta.Total
	}
	p = serve(t, data)
	p.waitFor("some merges", func() bool { return total("merges") > pairs/10 })
	p.kill()
	p = serve(t, data)
	t.Logf("%d of %d merges were done before the end", total("merges"), pairs)
	p.waitFor("all merges", func() bool { return total("merges") == pairs })
	if left, gifts := total("duplicates"), total("transactions"); left != 0 || gifts != 2*pairs {
		t.Errorf("%d pairs are left, and %d gifts", left, gifts)
	}
	p.stop()
	run("check")
	if left := run("contact", "duplicates", "--account", account); left != "" {
		t.Errorf("left are %s", left)
	}
}

// mergeSure begins to merge all pairs that are sure, as the console does.
func mergeSure(t *testing.T, data, account string) {
	s := must(book.Open(t.Context(), store.Options{Data: data, Database: databaseOf(data)}))(t)
	defer s.Close() //nolint:errcheck // what it has written is on disk
	found, err := s.Account(t.Context(), account)
	if err == nil {
		_, err = s.MergeSure(t.Context(), found.Number, "US", nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}
