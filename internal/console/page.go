package console

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/web"
)

//go:embed templates
var templates embed.FS

// page is what every template sees.
type page struct {
	Title   string
	Section string // of the navigation
	Form    *form  // the page's, where it has one; with faults, the page is the answer to a refused form
	Status  int    // where it is another than the form makes it
	Data    any    // the page's own

	// What render fills in.
	org
	User          access.User
	Organizations []access.Membership
	Notice        *notice
	HasKeys       bool // the person manages API keys, and there are some
	RequestID     string
}

// org is the organization that something is shown of, and what the person who looks may do there.
type org struct {
	Account  access.Account
	Role     access.Role
	Timezone string // of the organization; "" is UTC
}

func (r *request) org() org {
	return org{r.membership.Account, r.membership.Role, r.membership.Timezone}
}

// Path is the address of another page of the organization: {{.Path "/contacts"}}. What the page of samples shows belongs to none, and leads nowhere.
func (p org) Path(rest string) string {
	if p.Account.ID == "" {
		return "#"
	}
	return orgPath(p.Account, rest)
}

// Day and Moment are a time as the organization's clock shows it. The day of a gift or a plan is shown by the function day: it is in no zone.
func (p org) Day(t time.Time) string    { return shownDay(p.in(t)) }
func (p org) Moment(t time.Time) string { return shownMoment(p.in(t)) }

// Local is a time of an event, as the clocks at its place show it: Apr 24, 2027, 6:00 PM (America/New_York). Without a zone it is the organization's.
func (p org) Local(t time.Time, zone string) string {
	if zone == "" {
		return p.Moment(t)
	}
	return t.In(text.Location(zone)).Format("Jan 2, 2006, 3:04 PM") + " (" + zone + ")"
}

// Given is when something was given: only the day where no more is known.
func (p org) Given(t time.Time) string { return shownWhen(t, text.Location(p.Timezone)) }

func (p org) in(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.In(text.Location(p.Timezone))
}

// Switcher are the organizations that the menu offers. All of them are on the profile page.
func (p page) Switcher() []access.Membership {
	return p.Organizations[:min(len(p.Organizations), rowsPerPage)]
}

// MayEdit and MayManage say which controls to show. The server asks again when they are used.
func (p org) MayEdit() bool   { return p.Role >= access.Editor }
func (p org) MayManage() bool { return p.Role >= access.Owner }

// pages are the templates, each with the layout around it, parsed when it is shown for the first time: a start waits for none.
type pages map[string]func() (*template.Template, error)

// everywhere are the templates that are part of each page.
var everywhere = []string{"layout", "parts", "table", "timeline"}

// findPages knows every template below templates/. Phones are shown as people
// write them in the region.
func findPages(region string) (pages, error) {
	names, err := fs.Glob(templates, "templates/*.html")
	if err != nil {
		return nil, err
	}
	shown := template.FuncMap{"phone": func(number string) string { return text.FormatPhone(number, region) }}
	var parts []string
	for _, part := range everywhere {
		parts = append(parts, "templates/"+part+".html")
	}
	found := pages{}
	for _, name := range names {
		base := strings.TrimSuffix(path.Base(name), ".html")
		if slices.Contains(everywhere, base) {
			continue
		}
		found[base] = sync.OnceValues(func() (*template.Template, error) {
			t := template.New(base)
			cells := template.FuncMap{"cells": func(of *table, row any) (template.HTML, error) { return of.cells(t, row) }}
			return t.Funcs(functions).Funcs(shown).Funcs(cells).ParseFS(templates, slices.Concat(parts, []string{name})...)
		})
	}
	return found, nil
}

// render answers with a whole page. It is put together before anything is sent, so that a failure is still an error page.
func (r *request) render(name string, p page) error {
	if err := r.fill(&p); err != nil {
		return err
	}
	return r.write(r.w, name, "layout", p)
}

// asStranger is the request as that of someone who has not signed in, for a page without the navigation.
func (r *request) asStranger() *request {
	return &request{Console: r.Console, Request: r.Request, w: r.w, form: r.form}
}

// fill adds to a page what every page shows.
func (r *request) fill(p *page) error {
	p.User, p.org = r.session.User, r.org()
	p.RequestID = web.RequestID(r.w)
	if r.session.ID != "" {
		p.Notice = r.takeNotice()
		var err error
		if p.Organizations, err = r.store.Memberships(r.Context(), r.session.User.ID); err != nil {
			return err
		}
		if r.account() != 0 && r.session.Account != r.account() {
			if err := r.store.OpenAccount(r.Context(), r.session, r.account()); err != nil {
				return err
			}
		}
		if r.membership.Role >= access.Owner {
			if p.HasKeys, err = r.store.HasKeys(r.Context(), r.account()); err != nil {
				return err
			}
		}
	}
	return nil
}

// status is what the page is answered with.
func (p page) status() int {
	switch {
	case p.Status != 0:
		return p.Status
	case p.Form != nil && len(p.Form.Faults) > 0:
		return http.StatusUnprocessableEntity
	}
	return http.StatusOK
}

// renderPart answers with one part of a page, for a script that puts it where it belongs.
func (r *request) renderPart(name, part string, p page) error {
	p.User, p.org = r.session.User, r.org()
	return r.write(r.w, name, part, p)
}

func (c *Console) write(w http.ResponseWriter, name, part string, p page) error {
	t, err := c.pages[name]()
	if err != nil {
		return fmt.Errorf("template %s: %w", name, err)
	}
	var b bytes.Buffer
	status := p.status()
	if err := t.ExecuteTemplate(&b, part, p); err != nil {
		return fmt.Errorf("page %s: %w", name, err)
	}
	p = page{} // what it has shown may be large, and clients may be slow
	if err := web.Hold(w, b.Len()); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	_, err = w.Write(b.Bytes())
	return err
}

// designPage shows every part that pages are made of, for people who build pages and for the tests. docs/design.md says when to use which.
func (r *request) designPage() error {
	sample := &form{values: url.Values{"mail": {"ada@example"}, "name": {"Ada Lund"}}, Faults: []doc.Fault{{Field: "mail", Rule: "must be an email address"}}}
	at := time.Date(2026, time.March, 9, 16, 5, 0, 0, time.UTC)
	data := map[string]any{"Icons": icons, "Sample": sample, "At": at, "Gifts": sampleGifts(at)}
	return r.render("design", page{Title: "Design", Section: "design", Status: http.StatusOK, Data: data})
}

// isPart tells whether a script asks for a part of the page.
func (r *request) isPart() bool { return r.Header.Get("HX-Request") == "true" }

// functions are what templates may call.
var functions = template.FuncMap{
	"field":     newField,
	"attribute": attribute,
	"attempt":   newAttempt,
	"select":    newSelect,
	"options":   newOptions,
	"count":     shownCount,
	"plural":    pluralOf,
	"day":       shownDay,
	"date":      machineDay,
	"moment":    shownMoment,
	"machine":   machineTime,
	"icon":      icon,
	"mailKind":  mailKind,
	"mailState": mailState,
	"file":      fileAddress,
	"sizes":     sourceSet,
	"map":       newMap,
	"list":      func(values ...any) []any { return values },
	"initials":  initials,
	"called":    contactName,
	"employer":  employer,
	"giver":     giverName,
	"giftName":  giftName,
	"moved":     movedMoney,
	"number":    giving.GiftNumber,
	"left":      leftOf,
	"planName":  planName,
	"methods":   func() []option { return spokenOptions(giving.Methods...) },
	"often":     func() []option { return spokenOptions(giving.Frequencies...) },
	"input":     text.MoneyInput,
	"beyond":    func(n int, all []string) int { return max(0, len(all)-n) },
	"money":     text.Money,
	"others":    func(sums map[string]int64) string { return moneyList(sums, "") },
	"share":     shareOf,
	"exact":     text.MoneyExact,
	"dialed":    dialed,
	"mark":      crm.MarkLabel,
	"spoken":    spoken,
	"choices":   spokenOptions,
	"capital":   capital,
	"join":      strings.Join,
	"reasons":   reasonsText,
	"roles":     func() []access.Role { return access.Roles },
}

// newMap hands several values to a template: {{template "x" (map "Key" value "Other" value)}}.
func newMap(pairs ...any) (map[string]any, error) {
	m := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		key, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("map: %v is no name", pairs[i])
		}
		m[key] = pairs[i+1]
	}
	return m, nil
}

// newOptions makes choices of texts such as "home=Home".
func newOptions(texts ...string) []option {
	var all []option
	for _, text := range texts {
		value, label, found := strings.Cut(text, "=")
		if !found {
			label = value
		}
		all = append(all, option{Value: value, Label: label})
	}
	return all
}

// shownCount writes a number with separators: 12,345.
func shownCount(n any) string {
	switch n := n.(type) {
	case int:
		return text.CountText(int64(n))
	case *int64:
		return text.CountText(*n)
	case int64:
		return text.CountText(n)
	}
	return fmt.Sprint(n)
}

// pluralOf is plural for numbers of any kind that templates have.
func pluralOf(n any, thing string) string {
	if n, ok := n.(int); ok {
		return plural(int64(n), thing)
	}
	number, _ := n.(int64)
	return plural(number, thing)
}

// shownDay is a date: Mar 9, 2026. A time that never was is a dash.
func shownDay(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.Format("Jan 2, 2006")
}

// shownMoment is a time to the minute, with the zone that it is in: Mar 9, 2026, 4:05 PM EST.
func shownMoment(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.Format("Jan 2, 2006, 3:04 PM MST")
}

// shownWhen is a time that someone has told, of which only the day may be known.
func shownWhen(t time.Time, zone *time.Location) string {
	if t.IsZero() || giving.IsDay(t) {
		return shownDay(t)
	}
	return shownMoment(t.In(zone))
}

// machineDay is what the datetime attribute of a day holds.
func machineDay(t time.Time) string { return t.Format(time.DateOnly) }

// machineTime is what the datetime attribute of a time element holds.
func machineTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// initials are the first letters of up to two words of a name.
func initials(names ...string) string {
	var b strings.Builder
	for word := range strings.FieldsSeq(strings.Join(names, " ")) {
		r, _ := utf8.DecodeRuneInString(word)
		b.WriteRune(unicode.ToUpper(r))
		if utf8.RuneCountInString(b.String()) == 2 {
			break
		}
	}
	return b.String()
}

// capital begins a text, or the name of a thing, with a capital letter.
func capital(text any) string {
	s := fmt.Sprint(text)
	r, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return s
	}
	return string(unicode.ToUpper(r)) + s[size:]
}
