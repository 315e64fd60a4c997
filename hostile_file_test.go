//go:build drill

package donorbook_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"donorbook/internal/rig"
	"donorbook/internal/rig/assert"
)

// direct is a client that goes nowhere else than it is told.
var direct = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// uploader is someone who uploads files for an organization of their own.
type uploader struct {
	*program
	path, cookie, secret string
}

func (s *program) uploader(name string) uploader {
	s.t.Helper()
	return s.signIn(s.Run("account", "create", "--name", name), name)
}

// signIn makes a user of an organization, and a key.
func (s *program) signIn(account, name string) uploader {
	s.t.Helper()
	email := strings.ToLower(name) + "@example.org"
	password := s.Run("user", "create", "--account", account, "--name", name, "--email", email, "--role", "owner")
	response, _ := assert.Must2(rig.Send(direct, "", "POST", "http://"+s.Address+"/console/signin",
		url.Values{"email": {email}, "password": {password}}.Encode(), "Content-Type",
		"application/x-www-form-urlencoded",
		"Sec-Fetch-Site", "same-origin"))(s.t)
	if len(response.Cookies()) == 0 {
		s.t.Fatal("no one has signed in")
	}
	secret := s.Run("key", "create", "--account", account, "--name", name)
	return uploader{s, "/console/o/" + account + "/contacts/import", response.Cookies()[0].String(), secret}
}

// upload sends a file, and is where the answer leads to, or what it says.
func (p uploader) upload(name string, file []byte) (status int, location, body string, err error) {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part := assert.Must(w.CreateFormFile("file", name))(p.t)
	assert.Must(part.Write(file))(p.t)
	assert.Succeed(p.t, w.Close())
	response, text, err := rig.Send(direct, "", "POST", "http://"+p.Address+p.path, form.String(),
		"Content-Type", w.FormDataContentType(), "Sec-Fetch-Site", "same-origin", "Cookie", p.cookie)
	if err != nil {
		return 0, "", "", err
	}
	return response.StatusCode, response.Header.Get("Location"), string(text), nil
}

// numbered repeats a text that has a number in it.
func numbered(n int, format string) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, format, i)
	}
	return all.String()
}

// packed is a workbook with these shared texts and rows, and other parts in place of the usual ones.
func packed(t *testing.T, texts, rows string, others ...[2]string) []byte {
	t.Helper()
	var file bytes.Buffer
	archive := zip.NewWriter(&file)
	for _, part := range [][2]string{
		{"_rels/.rels",
			`<Relationships><Relationship Id="r" Type="x/officeDocument" Target="xl/workbook.xml"/></Relationships>`},
		{"xl/workbook.xml", `<workbook xmlns:r="r"><sheets><sheet name="One" r:id="s"/></sheets></workbook>`},
		{"xl/_rels/workbook.xml.rels",
			`<Relationships><Relationship Id="s" Type="x/worksheet" Target="s.xml"/><Relationship Id="t" Type="x/sharedStrings" Target="t.xml"/></Relationships>`},
		{"xl/t.xml", "<sst>" + texts + "</sst>"},
		{"xl/s.xml", "<worksheet><sheetData>" + rows + "</sheetData></worksheet>"},
	} {
		if i := slices.IndexFunc(others, func(other [2]string) bool { return other[0] == part[0] }); i >= 0 {
			part = others[i]
		}
		assert.Must(io.WriteString(assert.Must(archive.Create(part[0]))(t), part[1]))(t)
	}
	assert.Succeed(t, archive.Close())
	return file.Bytes()
}

// Organizations upload what takes much memory, time or both to be read, all at once: workbooks with as much text as one
// may have, in cells, in names of sheets and in what tells how parts belong together, and files that are wrong in every
// row. Each gets an answer soon, the memory is bounded, and another one uploads an ordinary file meanwhile.
func TestHostileFilesCostLittleMemoryAndNoOneElsesTime(t *testing.T) {
	s := startProgram(t)
	header := `<row><c t="str"><v>first_name</v></c><c t="str"><v>last_name</v></c></row>`
	rows := header + strings.Repeat(`<row><c t="s"><v>1</v></c><c t="s"><v>2</v></c></row>`, 20_000)
	random := rand.New(rand.NewPCG(1, 2))
	var different strings.Builder // or the file would be refused, because it is much larger unpacked
	for range 90_000 {
		fmt.Fprintf(&different, "<si><t>%016x%s</t></si>", random.Uint64(), strings.Repeat("x", 1_000))
	}
	cell := `<row><c t="str"><v>` + strings.Repeat("z", 900<<10) + "</v></c></row>"
	sheet := `<Relationships><Relationship Id="s" Type="x/worksheet" Target="s.xml"/>`
	relation := `<Relationship Id="%d" Type="x" Target="` + strings.Repeat("X", 60_000) + `"/>`
	sheets := `<workbook xmlns:r="r"><sheets><sheet name="One" r:id="s"/>`
	named := `<sheet name="%d` + strings.Repeat("x", 60_000) + `" r:id="s"/>`
	large := [][]byte{
		packed(t, different.String(), rows),
		packed(t, "", header+strings.Repeat(cell, 60)),
		packed(t, "", rows, [2]string{"xl/_rels/workbook.xml.rels",
			sheet + numbered(1_000, relation) + `</Relationships>`}),
		packed(t, "", rows, [2]string{"xl/workbook.xml", sheets + numbered(1_000, named) + `</sheets></workbook>`}),
	}
	hostile := slices.Concat(large, large, [][]byte{
		packed(t, strings.Repeat("<si><t>"+strings.Repeat("x", 1_000)+"</t></si>", 60_000), rows),
		packed(t, "", header+strings.Repeat(`<row>`+strings.Repeat("<c/>", 100)+`</row>`, 140_000)),
		[]byte("first_name,last_name\n" + strings.Repeat("\"Ana,Rossi\nx\"y,\n", 50<<20/16)),
		[]byte("first_name,last_name\n" + strings.Repeat("a,b,c,d,e\n", 5<<20)),
	})
	people := make([]uploader, len(hostile))
	for i := range people {
		people[i] = s.uploader(fmt.Sprintf("Hostile%d", i))
	}
	good := s.uploader("Good")
	var sending sync.WaitGroup
	for i, p := range people {
		sending.Go(func() {
			start := time.Now()
			status, _, body, err := p.upload("people", hostile[i])
			took := time.Since(start)
			t.Logf("file %d is answered with %d after %v", i, status, took)
			if err != nil || status != 303 && (status != 422 || i < 2*len(large)) || took > rig.Patience {
				t.Errorf("file %d is answered with %d after %v: %v %.200s", i, status, took, err, body)
			}
		})
	}
	time.Sleep(2 * time.Second) // while they arrive and are read
	start := time.Now()
	status, location, body, err := good.upload("people.csv", []byte("first_name,last_name\nAna,Rossi\n"))
	if err != nil || !strings.Contains(location, "/imports/") {
		t.Errorf("an ordinary file is answered with %d: %v %.200s", status, err, body)
	}
	t.Logf("an ordinary file is answered after %v", time.Since(start))
	sending.Wait()
	time.Sleep(10 * time.Second) // while the worker reads what is left
	s.tookLittle()
}
