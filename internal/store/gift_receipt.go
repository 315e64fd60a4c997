package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/mail"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/db"
	"donorbook/internal/pdf"
)

const (
	receiptColumns = `SELECT r.id, r.gift_id, r.amount, r.currency, r.issued_at, r.voided_at, r.replaced_by, r.said,
		g.code FROM receipt r JOIN gift g ON g.account_id = $1 AND g.id = r.gift_id WHERE r.account_id = $1`
	sqlReceipts       = receiptColumns + ` AND r.id > $2 AND r.id <= $3 ORDER BY r.id DESC`
	sqlReceiptsOfGift = receiptColumns + ` AND r.gift_id = $2 ORDER BY r.id DESC`
	sqlLastReceipt    = `SELECT COALESCE(MAX(id), 0) FROM receipt WHERE account_id = $1 AND id > $2 AND id < $3`
	sqlReceiptYears   = `SELECT COALESCE(MIN(id), 0), COALESCE(MAX(id), 0) FROM receipt WHERE account_id = $1`
	sqlVoidReceipt    = `UPDATE receipt SET voided_at = $3, replaced_by = $4 WHERE account_id = $1 AND id = $2`
)

func scanReceipt(r db.Row) thanks.Receipt {
	is := thanks.Receipt{ID: r.Int(0), Gift: r.Int(1), Amount: r.Int(2), Currency: r.Text(3),
		IssuedAt: Moment(r.Int(4)), VoidedAt: Moment(r.Int(5)), ReplacedBy: r.Int(6), GiftCode: r.Text(8)}
	_ = json.Unmarshal([]byte(r.Text(7)), &is.Text) // empty for a person who was erased
	return is
}

// ReceiptsOf are the receipts for a gift, the latest first.
func (s *Store) ReceiptsOf(ctx context.Context, account, gift int64) ([]thanks.Receipt, error) {
	return List(ctx, s, scanReceipt, sqlReceiptsOfGift, account, gift)
}

// Receipt is a receipt by its number.
func (s *Store) Receipt(ctx context.Context, account int64, code string) (thanks.Receipt, error) {
	id := thanks.ReceiptID(code)
	return Find(ctx, s, crm.ErrNotFound, scanReceipt, sqlReceipts, account, id-1, id)
}

// Receipts are those of a year, the latest first, and how many there are. They are numbered without gaps, so that a
// page of them is a range.
func (s *Store) Receipts(ctx context.Context, account int64, year int,
	p crm.PageRequest,
) (page []thanks.Receipt, total int64, err error) {
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
func (s *Store) ReceiptYears(ctx context.Context, account int64) (first, last int, err error) {
	err = s.View(ctx, func(c db.Conn) error {
		_, err := c.One(func(r db.Row) {
			first, last = int(r.Int(0)/thanks.ReceiptsAYear),
				int(r.Int(1)/thanks.ReceiptsAYear)
		}, sqlReceiptYears, account)
		return err
	})
	return first, last, err
}

// IssueReceipt makes the receipt for a gift, or finds the one that was made. Of several who ask at once, all get the
// same.
func (s *Store) IssueReceipt(ctx context.Context, account int64, code string) (GiftDocument, error) {
	now := s.Now()
	return Answered(ctx, s, account, Needs{Gifts: []int64{CodeID(account, code)}},
		func(u Unit) (made GiftDocument, err error) {
			old, err := byCode(u, &u.Gifts, code)
			if err != nil {
				return made, err
			}
			made = GiftDocument{Gift: old.Gift, Slug: slug(u, old.Campaign)}
			err = Matches(ctx, made.ETag)
			if err == nil {
				err = old.CheckVoided()
			}
			if err != nil || old.Receipt != "" {
				return made, err
			}
			if _, err = issueReceipt(u, &made.Gift, "", now); err == nil {
				made.Created, err = true, SaveGift(u, old, &made.Gift, now)
			}
			return made, err
		})
}

// PreviewReceipt is what the receipt for a gift would say with a wording, nil for the one that the organization has.
func (s *Store) PreviewReceipt(ctx context.Context, account int64, g *giving.Gift,
	wording *thanks.Wording,
) (r thanks.Receipt, err error) {
	return Snapshot(ctx, s, func(c db.Conn) (r thanks.Receipt, err error) {
		found, err := LoadContacts(c, account, []int64{g.Contact})
		if err = cmp.Or(err, Missing(len(found) == 0)); err != nil {
			return r, err
		}
		tally, err := ReadTally(c, account)
		if err != nil {
			return r, err
		}
		r = thanks.Receipt{ID: thanks.FirstReceipt(s.Now().Year()) + 1, Amount: g.Left(), Currency: g.Currency,
			IssuedAt: s.Now()}
		r.Text, err = writeReceipt(c, account, g, &found[0], wording, r.Code(), "", tally.Clock(s.Now()))
		return r, err
	})
}

// writeReceipt is what the receipt for a gift of a contact says.
func writeReceipt(c db.Conn, account int64, g *giving.Gift, contact *crm.Contact, wording *thanks.Wording, number,
	replaces string, issued time.Time,
) (text thanks.ReceiptText, err error) {
	y, err := readLetterhead(c, account)
	if err != nil {
		return text, err
	}
	facts := thanks.ReceiptFacts{Wording: y.Settings.Receipts, Number: number, Replaces: replaces, Issued: issued,
		TaxID: y.Settings.TaxID, Home: y.Settings.Home(), Benefit: g.Benefit}
	if wording != nil {
		facts.Wording = *wording
	}
	if y.Settings.Address != "" {
		facts.Address = strings.Split(y.Settings.Address, "\n")
	}
	f := thanks.Facts{Gift: g, Contact: contact, Organization: y.Organization, Receipt: &facts}
	if g.Campaign != 0 {
		of, err := FindIn(c, crm.ErrNotFound, scanCampaignName, SQLOwnCampaigns, account, []int64{g.Campaign})
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

// issueReceipt makes the next receipt of the year for a gift, which is saved afterwards. The account is locked, so no
// other one gets the number.
func issueReceipt(u Unit, g *giving.Gift, replaces string, now time.Time) (r thanks.Receipt, err error) {
	row, err := Load(u.Tx, u.Number, g.Contact)
	if err == nil && row.Contact.Erased() {
		err = crm.ErrNotFound
	}
	if err != nil {
		return r, err
	}
	issued := u.Clock(now)
	first := thanks.FirstReceipt(issued.Year())
	last, err := u.Int(sqlLastReceipt, u.Number, first, first+thanks.ReceiptsAYear)
	if err != nil {
		return r, err
	}
	r = thanks.Receipt{ID: max(first, last) + 1, Gift: g.ID, GiftCode: g.Code, Amount: g.Left(), Currency: g.Currency,
		IssuedAt: now}
	if r.Text, err = writeReceipt(u.Conn, u.Number, g, &row.Contact, nil, r.Code(), replaces, issued); err != nil {
		return r, err
	}
	said, err := json.Marshal(r.Text)
	if err != nil {
		return r, err
	}
	u.Insert(ReceiptTable, u.Number, r.ID, g.ID, r.Amount, r.Currency, Seconds(now), int64(0), int64(0), string(said))
	g.Receipt = r.Code()
	return r, nil
}

// replaceReceipt voids the receipt for a gift that was changed, and makes another one if anything is left. Where that
// cannot be made, the gift has none until someone asks for it.
func replaceReceipt(u Unit, g *giving.Gift, now time.Time) error {
	old := g.Receipt
	var next thanks.Receipt
	if g.Receipt = ""; g.HasArrived() {
		made, err := issueReceipt(u, g, old, now)
		switch {
		case err == nil:
			next = made
		case !errors.As(err, new(*doc.Invalid)) && !errors.Is(err, crm.ErrNotFound):
			return err
		}
	}
	return u.Run(sqlVoidReceipt, u.Number, thanks.ReceiptID(old), Seconds(now), next.ID)
}

// PaperOf is the size of paper where a currency is used.
func PaperOf(currency string) pdf.Size {
	if slices.Contains([]string{"USD", "CAD"}, currency) {
		return pdf.Letter
	}
	return pdf.A4
}

// ReceiptName is how the file of a receipt is called.
func ReceiptName(r *thanks.Receipt) string { return "receipt-" + r.Code() + ".pdf" }

// WriteReceipt writes a receipt as a PDF file.
func WriteReceipt(w io.Writer, paper pdf.Size, r *thanks.Receipt) error {
	d := pdf.New(w, paper, r.Text.Title+" "+r.Code())
	DrawReceipt(d, r)
	return d.Close()
}

// DrawReceipt writes a receipt on a page of its own.
func DrawReceipt(d *pdf.Document, receipt *thanks.Receipt) {
	body := pdf.Style{Size: 10.5}
	d.Page()
	for i, line := range receipt.Text.From {
		d.Paragraph(pdf.Style{Size: 10.5, Bold: i == 0}, line.Printed())
	}
	d.Address(Collect(receipt.Text.To, mail.Line.Printed)...)
	if !receipt.VoidedAt.IsZero() {
		d.Paragraph(pdf.Style{Size: 14, Bold: true}, "VOID"+doc.EmptyWhere(receipt.ReplacedBy == 0,
			": replaced by receipt "+thanks.ReceiptCode(receipt.ReplacedBy)))
	}
	d.Paragraph(pdf.Style{Size: 15, Bold: true}, receipt.Text.Title)
	d.Space(8)
	d.Table(body, []pdf.Column{{Share: 2}, {Share: 3}}, func(yield func([]string) bool) {
		for _, fact := range receipt.Text.Facts {
			if !yield([]string{fact.Label, fact.Value.Printed()}) {
				return
			}
		}
	})
	for _, line := range receipt.Text.Says {
		d.Space(8)
		d.Paragraph(body, line.Printed())
	}
}

// completeThanks adds the receipt to a thank-you that goes with one: as it is when the mail is sent, so that a gift
// that was corrected meanwhile has its new one. For a gift that was given back meanwhile there is no mail; if it comes
// back, it waits for thanks again.
func (s *Store) completeThanks(ctx context.Context, account int64, m mail.Mail,
	says mail.Message,
) (*mail.Message, error) {
	var found []GiftRecord
	var receipts []thanks.Receipt
	var paper pdf.Size
	err := s.View(ctx, func(c db.Conn) (err error) {
		if found, err = giftRecords(c, SQLGiftsByID, account, []int64{giftAbout(m)}); err != nil || !says.Receipt {
			return err
		}
		settings, err := AccountSettings(c, account)
		if paper = PaperOf(settings.Currency); err == nil {
			receipts, err = db.List(c, scanReceipt, sqlReceiptsOfGift, account, giftAbout(m))
		}
		return err
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	if !found[0].HasArrived() {
		return nil, s.thankAgain(ctx, account, m)
	}
	if len(receipts) > 0 && receipts[0].VoidedAt.IsZero() {
		r := &receipts[0]
		says.Says = append(append(says.Says, mail.NewLine("Your receipt is attached as a PDF file. It says:")),
			r.Lines()...)
		says.Files = []mail.File{{Name: ReceiptName(r), Type: "application/pdf",
			Write: func(w io.Writer) error { return WriteReceipt(w, paper, r) }}}
	}
	return &says, nil
}
