package sheet

import (
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/drill"
	tables "donorbook/internal/table"
)

// synonyms are headings, or words of them, that people use for one another.
var synonyms = func() (all [][]synonym) {
	for _, line := range strings.Split(`donation,gift,contribution
donor,constituent,supporter
amount,amt
payment,pmt
first name,given name,forename
last name,surname,family name
email,e-mail
phone,telephone
city,town
zip code,postal code,postcode
comment,note,remarks,memo
transaction id,transaction #,transaction no.,txn id
donation id,gift #,contribution number
check number,check #,cheque no.
date of birth,birth date,dob
organization name,company name
receipt number,receipt #
betrag,summe
nachname,familienname
plz,postleitzahl
ort,stadt,wohnort
e-mail-adresse,mailadresse,e-mail
bemerkungen,anmerkungen,notizen
montant,somme
courriel,e-mail
ville,commune
importe,monto,cantidad
ciudad,localidad`, "\n") {
		var same []synonym
		for _, word := range strings.Split(line, ",") {
			same = append(same, synonym{word, regexp.MustCompile(`(?i)(^|[^\p{L}])` + regexp.QuoteMeta(word) +
				`($|[^\p{L}])`)})
		}
		all = append(all, same)
	}
	return all
}()

type synonym struct {
	word string
	in   *regexp.Regexp
}

// styles are ways in which systems write the same heading.
var styles = []func(string) string{
	func(s string) string { return s }, strings.ToUpper, func(s string) string { return s + ":" },
	func(s string) string { return s + " *" }, func(s string) string {
		return " " + strings.ReplaceAll(s, " ", "  ") +
			" "
	},
	func(s string) string {
		if ownNames.MatchString(s) {
			return s
		}
		return strings.ReplaceAll(strings.ToLower(s), " ", "_")
	},
}

var (
	ownNames = regexp.MustCompile(`(?i)\bid\b|#|\.`) // contact_id is ours
	camel    = regexp.MustCompile(`\p{Ll}\p{Lu}`)
)

// renamed is a heading as another system may have it.
func renamed(random *rand.Rand, heading string, taken []string) string {
	if heading == "" {
		return ""
	}
	other := heading
	for _, words := range synonyms {
		at := slices.IndexFunc(words, func(one synonym) bool { return one.in.MatchString(other) })
		if at >= 0 && random.IntN(2) == 0 {
			other = words[at].in.ReplaceAllString(other, "${1}"+words[random.IntN(len(words))].word+"${2}")
		}
	}
	if !camel.MatchString(other) && !strings.Contains(other, "_") {
		other = styles[random.IntN(len(styles))](other)
	}
	// no one could tell them apart
	if slices.ContainsFunc(taken, func(name string) bool { return plainName(name) == plainName(other) }) {
		return heading
	}
	return other
}

// TestHeadingsMayBeCalledOtherwise: other words for the same, another order, more columns, another separator and a
// title above change nothing, in files of gifts and of people.
func TestHeadingsMayBeCalledOtherwise(t *testing.T) {
	t.Parallel()
	random, times := rand.New(rand.NewPCG(1, 2)), 2
	if drill.On {
		times = 8
	}
	files := judgedFiles(t)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f := files[name]
		header, rows := tableOf(t, f.file)
		for range times {
			file := otherFile(random, header, rows)
			if said := f.said(t, file, f.region); !slices.Equal(withoutNames(said), withoutNames(f.want)) {
				t.Errorf("%s, as\n%s\nis\n%s\nwant\n%s", name, file, strings.Join(said, "\n"),
					strings.Join(f.want, "\n"))
				break
			}
		}
	}
}

// tableOf is what a file has: its headings, and its rows.
func tableOf(t *testing.T, file string) (header []string, rows [][]string) {
	t.Helper()
	r := assert.Must(tables.OpenWith(strings.NewReader(file), int64(len(file)), "file.csv",
		tables.Options{Header: FindHeader}))(t)
	for {
		cells, _, err := r.Next()
		if errors.Is(err, io.EOF) {
			return r.Header(), rows
		}
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, slices.Clone(cells))
	}
}

// otherFile is the same file as another system might write it.
func otherFile(random *rand.Rand, header []string, rows [][]string) string {
	changed := slices.Clone(header)
	for i := range changed {
		changed[i] = renamed(random, header[i], append(slices.Clone(changed[:i]), header[i+1:]...))
	}
	order, separator := random.Perm(len(header)), []string{",", ";", "\t"}[random.IntN(3)]
	var file strings.Builder
	file.WriteString("\"Report of all gifts, as of today\"\n\n")
	write := func(cells []string, more string) {
		for _, at := range order {
			file.WriteString(`"` + strings.ReplaceAll(cells[at], `"`, `""`) + `"` + separator)
		}
		file.WriteString(`"` + more + "\"\n")
	}
	write(changed, "Shirt size")
	for _, row := range rows {
		more := "XL"
		if filled := slices.DeleteFunc(slices.Clone(row),
			func(cell string) bool { return cell == "" }); len(filled) == 1 { // it names others
			more = ""
		}
		write(row, more)
	}
	return file.String()
}

// withoutNames leaves out what names columns.
func withoutNames(said []string) (all []string) {
	for _, text := range said {
		text, _, _ = strings.Cut(text, " without ")
		for _, fate := range []string{"rejected", "skipped"} {
			if strings.HasPrefix(text, fate) {
				text = fate
			}
		}
		all = append(all, text)
	}
	return all
}
