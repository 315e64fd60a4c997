package campaign

import (
	"bytes"
	"html"
	"regexp"
	"slices"
	"strings"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/picture"
)

// A picture that was uploaded stands in the document by its address without the base URL, so that the document stays
// true when the server moves.

// EachPicture gives the addresses of the pictures that were uploaded for a campaign, with the fields that they are in.
// They may be changed.
func (c *Campaign) EachPicture(each func(field string, address *string)) {
	if picture.IsAddress(c.Logo) {
		each("logo", &c.Logo)
	}
	if c.Cover != nil && picture.IsAddress(c.Cover.URL) {
		own := *c.Cover
		c.Cover = &own
		each("cover.url", &own.URL)
	}
	eachInText("description", &c.Description, each)
	if c.Event != nil && strings.Contains(c.Event.Details, picture.Root) {
		own := *c.Event
		c.Event = &own
		eachInText("event.details", &own.Details, each)
	}
}

// inText is a picture in a text that was sanitized, which has no other quotes.
var inText = regexp.MustCompile(` src="` + picture.Form + `"`)

// eachInText gives the addresses of the pictures in a text.
func eachInText(field string, text *string, each func(field string, address *string)) {
	if !strings.Contains(*text, picture.Root) {
		return
	}
	*text = inText.ReplaceAllStringFunc(*text, func(source string) string {
		address := source[len(` src="`) : len(source)-1]
		each(field, &address)
		return ` src="` + address + `"`
	})
}

// Shown is a stored text as pages show it. Browsers choose a size of each picture, and fetch it when it is near.
func Shown(text string) string {
	text = Paragraphs(text)
	if !strings.Contains(text, picture.Root) {
		return text
	}
	return inText.ReplaceAllStringFunc(text, func(source string) string {
		return source + ` srcset="` + picture.SourceSet(source[len(` src="`):len(source)-1]) +
			`" sizes="(min-width: 46rem) 44rem, 100vw" loading="lazy"`
	})
}

// maxInText is how many pictures a text may have.
const maxInText = 20

// AddPicture puts a picture at the end of a text that was typed. shows says in words what is on it.
func AddPicture(typed, address, shows string) string {
	typed, shows = strings.TrimSpace(typed), strings.Join(strings.Fields(shows), " ")
	if IsHTML(typed) {
		return typed + "\n<p><img src=\"" + address + `" alt="` + html.EscapeString(shows) + `"></p>`
	}
	return strings.TrimSpace(typed + "\n\n![" + escape(shows) + "](" + address + ")")
}

// Pictures are the addresses of the pictures that were uploaded for a campaign, each once.
func (c Campaign) Pictures() (addresses []string) {
	c.EachPicture(func(_ string, address *string) {
		if !slices.Contains(addresses, *address) {
			addresses = append(addresses, *address)
		}
	})
	return addresses
}

// WithBase is the campaign with the base URL of the server before the addresses of its pictures.
func (c Campaign) WithBase(base string) Campaign {
	c.EachPicture(func(_ string, address *string) { *address = strings.TrimSuffix(base, "/") + *address })
	return c
}

// CutBase takes the base URL of the server off the addresses of pictures, as a client sends them back that was shown
// them.
func (in *Input) CutBase(base string) {
	cut := func(address *string) {
		if rest, found := strings.CutPrefix(*address, strings.TrimSuffix(base, "/")); found && picture.IsAddress(rest) {
			*address = rest
		}
	}
	if in.Logo != nil {
		cut(in.Logo)
	}
	if in.Cover != nil && *in.Cover != nil {
		cut(&(*in.Cover).URL)
	}
	ours := regexp.MustCompile(`(["'])` + regexp.QuoteMeta(strings.TrimSuffix(base, "/")) + `(` + picture.Form +
		`["'])`)
	cutText := func(text *string) {
		if strings.Contains(*text, picture.Root) {
			*text = ours.ReplaceAllString(*text, "$1$2")
		}
	}
	if in.Description != nil {
		cutText(in.Description)
	}
	if in.Event != nil && *in.Event != nil {
		cutText(&(*in.Event).Details)
	}
}

// pictureFields are how the fields with the address of a picture begin in a stored body, in its order. No text has
// quotes that are not escaped.
var pictureFields = [][]byte{[]byte(`,"logo":"` + picture.Root),
	[]byte(`,"cover":{"type":"image","url":"` + picture.Root)}

// textPicture is how a picture begins in a text with HTML in a stored body.
var textPicture = []byte(` src=\"` + picture.Root)

// appendPictures appends a part of a stored body, with the base URL before the addresses of pictures.
func appendPictures(dst, rest []byte, base string) []byte {
	for _, field := range pictureFields {
		if at := bytes.Index(rest, field); at >= 0 {
			at += len(field) - len(picture.Root)
			dst = append(append(dst, rest[:at]...), base...)
			rest = rest[at:]
		}
	}
	for _, field := range []string{"description", "details"} {
		if !bytes.Contains(rest, textPicture) {
			break
		}
		if before, text, after, found := doc.CutField(rest, field); found {
			dst = append(append(dst, before...), bytes.ReplaceAll(text, textPicture,
				[]byte(` src=\"`+base+picture.Root))...)
			rest = after
		}
	}
	return append(dst, rest...)
}
