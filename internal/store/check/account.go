package check

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"maps"
	"math"
	"slices"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// accountCheck compares one account with what a derivation finds of it. Rows of derived tables may be too many to
// remember: those that should be there are added up as random numbers, those that are there are taken away, and what is
// not 0 in the end differs. They are added up for each contact, gift or plan, or under a name that they share: a tag, a
// set, the sums of the account.
type accountCheck struct {
	*checker
	number  int64
	derives *derivation
	byID    map[topic]perID[uint64]
	byName  map[sharedName]uint64
	shared  []sharedID // external ids
}

// sharedID is a match key that two contacts have, though only one may.
type sharedID struct {
	key  string
	a, b int64
}

// topic is what rows are about that are added up by an id.
type topic struct {
	table *db.Table
	kind  string // of external references: those of gifts, or of plans
}

type sharedName struct {
	table *db.Table
	name  string
}

// checkAccount compares the account with what is derived from its documents, its gifts and its history.
func (k *checker) checkAccount(number int64) error {
	row, counted := k.tallies[number]
	if !counted {
		var err error
		if row, err = lostTally(k.conn, number); err != nil {
			return err
		}
	}
	c := &accountCheck{checker: k, number: number, byID: make(map[topic]perID[uint64]),
		byName: make(map[sharedName]uint64)}
	c.derives = newDerivation(k.conn, c, row, c.readSome)
	if c.derives.known = k.accounts; counted {
		c.derives.was = row.Values()
	}
	if err := c.derives.everything(k.campaigns[number]); err != nil {
		return err
	}
	maps.Copy(k.damaged, c.derives.damaged)
	return c.compareDerived()
}

// readSome counts what was read.
func (c *accountCheck) readSome(what string, n int64) error {
	done, total := &c.report.Contacts, c.contacts
	switch what {
	case "gifts":
		done, total = &c.report.Gifts, c.gifts
	case "changes":
		done, total = &c.report.Changes, c.changes
	}
	*done += n
	if what == "contacts" || *done%1000 == 0 {
		c.options.Progress(what, *done, max(*done, total))
		return c.ctx.Err()
	}
	return nil
}

func (c *accountCheck) lost(p Problem) {
	p.Account = c.name(c.number)
	c.tell(p)
}

func (c *accountCheck) gap(account, first, last int64) error {
	return c.mend(account, Problem{What: fmt.Sprintf("the changes %d to %d are missing in its history", first, last)})
}

// settle tells of a row which columns are not as they should be.
func (c *accountCheck) settle(table *db.Table, was, should []any) error {
	if table == store.GiftTable { // what gifts come to is worked out from their columns
		c.derives.giving = false
	}
	row := was
	if was == nil {
		row = should
	}
	p := c.problemOf(table, row)
	p.What += differs(table, was, should)
	return c.mend(c.number, p)
}

// problemOf begins to tell of a row: whose it is, and which.
func (c *accountCheck) problemOf(table *db.Table, row []any) (p Problem) {
	switch table {
	case store.ContactTable:
		p.Contact = row[1].(int64)
	case store.CampaignTable:
		p.Campaign = row[0].(int64)
	case store.ReaderTable:
		p.Campaign, p.What = row[1].(int64), fmt.Sprintf("whether account %s may list it: ", c.name(row[0].(int64)))
	case store.PictureTable:
		p.Campaign, p.What = row[2].(int64), fmt.Sprintf("picture %s: ", row[1])
	case store.ChangeTable:
		p.What = fmt.Sprintf("change %d: ", row[1])
	case store.GiftTable, store.PlanTable:
		p.What = fmt.Sprintf("%s %s: ", table.Name, giving.GiftNumber(row[1].(int64)))
	}
	return p
}

// differs says in which columns a row is not what it should be.
func differs(table *db.Table, was, should []any) string {
	switch {
	case was == nil && table == store.TallyTable:
		return "its totals are missing"
	case was == nil:
		return "it is missing"
	case should == nil:
		return "it should not exist"
	}
	var all []string
	for i, column := range table.Columns {
		if sameValue(was[i], should[i]) {
			continue
		}
		switch column.Kind {
		case db.IntKind:
			all = append(all, fmt.Sprintf("%s is %d, and should be %d", column.Name, was[i], should[i]))
		case db.TextKind:
			all = append(all, fmt.Sprintf("%s is %q, and should be %q", column.Name, was[i], should[i]))
		case db.BytesKind:
			all = append(all, "the contributions in its document do not match its gifts")
		}
	}
	return strings.Join(all, "; ")
}

func (c *accountCheck) derived(table *db.Table, row ...any) { c.enter(table, row, 1) }

var checkSeed = maphash.MakeSeed()

// enter adds a row of a derived table where sign is 1, and takes it away where it is the opposite.
func (c *accountCheck) enter(table *db.Table, row []any, sign uint64) {
	switch table {
	case store.WordsTable:
		sum := c.words.at(row[1].(int64))
		for _, word := range strings.Split(row[2].(string), " ") {
			*sum += maphash.String(checkSeed, word)
			c.said++
		}
	case store.SetTable:
		c.enterSet(row, sign)
	case store.IndexTable:
		c.add(topic{table, ""}, row[2].(int64), row, sign)
	case store.ReferenceTable:
		c.add(topic{table, row[1].(string)[:min(len(find.GiftReference), len(row[1].(string)))]}, row[2].(int64), row,
			sign)
	case store.TagTable:
		c.byName[sharedName{table, row[2].(string)}] += hashRow(row) * sign
	case store.GivingTable:
		if contact := giving.CellContact(row[1].(string)); contact != 0 {
			c.add(topic{table, ""}, doc.MakeID(c.number, contact), row, sign)
		} else {
			c.byName[sharedName{table, row[1].(string)}] += hashRow(row) * sign
		}
	}
}

func (c *accountCheck) add(t topic, id int64, row []any, sign uint64) {
	if c.byID[t] == nil {
		c.byID[t] = make(perID[uint64])
	}
	*c.byID[t].at(id) += hashRow(row) * sign
}

// enterSet adds the contacts of a block of a set one by one. It skips damaged contacts, because their documents cannot
// say whether they belong there.
func (c *accountCheck) enterSet(row []any, sign uint64) {
	name, number := row[1].(string), row[2].(int64)
	set := sharedName{store.SetTable, name}
	block, err := db.DecodeBlock(number, row[3].(int64), row[4].([]byte))
	if err != nil {
		c.byName[set] += maphash.Comparable(checkSeed, member{name, -number - 1})
	}
	for at := range block.Places {
		if id := doc.MakeID(c.number, number*db.BlockSize+int64(at)+1); !c.derives.damaged[id] {
			c.byName[set] += maphash.Comparable(checkSeed, member{name, id}) * sign
		}
	}
}

type member struct {
	set string
	id  int64
}

func hashRow(row []any) uint64 {
	var h maphash.Hash
	h.SetSeed(checkSeed)
	for _, value := range row {
		switch v := value.(type) {
		case int64:
			maphash.WriteComparable(&h, v)
		case string:
			maphash.WriteComparable(&h, v)
		}
	}
	return h.Sum64()
}

// compareDerived takes away the rows that are there, and tells what is left.
func (c *accountCheck) compareDerived() error {
	var last sharedID
	for _, table := range derivedTables {
		err := c.conn.EachOf(table, c.number, func(row []any) error {
			c.enter(table, row, math.MaxUint64)
			if table == store.IndexTable {
				c.report.IndexKeys++
				last = c.compareID(last, row)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	c.tellShared()
	for _, t := range slices.SortedFunc(maps.Keys(c.byID),
		func(a, b topic) int { return cmp.Compare(a.table.Name+a.kind, b.table.Name+b.kind) }) {
		if err := c.byID[t].each(func(id int64, left uint64) error { return c.tellID(t, id, left) }); err != nil {
			return err
		}
	}
	for _, n := range slices.SortedFunc(maps.Keys(c.byName), func(a, b sharedName) int {
		return cmp.Or(cmp.Compare(a.table.Name, b.table.Name), cmp.Compare(a.name, b.name))
	}) {
		if err := c.tellName(n, c.byName[n]); err != nil {
			return err
		}
	}
	return nil
}

// compareID compares a row of the index with the one before it. They are in the order of their keys.
func (c *accountCheck) compareID(last sharedID, row []any) sharedID {
	key, id := row[1].(string), row[2].(int64)
	switch {
	case !strings.HasPrefix(key, crm.ExternalPrefix):
		return last
	case key == last.key:
		c.shared = append(c.shared, sharedID{last.key, last.a, id})
		return last
	}
	return sharedID{key: strings.Clone(key), a: id}
}

// tellShared tells of external ids that two contacts have, as far as the index is right about both.
func (c *accountCheck) tellShared() {
	index := c.byID[topic{store.IndexTable, ""}]
	for _, s := range c.shared {
		if index.get(s.a) == 0 && index.get(s.b) == 0 {
			c.lost(Problem{Contact: s.a,
				What: fmt.Sprintf("contact %d has the same external id, %q: remove it from one of them", s.b,
					strings.TrimPrefix(s.key, crm.ExternalPrefix))})
		}
	}
}

// unknown tells whether the rows that a table should have cannot be derived, because something they follow from is
// damaged.
func (c *accountCheck) unknown(table *db.Table) bool {
	return table == store.TagTable && len(c.derives.damaged) > 0 || ofGiving(table) && !c.derives.giving
}

func (c *accountCheck) tellID(t topic, id int64, left uint64) error {
	if left == 0 || c.unknown(t.table) || c.derives.damaged[id] {
		return nil
	}
	p := Problem{Contact: id}
	switch {
	case t.table == store.GivingTable:
		p.What = "its sums do not match its gifts"
	case t.table == store.IndexTable:
		p.What = "the index does not have exactly its match keys"
	case t.kind == find.PlanReference:
		p = Problem{What: fmt.Sprintf("plan %s: its external id is indexed wrong", giving.GiftNumber(id))}
	default:
		p = Problem{What: fmt.Sprintf("gift %s: its external id is indexed wrong", giving.GiftNumber(id))}
	}
	return c.mend(c.number, p)
}

func (c *accountCheck) tellName(n sharedName, left uint64) error {
	if left == 0 || c.unknown(n.table) {
		return nil
	}
	what := fmt.Sprintf("the sums %s do not match the gifts", n.name)
	switch n.table {
	case store.SetTable:
		what = fmt.Sprintf("the set of contacts for %q is wrong", toldSet(n.name))
	case store.TagTable:
		what = fmt.Sprintf("the contacts with the tag %q are counted wrong", n.name)
	}
	return c.mend(c.number, Problem{What: what})
}

// toldSet is what a check calls a set: its tag, what its contacts lack, gave for or have in common, or the archive.
func toldSet(name string) string {
	if detail, ok := strings.CutPrefix(name, find.LackingSet); ok {
		return "no " + detail
	}
	if campaign, ok := strings.CutPrefix(name, find.DonorSet); ok {
		return "gave for campaign " + campaign
	}
	if words := find.TellCommonWord(name); words != "" {
		return words
	}
	if name == find.ArchiveSet {
		return "archived"
	}
	return "tag " + name[min(len(find.TagSet), len(name)):]
}

// everyWord compares the words of all accounts at once: a database may keep words in an order of their own, so that
// those of one contact cost as much as all.
func (k *checker) everyWord() error {
	err := k.conn.EachWord(store.WordsTable, math.MinInt64, math.MaxInt64, func(id int64, word string) error {
		*k.words.at(id) -= maphash.String(checkSeed, word)
		if k.report.Words++; k.report.Words%10_000 != 0 {
			return nil
		}
		k.options.Progress("search words", min(k.report.Words, k.said), k.said)
		return k.ctx.Err()
	})
	if err != nil {
		return err
	}
	told := make(map[int64]bool)
	return k.words.each(func(id int64, left uint64) error {
		account := doc.IDAccount(id)
		_, exists := k.accounts[account]
		switch {
		case left == 0 || k.damaged[id] || k.tallies[account].Importing != 0 || told[account]:
			return nil
		case !exists:
			told[account] = true
			k.tell(Problem{Account: k.name(account),
				What: "the search has words of this account, but it does not exist: restore a backup"})
			return nil
		}
		return k.mendWith(account,
			Problem{Contact: id, What: "the search does not have exactly the words of its document"}, true)
	})
}
