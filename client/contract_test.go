package client_test

import (
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	yaml "github.com/oasdiff/yaml3"

	"donorbook/client"
)

// unused are keys of a transaction that are always null or empty, or say the same as another one.
var unused = []string{"team_id", "member_id", "fund_id", "fund_code", "giving_space", "payment_method", "utm_parameters", "attribution_data", "session_id", "custom_fields"}

// TestTypesAgreeWithTheDocument: the types of answers have every key that the OpenAPI document has, and inputs have no key that it lacks.
func TestTypesAgreeWithTheDocument(t *testing.T) {
	text, err := os.ReadFile("../internal/api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	for schema, value := range map[string]any{
		"Contact": client.Contact{}, "UndoneMerge": client.Undone{}, "Email": client.Email{}, "Phone": client.Phone{}, "Address": client.Address{}, "Stats": client.Stats{}, "CustomField": client.CustomField{},
		"Campaign": client.Campaign{}, "Cover": client.Cover{}, "Event": client.Event{}, "Livestream": client.Livestream{},
		"Transaction": client.Transaction{}, "Dedication": client.Dedication{}, "LedgerEntry": client.LedgerEntry{}, "LineItem": client.LineItem{},
		"Plan": client.Plan{}, "Tag": client.Tag{}, "CustomFieldDefinition": client.CustomFieldDefinition{}, "CustomFieldInput": client.CustomFieldInput{},
		"ContactInput": client.ContactInput{}, "ContactPatch": client.ContactChange{},
		"CampaignInput": client.CampaignInput{}, "CampaignPatch": client.CampaignChange{},
		"TransactionInput": client.TransactionInput{}, "TransactionPatch": client.TransactionChange{},
		"PlanInput": client.PlanInput{}, "PlanPatch": client.PlanChange{},
	} {
		documented := slices.Sorted(maps.Keys(document.Components.Schemas[schema].Properties))
		names := keys(reflect.TypeOf(value))
		for _, name := range names {
			if !slices.Contains(documented, name) {
				t.Errorf("the document has no %s.%s", schema, name)
			}
		}
		if strings.HasSuffix(schema, "Input") || strings.HasSuffix(schema, "Patch") {
			continue
		}
		for _, name := range documented {
			if !slices.Contains(names, name) && !(schema == "Transaction" && slices.Contains(unused, name)) {
				t.Errorf("the client's %s has no %s", schema, name)
			}
		}
	}
}

// keys are the names that the fields of a type have in JSON.
func keys(structure reflect.Type) (names []string) {
	for i := range structure.NumField() {
		name, _, _ := strings.Cut(structure.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}
