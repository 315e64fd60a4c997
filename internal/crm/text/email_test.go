package text

import (
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestNormalEmail(t *testing.T) {
	long := strings.NewReplacer("LOCAL", strings.Repeat("a", 64), "LABEL", strings.Repeat("b", 63))
	for value, want := range rows.Pairs(`
		ann@example.org                    ann@example.org
		Ann.Lee+Gala@Example.ORG           ann.lee+gala@example.org
		"!#$%&'*+-/=?^_\x60{|}~@example.org"  "!#$%&'*+-/=?^_\x60{|}~@example.org"
		JOSÉ@example.org                   josé@example.org
		Straße@example.org                 strasse@example.org
		ann@BÜCHER.example                 ann@bücher.example
		अजय@डाटा.भारत                      अजय@डाटा.भारत
		ann@xn--bcher-kva.example          ann@bücher.example
		ann@XN--BCHER-KVA.Example          ann@bücher.example
		"ann@bu\u0308cher.example"         ann@bücher.example
		"jose\u0301@example.org"           josé@example.org
		"JOSE\u0301@example.org"           josé@example.org
		ann@straße.example                 ann@strasse.example
		ann@xn--strae-oqa.example          ann@strasse.example
		ann@a.b.c.example.museum           ann@a.b.c.example.museum
		ann@123.com                        ann@123.com
		LOCAL@example.org                  LOCAL@example.org
		ann@LABEL.org                      ann@LABEL.org
	`) {
		key, _ := NormalEmail(long.Replace(value))
		assert.Equal(t, key, long.Replace(want), "normalEmail(%q)", value)
	}
	assert.Tells(t, reads(NormalEmail), []string{"ann@example.org"}, append(rows.All(`
		""  @  ann  ann@  @example.org  ann@example  ann@.org  ann@example.  ann@example..org  ann@@example.org
		ann@b@example.org  Ann <ann@example.org>  <ann@example.org>  mailto:ann@example.org  "\"ann\"@example.org"
		ann(comment)@example.org  ann@example.org (work)  ann @example.org  ann@ example.org  "a\tb@example.org"
		"a\nb@example.org"  "a\u00a0b@example.org"  "a\u200bb@example.org"  "a\x00b@example.org"  .ann@example.org
		ann.@example.org  an..n@example.org  ann,bob@example.org  a@example.org,b@example.org  ann@[127.0.0.1]
		ann@127.0.0.1  ann@[IPv6:::1]  ann@exam_ple.org  ann@-example.org  ann@example-.org  ann@example.123
		ann@exa mple.org  ann@example.org/  ann@xn--ü.org  ann@xn--a.example  ann😀@example.org
		"ann\xff@example.org"  "ann@ex\xffample.org"
	`), strings.Repeat("a", 65)+"@example.org", strings.Repeat("é", 33)+"@example.org",
		"ann@"+strings.Repeat("b", 64)+".org",
		"ann@"+strings.Repeat("b.", 130)+"org"))
	assert.Equal(t, testing.AllocsPerRun(100, func() { NormalEmail("ann.lee@mail.example.org") }), 0,
		"for a plain address")
}

func FuzzNormalEmail(f *testing.F) {
	for _, value := range rows.All(`
		Ann.Lee@Example.ORG  a@b  José@bücher.example  "\"a\"@b.c"  a@xn--bcher-kva.de  a@[::1]  ß@ß.de
	`) {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		key, ok := NormalEmail(value)
		if !ok {
			assert.Equal(t, key, "", "refused, and yet a key")
			return
		}
		if strings.Count(value, "@") != 1 || strings.ContainsFunc(value, unicode.IsSpace) ||
			strings.ContainsFunc(value, unicode.IsControl) {
			t.Fatalf("accepted %q", value)
		}
		if strings.ContainsAny(value, `"<>()[],;:\`) {
			t.Fatalf("accepted %q", value)
		}
		assert.Equal(t, FoldEmail(key), key, "the key of %q", value)
		if again, _ := NormalEmail(norm.NFD.String(value)); isLocalPart(strings.Split(norm.NFD.String(value),
			"@")[0]) && again != key {
			t.Fatalf("the key of %q is %q, and taken apart %q", value, key, again)
		}
		if isASCII(value) {
			if again, ok := NormalEmail(strings.ToUpper(value)); !ok || again != key {
				t.Fatalf("%q and its capitals have different keys: %q, %q", value, key, again)
			}
		}
	})
}
