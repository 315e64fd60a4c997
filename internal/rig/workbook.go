package rig

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
)

// Workbook is an .xlsx file with these sheets, each of which is a text of lines with commas between cells.
func Workbook(t testing.TB, sheets ...string) []byte {
	t.Helper()
	parts := map[string]string{"_rels/.rels": `<Relationships><Relationship Id="r" Type="x/officeDocument" Target="xl/workbook.xml"/></Relationships>`}
	var listed, related strings.Builder
	for i, sheet := range sheets {
		fmt.Fprintf(&listed, `<sheet name="Sheet %d" r:id="r%d"/>`, i+1, i)
		fmt.Fprintf(&related, `<Relationship Id="r%d" Type="x/worksheet" Target="sheet%d.xml"/>`, i, i)
		rows := "<row><c t=\"str\"><v>" + strings.NewReplacer(",", "</v></c><c t=\"str\"><v>", "\n", "</v></c></row><row><c t=\"str\"><v>").Replace(strings.TrimSpace(sheet)) + "</v></c></row>"
		parts[fmt.Sprintf("xl/sheet%d.xml", i)] = "<worksheet><sheetData>" + rows + "</sheetData></worksheet>"
	}
	parts["xl/workbook.xml"] = `<workbook xmlns:r="r"><sheets>` + listed.String() + `</sheets></workbook>`
	parts["xl/_rels/workbook.xml.rels"] = "<Relationships>" + related.String() + "</Relationships>"
	var file bytes.Buffer
	archive := zip.NewWriter(&file)
	for name, content := range parts {
		part, err := archive.Create(name)
		if err == nil {
			_, err = io.WriteString(part, content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}
