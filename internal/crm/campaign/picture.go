package campaign

import (
	"bytes"
	"strings"

	"donorbook/internal/crm/picture"
)

// A picture that was uploaded stands in the document by its address without the base URL, so that the document stays true when the server moves.

// EachPicture gives the addresses of the pictures that were uploaded for a campaign, with the fields that they are in. They may be changed.
func (c *Campaign) EachPicture(each func(field string, address *string)) {
	if picture.IsAddress(c.Logo) {
		each("logo", &c.Logo)
	}
	if c.Cover != nil && picture.IsAddress(c.Cover.URL) {
		own := *c.Cover
		c.Cover = &own
		each("cover.url", &own.URL)
	}
}

// Pictures are the addresses of the pictures that were uploaded for a campaign.
func (c Campaign) Pictures() (addresses []string) {
	c.EachPicture(func(_ string, address *string) { addresses = append(addresses, *address) })
	return addresses
}

// WithBase is the campaign with the base URL of the server before the addresses of its pictures.
func (c Campaign) WithBase(base string) Campaign {
	c.EachPicture(func(_ string, address *string) { *address = strings.TrimSuffix(base, "/") + *address })
	return c
}

// CutBase takes the base URL of the server off the addresses of pictures, as a client sends them back that was shown them.
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
}

// pictureFields are how the fields with the address of a picture begin in a stored body, in its order. No text has quotes that are not escaped.
var pictureFields = [][]byte{[]byte(`,"logo":"` + picture.Root), []byte(`,"cover":{"type":"image","url":"` + picture.Root)}

// appendPictures appends the end of a stored body, with the base URL before the addresses of pictures.
func appendPictures(dst, rest []byte, base string) []byte {
	for _, field := range pictureFields {
		if at := bytes.Index(rest, field); at >= 0 {
			at += len(field) - len(picture.Root)
			dst = append(append(dst, rest[:at]...), base...)
			rest = rest[at:]
		}
	}
	return append(dst, rest...)
}
