package console

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"time"

	"donorbook/internal/crm"
)

// notice is what the next page tells about what was just done. It travels in a cookie: a page that was reloaded does not
// repeat it, and nothing has to be stored.
type notice struct {
	Text    string       `json:"t"`
	Warning string       `json:"w,omitempty"` // what was not done as it was meant
	Changes []crm.Change `json:"c,omitempty"`
	Undo    string       `json:"u,omitempty"` // address of a form that takes it back
}

const (
	noticeCookie  = "__Host-notice"
	noticeTime    = time.Minute
	noticeChanges = 12   // so many are told one by one
	noticeText    = 200  // characters
	noticeValue   = 80   // characters of each value that changed
	noticeSize    = 3500 // what a cookie surely holds
)

// leaveNotice tells the next page what to say.
func leaveNotice(w http.ResponseWriter, n notice) {
	n.Text, n.Warning = withoutMiddle(n.Text), withoutMiddle(n.Warning)
	if len(n.Changes) > noticeChanges {
		n.Changes = n.Changes[:noticeChanges]
	}
	for i := range n.Changes {
		n.Changes[i].Before, n.Changes[i].After = shortened(n.Changes[i].Before), shortened(n.Changes[i].After)
	}
	for {
		text, err := json.Marshal(n)
		if err != nil {
			return // nothing that was said is worth a failure of what was done
		}
		value := base64.RawURLEncoding.EncodeToString(text)
		if len(value) <= noticeSize || len(n.Changes) == 0 {
			setCookie(w, noticeCookie, value, noticeTime)
			return
		}
		n.Changes = n.Changes[:len(n.Changes)-1]
	}
}

// shortened is the beginning of a value.
func shortened(text string) string {
	letters := []rune(text)
	if len(letters) <= noticeValue {
		return text
	}
	return string(letters[:noticeValue]) + "…"
}

// withoutMiddle shortens a sentence: a name is known by its beginning, and what was done stands at the end.
func withoutMiddle(text string) string {
	letters := []rune(text)
	if len(letters) <= noticeText {
		return text
	}
	const end = noticeText / 3
	return string(letters[:noticeText-end-1]) + "…" + string(letters[len(letters)-end:])
}

// takeNotice is what the page before left to say, nil for nothing.
func takeNotice(w http.ResponseWriter, r *http.Request) *notice {
	cookie, err := r.Cookie(noticeCookie)
	if err != nil {
		return nil
	}
	dropCookie(w, noticeCookie)
	text, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil {
		return nil
	}
	n := new(notice)
	if json.Unmarshal(text, n) != nil || n.Text == "" {
		return nil
	}
	return n
}
