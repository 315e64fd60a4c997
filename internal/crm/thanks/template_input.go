package thanks

import (
	"encoding/json"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// TemplateInput is a change of a text. A nil field stays as it is.
type TemplateInput struct {
	Subject, Body *string
	Amount        *int64 // in ten-thousandths of the account's currency; 0 for never
}

// DecodeTemplate reads the body of a change.
func DecodeTemplate(r *doc.Reader) (in TemplateInput, err error) {
	r.Document(func(key string) {
		switch key {
		case "subject":
			in.Subject = r.TextSent()
		case "body":
			in.Body = r.TextSent()
		case "amount":
			n := doc.ReadDecimal(r, text.SentDecimals, text.SentDigits, doc.MoneyRange)
			in.Amount = &n
		default:
			r.Ignore()
		}
	})
	return in, r.End()
}

// Change is the text after a change, in the form in which it is kept.
func (t Template) Change(in TemplateInput, currency string) (Template, error) {
	if in.Subject != nil {
		t.Subject = *in.Subject
	}
	if in.Body != nil {
		t.Body = *in.Body
	}
	if in.Amount != nil {
		units, ok := text.MinorUnits(*in.Amount, currency)
		if !ok {
			return t, doc.NewInvalid("amount", doc.TooFine, text.Decimals(currency), currency)
		}
		t.Amount = units
	}
	return t, t.Check()
}

// AppendTemplate appends the wire form of a text.
func AppendTemplate(dst []byte, t *Template, currency string) []byte {
	dst = doc.AppendText(append(dst, `{"occasion":`...), string(t.Occasion))
	dst = doc.AppendText(append(dst, `,"name":`...), t.Occasion.Label())
	dst = doc.AppendText(append(dst, `,"subject":`...), t.Subject)
	dst = doc.AppendText(append(dst, `,"body":`...), t.Body)
	if dst = append(dst, `,"amount":`...); t.Amount == 0 {
		dst = append(dst, "null"...)
	} else {
		dst = text.AppendMinor(dst, t.Amount, currency)
	}
	names, _ := json.Marshal(t.Occasion.Fields()) // texts
	dst = append(append(dst, `,"fields":`...), names...)
	if t.Own {
		return append(dst, `,"is_standard":false}`...)
	}
	return append(dst, `,"is_standard":true}`...)
}
