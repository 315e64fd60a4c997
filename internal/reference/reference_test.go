package reference

import (
	"strings"
	"testing"

	"donorbook/internal/rig/assert"
)

func TestMarkdownEscapes(t *testing.T) {
	page := newTemplate(newDocument(""))
	for text, want := range map[string]string{
		"a < b & `<c>`":          "<p>a &lt; b &amp; <code>&lt;c&gt;</code></p>",
		"**x** and [y](#y)":      `<p><strong>x</strong> and <a href="#y">y</a></p>`,
		"[y](javascript:alert)":  "<p>[y](javascript:alert)</p>",
		"- one\n  more\n- `two`": "<ul><li>one more</li><li><code>two</code></li></ul>",
		"| a | `b` |\n|---|---|\n| c | d |": `<div class="scroll" tabindex="0" role="group" aria-label="Table"><table class="plain">` +
			"<tr><th>a</th><th><code>b</code></th></tr><tr><td>c</td><td>d</td></tr></table></div>",
		"```\ncurl -H \"a\" https://b\n```": `<figure class="code"><figcaption>Shell</figcaption><pre tabindex="0"><code>` +
			`<span class="key">curl</span><span class="key"> -H</span> &#34;a&#34; <span class="address">https://b</span></code></pre></figure>`,
		"first\nline\n\n- second": "<p>first line</p><ul><li>second</li></ul>",
	} {
		var b strings.Builder
		if err := page.ExecuteTemplate(&b, "text", text); err != nil {
			t.Fatal(err)
		}
		assert.Equal(t, b.String(), want, "%q", text)
	}
}

// An apostrophe would end the quotes of the shell.
func TestACommandKeepsItsBodyInQuotes(t *testing.T) {
	page := newTemplate(newDocument(""))
	var b strings.Builder
	request := []any{"POST", "/v1/contacts", `{}`}
	if err := page.ExecuteTemplate(&b, "code", []any{request, `{"company": "O'Neill & Co"}`}); err != nil {
		t.Fatal(err)
	}
	assert.Contains(t, b.String(), `&#34;O\u0027Neill &amp; Co&#34;`, "the command")
	assert.Equal(t, strings.Count(b.String(), "&#39;"), 2, "the command")
}
