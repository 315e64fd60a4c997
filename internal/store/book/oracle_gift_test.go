package book

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/store/jobs"
)

// oracleGift is a gift of the oracle. It is of the contact that it was recorded for, and so of the one that this
// contact is part of.
type oracleGift struct {
	of, first        int64 // the contact now, and the one that it was recorded for
	amount, refunded int64 // cents
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
	g := &oracleGift{of: id, first: id, amount: int64(1+st.B%50) * 100,
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
	made, err := o.s.CreateGift(o.Context(), o.account.Number, giftInput(o, body, true, o.s.Now()))
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
	if _, err := o.s.RefundGift(o.Context(), o.account.Number, code, sent, ""); o.refused("refund", err) {
		return
	}
	g.refunded += amount
	g.receipt = g.receipt && g.net() > 0
	o.say("refund %d of %s", amount, code)
	o.tellRefund(code)
	if st.B>>6%2 == 0 {
		return
	}
	if _, err := o.s.UndoRefund(o.Context(), o.account.Number, code, nil, ""); !o.refused("undo refund", err) {
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
		if _, err := o.s.UndoVoid(o.Context(), o.account.Number, code, ""); err != nil {
			o.fault("undo void", "%v", err)
		}
		g.voided = false
		o.say("undo void of %s", code)
		return
	}
	o.names++
	reason := fmt.Sprintf("v%s%d.", o.word, o.names)
	_, err := o.s.VoidGift(o.Context(), o.account.Number, code, reason, "")
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
	if _, err := o.s.UpdateGift(o.Context(), o.account.Number, code,
		giftInput(o, body, false, o.s.Now())); o.refused("correction", err) {
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
		err = in.Validate(faults, true, "US", o.s.Now())
	}
	if err != nil {
		o.Fatal(err)
	}
	made, err := o.s.CreatePlan(o.Context(), o.account.Number, in)
	if o.refused("plan", err) {
		return
	}
	o.plans[made.Code] = id
	o.say("plan %s of %s", made.Code, o.name(id))
}

// zone changes the organization's time zone, with which gifts move to other months.
func (o *oracle) zone(st oracleStep) {
	zone := []string{"UTC", "Pacific/Honolulu", "Pacific/Kiritimati"}[st.A%3]
	if err := o.s.SetAccountSettings(o.Context(), o.account.Number,
		access.AccountSettingsInput{Timezone: &zone}); err != nil {
		o.fault("zone", "%v", err)
	}
	o.place = text.Location(zone)
	o.say("zone %s", zone)
	o.work()
}

// work does all work in the background.
func (o *oracle) work() {
	for busy := true; busy; {
		var err error
		if busy, err = jobs.NewJobWorker(o.s.JobStore).Round(o.Context(),
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
	made, err := o.s.UpdateCampaign(o.Context(), o.account, one.ID, campaign.Input{Title: &title})
	if o.refused("campaign", err) {
		return
	}
	*one = made
	o.say("campaign %d is %s", one.ID, title)
}

// importGifts imports a file of gifts and undoes it at once: no one gives more than before, those whom it made are
// archived, and no campaign is there that was not.
func (o *oracle) importGifts(st oracleStep) {
	before, campaigns := o.says(), titlesOf(o, o.s, o.account.Number, campaign.OwnCampaigns)
	file := "amount,date,method,first_name,last_name,email,campaign\n"
	for _, n := range []int{st.A, st.B} {
		o.filed[o.value(n%2)] = true
		file += fmt.Sprintf("%d,2026-01-%02d,cash,F,L,%s,%s\n", 1+n%30, 1+n%28,
			strings.TrimPrefix(o.value(n%2), "email:"), []string{"", o.campaigns[0].Title, "A drive"}[st.C>>2%3])
	}
	rows := openTable(o, file)
	spec := giftImportOf(rows)
	spec.SHA256 = fmt.Sprintf("%x", sha256.Sum256([]byte(file)))
	im, _, err := o.s.ImportFile(o.Context(), o.account.Number, rows, spec, 2, true, func(jobs.ImportProgress) {})
	if o.refused("import of gifts", err) {
		return
	}
	o.say("import and undo:\n%s", file)
	if im.First != 0 {
		o.undoGroup(im.ID)
	}
	o.sameSays("import of gifts and undo", before)
	if left := titlesOf(o, o.s, o.account.Number, campaign.OwnCampaigns); left != campaigns {
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
	for _, g := range ledgerOf(o, o.s, o.account.Number) {
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
			found, err := o.s.GiftRecord(o.Context(), o.account.Number, code)
			if g, there = found.Gift, err == nil; g.Status != giving.Voided {
				o.fault("void", "%s is %s, %v", code, g.Status, err)
			}
		}
		if owner := o.root(want.of); !there || g.Net() != want.net() || g.Contact != owner ||
			g.Campaign != want.campaign {
			o.fault("gift", "%s is %d cents of contact %d for %d, want %d cents of %s (%d) for %d", code, g.Net(),
				g.Contact, g.Campaign, want.net(), o.name(owner), owner, want.campaign)
		}
		if !g.Local.Equal(giving.GiftClock(g.At, o.place)) {
			o.fault("day of a gift", "%s of %v is at %v in %v", code, g.At, g.Local, o.place)
		}
		if note := o.noteOf(want); g.Note != note && !o.contacts[o.root(want.of)].erased {
			o.fault("note of a gift", "%s says %q, want %q", code, g.Note, note)
		}
	}
	c := &collector{TB: o}
	if checkGiving(c, o.s, o.account, o.ids); len(c.wrong) > 0 {
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
	found, result := must2(o.s.MatchingContacts(o.Context(), o.account.Number, crm.Active, filter,
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
