package crm

import (
	"slices"

	"donorbook/internal/crm/text"
)

// without are the texts that the others lack.
func without(texts, others []string) []string {
	return slices.DeleteFunc(slices.Clone(texts), text.SetOf(others).Contains)
}
