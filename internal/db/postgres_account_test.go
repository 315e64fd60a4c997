//go:build drill

package db_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/find"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
)

// On several machines, the rows of an account are together on one of them. A statement that names its account goes there; any
// other statement goes to all machines, or cannot run at all. The move of an account does not wait for a lock that writes
// nothing, and a distributed planner cannot forward a LATERAL.

var (
	tableNamed    = regexp.MustCompile(`\b(?i:FROM|JOIN|INTO|UPDATE)\s+(\w+)(?:\s+AS)?(?:\s+([a-z]\w*))?`)
	accountNamed  = regexp.MustCompile(`\b(\w+\.)?account_id = \$1\b`)
	accountJoined = regexp.MustCompile(`\b(\w+)\.account_id = (\w+)\.account_id\b`)
	accountGiven  = regexp.MustCompile(`^INSERT INTO \w+ [(\[]account_id\b[^)\]]*[)\]] VALUES [(\[]\$1[,)\]]`)
	insertSelects = regexp.MustCompile(`^INSERT INTO \w+ \([^)]*\) SELECT `)
	anotherRow    = regexp.MustCompile(`\), \((\$\d+)`)
	innermost     = regexp.MustCompile(`\([^()]*\)`)
	notSpread     = regexp.MustCompile(`(?i)\bLATERAL\b|\bFOR\s+(NO KEY )?(UPDATE|SHARE)\b`)
)

// spreadFault says what is wrong with a statement for a database whose accounts are on several machines; "" is nothing.
func spreadFault(sql string, tenant func(table string) bool) string {
	if found := notSpread.FindString(sql); found != "" {
		return "it has " + found
	}
	if insertSelects.MatchString(sql) {
		return "it inserts what it selects" // a distributed planner copies such rows, and blocks others while it does
	}
	for _, row := range anotherRow.FindAllStringSubmatch(sql, -1) {
		if accountGiven.MatchString(sql) && row[1] != "$1" {
			return "one of its rows is not of the account"
		}
	}
	for _, query := range queries(sql) {
		if fault := unbound(query, tenant); fault != "" {
			return fault
		}
	}
	return ""
}

// queries are the parts of a statement that must each name the account: itself, and each query inside of it, which a join outside does not bind.
func queries(sql string) (all []string) {
	for at := innermost.FindStringIndex(sql); at != nil; at = innermost.FindStringIndex(sql) {
		inner := strings.TrimSpace(sql[at[0]+1 : at[1]-1])
		if strings.HasPrefix(inner, "SELECT ") {
			all, inner = append(all, inner), ""
		}
		sql = sql[:at[0]] + "[" + inner + "]" + sql[at[1]:]
	}
	return append(all, sql)
}

// unbound says which table of one query is not bound to the account; "" is none.
func unbound(sql string, tenant func(table string) bool) string {
	tables, spread := 0, make(map[string]bool) // by the table's name, and by the one it has in the statement
	for _, named := range tableNamed.FindAllStringSubmatch(sql, -1) {
		if tenant(named[1]) {
			tables++
			spread[named[1]], spread[named[2]] = true, true
		}
	}
	joined := 0
	for _, names := range accountJoined.FindAllStringSubmatch(sql, -1) {
		if spread[names[1]] && spread[names[2]] { // a table that every machine has ties nothing to the machine of an account
			joined++
		}
	}
	switch named := len(accountNamed.FindAllString(sql, -1)); {
	case tables == 0, accountGiven.MatchString(sql) && tables == 1:
		return ""
	case named == 0:
		return "it does not name its account as $1"
	case named+joined < tables:
		return "one of its tables is not bound to the account"
	}
	return ""
}

func TestWhatCannotBeSpreadIsFound(t *testing.T) {
	t.Parallel()
	tenant := func(table string) bool { return table == "contact" || table == "account_tally" }
	for sql, fault := range map[string]string{
		`SELECT 1 FROM contact WHERE account_id = $1 AND id = ANY($2)`: "",
		`SELECT 1 FROM contact WHERE id = $1`:                          "does not name",
		`SELECT 1 FROM contact WHERE account_id = ANY($1)`:             "does not name",
		`SELECT 1 FROM contact WHERE id = $1 AND account_id = $2`:      "does not name",
		`SELECT 1 FROM contact WHERE account_id = $12`:                 "does not name",
		`SELECT 1 FROM app_user WHERE id = $1`:                         "",
		`SELECT 1 FROM account_tally JOIN contact ON contact.account_id = account_tally.account_id WHERE account_tally.account_id = $1`:           "",
		`SELECT 1 FROM account_tally JOIN contact ON contact.revision = account_tally.revision WHERE account_tally.account_id = $1`:               "not bound",
		`SELECT 1 FROM account_tally AS t LEFT JOIN contact c ON c.account_id = t.account_id WHERE t.account_id = $1`:                             "",
		`SELECT 1 FROM account_tally t JOIN campaign r ON r.id = t.id LEFT JOIN contact c ON c.account_id = r.account_id WHERE t.account_id = $1`: "not bound",
		`SELECT 1 FROM contact WHERE account_id = $1 FOR UPDATE`:                                                                                  "FOR UPDATE",
		`SELECT 1 FROM unnest($2) AS n CROSS JOIN LATERAL (SELECT 1 FROM contact WHERE account_id = $1 LIMIT 1) AS c`:                             "LATERAL",
		`INSERT INTO contact (account_id, id) VALUES ($1, $2)`:                                                                                    "",
		`INSERT INTO contact (account_id, id) VALUES ($1, $2), ($1, $3) ON CONFLICT (account_id, id) DO NOTHING`:                                  "",
		`INSERT INTO contact (account_id, id) VALUES ($1, $2), ($3, $4)`:                                                                          "not of the account",
		`INSERT INTO contact (account_id, id) VALUES ($2, $1)`:                                                                                    "does not name",
		`INSERT INTO contact (account_id, id) SELECT $1, n.id FROM unnest($2::bigint[]) AS n (id) ON CONFLICT (account_id, id) DO NOTHING`:        "selects",
		`INSERT INTO contact (account_id, id) SELECT account_id, id FROM account_tally`:                                                           "selects",
		`UPDATE account_tally SET revision = revision WHERE account_id = $1 RETURNING account_id`:                                                 "",
		`UPDATE account_tally SET revision = $1 WHERE revision = $2`:                                                                              "does not name",
		`DELETE FROM contact WHERE account_id = $1 AND id = $2`:                                                                                   "",
		`DELETE FROM contact WHERE id = $2`:                                                                                                       "does not name",
		`UPDATE schema_version SET version = version WHERE version = 1`:                                                                           "",
		`SELECT COUNT(*) FROM (SELECT 1 FROM contact WHERE account_id = $1 LIMIT $2) AS found`:                                                    "",
		`SELECT COUNT(*) FROM (SELECT 1 FROM contact WHERE revision > $1 LIMIT $2) AS found`:                                                      "does not name",
		`SELECT (SELECT 1 FROM contact c WHERE c.account_id = t.account_id AND lower(c.x) = '') FROM account_tally t WHERE t.account_id = $1`:     "does not name",
		`SELECT (SELECT 1 FROM contact c WHERE c.account_id = $1 AND lower(c.x) = '') FROM account_tally t WHERE t.account_id = $1`:               "",
		`SELECT 1 FROM contact WHERE account_id = $1 AND COALESCE((SELECT MAX(id) FROM account_tally WHERE id > $2), 0) = 1`:                      "does not name",
	} {
		if got := spreadFault(sql, tenant); (got == "") != (fault == "") || !strings.Contains(got, fault) {
			t.Errorf("%s: %q, want %q", sql, got, fault)
		}
	}
}

// tenants are the tables whose rows are stored with their account. Accounts and members are few, and kept on every machine, like users and
// sessions.
func tenants(s *book.Book) func(table string) bool {
	var names []string
	for _, table := range s.DB().Tables() {
		if table.Spread() {
			names = append(names, table.Name)
		}
	}
	return func(table string) bool { return slices.Contains(names, table) }
}

// The commands for a distributed PostgreSQL reach every table that there is. The extension is not here: its functions note what they are called with.
func TestEveryTableIsDistributed(t *testing.T) {
	t.Parallel()
	s := open(t, testEngines[1].options(t))
	err := s.DB().Rebuild(t.Context(), func(tx *db.Tx) error {
		for _, sql := range []string{
			`CREATE SCHEMA citus`,
			`SET LOCAL search_path = public, citus`,
			`CREATE TABLE citus.pg_dist_partition (logicalrelid regclass PRIMARY KEY, kind TEXT NOT NULL)`,
			`CREATE FUNCTION citus.create_reference_table(name regclass) RETURNS VOID LANGUAGE sql AS 'INSERT INTO citus.pg_dist_partition VALUES (name, ''everywhere'')'`,
			`CREATE FUNCTION citus.create_distributed_table(name regclass, by TEXT, colocate_with TEXT DEFAULT '') RETURNS VOID LANGUAGE sql AS
				'INSERT INTO citus.pg_dist_partition VALUES (name, by || '' '' || colocate_with)'`,
		} {
			if _, err := tx.Exec(sql); err != nil {
				return err
			}
		}
		commands, query := store.Distribution()
		for range 2 { // after an upgrade they run again
			for _, sql := range commands {
				if _, err := tx.Exec(sql); err != nil {
					return fmt.Errorf("%s: %w", sql, err)
				}
			}
		}
		forgotten, err := db.List(tx.Conn, func(r db.Row) string { return r.Text(0) }, query)
		if err != nil || len(forgotten) > 0 {
			t.Errorf("forgotten: %v %v", forgotten, err)
		}
		kinds, err := db.List(tx.Conn, func(r db.Row) string { return r.Text(0) + ": " + r.Text(1) }, `SELECT logicalrelid::text, kind FROM citus.pg_dist_partition ORDER BY 1`)
		for _, want := range []string{"account_tally: account_id ", "contact: account_id account_tally", "contact_search: account_id account_tally", "duplicate: account_id account_tally", "campaign: everywhere", "account: everywhere", "member: everywhere"} {
			if !slices.Contains(kinds, want) {
				t.Errorf("%v: %q is not among %q", err, want, kinds)
			}
		}
		return errors.New("nothing of this stays")
	})
	if err == nil || err.Error() != "nothing of this stays" {
		t.Error(err)
	}
}

// A statement that goes to one account's machine finds there only what that account has. Any other one goes to all machines, and fails while one of them is away.
func TestEveryStatementNamesOneAccount(t *testing.T) {
	t.Parallel()
	s := open(t, testEngines[1].options(t))
	tenant := tenants(s)
	everywhere := map[string]string{
		"sqlOpenJobs":        "what is left to be done, asked again for each account where that fails",
		"sqlPending":         "the same",
		"sqlAccountJobs":     "imports of whole accounts, for the operator and when another one begins",
		"sqlPictureOwner":    "pictures of older versions and of accounts from other servers; the others name their account",
		"sqlCampaignReaders": "whom a campaign benefits is with those who may list it; for its owner's page and changes",
		"sqlContactSeqs":     "how many contacts the chapters of an organization have",
		"sqlLastTally":       "the number of a new account",
		"sqlTallies":         "an upgrade",
		"sqlSweeps":          "every hour",
		"sqlOldJobs":         "every hour",
		"sqlDueMails":        "what is left to be sent, asked again for each account where that fails",
		"sqlAwaitedMails":    "the same",
		"sqlOldMails":        "every hour",
		"sqlDueEvents":       "what payment providers have told, asked again for each account where that fails",
		"sqlDueDonations":    "the same",
		"sqlDueConnections":  "the same, every day",
		"sqlOldDonations":    "every hour",
		"sqlOldEvents":       "every hour",
		"sqlDonationCounts":  "a metric",
		"sqlOldestEvent":     "a metric",
		"sqlLostPayments":    "a check",
		"sqlLeftParts":       "every hour",
		"sqlCheckTotal":      "a check",
		"sqlDisplaced":       "a check",
		"sqlLostGivers":      "a check",
		"sqlLostPairs":       "a check",
		"sqlLostMerges":      "a check",
		"sqlLostReceipts":    "a check",
		"sqlReceiptGaps":     "a check",
		"sqlHalfMerges":      "a check",
	}
	for name, sql := range statementTexts(t, s) {
		fault := spreadFault(sql, tenant)
		if strings.HasPrefix(sql, "CREATE ") || strings.HasPrefix(name, "sqlStep") {
			continue // an upgrade
		}
		if _, allowed := everywhere[name]; (fault != "") != allowed {
			t.Errorf("%s: %s\n%s", name, fault, sql)
		}
	}
}

func TestWhatTablesAreWrittenWithNamesOneAccount(t *testing.T) {
	t.Parallel()
	s := open(t, testEngines[1].options(t))
	looked := 0
	for _, table := range s.DB().Tables() {
		if !table.Tenant() {
			continue
		}
		all := s.DB().TableTexts(table)
		if table.Name == "contact_search" {
			for name, text := range s.DB().SearchTexts(table) {
				all[name] = text
			}
		}
		for name, text := range all {
			looked++
			if fault := spreadFault(text, func(name string) bool { return name == table.Name }); fault != "" {
				t.Errorf("%s of %s: %s\n%s", name, table.Name, fault, text)
			}
		}
	}
	if looked < 40 {
		t.Errorf("only %d statements were looked at", looked)
	}
}

// Everything that the API does, and the console's search, as it reaches the server.
func TestHotStatementsNameOneAccount(t *testing.T) {
	t.Parallel()
	p, through := startProxy(t, newDatabase(t))
	var mu sync.Mutex
	said := make(map[string]string) // by the text, the request that sent it first
	doing := ""
	p.said = func(sql string) {
		mu.Lock()
		defer mu.Unlock()
		if _, ok := said[sql]; !ok && doing != "" {
			said[sql] = doing
		}
	}
	s := open(t, store.Options{Database: through + "&pooler=transaction"}) // so that nothing is prepared, and each text is sent every time
	account := newAccount(t, s).Number
	_, secret := must2(s.CreateKey(t.Context(), account, access.KeyInput{Name: "K", Permissions: access.AllPermissions}))(t)
	ids := make([]int64, 60)
	for i := range ids {
		ids[i] = create(t, s, account, fmt.Sprintf(`{"first_name":"P%d","emails":[{"value":"p%d@x.org"}]}`, i, i)).ID
	}
	made := func(_ any, err error) error { return err }
	owner := must(s.AccountByNumber(t.Context(), account))(t)
	title := "Gala"
	campaign := must(s.CreateCampaign(t.Context(), owner, campaign.Input{Title: &title}))(t)
	ctx, id := t.Context(), ids[7]
	creates := func(body string) func() error {
		in := input(t, body)
		return func() error { return made(s.CreateContact(ctx, account, in, crm.Dedupe)) }
	}
	const ana = `{"first_name":"Ana","emails":[{"value":"ana@x.org"}],"phones":[{"value":"(212) 555-0100"}],"tags":["gala","vip"]}`
	search := func(text string) error {
		f := find.Filter{Search: find.ParseSearch(text, "US")}
		_, _, err := s.MatchingContacts(ctx, account, crm.Active, f, crm.PageRequest{Page: 1, PerPage: 20})
		return err
	}
	page := func(scope crm.ContactScope, n int64) error {
		_, _, err := s.Contacts(ctx, account, scope, crm.PageRequest{Page: n, PerPage: 20}, nil, nil)
		return err
	}
	for _, hot := range []struct {
		name string
		do   func() error
	}{
		{"creates together", func() error {
			return errors.Join(together(t, s, account, creates(ana), creates(ana), creates(`{"first_name":"Ben"}`), creates(ana))...)
		}},
		{"a create that is merged", creates(`{"emails":[{"value":"p3@x.org"}],"tags":["again"]}`)},
		{"a change", func() error {
			return made(s.UpdateContact(ctx, account, id, input(t, `{"title":"Dr.","emails":[{"value":"new@x.org"}]}`)))
		}},
		{"adding tags", func() error { return made(s.AddTags(ctx, account, id, []string{"a", "b"})) }},
		{"replacing tags", func() error { return made(s.SyncTags(ctx, account, id, []string{"b", "c"})) }},
		{"removing tags", func() error { return made(s.RemoveTags(ctx, account, id, []string{"c"})) }},
		{"a change of the console", func() error {
			return made(s.EditContact(ctx, account, id, input(t, `{"first_name":"Pia","emails":[{"value":"pia@x.org"}]}`)))
		}},
		{"a GET", func() error { return made(s.Contact(ctx, account, id, nil)) }},
		{"a page", func() error { return page(crm.Active, 1) }},
		{"archiving", func() error { return s.ArchiveContact(ctx, account, id) }},
		{"a page after that", func() error {
			return errors.Join(page(crm.Active, 1), page(crm.Active, 3), page(crm.Archived, 1), page(crm.All, 2))
		}},
		{"restoring", func() error { return made(s.RestoreContact(ctx, account, id)) }},
		{"scattered contacts", func() error {
			return errors.Join(s.ArchiveContact(ctx, account, ids[1]), s.ArchiveContact(ctx, account, ids[50]), page(crm.Archived, 1))
		}},
		{"authentication", func() error { return made(s.Authenticate(ctx, secret)) }},
		{"search", func() error {
			return errors.Join(search("ana"), search("p1 x.org"), search("5550100"), search("#gala"))
		}},
		{"tags", func() error {
			return errors.Join(made(s.SuggestTags(ctx, account, "g", 5)), made(s.LargestTags(ctx, account, 5)))
		}},
		{"counts", func() error { return made(s.Counts(ctx, account)) }},
		{"a record", func() error { return made(s.ContactRecord(ctx, account, id)) }},
		{"a campaign", func() error {
			body, _, err := s.CampaignWire(ctx, account, campaign.ID, "", nil)
			return made(body, err)
		}},
	} {
		mu.Lock()
		before := len(said)
		doing = hot.name
		mu.Unlock()
		if err := hot.do(); err != nil {
			t.Errorf("%s: %v", hot.name, err)
		}
		mu.Lock()
		if len(said) == before && hot.name == "creates together" {
			t.Errorf("%s: no statement was seen", hot.name)
		}
		mu.Unlock()
	}
	mu.Lock()
	defer mu.Unlock()
	tenant := tenants(s)
	touched := make(map[string]bool)
	for sql, by := range said {
		if fault := spreadFault(sql, tenant); fault != "" {
			t.Errorf("%s: %s\n%s", by, fault, sql)
		}
		for _, named := range tableNamed.FindAllStringSubmatch(sql, -1) {
			touched[named[1]] = true
		}
	}
	for _, table := range []string{"contact", "contact_index", "contact_search", "contact_set", "tag", "api_key", "account_tally", "campaign_reader", "giving"} {
		if !touched[table] {
			t.Errorf("no statement for %s was seen", table)
		}
	}
	if len(said) < 20 {
		t.Errorf("only %d statements were seen", len(said))
	}
}
