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

// On several machines, the rows of an account are together on one of them. A statement that names its account goes
// there; any other statement goes to all machines, or cannot run at all. The move of an account does not wait for a
// lock that writes nothing, and a distributed planner cannot forward a LATERAL.

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

// queries are the parts of a statement that must each name the account: itself, and each query inside of it, which a
// join outside does not bind.
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
		// a table that every machine has ties nothing to the machine of an account
		if spread[names[1]] && spread[names[2]] {
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
	for fault, statements := range map[string][]string{
		"": {
			`SELECT 1 FROM contact WHERE account_id = $1 AND id = ANY($2)`,
			`SELECT 1 FROM account_tally AS t LEFT JOIN contact c ON c.account_id = t.account_id
				WHERE t.account_id = $1`,
			`INSERT INTO contact (account_id, id) VALUES ($1, $2), ($1, $3) ON CONFLICT (account_id, id) DO NOTHING`,
			`UPDATE schema_version SET version = version WHERE version = 1`,
			`SELECT COUNT(*) FROM (SELECT 1 FROM contact WHERE account_id = $1 LIMIT $2) AS found`,
			`SELECT (SELECT 1 FROM contact c WHERE c.account_id = $1 AND lower(c.x) = '') FROM account_tally t
				WHERE t.account_id = $1`,
		},
		"does not name": {
			`SELECT 1 FROM contact WHERE account_id = ANY($1)`,
			`SELECT 1 FROM contact WHERE account_id = $12`,
			`INSERT INTO contact (account_id, id) VALUES ($2, $1)`,
			`DELETE FROM contact WHERE id = $2`,
			`SELECT (SELECT 1 FROM contact c WHERE c.account_id = t.account_id) FROM account_tally t
				WHERE t.account_id = $1`,
		},
		"not bound": {
			`SELECT 1 FROM account_tally JOIN contact ON contact.x = account_tally.x
				WHERE account_tally.account_id = $1`,
			`SELECT 1 FROM account_tally t JOIN campaign r ON r.id = t.id
				LEFT JOIN contact c ON c.account_id = r.account_id
				WHERE t.account_id = $1`,
		},
		"FOR UPDATE": {`SELECT 1 FROM contact WHERE account_id = $1 FOR UPDATE`},
		"LATERAL": {`SELECT 1 FROM unnest($2) AS n CROSS JOIN LATERAL (SELECT 1 FROM contact
			WHERE account_id = $1) AS c`},
		"not of the account": {`INSERT INTO contact (account_id, id) VALUES ($1, $2), ($3, $4)`},
		"selects":            {`INSERT INTO contact (account_id, id) SELECT account_id, id FROM account_tally`},
	} {
		for _, sql := range statements {
			got := spreadFault(sql, tenant)
			equal(t, (got == ""), (fault == ""), "%s", sql)
			contains(t, got, fault, "%s", sql)
		}
	}
}

// tenants are the tables whose rows are stored with their account. Accounts and members are few, and kept on every
// machine, like users and sessions.
func tenants(s *book.Book) func(table string) bool {
	var names []string
	for _, table := range s.DB().Tables() {
		if table.Spread() {
			names = append(names, table.Name)
		}
	}
	return func(table string) bool { return slices.Contains(names, table) }
}

// The commands for a distributed PostgreSQL reach every table that there is. The extension is not here: its functions
// note what they are called with.
func TestEveryTableIsDistributed(t *testing.T) {
	t.Parallel()
	s := openPostgres(t)
	err := s.DB().Rebuild(t.Context(), func(tx *db.Tx) error {
		for _, sql := range []string{
			`CREATE SCHEMA citus`,
			`SET LOCAL search_path = public, citus`,
			`CREATE TABLE citus.pg_dist_partition (logicalrelid regclass PRIMARY KEY, kind TEXT NOT NULL)`,
			`CREATE FUNCTION citus.create_reference_table(name regclass) RETURNS VOID LANGUAGE sql AS 'INSERT INTO citus.pg_dist_partition VALUES (name, ''everywhere'')'`,
			`CREATE FUNCTION citus.create_distributed_table(name regclass, by TEXT,
				colocate_with TEXT DEFAULT '') RETURNS VOID LANGUAGE sql AS
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
		kinds, err := db.List(tx.Conn, func(r db.Row) string { return r.Text(0) + ": " + r.Text(1) },
			`SELECT logicalrelid::text, kind FROM citus.pg_dist_partition ORDER BY 1`)
		for _, want := range []string{"account_tally: account_id ", "contact: account_id account_tally",
			"contact_search: account_id account_tally", "duplicate: account_id account_tally", "campaign: everywhere",
			"account: everywhere", "member: everywhere"} {
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

// A statement that goes to one account's machine finds there only what that account has. Any other one goes to all
// machines, and fails while one of them is away.
func TestEveryStatementNamesOneAccount(t *testing.T) {
	t.Parallel()
	s := openPostgres(t)
	tenant := tenants(s)
	everywhere := parts(map[string]string{
		"what is left to be done, asked again for each account where that fails":                       "sqlOpenJobs sqlPending",
		"imports of whole accounts, for the operator and when another one begins":                      "sqlAccountJobs",
		"pictures of older versions and of accounts from other servers; the others name their account": "sqlPictureOwner",
		"whom a campaign benefits is with those who may list it; for its owner's page and changes":     "sqlCampaignReaders",
		"how many contacts the chapters of an organization have":                                       "sqlContactSeqs",
		"the number of a new account": "sqlLastTally",
		"an upgrade":                  "sqlTallies",
		"every hour":                  "sqlSweeps sqlOldJobs sqlOldMails sqlOldDonations sqlOldEvents sqlLeftParts",
		"what is left to be sent, asked again for each account where that fails":          "sqlDueMails sqlAwaitedMails",
		"what payment providers have told, asked again for each account where that fails": "sqlDueEvents sqlDueDonations",
		"the same, every day": "sqlDueConnections",
		"a metric":            "sqlDonationCounts sqlOldestEvent",
		"a check":             "sqlLostPayments sqlCheckTotal sqlDisplaced sqlLostGivers sqlLostPairs sqlLostMerges sqlLostReceipts sqlReceiptGaps sqlHalfMerges",
	})
	for name, sql := range statementTexts(t, s) {
		fault := spreadFault(sql, tenant)
		if strings.HasPrefix(sql, "CREATE ") || strings.HasPrefix(name, "sqlStep") {
			continue // an upgrade
		}
		equal(t, (fault != ""), slices.Contains(everywhere, name), "%s: %s\n%s", name, fault, sql)
	}
}

// Everything that the API does, and the console's search, as it reaches the server.
func TestHotStatementsNameOneAccount(t *testing.T) {
	t.Parallel()
	s := openPostgres(t)
	account := newAccount(t, s).Number
	_, secret := must2(s.CreateKey(t.Context(), account,
		access.KeyInput{Name: "K", Permissions: access.AllPermissions}))(t)
	ids := make([]int64, 60)
	for i := range ids {
		ids[i] = create(t, s, account, named(fmt.Sprint("P", i))).ID
	}
	title := "Gala"
	gala := must(s.CreateCampaign(t.Context(), must(s.AccountByNumber(t.Context(), account))(t),
		campaign.Input{Title: &title}))(t)
	tenant, ctx, id := tenants(s), t.Context(), ids[7]
	var mu sync.Mutex
	seen, touched := make(map[string]bool), make(map[string]bool)
	s.DB().Observe(&db.Observer{Ran: func(sql string, _ []any, _ bool) {
		mu.Lock()
		defer mu.Unlock()
		if seen[sql] {
			return
		}
		seen[sql] = true
		equal(t, spreadFault(sql, tenant), "", "%v", sql)
		for _, named := range tableNamed.FindAllStringSubmatch(sql, -1) {
			touched[named[1]] = true
		}
	}})
	made := func(_ any, err error) { t.Helper(); succeed(t, err) }
	adds := func(body string) func() error { return adding(t, s, account, body) }
	search := func(text string) {
		f := find.Filter{Search: find.ParseSearch(text, "US")}
		must2(s.MatchingContacts(ctx, account, crm.Active, f, crm.PageRequest{Page: 1, PerPage: 20}))(t)
	}
	const ana = `{"first_name":"Ana","emails":[{"value":"ana@x.org"}],"phones":[{"value":"(212) 555-0100"}],"tags":["gala","vip"]}`
	succeed(t, together(t, s, account, adds(ana), adds(ana), adds(`{"first_name":"Ben"}`), adds(ana)))
	succeed(t, adds(`{"emails":[{"value":"p3@x.org"}],"tags":["again"]}`)())
	made(s.UpdateContact(ctx, account, id, input(t, `{"title":"Dr.","emails":[{"value":"new@x.org"}]}`)))
	made(s.AddTags(ctx, account, id, []string{"a", "b"}))
	made(s.SyncTags(ctx, account, id, []string{"b", "c"}))
	made(s.RemoveTags(ctx, account, id, []string{"c"}))
	made(s.EditContact(ctx, account, id, input(t, named("Pia"))))
	made(s.Contact(ctx, account, id, nil))
	page(t, s, account, crm.Active, 1, 20)
	succeed(t, s.ArchiveContact(ctx, account, id))
	page(t, s, account, crm.Active, 1, 20)
	page(t, s, account, crm.Active, 3, 20)
	page(t, s, account, crm.Archived, 1, 20)
	page(t, s, account, crm.All, 2, 20)
	made(s.RestoreContact(ctx, account, id))
	succeed(t, errors.Join(s.ArchiveContact(ctx, account, ids[1]), s.ArchiveContact(ctx, account, ids[50])))
	page(t, s, account, crm.Archived, 1, 20) // they are scattered
	made(s.Authenticate(ctx, secret))
	for _, text := range []string{"ana", "p1 x.org", "5550100", "#gala"} {
		search(text)
	}
	made(s.SuggestTags(ctx, account, "g", 5))
	made(s.LargestTags(ctx, account, 5))
	made(s.Counts(ctx, account))
	made(s.ContactRecord(ctx, account, id))
	must2(s.CampaignWire(ctx, account, gala.ID, "", nil))(t)
	mu.Lock()
	defer mu.Unlock()
	for _, table := range strings.Fields("contact contact_index contact_search contact_set tag api_key account_tally campaign_reader giving") {
		if !touched[table] {
			t.Errorf("no statement for %s was seen", table)
		}
	}
	if len(seen) < 20 {
		t.Errorf("only %d statements were seen", len(seen))
	}
}
