package console

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/store/gifts"
)

// giftView is the page of one gift.
type giftView struct {
	Form           *form // that was refused, if any
	Refund         *form
	Receive        *form // of a promise
	Gift           *giving.Gift
	Name, Number   string // the gift's
	Contact        link
	Campaign, Plan link
	Marks          []mark
	Ledger         []ledgerRow
	Left, Payout   string
	Fee, Covered   string // "" where there is none
	MayRefund      bool
	History        []giftHistory
}

// Received tells whether the money came.
func (v giftView) Received() bool { return v.Gift.Status == giving.Succeeded }

// Promised tells whether it may still come.
func (v giftView) Promised() bool { return v.Gift.Status == giving.Pending }

func (r *request) giftOf() (gifts.GiftRecord, error) {
	return r.store.GiftRecord(r.Context(), r.account(), r.PathValue("gift"))
}

// giftPage shows a gift, with the forms that refund it and that receive a promise.
func (r *request) giftPage(record gifts.GiftRecord) (err error) {
	g := &record.Gift
	names, err := r.namesOf(record)
	if err != nil {
		return err
	}
	view := giftView{
		Form: r.form, Refund: r.form.ifSentTo("/refund"), Receive: r.form.ifSentTo("/receive"), Gift: g, Number: giving.GiftNumber(g.ID), Marks: giftMarks(g, text.WallClock(r.now(), r.zone())), Ledger: ledgerRows(g),
		Contact: link{giverName(g.Giver), r.path(contactPath(g.Contact))}, Campaign: r.campaignLink(g.Campaign, names.campaigns),
		Left: text.Money(g.Left(), g.Currency), Payout: text.Money(g.Payment().Payout(), g.Currency),
		Fee: moneyOrNone(g.Payment().Fee, g.Currency), Covered: moneyOrNone(g.Payment().FeeCovered, g.Currency),
		MayRefund: g.Status == giving.Succeeded && g.Left() > 0, History: names.history(record),
	}
	view.Name = giftName(g)
	if g.PlanCode != "" {
		view.Plan = link{"View plan", r.path(planPath(g.PlanCode))}
	}
	view.Refund.setUnsent("amount", text.MoneyInput(g.Left(), g.Currency))
	view.Receive.setUnsent("transacted_at", r.today().Format(time.DateOnly))
	for _, form := range []*form{view.Refund, view.Receive} {
		form.setUnsent(seenField, g.Version())
	}
	return r.render("gift", page{Title: view.Name, Section: "gifts", Form: r.form, Data: view})
}

func moneyOrNone(minor int64, currency string) string {
	if minor == 0 {
		return ""
	}
	return text.Money(minor, currency)
}

// giftHistory is one change of a gift, in words for people.
type giftHistory struct {
	At    time.Time
	Who   string
	Lines []string
}

// giftNames are the names of what a gift is and was about.
type giftNames struct {
	campaigns map[int64]gifts.CampaignName
	contacts  map[int64]crm.Contact
}

// maxHistoryNames bounds how many contacts are looked up for one page. The others are called by their ids.
const maxHistoryNames = 20

func (r *request) namesOf(record gifts.GiftRecord) (names giftNames, err error) {
	campaigns, contacts := []int64{record.Campaign}, []int64{}
	for _, event := range record.Events {
		for _, change := range event.Changes {
			for _, id := range []string{change.Before, change.After} {
				switch change.Field {
				case "campaign_id":
					campaigns = append(campaigns, idOf(id))
				case "contact_id":
					contacts = append(contacts, idOf(id))
				}
			}
		}
	}
	if names.contacts, err = r.store.ContactNames(r.Context(), r.account(), contacts[:min(len(contacts), maxHistoryNames)]); err == nil {
		names.campaigns, err = r.store.CampaignNames(r.Context(), r.account(), campaigns)
	}
	return names, err
}

// history is what became of a gift since it was recorded, the latest first.
func (n giftNames) history(record gifts.GiftRecord) (all []giftHistory) {
	for i := len(record.Events) - 1; i >= 0; i-- {
		event := record.Events[i]
		told := giftHistory{At: event.At, Who: event.Who}
		for _, change := range event.Changes {
			if line := n.line(change, record.Currency); line != "" {
				told.Lines = append(told.Lines, line)
			}
		}
		all = append(all, told)
	}
	return all
}

// line is a sentence about one change, "" where another one says the same.
func (n giftNames) line(change giving.GiftChange, currency string) string {
	switch change.Field {
	case "refund":
		return text.MoneyOf(change.After, currency) + " was refunded."
	case "refund_undone":
		return "The refund of " + text.MoneyOf(change.After, currency) + " was undone."
	}
	say := n.value(change.Field, currency)
	if say == nil {
		return ""
	}
	label := labelOf(change.Field)
	before, after := spokenTimes(say(plainValue(change.Before)), say(plainValue(change.After)))
	switch {
	case before == after: // as far as it is shown
		return label + " changed."
	case before == "":
		return label + " set to " + after + "."
	case after == "":
		return label + " " + before + " removed."
	}
	if change.Field == "amount" || change.Field == "method" {
		return label + " corrected from " + before + " to " + after + "."
	}
	return label + " changed from " + before + " to " + after + "."
}

// value is how the values of a field are said, nil for a field that follows from others.
func (n giftNames) value(field, currency string) func(string) string {
	switch field {
	case "campaign_id":
		return func(id string) string { return quoted(n.campaigns[idOf(id)].Title, id) }
	case "contact_id":
		return func(id string) string { return cmp.Or(contactName(n.contacts[idOf(id)]), id) }
	case "status", "method":
		return spoken
	case "transacted_at", "check_deposited_at":
		return func(text string) string { return text }
	case "amount", "fee", "fee_covered":
		return func(written string) string {
			if written == "0" {
				return ""
			}
			return text.MoneyOf(written, currency)
		}
	case "dedication":
		return dedicationWords
	case "note", "check_number", "external_id", "plan_id":
		return func(text string) string { return quoted(shortened(text, noticeValue, 0), "") }
	}
	return nil
}

func quoted(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return "“" + text + "”"
}

// plainValue is a value of the history without the signs of the wire form.
func plainValue(value string) string {
	text := ""
	switch {
	case value == "null":
		return ""
	case strings.HasPrefix(value, `"`) && json.Unmarshal([]byte(value), &text) == nil:
		return text
	}
	return value
}

// dedicationWords say whom a gift honors, given the wire form.
func dedicationWords(value string) string {
	var d struct{ Type, Name string }
	if json.Unmarshal([]byte(value), &d) != nil {
		return ""
	}
	return strings.TrimSpace(spoken(d.Type) + " " + d.Name)
}

// idOf is a number that was typed or linked, 0 where it is none.
func idOf(text string) int64 {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 0 {
		return 0
	}
	return id
}

func idText(id int64) string {
	if id == 0 {
		return ""
	}
	return strconv.FormatInt(id, 10)
}
