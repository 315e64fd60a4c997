package doc

import (
	"testing"

	"donorbook/internal/rig/rows"
)

func TestCutField(t *testing.T) {
	const body = `,"note":"a \"b\",\\","list":[{"x":"]"},[1]],"amount":12.5,"last":null}`
	for name, want := range rows.Pairs(`
		note     "\"a \\\"b\\\",\\\\\""
		list     [{"x":"]"},[1]]
		amount   12.5
		last     null
		missing  ""
	`) {
		before, value, after, found := CutField([]byte(body), name)
		if string(value) != want || found != (want != "") || string(before)+string(value)+string(after) != body {
			t.Errorf("%s: %s, %s, %s, %v", name, before, value, after, found)
		}
	}
}
