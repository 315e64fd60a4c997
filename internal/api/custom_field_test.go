package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/custom"
)

// defineField adds a custom field to an account.
func defineField(t testing.TB, s *server, account access.Account, title string, kind custom.FieldType, options ...string) custom.Field {
	t.Helper()
	f := must(s.store.DefineField(t.Context(), account.Number, custom.FieldInput{Title: title, Description: "About " + title, Type: kind, Options: options}))(t)
	return f
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

// customFields is the member custom_fields of a contact, as it was answered.
func customFields(t testing.TB, body string) string {
	t.Helper()
	var contact struct {
		Custom json.RawMessage `json:"custom_fields"`
	}
	if err := json.Unmarshal([]byte(body), &contact); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return string(contact.Custom)
}

func TestContactsCarryCustomFields(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		account := newAccount(t, s.store, "main", "")
		key := newKey(t, s.store, account)
		shirt := defineField(t, s, account, "Shirt size", custom.SelectField, "S", "M")
		age := defineField(t, s, account, "Age", custom.NumberField)
		member := defineField(t, s, account, "Member", custom.BooleanField)
		shown := func(f custom.Field, value string) string {
			return fmt.Sprintf(`{"id":%d,"field_id":%[1]d,"title":"%s","description":"About %[2]s","type":"%s","value":%s}`, f.ID, f.Title, f.Type, value)
		}
		want := func(got answer, status int, custom string) {
			t.Helper()
			if got.status != status || customFields(t, got.body) != custom {
				t.Errorf("%d %s\nwant %d %s", got.status, got.body, status, custom)
			}
		}
		body := fmt.Sprintf(`{"first_name":"Ann","last_name":"Lee","emails":["ann@lee.example"],"custom_fields":[{"field_id":%d,"value":41.5},{"field_id":%d,"value":"M"}]}`, age.ID, shirt.ID)
		made := s.checked(t, "POST", "/v1/contacts", key, body, "Idempotency-Key", "first")
		all := "[" + shown(shirt, `"M"`) + "," + shown(age, `41.5`) + "]"
		want(made, 201, all)
		equal(t, s.checked(t, "POST", "/v1/contacts", key, body, "Idempotency-Key", "first").body, made.body,
			"the same request again")
		path := "/v1/contacts/" + idOf(t, made.body)
		want(s.checked(t, "GET", path, key, ""), 200, all)
		list := s.checked(t, "GET", "/v1/contacts", key, "").body
		contains(t, list, `"data":[`+made.body+`]`, "the list")
		back := s.checked(t, "PATCH", path, key, withoutDOB(made.body))
		equal(t, back.status, 200, "sent back as it was received")
		equal(t, back.body, made.body, "sent back as it was received")
		want(s.checked(t, "PATCH", path, key, fmt.Sprintf(`{"custom_fields":{"%s":true,"%s":null}}`, member.Key(), shirt.Key())), 200, "["+shown(age, `41.5`)+","+shown(member, "true")+"]")
		want(s.checked(t, "PUT", path, key, `{"custom_fields":[]}`), 200, "["+shown(age, `41.5`)+","+shown(member, "true")+"]")
		merged := s.checked(t, "POST", "/v1/contacts", key, fmt.Sprintf(`{"first_name":"Ann","last_name":"Lee","emails":["ann@lee.example"],"custom_fields":{"%s":"S","%s":null}}`, shirt.Key(), age.Key()))
		want(merged, 201, "["+shown(shirt, `"S"`)+","+shown(age, `41.5`)+","+shown(member, "true")+"]")
		want(s.checked(t, "POST", path+"/tags/add", key, `{"tags":["a"]}`), 200, "["+shown(shirt, `"S"`)+","+shown(age, `41.5`)+","+shown(member, "true")+"]")

		before := s.checked(t, "GET", path, key, "").body
		wrong := s.checked(t, "PATCH", path, key, fmt.Sprintf(`{"type":"individual","last_name":null,"custom_fields":[{"field_id":%d,"value":"old"},{"field_id":999,"value":1},{"field_id":%d,"value":"yes"}]}`, age.ID, member.ID))
		if says := `{"message":"The last_name field must not be empty. (and 3 more errors)","errors":{"last_name":["The last_name field must not be empty."],` +
			`"custom_fields.0.value":["The custom_fields.0.value field must be a number with at most 15 digits."],` +
			`"custom_fields.1.field_id":["The custom_fields.1.field_id field is not one of the account's custom fields."],` +
			`"custom_fields.2.value":["The custom_fields.2.value field must be true or false."]}}`; wrong.status != 422 || wrong.body != says {
			t.Errorf("%d %s", wrong.status, wrong.body)
		}
		option := s.checked(t, "PATCH", path, key, fmt.Sprintf(`{"custom_fields":{"%s":"XXL"}}`, shirt.Key()))
		equal(t, option.status, 422)
		contains(t, option.body, "must be one of S, M.")
		equal(t, s.checked(t, "GET", path, key, "").body, before, "a refused request has changed the contact")
	})
}

// withoutDOB is a contact as a client sends it back: its dob has another form than a client sends.
func withoutDOB(body string) string { return strings.Replace(body, `"dob":null,`, "", 1) }

func TestCustomFieldsAreListed(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		account, other := newAccount(t, s.store, "main", ""), newAccount(t, s.store, "other", "")
		key := newKey(t, s.store, account, "contacts:read")
		shirt := defineField(t, s, account, "Shirt", custom.SelectField, "S", "M")
		age := must(s.store.DefineField(t.Context(), account.Number, custom.FieldInput{Title: "Age", Type: custom.NumberField}))(t)
		gone := defineField(t, s, account, "Gone", custom.TextField)
		succeed(t, s.store.EndField(t.Context(), account.Number, gone.ID))
		first, second := fmt.Sprintf(`{"id":%d,"title":"Shirt","description":"About Shirt","type":"select","options":["S","M"]}`, shirt.ID),
			fmt.Sprintf(`{"id":%d,"title":"Age","description":null,"type":"number","options":[]}`, age.ID)
		for query, data := range map[string]string{"": first + "," + second, "?per_page=1": first, "?page=2&per_page=1": second, "?page=3&per_page=1": "", "?page=90000000": ""} {
			got := s.checked(t, "GET", "/v1/custom-fields"+query, key, "")
			equal(t, got.status, 200, "%s", query)
			contains(t, got.body, `"data":[`+data+`]`, "%s", query)
			contains(t, got.body, `"total":2`, "%s", query)
		}
		equal(t, s.checked(t, "GET", "/v1/custom-fields?per_page=0", key, "").status, 422, "a page of nothing")
		equal(t, s.checked(t, "GET", "/v1/custom-fields", newKey(t, s.store, account, "contacts:write"), "").status, 403,
			"without the permission")
		contains(t, s.checked(t, "GET", "/v1/custom-fields", newKey(t, s.store, other), "").body, `"data":[]`,
			"another account lists")
	})
}

// The field of another account answers as one that was never there.
func TestForeignCustomFieldsAnswerAsFieldsThatWereNeverThere(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		key := newKey(t, s.store, newAccount(t, s.store, "stranger", ""))
		secret := defineField(t, s, newAccount(t, s.store, "owner", ""), "Secret", custom.TextField)
		id := idOf(t, s.ask(t, "POST", "/v1/contacts", key, `{"first_name":"Ann","last_name":"Lee"}`).body)
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
