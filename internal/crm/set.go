package crm

import "slices"

// textSet is a set of texts, so that the work for a list grows with its length and not with its square. The few texts of an
// ordinary list are looked through one by one, which needs no memory of its own.
type textSet struct {
	n    int
	few  [8]string
	many map[string]struct{}
}

func (s *textSet) has(text string) bool {
	if s.many != nil {
		_, found := s.many[text]
		return found
	}
	return slices.Contains(s.few[:s.n], text)
}

// add tells whether the text was new.
func (s *textSet) add(text string) bool {
	if s.has(text) {
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

// setOf holds the texts of a list.
func setOf(texts []string) *textSet {
	var s textSet
	for _, text := range texts {
		s.add(text)
	}
	return &s
}

// distinct keeps the first of each text, in order.
func distinct(texts []string) []string {
	kept := make([]string, 0, len(texts))
	var seen textSet
	for _, text := range texts {
		if seen.add(text) {
			kept = append(kept, text)
		}
	}
	return kept
}
