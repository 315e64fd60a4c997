package client

import (
	"encoding/json"
	"time"
)

// Money is an amount as it is written, such as "25.50", so that no cent is lost on the way. Its methods give numbers, and
// big.Rat.SetString reads it exactly.
type Money = json.Number

// Optional is a field of a change. Its zero value leaves the field alone, [Clear] empties it, and [Set] replaces it.
type Optional[T any] struct {
	sent  bool
	value *T
}

// Set is a new value of a field.
func Set[T any](value T) Optional[T] { return Optional[T]{true, &value} }

// Clear empties a field.
func Clear[T any]() Optional[T] { return Optional[T]{sent: true} }

// IsZero tells whether the field is left alone.
func (o Optional[T]) IsZero() bool { return !o.sent }

// MarshalJSON writes the value, or null.
func (o Optional[T]) MarshalJSON() ([]byte, error) { return json.Marshal(o.value) }

// CampaignTime is a time of a campaign or its event, in UTC. Campaigns have a form of time of their own, 2026-01-31 09:08:07.
type CampaignTime struct{ time.Time }

const campaignTimeForm = `"2006-01-02 15:04:05"`

// MarshalJSON writes the time in the form that campaigns have, or null.
func (t CampaignTime) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return t.UTC().AppendFormat(nil, campaignTimeForm), nil
}

// UnmarshalJSON reads a time of a campaign, or null.
func (t *CampaignTime) UnmarshalJSON(text []byte) (err error) {
	if string(text) != "null" {
		t.Time, err = time.Parse(campaignTimeForm, string(text))
	}
	return err
}
