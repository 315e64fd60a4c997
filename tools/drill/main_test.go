package main

import (
	"strings"
	"testing"
)

func TestWhatFailedIsShown(t *testing.T) {
	var o outcome
	o.read(strings.NewReader(`{"Action":"output","Package":"p","Test":"TestA","Output":"why\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"fine\n"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Test":"TestC","Output":"no browser\n"}
{"Action":"skip","Package":"p","Test":"TestC"}
`))
	if log := o.log.String(); o.failed != 2 || o.Passed != 1 || !strings.Contains(log, "why") ||
		strings.Contains(log, "fine") ||
		!strings.Contains(log, "p TestC was not tried:\nno browser") {
		t.Errorf("%d failed, %d passed:\n%s", o.failed, o.Passed, log)
	}
}
