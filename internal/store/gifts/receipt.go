package gifts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/campaigns"
	"donorbook/internal/store/contacts"
)

const (
	receiptColumns    = `SELECT r.id, r.gift_id, r.amount, r.currency, r.issued_at, r.voided_at, r.replaced_by, r.said, g.code FROM receipt r JOIN gift g ON g.account_id = $1 AND g.id = r.gift_id WHERE r.account_id = $1`
	sqlReceipts       = receiptColumns + ` AND r.id > $2 AND r.id <= $3 ORDER BY r.id DESC`
	sqlReceiptsOfGift = receiptColumns + ` AND r.gift_id = $2 ORDER BY r.id DESC`
	sqlLastReceipt    = `SELECT COALESCE(MAX(id), 0) FROM receipt WHERE account_id = $1 AND id > $2 AND id < $3`
	sqlReceiptYears   = `SELECT COALESCE(MIN(id), 0), COALESCE(MAX(id), 0) FROM receipt WHERE account_id = $1`
	sqlVoidReceipt    = `UPDATE receipt SET voided_at = $3, replaced_by = $4 WHERE account_id = $1 AND id = $2`
)

func scanReceipt(r db.Row) thanks.Receipt {
	is := thanks.Receipt{ID: r.Int(0), Gift: r.Int(1), Amount: r.Int(2), Currency: r.Text(3), IssuedAt: store.Moment(r.Int(4)), VoidedAt: store.Moment(r.Int(5)), ReplacedBy: r.Int(6), GiftCode: r.Text(8)}
	_ = json.Unmarshal([]byte(r.Text(7)), &is.Text) // empty for a person who was erased
	return is
}

// ReceiptsOf are the receipts for a gift, the latest first.
func (s *GiftStore) ReceiptsOf(ctx context.Context, account, gift int64) ([]thanks.Receipt, error) {
	return store.List(ctx, s.Base, scanReceipt, sqlReceiptsOfGift, account, gift)
}

// Receipt is a receipt by its number.
func (s *GiftStore) Receipt(ctx context.Context, account int64, code string) (thanks.Receipt, error) {
	id := thanks.ReceiptID(code)
	return store.Find(ctx, s.Base, crm.ErrNotFound, scanReceipt, sqlReceipts, account, id-1, id)
}

// Receipts are those of a year, the latest first, and how many there are. They are numbered without gaps, so that a page of them is a range.
func (s *GiftStore) Receipts(ctx context.Context, account int64, year int, p crm.PageRequest) (page []thanks.Receipt, total int64, err error) {
	err = s.View(ctx, func(c db.Conn) error {
		first := thanks.FirstReceipt(year)
		last, err := c.Int(sqlLastReceipt, account, first, first+thanks.ReceiptsAYear)
		if err != nil || last == 0 {
			return err
		}
		total = last - first
		last -= int64(p.Page-1) * int64(p.PerPage)
		page, err = db.List(c, scanReceipt, sqlReceipts, account, max(first, last-int64(p.PerPage)), max(first, last))
		return err
	})
	return page, total, err
}

// ReceiptYears are the first and the last year that have receipts, 0 where there are none.
func (s *GiftStore) ReceiptYears(ctx context.Context, account int64) (first, last int, err error) {
	err = s.View(ctx, func(c db.Conn) error {
		_, err := c.One(func(r db.Row) { first, last = int(r.Int(0)/thanks.ReceiptsAYear), int(r.Int(1)/thanks.ReceiptsAYear) }, sqlReceiptYears, account)
		return err
	})
	return first, last, err
}

// IssueReceipt makes the receipt for a gift, or finds the one that was made. Of several who ask at once, all get the same.
func (s *GiftStore) IssueReceipt(ctx context.Context, account int64, code string) (GiftDocument, error) {
	now := s.Now()
	return store.Answered(ctx, s.Base, account, store.Needs{Gifts: []int64{CodeID(account, code)}}, func(t *store.Tx, a *store.Account) (made GiftDocument, err error) {
		old, err := byCode(t, a, &Of(a).Gifts, code)
		if err != nil {
			return made, err
		}
		made = GiftDocument{Gift: old.Gift, Slug: slug(t, a, old.Campaign)}
		err = store.Matches(ctx, made.ETag)
		if err == nil {
			err = old.CheckVoided()
		}
		if err != nil || old.Receipt != "" {
			return made, err
		}
		if _, err = issueReceipt(t, a, &made.Gift, "", now); err == nil {
			made.Created, err = true, SaveGift(t, a, old, &made.Gift, now)
		}
		return made, err
	})
}

// PreviewReceipt is what the receipt for a gift would say with a wording, nil for the one that the organization has.
func (s *GiftStore) PreviewReceipt(ctx context.Context, account int64, g *giving.Gift, wording *thanks.Wording) (r thanks.Receipt, err error) {
	return store.Snapshot(ctx, s.Base, func(c db.Conn) (r thanks.Receipt, err error) {
		found, err := contacts.LoadContacts(c, account, []int64{g.Contact})
		if err = cmp.Or(err, store.Missing(len(found) == 0)); err != nil {
			return r, err
		}
		tally, err := store.ReadTally(c, account)
		if err != nil {
			return r, err
		}
		r = thanks.Receipt{ID: thanks.FirstReceipt(s.Now().Year()) + 1, Amount: g.Left(), Currency: g.Currency, IssuedAt: s.Now()}
		r.Text, err = writeReceipt(c, account, g, &found[0], wording, r.Code(), "", tally.Clock(s.Now()))
		return r, err
	})
}

// writeReceipt is what the receipt for a gift of a contact says.
func writeReceipt(c db.Conn, account int64, g *giving.Gift, contact *crm.Contact, wording *thanks.Wording, number, replaces string, issued time.Time) (text thanks.ReceiptText, err error) {
	y, err := readLetterhead(c, account)
	if err != nil {
		return text, err
	}
	facts := thanks.ReceiptFacts{Wording: y.Settings.Receipts, Number: number, Replaces: replaces, Issued: issued, TaxID: y.Settings.TaxID, Home: y.Settings.Home(), Benefit: g.Benefit}
	if wording != nil {
		facts.Wording = *wording
	}
	if y.Settings.Address != "" {
		facts.Address = strings.Split(y.Settings.Address, "\n")
	}
	f := thanks.Facts{Gift: g, Contact: contact, Organization: y.Organization, Receipt: &facts}
	if g.Campaign != 0 {
		of, err := store.FindIn(c, crm.ErrNotFound, scanCampaignName, campaigns.SQLOwnCampaigns, account, []int64{g.Campaign})
		if err != nil && !errors.Is(err, crm.ErrNotFound) {
			return text, err
		}
		if f.Campaign = of.Title; facts.Benefit == (giving.Benefit{}) && of.Currency == g.Currency {
			facts.Benefit = of.Benefit
		}
		y.Settings.NoReturn = y.Settings.NoReturn && !of.Event // who comes to an event may get something
	}
	if facts.Benefit == (giving.Benefit{}) && y.Settings.NoReturn {
		facts.Benefit.What = giving.None
	}
	return thanks.WriteReceipt(&f)
}

// issueReceipt makes the next receipt of the year for a gift, which is saved afterwards. The account is locked, so no other one gets the number.
func issueReceipt(t *store.Tx, a *store.Account, g *giving.Gift, replaces string, now time.Time) (r thanks.Receipt, err error) {
	row, err := contacts.Load(t, a.Account, g.Contact)
	if err == nil && row.Contact.Erased() {
		err = crm.ErrNotFound
	}
	if err != nil {
		return r, err
	}
	issued := a.Clock(now)
	first := thanks.FirstReceipt(issued.Year())
	last, err := t.Int(sqlLastReceipt, a.Account, first, first+thanks.ReceiptsAYear)
	if err != nil {
		return r, err
	}
	r = thanks.Receipt{ID: max(first, last) + 1, Gift: g.ID, GiftCode: g.Code, Amount: g.Left(), Currency: g.Currency, IssuedAt: now}
	if r.Text, err = writeReceipt(t.Conn, a.Account, g, &row.Contact, nil, r.Code(), replaces, issued); err != nil {
		return r, err
	}
	said, err := json.Marshal(r.Text)
	if err != nil {
		return r, err
	}
	t.Insert(store.ReceiptTable, a.Account, r.ID, g.ID, r.Amount, r.Currency, store.Seconds(now), int64(0), int64(0), string(said))
	g.Receipt = r.Code()
	return r, nil
}

// replaceReceipt voids the receipt for a gift that was changed, and makes another one if anything is left. Where that cannot be made, the gift has none until someone asks for it.
func replaceReceipt(t *store.Tx, a *store.Account, g *giving.Gift, now time.Time) error {
	old := g.Receipt
	var next thanks.Receipt
	if g.Receipt = ""; g.HasArrived() {
		made, err := issueReceipt(t, a, g, old, now)
		switch {
		case err == nil:
			next = made
		case !errors.As(err, new(*doc.Invalid)) && !errors.Is(err, crm.ErrNotFound):
			return err
		}
	}
	return t.Run(sqlVoidReceipt, a.Account, thanks.ReceiptID(old), store.Seconds(now), next.ID)
}
