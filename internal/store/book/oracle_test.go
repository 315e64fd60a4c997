package book

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/db"
	"donorbook/internal/pay"
	"donorbook/internal/rig/drill"
	"donorbook/internal/store"
	"donorbook/internal/store/donations"
	"donorbook/internal/store/merges"
	"donorbook/internal/store/move"
)

// The oracle does everything that can be done to people, in any order, and knows what must be true afterwards from a
// model that shares no code with the program: a contact is what it began with, and then what happened to it. What is
// undone has not happened.

// person of the oracle: what a contact says, as a set of values ("email:a@x.org", "tag:t") and as texts ("company").
type saying struct {
	set  map[string]bool
	text map[string]string
}

func newSaying() saying { return saying{map[string]bool{}, map[string]string{}} }

func (s saying) clone() saying { return saying{maps.Clone(s.set), maps.Clone(s.text)} }

func (s saying) String() string {
	all := slices.Collect(maps.Keys(s.set))
	for k, v := range s.text {
		if v != "" {
			all = append(all, fmt.Sprintf("%s=%q", k, v))
		}
	}
	sort.Strings(all)
	return strings.Join(all, " ")
}

// differing is the first kind of value in which two differ.
func (s saying) differing(other saying) string {
	for _, kind := range []string{"email", "phone", "id", "tag", "city", "mark"} {
		if !slices.Equal(s.values(kind), other.values(kind)) {
			return kind
		}
	}
	for _, field := range oracleTexts {
		if s.text[field] != other.text[field] {
			return field
		}
	}
	return ""
}

func (s saying) values(kind string) (all []string) {
	for v := range s.set {
		if rest, ok := strings.CutPrefix(v, kind+":"); ok {
			all = append(all, rest)
		}
	}
	sort.Strings(all)
	return all
}

// body is what a client sends to make a contact say this.
func (s saying) body() string {
	list := func(kind, form string) string {
		var all []string
		for _, v := range s.values(kind) {
			all = append(all, fmt.Sprintf(form, v))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	return fmt.Sprintf(`{"first_name":"F","last_name":"L","emails":%s,"phones":%s,"tags":%s,"external_ids":%s,"addresses":%s,"do_not_mail":%v,"bounced_email":%q,"company":%q,"title":%q,"note":%q,"custom_fields":{"field_1":%q}}`,
		list("email", `{"value":"%s"}`), list("phone", `{"value":"%s"}`), list("tag", `"%s"`), list("id",
			`{"source":"old","value":"%s"}`), list("city", `{"city":"%s"}`), s.set["mark:do_not_mail"],
		s.text["bounced"], s.text["company"], s.text["title"], s.text["note"], s.text["custom"])
}

func saysOf(c *crm.Contact) saying {
	s := newSaying()
	for _, e := range c.Emails {
		s.set["email:"+e.Value] = true
	}
	for _, p := range c.Phones {
		s.set["phone:"+p.Value] = true
	}
	for _, t := range c.Tags {
		s.set["tag:"+t] = true
	}
	for _, i := range c.ExternalIDs {
		s.set["id:"+i.Value] = true
	}
	for _, a := range c.Addresses {
		s.set["city:"+a.City] = true
	}
	if c.DoNotMail {
		s.set["mark:do_not_mail"] = true
	}
	s.text = map[string]string{"company": c.Company, "title": c.Title, "note": c.Note,
		"custom": c.CustomValue(1).Text(), "bounced": c.BouncedEmail}
	return s
}

// settle forgets that an email has bounced which is no longer there.
func (s saying) settle() {
	if bounced := s.text["bounced"]; bounced != "" && !s.set["email:"+bounced] {
		s.text["bounced"] = ""
	}
}

// event is something that happened to a contact.
type event struct {
	merge       int64 // its id, 0 for an edit
	other       int64 // the contact that was merged, 0 for what was sent
	rule        mergeRule
	parts       saying          // what came in
	chosen      map[string]bool // fields that were chosen, and whether the other's value was
	preferOther bool
	undone      bool
	went        bool   // an email that bounced, with an undone merge
	new         saying // what the survivor would not have said without it, at any time since
	named       bool   // what was sent may name someone who was erased, so that it cannot be undone

	rename   [2]string // a tag that it had, and what it becomes; "" where it is deleted
	again    *event    // the merge that was made again with tags that came later than its place
	add, out []string  // of an edit
	text     map[string]string
	was      map[string]string
	revision int64
	cancels  *event // of the undo of an edit: what that has taken comes back
	back     []string

	took     []string          // what an edit has really taken, as things are told now
	gave     []string          // and what it has really added
	replaced map[string]string // the texts before it
	is       map[string]string // and after it
	happened bool              // it is known what it did when it was new
	cleared  bool              // that an email bounced, which it took
}

// mergeRule is what happens to texts that both have.
type mergeRule int

const (
	absorb    mergeRule = iota // the survivor's stay, and notes are put together
	overwrite                  // what was sent is newer
	complete                   // a file only fills what is empty
)

type modelContact struct {
	base     saying
	events   []*event
	into     int64
	archived bool
	erased   bool
}

// says is what the contact says after all that happened.
func (c *modelContact) says() saying {
	s := c.fold()
	s.settle()
	return s
}

// fold folds what happened.
func (c *modelContact) fold() saying {
	s := c.base.clone()
	for _, e := range c.events {
		if e.again != nil {
			if !e.again.undone && e.again.merge == e.merge {
				maps.Copy(s.set, e.parts.set)
			}
			continue
		}
		if e.merge != 0 {
			if !e.undone {
				had := s.clone()
				s.take(e)
				e.bring(had, s)
			}
			continue
		}
		if from, to := e.rename[0], e.rename[1]; s.set[from] {
			if delete(s.set, from); to != "" {
				s.set[to] = true
			}
		}
		e.took, e.gave, e.replaced = nil, nil, map[string]string{}
		for _, v := range e.out {
			if s.set[v] && (e.cancels == nil || slices.Contains(e.cancels.gave, v)) {
				e.took = append(e.took, v)
				delete(s.set, v)
			}
		}
		for _, v := range slices.Concat(e.add, e.back) {
			if !s.set[v] && (e.cancels == nil || slices.Contains(e.cancels.took, v)) {
				e.gave = append(e.gave, v)
				s.set[v] = true
			}
		}
		for field, v := range e.text {
			e.replaced[field] = s.text[field]
			if e.cancels == nil || e.cleared && field == "bounced" {
				s.text[field] = v
			} else if s.text[field] == e.cancels.is[field] {
				s.text[field] = e.cancels.replaced[field]
			}
		}
		if bounced := s.text["bounced"]; !e.happened && bounced != "" && slices.Contains(e.took, "email:"+bounced) {
			// what is known of an email goes with it
			e.cleared, e.text["bounced"], e.replaced["bounced"], s.text["bounced"] = true, "", bounced, ""
		}
		e.happened = true
		e.is = maps.Clone(s.text)
	}
	return s
}

func (s saying) take(e *event) {
	mark := e.parts.set["mark:do_not_mail"]
	if others, chosen := e.chosen["do_not_mail"]; chosen && others && !mark {
		delete(s.set, "mark:do_not_mail")
	}
	maps.Copy(s.set, e.parts.set)
	for _, field := range oracleTexts {
		v := e.parts.text[field]
		others, chosen := e.chosen[field]
		switch {
		case v == "" && (!others || field == "custom"): // an empty value is taken only where it was chosen
		case field == "note" && e.rule == absorb && !chosen && s.text[field] != "":
			s.text[field] = joinNotes(s.text[field], v)
		case others, e.preferOther && !chosen, e.rule == overwrite, s.text[field] == "":
			s.text[field] = v
		}
	}
}

// bring notes what a merge has brought to someone who said something before.
func (e *event) bring(had, has saying) {
	for v := range has.set {
		if !had.set[v] {
			e.new.set[v] = true
		}
	}
	for field, v := range has.text {
		if had.text[field] != v {
			e.new.text[field] = e.parts.text[field]
		}
	}
}

func joinNotes(a, b string) string {
	switch {
	case strings.Contains(a, b):
		return a
	case strings.Contains(b, a):
		return b
	}
	return a + "\n\n" + b
}

// typed tells whether a value was ever told about the contact itself, and not about another one that is or was part
// of it.
func (c *modelContact) typed(v string) bool {
	field, text, isText := strings.Cut(v, "=")
	has := func(s saying) bool { return s.set[v] || isText && strings.Contains(s.text[field], text) }
	if has(c.base) {
		return true
	}
	for _, e := range c.events {
		switch {
		case slices.Contains(e.add, v), isText && strings.Contains(e.text[field], text):
			return true
		case e.merge != 0 && e.other == 0 && !e.undone && has(e.parts):
			return true
		}
	}
	return false
}

var oracleTexts = []string{"company", "title", "note", "custom", "bounced"}

// oracleStep is one operation, as data, so that a sequence that fails shrinks to the few steps that matter. What it
// means depends on what is there: a step that has nothing to do is passed over.
type oracleStep struct {
	Op      string
	A, B, C int
}

type oracle struct {
	*folk
	rt        *rapid.T
	elsewhere *Book
	other     *Book // the other node
	desk      *pay.Desk
	clock     *clock
	field     custom.Field
	place     *time.Location
	word      string // in every value, so that it is found in a table if it is there
	contacts  map[int64]*modelContact
	ids       []int64
	merges    []int64          // that stand
	into      map[int64]int64  // the survivor of a merge
	undos     []int64          // of merges
	undoOf    map[int64]int64  // the merge that an undo has undone
	edits     []int64          // revisions
	editOf    map[int64]*event // by revision
	ofEdit    map[int64]int64  // the contact
	gifts     map[string]*oracleGift
	plans     map[string]int64 // the contact
	campaigns []campaign.Campaign
	segments  map[int64]modelSegment
	texts     map[thanks.Occasion]thanks.Template
	mails     map[string]int // about each gift, that wait in the outbox
	told      map[string]int // of a refund of each gift; they wait, too
	bulks     []modelBulk
	imports   []modelImport
	filed     map[string]bool // values of files: those whom an import has made are in the archive
	log       []string
	names     int
}

var oracleOps = map[string]func(*oracle, oracleStep){
	"":       func(*oracle, oracleStep) {},
	"create": (*oracle).create, "send": (*oracle).send, "edit": (*oracle).edit, "undo edit": (*oracle).undoEdit,
	"merge": (*oracle).merge, "undo merge": (*oracle).undoMerge, "redo": (*oracle).redo,
	"archive": (*oracle).archive, "restore": (*oracle).restore, "gift": (*oracle).gift, "refund": (*oracle).refund,
	"void": (*oracle).void, "correct": (*oracle).correct, "plan": (*oracle).plan, "campaign": (*oracle).renameCampaign,
	"zone": (*oracle).zone, "segment": (*oracle).segment, "tag": (*oracle).retag, "bulk": (*oracle).bulk,
	"undo bulk": (*oracle).undoBulk, "import": (*oracle).importPeople, "undo import": (*oracle).undoImport,
	"sure": (*oracle).sure, "import gifts": (*oracle).importGifts,
	"thank": (*oracle).thank, "receipt": (*oracle).receipt, "template": (*oracle).template, "bounce": (*oracle).bounce,
	"post": (*oracle).post, "donate": (*oracle).donate, "erase": (*oracle).erase, "age": (*oracle).age,
}

// oracleOften are done more often than others: without people and what they share there is nothing to do. A sequence
// shrinks to the first.
var oracleOften = []string{"", "create", "send", "edit", "merge", "gift", "undo merge", "tag"}

func (o *oracle) say(format string, args ...any) { o.log = append(o.log, fmt.Sprintf(format, args...)) }

func (o *oracle) name(id int64) string { return string(rune('A' + slices.Index(o.ids, id))) }

// Fatal and Errorf end the sequence, too, so that it shrinks.
func (o *oracle) Fatal(args ...any) { o.fault("error", "%s", fmt.Sprint(args...)) }

func (o *oracle) Errorf(format string, args ...any) { o.fault("difference", format, args...) }

func (o *oracle) recordOf(id int64) crm.Contact {
	o.Helper()
	return must(o.ContactRecord(o.Context(), o.Number, id))(o)
}

// fault ends the sequence.
func (o *oracle) fault(name, format string, args ...any) {
	o.rt.Helper()
	o.rt.Fatalf("fault %q: %s\n%s", name, fmt.Sprintf(format, args...), strings.Join(o.log, "\n"))
}

// refused tells whether the program refused something, which it may; anything but a refusal is a fault.
func (o *oracle) refused(what string, err error) bool {
	var invalid *doc.Invalid
	if err == nil {
		return false
	}
	if !errors.As(err, &invalid) && !errors.Is(err, crm.ErrArchived) && !errors.Is(err, crm.ErrNotFound) {
		o.fault("error of "+what, "%v", err)
	}
	o.say("(%s is refused: %v)", what, err)
	return true
}

// value is one of a few that contacts may share.
func (o *oracle) value(n int) string {
	values := []string{"email:a@%s.org", "email:b@%s.org", "phone:+1212555%s0", "phone:+1212555%s1", "tag:t%s",
		"tag:u%s", "id:1%s", "id:2%s", "city:C%s", "city:D%s", "mark:do_not_mail"}
	v := values[n%len(values)]
	switch {
	case strings.HasPrefix(v, "phone"):
		return fmt.Sprintf(v, o.word[len(o.word)-3:])
	case strings.Contains(v, "%s"):
		return fmt.Sprintf(v, o.word)
	}
	return v
}

const oracleValues = 11

// newSays is what a new contact says.
func (o *oracle) newSays(st oracleStep) saying {
	s := newSaying()
	for i := range 3 {
		if n := st.A >> (4 * i) % 16; n < oracleValues {
			s.set[o.value(n)] = true
		}
	}
	for i, field := range oracleTexts {
		if st.B>>i%2 == 1 && field != "bounced" {
			o.names++
			s.text[field] = fmt.Sprintf("%s%s%d.", field[:1], o.word, o.names)
		}
	}
	return s
}

func (o *oracle) add(id int64, base saying) {
	o.ids = append(o.ids, id)
	o.contacts[id] = &modelContact{base: base}
}

func (o *oracle) create(st oracleStep) {
	if len(o.ids) >= 5 {
		return
	}
	s := o.newSays(st)
	made, err := o.CreateContact(o.Context(), o.Number, input(o, s.body()), crm.Force)
	if o.refused("create", err) {
		return
	}
	o.add(made.ID, s)
	o.say("create %s {%s}", o.name(made.ID), s)
}

func (o *oracle) send(st oracleStep) {
	if len(o.ids) >= 6 {
		return
	}
	s := o.newSays(st)
	made, err := o.CreateContact(o.Context(), o.Number, input(o, s.body()), crm.Dedupe)
	if o.refused("send", err) {
		return
	}
	switch {
	case !made.Merged:
		o.add(made.ID, s)
		o.say("send: create %s {%s}", o.name(made.ID), s)
	case made.Merge != 0 && !slices.Contains(o.merges, made.Merge):
		o.note(made.ID, &event{merge: made.Merge, rule: overwrite, parts: s})
		o.say("merge %d: sent {%s} to %s", made.Merge, s, o.name(made.ID))
	default:
		o.say("sent {%s}, which %s says already", s, o.name(made.ID))
	}
}

// note notes a merge.
func (o *oracle) note(id int64, e *event) {
	e.new = newSaying()
	o.contacts[id].events = append(o.contacts[id].events, e)
	o.merges = append(o.merges, e.merge)
	o.into[e.merge] = id
}

// pick picks a contact that is a person today, 0 for none.
func (o *oracle) pick(n int) int64 {
	var alive []int64
	for _, id := range o.ids {
		if c := o.contacts[id]; c.into == 0 && !c.erased {
			alive = append(alive, id)
		}
	}
	if len(alive) == 0 {
		return 0
	}
	return alive[n%len(alive)]
}

func (o *oracle) edit(st oracleStep) {
	id := o.pick(st.A)
	if id == 0 || o.contacts[id].archived {
		return
	}
	c := o.contacts[id]
	was := c.says()
	is := was.clone()
	e := &event{text: map[string]string{}, was: map[string]string{}}
	if n := st.B % (oracleValues + len(oracleTexts)); n < oracleValues {
		if v := o.value(n); is.set[v] {
			delete(is.set, v)
			e.out = []string{v}
		} else {
			is.set[v] = true
			e.add = []string{v}
		}
	} else {
		field := oracleTexts[n-oracleValues]
		o.names++
		if is.text[field] = fmt.Sprintf("%s%s%d.", field[:1], o.word, o.names); field == "bounced" {
			emails := append(is.values("email"), "") // none is that it works again
			if is.text[field] = emails[st.C>>4%len(emails)]; is.text[field] == was.text[field] {
				return
			}
		}
		e.text[field], e.was[field] = is.text[field], was.text[field]
	}
	if is.settle(); is.text["bounced"] != was.text["bounced"] {
		e.text["bounced"], e.was["bounced"] = is.text["bounced"], was.text["bounced"]
	}
	made, err := o.UpdateContact(o.Context(), o.Number, id, input(o, is.body()))
	if o.refused("edit", err) {
		return
	}
	e.revision = made.Tag.Revision
	o.edited(id, e)
	o.say("edit %d of %s +%v -%v %v", e.revision, o.name(id), e.add, e.out, e.text)
	if st.C%4 == 0 {
		o.undoEditNow(id, e, was)
	}
}

func (o *oracle) edited(id int64, e *event) {
	o.contacts[id].events = append(o.contacts[id].events, e)
	o.edits = append(o.edits, e.revision)
	o.editOf[e.revision], o.ofEdit[e.revision] = e, id
}

// undoEditNow: what was done last, undone, has not happened.
func (o *oracle) undoEditNow(id int64, e *event, was saying) {
	o.takeBack(id, e)
	if now := o.contacts[id].says(); now.String() != was.String() {
		o.fault("model", "undone at once, %s is %s", o.name(id), now)
	}
}

func (o *oracle) undoEdit(st oracleStep) {
	if len(o.edits) == 0 {
		return
	}
	revision := o.edits[st.A%len(o.edits)]
	id, e := o.ofEdit[revision], o.editOf[revision]
	if c := o.contacts[id]; c.into != 0 || c.archived || c.erased {
		return
	}
	o.takeBack(id, e)
}

// takeBack undoes an edit: what is still as it left it goes back, and what was changed since stays. A value that
// comes back is whose it was: if a merge had brought it, it goes with the undo of that merge.
func (o *oracle) takeBack(id int64, e *event) {
	now := o.contacts[id].says()
	u := &event{text: map[string]string{}, was: map[string]string{}, cancels: e}
	for _, v := range slices.Concat(e.add, e.back) {
		if now.set[v] {
			u.out = append(u.out, v)
		}
	}
	for _, v := range e.out {
		if !now.set[v] {
			u.back = append(u.back, v)
		}
	}
	for field := range e.text {
		if now.text[field] == e.is[field] {
			u.text[field] = e.replaced[field]
		}
	}
	made, left, err := o.UndoChange(o.Context(), o.Number, id, e.revision, "US")
	if o.refused("undo edit", err) {
		return
	}
	u.revision = made.Tag.Revision
	o.edited(id, u)
	o.say("undo edit %d of %s: edit %d, left %v", e.revision, o.name(id), u.revision, left)
}

// merge merges two contacts, as its preview said. Nothing is lost but what the preview named, sums stay, and now and
// then it is undone at once, which is as if it had not been, and made again.
func (o *oracle) merge(st oracleStep) {
	id, other := o.pick(st.A), o.pick(st.B)
	if id == 0 || id == other || o.contacts[id].archived || o.contacts[other].archived {
		return
	}
	e := &event{other: other, rule: absorb, parts: o.contacts[other].says(), preferOther: st.C%3 == 0,
		chosen: map[string]bool{}}
	in := crm.MergeInput{Contact: other, MergeChoice: crm.MergeChoice{PreferOther: e.preferOther,
		Fields: map[string]int64{}}}
	if n := st.C >> 2 % 16; n < len(oracleChoices) {
		field := oracleChoices[n]
		e.chosen[field] = st.C>>6%2 == 0
		name := field
		if field == "custom" {
			name = "custom_fields." + o.field.Key()
		}
		if in.Fields[name] = id; e.chosen[field] {
			in.Fields[name] = other
		}
	}
	before := o.rows()
	sums := totals(o, o.Book, o.Number)
	preview, err := o.PreviewMerge(o.Context(), o.Number, id, in, "US")
	if err != nil {
		o.fault("preview refused", "of %s into %s: %v", o.name(other), o.name(id), err)
	}
	made, err := o.Merge(o.Context(), o.Number, id, in, "US")
	if o.refused("merge", err) {
		o.fault("merge refused", "the merge of %s into %s is refused: %v", o.name(other), o.name(id), err)
	}
	o.say("merge %d: %s into %s, chosen %v, prefer the other: %v", made.Merge, o.name(other), o.name(id), e.chosen,
		e.preferOther)
	is := o.recordOf(id)
	if is.Stats, is.UpdatedAt = preview.Merged.Stats,
		preview.Merged.UpdatedAt; string(is.AppendBody(nil)) != string(preview.Merged.AppendBody(nil)) {
		o.fault("preview", "it was\n%s\nit is\n%s", preview.Merged.AppendBody(nil), is.AppendBody(nil))
	}
	o.nothingLost(&preview, &is)
	if now := totals(o, o.Book, o.Number); !slices.Equal(now, sums) {
		o.fault("a merge changes what was given", "it was\n%s\nit is\n%s", strings.Join(sums, "\n"),
			strings.Join(now, "\n"))
	}
	merge := made.Merge
	if st.A>>6%4 == 0 {
		merge = o.undoAndRedo(merge, before)
	}
	e.merge = merge
	o.note(id, e)
	o.contacts[other].into = id
}

// oracleChoices are fields that a merge can be asked to take from one of both.
var oracleChoices = []string{"company", "title", "note", "custom", "do_not_mail"}

// undoAndRedo undoes a merge that was just made, and undoes that.
func (o *oracle) undoAndRedo(merge int64, before []string) int64 {
	merged := o.rows()
	undone, err := o.UndoMerge(o.Context(), o.Number, merge, "US")
	if err != nil || len(undone.Left) > 0 {
		o.fault("undo of the last merge", "%v, left %v", err, undone.Left)
	}
	o.same("undo of the last merge", before)
	again := must(o.UndoMerge(o.Context(), o.Number, undone.ID(), "US"))(o)
	o.same("undo of the last undo", merged)
	o.say("undone and made again: merge %d", again.Survivor.Merge)
	return again.Survivor.Merge
}

// nothingLost looks for each value of both contacts in the merged one, or among those that the preview said would be
// lost.
func (o *oracle) nothingLost(p *merges.Preview, is *crm.Contact) {
	for _, c := range []*crm.Contact{&p.Survivor, &p.Other} {
		for _, f := range crm.ContactTexts {
			text := f.Text(c)
			told := slices.ContainsFunc(p.Lost, func(l crm.Lost) bool { return l.Contact == c.ID && l.Value == text })
			if text != "" && !strings.Contains(f.Text(is), text) && !told {
				o.fault("lost by a merge", "%s %q of %s: %q, %+v", f.Name, text, o.name(c.ID), f.Text(is), p.Lost)
			}
		}
		for _, key := range c.MatchKeys {
			if !slices.Contains(is.MatchKeys, key) {
				o.fault("lost by a merge", "the key %q of %s", key, o.name(c.ID))
			}
		}
		for _, tag := range c.Tags {
			if !slices.Contains(is.Tags, tag) {
				o.fault("lost by a merge", "the tag %q of %s", tag, o.name(c.ID))
			}
		}
		for _, v := range c.Custom {
			told := slices.ContainsFunc(p.Lost, func(l crm.Lost) bool {
				return l.Contact == c.ID &&
					l.Value == v.Text()
			})
			if is.CustomValue(v.Field) != v && !told {
				o.fault("lost by a merge", "the value %q of %s", v.Value, o.name(c.ID))
			}
		}
		if c.DoNotMail && !is.DoNotMail && !slices.ContainsFunc(p.Lost,
			func(l crm.Lost) bool { return l.Field == "Do not mail" }) {
			o.fault("lost by a merge", "do_not_mail of %s", o.name(c.ID))
		}
	}
}

func (o *oracle) eventOf(merge int64) *event {
	for _, e := range o.contacts[o.into[merge]].events {
		if e.merge == merge {
			return e
		}
	}
	return nil
}

func (o *oracle) undoMerge(st oracleStep) {
	if len(o.merges) == 0 {
		return
	}
	id := o.merges[st.A%len(o.merges)]
	survivor, e := o.into[id], o.eventOf(id)
	c := o.contacts[survivor]
	if c.into != 0 || c.archived || c.erased {
		return
	}
	u, err := o.UndoMerge(o.Context(), o.Number, id, "US")
	if o.refused("undo merge", err) {
		if !e.named {
			o.fault("undo refused", "the undo of merge %d is refused: %v", id, err)
		}
		return
	}
	o.say("undo merge %d: undo %d, left %v", id, u.ID(), u.Left)
	o.merges = slices.DeleteFunc(o.merges, func(m int64) bool { return m == id })
	o.undos = append(o.undos, u.ID())
	o.undoOf[u.ID()] = id
	bounced := c.says().text["bounced"]
	e.undone = true
	if e.other == 0 {
		e.other = u.Other.ID
		o.add(e.other, e.parts.clone())
	}
	oc := o.contacts[e.other]
	oc.into = 0
	// an email takes along what is known of it
	if says := oc.says(); c.says().text["bounced"] != bounced && says.set["email:"+bounced] {
		oc.events = append(oc.events, &event{text: map[string]string{"bounced": bounced},
			was: map[string]string{"bounced": says.text["bounced"]}})
	}
	o.giveUpIDs(e.other, u.Left)
}

// giveUpIDs: an id that another contact has by now does not come back, and the program says so.
func (o *oracle) giveUpIDs(id int64, left []string) {
	if !slices.Contains(left, "external_ids") {
		return
	}
	back := &event{}
	for v := range o.contacts[id].says().set {
		if strings.HasPrefix(v, "id:") && o.heldByOther(id, v) {
			back.out = append(back.out, v)
		}
	}
	o.contacts[id].events = append(o.contacts[id].events, back)
}

func (o *oracle) heldByOther(id int64, v string) bool {
	return slices.ContainsFunc(o.ids, func(other int64) bool {
		c := o.contacts[other]
		return other != id && c.into == 0 && !c.erased && c.says().set[v]
	})
}

func (o *oracle) redo(st oracleStep) {
	if len(o.undos) == 0 {
		return
	}
	undo := o.undos[st.A%len(o.undos)]
	survivor, e := o.into[o.undoOf[undo]], o.eventOf(o.undoOf[undo])
	c, oc := o.contacts[survivor], o.contacts[e.other]
	if c.into != 0 || oc.into != 0 || c.archived || oc.archived || c.erased || oc.erased {
		return
	}
	u, err := o.UndoMerge(o.Context(), o.Number, undo, "US")
	if o.refused("redo", err) {
		return
	}
	e.merge, e.undone, e.parts = u.Survivor.Merge, false, oc.says()
	if e.parts.text["bounced"] != "" { // then all is told again that was told of bounced emails since
		since := slices.Index(c.events, e)
		c.events = append(c.events[:since:since], slices.DeleteFunc(c.events[since:],
			func(w *event) bool { return w.went })...)
	}
	late := newSaying() // a tag that was renamed or deleted since, the other one has got later
	for _, w := range c.events[slices.Index(c.events, e):] {
		if tag := w.rename[0]; e.parts.set[tag] {
			late.set[tag] = true
			delete(e.parts.set, tag)
		}
	}
	c.events = append(c.events, &event{again: e, merge: e.merge, other: e.other, parts: late})
	o.merges, o.into[e.merge] = append(o.merges, e.merge), survivor
	oc.into = survivor
	o.undos = slices.DeleteFunc(o.undos, func(u int64) bool { return u == undo })
	o.say("undo undo %d: merge %d: %s into %s", undo, u.Survivor.Merge, o.name(e.other), o.name(survivor))
}

func (o *oracle) archive(st oracleStep) {
	id := o.pick(st.A)
	if id == 0 || st.B%2 == 0 || o.refused("archive", o.ArchiveContact(o.Context(), o.Number, id)) {
		return
	}
	o.contacts[id].archived = true
	o.say("archive %s", o.name(id))
}

func (o *oracle) restore(st oracleStep) {
	id := o.pick(st.A)
	if id == 0 {
		return
	}
	if _, err := o.RestoreContact(o.Context(), o.Number, id); o.refused("restore", err) {
		return
	}
	o.contacts[id].archived = false
	o.say("restore %s", o.name(id))
}

// says is what each contact of the model says in the program.
func (o *oracle) says() map[int64]string {
	all := map[int64]string{}
	for _, id := range o.ids {
		now := o.recordOf(id)
		all[id] = saysOf(&now).String()
	}
	return all
}

var archivedTimes = regexp.MustCompile(`"archived_at":"[^"]*"`)

// rows are all rows of the account that people can tell apart.
func (o *oracle) rows() []string {
	rows := everything(o, o.Book, o.Number)
	for i := range rows {
		rows[i] = archivedTimes.ReplaceAllString(rows[i], "archived")
	}
	return rows
}

func (o *oracle) same(what string, before []string) {
	if diff := gocmp.Diff(before, o.rows()); diff != "" {
		o.fault(what, "%s", diff)
	}
}

func (o *oracle) age(st oracleStep) {
	o.post(st) // after two days it would be too late
	o.clock.move(16 * 24 * time.Hour)
	o.say("16 days go by")
}

// person are a contact and those that are part of it.
func (o *oracle) person(id int64) []int64 {
	all := []int64{id}
	for _, other := range o.ids {
		if o.contacts[other].into == id {
			all = append(all, o.person(other)...)
		}
	}
	return all
}

// erase erases a person. What was told about this person alone is in no table.
func (o *oracle) erase(st oracleStep) {
	id := o.pick(st.A)
	if id == 0 || st.B%3 != 0 { // rarely: a sequence needs people
		return
	}
	person := o.person(id)
	job, err := o.EraseContact(o.Context(), o.Number, id)
	if err == nil && job != 0 {
		_, err = o.FinishJob(o.Context(), o.Number, job)
	}
	if err != nil {
		o.fault("erase", "%s: %v", o.name(id), err)
		return
	}
	o.say("erase %s", o.name(id))
	for _, one := range person {
		o.contacts[one].erased = true
	}
	o.wantNoTraces(person)
	o.forgetMails()
	o.readSegments(person)
	o.nameErased(person)
	o.forget(person)
}

// nameErased notes merges of what was sent with an email or a phone number of an erased person that the survivor does
// not have without it. Of these only what they did is known from then on.
func (o *oracle) nameErased(person []int64) {
	for _, merge := range o.merges {
		e := o.eventOf(merge)
		says := o.contacts[o.into[merge]].says()
		for v := range e.parts.set {
			reaches := strings.HasPrefix(v, "email:") || strings.HasPrefix(v, "phone:")
			e.named = e.named || reaches && e.other == 0 && (e.new.set[v] || !says.set[v]) &&
				slices.ContainsFunc(person, func(id int64) bool { return o.contacts[id].had(v) })
		}
		if !e.named {
			continue
		}
		m := must(o.MergeOf(o.Context(), o.Number, merge))(o)
		if m.Forgotten() {
			e.parts = e.new
		}
	}
}

// had tells whether a contact ever had a value, of its own or by a merge.
func (c *modelContact) had(v string) bool {
	return c.base.set[v] || slices.ContainsFunc(c.events,
		func(e *event) bool { return slices.Contains(e.add, v) || e.parts.set[v] })
}

// values of the model that only these people ever had.
func (o *oracle) own(person []int64) (own []string) {
	all := map[string]bool{}
	for _, id := range person {
		c := o.contacts[id]
		collect := func(s saying) {
			maps.Copy(all, s.set)
			for field, text := range s.text {
				for _, part := range strings.Split(text, "\n\n") {
					if part != "" {
						all[field+"="+part] = true
					}
				}
			}
		}
		collect(c.base)
		for _, e := range c.events {
			if e.merge == 0 {
				s := newSaying()
				for _, v := range e.add {
					s.set[v] = true
				}
				maps.Copy(s.text, e.text)
				collect(s)
			} else if e.other == 0 {
				collect(e.parts)
			}
		}
	}
	for v := range all {
		others := slices.ContainsFunc(o.ids, func(id int64) bool {
			return !slices.Contains(person, id) && !o.contacts[id].erased && o.contacts[id].typed(v)
		})
		// a tag is the organization's word, and what has bounced is an email
		if !others && !o.filed[v] && !strings.HasPrefix(v, "mark:") && !strings.HasPrefix(v, "bounced=") &&
			!strings.HasPrefix(v, "tag:") {
			own = append(own, v)
		}
	}
	sort.Strings(own)
	return own
}

func (o *oracle) wantNoTraces(person []int64) {
	var words []string
	for _, v := range o.own(person) {
		if _, text, isText := strings.Cut(v, "="); isText {
			words = append(words, text)
		} else {
			_, value, _ := strings.Cut(v, ":")
			words = append(words, value)
		}
	}
	if words = append(words, o.notes(person)...); len(words) == 0 {
		return
	}
	succeed(o, o.View(o.Context(), func(c db.Conn) error {
		for _, table := range store.Schema.Tables {
			if table.Columns[0].Name != "account_id" || table.Key == 1 {
				continue
			}
			err := c.EachOf(table, o.Number, func(row []any) error {
				text := ""
				for _, column := range row {
					if b, isBytes := column.([]byte); isBytes {
						text += string(b) + " "
					} else {
						text += fmt.Sprint(column) + " "
					}
				}
				for _, word := range words {
					if strings.Contains(text, word) {
						o.fault("erased value in "+table.Name, "%q is still in %s: %.600s", word, table.Name, text)
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}))
}

// forget removes from the model what is no longer there: edits and merges of erased people cannot be undone.
func (o *oracle) forget(person []int64) {
	gone := func(merge int64) bool {
		e := o.eventOf(merge)
		return slices.Contains(person, o.into[merge]) || slices.Contains(person, e.other)
	}
	o.merges = slices.DeleteFunc(o.merges, gone)
	o.undos = slices.DeleteFunc(o.undos, func(u int64) bool { return gone(o.undoOf[u]) })
	o.bulks = slices.DeleteFunc(o.bulks, func(b modelBulk) bool {
		return slices.ContainsFunc(person, func(id int64) bool { return b.edits[id] != nil })
	})
	o.edits = slices.DeleteFunc(o.edits, func(r int64) bool { return slices.Contains(person, o.ofEdit[r]) })
}

// check compares every contact with the model. An email that went with an undone merge has taken along what was known
// of it. It brings that back.
func (o *oracle) check() {
	for _, c := range o.contacts {
		if told := c.fold().text["bounced"]; told != c.says().text["bounced"] {
			c.events = append(c.events, &event{went: true, text: map[string]string{"bounced": ""},
				was: map[string]string{"bounced": told}})
		}
	}
	held := map[string]int64{}
	for _, id := range o.ids {
		c := o.contacts[id]
		now := o.recordOf(id)
		if c.erased {
			if !now.Erased() {
				o.fault("not erased", "%s belongs to a person who was erased: %s", o.name(id), saysOf(&now))
			}
			continue
		}
		got, want := saysOf(&now), c.says()
		if c.into != 0 { // its ids are the survivor's now
			maps.DeleteFunc(want.set, func(v string, _ bool) bool { return strings.HasPrefix(v, "id:") })
			maps.DeleteFunc(got.set, func(v string, _ bool) bool { return strings.HasPrefix(v, "id:") })
		} else {
			if now.Archived() != c.archived {
				o.fault("archived", "%s: archived is %v", o.name(id), now.Archived())
				return
			}
			for _, v := range got.values("id") {
				if held[v] != 0 && !c.archived && !o.contacts[held[v]].archived {
					o.fault("one id, two contacts", "id %s is of %s and of %s", v, o.name(held[v]), o.name(id))
					return
				}
				held[v] = id
			}
		}
		if field := got.differing(want); field != "" {
			o.fault("state of "+field, "%s is\n  %s\nwant\n  %s", o.name(id), got, want)
			return
		}
	}
}

// lists compares lists and filters with the model, by brute force.
func (o *oracle) lists() {
	for n := range oracleValues {
		v := o.value(n)
		kind, value, _ := strings.Cut(v, ":")
		if kind != "email" && kind != "phone" && kind != "tag" && kind != "city" {
			continue
		}
		o.wantList(kind, value, func(id int64) bool { return o.contacts[id].says().set[v] })
	}
}

// again exports the account, imports it into another database and exports that: both files say the same.
func (o *oracle) again() {
	files := exportAccount(o, o.Book, o.Account)
	made := must(o.elsewhere.ImportAccount(o.Context(), files, move.AccountImport{Progress: quiet}))(o)
	copied := exportAccount(o, o.elsewhere, made.Account)
	for name, file := range files {
		want, got := string(file.Data), string(copied[name].Data)
		switch name {
		case move.ManifestName, move.AccountFile: // they tell of the import and of both exports
		case move.HistoryFile:
			if !strings.HasPrefix(got, want) {
				o.fault("account file: "+name, "it was\n%s\nit is\n%s", want, got)
			}
		default:
			if got != want {
				o.fault("account file: "+name, "it was\n%s\nit is\n%s", want, got)
			}
		}
	}
}

// ownFiles: a person's own file has everything that is told about the person.
func (o *oracle) ownFiles() {
	for _, id := range o.ids {
		if c := o.contacts[id]; c.into != 0 || c.erased {
			continue
		}
		data := must(o.ContactData(o.Context(), o.Number, id))(o)
		var file bytes.Buffer
		if err := data.Write(o.Context(), &file); err != nil {
			o.fault("own file", "%s: %v", o.name(id), err)
			return
		}
		for code, g := range o.gifts {
			if o.root(g.of) == id && !(strings.Contains(file.String(), code) &&
				strings.Contains(file.String(), o.noteOf(g))) {
				o.fault("own file", "gift %s with %q is missing in the file of %s:\n%s", code, g.note, o.name(id),
					file.String())
			}
		}
		for _, one := range o.person(id) {
			if says := o.contacts[one].says(); one != id {
				for v := range says.set {
					if _, value, _ := strings.Cut(v, ":"); !strings.HasPrefix(v, "mark:") &&
						!strings.Contains(file.String(), value) {
						o.fault("own file", "%q of %s is missing in the file of %s:\n%s", v, o.name(one), o.name(id),
							file.String())
						return
					}
				}
				for field, v := range says.text {
					for _, part := range strings.Split(v, "\n\n") {
						if !strings.Contains(file.String(), part) {
							o.fault("own file", "%s %q of %s is missing in the file of %s:\n%s", field, part,
								o.name(one), o.name(id), file.String())
							return
						}
					}
				}
			}
		}
	}
}

// TestOracle runs random sequences. The number of them is rapid's in the drill, or where -rapid.checks says it, and
// else small.
func TestOracle(t *testing.T) {
	t.Parallel()
	checks := flag.Lookup("rapid.checks")
	few := !drill.On && checks.Value.String() == checks.DefValue
	for _, e := range bothEngines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			database := e.options(t)
			nodes, elsewhere := []*Book{open(t, database), open(t, database)}, open(t, e.options(t))
			clock := stopClock(nodes[0])
			nodes[1].Now = clock.time
			stopClock(elsewhere) // its clock stays behind that of the files
			desk, key := pay.NewDesk("https://donors.example"), filepath.Join(t.TempDir(), "key")
			desk.Now = clock.time
			for _, s := range nodes {
				s.UseDesk(desk, donations.NewKeys(key), "US")
			}
			ops := slices.Concat(oracleOften, slices.Sorted(maps.Keys(oracleOps)))
			if only := os.Getenv("ORACLE"); only != "" {
				ops = append([]string{""}, strings.Split(only, ",")...)
			}
			number := rapid.IntRange(0, 1<<12-1)
			steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) oracleStep {
				return oracleStep{rapid.SampledFrom(ops).Draw(t, "op"), number.Draw(t, "a"), number.Draw(t, "b"),
					number.Draw(t, "c")}
			}), 25, 35)
			runs, failed := 0, false
			rapid.Check(t, func(rt *rapid.T) {
				if runs++; few && !failed && runs > map[string]int{"sqlite": 12, "postgres": 4}[e.name] {
					return
				}
				failed = true // as long as it has not ended
				o := newOracle(t, rt, nodes[0], fmt.Sprintf("w%06d", runs))
				o.elsewhere, o.clock, o.desk = elsewhere, clock, desk
				for _, st := range steps.Draw(rt, "steps") {
					o.Book, o.other = nodes[st.C%2], nodes[1-st.C%2]
					oracleOps[st.Op](o, st)
					o.check()
				}
				for _, last := range []func(*oracle){(*oracle).lists, (*oracle).tags, (*oracle).ledger,
					(*oracle).thanked, (*oracle).ownFiles, (*oracle).again} {
					last(o)
				}
				failed = false
			})
		})
	}
}

func newOracle(t *testing.T, rt *rapid.T, s *Book, word string) *oracle {
	o := &oracle{folk: folkOf(t, s), rt: rt, word: word, place: time.UTC,
		contacts: map[int64]*modelContact{}, into: map[int64]int64{},
		gifts: map[string]*oracleGift{}, plans: map[string]int64{}, segments: map[int64]modelSegment{},
		undoOf: map[int64]int64{}, filed: map[string]bool{}, editOf: map[int64]*event{}, ofEdit: map[int64]int64{}}
	for i := range 2 {
		title := fmt.Sprintf("Campaign %s%d", word, i)
		made := must(s.CreateCampaign(t.Context(), o.Account, campaign.Input{Title: &title}))(t)
		o.campaigns = append(o.campaigns, made)
	}
	o.field = define(t, s, o.Number, "Shirt", custom.TextField)
	o.texts, o.mails = map[thanks.Occasion]thanks.Template{}, map[string]int{}
	o.told = map[string]int{}
	return o
}
