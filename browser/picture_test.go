package browser_test

import (
	"fmt"
	"strings"
	"testing"
)

// choosesPicture draws a picture in the browser and chooses it in a form.
func (p *page) choosesPicture(input, color string, width, height int) {
	p.t.Helper()
	p.run(fmt.Sprintf(`new Promise((done) => {
		const canvas = new OffscreenCanvas(%d, %d);
		const pen = canvas.getContext("2d");
		pen.fillStyle = %q;
		pen.fillRect(0, 0, canvas.width, canvas.height);
		canvas.convertToBlob({type: "image/webp", quality: .9}).then((blob) => {
			const files = new DataTransfer();
			files.items.add(new File([blob], "photo.webp", {type: blob.type}));
			document.getElementById(%q).files = files.files;
			done();
		});
	})`, width, height, color, input))
}

// loaded waits until a picture of the page is drawn, and tells its width.
func (p *page) loaded(selector string) string {
	p.t.Helper()
	return p.told(fmt.Sprintf(`(async () => { const i = document.querySelector(%q); if (!i) return "none"; await i.decode(); return String(i.naturalWidth); })()`, selector))
}

// told is what a script returns.
func (p *page) told(script string) string {
	p.t.Helper()
	text, err := evaluate[string](p, script)
	p.must("running script", err)
	return text
}

func TestAPictureIsUploadedShownReplacedAndRemoved(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	p.visit("/console/o/" + p.organizationID() + "/campaigns/new")
	p.fill("Title", "Winter Gala")
	p.choosesPicture("f-cover-url_file", "teal", 2000, 1000)
	p.choosesPicture("f-logo_file", "navy", 600, 300)
	p.audit()
	p.click("Create campaign")
	p.sees("“Winter Gala” is live.")
	if width := p.loaded("img.cover"); width == "none" || width == "0" {
		t.Errorf("the cover is not shown: %s", width)
	}
	p.audit()
	edit := p.path() + "/edit"

	stranger := s.open()
	stranger.visit("/winter-gala")
	stranger.loaded("img.cover")
	stranger.loaded(".by img")
	first := stranger.told(`document.querySelector("img.cover").getAttribute("src")`)
	if !strings.HasSuffix(first, "-1600.jpg") {
		t.Errorf("the page shows %s", first)
	}
	stranger.audit()

	p.visit(edit)
	p.sees("Remove picture")
	p.loaded(".picture-now img")
	p.audit()
	p.choosesPicture("f-cover-url_file", "maroon", 500, 500)
	p.click("Save changes")
	p.sees("“Winter Gala” saved.")
	stranger.visit("/winter-gala")
	if second := stranger.told(`document.querySelector("img.cover").getAttribute("src")`); !strings.HasSuffix(second, "-500.jpg") {
		t.Errorf("the page shows %s", second)
	}
	if drawn := stranger.told(`(async () => { const i = document.querySelector("img.cover"); await i.decode(); return i.naturalWidth + " " + getComputedStyle(i).objectFit; })()`); drawn != "500 scale-down" {
		t.Errorf("a small picture is drawn as %s: it must not be enlarged", drawn)
	}

	p.visit(edit)
	p.run(`document.getElementById("f-cover-url_file-remove").click()`)
	p.click("Save changes")
	p.sees("“Winter Gala” saved.")
	if p.has("img.cover") || !p.has("img.logo") {
		t.Error("the cover was not removed, or the logo was")
	}

	p.visit("/console/o/" + p.organizationID() + "/settings")
	p.choosesPicture("f-logo_file", "green", 200, 200)
	p.click("Save organization")
	p.sees("Organization saved.", "Remove picture")
	p.loaded(".picture-now img")
	p.audit()
}
