package book

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/mail"
	"donorbook/internal/crm/text"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/pay"
	"donorbook/internal/store"
	"donorbook/internal/store/donations"
	"donorbook/internal/store/jobs"
)

// oracleGift is a gift of the oracle. It is of the contact that it was recorded for, and so of the one that this
// contact is part of.
type oracleGift struct {
	of, first        int64          // the contact now, and the one that it was recorded for
	place            *time.Location // of the organization when it was recorded
	amount, refunded int64          // cents
	status           giving.GiftStatus
	campaign         int64
	plan             string
	note             string
	thanks           string // how someone has thanked; "" where no one did
	receipt          bool   // it has one
	paid             bool   // through a payment provider
	voided           bool
	reason           string // why it was voided last
	reasonOf         int64  // the contact that it was of then
}

// net is what counts.
func (g *oracleGift) net() int64 {
	if g.status != giving.Succeeded || g.voided {
		return 0
	}
	return g.amount - g.refunded
}

// root is the contact that a contact is part of, or itself.
func (o *oracle) root(id int64) int64 {
	for o.contacts[id].into != 0 {
		id = o.contacts[id].into
	}
	return id
}

// giver picks a contact that can give, 0 for none.
func (o *oracle) giver(n int) int64 {
	if id := o.pick(n); id != 0 && !o.contacts[id].archived {
		return id
	}
	return 0
}

func (o *oracle) gift(st oracleStep) {
	id := o.giver(st.A)
	if id == 0 {
		return
	}
	g := &oracleGift{of: id, first: id, place: o.place, amount: int64(1+st.B%50) * 100,
		status: []giving.GiftStatus{giving.Succeeded, giving.Succeeded, giving.Succeeded, giving.Pending,
			giving.Failed}[st.A>>4%5]}
	body := fmt.Sprintf(`{"amount":%d,"method":"cash","transacted_at":"2026-01-%02dT0%d:30:00Z","status":%q`,
		g.amount/100, 1+st.C%28, st.A%10, g.status)
	if plans := slices.Sorted(maps.Keys(o.plans)); st.B>>6%4 == 0 && len(plans) > 0 {
		g.plan = plans[st.A%len(plans)]
		g.of = o.plans[g.plan]
		if root := o.contacts[o.root(g.of)]; root.archived || root.erased {
			return
		}
		g.first = g.of
		body += fmt.Sprintf(`,"plan_id":%q`, g.plan)
	}
	if st.B>>8%2 == 0 {
		g.campaign = o.campaigns[st.A%len(o.campaigns)].ID
		body += fmt.Sprintf(`,"campaign_id":%d`, g.campaign)
	}
	if st.C>>6%2 == 0 {
		o.names++
		g.note = fmt.Sprintf("g%s%d.", o.word, o.names)
		body += fmt.Sprintf(`,"note":%q`, g.note)
	}
	if st.C>>7%8 == 0 {
		body += `,"currency":"EUR"`
	}
	if st.C>>3%8 == 0 {
		body += `,"fee":0.7`
	}
	body += fmt.Sprintf(`,"contact_id":%d}`, o.root(g.of))
	made, err := o.CreateGift(o.Context(), o.Number, giftInput(o, body, true, o.Now()))
	if o.refused("gift", err) {
		return
	}
	o.gifts[made.Code] = g
	o.say("gift %s of %s: %s", made.Code, o.name(g.of), body)
}

// pickGift picks a gift, "" for none.
func (o *oracle) pickGift(n int) string {
	codes := slices.Sorted(maps.Keys(o.gifts))
	if len(codes) == 0 {
		return ""
	}
	return codes[n%len(codes)]
}

func (o *oracle) refund(st oracleStep) {
	code := o.pickGift(st.A)
	if code == "" {
		return
	}
	g := o.gifts[code]
	amount := min(g.net(), int64(1+st.B%20)*100)
	if amount <= 0 || o.contacts[o.root(g.of)].erased {
		return
	}
	sent := must(giving.DecodeRefund(doc.NewBody(fmt.Appendf(nil, `{"amount":%d}`, amount/100))))(o)
	if _, err := o.RefundGift(o.Context(), o.Number, code, sent, ""); o.refused("refund", err) {
		return
	}
	g.refunded += amount
	g.receipt = g.receipt && g.net() > 0
	o.say("refund %d of %s", amount, code)
	o.tellRefund(code)
	if st.B>>6%2 == 0 {
		return
	}
	if _, err := o.UndoRefund(o.Context(), o.Number, code, nil, ""); !o.refused("undo refund", err) {
		g.refunded = 0
		o.say("undo all refunds")
	}
}

// void voids a gift, and the next time it undoes that. Money that a provider has stays.
func (o *oracle) void(st oracleStep) {
	code := o.pickGift(st.A)
	if code == "" || o.contacts[o.root(o.gifts[code].of)].erased {
		return
	}
	g := o.gifts[code]
	if g.voided {
		must(o.UndoVoid(o.Context(), o.Number, code, ""))(o)
		g.voided = false
		o.say("undo void of %s", code)
		return
	}
	o.names++
	reason := fmt.Sprintf("v%s%d.", o.word, o.names)
	_, err := o.VoidGift(o.Context(), o.Number, code, reason, "")
	if g.paid != (err != nil) {
		o.fault("void", "of %s: %v", code, err)
	}
	if err != nil {
		return
	}
	g.voided, g.reason, g.reasonOf = true, reason, g.of
	o.say("void %s: %s", code, reason)
}

// correct changes a gift: how much it was, whose it is, or what it was for.
func (o *oracle) correct(st oracleStep) {
	code, id := o.pickGift(st.A), o.giver(st.B)
	if code == "" || id == 0 {
		return
	}
	g := o.gifts[code]
	if root := o.contacts[o.root(g.of)]; root.erased || root.archived || g.voided {
		return
	}
	is, body := *g, ""
	switch {
	case g.status == giving.Pending && st.C%2 == 0:
		is.status = giving.Succeeded
		body = `{"status":"succeeded"}`
	// what a provider has is not corrected here
	case st.C>>2%3 == 0 && g.refunded == 0 && g.status == giving.Succeeded && !g.paid:
		is.amount = int64(1+st.B%50) * 100
		body = fmt.Sprintf(`{"correction":true,"amount":%d}`, is.amount/100)
	case st.C>>2%3 == 1 && g.plan == "":
		is.of = id
		body = fmt.Sprintf(`{"contact_id":%d}`, id)
	default:
		is.campaign = 0
		body = `{"campaign_id":null}`
	}
	if _, err := o.UpdateGift(o.Context(), o.Number, code,
		giftInput(o, body, false, o.Now())); o.refused("correction", err) {
		return
	}
	if o.root(g.of) == is.of { // it was theirs already
		is.of = g.of
	}
	*g = is
	o.say("correct %s: %s", code, body)
}

func (o *oracle) plan(st oracleStep) {
	id := o.giver(st.A)
	if id == 0 || len(o.plans) >= 3 {
		return
	}
	in, faults, err := giving.DecodePlan(doc.NewBody(fmt.Appendf(nil,
		`{"contact_id":%d,"amount":%d,"method":"card","frequency":"monthly","start_at":"2026-01-05"}`, id, 1+st.B%20)))
	if err == nil {
		err = in.Validate(faults, true, "US", o.Now())
	}
	if err != nil {
		o.Fatal(err)
	}
	made, err := o.CreatePlan(o.Context(), o.Number, in)
	if o.refused("plan", err) {
		return
	}
	o.plans[made.Code] = id
	o.say("plan %s of %s", made.Code, o.name(id))
}

// zone changes the organization's time zone, which counts for the gifts that are recorded from then on.
func (o *oracle) zone(st oracleStep) {
	zone := []string{"UTC", "Pacific/Honolulu", "Pacific/Kiritimati"}[st.A%3]
	if err := o.SetAccountSettings(o.Context(), o.Number,
		access.AccountSettingsInput{Timezone: &zone}); err != nil {
		o.fault("zone", "%v", err)
	}
	o.place = text.Location(zone)
	o.say("zone %s", zone)
}

// work does all work in the background.
func (o *oracle) work() {
	for busy := true; busy; {
		var err error
		if busy, err = jobs.NewJobWorker(o.JobStore).Round(o.Context(),
			func(err error) { o.fault("job", "%v", err) }); err != nil {
			o.fault("job", "%v", err)
		}
	}
}

// renameCampaign gives a campaign another title, under which its gifts are still found.
func (o *oracle) renameCampaign(st oracleStep) {
	one := &o.campaigns[st.A%len(o.campaigns)]
	o.names++
	title := fmt.Sprintf("Campaign %s%d", o.word, o.names)
	made, err := o.UpdateCampaign(o.Context(), o.Account, one.ID, campaign.Input{Title: &title})
	if o.refused("campaign", err) {
		return
	}
	*one = made
	o.say("campaign %d is %s", one.ID, title)
}

// importGifts imports a file of gifts and undoes it at once: no one gives more than before, those whom it made are
// archived, and no campaign is there that was not.
func (o *oracle) importGifts(st oracleStep) {
	before, campaigns := o.says(), titlesOf(o, o.Book, o.Number, campaign.OwnCampaigns)
	file := "amount,date,method,first_name,last_name,email,campaign\n"
	for _, n := range []int{st.A, st.B} {
		o.filed[o.value(n%2)] = true
		file += fmt.Sprintf("%d,2026-01-%02d,cash,F,L,%s,%s\n", 1+n%30, 1+n%28,
			strings.TrimPrefix(o.value(n%2), "email:"), []string{"", o.campaigns[0].Title, "A drive"}[st.C>>2%3])
	}
	rows := openTable(o, file)
	spec := giftImportOf(rows)
	spec.SHA256 = fmt.Sprintf("%x", sha256.Sum256([]byte(file)))
	im, _, err := o.ImportFile(o.Context(), o.Number, rows, spec, 2, true, func(jobs.ImportProgress) {})
	if o.refused("import of gifts", err) {
		return
	}
	o.say("import and undo:\n%s", file)
	if im.First != 0 {
		o.undoGroup(im.ID)
	}
	o.sameSays("import of gifts and undo", before)
	if left := titlesOf(o, o.Book, o.Number, campaign.OwnCampaigns); left != campaigns {
		o.fault("import of gifts and undo", "the campaigns were %s and are %s", campaigns, left)
	}
}

// collector notes what a check says is wrong.
type collector struct {
	testing.TB
	wrong []string
}

func (c *collector) Errorf(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

// ledger compares every gift with the model, and every sum with the gifts.
func (o *oracle) ledger() {
	all := map[string]giving.Gift{}
	for _, g := range ledgerOf(o, o.Book, o.Number) {
		if all[g.Code] = g; o.gifts[g.Code] == nil && g.Net() != 0 {
			o.fault("gift of no one", "%s counts %d", g.Code, g.Net())
		}
	}
	for code, want := range o.gifts {
		g, there := all[code]
		if there == want.voided {
			o.fault("list", "%s is there: %v, and it is voided: %v", code, there, want.voided)
		}
		if want.voided {
			found, err := o.GiftRecord(o.Context(), o.Number, code)
			if g, there = found.Gift, err == nil; g.Status != giving.Voided {
				o.fault("void", "%s is %s, %v", code, g.Status, err)
			}
		}
		if owner := o.root(want.of); !there || g.Net() != want.net() || g.Contact != owner ||
			g.Campaign != want.campaign {
			o.fault("gift", "%s is %d cents of contact %d for %d, want %d cents of %s (%d) for %d", code, g.Net(),
				g.Contact, g.Campaign, want.net(), o.name(owner), owner, want.campaign)
		}
		if !g.Local.Equal(giving.GiftClock(g.At, want.place)) {
			o.fault("day of a gift", "%s of %v is at %v in %v", code, g.At, g.Local, want.place)
		}
		if note := o.noteOf(want); g.Note != note && !o.contacts[o.root(want.of)].erased {
			o.fault("note of a gift", "%s says %q, want %q", code, g.Note, note)
		}
	}
	c := &collector{TB: o}
	if checkGiving(c, o.Book, o.Account, o.ids); len(c.wrong) > 0 {
		o.fault("sums", "%s", strings.Join(c.wrong, "\n"))
	}
	for _, one := range o.campaigns {
		o.wantList("campaign_id", fmt.Sprint(one.ID), func(id int64) bool {
			return slices.ContainsFunc(slices.Collect(maps.Values(o.gifts)),
				func(g *oracleGift) bool { return o.root(g.of) == id && g.campaign == one.ID && g.net() > 0 })
		})
	}
}

// wantList compares a list of active contacts with those of the model for whom something is true.
func (o *oracle) wantList(parameter, value string, is func(id int64) bool) {
	var want []int64
	for _, id := range o.ids {
		if c := o.contacts[id]; c.into == 0 && !c.erased && !c.archived && is(id) {
			want = append(want, id)
		}
	}
	slices.Sort(want)
	filter := must(find.ParseFilter(maps.All(map[string]string{parameter: value}), "US"))(o)
	found, result := must2(o.MatchingContacts(o.Context(), o.Number, crm.Active, filter,
		crm.PageRequest{Page: 1, PerPage: 100}))(o)
	var got []int64
	for _, c := range found {
		got = append(got, c.ID)
	}
	if !slices.Equal(got, want) || result.Total != int64(len(want)) {
		o.fault("list by "+parameter, "%s: the list has %v of %d, want %v", value, got, result.Total, want)
	}
}

// noteOf is what a gift says, "" where it was recorded for someone who was erased.
func (o *oracle) noteOf(g *oracleGift) string {
	if o.contacts[g.first].erased {
		return ""
	}
	return g.note
}

// notes are what gifts say that are or were of people who are erased.
func (o *oracle) notes(person []int64) (notes []string) {
	for _, g := range o.gifts {
		if g.note != "" && (slices.Contains(person, g.first) || slices.Contains(person, g.of)) {
			notes = append(notes, g.note)
		}
		if g.reason != "" && (slices.Contains(person, g.reasonOf) || slices.Contains(person, g.of)) {
			notes = append(notes, g.reason)
		}
	}
	return notes
}

// thank thanks for a gift, perhaps once more. A mail waits in the outbox: an erasure must find it there.
func (o *oracle) thank(st oracleStep) {
	code := o.pickGift(st.A)
	if code == "" {
		return
	}
	g, how := o.gifts[code], giving.WaysToThank[st.B%len(giving.WaysToThank)]
	if o.contacts[o.root(g.of)].erased {
		return
	}
	o.UseRelay(new(postOffice))
	_, err := o.ThankFor(o.Context(), o.Number, code,
		store.Thank{How: how, Again: st.B>>4%2 == 0, Receipt: st.B>>5%2 == 0})
	if o.refused("thank", err) {
		return
	}
	if g.thanks = how; st.B>>5%2 == 0 && (how == giving.ThankedMail || how == giving.ThankedLetter) {
		g.receipt = true
	}
	o.say("thank for %s: %s", code, how)
	if how != giving.ThankedMail {
		return
	}
	o.mails[code]++
	if m := o.mailAbout(code); m == nil || m.State() != mail.Waiting {
		o.fault("mail", "%+v", m)
	}
}

func (o *oracle) mailAbout(code string) *mail.Mail {
	m := must(o.MailAbout(o.Context(), o.Number, store.AboutGift(store.CodeID(o.Number, code))))(o)
	return m
}

// forgetMails: of an erased person no mail is left. One to an email that others share may be gone with it.
func (o *oracle) forgetMails() {
	for code := range o.mails {
		m := o.mailAbout(code)
		if m != nil && o.contacts[o.root(o.gifts[code].of)].erased {
			o.fault("mail", "to an erased person: %+v", m)
		}
		if m == nil {
			delete(o.mails, code)
		}
	}
	for code := range o.told {
		o.told[code] = o.refundMails(code)
		if o.told[code] > 0 && o.contacts[o.root(o.gifts[code].of)].erased {
			o.fault("mail", "%d about a refund of %s to an erased person", o.told[code], code)
		}
	}
}

// refundMails is how many mails about refunds of a gift wait.
func (o *oracle) refundMails(code string) int {
	about := store.AboutRefund(store.CodeID(o.Number, code))
	found := must(store.List(o.Context(), o.Store, store.Number,
		`SELECT id FROM mail WHERE account_id = $1 AND about = $2 AND about <> '' AND due_at <> 0`, o.Number, about))(o)
	return len(found)
}

// tellRefund expects one mail more about a refund, where one may go to the donor.
func (o *oracle) tellRefund(code string) {
	g := must(o.GiftRecord(o.Context(), o.Number, code))(o)
	c := o.recordOf(g.Contact)
	if o.Mails() && !g.Test && c.NoMail() == "" {
		o.told[code]++
	}
	if waiting := o.refundMails(code); waiting != o.told[code] {
		o.fault("mail", "%d tell of refunds of %s, want %d", waiting, code, o.told[code])
	}
}

// post sends what waits: a mail about each gift as often as someone asked for it, with its receipt, and none about a
// gift that was given back meanwhile. That waits for thanks again.
func (o *oracle) post(oracleStep) {
	office := new(postOffice)
	o.UseRelay(office)
	succeed(o, o.SendDue(o.Context(), "", func(err error) { o.fault("mail", "%v", err) }))
	// of sequences before
	office.taken = slices.DeleteFunc(office.taken, func(l *mail.Letter) bool {
		return !strings.Contains(l.To.String(),
			o.word)
	})
	want := 0
	for code, mails := range o.mails {
		if g := o.gifts[code]; g.net() > 0 {
			want += mails
		} else if g.thanks == giving.ThankedMail {
			g.thanks = giving.ToThank
		}
	}
	for code, mails := range o.told {
		if o.gifts[code].refunded > 0 { // and was not undone
			want += mails
		}
	}
	clear(o.told)
	o.say("%d mails are sent", len(office.taken))
	o.clock.move(time.Second) // the last mail about a gift is one
	if clear(o.mails); len(office.taken) != want {
		o.fault("mail", "%d were sent, want %d", len(office.taken), want)
	}
	for _, l := range office.taken {
		if said := l.Text(); len(l.Files) > 1 || (len(l.Files) == 1) != strings.Contains(said, "Receipt number") ||
			strings.Contains(said, "{") {
			o.fault("mail", "with %d files: %s", len(l.Files), said)
		}
	}
}

// receipt makes the receipt for a gift, or finds it.
func (o *oracle) receipt(st oracleStep) {
	code := o.pickGift(st.A)
	if code == "" || o.contacts[o.root(o.gifts[code].of)].erased {
		return
	}
	made, err := o.IssueReceipt(o.Context(), o.Number, code)
	if o.refused("receipt", err) {
		return
	}
	o.gifts[code].receipt = true
	o.say("receipt %s for %s", made.Receipt, code)
}

// receipted compares receipts with gifts: each number once and without gaps, and one valid receipt at most for a
// gift, for what is left of it.
func (o *oracle) receipted() {
	first, last := must2(o.ReceiptYears(o.Context(), o.Number))(o)
	valid := map[string]thanks.Receipt{}
	for year := first; year <= last && last > 0; year++ {
		all, total, err := o.Receipts(o.Context(), o.Number, year, crm.PageRequest{Page: 1, PerPage: 1000})
		if err != nil || int64(len(all)) != total {
			o.fault("receipts", "%d of %d: %v", len(all), total, err)
		}
		for i, r := range all {
			if r.ID != thanks.FirstReceipt(year)+total-int64(i) || r.VoidedAt.IsZero() != (r.ReplacedBy == 0) &&
				r.ReplacedBy != 0 {
				o.fault("receipt", "%+v is number %d of %d", r, i, total)
			}
			if _, twice := valid[r.GiftCode]; r.VoidedAt.IsZero() && twice {
				o.fault("receipt", "%s has two that are valid", r.GiftCode)
			}
			if r.VoidedAt.IsZero() {
				valid[r.GiftCode] = r
			}
		}
	}
	for _, g := range ledgerOf(o, o.Book, o.Number) {
		want, r := o.gifts[g.Code], valid[g.Code]
		if g.Receipt != r.Code() || r.ID != 0 && (r.Amount != g.Left() || g.Status != giving.Succeeded) {
			o.fault("receipt", "%s names %q, and %+v is valid", g.Code, g.Receipt, r)
		}
		if want != nil && r.ID != 0 != want.receipt && !o.contacts[o.root(want.of)].erased {
			o.fault("receipt", "%s has receipt %q, want one: %v", g.Code, r.Code(), want.receipt)
		}
	}
}

// bounce notes that mail to an email came back, as the outbox does: with everyone who has it.
func (o *oracle) bounce(st oracleStep) {
	email := strings.TrimPrefix(o.value(st.A%2), "email:")
	succeed(o, o.MarkBounced(o.Context(), o.Number, email))
	o.say("%s bounces", email)
	for _, c := range o.contacts {
		if says := c.says(); c.into == 0 && !c.archived && !c.erased && says.set["email:"+email] &&
			says.text["bounced"] != email {
			c.events = append(c.events, &event{text: map[string]string{"bounced": email},
				was: map[string]string{"bounced": says.text["bounced"]}})
		}
	}
}

// template writes a text, or goes back to ours.
func (o *oracle) template(st oracleStep) {
	at := thanks.Occasions[st.A%len(thanks.Occasions)]
	if st.B%3 == 0 {
		delete(o.texts, at)
		succeed(o, o.ResetTemplate(o.Context(), o.Number, at))
		return
	}
	text := thanks.Template{Occasion: at, Subject: "Thanks, {first_name}", Body: fmt.Sprintf("Dear {name}, %d", st.B)}
	must(o.ChangeTemplate(o.Context(), o.Number, at,
		thanks.TemplateInput{Subject: &text.Subject, Body: &text.Body}))(o)
	text.Own = true
	o.texts[at] = text
}

// thanked compares who was thanked, and the texts, with the model.
func (o *oracle) thanked() {
	o.receipted()
	waits := int64(0)
	for _, g := range ledgerOf(o, o.Book, o.Number) {
		if want := o.gifts[g.Code]; want != nil && want.thanks != "" && g.Thanks.How != want.thanks {
			o.fault("thanks", "%s says %q, want %q", g.Code, g.Thanks.How, want.thanks)
		}
		if g.Thanks.How == giving.ToThank && g.Net() > 0 {
			waits++
		}
	}
	if n, err := o.ToThank(o.Context(), o.Number, 1000); err != nil || n != waits {
		o.fault("gifts to thank for", "%d, want %d: %v", n, waits, err)
	}
	all := must(o.Templates(o.Context(), o.Number))(o)
	for _, text := range all {
		want, own := o.texts[text.Occasion]
		if !own {
			want = thanks.Default(text.Occasion)
		}
		if text.Template != want {
			o.fault("template", "%+v, want %+v", text, want)
		}
	}
}

// donate has someone give on the page of a campaign: who pays becomes a contact, and who does not leaves nothing.
func (o *oracle) donate(st oracleStep) {
	if len(o.ids) >= 6 {
		return
	}
	if _, err := o.Connect(o.Context(), o.Account, donations.Connecting{Provider: pay.PretendName, Key: "none"},
		"https://donors.example"); err != nil {
		o.fault("donate", "%v", err)
	}
	o.names++
	c := &o.campaigns[st.A%len(o.campaigns)]
	email := fmt.Sprintf("d%s%d@example.org", o.word, o.names)
	w := donate.Wish{Way: donate.Online, Frequency: donate.Once, Amount: int64(5+st.B%50) * 100, FirstName: "F",
		LastName: "L", Email: email}
	to := func(*donate.Donation) string { return "https://donors.example/thanks" }
	d, h, err := o.Give(o.Context(), o.Account, c, donate.NewID(), w, donations.Pages{Success: to, Cancel: to})
	if o.refused("donate", err) {
		return
	}
	choice := []pay.Choice{pay.ChoosePay, pay.ChoosePay, pay.ChoosePay, pay.ChooseDecline}[st.C%4]
	must(o.desk.Choose(path.Base(h.URL), choice))(o)
	if d, err = o.other.LookAtDonation(o.Context(), o.Number, d.ID); err != nil {
		o.fault("donate", "%v", err)
	}
	if choice != pay.ChoosePay {
		o.say("donation of %s that is not paid", email)
		return
	}
	g, err := o.GiftRecord(o.Context(), o.Number, d.Gift)
	if err != nil || d.State != donate.Paid {
		o.fault("donate", "%+v is paid: %v", d, err)
	}
	says := newSaying()
	says.set["email:"+email] = true
	o.add(g.Contact, says)
	o.gifts[g.Code] = &oracleGift{of: g.Contact, first: g.Contact, place: o.place, amount: w.Amount,
		status: giving.Succeeded, campaign: c.ID, receipt: g.Receipt != "", paid: true}
	if g.Thanks.Done() {
		o.gifts[g.Code].thanks = g.Thanks.How
		o.mails[g.Code]++
	}
	o.say("donation of %d by %s, gift %s", w.Amount, o.name(g.Contact), g.Code)
}
