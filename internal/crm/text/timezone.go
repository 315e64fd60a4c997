package text

import (
	_ "embed" // the names of time zones are part of the program
	"slices"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // and their rules, where the machine has none
)

// zoneNames are the time zones that Go knows, in alphabetical order.
//
//go:embed zones.txt
var zoneNames string

// Timezones are the names of all time zones, in alphabetical order.
var Timezones = sync.OnceValue(func() []string { return strings.Fields(zoneNames) })

// locations are the time zones that were asked for: their rules are read once.
var locations sync.Map

// Timezone finds a time zone by its name.
func Timezone(name string) (place *time.Location, ok bool) {
	if known, ok := locations.Load(name); ok {
		return known.(*time.Location), true
	}
	if !IsTimezone(name) {
		return nil, false
	}
	place, err := time.LoadLocation(name)
	if err == nil {
		locations.Store(name, place)
	}
	return place, err == nil
}

// IsTimezone tells whether a name is that of a time zone. The files of some machines are found in capitals, too.
func IsTimezone(name string) bool {
	_, ok := slices.BinarySearch(Timezones(), name)
	return ok
}

// Location is a time zone by its name. A name that does not exist is a fault of its own field; here it is UTC.
func Location(zone string) *time.Location {
	if place, ok := Timezone(zone); ok {
		return place
	}
	return time.UTC
}

// WallClock is a time as a clock in the zone shows it, written as if that were UTC: its day, month and year are those
// of the people there.
func WallClock(t time.Time, zone *time.Location) time.Time {
	t = t.In(zone)
	year, month, day := t.Date()
	return time.Date(year, month, day, t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// DefaultTimezone is the time zone of an organization that has not chosen one.
const DefaultTimezone = "UTC"
