package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// loadRunning loads servers that run already, such as two nodes behind a proxy, and prints what they did.
func loadRunning(args []string) error {
	flags := flag.NewFlagSet("load", flag.ExitOnError)
	urls := flags.String("url", "http://localhost:8443", "addresses of the nodes, separated by commas")
	key := flags.String("key", "", "API key")
	kind := flags.String("work", "get", "get, list (the first page), deep (any page) or create")
	connections := flags.Int("connections", 64, "connections in all")
	duration := flags.Duration("for", 5*time.Second, "how long")
	if err := flags.Parse(args); err != nil {
		return err
	}
	l := load{connections: *connections}
	for address := range strings.SplitSeq(*urls, ",") {
		l.addresses = append(l.addresses, strings.TrimPrefix(strings.TrimSuffix(address, "/"), "http://"))
	}
	var err error
	if l.work, err = runningWork(l.addresses[0], *key, *kind); err != nil {
		return err
	}
	r := l.run(timing{warm: *duration / 10, measured: *duration}, nobody{})
	if r.err == nil {
		fmt.Printf("%-7s %3d connections  %8.0f/s  p50 %8v  p99 %8v\n", *kind, *connections, r.rate(),
			r.p50.Round(10*time.Microsecond), r.p99.Round(10*time.Microsecond))
	}
	return r.err
}

// runningWork is work on an account that nobody knows anything about.
func runningWork(address, key, kind string) (work, error) {
	if kind == "create" {
		mark := fmt.Sprintf("t%d", time.Now().UnixNano()) // so that a second run creates others
		return func(dst []byte, _ *rand.Rand, n int64) []byte {
			return request(dst, "POST", "/v1/contacts", key, generator{1}.request(nil, int(n), mark))
		}, nil
	}
	ids, pages, err := look(address, key)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "get":
		return func(dst []byte, r *rand.Rand, _ int64) []byte {
			return request(dst, "GET", fmt.Sprintf("/v1/contacts/%d", pick(r, ids)), key, nil)
		}, nil
	case "list":
		return getPath("/v1/contacts", key), nil
	case "deep":
		return func(dst []byte, r *rand.Rand, _ int64) []byte {
			return request(dst, "GET", fmt.Sprintf("/v1/contacts?page=%d", 1+r.IntN(pages)), key, nil)
		}, nil
	}
	return nil, fmt.Errorf("unknown work %q", kind)
}

// look learns which contacts there are: the first hundred pages are enough to choose from.
func look(address, key string) (ids []int64, pages int, err error) {
	for number := 1; number <= 100; number++ {
		p, err := askPage(address, key, fmt.Sprintf("/v1/contacts?per_page=100&page=%d", number))
		if err != nil {
			return nil, 0, err
		}
		var contacts []struct{ ID int64 }
		if err := json.Unmarshal(p.Data, &contacts); err != nil {
			return nil, 0, err
		}
		for _, c := range contacts {
			ids = append(ids, c.ID)
		}
		pages = (p.Meta.Total + 19) / 20
		if len(contacts) < 100 {
			break
		}
	}
	if len(ids) == 0 {
		return nil, 0, errors.New("the account has no contacts: run -work create first")
	}
	return ids, pages, nil
}

// nobody is the meter of a server that cannot be looked into.
type nobody struct{}

func (nobody) cpu() time.Duration              { return 0 }
func (nobody) rss() float64                    { return 0 }
func (nobody) mallocs() (count, bytes float64) { return 0, 0 }
