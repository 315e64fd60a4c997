package campaign

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestSanitizeHTML(t *testing.T) {
	for _, test := range rows.Of[struct{ Name, Text, Want string }](`
		plain text       Come and run                                                 Come and run
		formatting       <h2>Why</h2><p>For <b>all</b>,<br/>and <em>more</em></p>     <h2>Why</h2><p>For <b>all</b>,<br/>and <em>more</em></p>
		lists            <ul><li>a</li></ul><ol><li>b</li></ol>                       <ul><li>a</li></ul><ol><li>b</li></ol>
		text is escaped  a < b & c                                                    a &lt; b &amp; c
		link             <a href="https://a.example/x?y=1&z">a</a>                    <a href="https://a.example/x?y=1&amp;z" rel="nofollow noopener" target="_blank">a</a>
		image            <img src="https://a.example/x.png" alt="A" width="10" height="x" onerror="y">  <img src="https://a.example/x.png" alt="A" width="10">
		plain http       <a href="http://a.example">a</a><img src="http://a.example/x">  a
		relative         <a href="/x">a</a><a href="//a.example">b</a><img src="x.png">  ab
		script           <script>alert(1)</script>x<SCRIPT SRC=//a.example></SCRIPT>  x
		handler          <p onclick="alert(1)" style="color:red" class="x" id="y">a</p>  <p>a</p>
		javascript link  <a href="javascript:alert(1)">a</a><a href=" jAvAsCrIpT&#58;alert(1)">b</a>  ab
		data image       <img src="data:image/png;base64,AAAA">                       ""
		user info        <a href="https://bank.example@evil.example">a</a>            a
		frame            <iframe src="https://a.example"></iframe><object data=x></object><embed src=x>  ""
		form             <form action="https://a.example"><input name=a><button>b</button></form>  b
		svg              <svg onload=alert(1)><script>x</script></svg>                ""
		style            <style>body{display:none}</style>a                           a
		mutation         <math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">  <img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">
		comment          a<!-- x -->b                                                 ab
		only markup      <div> </div>                                                 ""
		own rel          <a href="https://a.example" rel="opener" target="_self">a</a>  <a href="https://a.example" rel="nofollow noopener" target="_blank">a</a>
	`) {
		assert.Equal(t, sanitizeHTML(test.Text), test.Want, "%s", test.Name)
	}
}

func TestWhatSanitizingRemovesIsSaid(t *testing.T) {
	for text, want := range rows.Pairs(`
		""                                                    ""
		plain <3 text & a < b                                 ""
		"one\n\ntwo <b>bold</b><br>"                          ""
		<h2>Why</h2><ul><li>a</li></ul>                       ""
		<a href="https://a.example">a</a>                     ""
		<B>a</B><HR/>                                         ""
		<table><tr><th>a</th><td>b</td></tr></table><p>c</p>  tables
		<img src="http://a.example/x.png" alt="A">            images
		<img src="https://a.example/x.png"><img src="x.png">  images
		<a href="http://a.example">a</a><a href="https://a.example">b</a>  links
		<div><table></table><svg></svg></div><div>x</div>     <div> tables images
		<script>"<table>"</script><style>b{}</style><iframe src="x"></iframe>  scripts styles embedded pages
		<video src="x"></video><form><input><button>Give</button></form>  video or audio form fields
		Write to Ana <ana@example.org>                        links
	`) {
		assert.Equal(t, strings.Join(RemovedHTML(text), " "), want, "%s: said", text)
	}
}

// A text with thousands of made-up elements gets a short list, and the cost grows only with its length.
func TestOnlySomeKindsOfRemovedHTMLAreSaid(t *testing.T) {
	var text strings.Builder
	for n := range 20_000 {
		fmt.Fprintf(&text, "<x%d>", n%10_000)
	}
	kinds := RemovedHTML(text.String())
	if len(kinds) != 21 || kinds[0] != "<x0>" || kinds[19] != "<x19>" || kinds[20] != "other elements" {
		t.Errorf("%d kinds are said", len(kinds))
	}
	assert.Equal(t, len(RemovedHTML(strings.Join(kinds[:20], " ")+kinds[0])), 20, "of twenty kinds said")
}

// allowedAttributes states the policy again, as what may come out.
var allowedAttributes = map[string][]string{"a": {"href", "rel", "target"},
	"img": {"src", "alt", "title", "width", "height"}}

func FuzzSanitizeHTML(f *testing.F) {
	for _, text := range rows.All(`
		<p>a<b>b</p>  <a href="https://a.example">x</a>  <img src=https://a.example/x onerror=1>  <script>x</script>
		<svg><style><!--</style><img src=x>  <a href="java&#10;script:x">  <<p>p>  <plaintext>x
		<noscript><p title="</noscript><img src=x>">
	`) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		clean := sanitizeHTML(text)
		assert.Equal(t, sanitizeHTML(clean), clean, "%q becomes", text)
		nodes := assert.Must(html.Parse(strings.NewReader(clean)))(t)
		for node := range nodes.Descendants() {
			checkClean(t, text, node)
		}
	})
}

// checkClean checks what a browser would make of the sanitized text.
func checkClean(t *testing.T, text string, node *html.Node) {
	switch {
	case node.Type == html.CommentNode:
		t.Fatalf("%q leaves a comment", text)
	case node.Type != html.ElementNode, strings.Contains(" html head body ", " "+node.Data+" "):
		return
	case !strings.Contains(" p br hr b strong i em u s del ins mark small sub sup blockquote pre code ul ol li h1 h2 h3 h4 h5 h6 a img ", " "+node.Data+" "):
		t.Fatalf("%q leaves <%s>", text, node.Data)
	}
	for _, attribute := range node.Attr {
		known := false
		for _, name := range allowedAttributes[node.Data] {
			known = known || name == attribute.Key
		}
		if !known {
			t.Fatalf("%q leaves %s on <%s>", text, attribute.Key, node.Data)
		}
		if (attribute.Key == "href" || attribute.Key == "src") && !strings.HasPrefix(attribute.Val, "https://") {
			t.Fatalf("%q leaves %s=%q", text, attribute.Key, attribute.Val)
		}
	}
}
