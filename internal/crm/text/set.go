package text

import "slices"

// Set is a set of texts, so that the work for a list grows with its length and not with its square. The few texts of an
// ordinary list are looked through one by one, which needs no memory of its own.
type Set struct {
	n    int
	few  [8]string
	many map[string]struct{}
}

func (s *Set) Contains(text string) bool {
	if s.many != nil {
		_, found := s.many[text]
		return found
	}
	return slices.Contains(s.few[:s.n], text)
}

// Add tells whether the text was new.
func (s *Set) Add(text string) bool {
	if s.Contains(text) {
		return false
	}
	if s.n == len(s.few) && s.many == nil {
		s.many = make(map[string]struct{}, 4*len(s.few))
		for _, known := range s.few {
			s.many[known] = struct{}{}
		}
	}
	if s.many != nil {
		s.many[text] = struct{}{}
	} else {
		s.few[s.n] = text
		s.n++
	}
	return true
}

// SetOf holds the texts of a list.
func SetOf(texts []string) *Set {
	var s Set
	for _, text := range texts {
		s.Add(text)
	}
	return &s
}

// Distinct keeps the first of each text, in order.
func Distinct(texts []string) []string {
	kept := make([]string, 0, len(texts))
	var seen Set
	for _, text := range texts {
		if seen.Add(text) {
			kept = append(kept, text)
		}
	}
	return kept
}

// Without are the texts that the others lack.
func Without(texts, others []string) []string {
	return slices.DeleteFunc(slices.Clone(texts), SetOf(others).Contains)
}

// Strings are texts of a type of their own as plain texts.
func Strings[T ~string](values []T) (texts []string) {
	for _, value := range values {
		texts = append(texts, string(value))
	}
	return texts
}
