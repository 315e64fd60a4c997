// Package picture has the pictures that organizations upload: which files are accepted, what is made of them, and what
// they are called. A file is never kept: its pixels are drawn anew in the sizes that pages need, so that nothing else
// that was in it reaches anyone.
package picture

import (
	"bytes"
	"crypto/rand"
	"errors"
	"image/jpeg"
	"image/png"
	"iter"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"donorbook/internal/crm/doc"
)

// MaxFile is how large a file may be, in bytes.
const MaxFile = 8_000_000

// Why a file is refused.
const (
	WrongType doc.Rule = "must be a PNG, JPEG or WebP image"
	Damaged   doc.Rule = "is damaged or incomplete. Save the image again, or choose another one"
	TooLarge  doc.Rule = "must not be larger than 8 MB"
	TooBig    doc.Rule = "has too many pixels (%v × %v). Save the image in a smaller size, such as 3000 × 2000"
	Gone      doc.Rule = "is the address of a picture that no longer exists here. Upload the picture again"
)

// Kind is what a picture is for.
type Kind struct {
	width, height int  // of its largest size, at most
	sharp         bool // edges matter more than bytes
}

// The kinds of pictures.
var (
	Cover = Kind{width: 1600, height: 2400}
	Logo  = Kind{width: 512, height: 512, sharp: true}
)

// widths are those of the smaller sizes. A picture has each that is below its own.
var widths = []int{800, 400, 128}

// Picture is what was made of a file.
type Picture struct {
	Address string // of its largest size, without the base of the server
	Files   []File // all sizes, the largest first
}

// File is one size of a picture.
type File struct {
	Name string
	Body []byte
}

// Root is where pictures are found. What follows it cannot be guessed, so that the picture of a draft is as hidden as
// the draft.
const Root = "/pictures/"

// Form is how the address of a largest size looks: the number of the account that it was made for, a random name, its
// width and its type. Older ones have no account.
const Form = `/pictures/((?:([1-9][0-9]{0,9})-)?[a-z2-7]{26})-([1-9][0-9]{0,3})\.(jpg|png)`

var addressForm = regexp.MustCompile("^" + Form + "$")

// IsAddress tells whether a text is the address of a picture that was uploaded here.
func IsAddress(text string) bool { return addressForm.MatchString(text) }

func newName() string { return strings.ToLower(rand.Text()) }

func fileName(name string, width int, kind string) string {
	return name + "-" + strconv.Itoa(width) + "." + kind
}

// Sizes are the names of all files of the picture at an address, each with its width, the largest first. There are none
// where the address is that of another site.
func Sizes(address string) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		parts := addressForm.FindStringSubmatch(address)
		if parts == nil {
			return
		}
		own, _ := strconv.Atoi(parts[3]) // digits
		for _, width := range sizesBelow(own) {
			if !yield(fileName(parts[1], width, parts[4]), width) {
				return
			}
		}
	}
}

// SourceSet names all sizes of the picture at an address, for a browser to choose from.
func SourceSet(address string) string {
	var all []string
	for name, width := range Sizes(address) {
		all = append(all, Root+name+" "+strconv.Itoa(width)+"w")
	}
	return strings.Join(all, ", ")
}

// sizesBelow are the widths of a picture whose largest size has this one.
func sizesBelow(own int) []int {
	return append([]int{own}, slices.DeleteFunc(slices.Clone(widths), func(width int) bool { return width >= own })...)
}

// Names are the names of all files of the pictures at some addresses.
func Names(addresses ...string) (names []string) {
	for _, address := range addresses {
		for name := range Sizes(address) {
			names = append(names, name)
		}
	}
	return names
}

// Renamed is the address of a copy of a picture for an account, which has a name of its own.
func Renamed(address string, account int64) string {
	parts := addressForm.FindStringSubmatch(address)
	return Root + ownedBy(account) + newName() + strings.TrimPrefix(address, Root+parts[1])
}

// Owned is a picture that was made for an account, whose number its names begin with: so it is found without asking
// everywhere.
func (p Picture) Owned(account int64) Picture {
	p.Address = Root + ownedBy(account) + strings.TrimPrefix(p.Address, Root)
	p.Files = slices.Clone(p.Files)
	for i := range p.Files {
		p.Files[i].Name = ownedBy(account) + p.Files[i].Name
	}
	return p
}

func ownedBy(account int64) string { return strconv.FormatInt(account, 10) + "-" }

// Owner is the account that a file was made for, by its name; 0 is unknown. An account that was moved here from another
// server has another number there.
func Owner(name string) int64 {
	parts := addressForm.FindStringSubmatch(Root + name)
	if parts == nil {
		return 0
	}
	account, _ := strconv.ParseInt(parts[2], 10, 64) // digits, or nothing
	return account
}

// maxStored is more than any size of a picture takes.
const maxStored = 5_000_000

// Check refuses a file that cannot have been made here.
func (f File) Check() error {
	config := jpeg.DecodeConfig
	if path.Ext(f.Name) == ".png" {
		config = png.DecodeConfig
	}
	head, err := config(bytes.NewReader(f.Body))
	if err != nil || len(f.Body) > maxStored || head.Width > Cover.width || head.Height > Cover.height ||
		!IsAddress(Root+f.Name) || !strings.Contains(f.Name, "-"+strconv.Itoa(head.Width)+".") {
		return errors.New("is not a picture as it is stored here")
	}
	return nil
}

// MediaType is that of a file, which its name tells.
func MediaType(name string) string {
	if path.Ext(name) == ".png" {
		return "image/png"
	}
	return "image/jpeg"
}
