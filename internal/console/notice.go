package console

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"donorbook/internal/crm/doc"
)

// What a page leaves for the next one travels in a cookie for a minute: a page that was reloaded does not repeat it, it is in no
// address, no log and no database, and every node can show it.
const (
	noticeCookie = "__Host-notice"
	secretCookie = "__Host-secret"
	leftTime     = time.Minute
)

func leave(w http.ResponseWriter, cookie string, text []byte) {
	setCookie(w, cookie, base64.RawURLEncoding.EncodeToString(text), leftTime)
}

// left is what the page before has left, "" for nothing.
func left(r *http.Request, cookie string) string {
	text, err := base64.RawURLEncoding.DecodeString(cookieValue(r, cookie))
	if err != nil {
		return ""
	}
	return string(text)
}

// leaveSecret hands a secret to the page at a path, which shows it once.
func leaveSecret(w http.ResponseWriter, path, secret string) {
	leave(w, secretCookie, []byte(path+" "+secret))
}

// takeSecret is the secret that was left for this page, "" for none. The next time there is none.
func (r *request) takeSecret() string {
	secret, found := strings.CutPrefix(left(r.Request, secretCookie), r.URL.Path+" ")
	if !found {
		return ""
	}
	dropCookie(r.w, secretCookie)
	return secret
}

// notice is what the next page tells about what was just done.
type notice struct {
	Text    string       `json:"t"`
	Warning string       `json:"w,omitempty"` // what was not done as it was meant
	Changes []doc.Change `json:"c,omitempty"`
	Undo    string       `json:"u,omitempty"` // address of a form that takes it back
	View    string       `json:"v,omitempty"` // address of a page to look at
	Link    string       `json:"l,omitempty"` // what the link to it says; "View page" where it is empty
}

const (
	noticeChanges = 12   // so many are told one by one
	noticeStart   = 134  // characters of a sentence: a name is known by its beginning,
	noticeEnd     = 66   // and what was done stands at the end
	noticeValue   = 80   // characters of each value that changed
	noticeSize    = 2600 // bytes: in base64 they are what a cookie surely holds
)

// leaveNotice tells the next page what to say.
func leaveNotice(w http.ResponseWriter, n notice) {
	n.Text, n.Warning = shortened(n.Text, noticeStart, noticeEnd), shortened(n.Warning, noticeStart, noticeEnd)
	n.Changes = n.Changes[:min(len(n.Changes), noticeChanges)]
	for i, change := range n.Changes {
		n.Changes[i].Before, n.Changes[i].After = shortened(change.Before, noticeValue, 0), shortened(change.After, noticeValue, 0)
	}
	text, err := json.Marshal(n)
	for err == nil && len(text) > noticeSize && len(n.Changes) > 0 {
		n.Changes = n.Changes[:len(n.Changes)-1]
		text, err = json.Marshal(n)
	}
	if err == nil { // nothing that was said is worth a failure of what was done
		leave(w, noticeCookie, text)
	}
}

// shortened leaves out the middle of a long text.
func shortened(text string, start, end int) string {
	letters := []rune(text)
	if len(letters) <= start+end {
		return text
	}
	return string(letters[:start]) + "…" + string(letters[len(letters)-end:])
}

// takeNotice is what the page before left to say, nil for nothing.
func (r *request) takeNotice() *notice {
	if cookieValue(r.Request, noticeCookie) == "" {
		return nil
	}
	dropCookie(r.w, noticeCookie)
	n := new(notice)
	if json.Unmarshal([]byte(left(r.Request, noticeCookie)), n) != nil || n.Text == "" {
		return nil
	}
	return n
}
