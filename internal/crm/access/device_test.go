package access

import (
	"fmt"
	"strings"
	"testing"

	"donorbook/internal/rig/assert"
)

func TestADeviceTokenIsForOneUserAndOnePassword(t *testing.T) {
	const ada = "$argon2id$ada"
	tokens := RememberDevice("", ada)
	id, known := KnownDevice(tokens, ada)
	assert.Equal(t, known && id != "", true, "the browser is known")
	knows := func(tokens, hash string) bool {
		_, known := KnownDevice(tokens, hash)
		return known
	}
	assert.Tells(t, func(hash string) bool { return knows(tokens, hash) }, []string{ada},
		[]string{"$argon2id$bob", ada + "x", NobodysPassword})
	assert.Tells(t, func(tokens string) bool { return knows(tokens, ada) }, []string{tokens}, []string{
		"", ".", "x", tokens[1:], tokens[:len(tokens)-1], tokens + "A", id, id + deviceMAC("x", ada),
		strings.Repeat("x.", 100_000),
	})
	again, _ := KnownDevice(RememberDevice("", ada), ada)
	assert.Equal(t, again != id, true, "two browsers have two ids")
}

func TestABrowserRemembersSomeUsers(t *testing.T) {
	tokens := ""
	for range 3 { // signing in again replaces the previous token
		for n := range maxDeviceUsers {
			tokens = RememberDevice(tokens, fmt.Sprint("hash ", n))
		}
	}
	assert.Equal(t, strings.Count(tokens, ".")+1, maxDeviceUsers)
	later := RememberDevice(tokens, "one more")
	for n := range maxDeviceUsers {
		_, known := KnownDevice(tokens, fmt.Sprint("hash ", n))
		_, still := KnownDevice(later, fmt.Sprint("hash ", n))
		assert.Equal(t, known, true, "user %d", n)
		assert.Equal(t, still, n > 0, "user %d", n)
	}
	assert.Equal(t, len(later) <= 400, true, "%d bytes of tokens", len(later))
}
