package sheet

import (
	"strings"
	"testing"

	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

// TestNamesInTheUsualForm: names in capitals, or without any, are written as people write them where that was asked
// for, and else told.
func TestNamesInTheUsualForm(t *testing.T) {
	for file, usual := range rows.Pairs(`
		JANE,MCDONALD             Jane McDonald
		bob,o'neil                Bob O'Neil
		JEAN-PIERRE,LE GOFF       Jean-Pierre Le Goff
		MARÍA,LÓPEZ DE LA FUENTE  María López de la Fuente
		KARL,VON DER HEIDE        Karl von der Heide
		Claire,DUBOIS             Claire Dubois
		JP,Morgan                 JP Morgan
		Ludwig,van Beethoven      Ludwig van Beethoven
		HENRY,FORD III            Henry Ford III
		KLAUS UND PETRA,WEBER     Klaus und Petra Weber
		Cher,                     Cher
	`) {
		rows := Contacts.Rows(Contacts.Recognize([]string{"First Name", "Last Name"}, nil, nil), "US")
		cells := strings.Split(file, ",")
		kept := rows.Input(cells)
		if name := kept.PersonName().String(); name != strings.TrimSpace(strings.ReplaceAll(file, ",", " ")) ||
			kept.Unusual != (name != usual) {
			t.Errorf("%s is %q, unusual %v", file, name, kept.Unusual)
		}
		changed := rows.UsualNames(true).Input(cells)
		if name := changed.PersonName().String(); name != usual || changed.Unusual {
			t.Errorf("%s is %q in the usual form, want %q", file, name, usual)
		}
	}
}

// TestZerosThatSpreadsheetsTake: a ZIP code of the United States gets them back where the state or the country tells
// that it is one.
func TestZerosThatSpreadsheetsTake(t *testing.T) {
	for _, c := range rows.Of[struct{ Zip, State, Country, Region, Want string }](`
		2115       MA   ""   US  02115
		7102-1234  NJ   ""   US  07102-1234
		71021234   NJ   USA  US  07102-1234
		601        PR   USA  US  00601
		2115       ""   USA  DE  02115
		8001       ""   ""   US  8001
		8001       ""   CHE  DE  8001
		1067       ""   ""   DE  01067
		2115       NSW  AUS  US  2115
		62701      IL   ""   US  62701
		""         MA   USA  US  ""
	`) {
		assert.Equal(t, withZero(c.Zip, c.State, c.Country, c.Region), c.Want, "%+v", c)
	}
}
