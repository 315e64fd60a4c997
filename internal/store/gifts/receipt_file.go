package gifts

import (
	"context"
	"io"
	"slices"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/mail"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/db"
	"donorbook/internal/pdf"
	"donorbook/internal/store"
)

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
	d.Address(store.Collect(receipt.Text.To, mail.Line.Printed)...)
	if !receipt.VoidedAt.IsZero() {
		d.Paragraph(pdf.Style{Size: 14, Bold: true}, "VOID"+doc.EmptyWhere(receipt.ReplacedBy == 0, ": replaced by receipt "+thanks.ReceiptCode(receipt.ReplacedBy)))
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

// completeThanks adds the receipt to a thank-you that goes with one: as it is when the mail is sent, so that a gift that was corrected meanwhile has its new one. For a gift that was given back meanwhile
// there is no mail; if it comes back, it waits for thanks again.
func (s *GiftStore) completeThanks(ctx context.Context, account int64, m mail.Mail, says mail.Message) (*mail.Message, error) {
	var found []GiftRecord
	var receipts []thanks.Receipt
	var paper pdf.Size
	err := s.View(ctx, func(c db.Conn) (err error) {
		if found, err = giftRecords(c, SQLGiftsByID, account, []int64{giftAbout(m)}); err != nil || !says.Receipt {
			return err
		}
		settings, err := store.AccountSettings(c, account)
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
		says.Says = append(append(says.Says, mail.NewLine("Your receipt is attached as a PDF file. It says:")), r.Lines()...)
		says.Files = []mail.File{{Name: ReceiptName(r), Type: "application/pdf", Write: func(w io.Writer) error { return WriteReceipt(w, paper, r) }}}
	}
	return &says, nil
}
