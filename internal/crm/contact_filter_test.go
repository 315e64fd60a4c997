package crm

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// filter reads one parameter that is sent with each of the values.
func filter(name string, values ...string) (ContactFilter, error) {
	return ParseContactFilter(func(yield func(string, string) bool) {
		for _, value := range values {
			if !yield(name, value) {
				return
			}
		}
	}, "US")
}

// What no contact can have is not looked for, however long it is.
func TestAFilterThatNoContactCanPassFindsNone(t *testing.T) {
	for name, value := range map[string]string{
		"tag": strings.Repeat("x", maxTag+1), "first_name": strings.Repeat("!", 60_000), "last_name": strings.Repeat("é", maxText+1), "email": "none", "phone": "5",
	} {
		if f, err := filter(name, value); err != nil || !f.None || len(f.Tags) > 0 || len(f.FirstName) > 4*maxText {
			t.Errorf("%s: %v, finds none: %t, %d bytes", name, err, f.None, len(f.FirstName))
		}
	}
}

func TestTooManyTagsAreOneFault(t *testing.T) {
	tags := make([]string, 5000)
	for i := range tags {
		tags[i] = fmt.Sprint(i)
	}
	f, err := filter("tag", tags...)
	var faults *Invalid
	if !errors.As(err, &faults) || len(faults.Faults) != 1 || len(f.Tags) != maxFilterTags+1 {
		t.Errorf("%v, %d tags are kept", err, len(f.Tags))
	}
	if f, err := filter("tag[0]", "a", "b"); err != nil || len(f.Tags) != 2 {
		t.Errorf("%v, %v", f.Tags, err)
	}
}
