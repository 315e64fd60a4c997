package public

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/text"
	"donorbook/internal/pay"
	"donorbook/internal/store/donations"
	"donorbook/internal/web"
)

// formView is the form on which people give.
type formView struct {
	Offer       *donate.Offer
	Form        *page.Form
	Frequencies []frequencyView
	Ways        []page.Option
	Donation    string // its id: a form that is sent twice is one donation
	Puzzle      string
	Zeros       int
	Rounds      int
	Closed      string // why nobody can give; "" where people can
	Elsewhere   string // where people can give instead
	Contact     access.AccountSettings
	ShowsDonors bool
	MoreOpen    bool   // what few people fill in was filled in
	Harder      bool   // the puzzle is to be solved again, and the form to be sent with the solution
	Linked      string // the link with which the form was opened; "" for none
	Back        bool   // from the provider's page, without paying
	Provider    string // in words
	Fee         string // what the provider keeps, in words
	Smallest    string
	// What the script needs for the total.
	Money    string // $#
	Decimals int
	Step     int64 // see donate.Chargeable
}

type frequencyView struct {
	Value, Label, Legend string
	Choices              []donate.Choice
	Chosen               bool
}

const (
	idField    = "donation"
	trapField  = "website" // people do not see it
	wayField   = "way"
	puzzleName = "puzzle"
	solvedName = "solution" // of the puzzle, or the link with which the form was opened
	linkName   = "link"     // in the address
)

// formPage shows the form, as a link fills it in.
func (g *Gifts) formPage(v *visit) error {
	f := page.NewForm()
	query := v.r.URL.Query()
	fields := v.offer.Fill(query.Get("amount"), query.Get(donate.FrequencyField))
	d, err := g.named(v, nil)
	if err != nil {
		return err
	}
	if isBack := d.ID != "" && d.Provider != "" && d.State != donate.Paid && d.State != donate.Processing && g.Now().Sub(d.CreatedAt) < remembered; isBack {
		v.w.Header().Set("Referrer-Policy", "no-referrer")
		fields, v.back = v.offer.Again(&d.Wish), true
		f.Set(idField, d.ID)
	}
	if sealed := query.Get(linkName); sealed != "" {
		v.w.Header().Set("Referrer-Policy", "no-referrer")
		linked, ok := g.linked(sealed)
		if !ok {
			f.Fail("", "This link no longer works. Nothing was charged. Fill in the form again, and we’ll send you a new one if it’s needed.")
			return g.showForm(v, f, http.StatusOK)
		}
		fields = linked
		f.Set(solvedName, sealed)
	}
	for name, value := range fields {
		f.Set(name, value)
	}
	return g.showForm(v, f, 0)
}

// linked is the form that a link by email was sent for.
func (g *Gifts) linked(sealed string) (fields map[string]string, ok bool) {
	said, ok := g.puzzles.Open(sealed, g.Now())
	return fields, ok && json.Unmarshal([]byte(said), &fields) == nil
}

// remembered is for how long who comes back from the provider's page without paying finds the form as it was sent.
const remembered = time.Hour

// showForm shows the form with what was typed and what is wrong with it.
func (g *Gifts) showForm(v *visit, f *page.Form, status int) error {
	now, o := g.Now(), &v.offer
	settings, err := g.Store.AccountSettings(v.r.Context(), v.account.Number)
	if err != nil {
		return err
	}
	id := f.Value(idField)
	if !donate.IsID(id) {
		id = donate.NewID()
	}
	view := formView{
		Offer: o, Form: f, Donation: id, Puzzle: g.puzzles.New(id, now), Zeros: g.brakes.Zeros(v.campaign.ID, v.account.Number, now), Rounds: web.PuzzleRounds,
		MoreOpen: f.Value("dedication")+f.Value("dedicated_to")+f.Value("company") != "", Harder: v.harder, Back: v.back, Provider: providerNames[o.Provider],
		Contact: settings, ShowsDonors: settings.PublicDonors != access.NoDonors, Fee: feeWords(o), Smallest: text.Money(o.Limits.Min, o.Currency),
		Money: moneyPattern(o.Currency), Decimals: text.Decimals(o.Currency), Step: donate.Chargeable(1, o.Currency),
	}
	if _, ok := g.linked(f.Value(solvedName)); ok {
		view.Linked = f.Value(solvedName)
	}
	if len(o.Ways) == 0 {
		view.Closed, view.Elsewhere = g.whyClosed(v)
	}
	for _, way := range o.Ways {
		view.Ways = append(view.Ways, page.Option{Value: string(way), Label: wayNames[way], Chosen: f.Value(wayField) == string(way)})
	}
	for _, each := range o.Frequencies() {
		view.Frequencies = append(view.Frequencies, frequencyView{Value: each, Label: frequencyNames[each], Legend: legends[each], Choices: o.Choices(each), Chosen: f.Value(donate.FrequencyField) == each})
	}
	return g.show(v, "donate", page.View{Title: "Donate to " + v.campaign.Title, Form: f, Status: status, Data: &view})
}

var (
	providerNames  = map[string]string{"stripe": "Stripe", pay.PretendName: "the test provider"}
	frequencyNames = map[string]string{donate.Once: "One-time", donate.Monthly: "Monthly"}
	legends        = map[string]string{donate.Once: "Amount", donate.Monthly: "Amount per month"}
	wayNames       = map[donate.Way]string{donate.Online: "Pay online", donate.ByTransfer: "Bank transfer", donate.ByCheck: "Check by mail"}
)

func minutes(wait time.Duration) string {
	return page.Plural(max(1, int64(math.Ceil(wait.Minutes()))), "minute")
}

// whyClosed says why nobody can give, and where people can instead.
func (g *Gifts) whyClosed(v *visit) (why, elsewhere string) {
	c := &v.campaign
	switch {
	case c.Status == campaign.Draft:
		return "This campaign isn’t published yet. Once it is, people can give here.", ""
	case c.Status != campaign.Published:
		return "This campaign is closed and no longer accepts donations.", ""
	case !c.EndAt.IsZero() && c.EndAt.Before(g.Now()):
		return "This campaign has ended and no longer accepts donations.", ""
	case c.PaymentLink != "":
		return v.owner + " takes donations for this campaign on another page.", c.PaymentLink
	}
	return v.owner + " doesn’t take donations on this page at the moment.", ""
}

// feeWords are what the provider keeps of a payment, about: 2.9% + $0.30.
func feeWords(o *donate.Offer) string {
	var parts []string
	if o.Rate.Points > 0 {
		parts = append(parts, strings.TrimRight(strings.TrimRight(strconv.FormatFloat(float64(o.Rate.Points)/100, 'f', 2, 64), "0"), ".")+"%")
	}
	if o.Rate.Fixed > 0 {
		parts = append(parts, text.MoneyExact(o.Rate.Fixed, o.Currency))
	}
	return strings.Join(parts, " + ")
}

// moneyPattern is how amounts of a currency are shown, with # for the number.
func moneyPattern(currency string) string {
	return strings.Replace(text.Money(text.ScaleOf(text.Decimals(currency)), currency), "1", "#", 1)
}

// give takes a form, begins the gift, and leads to where it is paid.
func (g *Gifts) give(v *visit) error {
	f, err := g.readForm(v.w, v.r)
	if err != nil {
		return err
	}
	if f.Value(trapField) != "" { // a program filled in what no person sees
		return page.Redirect(v.w, v.r, "/"+v.campaign.Slug+"/thanks")
	}
	if len(v.offer.Ways) == 0 {
		return g.showForm(v, f, http.StatusUnprocessableEntity)
	}
	wish, err := v.offer.Read(f.Fields)
	if err != nil || len(f.Faults) > 0 {
		if err = f.Refuse(err); err != nil {
			return err
		}
		return g.showForm(v, f, 0)
	}
	id := f.Value(idField)
	if !donate.IsID(id) {
		id = donate.NewID()
		f.Set(idField, id)
	}
	proven, answered, err := g.ask(v, f, id, &wish)
	if err != nil || answered {
		return err
	}
	made, to, err := g.Store.Give(v.r.Context(), v.account, &v.campaign, id, wish, donations.Pages{
		Proven:  proven,
		Success: func(d *donate.Donation) string { return v.address(g, "/thanks?d="+token(d)) },
		Cancel:  func(d *donate.Donation) string { return v.address(g, "/donate?"+again(&v.offer, d)) },
	})
	if errors.Is(err, donate.ErrCrowd) { // on all nodes together; this one asks for a proof now
		g.brakes.Crowd(v.campaign.ID, g.Now())
		if _, answered, err = g.ask(v, f, id, &wish); err == nil && !answered {
			err = donate.ErrCrowd
		}
		if answered {
			return nil
		}
	}
	if err != nil {
		return g.refused(v, f, err)
	}
	if to.URL == "" {
		return page.Redirect(v.w, v.r, "/"+v.campaign.Slug+"/thanks?d="+token(&made))
	}
	if strings.HasPrefix(to.URL, pay.PretendPath) { // here
		to.URL = g.Options.Proxies.BaseURL(v.r) + to.URL
	}
	return g.handOver(v, to.URL, page.View{Title: "Continue to payment", Data: handoverView{Amount: text.MoneyExact(made.Charged, made.Currency), Covered: made.Covered, Currency: made.Currency, Frequency: made.Wish.Frequency, To: to.URL}})
}

// ask asks the sender of a form for a proof where one is needed; answered tells that this was the answer.
func (g *Gifts) ask(v *visit, f *page.Form, id string, wish *donate.Wish) (proven, answered bool, err error) {
	now, solution := g.Now(), f.Value(solvedName)
	linked, isLink := g.linked(solution)
	s := web.Start{
		Client: g.Options.Proxies.Client(v.r), Page: v.campaign.ID, Account: v.account.Number, Thing: id, Card: wish.Way == donate.Online,
		Linked: isLink && linked[idField] == id && linked["email"] == wish.Email,
		Tried:  solution != "",
		Solved: func(zeros int) (solved bool) {
			err = g.InTurn(v.r, func() error {
				solved = g.puzzles.Solved(id, f.Value(puzzleName), solution, zeros, now)
				return nil
			})
			return solved
		},
	}
	if g.Store.Mails() {
		s.Recipient = wish.Email
	}
	ask, proven, wait := g.brakes.Begin(s, now)
	if err != nil {
		return false, false, err
	}
	switch ask {
	case web.AskPuzzle:
		v.harder = true
		f.Set(solvedName, "")
		err = g.showForm(v, f, http.StatusUnprocessableEntity)
	case web.AskLink:
		err = g.sendLink(v, id, wish)
	case web.AskWait:
		err = g.tooMany(v, f, wait)
	}
	return proven, ask != web.AskNothing, err
}

// linkView is what someone is told to whom a link was sent.
type linkView struct{ Email, Amount string }

// sendLink has a link sent to the address in the form, with which it can be sent again. The answer is the same for who has enough of them.
func (g *Gifts) sendLink(v *visit, id string, wish *donate.Wish) error {
	fields := v.offer.Again(wish)
	fields[idField] = id
	said, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	if g.brakes.MaySend(text.Login(wish.Email), g.Now()) {
		path := "/" + v.campaign.Slug + "/donate?" + url.Values{linkName: {g.puzzles.Seal(string(said), g.Now())}}.Encode()
		if err := g.Store.SendFormLink(v.r.Context(), v.account, wish, path); err != nil {
			return err
		}
	}
	view := linkView{Email: wish.Email, Amount: text.MoneyExact(wish.Amount, v.offer.Currency)}
	return g.show(v, "link", page.View{Title: "Check your email", Data: view})
}

// again is the query of the form for the same gift.
func again(o *donate.Offer, d *donate.Donation) string {
	return url.Values{"amount": {text.MoneyInput(d.Wish.Amount, o.Currency)}, donate.FrequencyField: {d.Wish.Frequency}, "d": {token(d)}}.Encode()
}

// tooMany asks a giver to wait.
func (g *Gifts) tooMany(v *visit, f *page.Form, wait time.Duration) error {
	instead := "."
	if f.Value(solvedName) == "" {
		instead = ", or turn on JavaScript in your browser."
	}
	f.FailFirst("Too many donations were started from your network or on this page. Nothing was charged. Please try again in " + minutes(wait) + instead)
	v.w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	return g.showForm(v, f, http.StatusTooManyRequests)
}

// refused shows the form again with the reason why the gift could not begin. Nothing was charged in any case.
func (g *Gifts) refused(v *visit, f *page.Form, err error) error {
	var invalid *doc.Invalid
	switch {
	case errors.As(err, &invalid):
		if err = f.Refuse(err); err != nil {
			return err
		}
		return g.showForm(v, f, 0)
	case errors.Is(err, donate.ErrCrowd):
		return g.tooMany(v, f, time.Minute)
	case errors.Is(err, donate.ErrNoKey):
		v.offer.Ways = slices.DeleteFunc(slices.Clone(v.offer.Ways), func(w donate.Way) bool { return w == donate.Online })
		f.FailFirst(v.owner + " can’t take payments online at the moment. Nothing was charged.")
	case errors.Is(err, donate.ErrTemporary), errors.Is(err, crm.ErrUnavailable):
		f.FailFirst("The payment provider doesn’t answer at the moment. Nothing was charged. Please try again in a minute.")
	default:
		return err
	}
	return g.showForm(v, f, http.StatusServiceUnavailable)
}

// handoverView is the page between the form and that of the provider.
type handoverView struct {
	Amount, Currency, Frequency, To string
	Covered                         int64
}

// isPage tells whether an address is one that a giver may be led to. Which host a provider has is checked where the provider is asked.
func isPage(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || strings.ContainsAny(address, " \r\n\"'<>") {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname())
}
