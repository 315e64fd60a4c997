// Package page is what all pages of the console are made of: the request of a person, forms and their faults, notices, lists, tables, filters, timelines, charts,
// words and addresses, and the templates around them. It knows no page: those are in the folders beside it, which know this one and not each other.
package page

import (
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/pdf"
	"donorbook/internal/web"
)

//go:embed *.html
var ownTemplates embed.FS

// View is what every template sees.
type View struct {
	Title   string
	Section string // of the navigation
	Form    *Form  // the page's, where it has one; with faults, the page is the answer to a refused form
	Status  int    // where it is another than the form makes it
	Data    any    // the page's own

	// What render fills in.
	Org
	User          access.User
	Organizations []access.Membership
	Notice        *Notice
	HasKeys       bool // the person manages API keys, and there are some
	RequestID     string
}

// Org is the organization that something is shown of, and what the person who looks may do there.
type Org struct{ access.Membership }

func (r *Request) org() Org { return Org{r.Membership} }

// Path is the address of another page of the organization: {{.Path "/contacts" "tag" .Name}}. The names and values of its
// query come behind the path, and before "#": this is where they are escaped, so no template writes a "?" of its own. What
// the page of samples shows belongs to no organization, and leads nowhere.
func (p Org) Path(rest string, query ...any) string {
	if p.Account.ID == "" {
		return "#"
	}
	path, fragment, found := strings.Cut(OrgPath(p.Account, rest), "#")
	q := url.Values{}
	for i := 0; i+1 < len(query); i += 2 {
		q.Add(fmt.Sprint(query[i]), fmt.Sprint(query[i+1]))
	}
	if path = WithQuery(path, q); found {
		path += "#" + fragment
	}
	return path
}

// Day and Moment are a time as the organization's clock shows it. The day of a gift is shown by the function day: it is in no zone.
func (p Org) Day(t time.Time) string { return Day(p.in(t)) }

func (p Org) Moment(t time.Time) string { return shownMoment(p.in(t)) }

// Local is a time of an event, as the clocks at its place show it: Apr 24, 2027, 6:00 PM (America/New_York). Without a zone it is the organization's.
func (p Org) Local(t time.Time, zone string) string {
	if zone == "" {
		return p.Moment(t)
	}
	return t.In(text.Location(zone)).Format("Jan 2, 2006, 3:04 PM") + " (" + zone + ")"
}

// Given is when something was given: only the day where no more is known.
func (p Org) Given(t time.Time) string { return shownWhen(t, text.Location(p.Timezone)) }

// PlanDay is a day of a plan.
func (p Org) PlanDay(t time.Time) string {
	return Day(giving.PlanClock(t, text.Location(p.Timezone)))
}

func (p Org) in(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.In(text.Location(p.Timezone))
}

// Switcher are the organizations that the menu offers. All of them are on the profile page.
func (p View) Switcher() []access.Membership {
	return p.Organizations[:min(len(p.Organizations), rowsPerPage)]
}

// MayEdit and MayManage say which controls to show. The server asks again when they are used.
func (p Org) MayEdit() bool { return p.Role >= access.Editor }

func (p Org) MayManage() bool { return p.Role >= access.Owner }

// Templates are those of pages, each with the layout around it, parsed when it is shown for the first time: a start waits for none.
type Templates map[string]func() (*template.Template, error)

// everywhere are the templates that are part of each page; what only the pages of one folder share is in its parts.html.
var everywhere = []string{"layout.html", "parts.html", "table.html", "timeline.html"}

// FindTemplates knows every template of this package and of some folders. Phones are shown as people write them in the region.
func FindTemplates(region string, folders ...fs.FS) (Templates, error) {
	shown := template.FuncMap{"phone": func(number string) string { return text.FormatPhone(number, region) }}
	found := Templates{}
	for _, folder := range append(folders, ownTemplates) {
		names, err := fs.Glob(folder, "*.html")
		if err != nil {
			return nil, err
		}
		hasParts := slices.Contains(names, "parts.html")
		for _, name := range names {
			if name == "parts.html" || folder == ownTemplates && slices.Contains(everywhere, name) {
				continue
			}
			base := strings.TrimSuffix(name, ".html")
			found[base] = sync.OnceValues(func() (*template.Template, error) {
				t := template.New(base)
				cells := template.FuncMap{"cells": func(of *Table, row any) (template.HTML, error) { return of.cells(t, row) }}
				_, err := t.Funcs(functions).Funcs(shown).Funcs(cells).ParseFS(ownTemplates, everywhere...)
				if err == nil && hasParts && folder != ownTemplates {
					_, err = t.ParseFS(folder, "parts.html")
				}
				if err == nil {
					_, err = t.ParseFS(folder, name)
				}
				return t, err
			})
		}
	}
	return found, nil
}

// Render answers with a whole page. It is put together before anything is sent, so that a failure is still an error page.
func (r *Request) Render(name string, p View) error {
	if err := r.fill(&p); err != nil {
		return err
	}
	return r.Show(r.W, name, "layout", p)
}

// AsStranger is the request as that of someone who has not signed in, for a page without the navigation.
func (r *Request) AsStranger() *Request {
	return &Request{Site: r.Site, Request: r.Request, W: r.W, Form: r.Form}
}

// fill adds to a page what every page shows.
func (r *Request) fill(p *View) error {
	p.User, p.Org = r.Session.User, r.org()
	p.RequestID = web.RequestID(r.W)
	if r.Session.ID != "" {
		p.Notice = r.takeNotice()
		for _, cookie := range r.Cookies() {
			if strings.HasPrefix(cookie.Name, "__Host-list-") { // of older versions, with filters
				DropCookie(r.W, cookie.Name)
			}
		}
		var err error
		if p.Organizations, err = r.Store.Memberships(r.Context(), r.Session.User.ID); err != nil {
			return err
		}
		if r.Account() != 0 && r.Session.Account != r.Account() {
			if err := r.Store.OpenAccount(r.Context(), r.Session, r.Account()); err != nil {
				return err
			}
		}
		if r.Membership.Role >= access.Owner {
			if p.HasKeys, err = r.Store.HasKeys(r.Context(), r.Account()); err != nil {
				return err
			}
		}
	}
	return nil
}

// status is what the page is answered with.
func (p View) status() int {
	switch {
	case p.Status != 0:
		return p.Status
	case p.Form != nil && len(p.Form.Faults) > 0:
		return http.StatusUnprocessableEntity
	}
	return http.StatusOK
}

// RenderPart answers with one part of a page, for a script that puts it where it belongs.
func (r *Request) RenderPart(name, part string, p View) error {
	p.User, p.Org = r.Session.User, r.org()
	return r.Show(r.W, name, part, p)
}

func (s *Site) Show(w http.ResponseWriter, name, part string, p View) error {
	t, err := s.Templates[name]()
	if err != nil {
		return fmt.Errorf("template %s: %w", name, err)
	}
	made := &pageWriter{w: w, status: p.status()}
	if err := t.ExecuteTemplate(made, part, p); err != nil {
		return fmt.Errorf("page %s: %w", name, err)
	}
	p = View{} // what it has shown may be large, and clients may be slow
	if !made.begun {
		w.Header().Set("Content-Length", strconv.Itoa(len(made.piece)))
	}
	return made.send()
}

// pagePiece is how much of a page is held before it is sent. Most pages are shorter, so that one that fails becomes
// another page. A longer one counts as longPage until its client has all of it: what it shows is in memory for as long.
const (
	pagePiece = 64 << 10
	longPage  = 512 << 10
)

// pageWriter sends a page as it is made, in pieces.
type pageWriter struct {
	w      http.ResponseWriter
	status int
	piece  []byte
	begun  bool
}

func (p *pageWriter) Write(b []byte) (int, error) {
	if len(p.piece)+len(b) > pagePiece {
		if !p.begun {
			if err := web.Hold(p.w, longPage); err != nil {
				return 0, err
			}
		}
		if err := p.send(); err != nil {
			return 0, err
		}
	}
	p.piece = append(p.piece, b...)
	return len(b), nil
}

// send sends what was made so far.
func (p *pageWriter) send() error {
	if !p.begun {
		p.begun = true
		p.w.Header().Set("Content-Type", "text/html; charset=utf-8")
		p.w.WriteHeader(p.status)
	}
	_, err := p.w.Write(p.piece)
	p.piece = p.piece[:0]
	return err
}

// IsPart tells whether a script asks for a part of the page.
func (r *Request) IsPart() bool { return r.Header.Get("HX-Request") == "true" }

// functions are what templates may call.
var functions = template.FuncMap{
	"field":     NewField,
	"attribute": attribute,
	"attempt":   newAttempt,
	"select":    NewSelect,
	"options":   NewOptions,
	"count":     Count,
	"plural":    pluralOf,
	"day":       Day,
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
	"called":    ContactName,
	"drawn":     func(said any) bool { return pdf.Draws(fmt.Sprint(said)) },
	"employer":  Employer,
	"giver":     GiverName,
	"giftName":  GiftName,
	"moved":     MovedMoney,
	"number":    giving.GiftNumber,
	"receiptNo": thanks.ReceiptCode,
	"left":      LeftOf,
	"planName":  PlanName,
	"methods":   func() []Option { return SpokenOptions(giving.Methods...) },
	"often":     func() []Option { return SpokenOptions(giving.Frequencies...) },
	"input":     text.MoneyInput,
	"beyond":    func(n int, all []string) int { return max(0, len(all)-n) },
	"money":     text.Money,
	"others":    func(sums map[string]int64) string { return MoneyList(sums, "") },
	"share":     ShareOf,
	"exact":     text.MoneyExact,
	"dialed":    dialed,
	"mark":      crm.MarkLabel,
	"spoken":    Spoken,
	"choices":   SpokenOptions,
	"capital":   Capital,
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

// NewOptions makes choices of texts such as "home=Home".
func NewOptions(texts ...string) []Option {
	var all []Option
	for _, text := range texts {
		value, label, found := strings.Cut(text, "=")
		if !found {
			label = value
		}
		all = append(all, Option{Value: value, Label: label})
	}
	return all
}

// Count writes a number with separators: 12,345.
func Count(n any) string {
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
		return Plural(int64(n), thing)
	}
	number, _ := n.(int64)
	return Plural(number, thing)
}

// Day is a date: Mar 9, 2026. A time that never was is a dash.
func Day(t time.Time) string {
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
		return Day(t)
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

// Capital begins a text, or the name of a thing, with a capital letter.
func Capital(text any) string {
	s := fmt.Sprint(text)
	r, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return s
	}
	return string(unicode.ToUpper(r)) + s[size:]
}
