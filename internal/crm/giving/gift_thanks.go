package giving

import (
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
)

// Thanks is whether a gift still has to be thanked for, or how that was done, when and by whom. It is empty for a gift
// that no one was asked to thank for: one that came with a file whose gifts need no thanks, or long after it was given.
type Thanks struct {
	How string
	At  time.Time
	By  string // who, as the history names them
}

// ToThank is what a gift says that someone has to thank for. The others are how it was done; "none" is not at all, on
// purpose.
const (
	ToThank       = "waiting"
	ThankedMail   = "mail"
	ThankedLetter = "letter"
	ThankedOther  = "other" // such as a call
	ThankedNone   = "none"
)

// WaysToThank are all that a gift can say.
var WaysToThank = []string{ToThank, ThankedMail, ThankedLetter, ThankedOther, ThankedNone}

// Done tells whether someone has decided about the thanks.
func (t Thanks) Done() bool { return t.How != "" && t.How != ToThank }

// thanksTime is how old a gift may be when it is recorded, so that its giver still waits for a word.
const thanksTime = 90 * 24 * time.Hour

// ask lets a gift wait for thanks that has just arrived.
func (g *Gift) ask(in *GiftInput, now time.Time) {
	isAsked := in.Filed == nil || in.Filed.Thank
	if isAsked && !in.Anonymous && g.Thanks.How == "" && g.Status == Succeeded && !g.Test &&
		now.Sub(g.At) < thanksTime {
		g.Thanks = Thanks{How: ToThank}
	}
}

// Awaits tells whether someone still has to thank for the gift. One that was given back, or has not arrived, needs no
// thanks.
func (g *Gift) Awaits() bool { return g.Thanks.How == ToThank && g.HasArrived() }

// Thanked is the gift after someone has thanked for it in a way, or wants to be asked again.
func (g Gift) Thanked(how, by string, now time.Time) Gift {
	if g.Thanks = (Thanks{How: how, At: now.UTC().Truncate(time.Second), By: by}); how == ToThank {
		g.Thanks = Thanks{How: how}
	}
	return g
}

// checkThanks finds what a gift cannot say about its thanks.
func checkThanks(c *doc.Checker, how *string) {
	if how != nil && !slices.Contains(WaysToThank, *how) {
		c.AddAt(doc.Place{}, "thanks", doc.OneOf, "waiting, mail, letter, other, none")
	}
}

// appendThanks appends what is known, and nothing for most gifts.
func (g *Gift) appendThanks(dst []byte) []byte {
	if g.Thanks.How == "" {
		return dst
	}
	dst = doc.AppendText(append(dst, `,"thanks":`...), g.Thanks.How)
	if g.Thanks.Done() {
		dst = crm.ContactTime.Append(append(dst, `,"thanked_at":`...), g.Thanks.At)
		dst = doc.AppendText(append(dst, `,"thanked_by":`...), g.Thanks.By)
	}
	return dst
}

// loadThanks reads what a stored gift says; it is false for a key of something else.
func (g *Gift) loadThanks(r *doc.Reader, key string) bool {
	switch key {
	case "thanks":
		g.Thanks.How = r.Text()
	case "thanked_at":
		g.Thanks.At = crm.ContactTime.Read(r)
	case "thanked_by":
		g.Thanks.By = r.Text()
	case "receipt":
		g.Receipt = r.Text()
	case "voided":
		g.loadVoid(r)
	default:
		return false
	}
	return true
}
