package public

import (
	"strings"
	"testing"
	"time"

	"donorbook/internal/console/page"
	"donorbook/internal/crm/campaign"
)

// What a story costs is paid when it is saved: a look at a page does not search all of a long one.
func TestALongStoryIsNotSearchedAtEachLook(t *testing.T) {
	for name, story := range map[string]string{
		"tags":       strings.Repeat("<b>w</b>", 7_500),
		"lines":      strings.Repeat("<b>w</b>\n", 6_600),
		"paragraphs": strings.Repeat("w\n\n", 20_000),
		"layout":     "<p>" + strings.Repeat("w ", 30_000) + "</p>",
	} {
		c := campaign.Campaign{Title: "Gala", Slug: "gala", Status: campaign.Published, Description: story}
		made := testing.AllocsPerRun(5, func() {
			page.NewShownCampaign(c, time.Time{})
			summary(c)
		})
		if made > 100 {
			t.Errorf("%s: %.0f pieces of memory", name, made)
		}
	}
}

func TestASummaryIsHowTheStoryBegins(t *testing.T) {
	for story, want := range map[string]string{
		"": "",
		"<p>Warm <b>coats</b>\n for&nbsp;all</p>": "Warm coats for all",
		"a &lt;b&gt; c":                   "a <b> c",
		"<p>" + strings.Repeat("w ", 300): strings.TrimSpace(strings.Repeat("w ", 100)[:199]) + "…",
	} {
		if got := summary(campaign.Campaign{Description: story}); got != want {
			t.Errorf("%q: %q, want %q", story, got, want)
		}
	}
	if got := summary(campaign.Campaign{Subtitle: "All winter", Description: "<p>no</p>"}); got != "All winter" {
		t.Error(got)
	}
}
