package main

import (
	"bufio"
	"strings"
	"testing"
)

func TestAnswersAreRead(t *testing.T) {
	for _, test := range []struct{ name, wire, want, err string }{
		{"with a length", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\ncontent-length: 5\r\n\r\nhello", "hello", ""},
		{"in chunks", "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", "hello", ""},
		{"refused", "HTTP/1.1 422 Unprocessable Entity\r\nContent-Length: 2\r\n\r\nno", "no", "status 422: no"},
		{"without a length", "HTTP/1.1 200 OK\r\n\r\nhello", "", "without a length"},
		{"cut off", "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", "", "EOF"},
		{"of another protocol", "SSH-2.0-OpenSSH\r\n\r\n", "", "not an answer"},
		{"with a wrong length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "", "a length of"},
		{"with a wrong chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "", "a chunk"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := readAnswer(bufio.NewReader(strings.NewReader(test.wire)), []byte{})
			switch {
			case test.err == "" && (err != nil || string(got) != test.want):
				t.Errorf("got %q, %v", got, err)
			case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
				t.Errorf("got %q, %v, want the error %q", got, err, test.err)
			}
		})
	}
}

func TestABodyThatNobodyWantsIsSkipped(t *testing.T) {
	r := bufio.NewReader(strings.NewReader("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyou"))
	if got, err := readAnswer(r, nil); err != nil || got != nil {
		t.Fatalf("got %q, %v", got, err)
	}
	if got, err := readAnswer(r, []byte{}); err != nil || string(got) != "you" {
		t.Fatalf("the next answer is %q, %v", got, err)
	}
}

func TestTheNextPageIsFound(t *testing.T) {
	for body, want := range map[string]string{
		`{"data":[{"note":"\"next\":null"}],"links":{"next":"http://localhost/v1/contacts?per_page=100&page=2"},"meta":{}}`: "/v1/contacts?per_page=100&page=2",
		`{"data":[],"links":{"next":null},"meta":{}}`: "",
	} {
		if got, err := nextPath([]byte(body)); err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if _, err := nextPath([]byte(`{}`)); err == nil {
		t.Error("a page without links is taken for the last one")
	}
}

func TestTheCountersOfAServerAreRead(t *testing.T) {
	text := []byte("# HELP go_memstats_mallocs_total x\ngo_memstats_mallocs_total 1.5e+06\ngo_memstats_mallocs_total_more 3\n")
	if got := gauge(text, "go_memstats_mallocs_total"); got != 1.5e6 {
		t.Errorf("got %v", got)
	}
	if got := dollars(sqlKey); !strings.HasSuffix(got, "VALUES ($1, $2, $3)") {
		t.Errorf("got %s", got)
	}
}
