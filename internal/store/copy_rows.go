package store

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strings"
)

// copyTables are all tables with data, in the order in which a copy fills them: what makes data reachable comes last.
var copyTables = []copyTable{
	{"contact", []string{"id"}, []copyColumn{
		{"account_id", intKind}, {"id", intKind}, {"revision", intKind}, {"archived", intKind}, {"match_keys", textKind}, {"body", bytesKind},
		{"checksum", intKind},
	}},
	{"contact_archival", []string{"account_id", "revision"}, []copyColumn{
		{"account_id", intKind}, {"revision", intKind}, {"id", intKind}, {"archived", intKind},
	}},
	{"contact_index", []string{"account_id", "key", "id"}, []copyColumn{
		{"account_id", intKind}, {"key", textKind}, {"id", intKind},
	}},
	{"tag", []string{"account_id", "fold", "name"}, []copyColumn{
		{"account_id", intKind}, {"fold", textKind}, {"name", textKind}, {"contacts", intKind}, {"size", intKind},
	}},
	{"campaign", []string{"id"}, []copyColumn{
		{"id", intKind}, {"account_id", intKind}, {"slug", textKind}, {"url_at", intKind}, {"body", bytesKind}, {"checksum", intKind},
	}},
	{"campaign_reader", []string{"account_id", "campaign_id"}, []copyColumn{
		{"account_id", intKind}, {"campaign_id", intKind}, {"relation", intKind},
	}},
	{"api_key", []string{"account_id", "id"}, []copyColumn{
		{"account_id", intKind}, {"id", intKind}, {"name", textKind}, {"hint", textKind}, {"hash", bytesKind}, {"permissions", intKind},
		{"created_at", intKind}, {"last_used_at", intKind}, {"expires_at", intKind}, {"revoked_at", intKind},
	}},
	{"invitation", []string{"hash"}, []copyColumn{
		{"hash", textKind}, {"account_id", intKind}, {"email", textKind}, {"role", intKind}, {"invited_by", intKind},
		{"created_at", intKind}, {"expires_at", intKind},
	}},
	{"app_user", []string{"id"}, []copyColumn{
		{"id", intKind}, {"login", textKind}, {"email", textKind}, {"name", textKind}, {"password", textKind},
		{"opened", intKind}, {"created_at", intKind},
	}},
	{"user_session", []string{"hash"}, []copyColumn{
		{"hash", textKind}, {"user_id", intKind}, {"account_id", intKind}, {"address", textKind}, {"agent", textKind},
		{"created_at", intKind}, {"seen_at", intKind}, {"expires_at", intKind},
	}},
	{"member", []string{"account_id", "user_id"}, []copyColumn{
		{"account_id", intKind}, {"user_id", intKind}, {"role", intKind}, {"created_at", intKind}, {"seen_at", intKind},
	}},
	{"account_tally", []string{"account_id"}, []copyColumn{
		{"account_id", intKind}, {"revision", intKind}, {"contact_seq", intKind}, {"contact_active", intKind}, {"key_seq", intKind},
		{"campaign_revision", intKind},
	}},
	{"account", []string{"account_id"}, []copyColumn{
		{"account_id", intKind}, {"public_id", textKind}, {"name", textKind}, {"parent", intKind}, {"created_at", intKind},
	}},
}

// copyTable is a table as a copy sees it. Its rows are read in the order of the key, which is the same on all engines.
type copyTable struct {
	name    string
	key     []string
	columns []copyColumn
}

type copyColumn struct {
	name string
	kind columnKind
}

type columnKind byte

const (
	intKind   columnKind = 'i'
	textKind  columnKind = 't'
	bytesKind columnKind = 'b'
)

func (t copyTable) column(name string) int {
	return slices.IndexFunc(t.columns, func(c copyColumn) bool { return c.name == name })
}

func (t copyTable) columnNames() string {
	names := make([]string, 0, len(t.columns))
	for _, c := range t.columns {
		names = append(names, c.name)
	}
	return strings.Join(names, ", ")
}

// primaryKey is the key as the engine stores it. A contact's id begins with its account, so that both spellings of its key
// mean the same order.
func (t copyTable) primaryKey(d dialect) []string {
	if t.name == "contact" {
		return strings.Split(strings.Trim(strings.TrimPrefix(d.idKey, "PRIMARY KEY "), "()"), ", ")
	}
	return t.key
}

// scan reads all rows in the order of the key, a bounded number with each statement. The row is valid until the next one;
// what is in it stays.
func (t copyTable) scan(c conn, d dialect, read func(row []any) error) error {
	key := t.primaryKey(d)
	sql := fmt.Sprintf("SELECT %s FROM %s WHERE (%s) > (%s) ORDER BY %s LIMIT %d",
		t.columnNames(), t.name, strings.Join(key, ", "), parameters(1, len(key)), strings.Join(key, ", "), copyRows)
	at, after := make([]int, len(key)), make([]any, len(key))
	for i, name := range key {
		at[i] = t.column(name)
		if after[i] = any(int64(-1)); t.columns[at[i]].kind == textKind { // less than any
			after[i] = ""
		}
	}
	row := make([]any, len(t.columns))
	for n := copyRows; n == copyRows; {
		n = 0
		err := each(c, func(r rows) error {
			n++
			t.read(r, row)
			return read(row)
		}, sql, after...)
		if err != nil {
			return err
		}
		for i := range after {
			if n > 0 {
				after[i] = row[at[i]]
			}
		}
	}
	return nil
}

func (t copyTable) read(r rows, row []any) {
	for i, c := range t.columns {
		switch c.kind {
		case intKind:
			row[i] = r.int(i)
		case textKind:
			row[i] = r.text(i)
		case bytesKind:
			row[i] = append(make([]byte, 0, len(r.bytes(i))), r.bytes(i)...)
		}
	}
}

// checkDocument refuses a row whose document was damaged: a copy of it would be of no use.
func (t copyTable) checkDocument(row []any) error {
	at := t.column("checksum")
	if at < 0 || checksum(row[at-1].([]byte)) == row[at].(int64) {
		return nil
	}
	id := row[t.column("id")].(int64)
	if t.name == "campaign" {
		return damagedCampaign(id)
	}
	return damagedContact(id)
}

func (t copyTable) insertSQL(n int) string {
	var sql strings.Builder
	fmt.Fprintf(&sql, "INSERT INTO %s (%s) VALUES ", t.name, t.columnNames())
	for i := range n {
		if i > 0 {
			sql.WriteByte(',')
		}
		sql.WriteString("(" + parameters(1+i*len(t.columns), len(t.columns)) + ")")
	}
	return sql.String()
}

// removeSQL removes as many rows as fit into a transaction.
func (t copyTable) removeSQL(d dialect) string {
	key := strings.Join(t.primaryKey(d), ", ")
	return fmt.Sprintf("DELETE FROM %s WHERE (%s) IN (SELECT %s FROM %s ORDER BY %s LIMIT %d)", t.name, key, key, t.name, key, copyRows)
}

// copySide is what a copy has read on one side.
type copySide struct {
	totals []int64 // of each table, counted before
	rows   []int64 // of each table, as they were read
	sums   map[int64]hash.Hash
	names  map[int64]accountName
	buffer []byte
}

type accountName struct{ id, name string }

func newCopySide() *copySide {
	return &copySide{
		totals: make([]int64, len(copyTables)), rows: make([]int64, len(copyTables)),
		sums: make(map[int64]hash.Hash), names: make(map[int64]accountName),
	}
}

// count tells how much there is, for those who watch.
func (s *copySide) count(c conn) error {
	for i, table := range copyTables {
		if _, err := one(c, func(r rows) { s.totals[i] = r.int(0) }, `SELECT COUNT(*) FROM `+table.name); err != nil {
			return err
		}
	}
	return nil
}

// add notes a row: it counts, and becomes part of its account's checksum. It returns about how many bytes the row has.
//
// The checksum of an account is the SHA-256 of its rows, table by table, each in the order of its key. A row is the table's
// name and its values: a letter for the kind, then a number in eight bytes, or a length in eight bytes and so many bytes.
func (s *copySide) add(table int, row []any) int {
	t := copyTables[table]
	b := append(append(s.buffer[:0], t.name...), 0)
	for i, value := range row {
		b = append(b, byte(t.columns[i].kind))
		switch v := value.(type) {
		case int64:
			b = binary.BigEndian.AppendUint64(b, uint64(v))
		case string:
			b = append(binary.BigEndian.AppendUint64(b, uint64(len(v))), v...)
		case []byte:
			b = append(binary.BigEndian.AppendUint64(b, uint64(len(v))), v...)
		}
	}
	s.buffer = b
	s.rows[table]++
	account := int64(0) // of a table of the whole service
	if i := t.column("account_id"); i >= 0 {
		account = row[i].(int64)
	}
	sum := s.sums[account]
	if sum == nil {
		sum = sha256.New()
		s.sums[account] = sum
	}
	sum.Write(b)
	if t.name == "account" {
		s.names[account] = accountName{row[1].(string), row[2].(string)}
	}
	return len(b)
}

func (s *copySide) sum(account int64) string {
	if sum := s.sums[account]; sum != nil {
		return hex.EncodeToString(sum.Sum(nil))
	}
	return "nothing"
}

// named is an account as its operator knows it.
func (s *copySide) named(account int64) string {
	if a, ok := s.names[account]; ok {
		return fmt.Sprintf("account %s (%s)", a.id, a.name)
	}
	if account == 0 {
		return "what belongs to no account"
	}
	return fmt.Sprintf("account number %d", account)
}

// differencesShown bounds an error: where much differs, some of it says enough.
const differencesShown = 20

// compare finds every difference between the source and the target.
func (s *copySide) compare(target *copySide) error {
	var found []string
	for i, table := range copyTables {
		if s.rows[i] != target.rows[i] {
			found = append(found, fmt.Sprintf("table %s: %d rows in the source, %d in the target", table.name, s.rows[i], target.rows[i]))
		}
	}
	accounts := slices.AppendSeq(slices.Collect(maps.Keys(s.sums)), maps.Keys(target.sums))
	slices.Sort(accounts)
	for _, account := range slices.Compact(accounts) {
		if a, b := s.sum(account), target.sum(account); a != b {
			side := s
			if _, ok := s.names[account]; !ok {
				side = target
			}
			found = append(found, fmt.Sprintf("%s: the checksum is %s in the source, %s in the target", side.named(account), a, b))
		}
	}
	if len(found) == 0 {
		return nil
	}
	if more := len(found) - differencesShown; more > 0 {
		found = append(found[:differencesShown], fmt.Sprintf("and %d more", more))
	}
	return errors.New("the copy is not like the source:\n" + strings.Join(found, "\n"))
}

func (s *copySide) report() (tables []TableCount, accounts []AccountSum) {
	for i, table := range copyTables {
		tables = append(tables, TableCount{table.name, s.rows[i]})
	}
	for _, account := range slices.Sorted(maps.Keys(s.names)) {
		accounts = append(accounts, AccountSum{s.names[account].id, s.sum(account)})
	}
	return tables, accounts
}
