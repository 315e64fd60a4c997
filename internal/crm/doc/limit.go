package doc

// Limit is how many of a thing there may be. Each is far above what an organization needs; it keeps lists, pages and
// memory bounded, whatever a program or a person with a bad day does.
type Limit struct {
	Max     int64
	Reached string // says so, and what to do
}

// Check refuses to add more to what exists already.
func (l Limit) Check(existing, more int64) error {
	if existing+more > l.Max {
		return NewInvalid("", Rule(l.Reached))
	}
	return nil
}
