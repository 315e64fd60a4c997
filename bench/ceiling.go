package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// ceiling is the fastest server that can be expected of net/http: it routes, takes a bearer key, hashes it, looks it up in a map, and
// answers bytes that never change. It is this program again, called as bench ceiling ADDRESS KEY FILE-OF-A-CONTACT FILE-OF-A-LIST.
func ceiling(args []string) error {
	if len(args) != 5 {
		return fmt.Errorf("ceiling takes an address, a key and two files, not %q", args[1:])
	}
	contact, err := os.ReadFile(args[3])
	if err != nil {
		return err
	}
	list, err := os.ReadFile(args[4])
	if err != nil {
		return err
	}
	keys := map[[sha256.Size]byte]int64{sha256.Sum256([]byte(args[2])): 1}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/contacts/{id}", behindKey(keys, contact))
	mux.HandleFunc("GET /v1/contacts", behindKey(keys, list))
	mux.HandleFunc("POST /v1/contacts", afterBody(behindKey(keys, contact)))
	mux.HandleFunc("GET /bare", func(w http.ResponseWriter, _ *http.Request) { answer(w, contact) })
	mux.HandleFunc("GET /metrics", showAllocations)
	return http.ListenAndServe(args[1], mux)
}

func behindKey(keys map[[sha256.Size]byte]int64, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		key, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if _, known := keys[sha256.Sum256([]byte(key))]; !found || !known {
			http.Error(w, "unknown key", http.StatusUnauthorized)
			return
		}
		answer(w, body)
	}
}

// afterBody reads what was sent before it answers.
func afterBody(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadFull(r.Body, make([]byte, r.ContentLength)); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		next(w, r)
	}
}

func answer(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
}

// showAllocations tells the two counters under the names that the program gives them.
func showAllocations(w http.ResponseWriter, _ *http.Request) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	_, _ = fmt.Fprintf(w, "go_memstats_mallocs_total %d\ngo_memstats_alloc_bytes_total %d\n", m.Mallocs, m.TotalAlloc)
}
