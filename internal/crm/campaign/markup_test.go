package campaign

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"donorbook/internal/crm/crmtest"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/drill"
	"donorbook/internal/rig/rows"
)

func TestLightFormattingBecomesHTML(t *testing.T) {
	for typed, want := range rows.Pairs(`
		One line & no more                        <p>One line &amp; no more</p>
		"First\nsecond\n\n\nThird"                "<p>First<br>second</p>\n<p>Third</p>"
		**Bold** and *italic*                     <p><strong>Bold</strong> and <em>italic</em></p>
		"# Why\n\n## How\nLike so"                "<h2>Why</h2>\n<h3>How</h3>\n<p>Like so</p>"
		"- Soup\n- Bread\n \x20- Rye"             "<ul>\n<li>Soup</li>\n<li>Bread\n<ul>\n<li>Rye</li>\n</ul>\n</li>\n</ul>"
		"1. First\n2. Second"                     "<ol>\n<li>First</li>\n<li>Second</li>\n</ol>"
		"> Come\n> soon"                          "<blockquote>\n<p>Come<br>soon</p>\n</blockquote>"
		[Menu](https://a.example/menu)            <p><a href="https://a.example/menu" rel="nofollow noopener" target="_blank">Menu</a></p>
		See https://a.example.                    <p>See <a href="https://a.example" rel="nofollow noopener" target="_blank">https://a.example</a>.</p>
		![Boat](https://a.example/b.jpg)          <p><img src="https://a.example/b.jpg" alt="Boat"></p>
		[Menu](javascript:alert(1))               <p>Menu</p>
		We <3 dogs, 5 < 6, 2 * 3 * 4              <p>We &lt;3 dogs, 5 &lt; 6, 2 * 3 * 4</p>
		" \x20 \x20Four spaces are no code"       <p>Four spaces are no code</p>
		Words <b>in HTML</b><script>x()</script>  Words <b>in HTML</b>
		"<p>One</p>\n\n \x20 \x20<p>Two</p>"      "<p>One</p>\n\n \x20 \x20<p>Two</p>"
	`) {
		assert.Equal(t, Story(typed), want, "%q becomes", typed)
	}
}

func TestStoredHTMLIsShownWithLightFormatting(t *testing.T) {
	for stored, want := range rows.Pairs(`
		""                                                     ""
		One line &amp; no more                                 One line & no more
		"One\n\nTwo\nthree"                                    "One\n\nTwo\nthree"
		<p>One</p><p>Two</p>                                   "One\n\nTwo"
		<p>a <b>b</b> <i>c</i></p>                             a **b** *c*
		"<h2>Why</h2>\n<p>So</p>"                              "# Why\n\nSo"
		<ul><li>a</li><li>b<ol><li>c</li></ol></li></ul>       "- a\n- b\n \x201. c"
		"<ul>\n<li><p>a</p></li>\n<li><p>b</p></li></ul>"      "- a\n\n- b"
		<blockquote><p>a</p><p>b</p></blockquote><hr>          "> a\n>\n> b\n\n---"
		<p>2 * 3 [x] # - &lt;b&gt;</p><p># no</p><p>1. no</p>  "2 \\* 3 \\[x\\] # - \\<b>\n\n\\# no\n\n1\\. no"
		<p><a href="https://a.example/x">Menu</a>, https://a.example</p>  [Menu](https://a.example/x), https://a.example
		<p><img src="https://a.example/x.png" alt="A"></p>     ![A](https://a.example/x.png)
		<h1>Why</h1>                                           <h1>Why</h1>
		<p>a<sub>2</sub></p>                                   <p>a<sub>2</sub></p>
		"<pre>a \x20b</pre>"                                   "<pre>a \x20b</pre>"
		<ul><li>a</li></ul><ul><li>b</li></ul>                 <ul><li>a</li></ul><ul><li>b</li></ul>
		<p><img src="https://a.example/x.png" width="10"></p>  <p><img src="https://a.example/x.png" width="10"></p>
	`) {
		assert.Equal(t, markup(stored), want, "%q is shown", stored)
	}
}

// Whatever is typed, the form shows it again so that a change elsewhere leaves it as it is, and a change of it loses
// nothing.
func TestWhatWasTypedSurvivesTheForm(t *testing.T) {
	pieces := rapid.SampledFrom(rows.All(`
		a  word  " "  " \x20"  "\n"  "\n\n"  *  **  _  "# "  "- "  "1. "  "> "  ---  [  ](https://a.example)  !  <b>
		</b>  <  >  &  &amp;  \  "\x60"  https://a.example/  é  <p>  </p>  <ul><li>
	`))
	rapid.Check(t, func(t *rapid.T) {
		stored := Story(strings.Join(rapid.SliceOfN(pieces, 0, 12).Draw(t, "typed"), ""))
		shown := markup(stored)
		if shown == stored {
			return
		}
		before, _ := fragment(Paragraphs(stored))
		after, _ := fragment(Story(shown))
		if canonical(before) != canonical(after) {
			t.Fatalf("%q is shown as %q, which becomes %q", stored, shown, Story(shown))
		}
	})
}

// A text as long as a form takes is formatted in a moment, whatever it has.
func TestTheWorkForATextGrowsWithItsLength(t *testing.T) {
	works, times := map[string]func(n int){}, 1
	if drill.On {
		times = 4
	}
	for _, piece := range rows.All(`
		"> "  "- "  "*a "  **a  [  [a](  <b>  "# a\n"  "> a\n\n"  "1. "  a*b_
	`) {
		works[piece] = func(n int) { markup(Story(strings.Repeat(piece, n*times))) }
	}
	crmtest.CheckGrowth(t, works)
}
