package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Contact is a person or a company that gives, or may give one day.
type Contact struct {
	ID                  int64         `json:"id"`
	FirstName           string        `json:"first_name"`
	MiddleName          string        `json:"middle_name"`
	LastName            string        `json:"last_name"`
	DOB                 time.Time     `json:"dob"` // date of birth
	Company             string        `json:"company"`
	Title               string        `json:"title"`
	TwitterURL          string        `json:"twitter_url"`
	LinkedInURL         string        `json:"linkedin_url"`
	FacebookURL         string        `json:"facebook_url"`
	Emails              []Email       `json:"emails"`
	Phones              []Phone       `json:"phones"`
	PrimaryEmail        string        `json:"primary_email"`
	PrimaryPhone        string        `json:"primary_phone"`
	Note                string        `json:"note"`
	Addresses           []Address     `json:"addresses"`
	PrimaryAddress      *Address      `json:"primary_address"`
	Stats               Stats         `json:"stats"`
	Tags                []string      `json:"tags"`
	CustomFields        []CustomField `json:"custom_fields"`
	ArchivedAt          time.Time     `json:"archived_at"`
	CreatedAt           time.Time     `json:"created_at"`
	UpdatedAt           time.Time     `json:"updated_at"`
	Type                string        `json:"type"` // individual or company
	Prefix              string        `json:"prefix"`
	Suffix              string        `json:"suffix"`
	Salutation          string        `json:"salutation"`
	ExternalIDs         []ExternalID  `json:"external_ids"`
	DoNotMail           bool          `json:"do_not_mail"`
	DoNotEmail          bool          `json:"do_not_email"`
	DoNotCall           bool          `json:"do_not_call"`
	Deceased            bool          `json:"deceased"`
	IsEmailSubscribed   bool          `json:"is_email_subscribed"` // the opposite of DoNotEmail
	IsPhoneSubscribed   bool          `json:"is_phone_subscribed"`
	IsAddressSubscribed bool          `json:"is_address_subscribed"`
	ErasedAt            time.Time     `json:"erased_at,omitzero"`   // zero unless the person was erased
	MergedInto          int64         `json:"merged_into,omitzero"` // 0 unless it was merged into another contact
}

// Email is an email address.
type Email struct {
	Type  string `json:"type,omitzero"` // personal or work
	Value string `json:"value"`
}

// Phone is a phone number.
type Phone struct {
	Type  string `json:"type,omitzero"` // work, home or cell
	Value string `json:"value"`
}

// ExternalID is what another system calls a contact or a transaction.
type ExternalID struct {
	Source string `json:"source,omitzero"` // the other system
	Value  string `json:"value"`
}

// Address is a postal address. What comes after the country is read-only, and not set for the address of a gift.
type Address struct {
	Address1  string    `json:"address_1,omitzero"`
	Address2  string    `json:"address_2,omitzero"`
	City      string    `json:"city,omitzero"`
	State     string    `json:"state,omitzero"` // two letters
	Zipcode   string    `json:"zipcode,omitzero"`
	Country   string    `json:"country,omitzero"` // ISO 3166-1 alpha-3, such as USA
	Type      string    `json:"type,omitzero"`
	IsPrimary int       `json:"is_primary,omitzero"` // 1 or 0
	CreatedAt time.Time `json:"created_at,omitzero"`
	UpdatedAt time.Time `json:"updated_at,omitzero"`
}

// Stats is what a contact has given, in whole units of the account's currency.
type Stats struct {
	RecurringContributions int64 `json:"recurring_contributions"`
	TotalContributions     int64 `json:"total_contributions"`
}

// ContactInput is a contact to create. First and last name are required, or the company for the type company.
type ContactInput struct {
	FirstName   string    `json:"first_name"`
	MiddleName  string    `json:"middle_name,omitzero"`
	LastName    string    `json:"last_name"`
	DOB         string    `json:"dob,omitzero"` // date of birth as month/day/year, 1/31/1984
	Company     string    `json:"company,omitzero"`
	Title       string    `json:"title,omitzero"`
	TwitterURL  string    `json:"twitter_url,omitzero"`
	LinkedInURL string    `json:"linkedin_url,omitzero"`
	FacebookURL string    `json:"facebook_url,omitzero"`
	Emails      []Email   `json:"emails,omitzero"`
	Phones      []Phone   `json:"phones,omitzero"`
	Addresses   []Address `json:"addresses,omitzero"`
	Note        string    `json:"note,omitzero"`
	Tags        []string  `json:"tags,omitzero"`

	Type        string       `json:"type,omitzero"` // individual, which is the default, or company
	Prefix      string       `json:"prefix,omitzero"`
	Suffix      string       `json:"suffix,omitzero"`
	Salutation  string       `json:"salutation,omitzero"`
	ExternalIDs []ExternalID `json:"external_ids,omitzero"`
	DoNotMail   bool         `json:"do_not_mail,omitzero"`
	DoNotEmail  bool         `json:"do_not_email,omitzero"`
	DoNotCall   bool         `json:"do_not_call,omitzero"`
	Deceased    bool         `json:"deceased,omitzero"`

	CustomFields []CustomFieldInput `json:"custom_fields,omitzero"`
}

// ContactChange is what to change about a contact. A list replaces the whole list: nil leaves it alone, an empty one clears it. Custom fields
// are changed one by one: those that are not sent keep their values.
type ContactChange struct {
	FirstName   Optional[string] `json:"first_name,omitzero"`
	MiddleName  Optional[string] `json:"middle_name,omitzero"`
	LastName    Optional[string] `json:"last_name,omitzero"`
	DOB         Optional[string] `json:"dob,omitzero"` // month/day/year
	Company     Optional[string] `json:"company,omitzero"`
	Title       Optional[string] `json:"title,omitzero"`
	TwitterURL  Optional[string] `json:"twitter_url,omitzero"`
	LinkedInURL Optional[string] `json:"linkedin_url,omitzero"`
	FacebookURL Optional[string] `json:"facebook_url,omitzero"`
	Emails      []Email          `json:"emails,omitzero"`
	Phones      []Phone          `json:"phones,omitzero"`
	Addresses   []Address        `json:"addresses,omitzero"`
	Note        Optional[string] `json:"note,omitzero"`
	Tags        []string         `json:"tags,omitzero"`

	Type        Optional[string] `json:"type,omitzero"`
	Prefix      Optional[string] `json:"prefix,omitzero"`
	Suffix      Optional[string] `json:"suffix,omitzero"`
	Salutation  Optional[string] `json:"salutation,omitzero"`
	ExternalIDs []ExternalID     `json:"external_ids,omitzero"`
	DoNotMail   Optional[bool]   `json:"do_not_mail,omitzero"`
	DoNotEmail  Optional[bool]   `json:"do_not_email,omitzero"`
	DoNotCall   Optional[bool]   `json:"do_not_call,omitzero"`
	Deceased    Optional[bool]   `json:"deceased,omitzero"`

	CustomFields []CustomFieldInput `json:"custom_fields,omitzero"`
}

// ContactFilter says which contacts to list, and in which order. Filters combine; a nil filter is none.
type ContactFilter struct {
	Scope                 string // active, which is the default, archived or all
	Email, Phone          *string
	Tags                  []string // contacts that have all of them
	AnyTag, NoTag         []string // contacts that have at least one of them, or none of them
	Search                *string  // what the search of the console takes
	FirstName, LastName   *string
	PrimaryEmail          *string
	Type                  string  // individual or company
	ExternalID            *string // its value, of any source
	DoNotMail             *bool
	DoNotEmail            *bool
	DoNotCall             *bool
	Deceased              *bool
	City, Zip             *string  // of any address; the beginning of a ZIP code suffices
	Has, Lacks            []string // email, phone
	CampaignID            *int64   // contacts who gave to it
	GaveAfter             *time.Time
	GaveBefore            *time.Time
	NoGiftAfter           *time.Time // contacts without a gift since then
	NoGiftBefore          *time.Time
	PlanStatus            []string   // contacts with a plan of one of these statuses
	CreatedAfter          *time.Time // this moment or later
	CreatedBefore         *time.Time
	UpdatedAfter          *time.Time
	UpdatedBefore         *time.Time
	TotalContributionsMin *int64
	TotalContributionsMax *int64
	Sort                  string // id, which is the default, created_at, updated_at, last_name, total_contributions or last_gift; -id and so on for descending
}

func (f ContactFilter) query() (q query) {
	q.choice("scope", f.Scope)
	filter(&q, "email", f.Email)
	filter(&q, "phone", f.Phone)
	for _, tag := range f.Tags {
		q.add("tag", tag)
	}
	for _, tag := range f.AnyTag {
		q.add("tag_any", tag)
	}
	for _, tag := range f.NoTag {
		q.add("tag_none", tag)
	}
	for _, detail := range f.Has {
		q.add("has", detail)
	}
	for _, detail := range f.Lacks {
		q.add("lacks", detail)
	}
	filter(&q, "city", f.City)
	filter(&q, "zip", f.Zip)
	filter(&q, "campaign_id", f.CampaignID)
	filter(&q, "gave_after", f.GaveAfter)
	filter(&q, "gave_before", f.GaveBefore)
	filter(&q, "no_gift_after", f.NoGiftAfter)
	filter(&q, "no_gift_before", f.NoGiftBefore)
	for _, status := range f.PlanStatus {
		q.add("plan_status", status)
	}
	filter(&q, "q", f.Search)
	q.choice("type", f.Type)
	filter(&q, "external_id", f.ExternalID)
	filter(&q, "do_not_mail", f.DoNotMail)
	filter(&q, "do_not_email", f.DoNotEmail)
	filter(&q, "do_not_call", f.DoNotCall)
	filter(&q, "deceased", f.Deceased)
	filter(&q, "first_name", f.FirstName)
	filter(&q, "last_name", f.LastName)
	filter(&q, "primary_email", f.PrimaryEmail)
	filter(&q, "created_after", f.CreatedAfter)
	filter(&q, "created_before", f.CreatedBefore)
	filter(&q, "updated_after", f.UpdatedAfter)
	filter(&q, "updated_before", f.UpdatedBefore)
	filter(&q, "total_contributions_min", f.TotalContributionsMin)
	filter(&q, "total_contributions_max", f.TotalContributionsMax)
	q.choice("sort", f.Sort)
	return q
}

// Contacts are the calls about contacts.
type Contacts struct{ c *Client }

const contactsPath = "/v1/contacts"

func contactPath(id int64) string { return contactsPath + "/" + strconv.FormatInt(id, 10) }

// List walks through all contacts that a filter finds. A loop that changes what the filter or the order is about (removing the tag that it
// filters by, archiving) should collect the contacts first, because its changes move contacts from page to page.
func (s Contacts) List(ctx context.Context, f ContactFilter) iter.Seq2[Contact, error] {
	return all[Contact](ctx, s.c, contactsPath, f.query())
}

// Page reads one page of the contacts that a filter finds, with their total.
func (s Contacts) Page(ctx context.Context, f ContactFilter, number int) (Page[Contact], error) {
	return page[Contact](ctx, s.c, contactsPath, f.query(), number)
}

// Get reads an active contact.
func (s Contacts) Get(ctx context.Context, id int64) (Contact, error) {
	return call[Contact](ctx, s.c, http.MethodGet, contactPath(id), nil)
}

// Create creates a contact. If an active contact has one of the emails or phones, the input is merged into that one, and merged is true.
func (s Contacts) Create(ctx context.Context, in ContactInput) (contact Contact, merged bool, err error) {
	a, err := s.c.send(ctx, http.MethodPost, contactsPath, nil, in, &contact)
	return contact, a.header.Get("X-Contact-Merged") == "true", err
}

// ForceCreate creates a contact even if another one has the same email or phone.
func (s Contacts) ForceCreate(ctx context.Context, in ContactInput) (contact Contact, err error) {
	_, err = s.c.send(ctx, http.MethodPost, contactsPath, url.Values{"force_create": {"true"}}, in, &contact)
	return contact, err
}

// Update changes an active contact.
func (s Contacts) Update(ctx context.Context, id int64, change ContactChange) (Contact, error) {
	return call[Contact](ctx, s.c, http.MethodPatch, contactPath(id), change)
}

// Archive archives a contact.
func (s Contacts) Archive(ctx context.Context, id int64) error {
	_, err := s.c.send(ctx, http.MethodDelete, contactPath(id), nil, nil, nil)
	return err
}

// Restore makes an archived contact active again.
func (s Contacts) Restore(ctx context.Context, id int64) (Contact, error) {
	return call[Contact](ctx, s.c, http.MethodPatch, contactPath(id)+"/restore", nil)
}

// Merge merges another contact into one, with its gifts and plans. The merge can be undone by its id.
func (s Contacts) Merge(ctx context.Context, id, other int64) (contact Contact, merge int64, err error) {
	a, err := s.c.send(ctx, http.MethodPost, contactPath(id)+"/merge", nil, map[string]int64{"contact_id": other}, &contact)
	merge, _ = strconv.ParseInt(a.header.Get("X-Merge-Id"), 10, 64) // of an error there is none
	return contact, merge, err
}

// Undone is what the undoing of a merge has made of its contacts.
type Undone struct {
	UndoID   int64    `json:"undo_id"` // by which it can be undone itself; 0 where that was done
	Survivor Contact  `json:"survivor"`
	Other    Contact  `json:"other"`
	Left     []string `json:"left"` // fields that were changed since and stay as they are
}

// UndoMerge makes both contacts of a merge again as they were.
func (s Contacts) UndoMerge(ctx context.Context, merge int64) (Undone, error) {
	return call[Undone](ctx, s.c, http.MethodPost, "/v1/merges/"+strconv.FormatInt(merge, 10)+"/undo", nil)
}

// AddTags adds tags to a contact.
func (s Contacts) AddTags(ctx context.Context, id int64, tags ...string) (Contact, error) {
	return s.changeTags(ctx, id, "add", tags)
}

// SyncTags replaces all tags of a contact.
func (s Contacts) SyncTags(ctx context.Context, id int64, tags ...string) (Contact, error) {
	return s.changeTags(ctx, id, "sync", tags)
}

// RemoveTags removes tags from a contact.
func (s Contacts) RemoveTags(ctx context.Context, id int64, tags ...string) (Contact, error) {
	return s.changeTags(ctx, id, "remove", tags)
}

func (s Contacts) changeTags(ctx context.Context, id int64, verb string, tags []string) (Contact, error) {
	return call[Contact](ctx, s.c, http.MethodPost, contactPath(id)+"/tags/"+verb, map[string][]string{"tags": tags})
}
