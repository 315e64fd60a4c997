package duplicate

import "encoding/binary"

// append writes a record in a short form.
func (r *Record) append(dst []byte) []byte {
	text := func(s string) { dst = append(append(dst, byte(len(s))), s...) }
	texts := func(list []string) {
		dst = append(dst, byte(len(list)))
		for _, s := range list {
			text(s)
		}
	}
	company := byte(0)
	if r.Company {
		company = 1
	}
	dst = append(dst, company, byte(r.Month), byte(r.Day))
	dst = binary.LittleEndian.AppendUint16(dst, uint16(r.Year))
	text(r.First)
	text(r.Middle)
	text(r.Last)
	text(r.Suffix)
	texts(r.Emails)
	texts(r.Phones)
	dst = append(dst, byte(len(r.Places)))
	for _, p := range r.Places {
		for _, s := range [...]string{p.Number, p.Street, p.Unit, p.Zip, p.City, p.Country} {
			text(s)
		}
	}
	return dst
}

// read is the record that append wrote at the beginning of a text. Its texts are parts of that one.
func (r *Record) read(src string) {
	text := func() (s string) {
		n := 1 + int(src[0])
		s, src = src[1:n], src[n:]
		return s
	}
	count := func() (n int) {
		n, src = int(src[0]), src[1:]
		return n
	}
	r.Company, r.Month, r.Day, r.Year, src = src[0] == 1, int(src[1]), int(src[2]), int(src[3])|int(src[4])<<8, src[5:]
	r.First, r.Middle, r.Last, r.Suffix = text(), text(), text(), text()
	r.Emails, r.Phones, r.Places = r.Emails[:0], r.Phones[:0], r.Places[:0]
	for range count() {
		r.Emails = append(r.Emails, text())
	}
	for range count() {
		r.Phones = append(r.Phones, text())
	}
	for range count() {
		r.Places = append(r.Places, Place{text(), text(), text(), text(), text(), text()})
	}
}

// Digest stands for all that is compared of a contact: it changes when any of that does.
func (r *Record) Digest() uint64 { return hash(string(r.append(nil))) }
