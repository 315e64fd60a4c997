package duplicate

// The fields that are compared.
const (
	first   = iota
	initial // where one has no more than that of the first name
	last
	birth
	email
	phone
	place
	middle
	suffix
	fields
)

// Levels of agreement, the closest one first. 0 is a field of which one record says nothing.
const (
	unknown = iota
	same
)

const (
	shortFirst = same + 1 + iota
	spelledFirst
	typoFirst
	relatedFirst
	middleFirst
	mailFirst
	swappedFirst
	otherFirst
)

const (
	typoLast = same + 1 + iota
	partLast
	similarLast
	mailLast
	swappedLast
	otherLast
)

const (
	digitBirth = same + 1 + iota
	turnedBirth
	twoBirth
	yearBirth
	otherBirth
)

const (
	typoEmail = same + 1 + iota
	localEmail
	roleEmail
	otherEmail
)

const (
	digitPhone = same + 1 + iota
	tailPhone
	otherPhone
)

const (
	streetPlace = same + 1 + iota
	similarPlace
	buildingPlace
	roadPlace
	numberPlace
	zipPlace
	cityPlace
	otherPlace
)

const (
	initialMiddle = same + 1 + iota
	otherMiddle
)

const (
	oneSuffix = same + 1 + iota
	otherSuffix
)

const otherInitial = same + 1

// level is how far two records agree in a field: in how many of 1,000 pairs it is so where both are about one person,
// about two people of one household, and about strangers. Where the last is 0, it is how common the value is that they
// share. The first two are where learning begins.
type level struct {
	words                   string
	person, home, strangers float64
}

var levels = [fields][]level{
	first: {
		same:         {"same first name", 770, 10, 0},
		shortFirst:   {"%s is short for %s", 80, 2, 0},
		spelledFirst: {"first names are forms of one name", 30, 1, 0},
		typoFirst:    {"first names differ by a letter", 60, 3, 0},
		relatedFirst: {"similar first names", 40, 8, 8},
		middleFirst:  {"middle name of one is the first name of the other", 10, 0.5, 0.5},
		mailFirst:    {"email has the other first name", 8, 20, 0.3},
		swappedFirst: {"first and last name are swapped", 10, 0.1, 0},
		otherFirst:   {"different first names", 30, 976, 990},
	},
	initial: {
		same:         {"same initial", 970, 70, 0},
		otherInitial: {"different initial", 30, 930, 930},
	},
	last: {
		same:        {"same last name", 860, 780, 0},
		typoLast:    {"last names differ by a letter", 50, 10, 0},
		partLast:    {"last names share a part", 20, 25, 0},
		similarLast: {"similar last names", 15, 10, 5},
		mailLast:    {"email has the other last name", 10, 10, 0.2},
		swappedLast: {"", 10, 10, 1000},
		otherLast:   {"different last names", 45, 175, 990},
	},
	birth: {
		same:        {"same date of birth", 880, 10, 0},
		digitBirth:  {"dates of birth differ by one digit", 70, 4, 1},
		turnedBirth: {"day and month of birth are swapped", 10, 0.5, 0.05},
		twoBirth:    {"similar dates of birth", 20, 10, 4},
		yearBirth:   {"same year of birth", 5, 30, 15},
		otherBirth:  {"different dates of birth", 15, 946, 980},
	},
	email: {
		same:       {"same email", 700, 150, 0},
		typoEmail:  {"emails differ by one letter", 50, 3, 0.02},
		localEmail: {"same email name at another provider", 50, 10, 0.1},
		roleEmail:  {"same office email", 10, 10, 1},
		otherEmail: {"different emails", 200, 830, 999},
	},
	phone: {
		same:       {"same phone", 650, 500, 0},
		digitPhone: {"phones differ by one digit", 40, 5, 0.01},
		tailPhone:  {"same phone in another area", 10, 5, 0.01},
		otherPhone: {"different phones", 300, 490, 1000},
	},
	place: {
		same:          {"same address", 520, 800, 0},
		streetPlace:   {"same street and number", 20, 30, 0},
		similarPlace:  {"similar address", 50, 40, 0.05},
		buildingPlace: {"same building", 3, 5, 0},
		roadPlace:     {"same street", 20, 20, 0.3},
		numberPlace:   {"same house number and ZIP code", 30, 30, 0.2},
		zipPlace:      {"same ZIP code", 60, 25, 3},
		cityPlace:     {"same city", 60, 20, 10},
		otherPlace:    {"different addresses", 240, 30, 987},
	},
	middle: {
		same:          {"same middle name", 600, 30, 10},
		initialMiddle: {"same middle initial", 360, 90, 80},
		otherMiddle:   {"different middle names", 40, 880, 910},
	},
	suffix: {
		same:        {"same suffix", 600, 30, 30},
		oneSuffix:   {"only one has a suffix", 398, 850, 940},
		otherSuffix: {"different suffixes", 2, 120, 30},
	},
}
