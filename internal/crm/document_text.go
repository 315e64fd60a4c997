package crm

// The text fields of each document, in the order of the wire. Columns of files come from here.
var (
	ContactTexts = contactTable.Texts()
	AddressTexts = addressTable.Texts()
	GiftTexts    = giftTable.Texts()
)
