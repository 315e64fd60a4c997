package crm

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ContactInput is what a client, a form or a row of a file says about a contact. A nil field was not sent; an
// empty text was sent to clear the field.
type ContactInput struct {
	FirstName, MiddleName, LastName      *string
	DOB                                  *string // m/d/Y
	Company, Title                       *string
	TwitterURL, LinkedinURL, FacebookURL *string
	Emails                               *[]Email
	Phones                               *[]Phone
	Addresses                            *[]Address
	Tags                                 *[]string
	Note                                 *string // for people alone: no request of the API sets it
	Seen                                 string  // the version of what the change is about; "" for whatever is there
	SeenMatch                            string  // the snapshot of another contact with this email or phone that a person has decided about

	// What Validate worked out, so that nothing has to be parsed again while a transaction is open.
	dob       time.Time
	emailKeys []string // in step with Emails
	phoneKeys []string // in step with Phones
}

// contactFields is the order in which faults are told.
var contactFields = []string{
	"force_create", "first_name", "middle_name", "last_name", "dob", "company", "title", "twitter_url", "linkedin_url",
	"facebook_url", "emails", "phones", "note", "addresses", "tags",
}

// DecodeContact reads the body of a create or an update. Keys that are unknown or read-only are ignored. Faults of
// type come back together with the input, so that Validate can add its own and tell them all at once.
func DecodeContact(body []byte) (in ContactInput, faults *Invalid, err error) {
	r := newJSONReader("The request body", body)
	r.document(func(key string) {
		switch key {
		case "first_name":
			in.FirstName = r.textSent()
		case "middle_name":
			in.MiddleName = r.textSent()
		case "last_name":
			in.LastName = r.textSent()
		case "dob":
			in.DOB = r.textSent()
		case "company":
			in.Company = r.textSent()
		case "title":
			in.Title = r.textSent()
		case "twitter_url":
			in.TwitterURL = r.textSent()
		case "linkedin_url":
			in.LinkedinURL = r.textSent()
		case "facebook_url":
			in.FacebookURL = r.textSent()
		case "emails":
			in.Emails = readList(r, maxSent, func() Email { return Email(r.typed()) })
		case "phones":
			in.Phones = readList(r, maxSent, func() Phone { return Phone(r.typed()) })
		case "addresses":
			in.Addresses = readList(r, maxSent, r.address)
		case "tags":
			in.Tags = readList(r, maxTagsSent, r.text)
		default:
			r.skip()
		}
	})
	if err := r.end(); r.err != nil {
		return ContactInput{}, nil, err
	}
	return in, &r.fault, nil
}

// readList reads a list of what element reads, up to a limit; nil is one that was not sent.
func readList[T any](r *jsonReader, limit int, element func() T) *[]T {
	list := []T{}
	if !r.list(limit, func() { list = append(list, element()) }) {
		return nil
	}
	return &list
}

// typed is {type, value} on the wire: an email or a phone.
type typed struct{ Type, Value string }

func (r *jsonReader) typed() (t typed) {
	r.element(func(key string) {
		switch key {
		case "type":
			t.Type = r.text()
		case "value":
			t.Value = r.text()
		default:
			r.skip()
		}
	})
	return t
}

func (r *jsonReader) address() (a Address) {
	r.element(func(key string) { a.read(r, key) })
	return a
}

// read takes the value of one key. Keys that are unknown or read-only are ignored.
func (a *Address) read(r *jsonReader, key string) {
	if part := a.part(key); part != nil {
		*part = r.text()
	} else {
		r.skip()
	}
}

// addressParts are the parts that a client may send.
var addressParts = []string{"address_1", "address_2", "city", "state", "zipcode", "country"}

// part is the address part of that name on the wire.
func (a *Address) part(key string) *string {
	switch key {
	case "address_1":
		return &a.Line1
	case "address_2":
		return &a.Line2
	case "city":
		return &a.City
	case "state":
		return &a.State
	case "zipcode":
		return &a.Zipcode
	case "country":
		return &a.Country
	}
	return nil
}

// element reads an object inside a list, where null is no object.
func (r *jsonReader) element(member func(key string)) {
	isNull := r.next() == 'n'
	if !r.object(member) || isNull {
		r.wrong(Object)
	}
}

// Validate checks everything about the input that does not depend on the stored contact, and works out the normal
// forms. New contacts need a first and a last name; changed ones keep theirs. faults are those found while reading.
func (in *ContactInput) Validate(faults *Invalid, isNew bool, region string, now time.Time) error {
	v := &Invalid{}
	if faults != nil {
		v.Faults = faults.Faults
	}
	in.validateTexts(v)
	in.validateNames(v, isNew)
	in.validateDOB(v, now)
	validateWebURL(v, "twitter_url", in.TwitterURL)
	validateWebURL(v, "linkedin_url", in.LinkedinURL)
	validateWebURL(v, "facebook_url", in.FacebookURL)
	in.validateEmails(v)
	in.validatePhones(v, region)
	in.validateAddresses(v)
	if in.Tags != nil && !v.has("tags") {
		*in.Tags = validateTags(v, *in.Tags)
	}
	sortFaults(v, contactFields)
	return v.Err()
}

// sortFaults brings the faults into the order of the fields and of the elements of a list, whatever order the client
// wrote them in.
func sortFaults(v *Invalid, fields []string) {
	if len(v.Faults) < 2 {
		return
	}
	type placed struct {
		rank, element int
		fault         Fault
	}
	sorted := make([]placed, 0, len(v.Faults))
	for _, fault := range v.Faults {
		rank, element := rankOf(fault.Field, fields)
		sorted = append(sorted, placed{rank, element, fault})
	}
	slices.SortStableFunc(sorted, func(a, b placed) int { return cmp.Or(a.rank-b.rank, a.element-b.element) })
	for i := range sorted {
		v.Faults[i] = sorted[i].fault
	}
}

// rankOf is the place of a field among the others, and which element of a list it is about. A fault of the whole list comes
// before those of its elements.
func rankOf(name string, fields []string) (rank, element int) {
	if rank = slices.Index(fields, name); rank >= 0 {
		return rank, -1
	}
	field, rest, _ := strings.Cut(name, ".")
	number, _, _ := strings.Cut(rest, ".")
	element, err := strconv.Atoi(number)
	if err != nil {
		element = -1
	}
	return slices.Index(fields, field), element
}

func (in *ContactInput) validateTexts(v *Invalid) {
	for _, text := range []struct {
		field string
		value *string
		limit int
	}{
		{"first_name", in.FirstName, maxText},
		{"middle_name", in.MiddleName, maxText},
		{"last_name", in.LastName, maxText},
		{"company", in.Company, maxText},
		{"title", in.Title, maxText},
		{"twitter_url", in.TwitterURL, maxURL},
		{"linkedin_url", in.LinkedinURL, maxURL},
		{"facebook_url", in.FacebookURL, maxURL},
		{"note", in.Note, maxNote},
	} {
		if text.value != nil {
			validateText(v, text.field, *text.value, text.limit)
		}
	}
}

// validateText adds a fault where a text is too long or not text.
func validateText(v *Invalid, field, value string, limit int) {
	if broken := textRule(value); broken != "" && !v.has(field) {
		v.Add(field, broken)
	} else if isLonger(value, limit) && !v.has(field) {
		v.Add(field, TooLong, limit)
	}
}

func (in *ContactInput) validateNames(v *Invalid, isNew bool) {
	for _, name := range []struct {
		field string
		value *string
	}{{"first_name", in.FirstName}, {"last_name", in.LastName}} {
		switch {
		case v.has(name.field):
		case name.value == nil && isNew, name.value != nil && *name.value == "" && isNew:
			v.Add(name.field, Required)
		case name.value != nil && *name.value == "":
			v.Add(name.field, NotEmpty)
		}
	}
}

func (in *ContactInput) validateDOB(v *Invalid, now time.Time) {
	if in.DOB == nil || *in.DOB == "" || v.has("dob") {
		return
	}
	dob, ok := parseDOB(*in.DOB, now)
	if !ok {
		v.Add("dob", BirthDay)
	}
	in.dob = dob
}

func validateWebURL(v *Invalid, field string, value *string) {
	if value != nil && *value != "" && !v.has(field) && !isWebURL(*value) {
		v.Add(field, WebURL)
	}
}
