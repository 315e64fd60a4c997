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

// loadRunning loads servers that already run, such as two nodes behind a proxy, and prints what they did.
func loadRunning(args []string) error {
	flags := flag.NewFlagSet("load", flag.ExitOnError)
	urls := flags.String("url", "http://localhost:8443", "addresses of the nodes, separated by commas")
	key := flags.String("key", "", "API key")
	kind := flags.String("work", "get", "get, list (the first page), deep (any page) or create")
	connections := flags.Int("connections", 64, "connections in all")
	duration := flags.Duration("for", 5*time.Second, "how long")
	_ = flags.Parse(args[1:]) // it exits on an error
	l := load{connections: *connections}
	for address := range strings.SplitSeq(*urls, ",") {
		l.addresses = append(l.addresses, strings.TrimPrefix(strings.TrimSuffix(address, "/"), "http://"))
	}
	var err error
	if l.work, err = runningWork(l.addresses[0], *key, *kind); err != nil {
		return err
	}
	r := l.run(timing{warm: *duration / 10, measured: *duration}, &server{})
	if r.err == nil {
		fmt.Printf("%-7s %3d connections  %8.0f/s  p50 %8v  p99 %8v\n", *kind, *connections, r.rate(),
			r.p50.Round(10*time.Microsecond), r.p99.Round(10*time.Microsecond))
	}
	return r.err
}

// runningWork is work on an account of which only the key is known. It chooses from the first 10,000 contacts.
func runningWork(address, key, kind string) (work, error) {
	var ids []int64
	pages := 0
	for number := 1; number <= 100 && len(ids) == (number-1)*100 && kind != "create"; number++ {
		p, err := askPage(address, key, fmt.Sprintf("/v1/contacts?per_page=100&page=%d", number))
		var contacts []struct{ ID int64 }
		if err == nil {
			err = json.Unmarshal(p.Data, &contacts)
		}
		if err != nil {
			return nil, err
		}
		for _, c := range contacts {
			ids = append(ids, c.ID)
		}
		pages = (p.Meta.Total + 19) / 20
	}
	if len(ids) == 0 && kind != "create" {
		return nil, errors.New("the account has no contacts: run -work create first")
	}
	mark := fmt.Sprintf("t%d", time.Now().UnixNano()) // so that a second run creates others
	works := map[string]work{
		"create": func(dst []byte, _ *rand.Rand, n int64) []byte {
			return request(dst, "POST", "/v1/contacts", key, generator{1}.request(nil, int(n), mark))
		},
		"get": func(dst []byte, r *rand.Rand, _ int64) []byte {
			return request(dst, "GET", fmt.Sprintf("/v1/contacts/%d", pick(r, ids)), key, nil)
		},
		"list": getPath("/v1/contacts", key),
		"deep": func(dst []byte, r *rand.Rand, _ int64) []byte {
			return request(dst, "GET", fmt.Sprintf("/v1/contacts?page=%d", 1+r.IntN(pages)), key, nil)
		},
	}
	if works[kind] == nil {
		return nil, fmt.Errorf("unknown work %q", kind)
	}
	return works[kind], nil
}
