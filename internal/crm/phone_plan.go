package crm

import (
	"math/bits"
	"regexp"
	"sync"
)

//go:generate env UPDATE=1 go test -run TestNumberingPlansAreThoseOfTheLibrary .

// numberingPlan is how numbers are made in one region, or under one country code that belongs to no region.
type numberingPlan struct {
	region        string // "001" where there is none
	code          int    // the country code
	international string // a pattern of what people dial for abroad
	trunk         string // what people dial before a number within the country
	prefix        string // a pattern of what may stand before a national number
	transform     string // what takes the place of the prefix where its last group matched
	number        string // a pattern of national numbers
	lengths       uint32 // bit n: a national number may have n digits
	local         uint32 // bit n: a number without its area code may have n digits
}

// phonePlan is a numbering plan with its patterns, which are compiled when its first number comes.
type phonePlan struct {
	*numberingPlan
	once  sync.Once
	rules struct{ international, prefix, number *regexp.Regexp }

	formatOnce      sync.Once
	compiledFormats []compiledFormat
}

// phoneIndex finds plans. A country code of several regions leads to the main one of them.
type phoneIndex struct {
	regions map[string]*phonePlan
	codes   [1000]*phonePlan
}

var phonePlans = sync.OnceValue(func() *phoneIndex {
	index := &phoneIndex{regions: make(map[string]*phonePlan, len(numberingPlans))}
	plans := make([]phonePlan, len(numberingPlans))
	for i := range plans {
		plan := &plans[i]
		plan.numberingPlan = &numberingPlans[i]
		if plan.region != "001" {
			index.regions[plan.region] = plan
		}
		if index.codes[plan.code] == nil {
			index.codes[plan.code] = plan
		}
	}
	return index
})

// planOf is the plan of a region, or nil.
func planOf(region string) *phonePlan { return phonePlans().regions[region] }

// mainPlan is the plan of a country code of at most three digits, or nil.
func mainPlan(code int) *phonePlan { return phonePlans().codes[code] }

func (p *phonePlan) compile() {
	p.rules.international = regexp.MustCompile("^(?:" + p.international + ")")
	p.rules.prefix = regexp.MustCompile("^(?:" + p.prefix + ")")
	p.rules.number = regexp.MustCompile("^(?:" + p.number + ")$")
}

// matches tells whether digits are a whole national number.
func (p *phonePlan) matches(digits string) bool {
	p.once.Do(p.compile)
	return p.rules.number.MatchString(digits)
}

// cutInternational takes off what people dial for abroad. A zero does not follow it, since no country code begins with one.
func (p *phonePlan) cutInternational(digits string) (rest string, cut bool) {
	p.once.Do(p.compile)
	match := p.rules.international.FindStringIndex(digits)
	if match == nil {
		return "", false
	}
	rest = digits[match[1]:]
	return rest, rest == "" || rest[0] != '0'
}

// withoutTrunk takes off what people dial before a national number, or puts something else in its place, unless that
// makes no number out of one.
func (p *phonePlan) withoutTrunk(digits string) string {
	if digits == "" || p.prefix == "" {
		return digits
	}
	p.once.Do(p.compile)
	prefix := p.rules.prefix
	match := prefix.FindStringSubmatchIndex(digits)
	if match == nil {
		return digits
	}
	rest := digits[match[1]:]
	if lastGroup := match[len(match)-2]; p.transform != "" && lastGroup >= 0 {
		rest = prefix.ReplaceAllString(digits, p.transform)
	}
	if p.matches(digits) && !p.matches(rest) {
		return digits
	}
	return rest
}

type phoneLength int

const (
	lengthPossible phoneLength = iota
	lengthLocal
	lengthTooShort
	lengthTooLong
	lengthInvalid // between two possible ones
)

func (p *phonePlan) length(digits string) phoneLength {
	n := len(digits)
	switch {
	case p.local>>n&1 != 0:
		return lengthLocal
	case p.lengths>>n&1 != 0:
		return lengthPossible
	case n < bits.TrailingZeros32(p.lengths):
		return lengthTooShort
	case n >= bits.Len32(p.lengths):
		return lengthTooLong
	}
	return lengthInvalid
}
