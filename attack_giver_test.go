//go:build drill

package donorbook_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"donorbook/internal/rig"
	"donorbook/internal/rig/assert"
)

// testers is how many forms a second are sent by someone who tries cards.
const testers = 100

// Whether people give in time is decided by most of several rounds: whatever else the machine does for a moment spoils
// one. While others use its processors all the time, requests may take longer in the same ratio.
const (
	giverRounds = 3
	giverTime   = 4 * time.Second
	giverPause  = 480 * time.Millisecond // a page asks for a solved puzzle when 30 a minute begin
)

// While 300 connections attack the form and the events, and someone tries cards at 100 starts a second from one
// address, people elsewhere give: they are led to the payment page in time, and who tries cards is not.
func TestPeopleGiveWhileTheFormIsAttacked(t *testing.T) {
	s := &program{t: t, Program: rig.Serve(t, built(t), "--log-level", "error", "--demo")}
	attack := []string{
		"GET /winter-coat-drive/donate HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n\r\n",
		"POST /winter-coat-drive/donate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 16005\r\n\r\nname=" + strings.Repeat("<", 16_000),
		"POST /hooks/pretend/A1b2C3d4E5f6G7h8 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 256000\r\n\r\n" + strings.Repeat("<", 256_000),
	}
	assert.Equal(t, assert.Must(s.give(clientAt(99), new([]time.Duration)))(t), true,
		"the first giver is led to the payment page")
	stop, stolen := make(chan struct{}), 0
	var running sync.WaitGroup
	for i := range attackers {
		running.Go(func() { s.sendAgain(i, attack[i%len(attack)], stop) })
	}
	running.Go(func() {
		thief := clientAt(40)
		for !s.paused(stop, time.Second/testers) {
			if led, err := s.give(thief, new([]time.Duration)); err == nil && led {
				stolen++
			}
		}
	})
	late, giver := 0, 0
	for range giverRounds {
		var took []time.Duration // of requests
		slowed := s.Slowed()
		for end := time.Now().Add(giverTime); time.Now().Before(end); giver++ {
			led, err := s.give(clientAt(byte(100+giver%150)), &took)
			if err != nil || !led {
				t.Fatalf("giver %d is led to the payment page: %t, %v", giver, led, err)
			}
			time.Sleep(giverPause)
		}
		slow, allowed := percentile(took, 99), time.Duration(float64(slowest)*slowed())
		t.Logf("%d requests of people who give, half of them within %v, 99 of 100 within %v of the %v that are allowed",
			len(took), percentile(took, 50), slow, allowed)
		if slow > allowed {
			late++
		}
	}
	close(stop)
	running.Wait()
	t.Logf("who tries cards began %d", stolen)
	if late > giverRounds/2 {
		t.Errorf("in %d of %d rounds, 99 of 100 requests of people who give took longer than they may", late,
			giverRounds)
	}
	if stolen == 0 || stolen > 20 {
		t.Errorf("who tries cards began %d", stolen)
	}
	s.tookLittle()
}

// clientAt is someone with an address of their own.
func clientAt(last byte) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, last)}}
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, address)
		}}}
}

// formLooks is how often a giver opens the form.
const formLooks = 12

// give opens a form and sends it, and tells whether it leads to the payment page.
func (s *program) give(client *http.Client, took *[]time.Duration) (led bool, err error) {
	address := "http://" + s.Address + "/light-the-harbor/donate"
	form := url.Values{"way": {"online"}, "frequency": {"once"}, "once": {"50"}, "monthly": {"25"},
		"first_name": {"Ana"}, "last_name": {"Okafor"}, "email": {"ana@example.org"}}
	for range formLooks {
		if _, err := ask(took, func() (*http.Response, error) { return client.Get(address) }); err != nil {
			return false, err
		}
	}
	response, err := ask(took, func() (*http.Response, error) { return client.PostForm(address, form) })
	return err == nil && response.StatusCode == 200 && response.Header.Get("Refresh") != "", err
}

// ask sends a request, reads the answer, and notes how long that took.
func ask(took *[]time.Duration, send func() (*http.Response, error)) (*http.Response, error) {
	begun := time.Now()
	response, err := send()
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	*took = append(*took, time.Since(begun))
	return response, err
}
