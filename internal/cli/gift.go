package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"donorbook/internal/config"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/store/gifts"
)

// commandLine is who makes changes here, as the history of a gift names them.
const commandLine = "command line"

// phoneRegion is the setting of the server that decides how phone numbers are read.
type phoneRegion struct {
	PhoneRegion string `help:"Country of phone numbers written without +, as a two-letter code. Default: ${default}." default:"US" env:"DONORBOOK_PHONE_REGION" placeholder:"CC" name:"phone-region"`
}

func (r phoneRegion) check() error {
	if !text.IsPhoneRegion(r.PhoneRegion) {
		return &config.Problem{Flag: "phone-region", Reason: fmt.Sprintf("%q is not a two-letter country code, such as US", r.PhoneRegion)}
	}
	return nil
}

type giftAdd struct {
	Account    string  `help:"Account ID." required:"" placeholder:"ID"`
	Contact    string  `help:"ID, email or phone of the contact who gave." required:"" xor:"giver" placeholder:"WHO"`
	Anonymous  bool    `help:"The donor is unknown: record the gift for the account's anonymous contact." required:"" xor:"giver"`
	Amount     string  `help:"Amount paid, such as 50 or 49.90." required:"" placeholder:"N"`
	Currency   string  `help:"Currency, such as USD. Default: the campaign's, or else the account's." placeholder:"CODE"`
	Date       string  `help:"Date: a day (2026-11-01) or a time (2026-11-01T18:00:00Z). Default: now." placeholder:"WHEN"`
	Method     string  `help:"${methods}. Default: ${default}." default:"other" placeholder:"METHOD"`
	Status     string  `help:"succeeded, pending (pledged), failed or cancelled. Default: succeeded." placeholder:"STATUS"`
	Campaign   string  `help:"ID, slug or title of the campaign. Default: none." placeholder:"ID"`
	Note       *string `help:"A note about the gift." placeholder:"TEXT"`
	ExternalID *string `help:"ID in the system that the gift comes from. A gift whose ID is known is not recorded again." placeholder:"ID" name:"external-id"`
	JSON       bool    `help:"Print the gift as the API returns it." name:"json"`
	phoneRegion
}

func (giftAdd) Help() string {
	return `Prints the ID of the gift.

	donorbook gift add --account ID --contact ada@example.org --amount 50 --method check
	donorbook gift add --account ID --contact "+1 617-555-0100" --amount 25 --date 2026-11-01 --campaign winter-coat-drive
	donorbook gift add --account ID --anonymous --amount 12.50 --method cash`
}

func (c *giftAdd) Run(t *terminal) error {
	if err := c.check(); err != nil {
		return err
	}
	return t.withAccount(c.Account, func(s *book.Book, account access.Account) error {
		in, err := c.input(t, s, account.Number)
		if err != nil {
			return err
		}
		made, err := s.CreateGift(t.ctx, account.Number, in)
		if err != nil {
			return err
		}
		what := "Recorded"
		if made.Existing {
			what = "Already recorded:"
		}
		fmt.Fprintf(t.stderr, "%s %s from %s, gift number %s.\n", what, text.Money(made.Payment().Amount, made.Currency), oneLine(made.Giver.Name()), giving.GiftNumber(made.ID))
		if c.JSON {
			return t.printJSON(json.RawMessage(made.Append(nil)))
		}
		_, err = fmt.Fprintln(t.stdout, made.Code)
		return err
	})
}

func (c *giftAdd) input(t *terminal, s *book.Book, account int64) (in giving.GiftInput, err error) {
	zone, err := s.Timezone(t.ctx, account)
	if err != nil {
		return in, err
	}
	now := time.Now().In(zone)
	var faults doc.Invalid
	in.Amount = giving.ParseMoney(&faults, "amount", c.Amount, "", false)
	date := cmp.Or(c.Date, now.Format(time.DateOnly))
	in.GivenAt, in.Method, in.Currency, in.Status, in.Note, in.ExternalID = &date, &c.Method, &c.Currency, &c.Status, c.Note, c.ExternalID
	if in.Anonymous = c.Anonymous; !c.Anonymous {
		contact, err := s.ContactNamed(t.ctx, account, c.Contact, c.PhoneRegion)
		if err != nil {
			return in, err
		}
		in.Contact = &contact
	}
	if c.Campaign != "" {
		campaign, err := s.CampaignNamed(t.ctx, account, c.Campaign)
		if err != nil {
			return in, err
		}
		in.Campaign = &campaign
	}
	return in, in.Validate(&faults, true, c.PhoneRegion, now)
}

type giftList struct {
	Account  string `help:"Account ID." required:"" placeholder:"ID"`
	Contact  string `help:"Only gifts from the contact with this ID, email or phone." placeholder:"WHO"`
	Campaign string `help:"Only gifts to the campaign with this ID, slug or title." placeholder:"ID"`
	Status   string `help:"Only gifts with this status: succeeded, pending, failed or cancelled." placeholder:"STATUS"`
	Method   string `help:"Only gifts by this method, such as check." placeholder:"METHOD"`
	From     string `help:"Only gifts since this day or time." placeholder:"WHEN"`
	To       string `help:"Only gifts through this day, or before this time." placeholder:"WHEN"`
	Page     int64  `help:"Which page to show. Default: ${default}." default:"1" placeholder:"N"`
	PerPage  int64  `help:"Gifts per page, up to 1000. Default: ${default}." default:"100" placeholder:"N" name:"per-page"`
	All      bool   `help:"Show all pages."`
	JSON     bool   `help:"Print a JSON array of gifts as the API returns them." name:"json"`
	phoneRegion
}

func (giftList) Help() string {
	return `Lists gifts in the order they were recorded. Times are in UTC.

	donorbook gift list --account ID --from 2026-01-01 --to 2026-12-31 --method check
	donorbook gift list --account ID --all --json > gifts.json`
}

// giftsAtOnce is how many gifts are looked for together where all are shown: their ids are in memory at once, they themselves are not.
const giftsAtOnce = 10_000

func (c *giftList) Run(t *terminal) error {
	if err := c.check(); err != nil {
		return err
	}
	page := crm.PageRequest{Page: c.Page, PerPage: c.PerPage}
	if c.All {
		page = crm.PageRequest{Page: 1, PerPage: giftsAtOnce}
	}
	if c.Page < 1 || c.Page > 1e9 {
		return &config.Problem{Flag: "page", Reason: fmt.Sprintf("%d is not a page", c.Page)}
	}
	if c.PerPage < 1 || c.PerPage > 1000 {
		return &config.Problem{Flag: "per-page", Reason: fmt.Sprintf("%d is not a number from 1 to 1000", c.PerPage)}
	}
	return t.withAccount(c.Account, func(s *book.Book, account access.Account) error {
		filter, err := c.filter(t, s, account.Number)
		if err != nil {
			return err
		}
		w := bufio.NewWriter(t.stdout)
		list := giftPrinter{w: w, asJSON: c.JSON}
		list.begin()
		for more := true; more; page.Page++ {
			var found store.ListResult
			var part []byte
			part, found, err = s.Gifts(t.ctx, account.Number, campaign.OwnCampaigns, filter, page, nil, list.flush)
			if err == nil {
				_, err = list.flush(part, found)
			}
			if err != nil {
				return err
			}
			last := page.LastPage(found.Total)
			if more = c.All && page.Page < last; !c.All && last > 1 {
				fmt.Fprintf(t.stderr, "Page %d of %d, %d gifts in total; use --all to list them all.\n", page.Page, last, found.Total)
			}
		}
		if err := list.end(); err != nil {
			return err
		}
		return w.Flush()
	})
}

func (c *giftList) filter(t *terminal, s *book.Book, account int64) (filter giving.GiftFilter, err error) {
	to := c.To
	if day, isDay, ok := text.ParseMoment(to); ok && isDay {
		to = day.AddDate(0, 0, 1).Format(time.DateOnly)
	}
	filter, err = giving.ParseGiftFilter(func(name string) string {
		return map[string]string{"status": c.Status, "method": c.Method, "transacted_after": c.From, "transacted_before": to}[name]
	})
	if err == nil && !filter.From.IsZero() && !filter.To.IsZero() && !filter.From.Before(filter.To) {
		err = &config.Problem{Flag: "to", Reason: c.To + " is before --from " + c.From}
	}
	if err == nil && c.Contact != "" {
		filter.Contact, err = s.ContactNamed(t.ctx, account, c.Contact, c.PhoneRegion)
	}
	if err == nil && c.Campaign != "" {
		filter.Campaign, err = s.CampaignNamed(t.ctx, account, c.Campaign)
	}
	return filter, err
}

// giftPrinter prints gifts as they are read: there may be many.
type giftPrinter struct {
	w      *bufio.Writer
	asJSON bool
	any    bool
}

// giftLine is a gift in the table.
type giftLine struct {
	ID        string      `json:"id"`
	Date      string      `json:"transacted_at"`
	FirstName string      `json:"first_name"`
	LastName  string      `json:"last_name"`
	Company   string      `json:"company"`
	Contact   int64       `json:"contact_id"`
	Amount    json.Number `json:"amount"`
	Currency  string      `json:"currency"`
	Method    string      `json:"method"`
	Status    string      `json:"status"`
	Campaign  *string     `json:"campaign_code"`
	Entries   []struct {
		Amount json.Number `json:"amount"`
	} `json:"transactions"`
}

// isRefunded tells whether less is left than was paid. Entries that were corrected add up to the amount.
func (l *giftLine) isRefunded() bool {
	amount, _ := l.Amount.Float64() // written by the store
	for _, entry := range l.Entries {
		part, _ := entry.Amount.Float64()
		amount -= part
	}
	return amount > 0.0001 // more than what is lost by binary fractions, and less than any unit
}

// giftRow has columns of a fixed width, so that no row has to wait for the others.
const giftRow = "%-16s  %-10s  %-16v  %12s  %-8s  %-13s  %-20s  %-24s  %s\n"

func (p *giftPrinter) begin() {
	if p.asJSON {
		_, _ = p.w.WriteString("[") // Flush tells
		return
	}
	_, _ = fmt.Fprintf(p.w, giftRow, "ID", "DATE", "CONTACT", "AMOUNT", "CURRENCY", "METHOD", "STATUS", "CAMPAIGN", "NAME")
}

// flush prints gifts in their wire form, separated by commas.
func (p *giftPrinter) flush(part []byte, _ store.ListResult) ([]byte, error) {
	var gifts []json.RawMessage
	list := append(append([]byte{'['}, bytes.TrimPrefix(part, []byte(","))...), ']')
	if err := json.Unmarshal(list, &gifts); err != nil {
		return nil, err
	}
	for _, gift := range gifts {
		if err := p.print(gift); err != nil {
			return nil, err
		}
	}
	return part[:0], nil
}

func (p *giftPrinter) print(gift json.RawMessage) error {
	if p.asJSON {
		lead := ",\n  "
		if !p.any {
			lead = "\n  "
		}
		p.any = true
		var text bytes.Buffer
		if err := json.Indent(&text, gift, "  ", "  "); err != nil {
			return err
		}
		_, err := p.w.WriteString(lead + text.String())
		return err
	}
	var line giftLine
	if err := json.Unmarshal(gift, &line); err != nil {
		return err
	}
	campaign := "-"
	if line.Campaign != nil {
		campaign = *line.Campaign
	}
	if line.isRefunded() {
		line.Status += ", refunded"
	}
	_, err := fmt.Fprintf(p.w, giftRow, line.ID, line.Date[:10], line.Contact, line.Amount, line.Currency, line.Method, line.Status, campaign, oneLine(giving.Giver{FirstName: line.FirstName, LastName: line.LastName, Company: line.Company}.Name()))
	return err
}

func (p *giftPrinter) end() error {
	text := ""
	if p.asJSON {
		text = "]\n"
		if p.any {
			text = "\n]\n"
		}
	}
	_, err := p.w.WriteString(text)
	return err
}

var methods = strings.Join(giving.Methods, ", ")

// giftAmount names a gift and an amount of it.
type giftAmount struct {
	Account string  `help:"Account ID." required:"" placeholder:"ID"`
	Amount  *string `help:"Amount. Default: all of it." placeholder:"N"`
	Gift    string  `arg:"" help:"Gift ID; see \"donorbook gift list\"."`
	JSON    bool    `help:"Print the gift as the API returns it." name:"json"`
}

// run moves money by a function of the store, and says what it did.
func (c *giftAmount) run(t *terminal, move func(*book.Book, context.Context, int64, string, *int64, string) (gifts.GiftDocument, error), did string) error {
	var faults doc.Invalid
	var amount *int64
	if c.Amount != nil {
		if amount = giving.ParseMoney(&faults, "amount", *c.Amount, "", false); amount == nil {
			return &config.Problem{Flag: "amount", Reason: "is empty; omit it for the whole amount"}
		}
	}
	if err := faults.Err(); err != nil {
		return err
	}
	return t.withAccount(c.Account, func(s *book.Book, account access.Account) error {
		made, err := move(s, t.ctx, account.Number, c.Gift, amount, "")
		if err != nil {
			return fmt.Errorf("gift %q: %w", c.Gift, err)
		}
		moved := made.Entries[len(made.Entries)-1].Amount
		fmt.Fprintf(t.stderr, did+"; net after refunds: %s.\n", text.Money(max(moved, -moved), made.Currency), oneLine(made.Giver.Name()), text.Money(made.Left(), made.Currency))
		return t.printGift(c.JSON, made)
	})
}

// printGift prints a gift as the API shows it, where that is asked for.
func (t *terminal) printGift(asked bool, made gifts.GiftDocument) error {
	if !asked {
		return nil
	}
	return t.printJSON(json.RawMessage(made.Append(nil)))
}

type giftRefund struct{ giftAmount }

func (giftRefund) Help() string {
	return `Records a refund and lowers every total that the gift is part of. Donorbook doesn't send the refund: issue it through your bank or payment provider. "gift undo-refund" undoes it.

	donorbook gift refund --account ID GIFT --amount 5`
}

func (c *giftRefund) Run(t *terminal) error {
	return c.run(t, (*book.Book).RefundGift, "Refunded %s to %s")
}

type giftUndoRefund struct{ giftAmount }

func (giftUndoRefund) Help() string {
	return `Undoes a refund that was recorded by mistake, or whose money came back. The ledger keeps the refund, and every total counts the money again.

	donorbook gift undo-refund --account ID GIFT`
}

func (c *giftUndoRefund) Run(t *terminal) error {
	return c.run(t, (*book.Book).UndoRefund, "Undid a refund of %s to %s")
}

type giftCorrect struct {
	Account    string `help:"Account ID." required:"" placeholder:"ID"`
	Amount     string `help:"Amount paid." placeholder:"N"`
	Method     string `help:"Method: ${methods}." placeholder:"METHOD"`
	Fee        string `help:"The payment provider's fee." placeholder:"N"`
	FeeCovered string `help:"The part of the fee that the donor covered." placeholder:"N" name:"fee-covered"`
	Gift       string `arg:"" help:"Gift ID; see \"donorbook gift list\"."`
	JSON       bool   `help:"Print the gift as the API returns it." name:"json"`
}

func (giftCorrect) Help() string {
	return `Corrects a mistake. The ledger keeps the wrong payment, gets an entry that reverses it, then the right one; every total follows. A gift from a payment provider cannot be corrected. A partly refunded gift can be corrected after "gift undo-refund".

	donorbook gift correct --account ID GIFT --amount 500
	donorbook gift correct --account ID GIFT --method cash`
}

func (c *giftCorrect) Run(t *terminal) error {
	var faults doc.Invalid
	in := giving.GiftInput{Correction: true, Amount: giving.ParseMoney(&faults, "amount", c.Amount, "", false), Fee: giving.ParseMoney(&faults, "fee", c.Fee, "", false),
		FeeCovered: giving.ParseMoney(&faults, "fee_covered", c.FeeCovered, "", false)}
	if c.Method != "" {
		in.Method = &c.Method
	}
	if c.Amount+c.Method+c.Fee+c.FeeCovered == "" {
		return &config.Problem{Flag: "amount", Reason: "is missing: give --amount, --method, --fee or --fee-covered"}
	}
	if err := in.Validate(&faults, false, "", time.Now()); err != nil {
		return err
	}
	return t.withAccount(c.Account, func(s *book.Book, account access.Account) error {
		made, err := s.UpdateGift(t.ctx, account.Number, c.Gift, in)
		if err != nil {
			return fmt.Errorf("gift %q: %w", c.Gift, err)
		}
		fmt.Fprintf(t.stderr, "Corrected: %s by %s, from %s.\n", text.Money(made.Payment().Amount, made.Currency), made.Method, oneLine(made.Giver.Name()))
		return t.printGift(c.JSON, made)
	})
}
