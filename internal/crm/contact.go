package crm

import (
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Contact is a person who gives or may give. It is always read whole and written whole.
type Contact struct {
	ID         int64
	FirstName  string // "" is never valid here; every other text is optional and "" means unset
	MiddleName string
	LastName   string
	DOB        time.Time // midnight UTC; zero means unset
	Company    string
	Title      string
	TwitterURL, LinkedinURL,
	FacebookURL string
	Emails     []Email // the first one is the primary one, as with phones and addresses
	Phones     []Phone
	Note       string
	Addresses  []Address
	Stats      Stats
	Tags       []string
	ArchivedAt time.Time // zero while the contact is active
	CreatedAt  time.Time
	UpdatedAt  time.Time

	// MatchKeys are the normal forms of the emails and phones, as they were when these were written: a later change
	// of the default region or of a library never makes a stored contact and its index disagree.
	MatchKeys []string
}

// Email is one address of a contact, as the client wrote it.
type Email struct {
	Type  string // personal, work, or "" when it was not given
	Value string
}

// Phone is one number of a contact, as the client wrote it.
type Phone struct {
	Type  string // work, home, cell, or "" when it was not given
	Value string
}

// Address is a postal address; each part is optional.
type Address struct {
	Line1, Line2, City, State, Zipcode, Country string
	CreatedAt, UpdatedAt                        time.Time
}

// Stats counts what a contact gave.
type Stats struct {
	RecurringContributions int64
	TotalContributions     int64
}

// What a contact may hold.
const (
	maxText   = 255
	maxURL    = 2048
	maxTag    = 64
	maxNote   = 10_000
	maxEmails = 100 // and as many phones and addresses
	maxTags   = 500

	// How often a value may be repeated is bounded as well: of a list that a client sends, ten times as many elements are read as
	// a contact may have. That is counted before anything else is done with them.
	maxSent     = 10 * maxEmails
	maxTagsSent = 10 * maxTags
)

// Archived tells whether the contact was archived.
func (c *Contact) Archived() bool { return !c.ArchivedAt.IsZero() }

// AppendContact appends the wire form of a contact whose stored body is given: a read copies bytes.
func AppendContact(dst []byte, id int64, body []byte) []byte {
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendInt(dst, id, 10)
	return append(dst, body...)
}

// AppendBody appends everything of the wire form that follows the id. This is what the store keeps.
func (c *Contact) AppendBody(dst []byte) []byte {
	dst = appendMember(dst, "first_name", c.FirstName)
	dst = appendMember(dst, "middle_name", c.MiddleName)
	dst = appendMember(dst, "last_name", c.LastName)
	dst = append(dst, `,"dob":`...)
	dst = appendTime(dst, c.DOB, appendMicroTime)
	dst = appendMember(dst, "company", c.Company)
	dst = appendMember(dst, "title", c.Title)
	dst = appendMember(dst, "twitter_url", c.TwitterURL)
	dst = appendMember(dst, "linkedin_url", c.LinkedinURL)
	dst = appendMember(dst, "facebook_url", c.FacebookURL)
	dst = appendList(append(dst, `,"emails":`...), c.Emails, func(dst []byte, i int) []byte {
		return appendTyped(dst, c.Emails[i].Type, c.Emails[i].Value)
	})
	dst = appendList(append(dst, `,"phones":`...), c.Phones, func(dst []byte, i int) []byte {
		return appendTyped(dst, c.Phones[i].Type, c.Phones[i].Value)
	})
	var email, phone string
	if len(c.Emails) > 0 {
		email = c.Emails[0].Value
	}
	if len(c.Phones) > 0 {
		phone = c.Phones[0].Value
	}
	dst = appendMember(dst, "primary_email", email)
	dst = appendMember(dst, "primary_phone", phone)
	dst = appendMember(dst, "note", c.Note)
	dst = appendList(append(dst, `,"addresses":`...), c.Addresses, func(dst []byte, i int) []byte {
		return c.Addresses[i].append(dst, i == 0)
	})
	dst = append(dst, `,"primary_address":`...)
	if len(c.Addresses) > 0 {
		dst = c.Addresses[0].append(dst, true)
	} else {
		dst = append(dst, `null`...)
	}
	dst = append(dst, `,"stats":{"recurring_contributions":`...)
	dst = strconv.AppendInt(dst, c.Stats.RecurringContributions, 10)
	dst = append(dst, `,"total_contributions":`...)
	dst = strconv.AppendInt(dst, c.Stats.TotalContributions, 10)
	dst = appendList(append(dst, `},"tags":`...), c.Tags, func(dst []byte, i int) []byte {
		return appendText(dst, c.Tags[i])
	})
	dst = append(dst, `,"custom_fields":[],"archived_at":`...)
	dst = appendTime(dst, c.ArchivedAt, appendContactTime)
	dst = append(dst, `,"created_at":`...)
	dst = appendTime(dst, c.CreatedAt, appendContactTime)
	dst = append(dst, `,"updated_at":`...)
	dst = appendTime(dst, c.UpdatedAt, appendContactTime)
	return append(dst, '}')
}

func (a *Address) append(dst []byte, primary bool) []byte {
	dst = append(dst, `{"address_1":`...)
	dst = appendText(dst, a.Line1)
	dst = appendMember(dst, "address_2", a.Line2)
	dst = appendMember(dst, "city", a.City)
	dst = appendMember(dst, "state", a.State)
	dst = appendMember(dst, "zipcode", a.Zipcode)
	dst = appendMember(dst, "country", a.Country)
	dst = append(dst, `,"type":"home","is_primary":`...)
	if primary {
		dst = append(dst, '1')
	} else {
		dst = append(dst, '0')
	}
	dst = append(dst, `,"created_at":`...)
	dst = appendTime(dst, a.CreatedAt, appendMicroTime)
	dst = append(dst, `,"updated_at":`...)
	dst = appendTime(dst, a.UpdatedAt, appendMicroTime)
	return append(dst, '}')
}

// appendMember appends ,"name":value for a text that is null when unset.
func appendMember(dst []byte, name, value string) []byte {
	dst = append(dst, ',', '"')
	dst = append(dst, name...)
	dst = append(dst, '"', ':')
	return appendText(dst, value)
}

func appendText(dst []byte, value string) []byte {
	if value == "" {
		return append(dst, `null`...)
	}
	quoted, err := jsontext.AppendQuote(dst, value)
	if err != nil {
		panic(fmt.Sprintf("crm: text that was never checked for UTF-8 reached the document: %v", err))
	}
	return quoted
}

func appendTyped(dst []byte, kind, value string) []byte {
	dst = append(dst, `{"type":`...)
	dst = appendText(dst, kind)
	dst = appendMember(dst, "value", value)
	return append(dst, '}')
}

func appendTime(dst []byte, t time.Time, format func([]byte, time.Time) []byte) []byte {
	if t.IsZero() {
		return append(dst, `null`...)
	}
	dst = format(append(dst, '"'), t)
	return append(dst, '"')
}

func appendList[T any](dst []byte, list []T, element func(dst []byte, i int) []byte) []byte {
	dst = append(dst, '[')
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = element(dst, i)
	}
	return append(dst, ']')
}

// ParseContact reads a stored body back.
func ParseContact(id int64, body []byte, matchKeys []string) (Contact, error) {
	c := Contact{ID: id, MatchKeys: matchKeys}
	if err := readStored(body, c.read); err != nil {
		return Contact{}, fmt.Errorf("contact %d: %w", id, err)
	}
	return c, nil
}

// read takes the value of one key of a stored body. What is derived from the rest is not read.
func (c *Contact) read(r *jsonReader, key string) {
	switch key {
	case "first_name":
		c.FirstName = r.text()
	case "middle_name":
		c.MiddleName = r.text()
	case "last_name":
		c.LastName = r.text()
	case "dob":
		c.DOB = r.time(parseMicroTime)
	case "company":
		c.Company = r.text()
	case "title":
		c.Title = r.text()
	case "twitter_url":
		c.TwitterURL = r.text()
	case "linkedin_url":
		c.LinkedinURL = r.text()
	case "facebook_url":
		c.FacebookURL = r.text()
	case "emails":
		r.list(maxSent, func() { c.Emails = append(c.Emails, Email(r.typed())) })
	case "phones":
		r.list(maxSent, func() { c.Phones = append(c.Phones, Phone(r.typed())) })
	case "note":
		c.Note = r.text()
	case "addresses":
		r.list(maxSent, func() { c.Addresses = append(c.Addresses, r.storedAddress()) })
	case "stats":
		r.element(func(key string) { c.Stats.read(r, key) })
	case "tags":
		r.list(maxTagsSent, func() { c.Tags = append(c.Tags, r.text()) })
	case "archived_at":
		c.ArchivedAt = r.time(parseContactTime)
	case "created_at":
		c.CreatedAt = r.time(parseContactTime)
	case "updated_at":
		c.UpdatedAt = r.time(parseContactTime)
	default:
		r.skip()
	}
}

func (r *jsonReader) storedAddress() (a Address) {
	r.element(func(key string) {
		switch key {
		case "created_at":
			a.CreatedAt = r.time(parseMicroTime)
		case "updated_at":
			a.UpdatedAt = r.time(parseMicroTime)
		default:
			a.read(r, key)
		}
	})
	return a
}

func (s *Stats) read(r *jsonReader, key string) {
	switch key {
	case "recurring_contributions":
		s.RecurringContributions = r.integer()
	case "total_contributions":
		s.TotalContributions = r.integer()
	default:
		r.skip()
	}
}

// time reads a time as we write it; null is the zero time.
func (r *jsonReader) time(parse func(string) (time.Time, bool)) (t time.Time) {
	if r.next() == 'n' {
		r.skip()
		return t
	}
	text := r.text()
	t, ok := parse(text)
	if !ok {
		r.wrong("is not a stored time: %q", text)
	}
	return t
}

// integer reads a number as we write it.
func (r *jsonReader) integer() int64 {
	text, _ := r.number()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		r.wrong("is not a stored number")
	}
	return n
}
