package store

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/db"
)

// Who gave in a year, for the first time or again, is counted when it is asked for, by one walk through the index of
// gifts by time. What it finds are sets, so that a page is found in them, and only the gifts of those on the page are
// summed up.

const (
	// Of the same contact as often as it gave: to tell contacts apart costs a database more than a set.
	sqlGiversBetween = `SELECT contact_id, given_at FROM gift WHERE account_id = $1 AND id <> 0 AND given_at >= $2
		AND given_at < $3 AND net > 0`
	sqlGiversTo = `SELECT contact_id FROM gift WHERE account_id = $1 AND campaign_id <> 0 AND campaign_id = $2
		AND net > 0 AND currency = $3`

	givenBy = `SELECT contact_id, currency, COUNT(*), CAST(SUM(net) AS BIGINT) FROM gift WHERE account_id = $1
		AND contact_id = ANY($2) AND given_at >= $3 AND given_at < $4 AND net > 0`
	sqlGivenBy    = givenBy + ` GROUP BY contact_id, currency ORDER BY contact_id, currency`
	sqlGivenForBy = givenBy +
		` AND campaign_id = $5 AND currency = $6 GROUP BY contact_id, currency ORDER BY contact_id, currency`
)

// Donor is a contact with what it gave in a time.
type Donor struct {
	Contact crm.Contact
	giving.Given
}

// DonorPlace is where a page of donors lies: after an id or before it. The zero value is the first page.
type DonorPlace struct{ After, Before int64 }

// DonorPage is one page of donors, in the order of their ids.
type DonorPage struct {
	Donors     []Donor
	Totals     map[giving.DonorKind]int64 // of all pages, of each kind
	Currency   string                     // in which most of the money is: the account's, or the campaign's
	Next, Prev DonorPlace                 // of the pages beside it; the zero value where there is none
}

// Donors finds contacts who gave.
func (s *Store) Donors(ctx context.Context, account int64, f giving.DonorFilter, at DonorPlace,
	limit int,
) (DonorPage, error) {
	return Admitted(ctx, s, account, func(c db.Conn, w Admit) (page DonorPage, err error) {
		if page.Currency, err = weighDonors(c, w, account, f); err != nil {
			return page, err
		}
		var found db.Set
		if f.Campaign != 0 {
			found, err = donorsOf(c, account, page.Currency, f)
			page.Totals = map[giving.DonorKind]int64{giving.AllDonors: found.Count()}
		} else {
			var year *donorYear
			if year, err = readDonors(c, account, f, giving.DonorKinds); err == nil {
				found, page.Totals = year.of(f.Kind), year.totals()
			}
		}
		if err != nil {
			return page, err
		}
		var ids []int64
		ids, page.Next, page.Prev = at.page(account, &found, limit)
		given, err := givenOf(c, account, page.Currency, f, ids)
		if err != nil {
			return page, err
		}
		contacts, err := LoadContacts(c, account, ids)
		for _, contact := range contacts {
			page.Donors = append(page.Donors, Donor{contact, given[contact.ID]})
		}
		return page, err
	})
}

// FindDonors finds all contacts who gave, and the currency in which most of the money is.
func (s *Store) FindDonors(ctx context.Context, account int64, f giving.DonorFilter) (
	found db.Set, currency string, err error,
) {
	found, err = Admitted(ctx, s, account, func(c db.Conn, w Admit) (db.Set, error) {
		if currency, err = weighDonors(c, w, account, f); err != nil {
			return db.Set{}, err
		}
		return donorsOf(c, account, currency, f)
	})
	return found, currency, err
}

// GivenOf is what contacts gave in the time of a filter, or to its campaign in a currency.
func (s *Store) GivenOf(ctx context.Context, account int64, currency string, f giving.DonorFilter, ids []int64) (
	map[int64]giving.Given, error,
) {
	return Lend(ctx, s.Read, func(c db.Conn) (map[int64]giving.Given, error) {
		return givenOf(c, account, currency, f, ids)
	})
}

// weighDonors tells how many gifts are walked through to find the donors of a filter, and the currency of the account
// or of the campaign.
func weighDonors(c db.Conn, w Admit, account int64, f giving.DonorFilter) (currency string, err error) {
	row, err := ReadTally(c, account)
	if err != nil {
		return "", err
	}
	if f.Campaign == 0 {
		return row.Currency, w(row.GiftSeq)
	}
	of, err := FindIn(c, crm.ErrNotFound, scanCampaignName, SQLOwnCampaigns, account, []int64{f.Campaign})
	if err != nil {
		return "", err
	}
	sums, err := readCell(c, account, giving.Cell(f.Campaign, 0, of.Currency, 0))
	if err == nil {
		err = w(sums.Entries)
	}
	return of.Currency, err
}

// donorYear is who gave in a year, and for each kind of donors who gave in the other time that tells them: the year
// before for those who have returned or lapsed, and all time before for new ones.
type donorYear struct {
	gave  db.Set
	other map[giving.DonorKind]*db.Set
}

// readDonors finds who gave in the year of a filter, for some kinds of donors, by one walk through the gifts of all
// times that matter.
func readDonors(c db.Conn, account int64, f giving.DonorFilter, kinds []giving.DonorKind) (*donorYear, error) {
	y := &donorYear{other: make(map[giving.DonorKind]*db.Set)}
	type span struct {
		from, to int64
		set      *db.Set
	}
	from, to := giving.DonorFilter{Year: f.Year}.Gave()
	spans := []span{{from.Unix(), to.Unix(), &y.gave}}
	first, last := spans[0].from, spans[0].to
	for _, kind := range kinds {
		if kind == giving.AllDonors {
			continue
		}
		of := giving.DonorFilter{Year: f.Year, Kind: kind}
		from, to, _ := of.Also()
		if kind == giving.LapsedDonors { // they gave in the other time, and not in the year
			from, to = of.Gave()
		}
		y.other[kind] = new(db.Set)
		spans = append(spans, span{from.Unix(), to.Unix(), y.other[kind]})
		first, last = min(first, from.Unix()), max(last, to.Unix())
	}
	return y, c.Each(func(r db.Row) error {
		seq, at := doc.IDSeq(r.Int(0)), r.Int(1)
		for i := range spans {
			if s := &spans[i]; at >= s.from && at < s.to {
				s.set.Add(seq)
			}
		}
		return nil
	}, sqlGiversBetween, account, first, last)
}

// of are the donors of a kind.
func (y *donorYear) of(kind giving.DonorKind) db.Set {
	set := y.gave.Clone()
	switch kind {
	case giving.NewDonors:
		set.AndNot(y.other[kind])
	case giving.ReturningDonors:
		set.And(y.other[kind])
	case giving.LapsedDonors:
		set = y.other[kind].Clone()
		set.AndNot(&y.gave)
	}
	return set
}

// totals are how many donors of each kind there are.
func (y *donorYear) totals() map[giving.DonorKind]int64 {
	totals := make(map[giving.DonorKind]int64)
	for _, kind := range giving.DonorKinds {
		set := y.of(kind)
		totals[kind] = set.Count()
	}
	return totals
}

// DonorSet are the contacts who gave in a year.
func (s *Store) DonorSet(ctx context.Context, account, year int64) (db.Set, error) {
	return Snapshot(ctx, s, func(c db.Conn) (db.Set, error) {
		return donorsOf(c, account, "",
			giving.DonorFilter{Year: year})
	})
}

// donorsOf are the donors whom a filter finds. The currency is that of the campaign.
func donorsOf(c db.Conn, account int64, currency string, f giving.DonorFilter) (set db.Set, err error) {
	if f.Campaign != 0 {
		return set, c.Each(func(r db.Row) error {
			set.Add(doc.IDSeq(r.Int(0)))
			return nil
		}, sqlGiversTo, account, f.Campaign, currency)
	}
	year, err := readDonors(c, account, f, []giving.DonorKind{f.Kind})
	if err != nil {
		return set, err
	}
	return year.of(f.Kind), nil
}

// givenAtOnce is of how many contacts the gifts are summed up together.
const givenAtOnce = 1000

// givenOf is what contacts gave in the time of a filter, or to its campaign in a currency.
func givenOf(c db.Conn, account int64, currency string, f giving.DonorFilter,
	ids []int64,
) (map[int64]giving.Given, error) {
	given := make(map[int64]giving.Given, len(ids))
	from, to := f.Gave()
	for some := range slices.Chunk(ids, givenAtOnce) {
		sql, args := sqlGivenBy, []any{account, some, from.Unix(), to.Unix()}
		if f.Campaign != 0 {
			sql, args = sqlGivenForBy, append(args, f.Campaign, currency)
		}
		err := c.Each(func(r db.Row) error {
			g := given[r.Int(0)]
			if g.Sums == nil {
				g.Sums = make(map[string]int64, 1)
			}
			g.Gifts += r.Int(2)
			g.Sums[strings.Clone(r.Text(1))] += r.Int(3)
			given[r.Int(0)] = g
			return nil
		}, sql, args...)
		if err != nil {
			return nil, err
		}
	}
	return given, nil
}

// page is the ids of a page of a set, and where the pages beside it are.
func (at DonorPlace) page(account int64, set *db.Set, limit int) (ids []int64, next, prev DonorPlace) {
	total := set.Count()
	from := set.Rank(doc.IDSeq(at.After))
	to := min(from+int64(limit), total)
	if at.Before != 0 {
		to = set.Rank(doc.IDSeq(at.Before) - 1)
		from = max(0, to-int64(limit))
	}
	first, last := at.After+1, at.Before-1 // where no one is left on the page
	if ids = IDsOf(account, set.Page(from, to)); len(ids) > 0 {
		first, last = ids[0], ids[len(ids)-1]
	}
	if from > 0 {
		prev.Before = first
	}
	if to < total {
		next.After = last
	}
	return ids, next, prev
}

const (
	// What a contact gave from $4 to $5, and from $5 to $6.
	contactGave = `SELECT MIN(given_at), MAX(given_at), MAX(net)%s FROM gift WHERE account_id = $1 AND contact_id = $2
		AND currency = $3 AND net > 0`
	gaveInYear = `, CAST(COALESCE(SUM(CASE WHEN given_at >= $%d AND given_at < $%d THEN net ELSE 0 END), 0) AS BIGINT)`
)

// ContactGiving is what a contact has paid, in the account's currency, with the fees that they covered.
type ContactGiving struct {
	Currency    string
	Total       giving.Sums
	Years       [GivingYears]int64 // the last of which is this one
	First, Last time.Time          // zero where nothing counts
	Largest     int64
	Covered     int64 // what of the total covered fees
	WithoutFees bool  // of so many gifts, covered fees are not counted
}

// Sums are of what was donated. What was paid beyond that stands in the gifts alone: those of people are few.
const (
	sqlPaid  = `SELECT ` + GiftColumns + ` FROM gift WHERE account_id = $1 AND contact_id = $2 AND net > 0`
	mostPaid = 1_000
)

// addCovered adds the fees that a contact has covered.
func (g *ContactGiving) addCovered(c db.Conn, account, contact int64, year int) error {
	if g.WithoutFees = g.Total.Gifts > mostPaid; g.WithoutFees {
		return nil
	}
	return c.Each(func(r db.Row) error {
		_, gift := ScanGift(r)
		covered := gift.LeftCovered()
		if gift.Damage != nil || gift.Currency != g.Currency || covered == 0 {
			return nil // a check tells of damage
		}
		g.Covered += covered
		g.Total.Amount += covered
		g.Largest = max(g.Largest, gift.Left())
		if at := GivingYears - 1 - (year - gift.Local.Year()); at >= 0 && at < GivingYears {
			g.Years[at] += covered
		}
		return nil
	}, sqlPaid, account, contact)
}

// GivingYears are how many years a contact's giving is told of.
const GivingYears = 6

// ContactGiving sums up what a contact has given.
func (s *Store) ContactGiving(ctx context.Context, account, contact int64) (sums ContactGiving, err error) {
	return Admitted(ctx, s, account, func(c db.Conn, w Admit) (g ContactGiving, err error) {
		row, err := ReadTally(c, account)
		if err != nil {
			return g, err
		}
		g.Currency = row.Currency
		if g.Total, err = readCell(c, account, giving.Cell(0, 0, row.Currency, contact)); err == nil {
			err = w(g.Total.Entries)
		}
		if err != nil || g.Total.Gifts == 0 {
			return g, err
		}
		year, sums := row.Clock(s.Now()).Year(), ""
		args := []any{account, contact, row.Currency, time.Date(year-GivingYears+1, 1, 1, 0, 0, 0, 0, time.UTC).Unix()}
		for i := range GivingYears {
			args = append(args, time.Date(year-GivingYears+2+i, 1, 1, 0, 0, 0, 0, time.UTC).Unix())
			sums += fmt.Sprintf(gaveInYear, len(args)-1, len(args))
		}
		_, err = c.One(func(r db.Row) {
			g.First, g.Last, g.Largest = OnClock(r.Int(0)), OnClock(r.Int(1)), r.Int(2)
			for i := range g.Years {
				g.Years[i] = r.Int(3 + i)
			}
		}, fmt.Sprintf(contactGave, sums), args...)
		if err == nil {
			err = g.addCovered(c, account, contact, year)
		}
		return g, err
	})
}

const sqlCountedGifts = shownGift +
	` WHERE g.account_id = $1 AND g.contact_id = $2 AND (g.given_at, g.id) > ($3, $4) AND g.given_at < $5 AND g.net > 0
	ORDER BY g.given_at, g.id LIMIT $6`

const (
	statementsAtOnce = 50   // contacts on a page of statements
	statementGifts   = 5000 // and about how many gifts: a page ends after the contact with whom they are reached
	GiftsAtOnce      = 200  // how many gifts of a statement are read together
)

// StatementPage is where a page of statements stands among the others.
type StatementPage struct {
	Total      int64 // contacts on all pages
	Erased     int   // people on this page who were erased, and get no statement
	Next, Prev DonorPlace
}

// Statements reads one page of what contacts gave in a year: those whom the list of donors shows with the same filter,
// in the order of their ids. It takes turns with other work that costs much, and is bounded by contacts and gifts.
func (s *Store) Statements(ctx context.Context, account int64, f giving.DonorFilter, at DonorPlace,
	read func(*crm.Contact, giving.Statement),
) (page StatementPage, err error) {
	err = s.Heavy.Through(ctx, account, func() error {
		people, err := Snapshot(ctx, s, func(c db.Conn) (contacts []crm.Contact, err error) {
			contacts, page, err = StatementContacts(c, account, f, at, statementsAtOnce)
			return contacts, err
		})
		made, gifts := s.NewStatements(account, f.Year), 0
		for i := 0; i < len(people) && err == nil; i++ {
			if gifts > statementGifts {
				page.Next = DonorPlace{After: people[i-1].ID}
				break
			}
			if people[i].Erased() {
				page.Erased++
				continue
			}
			var one giving.Statement
			one, err = made.Of(ctx, people[i].ID)
			gifts += len(one.Gifts)
			read(&people[i], one)
		}
		return err
	})
	return page, err
}

// StatementReader makes statements of a year. It asks for each campaign once.
type StatementReader struct {
	store         *Store
	account, year int64
	currency      string
	campaigns     map[int64]CampaignName
}

// NewStatements begins to make statements.
func (s *Store) NewStatements(account, year int64) *StatementReader {
	return &StatementReader{store: s, account: account, year: year, campaigns: map[int64]CampaignName{0: {}}}
}

// Of is the statement of a contact.
func (r *StatementReader) Of(ctx context.Context, contact int64) (made giving.Statement, err error) {
	if r.currency == "" {
		if r.currency, err = r.store.Currency(ctx, r.account); err != nil {
			return made, err
		}
	}
	made = giving.Statement{Year: r.year, Currency: r.currency}
	for record, err := range r.store.CountedGifts(ctx, r.account, contact, r.year) {
		if err != nil {
			return made, err
		}
		if _, known := r.campaigns[record.Campaign]; !known {
			found, err := r.store.CampaignNames(ctx, r.account, []int64{record.Campaign})
			if err != nil {
				return made, err
			}
			r.campaigns[record.Campaign] = found[record.Campaign]
		}
		campaign := r.campaigns[record.Campaign]
		made.Add(&record.Gift, campaign.Title, campaign.Event)
	}
	return made, nil
}

// Statement is what one contact gave in a year. It takes turns as Statements does.
func (s *Store) Statement(ctx context.Context, account, contact, year int64) (made giving.Statement, err error) {
	err = s.Heavy.Through(ctx, account, func() error {
		made, err = s.NewStatements(account, year).Of(ctx, contact)
		return err
	})
	return made, err
}

// StatementContacts are the contacts of a page.
func StatementContacts(c db.Conn, account int64, f giving.DonorFilter, at DonorPlace,
	limit int,
) (people []crm.Contact, page StatementPage, err error) {
	found, err := donorsOf(c, account, "", f)
	if err != nil {
		return nil, page, err
	}
	var ids []int64
	ids, page.Next, page.Prev = at.page(account, &found, limit)
	page.Total = found.Count()
	people, err = LoadContacts(c, account, ids)
	return people, page, err
}

// GaveIn tells whether anyone gave in a year.
func (s *Store) GaveIn(ctx context.Context, account, year int64) (bool, error) {
	return Snapshot(ctx, s, func(c db.Conn) (gave bool, err error) {
		err = eachMonth(c, account, year*100+1, year*100+13,
			func(_ int64, _ string, g giving.Sums) { gave = gave || g.Gifts > 0 })
		return gave, err
	})
}

// CountedGifts walks through the gifts of a contact in a year of which something is left, oldest first. It reads some
// at a time, and holds no connection while the caller works.
func (s *Store) CountedGifts(ctx context.Context, account, contact, year int64) iter.Seq2[GiftRecord, error] {
	begin := time.Date(int(year), 1, 1, 0, 0, 0, 0, time.UTC)
	end := begin.AddDate(1, 0, 0).Unix()
	return func(yield func(GiftRecord, error) bool) {
		at, id, n := begin.Unix()-1, int64(math.MaxInt64), GiftsAtOnce
		for n == GiftsAtOnce {
			records, err := Snapshot(ctx, s, func(c db.Conn) ([]GiftRecord, error) {
				return giftRecords(c, sqlCountedGifts, account, contact, at, id, end, int64(GiftsAtOnce))
			})
			if err != nil {
				yield(GiftRecord{}, err)
				return
			}
			for _, record := range records {
				if at, id = record.Local.Unix(), record.ID; !yield(record, nil) {
					return
				}
			}
			n = len(records)
		}
	}
}
