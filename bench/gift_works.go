package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"donorbook/internal/crm"
)

// view is a page whose price must not grow with the gifts: of the API where its path begins with /v1, else of the console.
type view struct {
	name, path string // {} is a number: the id of a contact, or a page
	shows      string // finds texts that the page must have, by the number of the account and that of the path
	choose     func(*dataset, *rand.Rand) int64
}

var views = append(append([]view{
	{"home page", "", `SELECT '$' || printf('%,d', sum(net) / 100) FROM gift WHERE account_id = ?1 AND given_at >= unixepoch('now', 'start of year') AND ?2 > 0`, pageOne},
	{"contact's page", "/contacts/{}", `SELECT code FROM gift WHERE account_id = ?1 AND contact_id = ?2`, func(d *dataset, r *rand.Rand) int64 {
		_, id := d.anyone(r)
		return id
	}},
	{"list of campaigns", "/v1/campaigns", `SELECT '"raised":' || rtrim(rtrim(printf('%.2f', sum(net) / 100.0), '0'), '.') || ',"donors":' || count(DISTINCT contact_id)
		FROM gift WHERE account_id = ?1 AND campaign_id = (SELECT min(id) FROM campaign) AND net > 0 AND ?2 > 0`, pageOne},
}, giftPages("list of gifts", "/gifts?page={}", 50, "given_at DESC, id DESC")...), giftPages("list of transactions", "/v1/transactions?page={}", 20, "id")...)

func pageOne(*dataset, *rand.Rand) int64 { return 1 }

// giftPages are the first, any and the last page of a list.
func giftPages(name, path string, length int, order string) []view {
	shows := fmt.Sprintf(`SELECT code FROM gift WHERE account_id = ?1 ORDER BY %s LIMIT %d OFFSET (?2 - 1) * %[2]d`, order, length)
	return []view{
		{name + ", page 1", path, shows, pageOne},
		{name + ", any page", path, shows, func(d *dataset, r *rand.Rand) int64 { return 1 + r.Int64N(int64(d.Gifts/length)) }},
		{name + ", last page", path, shows, func(d *dataset, _ *rand.Rand) int64 { return int64(d.Gifts / length) }},
	}
}

// ask appends the request for a page.
func (v view) ask(dst []byte, p *place, number int64) []byte {
	path := strings.ReplaceAll(v.path, "{}", strconv.FormatInt(number, 10))
	if strings.HasPrefix(path, "/v1") {
		return request(dst, "GET", path, p.data.Accounts[0].Key, nil)
	}
	return requestAs(dst, "GET", "/console/o/"+p.data.Accounts[0].ID+path, "Cookie: ", p.visitors[0].cookie, nil)
}

func (v view) task(p *place) task {
	next := func(dst []byte, r *rand.Rand, _ int64) []byte { return v.ask(dst, p, v.choose(p.data, r)) }
	return task{work: next, check: func() {
		number := v.choose(p.data, p.data.dice())
		page := must(onceWire(p.address, v.ask(nil, p, number)))
		p.data.open(func(db *database) {
			db.each(func(row *sqlite3.Stmt) {
				if text := row.ColumnText(0); text == "" || !bytes.Contains(page, []byte(text)) {
					fail("%s does not show %q", strings.ReplaceAll(v.path, "{}", strconv.FormatInt(number, 10)), text)
				}
			}, v.shows, p.data.Accounts[0].Number, number)
		})
	}}
}

// Recording a gift is compared with creating a contact at the same place.
var (
	newGift    = cell{"gifts", "record a gift", "", 64, give, false}
	newContact = cell{"gifts", "create a contact", "", 64, create, false}
)

// giftCells are works whose price must not grow with the gifts.
func giftCells() (cells []cell) {
	for _, v := range views {
		cells = append(cells, cell{"gifts", v.name, "", 64, v.task, false})
	}
	return append(cells, newGift)
}

// giftSizes are how few and how many gifts there are.
func giftSizes(gifts int) (small, large int) { return max(gifts/100, min(10_000, gifts/10)), gifts }

// giftName is the variant of a work with so many gifts.
func giftName(c cell, gifts int) string { return fmt.Sprintf("%s, %s gifts", c.name, thousands(gifts)) }

// measureGifts reads with few and with many gifts, and then writes, so that nothing is read from among what was written.
func (b *bench) measureGifts() {
	var reads, writes []variant
	small, large := giftSizes(b.gifts)
	for _, gifts := range []int{small, large} {
		p := b.visited(b.giftDataset(gifts), fmt.Sprintf("gifts-%d", gifts), "editor")
		for _, c := range append(giftCells(), newContact) {
			v := c.variant(p)
			v.name = giftName(c, gifts)
			if c.name == newGift.name || c.name == newContact.name {
				writes = append(writes, v)
			} else {
				reads = append(reads, v)
			}
		}
	}
	b.repeat(reads)
	b.repeat(writes)
}

// give records gifts of random contacts, as a payment page does it.
func give(p *place) task {
	var campaigns []int64
	p.data.open(func(db *database) { campaigns = db.numbers(`SELECT id FROM campaign ORDER BY id`) })
	next := func(dst []byte, r *rand.Rand, _ int64) []byte {
		a, id := p.data.anyone(r)
		return request(dst, "POST", "/v1/transactions", a.Key, giftBody(id, pick(r, campaigns), 500+r.IntN(50_000)))
	}
	return task{work: next, check: func() {
		a, id := p.data.anyone(p.data.dice())
		sums := func() (amount int64) {
			p.data.open(func(db *database) {
				amount = db.number(`SELECT amount FROM giving WHERE account_id = ? AND cell = ?`, a.Number, crm.Cell(0, 0, "USD", id))
			})
			return amount
		}
		before := sums()
		got := once(p.address, "POST", "/v1/transactions", a.Key, giftBody(id, campaigns[0], 1234))
		var made struct{ ID string }
		check(json.Unmarshal(got, &made))
		p.checkBody("/v1/transactions/"+made.ID, a.Key, got)
		if after := sums(); after != before+1234 {
			fail("contact %d gave %d, then 1234, and the sum is %d", id, before, after)
		}
	}}
}

func giftBody(contact, campaign int64, cents int) []byte {
	return fmt.Appendf(nil, `{"contact_id":%d,"campaign_id":%d,"amount":%d.%02d,"method":"card","fee":0.55,"transacted_at":"%s"}`,
		contact, campaign, cents/100, cents%100, time.Now().UTC().Format(time.RFC3339))
}
