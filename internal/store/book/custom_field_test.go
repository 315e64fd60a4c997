package book

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// define adds a custom field.
func define(t testing.TB, s *Book, account int64, title string, kind custom.FieldType, options ...string) custom.Field {
	t.Helper()
	f := must(s.DefineField(store.By(t.Context(), history.ConsoleChannel, "ana@example.org"), account,
		custom.FieldInput{Title: title, Type: kind, Options: options}))(t)
	return f
}

// customOf are the custom fields of a document, as title=value.
func customOf(t testing.TB, document []byte) string {
	t.Helper()
	var c struct {
		Custom []struct {
			ID    int64  `json:"id"`
			Field int64  `json:"field_id"`
			Title string `json:"title"`
			Type  string `json:"type"`
			Value any    `json:"value"`
		} `json:"custom_fields"`
	}
	if err := json.Unmarshal(document, &c); err != nil {
		t.Fatalf("%v: %s", err, document)
	}
	var texts []string
	for _, f := range c.Custom {
		texts = append(texts, fmt.Sprintf("%s=%v", f.Title, f.Value))
		if f.ID != f.Field || f.Type == "" {
			t.Errorf("%+v", f)
		}
	}
	return strings.Join(texts, " ")
}

// shownIn is the document of a contact by every way in which one is read.
func shownIn(t testing.TB, s *Book, account, id int64) map[string][]byte {
	t.Helper()
	shown := make(map[string][]byte)
	single := must(s.Contact(t.Context(), account, id, nil))(t)
	shown["the contact"] = single
	for name, filter := range map[string]find.Filter{
		"the list": {}, "the list by email": {Email: "e:ada@x.org"}, "the list by tag": {Tags: []string{"t"}},
		"the list by name":   {Sort: find.Sort{By: find.ByName}},
		"the list by time":   {Created: find.Window{From: time.Unix(0, 0)}, Sort: find.Sort{Descending: true}},
		"the list by search": {Search: find.ParseSearch("ada", "US")},
	} {
		for _, flush := range []store.Flush{nil, func(dst []byte, _ store.ListResult) ([]byte, error) {
			return dst,
				nil
		}} {
			dst, _, err := s.FilteredContacts(t.Context(), account, crm.Active, filter,
				crm.PageRequest{Page: 1, PerPage: 100}, nil, flush)
			var all []json.RawMessage
			if err := errors.Join(err, json.Unmarshal([]byte("["+string(dst)+"]"), &all)); err != nil {
				t.Fatalf("%s: %v: %s", name, err, dst)
			}
			at := slices.IndexFunc(all, func(d json.RawMessage) bool { return parse(t, d).ID == id })
			if at < 0 {
				t.Fatalf("%s lacks the contact: %s", name, dst)
			}
			shown[name] = all[at]
		}
	}
	return shown
}

// A contact is shown with what the definitions say now, wherever it is read, and on every node.
func TestConcurrentContactsAreShownWithTheirCustomFields(t *testing.T) {
	ctx := t.Context()
	s, other := twoFolk(t)
	account := s.Number

	s.create(`{"first_name":"Without"}`)
	size, since := s.define("Shirt size", custom.SelectField, "S", "M"),
		s.define("Member since", custom.DateField)
	body := fmt.Sprintf(
		`{"first_name":"Ada","emails":[{"value":"ada@x.org"}],"tags":["t"],"custom_fields":[{"field_id":%d,"value":"2020-01-31"},{"field_id":%d,"value":"M"}]}`, since.ID, size.ID)
	made := s.create(body)
	s.create(`{"first_name":"Later"}`)
	want := func(what string) {
		t.Helper()
		for _, node := range []*Book{s.Book, other.Book} {
			for name, document := range shownIn(t, node, account, made.ID) {
				equal(t, customOf(t, document), what, "%s", name)
			}
		}
		tagged, err := s.AddTags(ctx, account, made.ID, []string{"u"})
		if got := customOf(t, tagged.Append(nil)); err != nil || got != what {
			t.Errorf("the answer to a change: %s, %v", got, err)
		}
		equal(t, len(s.record(made.ID).Custom), 2, "the record")
	}
	equal(t, customOf(t, made.Append(nil)), "Shirt size=M Member since=2020-01-31", "the answer to the create")
	want("Shirt size=M Member since=2020-01-31")
	must := func(err error) {
		t.Helper()
		succeed(t, err)
	}
	must(other.MoveField(ctx, account, since.ID, -1))
	want("Member since=2020-01-31 Shirt size=M")
	must(other.ReviseField(ctx, account, size.ID, custom.FieldInput{Title: "T-shirt", Options: []string{"XL"}}))
	want("Member since=2020-01-31 T-shirt=M") // which is no option any more, and stays
	must(other.EndField(ctx, account, since.ID))
	want("T-shirt=M")
	must(s.ResumeField(ctx, account, since.ID))
	want("Member since=2020-01-31 T-shirt=M")
	s.archive(made.ID)
	equal(t, customOf(t, s.restore(made.ID).Append(nil)), "Member since=2020-01-31 T-shirt=M", "restored")
	again := s.create(fmt.Sprintf(`{"first_name":"Ada","emails":[{"value":"ada@x.org"}],"custom_fields":{"field_%d":"XL","field_%d":null}}`, size.ID, since.ID))
	if got := customOf(t, again.Append(nil)); !again.Merged || got != "Member since=2020-01-31 T-shirt=XL" {
		t.Errorf("merged: %s", got)
	}
	wantError(t, "no such field", s.EndField(ctx, account, 99), crm.ErrNotFound)
	wantError(t, "no such field to move", s.MoveField(ctx, account, 99, 1), crm.ErrNotFound)
	stranger := newAccount(t, s.Book).Number
	wantError(t, "another account's field", s.EndField(ctx, stranger, size.ID), crm.ErrNotFound)
	_, err := s.CreateContact(ctx, stranger, input(t,
		fmt.Sprintf(`{"first_name":"A","custom_fields":{"field_%d":"XL"}}`, size.ID)), crm.Dedupe)
	if err == nil ||
		err.Error() != fmt.Sprintf("The custom_fields.field_%d field is not one of the account's custom fields.",
			size.ID) {
		t.Errorf("a value in another account's field: %v", err)
	}
}

// A contact without custom fields costs one statement, and one with them no more once the definitions are known.
func TestReadingCustomFieldsCostsNoStatements(t *testing.T) {
	s := newFolk(t)
	without := s.create(`{"first_name":"Without"}`).ID
	field := s.define("Color", custom.TextField)
	with := s.create(fmt.Sprintf(`{"first_name":"Ada","custom_fields":{"field_%d":"red"}}`, field.ID)).ID
	statements := func(id int64) (n int) {
		var mu sync.Mutex
		s.Db.Observe(&db.Observer{Read: func(string) { mu.Lock(); n++; mu.Unlock() }})
		defer s.Db.Observe(new(db.Observer))
		s.document(id)
		return n
	}
	equal(t, statements(without), 1, "a contact without custom fields: statements")
	s.Fields.Cache = store.Cache[int64, *custom.Fields]{}
	equal(t, statements(with), 3, "a contact with custom fields that are not known: statements")
	equal(t, statements(with), 1, "a contact with custom fields that are known: statements")
}

// What a client has sent is checked by the definitions as they are when it is saved.
func TestDefinitionsThatChangeMeanwhileCount(t *testing.T) {
	ctx := t.Context()
	s := newFolk(t)
	account := s.Number
	field := s.define("Color", custom.SelectField, "red", "blue")
	old := must(s.CustomFields(ctx, account))(t)
	sent := func(value string) crm.ContactInput {
		in := input(t, fmt.Sprintf(`{"first_name":"A","last_name":"B","custom_fields":{"field_%d":"%s"}}`, field.ID,
			value))
		succeed(t, in.CheckCustom(old))
		return in
	}
	succeed(t, s.ReviseField(ctx, account, field.ID,
		custom.FieldInput{Title: "Colour", Options: []string{"blue"}}))
	refused := fmt.Sprintf("The custom_fields.field_%d field must be one of blue.", field.ID)
	equal(t, fmt.Sprint(errOf(s.CreateContact(ctx, account, sent("red"), crm.Dedupe))), refused,
		"an option that is gone")
	made, err := s.CreateContact(ctx, account, sent("blue"), crm.Dedupe)
	if got := customOf(t, made.Append(nil)); err != nil || got != "Colour=blue" {
		t.Errorf("an option that is still there: %s, %v", got, err)
	}
	succeed(t, s.EndField(ctx, account, field.ID))
	for name, change := range map[string]func(context.Context, int64, int64, crm.ContactInput) (store.ContactDocument,
		error){"update": s.UpdateContact, "edit": s.EditContact} {
		if _, err := change(ctx, account, made.ID, sent("blue")); err == nil ||
			!strings.Contains(err.Error(), "is not one of the account's custom fields") {
			t.Errorf("%s: a field that has ended: %v", name, err)
		}
	}
}

// Changes of definitions and of values are in the history, and definitions that change nothing leave nothing there.
func TestTheHistoryTellsOfCustomFields(t *testing.T) {
	ctx := t.Context()
	s := newFolk(t)
	account := s.Number
	field := s.define("Color", custom.SelectField, "red")
	made := s.create(`{"first_name":"A"}`)
	in := input(t, fmt.Sprintf(`{"custom_fields":{"field_%d":"red"}}`, field.ID))
	must(s.UpdateContact(ctx, account, made.ID, in))(t)
	succeed(t, errors.Join(
		s.ReviseField(ctx, account, field.ID, custom.FieldInput{Title: "Color", Options: []string{"red"}}),
		s.MoveField(ctx, account, field.ID, 1), s.ResumeField(ctx, account, field.ID),
		s.EndField(ctx, account, field.ID)))
	type row struct {
		Noun, Kind, ID int64
		Actor, Data    string
	}
	rows := must(store.List(ctx, s.Store, func(r db.Row) row {
		return row{r.Int(0), r.Int(1), r.Int(2),
			r.Text(3), r.Text(4)}
	},
		`SELECT noun, kind, id, actor, data FROM change WHERE account_id = $1 ORDER BY revision`, account))(t)
	if len(rows) != 4 {
		t.Fatalf("%+v", rows)
	}
	want := []row{
		{int64(history.FieldNoun), int64(history.DidCreate), field.ID, "ana@example.org",
			`{"title":[null,"Color"],"type":[null,"select"],"options":[[],["red"]]}`},
		{int64(history.ContactNoun), int64(history.DidCreate), made.ID, "", ""},
		{int64(history.ContactNoun), int64(history.DidUpdate), made.ID, "",
			fmt.Sprintf(`{"custom_fields.field_%d":[null,"red"]}`, field.ID)},
		{int64(history.FieldNoun), int64(history.DidArchive), field.ID, "", `{"title":["Color","Color"]}`},
	}
	equal(t, rows, want)
}

// The words of texts in custom fields find their contact, and no longer once they are gone.
func TestCustomFieldsAreSearched(t *testing.T) {
	s := newFolk(t)
	field := s.define("Allergies", custom.LongTextField)
	made := s.create(fmt.Sprintf(`{"first_name":"Ada","custom_fields":{"field_%d":"Nuts, and Größe"}}`,
		field.ID))
	found := func(text string) bool {
		found, _ := must2(s.searchPage(crm.Active, typed(text), 1, 10))(t)
		return len(found) == 1 && found[0].CustomValue(field.ID).Text() == "Nuts, and Größe"
	}
	if !found("nuts") || !found("grosse ada") || found("shrimp") {
		t.Error("the words of a custom field do not find it")
	}
	s.update(made.ID, fmt.Sprintf(`{"custom_fields":{"field_%d":null}}`, field.ID))
	if found("nuts") {
		t.Error("words that are gone still find it")
	}
}

// Many people define fields at once: each gets an id of its own, and no two get the same title.
func TestConcurrentFieldsAreDefinedAtOnce(t *testing.T) {
	a, b := twoFolk(t)
	account := a.Number

	var wait sync.WaitGroup
	var mu sync.Mutex
	made := 0
	for i := range 20 {
		wait.Go(func() {
			s := a.Book
			if i%2 == 1 {
				s = b.Book
			}
			_, err := s.DefineField(context.Background(), account,
				custom.FieldInput{Title: fmt.Sprint("Field ", i%10), Type: custom.TextField})
			var invalid *doc.Invalid
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				made++
			case !errors.As(err, &invalid) || invalid.Faults[0].Rule != doc.Taken:
				t.Error(err)
			}
		})
	}
	wait.Wait()
	fields := must(a.CustomFields(t.Context(), account))(t)
	equal(t, made, 10)
	equal(t, len(fields.Active()), 10)
}
