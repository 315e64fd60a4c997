package console_test

import (
	"fmt"
	"strings"
	"testing"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/custom"
)

// field adds a custom field without the pages.
func (s *site) field(p *person, title string, kind custom.FieldType, options ...string) custom.Field {
	s.t.Helper()
	f := must(s.store.DefineField(s.t.Context(), p.account.Number, custom.FieldInput{Title: title, Type: kind, Options: options}))(s.t)
	return f
}

func TestOwnersManageCustomFields(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	const path = "settings/fields"
	p.get(path).sees("No custom fields yet")
	p.follow(path, "title", " Shirt size ", "description", "For the run", "type", "select", "options", "S\r\n\r\nM\r\nS").
		sees("Shirt size For the run One of a list 2 options")
	p.follow(path, "title", "Age", "type", "number", "options", "ignored")
	p.get("settings").sees("Custom fields 2 in use")
	p.post(path, "title", "shirt SIZE", "type", "select", "options", "\n").is(422).
		sees("Title is taken: choose another one.", "Enter at least one option.").has(`value="shirt SIZE"`)
	fields := must(s.store.CustomFields(t.Context(), p.account.Number))(t).Active()
	if len(fields) != 2 {
		t.Fatalf("%+v", fields)
	}
	shirt, age := fmt.Sprint(path, "/", fields[0].ID), fmt.Sprint(path, "/", fields[1].ID)
	p.get(shirt).sees("Can’t be changed").has(">S\nM</textarea>")
	p.follow(shirt, "title", "T-shirt", "options", "S\nXL").sees("T-shirt")
	if page := p.follow(age+"/up").sees("Age Number", "T-shirt One of a list 2 options").words(); strings.Index(page, "Age Number") > strings.Index(page, "T-shirt") {
		t.Error("the field has not moved up")
	}
	p.follow(shirt+"/end").sees("contacts keep their values.", "Restore field T-shirt")
	p.post(path, "title", "t-shirt", "type", "text").sees("Title belongs to an archived custom field")
	p.follow(shirt + "/resume").sees("restored, with its values.")
	p.get("settings/history").sees("restored the custom field", "Changed title from “Shirt size” to “T-shirt”.")
	p.get(path + "/999").is(404)
	p.post(path+"/999", "title", "x").is(404)
}

func TestCustomFieldsAreFilledIn(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	shirt, age := s.field(p, "Shirt size", custom.SelectField, "S", "M"), s.field(p, "Age", custom.NumberField)
	since, member, about := s.field(p, "Since", custom.DateField), s.field(p, "Member", custom.BooleanField), s.field(p, "About", custom.LongTextField)
	name := func(f custom.Field) string { return "custom_fields." + f.Key() }
	form := func(more ...string) []string {
		shown := strings.Join([]string{shirt.Key(), age.Key(), since.Key(), member.Key(), about.Key()}, " ")
		return append([]string{"first_name", "Zoë", "last_name", "Okafor", "custom_fields.shown", shown}, more...)
	}
	p.post("contacts", form(name(age), "forty", name(since), "someday", name(about), "kept")...).is(422).
		sees("Age must be a number with at most 15 digits.", "Since must be a date.", "kept").has(`href="#f-custom_fields-` + age.Key() + `"`)
	p.post("contacts", form(name(shirt), "XXL")...).sees("Shirt size must be one of S, M.")
	p.follow("contacts", form(name(shirt), "M", name(age), "1,041.5", name(since), "2020-01-31", name(member), "Yes", name(about),
		"Line one\r\nline two")...).sees("Shirt size M Age 1041.5 Since Jan 31, 2020 Member Yes About Line one line two")
	path := p.org(fmt.Sprint("/contacts/", s.contacts(p.account)[0].ID))
	p.get(path+"/edit").has(`value="1041.5"`, `value="2020-01-31"`, `<option value="M" selected>`, `<option value="Yes" selected>`,
		">Line one\nline two</textarea>")
	version := func() string { return s.version(p, path) }
	save := func(seen string, more ...string) answer {
		return p.post(path, append([]string{"seen", seen, "first_name", "Zoë", "last_name", "Okafor", "custom_fields.shown"}, more...)...)
	}
	// A form that does not show a field leaves it alone; an option that is gone stays until it is changed.
	succeed(t, s.store.ReviseField(t.Context(), p.account.Number, shirt.ID, custom.FieldInput{Title: "Shirt size", Options: []string{"S"}}))
	p.get(path + "/edit").has(`<option value="M" selected>`)
	save(version(), shirt.Key()+" "+age.Key(), name(shirt), "M", name(age), "").is(303)
	p.get(path).sees("Custom fields Shirt size M Since Jan 31, 2020 Member Yes")
	// Another person has changed it since.
	old := version()
	save(old, age.Key(), name(age), "7").is(303)
	save(old, age.Key(), name(age), "8").sees("What saving will change", "Age 7 8")
	// An owner has ended a field meanwhile.
	succeed(t, s.store.EndField(t.Context(), p.account.Number, member.ID))
	p.post(path, append([]string{"seen", version()}, form(name(member), "No")...)...).sees("Custom fields have changed: an owner archived one.")
	p.get(path).lacks("Member Yes")
	p.get(path+"/history").sees("set “Age” to “7”", "removed “Age” “1041.5”")
	p.get("contacts?q=line+two").sees("Zoë Okafor")
}
