package gifts

import (
	"context"
	"iter"
	"math"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/giving"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
)

const sqlCountedGifts = shownGift + ` WHERE g.account_id = $1 AND g.contact_id = $2 AND (g.given_at, g.id) > ($3, $4) AND g.given_at < $5 AND g.net > 0
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

// Statements reads one page of what contacts gave in a year: those whom the list of donors shows with the same filter, in the order of their ids.
// It takes turns with other work that costs much, and is bounded by contacts and gifts.
func (s *GiftStore) Statements(ctx context.Context, account int64, f giving.DonorFilter, at DonorPlace, read func(*crm.Contact, giving.Statement)) (page StatementPage, err error) {
	err = s.Heavy.Through(ctx, account, func() error {
		people, err := store.Snapshot(ctx, s.Base, func(c db.Conn) (contacts []crm.Contact, err error) {
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
	store         *GiftStore
	account, year int64
	currency      string
	campaigns     map[int64]CampaignName
}

// NewStatements begins to make statements.
func (s *GiftStore) NewStatements(account, year int64) *StatementReader {
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
func (s *GiftStore) Statement(ctx context.Context, account, contact, year int64) (made giving.Statement, err error) {
	err = s.Heavy.Through(ctx, account, func() error {
		made, err = s.NewStatements(account, year).Of(ctx, contact)
		return err
	})
	return made, err
}

// StatementContacts are the contacts of a page.
func StatementContacts(c db.Conn, account int64, f giving.DonorFilter, at DonorPlace, limit int) (people []crm.Contact, page StatementPage, err error) {
	found, err := donorsOf(c, account, "", f)
	if err != nil {
		return nil, page, err
	}
	var ids []int64
	ids, page.Next, page.Prev = at.page(account, &found, limit)
	page.Total = found.Count()
	people, err = contacts.LoadContacts(c, account, ids)
	return people, page, err
}

// GaveIn tells whether anyone gave in a year.
func (s *GiftStore) GaveIn(ctx context.Context, account, year int64) (bool, error) {
	return store.Snapshot(ctx, s.Base, func(c db.Conn) (gave bool, err error) {
		err = eachMonth(c, account, year*100+1, year*100+13, func(_ int64, _ string, g giving.Sums) { gave = gave || g.Gifts > 0 })
		return gave, err
	})
}

// CountedGifts walks through the gifts of a contact in a year of which something is left, oldest first. It reads some at a time, and holds
// no connection while the caller works.
func (s *GiftStore) CountedGifts(ctx context.Context, account, contact, year int64) iter.Seq2[GiftRecord, error] {
	begin := time.Date(int(year), 1, 1, 0, 0, 0, 0, time.UTC)
	end := begin.AddDate(1, 0, 0).Unix()
	return func(yield func(GiftRecord, error) bool) {
		at, id, n := begin.Unix()-1, int64(math.MaxInt64), GiftsAtOnce
		for n == GiftsAtOnce {
			records, err := store.Snapshot(ctx, s.Base, func(c db.Conn) ([]GiftRecord, error) {
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
