package text

// reads tells whether a function takes a text.
func reads[T any](read func(string) (T, bool)) func(string) bool {
	return func(text string) bool {
		_, ok := read(text)
		return ok
	}
}
