package duplicate

// isOneEdit tells whether one letter more, less, other or two exchanged make one text the other.
func isOneEdit(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	return i == len(a) || a[i+1:] == b[i+1:] || i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

// similarity is that of Jaro and Winkler: 1 for equal texts, 0 for those without a letter in common.
func similarity(a, b string) float64 {
	if a == b {
		return 1
	}
	if len(a) > 64 || len(b) > 64 || a == "" || b == "" {
		return 0
	}
	reach := max(max(len(a), len(b))/2-1, 0)
	var inA, inB uint64
	same := 0
	for i := range len(a) {
		for j := max(0, i-reach); j < min(len(b), i+reach+1); j++ {
			if inB>>j&1 == 0 && a[i] == b[j] {
				inA, inB, same = inA|1<<i, inB|1<<j, same+1
				break
			}
		}
	}
	if same == 0 {
		return 0
	}
	moved, j := 0, 0
	for i := range len(a) {
		if inA>>i&1 == 0 {
			continue
		}
		for inB>>j&1 == 0 {
			j++
		}
		if a[i] != b[j] {
			moved++
		}
		j++
	}
	m := float64(same)
	jaro := (m/float64(len(a)) + m/float64(len(b)) + (m-float64(moved/2))/m) / 3
	start := 0
	for start < min(4, len(a), len(b)) && a[start] == b[start] {
		start++
	}
	return jaro + float64(start)*0.1*(1-jaro)
}

// sound is how a name sounds, roughly: its first letter, and its other consonants in groups of letters that are mistaken for each other.
func sound(name string) string {
	var b [6]byte
	n := 0
	for i := 0; i < len(name) && n < len(b); i++ {
		c := name[i]
		switch c {
		case 'b', 'p', 'f', 'v':
			c = 'b'
		case 'c', 'k', 'q', 'g', 's', 'z', 'x', 'j':
			c = 'c'
		case 'd', 't':
			c = 'd'
		case 'm', 'n':
			c = 'm'
		case 'l', 'r':
		case 'a', 'e', 'i', 'o', 'u', 'y', 'h', 'w', ' ':
			if n > 0 {
				continue
			}
			c = 'a'
		}
		if n == 0 || b[n-1] != c {
			b[n] = c
			n++
		}
	}
	return string(b[:n])
}
