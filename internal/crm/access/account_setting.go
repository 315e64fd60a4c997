package access

import (
	"slices"
	"strconv"
	"strings"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/picture"
	"donorbook/internal/crm/text"
	"donorbook/internal/crm/thanks"
)

// AccountSettings is what an organization says once about itself: the currency of its sums, and what its giving
// statements show.
type AccountSettings struct {
	Currency string // ISO 4217
	Timezone string // in which its days begin, such as America/New_York
	Address  string // postal, of several lines; "" is unset here and below
	TaxID    string
	HasGifts bool   // then the currency stays
	NoReturn bool   // the organization gives nothing in return for gifts, and its statements say so
	Logo     string // its address, without the base of the server

	// What public pages of campaigns show beside the address and the tax id.
	Email, Website string
	PublicDonors   PublicDonors

	Receipts thanks.Wording

	Donations string // how it takes gifts on its pages: a document of package donate; "" for the defaults
}

// Home is the country of the organization, which its letters leave out; "" where no one can tell.
func (s *AccountSettings) Home() string { return text.HomeCountry(s.Address, s.Currency) }

// MakesReceipts tells whether the organization has set up what its receipts say.
func (s *AccountSettings) MakesReceipts() bool {
	return s.TaxID != "" || s.Receipts.Form != thanks.UnitedStates
}

// PublicDonors is what public pages of campaigns tell of those who gave lately.
type PublicDonors string

const (
	NoDonors     PublicDonors = ""
	DonorNames   PublicDonors = "names"   // first name and initial
	DonorAmounts PublicDonors = "amounts" // and what they gave
)

// AccountSettingsInput is a change of settings. A nil field stays as it is; an empty one is cleared.
type AccountSettingsInput struct {
	Name                               *string // of the organization
	Currency, Timezone, Address, TaxID *string
	Email, Website, PublicDonors       *string
	NoReturn                           *bool
	Logo                               *picture.Picture // one without an address removes it
	Receipts                           *thanks.Wording
}

const (
	maxAddressLines = 8 // as many as an envelope has room for
	maxTaxID        = 64
)

// Validate checks the settings, and brings them into the form in which they are kept.
func (in *AccountSettingsInput) Validate() error {
	v := new(doc.Invalid)
	if in.Name != nil {
		name := v.RequiredText("name", *in.Name)
		in.Name = &name
	}
	if in.Currency != nil {
		code := strings.ToUpper(strings.TrimSpace(*in.Currency))
		if in.Currency = &code; code == "" {
			v.Add("currency", doc.Required)
		} else if !text.IsCurrency(code) {
			v.Add("currency", doc.Currency)
		}
	}
	if in.Timezone != nil {
		name := strings.TrimSpace(*in.Timezone)
		if in.Timezone = &name; name == "" {
			v.Add("timezone", doc.Required)
		} else if !text.IsTimezone(name) {
			v.Add("timezone", doc.Timezone)
		}
	}
	if in.Address != nil {
		lines := strings.Split(strings.TrimSpace(*in.Address), "\n")
		for i, line := range lines {
			lines[i] = strings.TrimSpace(line)
			if !v.HasFault("address") {
				v.CheckText(doc.Place{}, "address", line, doc.MaxText)
			}
		}
		if len(lines) > maxAddressLines && !v.HasFault("address") {
			v.Add("address", doc.TooManyLines, maxAddressLines)
		}
		address := strings.Join(lines, "\n")
		in.Address = &address
	}
	if in.TaxID != nil {
		id := strings.TrimSpace(*in.TaxID)
		in.TaxID = &id
		v.CheckText(doc.Place{}, "tax_id", id, maxTaxID)
	}
	in.validatePublic(v)
	if in.Receipts != nil {
		in.Receipts.Check(v)
	}
	return v.Err()
}

// validatePublic checks what public pages show.
func (in *AccountSettingsInput) validatePublic(v *doc.Invalid) {
	for _, sent := range []**string{&in.Email, &in.Website, &in.PublicDonors} {
		if *sent != nil {
			value := strings.TrimSpace(**sent)
			*sent = &value
		}
	}
	if in.Email != nil && *in.Email != "" {
		if v.CheckText(doc.Place{}, "email", *in.Email, doc.MaxText); !v.HasFault("email") {
			if _, ok := text.NormalEmail(*in.Email); !ok {
				v.Add("email", doc.EmailForm)
			}
		}
	}
	if in.Website != nil && *in.Website != "" && (len(*in.Website) > text.MaxURL || !text.IsWebURL(*in.Website)) {
		v.Add("website", doc.WebURL)
	}
	if in.PublicDonors != nil && !slices.Contains([]PublicDonors{NoDonors, DonorNames, DonorAmounts},
		PublicDonors(*in.PublicDonors)) {
		v.Add("public_donors", "must be names, amounts or nothing")
	}
}

// Change is what a valid input makes of the settings, and what differs.
func (s AccountSettings) Change(in *AccountSettingsInput) (changed AccountSettings, d doc.Differences) {
	changed = s
	take := func(field string, sent, value *string) {
		if sent != nil && *sent != *value {
			d = append(d, doc.TextDifference(field, *value, *sent))
			*value = *sent
		}
	}
	take("currency", in.Currency, &changed.Currency)
	take("timezone", in.Timezone, &changed.Timezone)
	take("address", in.Address, &changed.Address)
	take("tax_id", in.TaxID, &changed.TaxID)
	take("email", in.Email, &changed.Email)
	take("website", in.Website, &changed.Website)
	take("public_donors", in.PublicDonors, (*string)(&changed.PublicDonors))
	if in.NoReturn != nil && *in.NoReturn != s.NoReturn {
		d = append(d, doc.TextDifference("no_return", strconv.FormatBool(s.NoReturn), strconv.FormatBool(*in.NoReturn)))
		changed.NoReturn = *in.NoReturn
	}
	if w := in.Receipts; w != nil {
		take("receipt_form", &w.Form, &changed.Receipts.Form)
		take("receipt_place", &w.Place, &changed.Receipts.Place)
		take("receipt_signer", &w.Signer, &changed.Receipts.Signer)
		take("receipt_text", &w.Text, &changed.Receipts.Text)
	}
	if in.Logo != nil {
		take("logo", &in.Logo.Address, &changed.Logo)
	}
	return changed, d
}
