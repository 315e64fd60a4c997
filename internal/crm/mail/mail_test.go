package mail

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestAnAddressIsOneMailbox(t *testing.T) {
	for _, bad := range rows.All(`
		""  a  Ada <a@b.org>  a@b.org, c@d.org  a@b.org c@d.org  "a@b.org\r\nBcc: c@d.org"  "\"a\"@b.org"  a@b.org>
		a@[127.0.0.1]  "a@b.org\x00"
	`) {
		if address, ok := ParseAddress(bad); ok {
			t.Errorf("%q is %q", bad, address)
		}
	}
	if a, ok := ParseAddress(" ada@example.org "); !ok || a.String() != "ada@example.org" ||
		a.Domain() != "example.org" {
		t.Error(a, ok)
	}
}

// A link in what a person typed is shown, and leads nowhere.
func TestTypedTextIsNeverALink(t *testing.T) {
	linked := regexp.MustCompile(`(?i)(https?:/|www\.\w|\w\.\w|\w@\w|mailto:\w|://)`)
	for _, typed := range rows.All(`
		https://evil.example/x  www.evil.example  evil.example  eve@evil.example  javascript:alert(1)
		<a href=https://evil.example>x</a>  "ht\u200btps://evil.example"  evil。example  St. Mary’s: a home
	`) {
		l := Letter{Name: NewLine("Us"), Message: Message{Says: []Line{Say("From {}.", typed)}}}
		text, html := l.Text(), l.HTML()
		if linked.MatchString(text) || strings.Contains(html, "<a ") || strings.Contains(html, "<a>") {
			t.Errorf("%q: %s\n%s", typed, text, html)
		}
	}
	assert.Equal(t, Say("{} and {}", "St. Mary’s", "{}").String(), "St. Mary’s and {}")
	assert.Equal(t, len([]rune(Say("{}!", strings.Repeat("x", 1000)).String())), 101)
}

func TestALineStaysALineInTheOutbox(t *testing.T) {
	var m Message
	assert.Succeed(t, json.Unmarshal([]byte(`{"subject":"a\r\nBcc: b","says":["x\u2028y"]}`), &m))
	if m.Subject.String() != "a Bcc: b" || m.Says[0].String() != "x y" {
		t.Errorf("%q %q", m.Subject, m.Says)
	}
	emoji := "👩\u200d🚀 نص Nguyễn"
	assert.Equal(t, NewLine(emoji).String(), emoji)
}

func TestTriesAreSpacedAndEnd(t *testing.T) {
	begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now, tries := begun, int64(1)
	for ; tries < 100; tries++ {
		wait, again := Again(tries, begun, now)
		if !again {
			break
		}
		if wait < time.Minute || wait > 4*time.Hour {
			t.Errorf("try %d waits %s", tries, wait)
		}
		now = now.Add(wait)
	}
	if tries < 10 || tries > 30 || now.Sub(begun) < 40*time.Hour {
		t.Errorf("%d tries in %s", tries, now.Sub(begun))
	}
}

// A sentence says only the values that it has a place for.
func TestASentenceWithoutAPlaceSaysNoValue(t *testing.T) {
	for sentence, want := range rows.Pairs(`
		Thank you.          Thank you.
		Thank you from {}.  Thank you from Harbor.
		{}, {}.             Harbor, Light.
	`) {
		assert.Equal(t, Say(sentence, "Harbor", "Light").String(), want, "%q says", sentence)
	}
}
