package text

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	_ "embed" // the time zones are part of the program
	"io"
	"maps"
	"slices"
	"sync"
	"time"
)

// zonesFile has the time zones that Go comes with: their names and rules must not depend on the machine. The package time/tzdata has the
// same ones uncompressed, which takes 300 KB more.
//
//go:embed zones.tar.gz
var zonesFile []byte

// Zones are the rules of each time zone by its name.
var Zones = sync.OnceValue(func() map[string][]byte { return readZones(zonesFile) })

func readZones(zipped []byte) map[string][]byte {
	all := map[string][]byte{}
	unzipped, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		return all
	}
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if err != nil {
			return all
		}
		all[header.Name], _ = io.ReadAll(archive) // the file is part of the program
	}
}

// locations are the time zones that were asked for: their rules are read once.
var locations sync.Map

// Timezone finds a time zone by its name.
func Timezone(name string) (place *time.Location, ok bool) {
	if name == DefaultTimezone {
		return time.UTC, true
	}
	if known, ok := locations.Load(name); ok {
		return known.(*time.Location), true
	}
	rules, ok := Zones()[name]
	if !ok {
		return nil, false
	}
	place, err := time.LoadLocationFromTZData(name, rules)
	if err == nil {
		locations.Store(name, place)
	}
	return place, err == nil
}

// IsTimezone tells whether a name is that of a time zone.
func IsTimezone(name string) bool {
	_, ok := Zones()[name]
	return ok
}

// Location is a time zone by its name. A name that does not exist is a fault of its own field; here it is UTC.
func Location(zone string) *time.Location {
	if place, ok := Timezone(zone); ok {
		return place
	}
	return time.UTC
}

// WallClock is a time as a clock in the zone shows it, written as if that were UTC: its day, month and year are those of the people there.
func WallClock(t time.Time, zone *time.Location) time.Time {
	t = t.In(zone)
	year, month, day := t.Date()
	return time.Date(year, month, day, t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// Timezones are the names of all time zones, in alphabetical order.
func Timezones() []string { return slices.Sorted(maps.Keys(Zones())) }

// DefaultTimezone is the time zone of an organization that has not chosen one.
const DefaultTimezone = "UTC"
