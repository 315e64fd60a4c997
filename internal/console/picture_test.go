package console_test

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"io"
	"mime/multipart"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/picture"
)

// pictured is a PNG file of a size.
func pictured(t *testing.T, width, height int) []byte {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for i := range m.Pix {
		m.Pix[i] = uint8(i) | uint8(i&3/3*255)
	}
	var b bytes.Buffer
	succeed(t, png.Encode(&b, m))
	return b.Bytes()
}

// postsFiles sends a form with files as a browser does. A name that ends in _file has a file; one without contents was not chosen.
func (p *person) postsFiles(path string, files map[string][]byte, fields ...string) answer {
	p.site.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	var err error
	for name, file := range files {
		called := "photo.png"
		if file == nil {
			called = ""
		}
		part, failed := form.CreateFormFile(name, called)
		if failed == nil {
			_, failed = part.Write(file)
		}
		err = errors.Join(err, failed)
	}
	for i := 0; i < len(fields); i += 2 {
		err = errors.Join(err, form.WriteField(fields[i], fields[i+1]))
	}
	if err = errors.Join(err, form.Close()); err != nil {
		p.site.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(p.site.t.Context(), http.MethodPost, p.site.http.URL+path, &body)
	if err != nil {
		p.site.t.Fatal(err)
	}
	request.Header = http.Header{"Content-Type": {form.FormDataContentType()}, "Sec-Fetch-Site": {"same-origin"}, "Origin": {p.site.http.URL}}
	if p.site.busy != 0 {
		request.Header.Set("X-Busy", strconv.FormatInt(p.site.busy, 10))
	}
	return p.send(request)
}

var pictureAddress = regexp.MustCompile(`/pictures/[0-9]+-[a-z2-7]{26}-[0-9]+\.(?:jpg|png)`)

func TestAPictureIsUploadedShownReplacedAndRemoved(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p, visitor := s.member(s.organization("Harbor"), access.Owner), s.visitor()
		made := p.postsFiles(p.org("/campaigns"), map[string][]byte{"cover.url_file": pictured(t, 900, 450), "logo_file": nil},
			"title", "Gala", "type", "collect", "currency", "USD")
		p.wantStatus(made, http.StatusSeeOther)
		public := visitor.get("/gala")
		first := pictureAddress.FindString(public.body)
		if !strings.HasSuffix(first, "-900.jpg") || !strings.Contains(public.body, `<meta property="og:image" content="`+s.http.URL+first+`">`) || !strings.Contains(public.body, "-400.jpg 400w") {
			t.Fatalf("the public page shows %q: %s", first, public.body)
		}
		shown := visitor.get(first)
		for header, want := range map[string]string{"Content-Type": "image/jpeg", "Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff", "ETag": `"` + strings.TrimPrefix(first, picture.Root) + `"`} {
			if got := shown.header.Get(header); got != want {
				t.Errorf("%s of the picture is %q, want %q", header, got, want)
			}
		}
		if m, _, err := image.Decode(strings.NewReader(shown.body)); err != nil || m.Bounds().Dx() != 900 {
			t.Errorf("the picture cannot be read: %v", err)
		}
		again := visitor.do(http.MethodGet, first, nil, http.Header{"If-None-Match": {shown.header.Get("ETag")}})
		if again.status != http.StatusNotModified || again.body != "" {
			t.Errorf("a picture that the browser has is sent again: %d", again.status)
		}
		edit := made.location() + "/edit"
		form := p.get(edit)
		if !strings.Contains(form.body, `<input type="hidden" name="cover.url_kept" value="`+first+`">`) || !strings.Contains(form.body, `name="cover.url" type="url" value=""`) || strings.Contains(form.body, `id="cover-address" open`) {
			t.Errorf("the form does not hold the picture: %s", form.body)
		}
		// Saving something else keeps it; another file replaces it; the box removes it.
		p.wantStatus(p.postsFiles(made.location(), map[string][]byte{"cover.url_file": nil}, "title", "Gala", "slug", "gala", "currency", "USD", "cover.url_kept", first), http.StatusSeeOther)
		if now := visitor.get(first); now.status != http.StatusOK {
			t.Errorf("the picture is gone: %d", now.status)
		}
		p.wantStatus(p.postsFiles(made.location(), map[string][]byte{"cover.url_file": pictured(t, 300, 200)}, "title", "Gala", "slug", "gala", "currency", "USD", "cover.url_kept", first), http.StatusSeeOther)
		second := pictureAddress.FindString(visitor.get("/gala").body)
		if before := visitor.get(first); before.status != http.StatusNotFound || before.header.Get("Cache-Control") == "public, max-age=31536000, immutable" || !strings.HasSuffix(second, "-300.jpg") {
			t.Errorf("the first picture answers %d, the page shows %s", before.status, second)
		}
		p.wantStatus(p.postsFiles(made.location(), nil, "title", "Gala", "slug", "gala", "currency", "USD", "cover.url_kept", second, "cover.url_remove", "yes"), http.StatusSeeOther)
		if left := visitor.get("/gala"); pictureAddress.MatchString(left.body) || visitor.get(second).status != http.StatusNotFound {
			t.Errorf("the picture was not removed: %s", left.body)
		}
	})
}

func TestAStoryHasPictures(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p, visitor := s.member(s.organization("Harbor"), access.Owner), s.visitor()
		made := p.postsFiles(p.org("/campaigns"), map[string][]byte{"story_file": pictured(t, 900, 450), "cover.url_file": nil},
			"title", "Gala", "type", "collect", "currency", "USD", "description", "Come and **eat**.", "story_shows", "Volunteers [serve]\ndinner")
		p.wantStatus(made, http.StatusSeeOther)
		public := visitor.get("/gala").body
		address := pictureAddress.FindString(public)
		if !strings.Contains(public, `<p>Come and <strong>eat</strong>.</p>`) || !strings.Contains(public, `<p><img src="`+address+`" srcset="`) || !strings.Contains(public, `alt="Volunteers [serve] dinner"`) || !strings.Contains(public, "-400.jpg 400w") {
			t.Fatalf("the story is shown as %s", public)
		}
		if shown := visitor.get(address); shown.status != http.StatusOK {
			t.Errorf("its picture answers %d", shown.status)
		}
		line := `![Volunteers \[serve\] dinner](` + address + `)`
		if form := p.get(made.location() + "/edit").body; !strings.Contains(form, line) {
			t.Errorf("the form does not have the line of the picture: %s", form)
		}
		save := func(story string, files map[string][]byte) answer {
			return p.postsFiles(made.location(), files, "title", "Gala", "slug", "gala", "currency", "USD", "description", story)
		}
		p.wantStatus(save(line+"\n\nCome and eat.", map[string][]byte{"story_file": nil}), http.StatusSeeOther)
		if public = visitor.get("/gala").body; strings.Index(public, address) > strings.Index(public, "Come and eat.</p>") || visitor.get(address).status != http.StatusOK {
			t.Errorf("the picture was not moved to the beginning: %s", public)
		}
		refused := p.postsFiles(made.location(), map[string][]byte{"story_file": pictured(t, 9, 9)}, "title", "", "currency", "USD", "description", "Come and eat.")
		if refused.status != http.StatusUnprocessableEntity || !strings.Contains(refused.body, "Choose the picture for the story again.") || !strings.Contains(refused.body, ">Come and eat.</textarea>") {
			t.Errorf("a form that was refused: %d %s", refused.status, refused.body)
		}
		p.wantStatus(save("Come and eat.", nil), http.StatusSeeOther)
		if visitor.get(address).status != http.StatusNotFound || pictureAddress.MatchString(visitor.get("/gala").body) {
			t.Error("a picture is left that no story shows")
		}
	})
}

func TestTheLogoOfTheOrganizationIsShownWhereACampaignHasNone(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Owner)
		s.campaign(p.account, `{"title":"Gala"}`)
		save := p.org("/settings/organization")
		bad := p.postsFiles(save, map[string][]byte{"logo_file": []byte("no picture")}, "name", "", "timezone", "UTC")
		p.wantStatus(bad, http.StatusUnprocessableEntity)
		p.sees(bad, "2 things need your attention.", "Name is required")
		p.wantStatus(p.postsFiles(save, map[string][]byte{"logo_file": pictured(t, 600, 600)}, "name", "Harbor", "timezone", "UTC"), http.StatusSeeOther)
		settings := p.get(p.org("/settings"))
		p.sees(settings, "Organization saved.", "Remove picture")
		p.wantStatus(p.postsFiles(save, map[string][]byte{"logo_file": nil}, "name", "Harbor Light", "timezone", "UTC"), http.StatusSeeOther) // the logo stays
		logo := pictureAddress.FindString(settings.body)
		if public := s.visitor().get("/gala"); !strings.HasSuffix(logo, "-512.png") || !strings.Contains(public.body, `<img src="`+logo) {
			t.Errorf("the public page lacks the logo %q: %s", logo, public.body)
		}
		p.wantStatus(p.post(save, "name", "Harbor", "timezone", "UTC", "logo_remove", "yes"), http.StatusSeeOther)
		if public := s.visitor().get("/gala"); pictureAddress.MatchString(public.body) || p.get(logo).status != http.StatusNotFound {
			t.Errorf("the logo is still there: %s", public.body)
		}
		editor := s.member(p.account, access.Editor)
		editor.wantStatus(editor.postsFiles(save, map[string][]byte{"logo_file": pictured(t, 9, 9)}), http.StatusForbidden)
	})
}

// A file that is refused is told beside its field, and what was typed stays.
func TestAFileThatIsNoPictureIsRefusedBesideItsField(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), access.Editor)
	var moving bytes.Buffer
	succeed(t, gif.Encode(&moving, image.NewPaletted(image.Rect(0, 0, 2, 2), color.Palette{color.Black}), nil))
	for says, file := range map[string][]byte{
		"Cover image must be a PNG, JPEG or WebP image.": moving.Bytes(),
		"Cover image is damaged or incomplete.":          pictured(t, 300, 300)[:400],
		"Cover image must not be larger than 8 MB.":      make([]byte, 9_000_000),
	} {
		a := p.postsFiles(p.org("/campaigns"), map[string][]byte{"cover.url_file": file, "logo_file": pictured(t, 9, 9)}, "title", "Warm <coats>", "subtitle", "Typed")
		p.wantStatus(a, http.StatusUnprocessableEntity)
		p.sees(a, says, "Choose the logo again.")
		if !strings.Contains(a.body, `value="Warm &lt;coats&gt;"`) || !strings.Contains(a.body, `href="#f-cover-url_file"`) || !strings.Contains(a.body, `aria-describedby="f-cover-url_file-hint f-cover-url_file-fault"`) {
			t.Errorf("%s: the form has lost what was typed, or does not lead to the field: %s", says, a.body)
		}
	}
	if page := p.get(p.org("/campaigns")); strings.Contains(page.body, "Warm") {
		t.Error("a campaign was made of a form that was refused")
	}
	// The other way around: the picture is right, and something else is wrong.
	a := p.postsFiles(p.org("/campaigns"), map[string][]byte{"cover.url_file": pictured(t, 9, 9)}, "title", "", "goal", "much")
	p.sees(a, "Title is required.", "Choose the cover image again.")
	if pictureAddress.MatchString(a.body) {
		t.Error("the form holds a picture that was not stored")
	}
}

func TestAFormInPartsIsBounded(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), access.Editor)
	p.wantStatus(p.postsFiles(p.org("/campaigns"), nil, "title", "Gala", "description", strings.Repeat("n", 1<<20)), http.StatusRequestEntityTooLarge)
	p.wantStatus(p.postsFiles(p.org("/campaigns"), nil, "title", "\xff"), http.StatusBadRequest)
	cut := must(http.NewRequestWithContext(t.Context(), http.MethodPost, s.http.URL+p.org("/campaigns"), io.MultiReader(strings.NewReader("--x\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nGala"))))(t)
	cut.Header = http.Header{"Sec-Fetch-Site": {"same-origin"}, "Content-Type": {"multipart/form-data; boundary=x"}}
	p.wantStatus(p.send(cut), http.StatusBadRequest)
}

// Where other requests of the organization hold all the memory that it may have, the form comes back with what was typed.
func TestAPictureWaitsForMemoryOnTheForm(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), access.Editor)
	s.busy = p.account.Number
	a := p.postsFiles(p.org("/campaigns"), map[string][]byte{"cover.url_file": make([]byte, 100_000)}, "title", "Warm coats")
	p.sees(a, "Too many images are being uploaded right now.")
	if !strings.Contains(a.body, `value="Warm coats"`) {
		t.Errorf("what was typed is lost: %s", a.body)
	}
}

// A person whose session has ended gets the text of the form back.
func TestAFormInPartsSurvivesTheSignIn(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), access.Editor)
	succeed(t, s.store.EndSessions(t.Context(), p.user.ID, ""))
	a := p.postsFiles(p.org("/campaigns"), map[string][]byte{"cover.url_file": nil}, "title", "Warm coats", "subtitle", "Typed for an hour")
	p.wantStatus(a, http.StatusUnauthorized)
	if back := p.signBackIn(a); !strings.Contains(back.body, `value="Typed for an hour"`) {
		t.Errorf("it is lost: %s", back.body)
	}
}
