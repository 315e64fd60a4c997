package access

import (
	"fmt"
	"strings"
	"testing"

	"donorbook/internal/rig/assert"
)

func TestADeviceTokenIsForOneUserAndOnePassword(t *testing.T) {
	const ada, bob = "$argon2id$ada", "$argon2id$bob"
	tokens := RememberDevice("", ada)
	id, known := KnownDevice(tokens, ada)
	if !known || id == "" {
		t.Error("the browser is not known")
	}
	for what, hash := range map[string]string{"another user": bob, "a new password": ada + "x", "no user": NobodysPassword} {
		if _, known := KnownDevice(tokens, hash); known {
			t.Errorf("the token is good for %s", what)
		}
	}
	for _, wrong := range []string{"", ".", "x", tokens[1:], tokens[:len(tokens)-1], tokens + "A", id, id + deviceMAC("x", ada), strings.Repeat("x.", 100_000)} {
		if _, known := KnownDevice(wrong, ada); known {
			t.Errorf("%.80q is good", wrong)
		}
	}
	if again, _ := KnownDevice(RememberDevice("", ada), ada); again == id {
		t.Error("two browsers have the same id")
	}
}

func TestABrowserRemembersSomeUsers(t *testing.T) {
	tokens := ""
	for range 3 { // signing in again replaces the previous token
		for n := range maxDeviceUsers {
			tokens = RememberDevice(tokens, fmt.Sprint("hash ", n))
		}
	}
	assert.Equal(t, strings.Count(tokens, ".")+1, maxDeviceUsers)
	for n := range maxDeviceUsers {
		if _, known := KnownDevice(tokens, fmt.Sprint("hash ", n)); !known {
			t.Errorf("user %d is forgotten", n)
		}
	}
	tokens = RememberDevice(tokens, "one more")
	if _, known := KnownDevice(tokens, "hash 0"); known || len(tokens) > 400 {
		t.Errorf("%d bytes of tokens", len(tokens))
	}
}
