package crm

import "unicode/utf8"

// maxDocument is how large the stored document of a contact may be, in bytes. Whoever reads a page of contacts gets a hundred
// of them.
const maxDocument = 128 << 10

// share is what one field adds to the document, before anything in it is escaped.
type share struct {
	field string
	bytes int
}

// What an element of a list takes beside its texts, and the document beside its fields.
const (
	typedFrame    = 32
	addressFrame  = 256
	tagFrame      = 3
	documentFrame = 1024
)

// shares tells for each field how large it is.
func (c *Contact) shares() [13]share {
	emails, phones, addresses, tags := 0, 0, 0, 0
	for _, email := range c.Emails {
		emails += typedFrame + len(email.Type) + len(email.Value)
	}
	for _, phone := range c.Phones {
		phones += typedFrame + len(phone.Type) + len(phone.Value)
	}
	for i := range c.Addresses {
		addresses += addressFrame + c.Addresses[i].textBytes()
	}
	for _, tag := range c.Tags {
		tags += tagFrame + len(tag)
	}
	return [13]share{
		{"first_name", len(c.FirstName)}, {"middle_name", len(c.MiddleName)}, {"last_name", len(c.LastName)},
		{"company", len(c.Company)}, {"title", len(c.Title)},
		{"twitter_url", len(c.TwitterURL)}, {"linkedin_url", len(c.LinkedinURL)}, {"facebook_url", len(c.FacebookURL)},
		{"emails", emails}, {"phones", phones}, {"note", len(c.Note)}, {"addresses", addresses}, {"tags", tags},
	}
}

func (a *Address) textBytes() int {
	return len(a.Line1) + len(a.Line2) + len(a.City) + len(a.State) + len(a.Zipcode) + len(a.Country)
}

// sizeBound is a size that the document does not exceed. It is quickly worked out, and tells of most contacts that they are
// small.
func (c *Contact) sizeBound() int {
	const escaped = 6                              // bytes that one byte becomes at most
	bound := documentFrame + 8*utf8.UTFMax*maxText // the first email, phone and address stand in the document twice
	for _, share := range c.shares() {
		bound += share.bytes
	}
	return escaped * bound
}

// outgrown names the field by which a contact has become too large: the one that has grown the most. It is "" where the
// contact is not too large, or was at least as large before.
func (c *Contact) outgrown(old *Contact) (field string) {
	if c.sizeBound() <= maxDocument {
		return ""
	}
	if size := len(c.AppendBody(nil)); size <= maxDocument || size <= len(old.AppendBody(nil)) {
		return ""
	}
	before, most := old.shares(), 0
	for i, share := range c.shares() {
		if grown := share.bytes - before[i].bytes; field == "" || grown > most {
			field, most = share.field, grown
		}
	}
	return field
}
