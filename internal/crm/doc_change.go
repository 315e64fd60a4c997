package crm

// Change is one thing that is different after a document was changed, in words for people.
type Change struct {
	Field  string // as a person calls it, such as "Last name" or "Email added"
	Before string // "" where there was nothing
	After  string // "" where nothing is left
}
