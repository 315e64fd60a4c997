package contacts

import (
	"strings"
	"time"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/custom"
)

// customView is the custom fields in the form of a contact.
type customView struct {
	Shown  string // the keys of the fields
	Fields []page.Field
}

// customForm are the controls for the custom fields of a contact, which may have a value that is no option any more.
func customForm(fields *custom.Fields, f *page.Form, old *crm.Contact) (view customView) {
	var keys []string
	for _, custom := range fields.Active() {
		keys = append(keys, custom.Key())
		view.Fields = append(view.Fields, customControl(f, custom, old.CustomValue(custom.ID).Text()))
	}
	view.Shown = strings.Join(keys, " ")
	return view
}

func customControl(f *page.Form, definition *custom.Field, old string) page.Field {
	name, hint := "custom_fields."+definition.Key(), "hint="+definition.Description
	switch definition.Type {
	case custom.LongTextField:
		return page.NewField(f, name, definition.Title, "type=textarea", "rows=3", "maxlength=10000", hint)
	case custom.NumberField:
		return page.NewField(f, name, definition.Title, "inputmode=decimal", "maxlength=40", "autocomplete=off", hint)
	case custom.DateField:
		return page.NewField(f, name, definition.Title, "type=date", "autocomplete=off", hint)
	case custom.BooleanField:
		return page.NewSelect(f, name, definition.Title, []page.Option{{Label: "Not set"}, {Value: "Yes", Label: "Yes"}, {Value: "No", Label: "No"}}, hint)
	case custom.SelectField:
		choices := []page.Option{{Label: "Not set"}}
		for _, text := range definition.Options {
			choices = append(choices, page.Option{Value: text, Label: text})
			if text == old {
				old = ""
			}
		}
		if old != "" {
			choices = append(choices, page.Option{Value: old, Label: old})
		}
		return page.NewSelect(f, name, definition.Title, choices, hint)
	}
	return page.NewField(f, name, definition.Title, "maxlength=255", "autocomplete=off", hint)
}

// customFact is a value on the page of a contact.
type customFact struct{ Title, Text string }

// customFacts are the values of a contact in fields that are in use.
func customFacts(fields *custom.Fields, contact *crm.Contact) (facts []customFact) {
	for _, f := range fields.Active() {
		value := contact.CustomValue(f.ID)
		if value.Value == "" {
			continue
		}
		text := value.Text()
		if day, err := time.Parse(time.DateOnly, text); err == nil && f.Type == custom.DateField {
			text = page.Day(day)
		}
		facts = append(facts, customFact{f.Title, text})
	}
	return facts
}
