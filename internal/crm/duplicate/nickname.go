package duplicate

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:embed nicknames.txt
var nicknames string

// names are the names that a short form stands for, and the short forms of a name. A line with = has spellings of one
// name: what is short for one of them is short for all.
var names = sync.OnceValue(func() (of struct{ full, short, spelled map[string][]string }) {
	of.full, of.short, of.spelled = make(map[string][]string), make(map[string][]string), make(map[string][]string)
	for line := range strings.Lines(nicknames) {
		short, full, isShort := strings.Cut(line, ":")
		for _, name := range strings.Fields(full) {
			for _, name := range append([]string{name}, of.spelled[name]...) {
				if !slices.Contains(of.full[short], name) {
					of.full[short], of.short[name] = append(of.full[short], name), append(of.short[name], short)
				}
			}
		}
		if all := strings.Fields(line); !isShort && len(all) > 0 && all[0] == "=" {
			for _, name := range all[1:] {
				of.spelled[name] = all[1:]
			}
		}
	}
	return of
})

// isShortFor tells whether a name is a short form of another one. The first three or four letters of a name are one,
// too.
func isShortFor(short, name string) bool {
	return slices.Contains(names().full[short], name) || (len(short) == 3 || len(short) == 4) &&
		strings.HasPrefix(name, short) && !areNames(short, name)
}

// isRelated tells whether two names are spellings or short forms of one name.
func isRelated(a, b string) bool {
	others := names().full[b]
	return slices.Contains(names().spelled[a], b) || slices.ContainsFunc(names().full[a],
		func(full string) bool { return slices.Contains(others, full) })
}

// isLike tells whether a may be a name for b that no table has: the beginning, the end, the stem with an ending of
// endearment, or a short form with a typing error.
func isLike(a, b string) bool {
	stem := strings.TrimRight(a, "iey")
	if len(stem) > 1 && stem[len(stem)-1] == stem[len(stem)-2] { // Jenny
		stem = stem[:len(stem)-1]
	}
	return len(stem) > 2 && strings.HasPrefix(b, stem) || len(stem) > 1 && stem == strings.TrimRight(b, "iey") ||
		len(a) > 3 && strings.HasSuffix(b, a) ||
		len(a) > 3 && slices.ContainsFunc(names().short[b],
			func(short string) bool { return len(short) > 3 && isOneEdit(a, short) })
}

// areNames tells whether both are names that people have: then Stephen is hardly Stephanie with a typing error, nor
// Paul Paula.
func areNames(a, b string) bool { return isName(a) && isName(b) || a+"a" == b || a == b+"a" }

func isName(name string) bool { return len(names().full[name])+len(names().short[name]) > 0 }

// formal is the name that a first name most often stands for.
func formal(name string) string {
	if full := names().full[name]; len(full) > 0 {
		name = full[0]
	}
	if spelled := names().spelled[name]; len(spelled) > 0 {
		name = spelled[0]
	}
	return name
}
