package access

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// A device token proves that a browser has signed in as a user before: a random id and its MAC under the stored hash of
// the user's password. Every node can check it, nothing more is stored, and a new password ends it. The hash holds 128
// random bits of salt, so the token gives away nothing about the password.
const (
	deviceIDBytes  = 16
	maxDeviceUsers = 5 // users that one browser remembers
)

// RememberDevice adds a token for the user with this password hash to the tokens of a browser.
func RememberDevice(tokens, passwordHash string) string {
	id := make([]byte, deviceIDBytes)
	rand.Read(id) //nolint:errcheck // never fails
	text := base64.RawURLEncoding.EncodeToString(id)
	kept := []string{text + deviceMAC(text, passwordHash)}
	for _, token := range deviceTokens(tokens) {
		if _, same := deviceID(token, passwordHash); !same && len(kept) < maxDeviceUsers {
			kept = append(kept, token)
		}
	}
	return strings.Join(kept, ".")
}

// KnownDevice tells whether one of a browser's tokens is for the user with this password hash, and which.
func KnownDevice(tokens, passwordHash string) (id string, known bool) {
	for _, token := range deviceTokens(tokens) {
		if id, known = deviceID(token, passwordHash); known {
			return id, true
		}
	}
	return "", false
}

// deviceTokens are no more than a browser gets from us, however many it sends.
func deviceTokens(tokens string) []string {
	if tokens == "" {
		return nil
	}
	all := strings.SplitN(tokens, ".", maxDeviceUsers+1)
	return all[:min(len(all), maxDeviceUsers)]
}

func deviceID(token, passwordHash string) (id string, ok bool) {
	length := base64.RawURLEncoding.EncodedLen(deviceIDBytes)
	if len(token) < length {
		return "", false
	}
	id, mac := token[:length], token[length:]
	return id, hmac.Equal([]byte(mac), []byte(deviceMAC(id, passwordHash)))
}

func deviceMAC(id, passwordHash string) string {
	mac := hmac.New(sha256.New, []byte(passwordHash))
	mac.Write([]byte("device token\x00" + id))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// sign is a part of what a browser calls itself, and what its owner calls it then.
type sign struct{ part, name string }

// The first sign that fits says what a browser, or the machine below it, is called: most pretend to be others as well.
var (
	browserSigns = []sign{{"Edg", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"},
		{"CriOS/", "Chrome"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}, {"curl/", "curl"}}
	machineSigns = []sign{{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"Windows", "Windows"},
		{"CrOS", "ChromeOS"}, {"Mac OS X", "Mac"}, {"Linux", "Linux"}}
)

const maxBrowserName = 80 // characters

// Browser is a browser as its owner would call it.
func (d Device) Browser() string {
	browser, machine := firstSign(d.Agent, browserSigns), firstSign(d.Agent, machineSigns)
	switch {
	case browser != "" && machine != "":
		return browser + " on " + machine
	case browser != "" || machine != "":
		return browser + machine
	case d.Agent == "":
		return "Unknown browser"
	}
	if letters := []rune(d.Agent); len(letters) > maxBrowserName {
		return string(letters[:maxBrowserName]) + "…"
	}
	return d.Agent
}

func firstSign(agent string, signs []sign) string {
	for _, s := range signs {
		if strings.Contains(agent, s.part) {
			return s.name
		}
	}
	return ""
}
