package page

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
	SetCookie(w, cookie, base64.RawURLEncoding.EncodeToString(text), leftTime)
}

// left is what the page before has left, "" for nothing.
func left(r *http.Request, cookie string) string {
	text, err := base64.RawURLEncoding.DecodeString(CookieValue(r, cookie))
	if err != nil {
		return ""
	}
	return string(text)
}

// LeaveSecret hands a secret to the page at a path, which shows it once.
func LeaveSecret(w http.ResponseWriter, path, secret string) {
	leave(w, secretCookie, []byte(path+" "+secret))
}

// TakeSecret is the secret that was left for this page, "" for none. The next time there is none.
func (r *Request) TakeSecret() string {
	secret, found := strings.CutPrefix(left(r.Request, secretCookie), r.URL.Path+" ")
	if !found {
		return ""
	}
	DropCookie(r.W, secretCookie)
	return secret
}

// Notice is what the next page tells about what was just done.
type Notice struct {
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

// LeaveNotice tells the next page what to say.
func LeaveNotice(w http.ResponseWriter, n Notice) {
	n.Text, n.Warning = Shortened(n.Text, noticeStart, noticeEnd), Shortened(n.Warning, noticeStart, noticeEnd)
	n.Changes = n.Changes[:min(len(n.Changes), noticeChanges)]
	for i, change := range n.Changes {
		n.Changes[i].Before, n.Changes[i].After = Shortened(change.Before, noticeValue, 0), Shortened(change.After, noticeValue, 0)
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

// Shortened leaves out the middle of a long text.
func Shortened(text string, start, end int) string {
	letters := []rune(text)
	if len(letters) <= start+end {
		return text
	}
	return string(letters[:start]) + "…" + string(letters[len(letters)-end:])
}

// takeNotice is what the page before left to say, nil for nothing.
func (r *Request) takeNotice() *Notice {
	if CookieValue(r.Request, noticeCookie) == "" {
		return nil
	}
	DropCookie(r.W, noticeCookie)
	n := new(Notice)
	if json.Unmarshal([]byte(left(r.Request, noticeCookie)), n) != nil || n.Text == "" {
		return nil
	}
	return n
}
