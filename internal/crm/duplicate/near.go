package duplicate

import "unicode/utf8"

// isOneEdit tells whether one letter more, less, other or two exchanged make one text the other.
func isOneEdit(a, b string) bool {
	if a == b || max(len(a)-len(b), len(b)-len(a)) > utf8.UTFMax {
		return a == b
	}
	start := 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		start++
	}
	for start > 0 && (start < len(a) && !utf8.RuneStart(a[start]) || start < len(b) && !utf8.RuneStart(b[start])) {
		start--
	}
	a, b = a[start:], b[start:]
	end := 0
	for end < min(len(a), len(b)) && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	for end > 0 && !utf8.RuneStart(a[len(a)-end]) {
		end--
	}
	a, b = a[:len(a)-end], b[:len(b)-end]
	switch na, nb := utf8.RuneCountInString(a), utf8.RuneCountInString(b); {
	case na <= 1 && nb <= 1:
		return true
	case na == 2 && nb == 2:
		_, size := utf8.DecodeRuneInString(a)
		return a[size:]+a[:size] == b
	}
	return false
}

// misread has letters that scanners and handwriting confuse, by the one that stands for them.
var misread = func() (to [128]byte) {
	for i := range to {
		to[i] = byte(i)
	}
	for _, group := range []string{"hm", "nw", "ar", "ou", "pf"} {
		for i := range len(group) {
			to[group[i]] = group[0]
		}
	}
	return to
}()

// isMisread tells whether two texts are one but for letters that are confused, and for one other letter where they are
// long enough to tell.
func isMisread(a, b string) bool {
	const long = 6
	if len(a) != len(b) {
		return false
	}
	others := 0
	for i := range len(a) {
		if a[i] != b[i] && (a[i] >= utf8.RuneSelf || b[i] >= utf8.RuneSelf || misread[a[i]] != misread[b[i]]) {
			others++
		}
	}
	return others == 0 || others == 1 && len(a) >= long
}

// maxLetters is how many letters of a text similarity looks at.
const maxLetters = 64

// similarity is that of Jaro and Winkler: 1 for equal texts, 0 for those without a letter in common.
func similarity(a, b string) float64 {
	if a == b {
		return 1
	}
	var roomA, roomB [maxLetters]rune
	as, bs := letters(a, &roomA), letters(b, &roomB)
	inA, inB := common(as, bs)
	same, moved, j := 0, 0, 0
	for i := range as {
		if inA>>i&1 == 0 {
			continue
		}
		for inB>>j&1 == 0 {
			j++
		}
		if as[i] != bs[j] {
			moved++
		}
		same, j = same+1, j+1
	}
	if same == 0 {
		return 0
	}
	m := float64(same)
	jaro := (m/float64(len(as)) + m/float64(len(bs)) + (m-float64(moved/2))/m) / 3
	start := 0
	for start < min(4, len(as), len(bs)) && as[start] == bs[start] {
		start++
	}
	return jaro + float64(start)*0.1*(1-jaro)
}

func letters(s string, room *[maxLetters]rune) []rune {
	n := 0
	for _, r := range s {
		if n == len(room) {
			break
		}
		room[n] = r
		n++
	}
	return room[:n]
}

// common are the letters that two texts have in common at about the same place, a bit for each.
func common(a, b []rune) (inA, inB uint64) {
	reach := max(max(len(a), len(b))/2-1, 0)
	for i := range a {
		for j := max(0, i-reach); j < min(len(b), i+reach+1); j++ {
			if inB>>j&1 == 0 && a[i] == b[j] {
				inA, inB = inA|1<<i, inB|1<<j
				break
			}
		}
	}
	return inA, inB
}

// sounds are letters that are mistaken for each other, by the one that stands for them. Vowels stand for nothing.
var sounds = func() (to [128]byte) {
	for _, group := range []string{"bpfv", "ckqgszxj", "dt", "mn", "l", "r", " aeiouyhw"} {
		for i := range len(group) {
			to[group[i]] = group[0]
		}
	}
	return to
}()

// sound is how a name sounds, roughly: its first letter, and the other consonants.
func sound(name string) string {
	var b [8]byte
	n := 0
	for i := 0; i < len(name) && n < 6; i++ {
		c := name[i]
		if c < utf8.RuneSelf && sounds[c] != 0 {
			c = sounds[c]
		}
		if c == ' ' && n > 0 || n > 0 && b[n-1] == c {
			continue
		}
		b[n] = c
		n++
	}
	return string(b[:n])
}
