package duplicate

import (
	"fmt"
	"strings"
)

// blockKeys are keys of which two records about one person mostly share one: for each a coarse one, and a finer one for keys that many have.
func blockKeys(r *Record, add func(pass int, coarse, fine string)) {
	f, l := formal(r.First), sound(r.Last)
	fi := head(r.First, 1)
	pass := 0
	put := func(ok bool, coarse, fine string) {
		if ok {
			add(pass, coarse, fine)
		}
	}
	next := func() { pass++ }
	for _, e := range r.Emails {
		put(true, e, f)
	}
	next()
	for _, p := range r.Phones {
		put(true, p, f)
	}
	next()
	for _, e := range r.Emails {
		local, _, _ := strings.Cut(e, "@")
		put(!isRole(local) && len(local) > 3, local, f+l)
	}
	next()
	for _, p := range r.Phones {
		put(len(p) > 7, p[max(0, len(p)-6):], fi)
	}
	next()
	zip, city, number, street := "", "", "", ""
	if len(r.Places) > 0 {
		zip, city, number, street = r.Places[0].Zip, r.Places[0].City, r.Places[0].Number, longest(r.Places[0].Street)
	}
	named := r.First != "" && r.Last != ""
	born := r.Year > 0
	put(named, f+"|"+l, head(zip, 3)+"|"+r.Last)
	next()
	put(born, fmt.Sprint(r.Year, r.Month, r.Day), fi+head(r.Last, 1))
	next()
	a, b := head(r.First, 4), head(r.Last, 4)
	if a > b {
		a, b = b, a
	}
	put(named, a+"|"+b, zip)
	next()
	for _, p := range r.Places {
		put(p.Zip != "" && l != "", p.Zip+l, fi)
	}
	next()
	for _, p := range r.Places {
		put(p.Zip != "" && f != "", p.Zip+f, head(l, 2))
	}
	next()
	for _, p := range r.Places {
		put(p.Zip != "" && p.Number != "", p.Number+"|"+p.Zip, longest(p.Street))
	}
	next()
	put(street != "" && number != "", number+"|"+street, zip)
	next()
	put(born && f != "", f+fmt.Sprint(r.Year, r.Month), l)
	next()
	put(born && r.Last != "", r.Last+fmt.Sprint(r.Month, r.Day), fi)
	next()
	put(city != "" && l != "", city+l, f)
	next()
	put(fi != "" && l != "" && city != "", fi+l+city, f)
	next()
	put(city != "" && f != "", city+"|"+f, l)
	next()
	put(street != "" && f != "", street+"|"+f, number)
	next()
	put(street != "" && l != "", street+"|"+l, number)
	next()
	put(named, r.First+"|"+head(r.Last, 3), zip)
	next()
	put(named, r.Last+"|"+fi, zip+f)
	next()
	put(named, fi+l, head(zip, 3))
	next()
	put(named && born, fi+head(r.Last, 1)+fmt.Sprint(r.Year), fmt.Sprint(r.Day))
	next()
	put(named && born, fi+head(r.Last, 1)+fmt.Sprint(r.Month, r.Day), fmt.Sprint(r.Year))
	next()
	put(named && born, f+fmt.Sprint(r.Year, r.Day), l)
	next()
	put(named, strings.Join([]string{min(f, r.Last), max(f, r.Last)}, "|"), zip)
	next()
}

const passes = 30

func head(s string, n int) string { return s[:min(n, len(s))] }

func longest(words string) (best string) {
	for word := range strings.SplitSeq(words, " ") {
		if len(word) > len(best) {
			best = word
		}
	}
	return best
}
