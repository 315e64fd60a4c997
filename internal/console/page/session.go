package page

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/web"
)

// sessionCookie holds the token of a session, userCookie who had the last one, so that a form which was typed before it ended is
// shown to no one else, and deviceCookie the tokens of users who have signed in with the browser before. Their prefix makes browsers refuse them from anywhere but this very host over HTTPS.
const (
	SessionCookie = "__Host-session"
	SessionTime   = 30 * 24 * time.Hour
	UserCookie    = "__Host-user"
	UserTime      = SessionTime + 24*time.Hour // it outlives the session
	DeviceCookie  = "__Host-device"
	DeviceTime    = 400 * 24 * time.Hour // browsers keep no cookie longer
)

func (s *Site) SessionOf(r *http.Request) (access.Session, error) {
	cookie, err := r.Cookie(SessionCookie)
	if err != nil {
		return access.Session{}, crm.ErrUnauthenticated
	}
	return s.Store.Session(r.Context(), cookie.Value)
}

// SetCookie sets a cookie. One without the prefix of cookies that are sent everywhere goes to the console alone.
func SetCookie(w http.ResponseWriter, name, value string, age time.Duration) {
	path := Root
	if strings.HasPrefix(name, "__Host-") {
		path = "/"
	}
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: value, Path: path, MaxAge: int(age.Seconds()),
		Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

func DropCookie(w http.ResponseWriter, name string) { SetCookie(w, name, "", -time.Second) }

func CookieValue(r *http.Request, name string) string {
	cookie, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return cookie.Value
}

var errPlainOrigin = errors.New("a page that came over plain HTTP sent it")

// CheckOrigin refuses what another site sent. Of an older browser, which says no more than the origin, the standard library compares the host alone; but
// a machine on the way can serve a page over plain HTTP in the name of this host.
func (s *Site) CheckOrigin(r *http.Request) error {
	err := s.origin.Check(r)
	origin, _, _ := strings.Cut(r.Header.Get("Origin"), ":")
	if r.Method == http.MethodPost && r.Header.Get("Sec-Fetch-Site") == "" && strings.EqualFold(origin, "http") && s.Options.Proxies.Scheme(r) == "https" {
		err = errPlainOrigin
	}
	if err != nil {
		err = &web.Error{Status: http.StatusForbidden, Message: "This request came from another site and was refused. Nothing was changed.", Err: err}
	}
	return err
}

// FromHere is for what a GET does beside showing a page: it makes a file of people's data, or changes what a person has chosen. A
// link on another site does not start it. A browser that does not say where a link stands may, and an address that was typed.
func FromHere(handle Handler) Handler {
	return func(r *Request) error {
		if !slices.Contains([]string{"", "none", "same-origin", "same-site"}, r.Header.Get("Sec-Fetch-Site")) {
			return &web.Error{Status: http.StatusForbidden, Message: "A link on another site led here, so nothing was done. Use the button in Donorbook instead."}
		}
		return handle(r)
	}
}
