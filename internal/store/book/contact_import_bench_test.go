package book

import (
	"fmt"
	"strings"
	"testing"

	"donorbook/internal/store/jobs"
)

// BenchmarkImport is what a row of a file costs, with its tags, its address and its keys.
func BenchmarkImport(b *testing.B) {
	before := jobs.UnitRows
	defer func() { jobs.UnitRows = before }()
	jobs.UnitRows = 400
	for _, e := range testEngines {
		b.Run(e.name, func(b *testing.B) {
			s := open(b, e.empty(b))
			account := newAccount(b, s).Number
			var text strings.Builder
			text.WriteString("First Name,Last Name,Email,Street,City,State,Zip,Country,Tags,Company\n")
			for i := range b.N {
				fmt.Fprintf(&text, "Ann%d,Person%d,p%d@example.org,%d Main St,Boston,MA,0%d,USA,\"t%d, all\",Acme %d\n", i%5000, i, i, i, 2000+i%900, i%40, i%300)
			}
			b.ResetTimer()
			importFile(b, s, account, text.String(), jobs.MergeExisting)
		})
	}
}
