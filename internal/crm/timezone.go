package crm

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	_ "embed" // the time zones are part of the program
	"io"
	"sync"
	"time"
)

// zonesFile has the time zones that Go comes with: their names and rules must not depend on the machine. The package time/tzdata has the
// same ones uncompressed, which takes 300 KB more.
//
//go:embed zones.tar.gz
var zonesFile []byte

// zones are the rules of each time zone by its name.
var zones = sync.OnceValue(func() map[string][]byte { return readZones(zonesFile) })

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

// timezone finds a time zone by its name.
func timezone(name string) (place *time.Location, ok bool) {
	rules, ok := zones()[name]
	if !ok {
		return nil, false
	}
	place, err := time.LoadLocationFromTZData(name, rules)
	return place, err == nil
}

func isTimezone(name string) bool {
	_, ok := zones()[name]
	return ok
}

// Location is a time zone by its name. A name that does not exist is a fault of its own field; here it is UTC.
func Location(zone string) *time.Location {
	if place, ok := timezone(zone); ok {
		return place
	}
	return time.UTC
}
