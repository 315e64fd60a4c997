package crm

import (
	"strings"
	"testing"
)

func TestNewAccountHasAnIDAndANumberOfItsOwn(t *testing.T) {
	parent := Account{Number: 1_234_567, ID: "parent"}
	numbers, ids := map[int64]bool{}, map[string]bool{}
	for range 200 {
		a, err := NewAccount("  Red Cross ", parent, noon)
		if err != nil {
			t.Fatal(err)
		}
		if a.Name != "Red Cross" || a.Parent != 1_234_567 || a.ParentID != "parent" || !a.CreatedAt.Equal(noon) {
			t.Fatalf("%+v", a)
		}
		if len(a.ID) != 16 || strings.Trim(a.ID, base62) != "" {
			t.Fatalf("the id %q is not 16 letters and digits", a.ID)
		}
		if a.Number < 1_000_000 || MakeID(a.Number, MaxSeq) > 1<<53-1 {
			t.Fatalf("the ids of account %d do not fit", a.Number)
		}
		numbers[a.Number], ids[a.ID] = true, true
	}
	if len(ids) != 200 || len(numbers) < 190 {
		t.Errorf("of 200 accounts %d ids and %d numbers differ", len(ids), len(numbers))
	}
}

func TestIDsTakeApart(t *testing.T) {
	for _, account := range []int64{minAccountNumber, 7_654_321, maxAccountNumber} {
		for _, seq := range []int64{1, 42, MaxSeq} {
			if id := MakeID(account, seq); IDAccount(id) != account || IDSeq(id) != seq || id > 1<<53-1 {
				t.Errorf("%d of account %d is %d, taken apart %d and %d", seq, account, id, IDAccount(id), IDSeq(id))
			}
		}
	}
	if MakeID(minAccountNumber, MaxSeq)+1 != MakeID(minAccountNumber+1, 0) {
		t.Error("the ids of two accounts overlap, or leave a gap")
	}
}

func TestAccountsNeedAName(t *testing.T) {
	for name, want := range map[string]string{
		"":                       "The name field is required.",
		" \n":                    "The name field is required.",
		"a\x00b":                 "The name field must not contain NUL characters.",
		"a\xff":                  "The name field must be valid UTF-8.",
		strings.Repeat("é", 256): "The name field must not be longer than 255 characters.",
	} {
		if _, err := NewAccount(name, Account{}, noon); err == nil || err.Error() != want {
			t.Errorf("%.10q: got %v, want %s", name, err, want)
		}
	}
	if a, err := NewAccount(strings.Repeat("é", 255), Account{}, noon); err != nil || a.Parent != 0 {
		t.Errorf("%+v, %v", a, err)
	}
}
