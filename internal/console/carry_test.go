package console

import (
	"net/http/httptest"
	"testing"
)

// Any client can pretend to have been signed in, so only so many forms are kept at once.
func TestOnlySomeFormsAreCarriedAtOnce(t *testing.T) {
	c := &Console{carrying: make(chan struct{}, maxCarried)}
	r := httptest.NewRequest("POST", "/console/profile/name", nil)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if c.mayCarry(r) {
		t.Error("a form is carried for a browser without a cookie")
	}
	r.Header.Set("Cookie", sessionCookie+"=ended")
	for i := range maxCarried {
		if !c.mayCarry(r) {
			t.Fatalf("form %d is not carried", i+1)
		}
	}
	if c.mayCarry(r) {
		t.Error("one form too many is carried")
	}
	c.carried()
	if !c.mayCarry(r) {
		t.Error("a place that was given free is not used")
	}
}
