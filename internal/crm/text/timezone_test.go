package text

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // what we compare with
)

// The time zones are those of the Go that builds the program. UPDATE=1 go test writes them anew.
func TestTimezonesAreThoseOfGo(t *testing.T) {
	t.Parallel()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := zonesOfGo(t, filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if os.Getenv("UPDATE") == "1" {
		if err := os.WriteFile("zones.tar.gz", tarred(t, want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for name := range want {
		if !IsTimezone(name) {
			t.Errorf("%s is missing: run make zones", name)
		}
	}
	if len(Zones()) < 500 {
		t.Errorf("there are %d time zones", len(Zones()))
	}
	for _, name := range slices.Sorted(maps.Keys(Zones())) {
		ours, ok := Timezone(name)
		if !ok {
			t.Errorf("%s has no rules", name)
			continue
		}
		theirs, err := time.LoadLocationFromTZData(name, want[name])
		for _, at := range []time.Time{time.Date(1990, 7, 1, 12, 0, 0, 0, time.UTC), time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)} {
			if err != nil || at.In(ours).Format(time.RFC1123Z) != at.In(theirs).Format(time.RFC1123Z) {
				t.Errorf("%s differs from Go's at %v, %v: run make zones", name, at, err)
			}
		}
	}
}

func zonesOfGo(t *testing.T, path string) map[string][]byte {
	t.Helper()
	archive, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	all := map[string][]byte{}
	for _, file := range archive.File {
		content, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		if rules, err := io.ReadAll(content); err != nil {
			t.Fatal(err)
		} else if len(rules) > 0 { // not a directory
			all[file.Name] = rules
		}
	}
	return all
}

func tarred(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
	archive := tar.NewWriter(zipped)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write(files[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
