package api_test

import (
	"fmt"
	"strings"
	"testing"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/custom"
)

// defineField adds a custom field to an account.
func defineField(
	t testing.TB, s *server, account access.Account, title string, kind custom.FieldType, options ...string,
) custom.Field {
	t.Helper()
	in := custom.FieldInput{Title: title, Description: "About " + title, Type: kind, Options: options}
	return must(s.store.DefineField(t.Context(), account.Number, in))(t)
}

// checked asks, and holds the answer against the contract.
func (s *server) checked(t *testing.T, method, path, key, body string, header ...string) answer {
	t.Helper()
	r := s.request(t, method, path, key, body)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	got := s.send(t, r)
	checkContract(t, r, got)
	return got
}

// Every answer about a contact has its custom fields, in the order of their definitions.
func TestContactsCarryCustomFields(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		account := newAccount(t, s.store, "main", "")
		key, path := newKey(t, s.store, account), "/v1/contacts"
		shirt := defineField(t, s, account, "Shirt size", custom.SelectField, "S", "M")
		age := defineField(t, s, account, "Age", custom.NumberField)
		member := defineField(t, s, account, "Member", custom.BooleanField)
		fill := strings.NewReplacer("SHIRT", fmt.Sprint(shirt.ID), "AGE", fmt.Sprint(age.ID), "MEMBER",
			fmt.Sprint(member.ID))
		want := func(method, more, body, values string, header ...string) answer {
			t.Helper()
			got := s.checked(t, method, path+more, key, fill.Replace(body), header...)
			var shown []string
			for i, f := range []custom.Field{shirt, age, member} {
				if value := strings.Fields(values)[i]; value != "-" {
					shown = append(shown,
						fmt.Sprintf(`{"id":%d,"field_id":%[1]d,"title":"%s","description":"About %[2]s","type":"%s","value":%s}`,
							f.ID, f.Title, f.Type, value))
				}
			}
			contains(t, got.body, `"custom_fields":[`+strings.Join(shown, ",")+`],`, "%s %s", method, body)
			return got
		}
		const ann = `"first_name":"Ann","last_name":"Lee","emails":["ann@lee.example"],"custom_fields"`
		const both = `{` + ann + `:[{"field_id":AGE,"value":41.5},{"field_id":SHIRT,"value":"M"}]}`
		made := want("POST", "", both, `"M" 41.5 -`, "Idempotency-Key", "first")
		equal(t, want("POST", "", both, `"M" 41.5 -`, "Idempotency-Key", "first").body, made.body)
		contains(t, want("GET", "", "", `"M" 41.5 -`).body, `"data":[`+made.body+`]`, "the list")
		path += "/" + idOf(t, made.body)
		want("GET", "", "", `"M" 41.5 -`)
		sentBack := strings.Replace(made.body, `"dob":null,`, "", 1) // it has another form than a client sends
		equal(t, want("PATCH", "", sentBack, `"M" 41.5 -`).body, made.body)
		want("PATCH", "", `{"custom_fields":{"field_MEMBER":true,"field_SHIRT":null}}`, `- 41.5 true`)
		want("PUT", "", `{"custom_fields":[]}`, `- 41.5 true`)
		path = "/v1/contacts"
		want("POST", "", `{`+ann+`:{"field_SHIRT":"S","field_AGE":null}}`, `"S" 41.5 true`) // merged
		path += "/" + idOf(t, made.body)
		want("POST", "/tags/add", `{"tags":["a"]}`, `"S" 41.5 true`)
		before := s.ask(t, "GET", path, key, "").body
		wrong := s.checked(t, "PATCH", path, key, fill.Replace(`{"type":"individual","last_name":null,"custom_fields":[
			{"field_id":AGE,"value":"old"},{"field_id":999,"value":1}]}`))
		equal(t, wrong.status, 422)
		for _, field := range []string{"last_name", "custom_fields.0.value", "custom_fields.1.field_id"} {
			contains(t, wrong.body, `"`+field+`":["The `+field+` field `)
		}
		equal(t, s.ask(t, "GET", path, key, "").body, before, "a refused request has changed the contact")
	})
}

func TestCustomFieldsAreListed(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		account := newAccount(t, s.store, "main", "")
		key := newKey(t, s.store, account, "contacts:read")
		shirt := defineField(t, s, account, "Shirt", custom.SelectField, "S", "M")
		age := must(s.store.DefineField(t.Context(), account.Number,
			custom.FieldInput{Title: "Age", Type: custom.NumberField}))(t)
		gone := defineField(t, s, account, "Gone", custom.TextField)
		succeed(t, s.store.EndField(t.Context(), account.Number, gone.ID))
		first := fmt.Sprintf(`{"id":%d,"title":"Shirt","description":"About Shirt","type":"select","options":["S","M"]}`, shirt.ID)
		second := fmt.Sprintf(`{"id":%d,"title":"Age","description":null,"type":"number","options":[]}`, age.ID)
		for query, data := range map[string]string{
			"": first + "," + second, "?per_page=1": first, "?page=2&per_page=1": second, "?page=90000000": "",
		} {
			got := s.checked(t, "GET", "/v1/custom-fields"+query, key, "").body
			contains(t, got, `"data":[`+data+`]`, "%s", query)
			contains(t, got, `"total":2`, "%s", query)
		}
		contains(t, s.checked(t, "GET", "/v1/custom-fields", s.anyKey(t), "").body, `"data":[]`,
			"another account lists")
	})
}

// The field of another account answers as one that was never there.
func TestForeignCustomFieldsAnswerAsFieldsThatWereNeverThere(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		key := s.anyKey(t)
		secret := defineField(t, s, newAccount(t, s.store, "owner", ""), "Secret", custom.TextField)
		id := s.make(t, key, "/v1/contacts", `{"first_name":"Ann","last_name":"Lee"}`)
		for _, form := range []string{`{"field_id":%d,"value":"x"}`, `{"field_id":%d,"value":null}`} {
			ask := func(field int64) told {
				body := fmt.Sprintf(`{"custom_fields":[`+form+`]}`, field)
				return withoutCounters(s.ask(t, "PATCH", "/v1/contacts/"+id, key, body))
			}
			theirs := ask(secret.ID)
			equal(t, theirs, ask(999), "%s", form)
			equal(t, theirs.status, 422, "%s", form)
		}
	})
}
