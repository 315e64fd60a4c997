package history

import (
	"testing"

	"donorbook/internal/rig/rows"
)

// Fields of all nouns have labels; where two nouns have a field of one name, that of contacts comes first.
func TestFieldsOfAllNounsHaveLabels(t *testing.T) {
	for path, want := range rows.Pairs(`
		first_name                  First name
		title                       Title
		slug                        Web address
		cover.url                   Cover image or video
		event.livestream.embed_url  Embed link
		beneficiaries.1             Beneficiary 2
	`) {
		if label, ok := Label(path); !ok || label != want {
			t.Errorf("%s is called %q, %v; want %q", path, label, ok, want)
		}
	}
	if label, ok := Label("no_such_field"); ok || label != "" {
		t.Errorf("a field that no noun has is called %q", label)
	}
}
