// Package mail is what a mail may say and whom it may reach. Its types hold nothing that could begin a second header, a
// second recipient or a link that a stranger has typed, wherever their values come from.
package mail

import (
	"html"
	"io"
	"strings"
	"time"
	"unicode"

	"donorbook/internal/crm/text"
)

// Address is one mailbox and nothing beside it; "" is none. Its only way in is ParseAddress.
type Address struct{ text string }

// ParseAddress takes a bare address. A name, a second address, a quote or a line break makes it none.
func ParseAddress(value string) (Address, bool) {
	value = strings.TrimSpace(value)
	_, ok := text.NormalEmail(value)
	if !ok {
		return Address{}, false
	}
	return Address{value}, true
}

func (a Address) String() string { return a.text }

// Domain is what follows the @.
func (a Address) Domain() string { return a.text[strings.LastIndexByte(a.text, '@')+1:] }

// Line is a text without line breaks or control characters, which a subject, a name and a paragraph are made of.
type Line struct{ text string }

const (
	maxLine  = 2_000 // characters
	maxTyped = 100   // of a value in a sentence
)

// NewLine makes one line of a text.
func NewLine(value string) Line { return Line{oneLine(value, maxLine)} }

// Say is a sentence of ours with values that people have typed. Each {} stands for a value, which no program that shows
// mail makes a link of.
func Say(sentence string, typed ...string) Line {
	var b strings.Builder
	for _, value := range typed {
		before, after, found := strings.Cut(sentence, "{}")
		if !found { // the sentence does not say it
			break
		}
		b.WriteString(before)
		b.WriteString(unlinked(oneLine(value, maxTyped)))
		sentence = after
	}
	return NewLine(b.String() + sentence)
}

// Typed is a line that people have typed, of any length.
func Typed(value string) Line { return Line{unlinked(oneLine(value, maxLine))} }

func (l Line) String() string { return l.text }

// Printed is the line for paper, where nothing is a link.
func (l Line) Printed() string { return strings.ReplaceAll(l.text, string(gap), "") }

// MarshalText and UnmarshalText keep a line. What comes back is made a line again.
func (l Line) MarshalText() ([]byte, error) { return []byte(l.text), nil }

func (l *Line) UnmarshalText(text []byte) error {
	*l = NewLine(string(text))
	return nil
}

// oneLine leaves out what cannot be seen, but for the joiners that scripts and emoji are written with. Spaces of any
// kind become one.
func oneLine(value string, most int) string {
	value = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), unicode.IsControl(r):
			return ' '
		case r == '\u200c', r == '\u200d', r == gap:
			return r
		case !unicode.IsPrint(r): // such as marks that turn the direction around
			return -1
		}
		return r
	}, strings.ToValidUTF8(value, ""))
	value = strings.Join(strings.Fields(value), " ")
	if letters := []rune(value); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return value
}

// gap is a space without width: nobody sees it, and what it stands in is no address of anything.
const gap = '\u200b'

// unlinked breaks what could be an address of the web or of a mailbox.
func unlinked(value string) string {
	letters := []rune(strings.ReplaceAll(value, string(gap), ""))
	var b strings.Builder
	for i, r := range letters {
		b.WriteRune(r)
		if strings.ContainsRune(".:/@", r) && i+1 < len(letters) && letters[i+1] != ' ' {
			b.WriteRune(gap)
		}
	}
	return b.String()
}

// File goes with a mail. It is written when the mail is sent, and kept nowhere.
type File struct {
	Name, Type string
	Write      func(io.Writer) error
}

// Message is what a mail says: sentences, and perhaps one button that leads to a page of ours.
type Message struct {
	Subject Line   `json:"subject"`
	Says    []Line `json:"says"`
	Action  Line   `json:"action,omitzero"`
	Path    string `json:"path,omitempty"`  // of the page, which may hold a secret
	After   []Line `json:"after,omitempty"` // what stands below the button

	Receipt bool   `json:"receipt,omitempty"` // the receipt of the gift goes with it
	Files   []File `json:"-"`
}

// Add says more, and has the link of that; nil is nothing.
func (m *Message) Add(more *Message) {
	if more != nil {
		m.Says, m.Action, m.Path = append(m.Says, more.Says...), more.Action, more.Path
	}
}

// Letter is a mail as a relay gets it. The relay knows the sender's address.
type Letter struct {
	ID      int64 // of the mail; a repeat has the same one
	At      time.Time
	Name    Line    // of the organization
	ReplyTo Address // the organization's; may be none
	To      Address
	Base    string // the address of this server, which paths follow
	Message
}

// Link is where the button leads to, "" for no button.
func (l *Letter) Link() string {
	if l.Path == "" {
		return ""
	}
	return l.Base + l.Path
}

// Text is the mail as plain text.
func (l *Letter) Text() string {
	var b strings.Builder
	for _, line := range l.Says {
		b.WriteString(line.text + "\n\n")
	}
	if link := l.Link(); link != "" {
		b.WriteString(l.Action.text + ":\n" + link + "\n\n")
	}
	for _, line := range l.After {
		b.WriteString(line.text + "\n\n")
	}
	return b.String() + "-- \n" + l.Name.text + "\n"
}

// HTML is the mail for programs that show it so. The button is its only link; the address is below it for those who
// want to see it first.
func (l *Letter) HTML() string {
	var b strings.Builder
	paragraph := func(style, inside string) {
		b.WriteString(`<p style="margin:0 0 16px;` + style + `">` + inside + "</p>\n")
	}
	b.WriteString(`<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>` +
		html.EscapeString(l.Subject.text) + "</title></head>\n" +
		`<body style="margin:0;padding:24px;font:16px/1.5 sans-serif;color:#1f2933;background:#ffffff"><div style="max-width:560px">` + "\n")
	for _, line := range l.Says {
		paragraph("", html.EscapeString(line.text))
	}
	if link := html.EscapeString(l.Link()); link != "" {
		paragraph("",
			`<a href="`+link+
				`" style="display:inline-block;padding:10px 18px;border-radius:6px;background:#1d4ed8;color:#ffffff;text-decoration:none">`+html.EscapeString(l.Action.text)+"</a>")
		paragraph("font-size:13px;color:#52606d;word-break:break-all", link)
	}
	for _, line := range l.After {
		paragraph("color:#52606d", html.EscapeString(line.text))
	}
	paragraph("color:#52606d", html.EscapeString(l.Name.text))
	b.WriteString("</div></body></html>\n")
	return b.String()
}

// Refused is the error of a relay that does not take a mail.
type Refused struct {
	Reply string // of the relay, for the person who asked for the mail; "" where it said nothing about it
	Final bool   // it will not take the mail later either
	Gone  bool   // because there is no such mailbox
	Err   error  // for the log
}

func (r *Refused) Error() string { return "the mail relay: " + r.Err.Error() }
func (r *Refused) Unwrap() error { return r.Err }
