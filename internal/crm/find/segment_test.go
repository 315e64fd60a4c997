package find

import (
	"strings"
	"testing"

	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestSegments(t *testing.T) {
	made := assert.Must(NewSegment("  Lapsed donors ", "zip=021&page=3&tag=a&tag=b&utm=x&scope=all&sort=-last_gift",
		"US"))(t)
	assert.Equal(t, made.Name+"|"+made.Query, "Lapsed donors|scope=all&sort=-last_gift&tag=a&tag=b&zip=021")
	assert.Tells(t, made.IsCalled, []string{"LAPSED donors"}, []string{"lapsed"})
	long := strings.NewReplacer("LONG", strings.Repeat("a", 4000), "NAME", strings.Repeat("é", 101))
	for _, test := range rows.Of[struct{ Name, Query, Want string }](`
		""    tag=a    The name field is required.
		NAME  tag=a    The name field must not be longer than 100 characters.
		A     page=2   The query field must have a filter.
		A     has=fax  The has field must be one of email, phone.
		A     q=LONG   The query field must not be longer than 4000 characters.
	`) {
		_, err := NewSegment(long.Replace(test.Name), long.Replace(test.Query), "US")
		assert.Says(t, err, test.Want, "%+v", test)
	}
}
