package console_test

import (
	"fmt"
	"net/http"
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
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Owner)
		path := p.org("/settings/fields")
		p.sees(p.get(p.org("/settings")), "Custom fields None yet")
		p.sees(p.get(path), "No custom fields yet", "Add field")
		p.sees(p.get(path+"/new"), "New custom field", "Long text", "Yes or no", "One of a list")
		p.sees(p.follow(path, "title", " Shirt size ", "description", "For the run", "type", "select", "options", "S\r\n\r\nM\r\nS"),
			"Field “Shirt size” added.", "Shirt size For the run One of a list 2 options")
		p.follow(path, "title", "Age", "type", "number", "options", "ignored")
		p.sees(p.get(p.org("/settings")), "Custom fields 2 in use")
		wrong := p.post(path, "title", "shirt SIZE", "type", "select", "options", "\n")
		p.wantStatus(wrong, http.StatusUnprocessableEntity)
		p.sees(wrong, "Title is taken: choose another one.", "Enter at least one option.")
		if !strings.Contains(wrong.body, `value="shirt SIZE"`) {
			t.Error("the refused form has lost the title")
		}
		fields, err := s.store.CustomFields(t.Context(), p.account.Number)
		if err != nil || len(fields.Active()) != 2 {
			t.Fatalf("%v: %+v", err, fields)
		}
		shirt, age := fields.Active()[0], fields.Active()[1]
		one := func(f *custom.Field) string { return fmt.Sprint(path, "/", f.ID) }
		edit := p.get(one(shirt))
		p.sees(edit, "Edit Shirt size", "Can’t be changed", "Contacts keep a value you remove here")
		if !strings.Contains(edit.body, ">S\nM</textarea>") {
			t.Error("the form lacks the options")
		}
		p.sees(p.follow(one(shirt), "title", "T-shirt", "options", "S\nXL"), "Changes saved.", "T-shirt")
		p.sees(p.follow(one(age)+"/up"), "Age Number", "T-shirt One of a list 2 options")
		if page := p.get(path).words(); strings.Index(page, "Age Number") > strings.Index(page, "T-shirt") {
			t.Error("the field has not moved up")
		}
		p.sees(p.follow(one(shirt)+"/end"), "Field “T-shirt” archived. It’s hidden, but contacts keep their values.", "Archived fields", "Restore field T-shirt")
		again := p.post(path, "title", "t-shirt", "type", "text")
		p.sees(again, "Title belongs to an archived custom field: restore that field, or choose another title.")
		p.sees(p.follow(one(shirt)+"/resume"), "Field “T-shirt” restored, with its values.")
		p.sees(p.get(p.org("/settings/history")), "restored the custom field", "archived the custom field", "Changed title from “Shirt size” to “T-shirt”.", "created the custom field “Age”")
		p.wantStatus(p.get(path+"/999"), http.StatusNotFound)
		p.wantStatus(p.post(path+"/999", "title", "x"), http.StatusNotFound)
	})
}

func TestOnlyOwnersManageCustomFields(t *testing.T) {
	s := anySite(t)
	owner := s.member(s.organization("Harbor"), access.Owner)
	f := s.field(owner, "Age", custom.NumberField)
	p := s.member(owner.account, access.Editor)
	p.sees(p.get(p.org("/settings")), "Custom fields Managed by owners")
	for _, path := range []string{"", fmt.Sprint("/", f.ID), fmt.Sprint("/", f.ID, "/end"), fmt.Sprint("/", f.ID, "/up"), fmt.Sprint("/", f.ID, "/resume")} {
		p.wantStatus(p.post(p.org("/settings/fields"+path), "title", "x", "type", "text"), http.StatusForbidden)
	}
	p.wantStatus(p.get(p.org("/settings/fields")), http.StatusForbidden)
}

func TestCustomFieldsAreFilledIn(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Editor)
		shirt, age := s.field(p, "Shirt size", custom.SelectField, "S", "M"), s.field(p, "Age", custom.NumberField)
		since, member, about := s.field(p, "Since", custom.DateField), s.field(p, "Member", custom.BooleanField), s.field(p, "About", custom.LongTextField)
		name := func(f custom.Field) string { return "custom_fields." + f.Key() }
		p.sees(p.get(p.org("/contacts/new")), "Custom fields", "Shirt size Not set S M", "Member Not set Yes No")
		shown := []string{"custom_fields.shown", strings.Join([]string{shirt.Key(), age.Key(), since.Key(), member.Key(), about.Key()}, " ")}
		form := func(more ...string) []string {
			return append(append([]string{"first_name", "Zoë", "last_name", "Okafor"}, shown...), more...)
		}
		wrong := p.post(p.org("/contacts"), form(name(age), "forty", name(since), "someday", name(shirt), "XXL", name(about), "kept")...)
		p.wantStatus(wrong, http.StatusUnprocessableEntity)
		p.sees(wrong, "Age must be a number with at most 15 digits.", "Since must be a date.", "kept")
		if !strings.Contains(wrong.body, `href="#f-custom_fields-`+age.Key()+`"`) {
			t.Error("the complaint does not lead to the field")
		}
		p.sees(p.post(p.org("/contacts"), form(name(shirt), "XXL")...), "Shirt size must be one of S, M.")
		made := p.follow(p.org("/contacts"), form(name(shirt), "M", name(age), "1,041.5", name(since), "2020-01-31", name(member), "Yes", name(about), "Line one\r\nline two")...)
		p.sees(made, "Zoë Okafor was added.", "Custom fields Shirt size M Age 1041.5 Since Jan 31, 2020 Member Yes About Line one line two")
		contact := s.contacts(p.account)[0]
		path := p.org(fmt.Sprint("/contacts/", contact.ID))
		edit := p.get(path + "/edit")
		for _, part := range []string{`value="1041.5"`, `value="2020-01-31"`, `<option value="M" selected>`, `<option value="Yes" selected>`, ">Line one\nline two</textarea>"} {
			if !strings.Contains(edit.body, part) {
				t.Errorf("the form lacks %s", part)
			}
		}
		seen := func() string { c := s.contacts(p.account)[0]; return c.Version() }
		// A form that does not show a field leaves it alone; an option that is gone stays until it is changed.
		succeed(t, s.store.ReviseField(t.Context(), p.account.Number, shirt.ID, custom.FieldInput{Title: "Shirt size", Options: []string{"S"}}))
		if edit := p.get(path + "/edit"); !strings.Contains(edit.body, `<option value="M" selected>`) {
			t.Error("the form lacks the value that is no option any more")
		}
		p.sees(p.follow(path, "seen", seen(), "first_name", "Zoë", "last_name", "Okafor", "custom_fields.shown", shirt.Key()+" "+age.Key(), name(shirt), "M", name(age), ""),
			"Changes saved.", "Custom fields Shirt size M Since Jan 31, 2020 Member Yes")
		// Another person has changed it since.
		old := seen()
		p.follow(path, "seen", old, "first_name", "Zoë", "last_name", "Okafor", "custom_fields.shown", age.Key(), name(age), "7")
		late := p.post(path, "seen", old, "first_name", "Zoë", "last_name", "Okafor", "custom_fields.shown", age.Key(), name(age), "8")
		p.sees(late, "What saving will change", "Age 7 8")
		// An owner has ended a field meanwhile.
		succeed(t, s.store.EndField(t.Context(), p.account.Number, member.ID))
		p.sees(p.post(path, append([]string{"seen", seen()}, form(name(member), "No")...)...), "Custom fields have changed: an owner archived one. Check the form, then save again.")
		if page := p.get(path).words(); strings.Contains(page, "Member Yes") {
			t.Error("a field that has ended is shown")
		}
		p.sees(p.get(path+"/history"), "set “Age” to “7”", "removed “Age” “1041.5”")
		p.sees(p.get(p.org("/contacts?q=line+two")), "Zoë Okafor")
		viewer := s.member(p.account, access.Viewer)
		viewer.sees(viewer.get(path), "Custom fields Shirt size M")
	})
}
