package crm

import "testing"

// TestEveryTargetHasAFieldOfItsOwn: a target that no case is for would overwrite another field.
func TestEveryTargetHasAFieldOfItsOwn(t *testing.T) {
	for _, name := range textTargets {
		if name == FullNameColumn || name == "tags" || name == oneTag {
			continue // which several fields are made of
		}
		var in ContactInput
		text := "x"
		*in.textOf(name) = &text
		var sent []string
		for _, other := range contactTable.names() {
			if field := in.textOf(other); *field != nil {
				sent = append(sent, other)
			}
		}
		if len(sent) != 1 || sent[0] != name {
			t.Errorf("a column that becomes %s fills %q", name, sent)
		}
	}
	for _, name := range addressTable.names() {
		if name == "address_2" {
			continue // which several columns may fill
		}
		var a Address
		*addressPart(&a, name) = "x"
		if addressTable.find(name).text(&a) != "x" || addressTable.size(&a) != len("x") {
			t.Errorf("a column that becomes %s makes %+v", name, a)
		}
	}
	var in ContactInput
	var a Address
	text := "x"
	*in.textOf("a new one") = &text
	*addressPart(&a, "a new one") = "x"
	if in.Note != nil || a != (Address{}) {
		t.Errorf("what no field is called becomes %v, %+v", in.Note, a)
	}
}
