package book

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/mail"
	"donorbook/internal/db"
	"donorbook/internal/pay/stripetest"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

// giftScript is an organization that takes gifts on a page, and to which happens what a script says.
type giftScript struct {
	*org
	names, ids      map[string]string // of donations, plans, gifts and receipts: d1, p1, g1, r1, by their ids and back
	disputes, links map[string]string
	letters         int // of which the script has told
	dated           bool
	was             []string
	noted           string
	merge, job      int64
}

// TestGiving runs the scripts in testdata/giving, each with an organization of its own. A line that begins with > has
// commands, and = begins what they have changed in everything that there is, and which mails they sent; go test -update
// writes these lines anew. In the end all is sound, and the books are those of the provider.
func TestGiving(t *testing.T) {
	names, _ := filepath.Glob("testdata/giving/*.txt")
	for _, name := range names {
		scripts := strings.Split(string(must(os.ReadFile(name))(t)), "\n== ")
		ran := slices.Clone(scripts)
		for i, text := range scripts[1:] {
			title, _, _ := strings.Cut(text, "\n")
			t.Run(title, func(t *testing.T) {
				x := &giftScript{org: newShop(t), ids: map[string]string{}, disputes: map[string]string{},
					links: map[string]string{}}
				x.names, x.ids["home"] = map[string]string{x.ID: "of the script"}, x.ID
				ran[i+1] = x.run(text)
				if diff := gocmp.Diff(strings.Split(text, "\n"), strings.Split(ran[i+1], "\n")); diff != "" &&
					!*updateScripts {
					t.Errorf("%s: want (-), got (+):\n%s", name, diff)
				}
				x.sound()
				checkGiving(t, x.Book, x.Account, slices.Collect(maps.Keys(everyContact(t, x.Book, x.Number))))
			})
		}
		t.Cleanup(func() {
			if *updateScripts {
				succeed(t, os.WriteFile(name, []byte(strings.Join(ran, "\n== ")), 0o600))
			}
		})
	}
}

// run runs a script, and returns it with what it tells now.
func (x *giftScript) run(text string) string {
	var ran []string
	x.was = x.tells()
	for line := range strings.SplitSeq(text, "\n") {
		command, is := strings.CutPrefix(line, "> ")
		if !strings.HasPrefix(line, "= ") {
			ran = append(ran, line)
		}
		if !is {
			continue
		}
		var says, now []string
		for one := range strings.SplitSeq(command, " && ") {
			said, err := x.do(x.filled(one))
			if says = append(says, said...); err != nil {
				says = append(says, "refused: "+err.Error())
			}
			now = x.tells()
		}
		for _, l := range now {
			if !slices.Contains(x.was, l) {
				says = append(says, l)
			}
		}
		for _, l := range x.was {
			name, _, _ := strings.Cut(l, ": ")
			if !slices.ContainsFunc(now, func(l string) bool { return strings.HasPrefix(l, name+": ") }) {
				says = append(says, "gone: "+l)
			}
		}
		x.was = now
		x.sent()
		mails := store.Collect(x.office.taken[x.letters:],
			func(l *mail.Letter) string { return fmt.Sprintf("mail to %s: %s", l.To, l.Subject) })
		slices.Sort(mails) // what is due leaves in any order
		says, x.letters = append(says, mails...), len(x.office.taken)
		for _, l := range says {
			ran = append(ran, "= "+x.masked(l))
		}
	}
	return strings.Join(ran, "\n")
}

// name is what a script calls something that has an id.
func (x *giftScript) name(kind, id string) string {
	for n := 1; x.names[id] == "" && id != ""; n++ {
		if name := fmt.Sprint(kind, n); x.ids[name] == "" {
			x.names[id], x.ids[name] = name, id
		}
	}
	return x.names[id]
}

func (x *giftScript) masked(text string) string {
	for id, name := range x.names {
		text = strings.ReplaceAll(text, id, name)
	}
	return strings.ReplaceAll(text, "\n", " ")
}

var inBraces = regexp.MustCompile(`\{(#|today-?|ref )?(\w*)\}`)

// filled has ids instead of {g1} and {#2}, the reference of a promise instead of {ref d1}, and days instead of
// {today} and {today-3}.
func (x *giftScript) filled(text string) string {
	return inBraces.ReplaceAllStringFunc(text, func(found string) string {
		switch of := inBraces.FindStringSubmatch(found); {
		case of[1] == "#":
			return fmt.Sprint(x.contact(of[2]))
		case of[1] == "ref ":
			d := x.look(x.ids[of[2]])
			return strings.ToLower(donate.Groups(d.Reference()))
		case strings.HasPrefix(of[1], "today"):
			return x.Now().UTC().AddDate(0, 0, -int(x.number("0"+of[2]))).Format(time.DateOnly)
		case x.ids[of[2]] != "":
			return x.ids[of[2]]
		}
		return found
	})
}

func (x *giftScript) contact(seq string) int64 { return doc.MakeID(x.Number, x.number(seq)) }

func when(is bool, said ...any) string {
	if is {
		return fmt.Sprint(said...)
	}
	return ""
}

func dollars(cents int64) string { return fmt.Sprintf("%.2f", float64(cents)/100) }

// tells is everything that there is, in a line each.
func (x *giftScript) tells() (all []string) {
	tell := func(name string, parts ...string) {
		parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
		all = append(all, name+": "+strings.Join(parts, ", "))
	}
	people := everyContact(x.T, x.Book, x.Number)
	for _, id := range slices.Sorted(maps.Keys(people)) {
		c := people[id]
		name, said := fmt.Sprint("#", doc.IDSeq(id)), []string{fmt.Sprint(c.PersonName())}
		for _, one := range slices.Concat(c.Emails, c.Phones) {
			said = append(said, one.Value)
		}
		last := must(x.ContactRecord(x.Context(), x.Number, id))(x).LastGift
		first := must(x.ContactGiving(x.Context(), x.Number, id))(x).First
		if said = append(append(said, c.Company), c.Marked()...); len(c.Addresses) > 0 {
			said = append(said, c.Addresses[0].City)
		}
		tell(name, append(said, when(c.Stats.TotalContributions > 0, "gave ", c.Stats.TotalContributions),
			when(x.dated && !last.IsZero(), "from ", first.Format(time.DateOnly), " to ",
				last.Format(time.DateOnly)), when(c.Archived(), "archived"),
			when(c.BouncedEmail != "", "bounced"))...)
	}
	var ids []string
	succeed(x, x.Read(x.Context(), func(c db.Conn) error {
		ids = nil
		return c.Each(func(r db.Row) error { ids = append(ids, r.Text(0)); return nil },
			`SELECT id FROM donation WHERE account_id = $1 ORDER BY number`, x.Number)
	}))
	for _, id := range ids {
		d := x.look(id)
		tell(x.name("d", id), fmt.Sprint(d.State, " ", dollars(d.Charged)), when(d.Doubt != "", "doubt ", d.Doubt),
			when(d.Gift != "", d.Gift), when(d.GiftPlan != "", d.GiftPlan), when(d.Campaign == 0, "of no campaign"),
			when(d.Covered != 0, "covered ", dollars(d.Covered)),
			when(d.Fault != "", "fault"))
	}
	plans, _ := must2(x.Plans(x.Context(), x.Number, giving.PlanFilter{}, crm.PageRequest{Page: 1, PerPage: 9}))(x)
	for _, p := range plans {
		tell(x.name("p", p.Code), fmt.Sprint(p.Status, " ", p.Frequency, " ", dollars(p.Amount)),
			fmt.Sprint("of #", doc.IDSeq(p.Contact)), p.ExternalID, when(p.Currency != "USD", p.Currency),
			when(x.dated, "due ", p.NextBill.Format(time.DateOnly)))
	}
	voided, _ := must2(x.GiftPage(x.Context(), x.Number, giving.GiftFilter{Status: giving.Voided},
		crm.PageRequest{Page: 1, PerPage: 99}))(x)
	found := append(x.allGifts(), store.Collect(voided, func(r store.GiftRecord) giving.Gift { return r.Gift })...)
	slices.SortFunc(found, func(a, b giving.Gift) int { return int(a.ID - b.ID) })
	for _, g := range found {
		p := g.Payment()
		x.name("r", g.Receipt)
		tell(x.name("g", g.Code), fmt.Sprint(g.Status, " ", dollars(p.Amount), when(g.Currency != "USD", " ",
			g.Currency)),
			when(g.Left() != p.Amount, "left ", dollars(g.Left())), when(p.Fee != 0, "fee ", dollars(p.Fee)),
			strings.TrimSpace(fmt.Sprint("of #", doc.IDSeq(g.Contact), " ", g.Giver.Name(), " ", g.Giver.Email)),
			when(g.Campaign != 0, "for campaign ", g.Campaign), when(p.FeeCovered != 0, "covered ",
				dollars(p.FeeCovered)), g.PlanCode, when(x.dated, g.Local.Format(time.DateOnly)),
			strings.TrimRight(when(g.Thanks.How != "", "thanks ", g.Thanks.How, " ", g.Thanks.By), " "), g.Receipt,
			when(g.Test, "test"),
			when(g.Waits(), "waits"), when(g.OptIn, "news"), when(g.Dedication != nil, "dedicated"))
		if v := g.Void; v != nil {
			all[len(all)-1] += fmt.Sprintf(", %s by %s", v.Reason, v.By)
		}
	}
	for _, r := range slices.Backward(x.receipts()) {
		tell(x.name("r", r.Code()), dollars(r.Amount), "for "+r.GiftCode, when(len(r.Text.To) > 0, r.Text.To),
			when(!r.VoidedAt.IsZero(), "void"),
			when(r.ReplacedBy != 0, "replaced"))
	}
	if c, err := x.Campaign(x.Context(), x.Number, x.campaign.ID); err == nil {
		tell("campaign", fmt.Sprint(dollars(c.Campaign.Raised()), " from ", c.Campaign.Donors()))
	}
	tell("to thank for", fmt.Sprint(x.waiting()))
	tell("to review", fmt.Sprint(must(x.Reviews(x.Context(), x.Number, 10))(x)))
	return all
}

func (x *giftScript) number(text string) int64 { return must(strconv.ParseInt(text, 10, 64))(x) }

// amount is nil for all of it.
func (x *giftScript) amount(text string) *int64 {
	if text == "" {
		return nil
	}
	return ptr(x.number(text) * 1_0000)
}

func (x *giftScript) do(command string) (says []string, err error) {
	command, rest, _ := strings.Cut(command, " ")
	of, more, _ := strings.Cut(rest, " ")
	account, id, link := x.Number, x.ids[of], x.links[of]
	ctx := store.By(x.Context(), history.ConsoleChannel, "dana@example.org")
	read := func(text string, into any) {
		if text != "" {
			succeed(x, json.Unmarshal([]byte(text), into))
		}
	}
	switch command {
	case "now":
		at := must(time.Parse(time.DateOnly, rest))(x)
		x.Now, x.dated = func() time.Time { return at }, true
	case "later":
		at := time.Now().Add(must(time.ParseDuration(rest))(x))
		x.Now = func() time.Time { return at }
	case "relay":
		x.UseRelay(nil)
	case "settings":
		var in donate.Settings
		read(rest, &in)
		x.set(in)
	case "account":
		var in access.AccountSettingsInput
		read(rest, &in)
		err = x.SetAccountSettings(ctx, account, in)
	case "campaign":
		x.campaign, err = x.UpdateCampaign(ctx, x.Account, x.campaign.ID, campaignInput(x.T, rest))
	case "delete":
		err = x.DeleteCampaign(ctx, x.Account, x.campaign.ID, "")
	case "give", "paid":
		w := wish(int(x.number(of)))
		if read(more, &w); command == "paid" {
			x.paid(w)
			break
		}
		x.change(`UPDATE donation SET created_at = created_at - 60 WHERE account_id = $1`, account)
		_, _, err = x.begin(x.Book, w)
	case "pay":
		x.stripe.Pay(x.look(id).Session, stripetest.How(more))
	case "look":
		_, err = x.LookAtDonation(ctx, account, id)
	case "arrive":
		x.arrive()
	case "fees":
		x.stripe.Fees()
		x.arrive()
	case "month":
		x.month()
	case "hours":
		x.stripe.Advance(time.Duration(x.number(of)) * time.Hour)
	case "moved": // to another server, where the account has another id, and its files bring no donations
		x.change(`DELETE FROM donation WHERE account_id = $1`, account)
		x.change(`UPDATE account SET public_id = $2 WHERE account_id = $1`, account, of)
		x.Account = must(x.AccountByNumber(ctx, account))(x)
	case "back":
		must(x.stripe.Refund(of, x.number(more)*100))(x)
		x.arrive()
	case "dispute":
		x.disputes[of] = x.stripe.Dispute(x.look(id).Payment)
		x.arrive()
	case "close":
		x.stripe.CloseDispute(x.disputes[of], more == "won")
		x.arrive()
	case "break":
		x.stripe.Break(x.look(id).Plan, true)
	case "received":
		_, err = x.Received(ctx, account, id, more, nil)
	case "unreceived":
		_, err = x.Unreceived(ctx, account, id)
	case "resolve":
		_, err = x.ResolveReview(ctx, account, id, donate.Doubt(more))
	case "takeover":
		_, err = x.TakeOver(ctx, account, id, x.number(more))
	case "listed":
		var f donate.Filter
		read(rest, &f)
		found, _ := must2(x.Donations(ctx, account, f, crm.PageRequest{Page: 1, PerPage: 10}))(x)
		says = append(says, fmt.Sprint(store.Collect(found, func(d donate.Donation) string { return d.ID })))
	case "link": // keeps that of the last mail
		x.links[of] = strings.TrimPrefix(x.office.last().Path, donate.ManagePath)
	case "confirm":
		_, err = x.ConfirmPromise(ctx, link+more)
	case "mailed": // asks for another link
		x.change(`UPDATE donation SET manage_until = 0 WHERE account_id = $1`, account)
		err = x.AskByLink(ctx, link)
	case "expire":
		x.change(`UPDATE donation SET manage = SUBSTR(manage, 1, 65) || '1' WHERE account_id = $1`, account)
	case "manage":
		m, failed := x.ManagedPlan(ctx, link+more)
		says, err = append(says, fmt.Sprint(m.Plan.Code, when(m.OnlyEnds, " only ends"),
			when(m.Offer.Limits.Max > 0, " up to ", m.Offer.Limits.Max))), failed
	case "amount":
		_, err = x.ChangePlan(ctx, link, donate.NewAmount, x.number(more)*100)
	case "cancel":
		_, err = x.ChangePlan(ctx, link, donate.CancelPlan, 0)
	case "card":
		x.stripe.Pay(must(x.NewCard(ctx, link, "https://donors.example/give/"+link))(x).Session.ID, stripetest.Card)
		x.arrive()
	case "says": // how often the last mail says something
		says = counted(x.office.last().Text(), rest)
	case "sweep":
		err = x.SweepDonations(ctx)
	case "sql":
		x.change(rest, account)
	case "check":
		says, _ = checkAll(x.T, x.Book, false)
	case "contact":
		x.person(rest)
	case "edit":
		_, err = x.UpdateContact(ctx, account, x.contact(of), input(x, more))
	case "archive":
		err = x.ArchiveContact(ctx, account, x.contact(of))
	case "restore":
		_, err = x.RestoreContact(ctx, account, x.contact(of))
	case "merge":
		x.merge = mergeOf(x, x.Book, account, x.contact(of), x.contact(more))
	case "unmerge":
		unmerge(x, x.Book, account, x.merge, "US")
	case "erase":
		x.erase(x.contact(of))
	case "own": // how often a person's own file says something
		says = counted(x.own(x.contact(of)), more)
	case "typed": // how often donations say something
		says = counted(everythingTyped(x.T, x.Book), rest)
	case "written": // and receipts
		var all string
		for _, r := range x.receipts() {
			all += fmt.Sprint(r.Text, r.Lines())
		}
		says = counted(strings.ReplaceAll(all, "\u200b", ""), rest)
	case "again": // sends a form once more
		d := x.look(id)
		now, h, failed := x.fill(x.Book, id, d.Wish)
		says, err = append(says, fmt.Sprint(now.ID, when(h.URL != "", " has a page"))), failed
	case "history":
		found, result := must2(x.Timeline(ctx, account, history.GiftNoun, store.CodeID(account, id),
			crm.PageRequest{Page: 1, PerPage: 1}))(x)
		says = append(says, fmt.Sprint(result.Total, " ", found[0].Kind, " ", found[0].Channel, " ", found[0].Who))
	case "about": // the last mail about a gift
		if m := x.mailAbout(store.AboutGift(store.CodeID(account, id))); m != nil {
			says = append(says, fmt.Sprint(m.State(), " ", m.Error))
		}
	case "gifts":
		var f giving.GiftFilter
		read(rest, &f)
		found := store.Collect(listedBy(x.T, x.Book, account, f), func(code string) string { return x.names[code] })
		slices.Sort(found)
		says = append(says, fmt.Sprint(found))
	case "note":
		x.noted = fmt.Sprint(recordsOf(x.T, x.Book, x.Account), countedOf(x.T, x.Book, account))
	case "same":
		now := fmt.Sprint(recordsOf(x.T, x.Book, x.Account), countedOf(x.T, x.Book, account))
		says = append(says, fmt.Sprint(now == x.noted))
	case "by": // what is found by: indexes, or documents
		x.Costs = map[string]store.FilterCosts{"indexes": {Document: 1 << 40}, "documents": {Few: 100}}[of]
	case "who":
		found, _ := filtered(x, x.Book, account, crm.Active, filterOf(x, rest), 1, 20)
		says = append(says, fmt.Sprint(store.Collect(found, doc.IDSeq)))
	case "plan":
		newPlan(x, x.Book, account, rest)
	case "end":
		_, err = x.UpdatePlan(ctx, account, id, giving.PlanInput{GiftInput: giving.GiftInput{Status: ptr("ended")}})
	case "gift":
		_, err = x.CreateGift(ctx, account, giftInput(x, rest, true, x.Now()))
	case "change":
		_, err = x.UpdateGift(ctx, account, id, giftInput(x, more, false, x.Now()))
	case "refund":
		_, err = x.RefundGift(ctx, account, id, x.amount(more), "")
	case "unrefund":
		_, err = x.UndoRefund(ctx, account, id, x.amount(more), "")
	case "void":
		_, err = x.VoidGift(ctx, account, id, more, "")
	case "unvoid":
		_, err = x.UndoVoid(ctx, account, id, "")
	case "thank":
		_, err = x.ThankFor(ctx, account, id, store.Thank{How: more})
	case "receipt":
		_, err = x.IssueReceipt(ctx, account, id)
	case "import":
		rows := openTable(x, strings.ReplaceAll(rest, "; ", "\n"))
		spec := giftImportOf(rows)
		spec.SHA256 = rest
		im, _ := must2(x.ImportFile(ctx, account, rows, spec, 0, false, func(jobs.ImportProgress) {}))(x)
		says, x.job = append(says, inWords(im.Progress.ImportCounts)), im.ID
	case "undo":
		finishUndo(x, x.Book, account, x.job)
	default:
		x.Fatalf("unknown command %q", command)
	}
	return says, err
}

// counted tells how often a text has each of some words.
func counted(text, words string) []string {
	var times []string
	for word := range strings.SplitSeq(words, " | ") {
		times = append(times, fmt.Sprint(strings.Count(text, word)))
	}
	return []string{strings.Join(times, " ")}
}
