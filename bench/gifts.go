package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"donorbook/internal/crm"
)

// giftDataset is a dataset of one account with so many gifts, five of each contact, of the two years before it was made. The sums are
// worked out by statements that group the gifts, and the program's own check must find nothing wrong with them.
func (b *bench) giftDataset(gifts int) *dataset {
	return b.dataset("gifts1", []int{gifts / 5}, func(d *dataset) {
		d.Gifts, d.Until = gifts, time.Now().UTC().Truncate(time.Second)
		d.importCampaigns(b.program)
		db := openDatabase(d.file(), quick)
		db.defineCells()
		db.exec(`BEGIN IMMEDIATE`)
		db.writeGifts(d)
		db.sumGifts()
		db.exec(`COMMIT`)
		db.close()
		output("sync", d.file())
		if gifts <= 10_000 { // others differ in nothing but their number
			output(b.program, "--data", d.dir, "check")
		}
	})
}

// importCampaigns makes campaigns with the program's own command.
func (d *dataset) importCampaigns(program string) {
	var rows []string
	for i := range 50 {
		rows = append(rows, fmt.Sprintf(`{"title":"Campaign %d","goal":%d}`, i+1, 1000*(i+1)))
	}
	file := filepath.Join(d.dir, "campaigns.json")
	check(os.WriteFile(file, []byte("["+strings.Join(rows, ",")+"]"), 0o600))
	output(program, "--data", d.dir, "campaign", "import", "--account", d.Accounts[0].ID, file)
}

// numbers are those in the first column.
func (d *database) numbers(sql string, args ...any) (list []int64) {
	d.each(func(row *sqlite3.Stmt) { list = append(list, row.ColumnInt64(0)) }, sql, args...)
	return list
}

// row inserts a row with all its columns in order.
func (d *database) row(table string, columns ...any) {
	d.exec(`INSERT INTO `+table+` VALUES (?`+strings.Repeat(", ?", len(columns)-1)+`)`, columns...)
}

// writeGifts writes gifts in the order of time. There are eight turns, and each contact gives in five of them: some came late, some have
// lapsed, some came back.
func (d *database) writeGifts(to *dataset) {
	campaigns, account := d.numbers(`SELECT id FROM campaign ORDER BY id`), to.Accounts[0].Number
	n, plans, codes := int64(0), int64(0), make(map[int64]string)
	for turn := range int64(8) {
		d.each(func(row *sqlite3.Stmt) {
			seq := crm.IDSeq(row.ColumnInt64(0))
			if (seq+turn)%8 >= 5 {
				return
			}
			contact := must(crm.ParseContact(row.ColumnInt64(0), row.ColumnBlob(1, nil), nil))
			if seq%10 == 4 && codes[seq] == "" {
				plans++
				codes[seq] = d.writePlan(crm.MakeID(account, plans), &contact, to.Until)
			}
			n++
			d.writeGift(crm.MakeID(account, n), &contact, codes[seq], to.Until.Add(-time.Duration(int64(to.Gifts)-n)*(2*365*24*time.Hour/time.Duration(to.Gifts))), campaigns)
		}, `SELECT id, body FROM contact WHERE account_id = ? ORDER BY id`, account)
	}
	to.Gifts = int(n)
	d.exec(`UPDATE account_tally SET gift_seq = ?, plan_seq = ? WHERE account_id = ?`, n, plans, account)
}

// writePlan writes the plan of a contact, one of ten, and returns its public id. One plan in ten is overdue.
func (d *database) writePlan(id int64, contact *crm.Contact, now time.Time) string {
	p := crm.Plan{Code: crm.NewCode(id), Contact: contact.ID, Giver: crm.GiverOf(contact), Frequency: "quarterly", Status: crm.ActivePlan, Method: "card",
		Amount: 2500, Currency: "USD", StartAt: now.AddDate(-2, 0, 0), CreatedAt: now.AddDate(-2, 0, 0), NextBill: now.AddDate(0, 2, 0)}
	if id%10 == 0 {
		p.NextBill = now.AddDate(0, 0, -10)
	}
	body := p.AppendBody(nil)
	d.row("plan", crm.IDAccount(id), id, p.Contact, p.Campaign, p.StatusNumber(), p.NextBill.Unix(), p.Code, body, checksum(body))
	return p.Code
}

// writeGift writes a gift. One in five is for no campaign, three of a hundred are refunded.
func (d *database) writeGift(id int64, contact *crm.Contact, plan string, at time.Time, campaigns []int64) {
	r := rand.New(rand.NewPCG(seed, uint64(id)))
	at = at.Truncate(time.Second)
	g := crm.Gift{ID: id, Code: crm.NewCode(id), Contact: contact.ID, Giver: crm.GiverOf(contact), PlanCode: plan, Status: crm.Succeeded, Method: pick(r, crm.Methods),
		Currency: "USD", At: at, CreatedAt: at, Entries: []crm.Entry{{ID: crm.NewCode(id), Amount: int64(500 + r.IntN(50_000)), Fee: 25, CapturedAt: at}}}
	if r.IntN(5) > 0 {
		g.Campaign = pick(r, campaigns)
	}
	if r.IntN(100) < 3 {
		g = must(g.Refund(nil, at))
	}
	body := g.AppendBody(nil)
	d.row("gift", crm.IDAccount(id), id, g.Contact, g.Campaign, g.Plan(), g.StatusNumber(), g.MethodNumber(), g.Currency, g.Net(), crm.Month(at), at.Unix(), g.Code, body, checksum(body))
}

// defineCells makes functions of SQL of what crm knows: the name of a cell, the checksum of a document, and a contact with its stats.
func (d *database) defineCells() {
	check(d.conn.CreateFunction("cell", 3, sqlite3.DETERMINISTIC, func(ctx sqlite3.Context, v ...sqlite3.Value) {
		ctx.ResultText(crm.Cell(v[0].Int64(), v[1].Int64(), "USD", v[2].Int64()))
	}))
	check(d.conn.CreateFunction("checksum", 1, 0, func(ctx sqlite3.Context, v ...sqlite3.Value) { ctx.ResultInt64(checksum(v[0].RawBlob())) }))
	check(d.conn.CreateFunction("stats", 4, 0, func(ctx sqlite3.Context, v ...sqlite3.Value) {
		c := must(crm.ParseContact(v[0].Int64(), v[1].Blob(nil), nil))
		c.Stats = crm.Stats{TotalContributions: crm.Major(v[2].Int64(), "USD"), RecurringContributions: crm.Major(v[3].Int64(), "USD")}
		ctx.ResultBlob(c.AppendBody(nil))
	}))
}

// sumGifts works out everything that is derived from gifts.
func (d *database) sumGifts() {
	const givers, first = `count(DISTINCT CASE WHEN net > 0 THEN contact END)`, `coalesce(min(CASE WHEN net > 0 THEN year END), 0)`
	d.exec(`CREATE TEMP TABLE given AS SELECT account_id AS account, contact_id AS contact, campaign_id AS campaign, plan_id AS plan, net, month, month / 100 AS year,
		CAST(strftime('%Y%m%d', given_at, 'unixepoch') AS INTEGER) AS day FROM gift`)
	for _, cells := range [][5]string{ // campaign, period and contact, and which donors and first year are counted
		{"0", "0", "0", givers, "0"}, {"0", "year", "0", givers, "0"}, {"0", "month", "0", "0", "0"}, {"0", "day", "0", "0", "0"},
		{"0", "0", "contact", "0", first}, {"0", "year", "contact", "0", "0"},
		{"campaign", "0", "0", givers, "0"}, {"campaign", "year", "0", "0", "0"}, {"campaign", "0", "contact", "0", "0"},
	} {
		d.exec(fmt.Sprintf(`INSERT INTO giving SELECT account, cell(%[1]s, %[2]s, %[3]s), count(*), sum(net > 0), sum(net), sum(CASE WHEN plan <> 0 THEN net ELSE 0 END),
			%[4]s, 0, 0, %[5]s FROM given WHERE campaign <> 0 OR '%[1]s' = '0' GROUP BY account, %[1]s + 0, %[2]s + 0, %[3]s + 0`, cells[0], cells[1], cells[2], cells[3], cells[4]))
	}
	d.exec(`CREATE TEMP TABLE gave AS SELECT contact, year, lag(year) OVER (PARTITION BY contact ORDER BY year) AS before FROM given WHERE net > 0 GROUP BY contact, year`)
	d.exec(`UPDATE giving SET new_donors = of.new, retained = of.again FROM (SELECT year, sum(before IS NULL) AS new, coalesce(sum(before = year - 1), 0) AS again FROM gave GROUP BY year) AS of
		WHERE cell = cell(0, of.year, 0)`)
	d.exec(`UPDATE contact SET body = stats(id, body, g.amount, g.recurring) FROM giving AS g WHERE g.account_id = contact.account_id AND g.cell = cell(0, 0, contact.id)`)
	d.exec(`UPDATE contact SET checksum = checksum(body)`)
}
