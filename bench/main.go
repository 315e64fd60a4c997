// Command bench loads a running server over HTTP and prints what it did: requests a second and how long they took.
// It starts nothing and checks every answer's status.
//
//	go run ./bench --url http://localhost:8443 --key "$DONORBOOK_KEY" --work create
package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// load is what to do, and for how long.
type load struct {
	urls        []string
	key         string
	work        string
	connections int
	duration    time.Duration
	client      *http.Client
	ids         []int64 // of contacts that are there
	pages       int64
}

func main() {
	var l load
	urls := flag.String("url", "http://localhost:8443", "addresses of the nodes, separated by commas")
	flag.StringVar(&l.key, "key", "", "API key")
	flag.StringVar(&l.work, "work", "get", "get, list (the first page), deep (any page) or create")
	flag.IntVar(&l.connections, "connections", 64, "connections in all")
	flag.DurationVar(&l.duration, "for", 5*time.Second, "how long")
	flag.Parse()
	l.urls = strings.Split(*urls, ",")
	if err := l.run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (l *load) run() error {
	l.client = &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: l.connections, DisableCompression: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // it measures, it does not trust
	}}
	if err := l.look(); err != nil {
		return err
	}
	var mu sync.Mutex
	var all []time.Duration
	var failures []error
	var wg sync.WaitGroup
	start := time.Now()
	for worker := range l.connections {
		wg.Go(func() {
			took, err := l.worker(worker, start.Add(l.duration))
			mu.Lock()
			defer mu.Unlock()
			all = append(all, took...)
			if err != nil {
				failures = append(failures, err)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(failures...); err != nil {
		return err
	}
	slices.Sort(all)
	at := func(part float64) time.Duration {
		return all[int(part*float64(len(all)-1))].Round(10 * time.Microsecond)
	}
	fmt.Printf("%-7s %3d connections  %8.0f/s  p50 %8v  p99 %8v\n",
		l.work, l.connections, float64(len(all))/time.Since(start).Seconds(), at(.5), at(.99))
	return nil
}

// look learns which contacts there are: the first hundred pages are enough to choose from.
func (l *load) look() error {
	for page := int64(1); l.work != "create" && page <= 100; page++ {
		body, err := l.ask(l.urls[0], "GET", fmt.Sprintf("/v1/contacts?per_page=100&page=%d", page), nil)
		if err != nil {
			return err
		}
		var list struct {
			Data []struct{ ID int64 }
			Meta struct{ Total int64 }
		}
		if err := json.Unmarshal(body, &list); err != nil {
			return err
		}
		for _, contact := range list.Data {
			l.ids = append(l.ids, contact.ID)
		}
		l.pages = (list.Meta.Total + 19) / 20
		if len(list.Data) < 100 {
			break
		}
	}
	if l.work != "create" && len(l.ids) == 0 {
		return errors.New("the account has no contacts: run --work create first")
	}
	return nil
}

func (l *load) worker(worker int, end time.Time) (took []time.Duration, err error) {
	url := l.urls[worker%len(l.urls)]
	for n := 0; time.Now().Before(end); n++ {
		begun := time.Now()
		if err := l.one(url, worker, n); err != nil {
			return took, err
		}
		took = append(took, time.Since(begun))
	}
	return took, nil
}

func (l *load) one(url string, worker, n int) (err error) {
	switch l.work {
	case "get":
		_, err = l.ask(url, "GET", fmt.Sprintf("/v1/contacts/%d", l.ids[rand.IntN(len(l.ids))]), nil)
	case "list":
		_, err = l.ask(url, "GET", "/v1/contacts", nil)
	case "deep":
		_, err = l.ask(url, "GET", fmt.Sprintf("/v1/contacts?page=%d", 1+rand.Int64N(l.pages)), nil)
	case "create":
		_, err = l.ask(url, "POST", "/v1/contacts", person(worker, n))
	default:
		err = fmt.Errorf("unknown work %q", l.work)
	}
	return err
}

// person is a contact of the usual size that nobody else is.
func person(worker, n int) []byte {
	id := fmt.Sprintf("%d.%d.%d", time.Now().UnixNano(), worker, n)
	return fmt.Appendf(nil, `{"first_name":"Ana","last_name":"Okafor","company":"Blue Heron Books",
		"emails":[{"type":"personal","value":"p%s@example.org"},{"type":"work","value":"w%s@example.org"}],
		"addresses":[{"address_1":"12 Harbor Street","city":"Boston","state":"MA","zipcode":"02110","country":"USA"}],
		"tags":["newsletter","gala 2026","volunteer"]}`, id, id)
}

func (l *load) ask(url, method, path string, body []byte) ([]byte, error) {
	request, err := http.NewRequest(method, url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+l.key)
	request.Header.Set("Content-Type", "application/json")
	response, err := l.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s: %.200s", method, path, response.Status, answer)
	}
	return answer, err
}
