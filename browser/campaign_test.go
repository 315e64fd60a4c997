package browser_test

import (
	"fmt"
	"strings"
	"testing"
)

// inACentury is when campaigns of the tests end.
const inACentury = "2127-05-01T12:00"

// newCampaign opens the form of a campaign.
func (p *page) newCampaign() {
	p.t.Helper()
	p.visit("/console/o/" + p.organizationID() + "/campaigns/new")
}

// A campaign is filled in with all parts unfolded, shown as it is written, and looks the same to everybody at its
// address.
func TestACampaignIsWrittenAndSeenByEverybody(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	p.newCampaign()
	p.fill("Title", "Winter Gala", "Story", "First line\nsecond\n\n# New **paragraph**", "Goal", "120,000")
	p.in("#preview").sees("First line second", "New paragraph") // as it is written
	p.click("Page")
	p.fill("Subtitle", "An evening for the harbor")
	p.click("Money")
	p.fill("Raised before Donorbook", "$64,500.50", "Donors before Donorbook", "148", "End date", inACentury)
	p.click("Use a video, or an image from another site")
	p.fill("Cover image or video", s.url+"/console/static/icon.svg") // any picture that the browser can load
	p.fill("Type", "Event")                                          // unfolds the event
	p.fill("Start", "2127-04-24T18:00", "Time zone", "America/New_York", "Venue", "Custom House Hall")
	p.click("Livestream")
	p.fill("Watch link", "https://video.example.org/gala")
	p.fits(390, 1024, 1280)
	p.click("Create campaign")
	p.sees("“Winter Gala” is live.", "53% of $120,000 · 148 donors", "Apr 24, 2127, 6:00 PM (America/New_York)")
	same(p, "the address", p.text("#address"), s.url+"/winter-gala")
	p.click("Edit campaign")
	p.holds("Start", "2127-04-24T18:00", "End date", inACentury)
	stranger := s.open()
	stranger.visit("/winter-gala")
	stranger.sees(organization, "Winter Gala", "An evening for the harbor", "First line", "148 donors",
		"$64,500.50 raised of $120,000", "Custom House Hall", "6:00 PM (America/New_York)", "Watch the livestream")
	if !stranger.has("img.cover") {
		t.Error("there is no cover")
	}
}

// The buttons above the story format what is chosen, by keyboard too; without scripts a button shows the preview.
func TestAStoryIsFormattedByButtonsAndShown(t *testing.T) {
	t.Parallel()
	p := start(t).owner()
	p.newCampaign()
	p.fill("Story", "roof")
	p.run(`document.querySelector("#f-description").select()`)
	p.click("Bold")
	p.in("#preview").sees("roof")
	p.holds("Story", "**roof**")
	p.run(`document.querySelector("#f-description").setSelectionRange(0, 0)`)
	p.run(`document.querySelector("[data-format=heading]").focus()`)
	p.press("Enter")
	p.holds("Story", "# **roof**")
	p.in("#preview h2").sees("roof")
	p.fill("Story", "")
	p.withoutScripts()
	p.newCampaign()
	p.fill("Title", "Roof", "Story", "A **roof**")
	p.click("Preview story")
	p.in("#preview").sees("A roof")
	p.holds("Title", "Roof", "Story", "A **roof**")
	if !p.has("#preview strong") {
		t.Error("the preview is not shown")
	}
}

// No input in the two HTML fields runs as code or looks like the console.
func TestHostileHTMLOfACampaignIsHarmless(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	home := p.path()
	const run = "window.pwned=1"
	picture := s.url + "/console/static/icon.svg"
	hostile := `<b id="bold">fine</b><script>` + run + `</script><img src="` + picture + `" onload="` + run + `">` +
		`<svg onload="` + run + `"></svg><a href="javascript:` + run + `">press me</a>` +
		`<iframe srcdoc="<script>parent.pwned=1</script>"></iframe><style>main{display:none}</style>` +
		`<form action="/console/signout" method="post"><button>Sign in again</button></form>` +
		`<p class="alert" style="position:fixed" hx-get="/x" hx-trigger="load">styled</p></div></main>` +
		`<base href="https://evil.example"><meta http-equiv="refresh" content="0;url=https://evil.example">` +
		`<details open ontoggle="` + run + `">x</details>`
	title, venue := `<img src=x onerror=`+run+`>`, `"><script>`+run+`</script>`
	p.newCampaign()
	p.fill("Title", title, "Story", hostile)
	p.click("#event > summary")
	p.fill("Details for guests", hostile, "Venue", venue)
	p.click("Create campaign")
	p.sees("is live. View page", "fine", "press me", "styled", title, venue)
	for _, page := range []string{p.path(), p.path() + "/edit", home + "/campaigns", p.text("#address")} {
		p.visit(page)
		if told[bool](p, "typeof window.pwned !== 'undefined'") {
			t.Errorf("%s: something ran", page)
		}
		same(p, page+": foreign elements", told[int](p, `document.querySelectorAll("main iframe, main base, " +
			"main style, .prose form, .prose button, .prose [id], .prose [class], .prose [style], .prose [hx-get], " +
			"main script, a[href^=javascript]").length`), 0)
	}
}

// choosesPicture draws a picture in the browser and chooses it in a form.
func (p *page) choosesPicture(input, color string, width, height int) {
	p.t.Helper()
	p.run(fmt.Sprintf(`(async () => {
		const canvas = new OffscreenCanvas(%d, %d), pen = canvas.getContext("2d")
		pen.fillStyle = %q
		pen.fillRect(0, 0, canvas.width, canvas.height)
		const blob = await canvas.convertToBlob({type: "image/webp", quality: .9}), files = new DataTransfer()
		files.items.add(new File([blob], "photo.webp", {type: blob.type}))
		document.getElementById(%q).files = files.files
	})()`, width, height, color, input))
}

// drawn waits until a picture of the page is drawn, and tells its width and which file it is.
func (p *page) drawn(selector string) string {
	p.t.Helper()
	return told[string](p, fmt.Sprintf(`(async () => {
		const i = document.querySelector(%q)
		await i.decode()
		return i.naturalWidth + " " + getComputedStyle(i).objectFit + " " + i.getAttribute("src")
	})()`, selector))
}

func TestAPictureIsUploadedShownAndReplaced(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	p.newCampaign()
	p.fill("Title", "Winter Gala")
	p.choosesPicture("f-cover-url_file", "teal", 2000, 1000)
	p.choosesPicture("f-logo_file", "navy", 600, 300)
	p.click("Create campaign")
	p.sees("“Winter Gala” is live.")
	p.drawn("img.cover")
	p.fits(390, 1280)
	edit := p.path() + "/edit"
	stranger := s.open()
	stranger.visit("/winter-gala")
	stranger.drawn(".by img")
	if cover := stranger.drawn("img.cover"); !strings.HasSuffix(cover, "-1600.jpg") {
		t.Errorf("the page shows %s", cover)
	}
	p.visit(edit)
	p.drawn(".picture-now img")
	p.choosesPicture("f-cover-url_file", "maroon", 500, 500)
	p.click("Save changes")
	p.sees("“Winter Gala” saved.")
	stranger.reload()
	cover := stranger.drawn("img.cover")
	if !strings.HasPrefix(cover, "500 scale-down ") || !strings.HasSuffix(cover, "-500.jpg") {
		t.Errorf("a small picture must not be enlarged: %s", cover)
	}
	p.visit(edit)
	p.run(`document.getElementById("f-cover-url_file-remove").click()`)
	p.click("Save changes")
	p.sees("“Winter Gala” saved.")
	if p.has("img.cover") || !p.has("img.logo") {
		t.Error("the cover was not removed, or the logo was")
	}
}
