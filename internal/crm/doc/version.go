package doc

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
)

// VersionOf names the state that a document is in, by what it says.
func VersionOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:8])
}

// ETag names the state that a document is in, for a client that asks whether it has changed: by its revision and its
// checksum, which tells two states apart that have the same revision because a backup was restored between them, or by
// a checksum alone.
type ETag struct {
	Revision, Checksum int64
	Fields             int64 // the count of the custom fields' definitions that it is shown with, 0 where it has none
}

// TagOf names the state of a document by everything that a client is shown of it, also what is kept elsewhere, such as
// the sum of its gifts.
func TagOf(shown []byte) ETag {
	sum := sha256.Sum256(shown)
	return ETag{Checksum: int64(binary.BigEndian.Uint64(sum[:8]) >> 1)}
}

// Append appends it as headers have it.
func (e ETag) Append(dst []byte) []byte {
	dst = append(dst, '"')
	if e.Revision != 0 {
		dst = append(strconv.AppendInt(dst, e.Revision, 10), '-')
	}
	dst = strconv.AppendInt(dst, e.Checksum, 16)
	if e.Fields != 0 {
		dst = strconv.AppendInt(append(dst, '-'), e.Fields, 10)
	}
	return append(dst, '"')
}

// Matches tells whether a list of tags, as the headers of a condition have it, has this one. A weak tag counts as the
// one that we gave out: a proxy makes ours weak when it compresses an answer.
func (e ETag) Matches(headers []string) bool {
	var room [64]byte
	own := e.Append(room[:0])
	for _, header := range headers {
		for tag := range strings.SplitSeq(header, ",") {
			if tag = strings.TrimSpace(tag); tag == "*" || strings.TrimPrefix(tag, "W/") == string(own) {
				return true
			}
		}
	}
	return false
}
