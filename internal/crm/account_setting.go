package crm

import "strings"

// AccountSettings is what an organization says once about itself: the currency of its sums, and what its giving statements show.
type AccountSettings struct {
	Currency string // ISO 4217
	Address  string // postal, of several lines; "" is unset here and below
	TaxID    string
	HasGifts bool // then the currency stays

	HistoryDays int64 // for which the history is kept; 0 is for good
}

// AccountSettingsInput is a change of settings. A nil field stays as it is; an empty one is cleared.
type AccountSettingsInput struct {
	Currency, Address, TaxID *string
}

const (
	maxAddressLines = 8 // as many as an envelope has room for
	maxTaxID        = 64
)

// Validate checks the settings, and brings them into the form in which they are kept.
func (in *AccountSettingsInput) Validate() error {
	v := new(Invalid)
	if in.Currency != nil {
		code := strings.ToUpper(strings.TrimSpace(*in.Currency))
		if in.Currency = &code; code == "" {
			v.Add("currency", Required)
		} else if !isCurrency(code) {
			v.Add("currency", Currency)
		}
	}
	if in.Address != nil {
		lines := strings.Split(strings.TrimSpace(*in.Address), "\n")
		for i, line := range lines {
			lines[i] = strings.TrimSpace(line)
			if !v.has("address") {
				v.text(place{}, "address", line, maxText)
			}
		}
		if len(lines) > maxAddressLines && !v.has("address") {
			v.Add("address", TooManyLines, maxAddressLines)
		}
		address := strings.Join(lines, "\n")
		in.Address = &address
	}
	if in.TaxID != nil {
		id := strings.TrimSpace(*in.TaxID)
		in.TaxID = &id
		v.text(place{}, "tax_id", id, maxTaxID)
	}
	return v.Err()
}
