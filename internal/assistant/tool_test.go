package assistant_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"donorbook/internal/rig/rows"
	"donorbook/internal/store"
)

// hints are what a client may rely on when it decides whether to ask the person first: reads only, overwrites or
// removes, can be repeated.
var hints = rows.Of[struct {
	Tool                             string
	IsRead, IsDestructive, MayRepeat bool
}](`
	find_contacts       true   false  true
	get_contact         true   false  true
	create_contact      false  true   false
	update_contact      false  true   true
	add_tags            false  false  true
	remove_tags         false  true   true
	archive_contact     false  true   true
	restore_contact     false  false  true
	list_campaigns      true   false  true
	get_campaign        true   false  true
	list_gifts          true   false  true
	get_gift            true   false  true
	record_gift         false  false  false
	refund_gift         false  true   false
	undo_refund         false  true   false
	list_plans          true   false  true
	list_tags           true   false  true
	list_custom_fields  true   false  true
	merge_contacts      false  true   false
	list_merges         true   false  true
	list_duplicates     true   false  true
	undo_merge          false  true   false
`)

func TestToolsSayWhatTheyTakeAndDo(t *testing.T) {
	o := newOrganization(t, store.Options{Data: t.TempDir()}, 6000)
	listed := must(o.connect(t, o.key(t)).ListTools(t.Context(), nil))(t)
	found := map[string]*mcp.Tool{}
	for _, tool := range listed.Tools {
		found[tool.Name] = tool
		schema, _ := json.Marshal(tool.InputSchema)
		for _, wrong := range []string{"$ref", `"example"`, "Idempotency-Key", "#/components"} {
			if strings.Contains(string(schema), wrong) {
				t.Errorf("%s: its schema has %s", tool.Name, wrong)
			}
		}
		if !strings.Contains(tool.Description, "The key needs the permission ") || tool.Title == "" {
			t.Errorf("%s is described as %q, %q", tool.Name, tool.Title, tool.Description)
		}
	}
	for _, want := range hints {
		tool := found[want.Tool]
		if tool == nil {
			t.Errorf("there is no tool %s", want.Tool)
			continue
		}
		a := tool.Annotations
		equal(t, []bool{a.ReadOnlyHint, *a.DestructiveHint, a.IdempotentHint, *a.OpenWorldHint},
			[]bool{want.IsRead, want.IsDestructive, want.MayRepeat, false}, "%s has the hints", want.Tool)
	}
	equal(t, len(found), len(hints))
	for name, want := range rows.Pairs(`
		create_contact  [first_name last_name]
		update_contact  [id]
		find_contacts   []
		add_tags        [id tags]
		refund_gift     [id]
		undo_refund     [id]
		record_gift     [amount method transacted_at]
		merge_contacts  [contact_id id]
		undo_merge      [id]
	`) {
		schema := found[name].InputSchema.(map[string]any)
		equal(t, fmt.Sprint(schema["required"], schema["additionalProperties"]), want+" false", "%s requires", name)
	}
	properties := found["create_contact"].InputSchema.(map[string]any)["properties"].(map[string]any)
	first := properties["first_name"].(map[string]any)
	equal(t, fmt.Sprint(first["type"], " ", first["description"]),
		"[string null] Given name. A company may leave it out.")
}
