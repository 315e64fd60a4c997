package crm

import (
	"slices"

	"donorbook/internal/crm/text"
)

// without are the texts that the others lack.
func without(texts, others []string) []string {
	return slices.DeleteFunc(slices.Clone(texts), text.SetOf(others).Contains)
}

// names are texts of a type of their own as plain texts.
func names[T ~string](values []T) (texts []string) {
	for _, value := range values {
		texts = append(texts, string(value))
	}
	return texts
}
