package public

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/picture"
	"donorbook/internal/web"
)

// ServePicture answers anyone who knows the name of a picture. What is found under a name never changes.
func ServePicture(s *page.Site, w http.ResponseWriter, r *http.Request) error {
	if err := s.CountStranger(w, r); err != nil {
		return err
	}
	name := r.PathValue("name")
	found, err := s.Store.Picture(r.Context(), name)
	if errors.Is(err, crm.ErrNotFound) {
		return web.NotFound()
	}
	if err != nil {
		return err
	}
	h := w.Header()
	hideRates(h)
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin") // campaigns are shown on other sites, too
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("ETag", `"`+name+`"`)
	if strings.Contains(r.Header.Get("If-None-Match"), `"`+name+`"`) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", picture.MediaType(name))
	h.Set("Content-Length", strconv.FormatInt(found.Size, 10))
	if r.Method == http.MethodHead {
		return nil
	}
	if err := found.WriteTo(r.Context(), w); err != nil { // it is damaged, or the client left
		h.Del("ETag")
		h.Del("Content-Length")
		h.Set("Cache-Control", "no-store")
		return err
	}
	return nil
}
