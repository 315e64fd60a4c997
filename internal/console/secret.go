package console

import (
	"encoding/base64"
	"net/http"
	"strings"
	"time"
)

// A secret is shown once, on the page after the form that made it, so that a reload of that page makes no second one. It
// travels as notices do, in a cookie: it is in no address, no log and no database, and every node can show it.
const (
	secretCookie = "__Host-secret"
	secretTime   = time.Minute
)

// leaveSecret hands a secret to the page at a path.
func leaveSecret(w http.ResponseWriter, path, secret string) {
	setCookie(w, secretCookie, base64.RawURLEncoding.EncodeToString([]byte(path+" "+secret)), secretTime)
}

// takeSecret is the secret that was left for this page, "" for none. The next time there is none.
func takeSecret(w http.ResponseWriter, r *http.Request) string {
	cookie, err := r.Cookie(secretCookie)
	if err != nil {
		return ""
	}
	text, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil {
		return ""
	}
	path, secret, _ := strings.Cut(string(text), " ")
	if path != r.URL.Path {
		return ""
	}
	dropCookie(w, secretCookie)
	return secret
}
