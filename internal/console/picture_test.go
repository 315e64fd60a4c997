package console_test

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"io"
	"net/http"
	"regexp"
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

// postsFiles sends a form with pictures. One without contents was not chosen.
func (p *person) postsFiles(path string, files map[string][]byte, fields ...string) answer {
	p.site.t.Helper()
	sent := map[string]io.Reader{}
	for name, file := range files {
		if file != nil {
			name += " photo.png"
		}
		sent[name] = bytes.NewReader(file)
	}
	return p.sends(path, sent, fields...)
}

var pictureAddress = regexp.MustCompile(`/pictures/[0-9]+-[a-z2-7]{26}-[0-9]+\.(?:jpg|png)`)

func TestAPictureIsUploadedShownReplacedAndRemoved(t *testing.T) {
	s := anySite(t)

	p, visitor := s.member(s.organization("Harbor"), access.Owner), s.visitor()
	made := p.postsFiles("campaigns", map[string][]byte{"cover.url_file": pictured(t, 900, 450), "logo_file": nil},
		"title", "Gala", "type", "collect", "currency", "USD")
	made.is(303)
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
	again.is(304)
	if again.body != "" {
		t.Errorf("a picture that the browser has is sent again: %d", again.status)
	}
	edit := made.location() + "/edit"
	p.get(edit).has(`<input type="hidden" name="cover.url_kept" value="`+first+`">`, `name="cover.url" type="url" value=""`).hides(`id="cover-address" open`)
	// Saving something else keeps it; another file replaces it; the box removes it.
	p.postsFiles(made.location(), map[string][]byte{"cover.url_file": nil}, "title", "Gala", "slug", "gala", "currency", "USD", "cover.url_kept", first).is(303)
	visitor.get(first).is(200)
	p.postsFiles(made.location(), map[string][]byte{"cover.url_file": pictured(t, 300, 200)}, "title", "Gala", "slug", "gala", "currency", "USD", "cover.url_kept", first).is(303)
	second := pictureAddress.FindString(visitor.get("/gala").body)
	if before := visitor.get(first); before.status != 404 || before.header.Get("Cache-Control") == "public, max-age=31536000, immutable" || !strings.HasSuffix(second, "-300.jpg") {
		t.Errorf("the first picture answers %d, the page shows %s", before.status, second)
	}
	p.postsFiles(made.location(), nil, "title", "Gala", "slug", "gala", "currency", "USD", "cover.url_kept", second, "cover.url_remove", "yes").is(303)
	if left := visitor.get("/gala"); pictureAddress.MatchString(left.body) || visitor.get(second).status != 404 {
		t.Errorf("the picture was not removed: %s", left.body)
	}

}

func TestAStoryHasPictures(t *testing.T) {
	s := anySite(t)

	p, visitor := s.member(s.organization("Harbor"), access.Owner), s.visitor()
	made := p.postsFiles("campaigns", map[string][]byte{"story_file": pictured(t, 900, 450), "cover.url_file": nil},
		"title", "Gala", "type", "collect", "currency", "USD", "description", "Come and **eat**.", "story_shows", "Volunteers [serve]\ndinner")
	made.is(303)
	public := visitor.get("/gala").body
	address := pictureAddress.FindString(public)
	if !strings.Contains(public, `<p>Come and <strong>eat</strong>.</p>`) || !strings.Contains(public, `<p><img src="`+address+`" srcset="`) || !strings.Contains(public, `alt="Volunteers [serve] dinner"`) || !strings.Contains(public, "-400.jpg 400w") {
		t.Fatalf("the story is shown as %s", public)
	}
	visitor.get(address).is(200)
	line := `![Volunteers \[serve\] dinner](` + address + `)`
	if form := p.get(made.location() + "/edit").body; !strings.Contains(form, line) {
		t.Errorf("the form does not have the line of the picture: %s", form)
	}
	save := func(story string, files map[string][]byte) answer {
		return p.postsFiles(made.location(), files, "title", "Gala", "slug", "gala", "currency", "USD", "description", story)
	}
	save(line+"\n\nCome and eat.", map[string][]byte{"story_file": nil}).is(303)
	public = visitor.get("/gala").body
	visitor.get(address).is(200)
	if strings.Index(public, address) > strings.Index(public, "Come and eat.</p>") {
		t.Errorf("the picture was not moved to the beginning: %s", public)
	}
	p.postsFiles(made.location(), map[string][]byte{"story_file": pictured(t, 9, 9)}, "title", "", "currency", "USD", "description", "Come and eat.").is(422).has("Choose the picture for the story again.", ">Come and eat.</textarea>")
	save("Come and eat.", nil).is(303)
	visitor.get(address).is(404)
	if pictureAddress.MatchString(visitor.get("/gala").body) {
		t.Error("a picture is left that no story shows")
	}

}

func TestTheLogoOfTheOrganizationIsShownWhereACampaignHasNone(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	s.campaign(p.account, `{"title":"Gala"}`)
	save := p.org("/settings/organization")
	p.postsFiles(save, map[string][]byte{"logo_file": []byte("no picture")}, "name", "", "timezone", "UTC").is(422).sees("2 things need your attention.", "Name is required")
	p.postsFiles(save, map[string][]byte{"logo_file": pictured(t, 600, 600)}, "name", "Harbor", "timezone", "UTC").is(303)
	settings := p.get("settings")
	settings.sees("Organization saved.", "Remove picture")
	p.postsFiles(save, map[string][]byte{"logo_file": nil}, "name", "Harbor Light", "timezone", "UTC").is(303) // the logo stays
	logo := pictureAddress.FindString(settings.body)
	if public := s.visitor().get("/gala"); !strings.HasSuffix(logo, "-512.png") || !strings.Contains(public.body, `<img src="`+logo) {
		t.Errorf("the public page lacks the logo %q: %s", logo, public.body)
	}
	p.post(save, "name", "Harbor", "timezone", "UTC", "logo_remove", "yes").is(303)
	if public := s.visitor().get("/gala"); pictureAddress.MatchString(public.body) || p.get(logo).status != 404 {
		t.Errorf("the logo is still there: %s", public.body)
	}
	editor := s.member(p.account, access.Editor)
	editor.postsFiles(save, map[string][]byte{"logo_file": pictured(t, 9, 9)}).is(403)

}

// A file that is refused is told beside its field, and what was typed stays.
func TestAFileThatIsNoPictureIsRefusedBesideItsField(t *testing.T) {
	_, p := signedIn(t, access.Editor)
	var moving bytes.Buffer
	succeed(t, gif.Encode(&moving, image.NewPaletted(image.Rect(0, 0, 2, 2), color.Palette{color.Black}), nil))
	for says, file := range map[string][]byte{
		"Cover image must be a PNG, JPEG or WebP image.": moving.Bytes(),
		"Cover image is damaged or incomplete.":          pictured(t, 300, 300)[:400],
		"Cover image must not be larger than 8 MB.":      make([]byte, 9_000_000),
	} {
		p.postsFiles("campaigns", map[string][]byte{"cover.url_file": file, "logo_file": pictured(t, 9, 9)}, "title", "Warm <coats>", "subtitle", "Typed").is(422).sees(says, "Choose the logo again.").has(`value="Warm &lt;coats&gt;"`, `href="#f-cover-url_file"`, `aria-describedby="f-cover-url_file-hint f-cover-url_file-fault"`)
	}
	p.get("campaigns").hides("Warm")
	// The other way around: the picture is right, and something else is wrong.
	a := p.postsFiles("campaigns", map[string][]byte{"cover.url_file": pictured(t, 9, 9)}, "title", "", "goal", "much")
	a.sees("Title is required.", "Choose the cover image again.")
	if pictureAddress.MatchString(a.body) {
		t.Error("the form holds a picture that was not stored")
	}
}

func TestAFormInPartsIsBounded(t *testing.T) {
	_, p := signedIn(t, access.Editor)
	p.postsFiles("campaigns", nil, "title", "Gala", "description", strings.Repeat("n", 1<<20)).is(413)
	p.postsFiles("campaigns", nil, "title", "\xff").is(400)
	cut := p.request("POST", "campaigns", io.MultiReader(strings.NewReader("--x\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nGala")))
	cut.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	p.send(fromHere(cut)).is(400)
}

// Where other requests of the organization hold all the memory that it may have, the form comes back with what was typed.
func TestAPictureWaitsForMemoryOnTheForm(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	s.busy = p.account.Number
	p.postsFiles("campaigns", map[string][]byte{"cover.url_file": make([]byte, 100_000)}, "title", "Warm coats").sees("Too many images are being uploaded right now.").has(`value="Warm coats"`)
}

// A person whose session has ended gets the text of the form back.
func TestAFormInPartsSurvivesTheSignIn(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	succeed(t, s.store.EndSessions(t.Context(), p.user.ID, ""))
	a := p.postsFiles("campaigns", map[string][]byte{"cover.url_file": nil}, "title", "Warm coats", "subtitle", "Typed for an hour")
	a.is(401)
	p.signBackIn(a).has(`value="Typed for an hour"`)
}
