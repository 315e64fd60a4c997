package giving

import (
	"donorbook/internal/console/page"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
)

// review is why a person must look at a donation, and what to do.
type review struct{ Why, Next string }

// reviewed is a review with its reason, which a person has done with one at a time.
type reviewed struct {
	review
	Reason donate.Doubt
}

// reviewsOf are the reasons of a doubt, in words.
func reviewsOf(d donate.Doubt) (all []reviewed) {
	for _, reason := range d.All() {
		all = append(all, reviewed{reviews[reason], reason})
	}
	return all
}

var reviews = map[donate.Doubt]review{
	donate.WrongMode: {"This payment is in the provider’s other mode: a test payment at a live connection, or the other way around. Nothing was recorded.",
		"Check in the provider’s dashboard which mode it is in. A real payment can be recorded by hand as a gift."},
	donate.Foreign: {"The payment names another donation or another organization. Nothing was recorded.",
		"Find the payment in the provider’s dashboard. If it is yours, record it by hand as a gift; if it is not, refund it there."},
	donate.WrongCurrency: {"It was paid in another currency than the form asked for.",
		"Compare the gift with the payment in the provider’s dashboard, and ask the donor if it is not clear."},
	donate.WrongAmount: {"What was paid differs from what the form asked for, or the payments of the gift were changed by hand.",
		"Compare the gift with the payment in the provider’s dashboard. The gift has what was really paid; correct it if that is wrong."},
	donate.TooMuchBack: {"More money went back than was given.",
		"Compare the refunds of the gift with those in the provider’s dashboard. One that you recorded by hand may be there twice: undo it on the page of the gift."},
	donate.Disputed: {"The donor’s bank takes the money back, because the card holder disputes the payment.",
		"Answer in the provider’s dashboard before the deadline there: with evidence that the gift was meant, or by accepting. What is decided arrives here by itself."},
	donate.NotHere: {"This payment was made at the provider, and not on a page of yours: in the dashboard, or by a payment link.",
		"Take it over to make a gift of it, or mark it as reviewed if it is no gift."},
	donate.OtherName: {"The contact with this email or phone has another name. The gift was recorded for that contact, whose name was not changed.",
		"Check that it is the right person. If two people share the email, edit the gift and choose the other one. A thank-you with the receipt goes out when you mark it as reviewed."},
	donate.Archived: {"The donor’s contact is archived, and nothing is merged into it: a new gift makes a new contact, and a recurring one stays with the archived contact.",
		"If it is the same person, restore the archived contact, and merge the new one with it. If it should stay archived, mark this as reviewed."},
}

// donationStates are what people call the states of a donation, in the order in which they follow each other.
var donationStates = []struct {
	state donate.State
	page.Mark
}{
	{donate.Started, page.Mark{Label: "Started"}}, {donate.Open, page.Mark{Label: "On the payment page"}}, {donate.Processing, page.Mark{Label: "On its way", Color: "warn"}},
	{donate.Paid, page.Mark{Label: "Paid", Color: "good"}}, {donate.Failed, page.Mark{Label: "Not paid", Color: "bad"}}, {donate.Expired, page.Mark{Label: "Abandoned"}},
}

func stateOptions() (all []page.Option) {
	for _, s := range donationStates {
		all = append(all, page.Option{Value: string(s.state), Label: s.Label})
	}
	return all
}

// donationMarks say what became of a donation, and of the gift that it is now, nil for none: what was paid may have
// gone back.
func donationMarks(d *donate.Donation, g *giving.Gift) (marks []page.Mark) {
	for _, s := range donationStates {
		switch {
		case s.state != d.State:
		case g != nil && g.Standing() != string(giving.Succeeded):
			marks = append(marks, page.GiftMark(g))
		case d.IsPromise():
			marks = append(marks, page.Mark{Label: "Promised", Color: "warn"})
			if !d.IsConfirmed() {
				marks = append(marks, page.Mark{Label: "Not confirmed"})
			}
		default:
			marks = append(marks, s.Mark)
		}
	}
	if d.Wish.Frequency != donate.Once && d.Wish.Frequency != "" {
		marks = append(marks, page.Mark{Label: page.Spoken(d.Wish.Frequency), Color: "good"})
	}
	switch {
	case d.IsTest():
		marks = append(marks, page.Mark{Label: "Test", Color: "warn"})
	case d.Provider == donate.Pretend:
		marks = append(marks, page.Mark{Label: "Demo", Color: "warn"})
	}
	if d.Doubt != "" {
		marks = append(marks, page.Mark{Label: "Please review", Color: "bad"})
	}
	return marks
}

// providerName is what people call a payment provider, "" for none.
func providerName(provider string) string {
	if provider == donate.Pretend {
		return "the test provider"
	}
	return page.Capital(provider)
}
