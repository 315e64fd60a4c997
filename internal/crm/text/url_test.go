package text

import (
	"net/url"
	"strings"
	"testing"

	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestIsWebURL(t *testing.T) {
	assert.Tells(t, IsWebURL, rows.All(`
		http://example.org  https://example.org/  HTTPS://Example.org/a?b=c#d  https://example.org:8443/a
		https://bücher.example/straße  https://twitter.com/ann_lee  http://127.0.0.1/  http://[::1]:80/
		https://example.org/a%20b  https://localhost  https://www.facebook.com/profile.php?id=1&x=@me
	`), rows.All(`
		""  example.org  //example.org  /path  https:  https://  https:///path  https:example.org  https://:80
		https://.  ftp://example.org  javascript:alert(1)  data:text/html,x  mailto:ann@example.org
		httpss://example.org  https://ann@example.org  https://ann:secret@example.org/  https://@example.org
		https://exa mple.org  https://example.org/a b  "https://example.org/\n"  "https://example.org/\x00"
		"https://example.org/\u00a0"  " https://example.org"  https://example.org\@evil.example
		https://example.org:port  https://example.org/%zz  https://[::1
	`))
}

func FuzzIsWebURL(f *testing.F) {
	for _, value := range rows.All(`
		https://example.org/a?b#c  http://a:b@c  https://[::1]:8/  javascript:alert(1)
	`) {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if !IsWebURL(value) {
			return
		}
		lower := strings.ToLower(value)
		if !strings.HasPrefix(lower, "http://") && !strings.HasPrefix(lower, "https://") {
			t.Fatalf("accepted %q", value)
		}
		if strings.ContainsAny(value, " \t\r\n\x00\\") {
			t.Fatalf("accepted %q", value)
		}
		u, err := url.Parse(value)
		if err != nil || u.Host == "" || u.User != nil {
			t.Fatalf("accepted %q: %v", value, err)
		}
	})
}
