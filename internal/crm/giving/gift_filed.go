package giving

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"math/big"
	"slices"
	"strings"
	"time"
	"unicode"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// Filed is what a row of a file says about a gift and a client cannot: other systems have told before what became of
// it.
type Filed struct {
	Back     *GivenBack // nil where all of it stayed
	Won      bool       // a dispute about it was won
	Plan     string     // what its plan is called elsewhere; one that is not known is made. "" is none
	Every    string     // how often the gifts of that plan come; "" is not known
	Pledge   string     // the external id of the pledge that it pays for; "" is none
	Pays     bool       // it pays for a pledge, whichever that is
	WriteOff bool       // the row is no gift, but gives that pledge up
	RefundOf string     // of a row that is a refund: the external id of the gift; "" is not told
	IsRefund bool       // the row is no gift, but gives one back
	Mentions []string   // of a refund that names no gift: words of its texts that may be an external id
	Key      string     // of a refund: all that its row says, in short
	// of a row without an id: the external id that an earlier version has made from all it says
	Earlier string
	IDs     []crm.ExternalID // all that the row calls the gift, by the headings of the columns

	Same int64 // the contact of rows before that name the same giver, and no email, phone or id; 0 is none
	// the giver may be a contact with the same name and address, made up to this number; 0 is that none may
	Neighbors int64

	Thank bool // a new gift waits for thanks as one that was typed does
	// of a row with the id, email or phone of a contact of another name: Force is a gift of a contact of its own,
	// Dedupe one of that contact, Skip none
	OtherName crm.CreateMode
}

// cleanIDs are ids that a gift can have, each once, in the order of their sources.
func cleanIDs(ids []crm.ExternalID) (clean []crm.ExternalID) {
	for _, id := range ids {
		isFit := id.Source != "" && id.Value != "" && len(id.Source) <= 64 && !strings.Contains(id.Source, ":") &&
			len(id.Value) <= maxReference && doc.TextRule(id.Source) == "" && doc.TextRule(id.Value) == ""
		if isFit && !slices.ContainsFunc(clean, func(other crm.ExternalID) bool {
			return other.Source == id.Source &&
				(!isWaiting(id) || other == id)
		}) {
			clean = append(clean, id)
		}
	}
	slices.SortFunc(clean, func(a, b crm.ExternalID) int {
		return cmp.Or(strings.Compare(a.Source, b.Source), strings.Compare(a.Value, b.Value))
	})
	return clean[:min(len(clean), maxIDs)]
}

// shortestTelling is how long an id is, at least, that no other table has by chance.
const shortestTelling = 8

// TellsAlone tells whether an id names one gift in whatever column it stands: it is long, and has letters and digits,
// such as ch_3PAAA1.
func TellsAlone(id crm.ExternalID) bool {
	return len(id.Value) >= shortestTelling && !isWaiting(id) && id.Source != PledgeSource &&
		strings.ContainsAny(id.Value, "0123456789") && strings.ContainsFunc(id.Value, unicode.IsLetter)
}

// Learn is the gift with the ids that a row has for it, beside those that it has.
func (g Gift) Learn(filed *Filed) (after Gift, isMore bool) {
	if filed == nil || len(filed.IDs) == 0 || len(filed.IDs) == 1 && filed.IDs[0].Value == g.ExternalID {
		return g, false
	}
	known := g.IDs
	g.IDs = cleanIDs(slices.Concat(known, filed.IDs))
	return g, len(g.IDs) > len(known)
}

// LearnedIDs is the field of the history with ids that a gift has got.
const LearnedIDs = "external_ids"

// Learned are the ids of the gift that it did not have before, as they are written.
func (g *Gift) Learned(before *Gift) (ids []string) {
	for i := range g.IDs {
		if !slices.Contains(before.IDs, g.IDs[i]) {
			ids = append(ids, g.IDs[i].Written())
		}
	}
	return ids
}

// Original is the external id of the gift that a refund gives back, and what the refund itself is known by. A row that
// has no other id has that of the gift.
func (f *Filed) Original(external string) (gift, refund string) {
	switch f.RefundOf {
	case "", external:
		return external, f.Key
	}
	return f.RefundOf, external
}

// PlanOf is the contact whose plan a row of a file names by what it is called elsewhere, 0 where there is none. plan is
// the one that is known.
func (in *GiftInput) PlanOf(plan *Plan) int64 {
	if plan == nil || in.Filed == nil || in.Filed.Plan == "" || value(in.Plan) != "" {
		return 0
	}
	return plan.Contact
}

// GivenBack is money of a gift that went back.
type GivenBack struct {
	Amount *int64  // in ten-thousandths; nil is all of it
	On     *string // a date or a time; nil is the day of the gift

	Disputed bool // it comes again if the dispute is won

	at time.Time
}

// The rules of what a file says about refunds.
const (
	BackOverAmount doc.Rule = "must not be more than the amount"
)

// checkFiled checks what went back, and what the plan is called elsewhere.
func (in *GiftInput) checkFiled(c *doc.Checker) {
	if in.Filed == nil {
		return
	}
	c.CheckText(doc.Place{}, "plan", in.Filed.Plan, maxReference)
	back := in.Filed.Back
	if back == nil {
		return
	}
	if back.Amount != nil && in.Amount != nil && *back.Amount > *in.Amount {
		c.AddAt(doc.Place{}, "refunded", BackOverAmount)
	}
	if back.On != nil && !c.HasFault("refunded_at") {
		back.at = CheckTime(c, doc.Place{}, "refunded_at", *back.On, c.Now.Add(ClockSkew), doc.NotInFuture)
	}
}

// ValidateRefund checks a row of a file that gives money back. Who gave it is known by the gift.
func (in *GiftInput) ValidateRefund(faults *doc.Invalid, now time.Time) error {
	c := doc.NewChecker(faults, false)
	c.Now = now
	if in.Amount == nil {
		c.AddAt(doc.Place{}, "amount", doc.Required)
	}
	GiftTable.Check(c, doc.Place{}, in)
	in.checkMoney(c)
	if in.Contact == nil {
		in.checkGiver(c) // by whom its gift is found, or who has it while it waits for its gift
	}
	doc.SortFaults(&c.Invalid, giftFields)
	return c.Err()
}

// takeBack is a new gift less what a file says went back.
func (g Gift) takeBack(in *GiftInput) (Gift, error) {
	if in.Filed == nil || in.Filed.Back == nil || g.Status != Succeeded {
		return g, nil
	}
	return g.refund(in.Filed.Back.entry(&g), in.Filed.Back.Amount, in.Filed.Back.when(&g))
}

// entry is the id of the entry for money that went back. That of a dispute is made from what the gift is called
// elsewhere, so that it is known when the dispute is won.
func (b *GivenBack) entry(g *Gift) string {
	if b == nil || !b.Disputed {
		return text.Random62(codeLength)
	}
	_, next := g.disputeIDs()
	return next
}

// disputeIDs are the id of the last entry for a dispute, "" for none, and that of the next.
func (g *Gift) disputeIDs() (last, next string) {
	for next = entryID("dispute " + g.ExternalID); g.hasEntry(next); next = entryID(next) {
		last = next
	}
	return last, next
}

// winDispute takes back the refund of a dispute that a file says was won, but for what the file says was refunded all
// the same. The refund stays if anything was done about the money since.
func (g Gift) winDispute(in *GiftInput, told int64, now time.Time) (after Gift, isWon bool) {
	last := &g.Entries[g.lastTold()]
	id, _ := g.disputeIDs()
	amount := min(-last.Amount, g.Refunded()-told)
	if !in.Filed.Won || g.Status != Succeeded || last.ID != id || amount <= 0 || len(g.Entries) >= maxEntries {
		return g, false
	}
	return g.comeAgain(amount, now), true
}

func (b *GivenBack) when(g *Gift) time.Time {
	if b.at.IsZero() {
		return g.At
	}
	return b.at
}

// sameWithin is how far apart two systems may date one payment.
const sameWithin = 7 * 24 * time.Hour

// The rules that a row of a file breaks whose external id a gift has that is another payment.
const (
	otherMoney doc.Rule = "belongs to %v, which has a different amount or date"
	otherDonor doc.Rule = "belongs to %v, which is from a different donor"
	// two systems count from 1
	OtherGift doc.Rule = "belongs to %v, which has a different amount or date and another donor"
)

// otherPayment is why a gift is not the payment that a row of a file with the same external id describes, "" where it
// is. What else the row says is another description.
func (in *GiftInput) otherPayment(g *Gift) doc.Rule {
	units, ok := text.MinorUnits(value(in.Amount), g.Currency)
	currency := value(in.Currency)
	isSame := ok && (units == g.amount() || units == g.Entries[0].Amount) &&
		(currency == "" || currency == g.Currency) &&
		(g.Status == Pending || in.at.Sub(g.At).Abs() <= sameWithin)
	switch isOther := in.otherGiver(&g.Giver, g.Contact); {
	case !isSame && isOther:
		return OtherGift
	case !isSame:
		return otherMoney
	case isOther:
		return otherDonor
	}
	return ""
}

// otherGiver tells whether a row of a file is not about the giver of a gift. One email is enough, and so is one name:
// people change either. A row that names no one contradicts no one.
func (in *GiftInput) otherGiver(g *Giver, contact int64) bool {
	email, name, is := value(in.Email), in.Giver.PersonName(),
		crm.PersonName{First: g.FirstName, Last: g.LastName, Company: g.Company}
	if name.First+name.Last == "" && name.Company != "" { // of a company, the gift may name a person
		is.First, is.Last = "", ""
	}
	switch {
	case in.Anonymous && in.Filed != nil, in.Contact != nil && *in.Contact == contact, email != "" &&
		text.FoldEmail(email) == text.FoldEmail(g.Email):
		return false
	case name.String() == "":
		return in.Contact != nil || email != "" && g.Email != ""
	}
	return name.Contradicts(is)
}

// Advance is a gift that is known after a file has told what became of it since: a promise was kept or given up, money
// went back, or a dispute was won. What people have undone since stays undone.
func (g Gift) Advance(in *GiftInput, now time.Time) (after Gift, isChanged bool, err error) {
	status := GiftStatus(value(in.Status))
	if g.Status == Pending && status != "" && status != Pending {
		if g, err = g.Change(&GiftInput{Status: in.Status, at: in.at}, nil, now); err != nil {
			return g, false, err
		}
		isChanged = true
	}
	told, at := int64(0), now
	switch {
	case g.Status != Succeeded:
	case status == Failed, status == Cancelled:
		told = g.amount()
	case in.Filed.Back != nil:
		told, at = g.amount(), in.Filed.Back.when(&g)
		if sent := in.Filed.Back.Amount; sent != nil {
			told, _ = text.MinorUnits(*sent, g.Currency)
		}
	}
	if more := min(told-g.everRefunded(), g.Left()); more > 0 && len(g.Entries) < maxEntries {
		return g.giveBack(in.Filed.Back.entry(&g), more, at), true, nil
	}
	after, isWon := g.winDispute(in, told, now)
	return after, isChanged || isWon, nil
}

// everRefunded is what was ever given back, whether people have undone that or not. What an import has told that was
// undone was never told.
func (g *Gift) everRefunded() (amount int64) {
	for i := range g.Entries {
		if e := &g.Entries[i]; e.Amount < 0 && !e.IsReversal() && !g.isUntold(i) {
			amount -= e.Amount
		}
	}
	return amount
}

// OtherCurrency is broken by a refund that is not in the currency of its gift.
const OtherCurrency doc.Rule = "is %v, but the gift is in %v: record the refund on the page of the gift"

// RefundFiled gives back what a row of a file says, in ten-thousandths. The entry has an id that is made from what the
// row is called elsewhere, so that the same row is known when it comes again. isKnown tells that no money moves; the
// gift may know by which row the money went back, from now on.
func (g Gift) RefundFiled(reference string, in *GiftInput) (after Gift, isKnown bool, err error) {
	switch currency := value(in.Currency); {
	case currency != "" && currency != g.Currency:
		return g, false, doc.NewInvalid("currency", OtherCurrency, currency, g.Currency)
	case !text.SignFits(in.Sign, g.Currency):
		return g, false, doc.NewInvalid("amount", OtherCurrency, in.Sign, g.Currency)
	}
	id := entryID(reference)
	for g.hasEntry(id) {
		if !g.hasEntry(untoldID(id)) {
			return g, true, nil
		}
		id = entryID(id)
	}
	sent, _ := text.MinorUnits(value(in.Amount), g.Currency)
	if after, isKnown = g.claim(id, sent); isKnown {
		return after, true, nil
	}
	after, err = g.refund(id, in.Amount, in.at)
	return after, false, err
}

// TakenBack is which of the gifts of a donor a row of a file gives back that names none, -1 where none fits or several
// do: the one that knows the row, or else the only one of which a refund is known that no row has told yet, of the
// whole amount, or of a larger one. It was given before.
func TakenBack(gifts []*Gift, reference string, in *GiftInput) (at int) {
	at = -1
	best, isMany := 0, false
	for i, g := range gifts {
		after, isKnown, err := g.RefundFiled(reference, in)
		sent, _ := text.MinorUnits(value(in.Amount), g.Currency)
		fit := 1
		switch isEntry := isKnown && g.hasEntry(entryID(reference)); {
		case err != nil, g.At.After(in.at.Add(12 * time.Hour)), g.Status != Succeeded, !isKnown && after.Net() < 0:
			continue
		case isEntry:
			return i
		case isKnown:
			fit = 3
		case sent == g.amount():
			fit = 2
		}
		if isMany = fit == best || isMany && fit < best; fit > best {
			at, best = i, fit
		}
	}
	if isMany {
		return -1
	}
	return at
}

// claim is a gift whose refund, which a person or a column has told before, gets the id of the row that tells of it
// now. So the next row of the same amount is another refund. A column may tell the sum of several refunds: the rest of
// it waits for other rows. A dispute keeps its id, since it may be won.
func (g Gift) claim(id string, amount int64) (after Gift, ok bool) {
	dispute, _ := g.disputeIDs()
	at := -1
	for i := range g.Entries {
		e := &g.Entries[i]
		isOpen := e.Amount < 0 && !e.IsReversal() && (!isMade(e.ID) || e.ID == dispute) && !g.isUntold(i)
		if isOpen && -e.Amount >= amount && (at < 0 || e.Amount > g.Entries[at].Amount) {
			at = i
		}
	}
	if at < 0 || g.Entries[at].ID == dispute {
		return g, at >= 0
	}
	g.Entries = slices.Clone(g.Entries)
	e := &g.Entries[at]
	if rest := -e.Amount - amount; rest > 0 && len(g.Entries) < maxEntries {
		other := *e
		e.FeeCovered = -share(-e.FeeCovered, amount, -e.Amount)
		e.Amount = -amount
		other.Amount, other.FeeCovered = -rest, other.FeeCovered-e.FeeCovered
		g.Entries = slices.Insert(g.Entries, at+1, other)
		e = &g.Entries[at]
	}
	e.ID = id
	return g, true
}

// madeMark begins the ids of entries that are made from what a file has told; of others, one in 15 million begins so.
const madeMark = "0000"

// entryID is an id that is made from a text.
func entryID(reference string) string {
	sum := sha256.Sum256([]byte(reference))
	return madeMark + text.Encode62(new(big.Int).SetBytes(sum[:8]), codeLength-len(madeMark))
}

func isMade(id string) bool { return strings.HasPrefix(id, madeMark) }

// untoldID is the id of the entry against one whose import was undone.
func untoldID(id string) string { return entryID("untold " + id) }

func (g *Gift) hasEntry(id string) bool {
	return slices.ContainsFunc(g.Entries, func(e Entry) bool { return e.ID == id })
}

// isUntold tells whether the import that has told an entry was undone, or whether the entry undoes another one so.
func (g *Gift) isUntold(i int) bool {
	id := g.Entries[i].ID
	return g.hasEntry(untoldID(id)) || slices.ContainsFunc(g.Entries[:i],
		func(e Entry) bool { return untoldID(e.ID) == id })
}

// lastTold is the place of the last entry that was not undone with its import.
func (g *Gift) lastTold() int {
	i := len(g.Entries) - 1
	for i > 0 && g.isUntold(i) {
		i--
	}
	return i
}

// promise is a pledge of another amount.
func (g Gift) promise(is Entry) Gift {
	old := *g.Payment()
	is.ID = text.Random62(codeLength)
	return g.with(Entry{ID: text.Random62(codeLength), Amount: -old.Amount, Fee: -old.Fee, FeeCovered: -old.FeeCovered},
		is)
}

func joinNote(note, more string) string {
	if note == "" {
		return more
	}
	return note + "\n\n" + more
}

// TakeBack is the gift as it was before a change that an import has made to it, the last one that was not taken back.
// ok is false where that cannot be.
func (g Gift) TakeBack(told doc.Differences, now time.Time) (before Gift, ok bool) {
	g.Entries = slices.Clone(g.Entries)
	was := *g.Payment()
	ok = true
	for i := range told {
		d := &told[i]
		switch d.Field {
		case "refund", "refund_undone":
			moved := g.recorded(d.After)
			if d.Field == "refund" {
				moved = -moved
			}
			g, ok = g.untell(moved, now)
		case "amount":
			was.Amount = g.recorded(d.Before)
		case "fee":
			was.Fee = g.recorded(d.Before)
		case "fee_covered":
			was.FeeCovered = g.recorded(d.Before)
		case "receipt": // saving the gift sees to it
		case "note": // the history keeps its beginning only
			for _, closed := range []string{paidInFull, writtenOff, giftHasCome} {
				g.Note = strings.TrimSuffix(strings.TrimSuffix(g.Note, closed), "\n\n")
			}
		case LearnedIDs:
			var learned []string
			ok = json.Unmarshal(d.After, &learned) == nil
			g.IDs = slices.DeleteFunc(slices.Clone(g.IDs),
				func(id crm.ExternalID) bool { return slices.Contains(learned, id.Written()) })
		case "status":
			ok = json.Unmarshal(d.Before, &g.Status) == nil
		case "transacted_at":
			ok = json.Unmarshal(d.Before, &g.At) == nil
		default:
			ok = false
		}
		if !ok {
			return g, false
		}
	}
	if g.Status != Succeeded {
		g.Payment().CapturedAt = time.Time{}
	}
	if was.Amount == g.Payment().Amount {
		return g, true
	}
	return g.promise(was), len(g.Entries)+2 <= maxEntries
}

// recorded is an amount of the history, 0 where it is none.
func (g *Gift) recorded(value json.RawMessage) int64 {
	units, _ := text.ParseDecimal(strings.Trim(string(value), `"`), text.Decimals(g.Currency), 18)
	return units
}

// untell takes back the last entries that have moved an amount: refunds, or the undoing of one. The ledger keeps them,
// and gets entries against them.
func (g Gift) untell(moved int64, now time.Time) (before Gift, ok bool) {
	now = now.UTC().Truncate(time.Second)
	for isRefund := moved < 0; moved != 0; {
		last := g.Entries[g.lastTold()]
		against := Entry{ID: untoldID(last.ID), Amount: -last.Amount, FeeCovered: -last.FeeCovered, CapturedAt: now}
		if !isRefund {
			against.CapturedAt, against.RefundedAt = time.Time{}, now
		}
		moved -= last.Amount
		if last.ID == g.Payment().ID || last.IsReversal() || last.Amount < 0 != isRefund || moved != 0 &&
			moved < 0 != isRefund {
			return g, false
		}
		g = g.with(against)
	}
	g.Payment().RefundedAt = time.Time{}
	if g.Left() == 0 {
		g.Payment().RefundedAt = now
	}
	return g, true
}
