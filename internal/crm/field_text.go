package crm

// FormText is a field that one text fills: in a form, and in a cell of a file.
type FormText[D, I any] struct {
	Name, Label string
	Set         func(in I, text string)
	Text        func(doc D) string
}

// The text fields of each document, in the order of the wire. Columns of files come from here.
var (
	ContactTexts = contactTable.texts()
	AddressTexts = addressTable.texts()
	GiftTexts    = giftTable.texts()
)

func (t table[D, I]) texts() (all []FormText[D, I]) {
	for i := range t {
		if f := &t[i]; f.take != nil && f.text != nil {
			all = append(all, FormText[D, I]{Name: f.name, Label: f.label,
				Set: func(in I, text string) { f.take(oneText(text), place{}, in) }, Text: f.text})
		}
	}
	return all
}

// oneText is a form that holds one text.
type oneText string

func (t oneText) Value(string) string       { return string(t) }
func (t oneText) Rows(string, []string) int { return 0 }
