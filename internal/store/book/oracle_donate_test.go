package book

import (
	"fmt"
	"path"

	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/pay"
	"donorbook/internal/store/donations"
)

// donate has someone give on the page of a campaign: who pays becomes a contact, and who does not leaves nothing.
func (o *oracle) donate(st oracleStep) {
	if len(o.ids) >= 6 {
		return
	}
	if _, err := o.s.Connect(o.Context(), o.account, donations.Connecting{Provider: pay.PretendName, Key: "none"},
		"https://donors.example"); err != nil {
		o.fault("donate", "%v", err)
	}
	o.names++
	c := &o.campaigns[st.A%len(o.campaigns)]
	email := fmt.Sprintf("d%s%d@example.org", o.word, o.names)
	w := donate.Wish{Way: donate.Online, Frequency: donate.Once, Amount: int64(5+st.B%50) * 100, FirstName: "F",
		LastName: "L", Email: email}
	to := func(*donate.Donation) string { return "https://donors.example/thanks" }
	d, h, err := o.s.Give(o.Context(), o.account, c, donate.NewID(), w, donations.Pages{Success: to, Cancel: to})
	if o.refused("donate", err) {
		return
	}
	choice := []pay.Choice{pay.ChoosePay, pay.ChoosePay, pay.ChoosePay, pay.ChooseDecline}[st.C%4]
	if _, err := o.desk.Choose(path.Base(h.URL), choice); err != nil {
		o.fault("donate", "%v", err)
	}
	if d, err = o.other.LookAtDonation(o.Context(), o.account.Number, d.ID); err != nil {
		o.fault("donate", "%v", err)
	}
	if choice != pay.ChoosePay {
		o.say("donation of %s that is not paid", email)
		return
	}
	g, err := o.s.GiftRecord(o.Context(), o.account.Number, d.Gift)
	if err != nil || d.State != donate.Paid {
		o.fault("donate", "%+v is paid: %v", d, err)
	}
	says := newSaying()
	says.set["email:"+email] = true
	o.add(g.Contact, says)
	o.gifts[g.Code] = &oracleGift{of: g.Contact, first: g.Contact, amount: w.Amount, status: giving.Succeeded,
		campaign: c.ID, receipt: g.Receipt != "", paid: true}
	if g.Thanks.Done() {
		o.gifts[g.Code].thanks = g.Thanks.How
		o.mails[g.Code]++
	}
	o.say("donation of %d by %s, gift %s", w.Amount, o.name(g.Contact), g.Code)
}
