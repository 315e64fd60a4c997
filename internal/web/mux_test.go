package web

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"donorbook/internal/rig/rows"
)

func contactsMux() *Mux {
	answer := func(w http.ResponseWriter, r *http.Request) error {
		return WriteJSON(w, http.StatusOK, []byte(r.Pattern+"_"+r.PathValue("id")))
	}
	mux := NewMux()
	mux.Handle("GET /v1/contacts", answer)
	mux.Handle("POST /v1/contacts", answer)
	mux.Handle("GET /v1/contacts/{id}", answer)
	mux.Handle("PATCH /v1/contacts/{id}", answer)
	return mux
}

func TestMuxAnswersInJSON(t *testing.T) {
	inner := contactsMux()
	outer := NewMux()
	outer.Handle("/v1/{rest...}", inner.Serve)
	outer.Handle("/static/{file...}", answerOK)
	bodies := map[string]string{"none": `{"message":"Not found."}`,
		"wrong": `{"message":"This method is not allowed here."}`}
	for _, test := range rows.Of[struct {
		Method, Path string
		Status       int
		Body, Allow  string
	}](`
		GET      /v1/contacts            200  GET /v1/contacts_         ""
		GET      /v1/contacts?page=2     200  GET /v1/contacts_         ""
		GET      /v1/contacts/7          200  GET /v1/contacts/{id}_7   ""
		PATCH    /v1/contacts/7          200  PATCH /v1/contacts/{id}_7  ""
		DELETE   /v1/contacts/7          405  wrong                     GET, HEAD, PATCH
		OPTIONS  /v1/contacts            405  wrong                     GET, HEAD, POST
		BREW     /v1/contacts            405  wrong                     GET, HEAD, POST
		GET      /v1/contacts/           404  none                      ""
		GET      /v1/contacts/7/         404  none                      ""
		GET      //v1/contacts           404  none                      ""
		GET      /v1//contacts           404  none                      ""
		GET      /v1/../v1/contacts      404  none                      ""
		GET      /v1/./contacts          404  none                      ""
		POST     /v1/../v1/contacts      404  none                      ""
		GET      /v1                     404  none                      ""
		GET      /V1/contacts            404  none                      ""
		GET      /static                 404  none                      ""
		GET      /                       404  none                      ""
		CONNECT  /static                 404  none                      ""
	`) {
		r := httptest.NewRequest(test.Method, "http://localhost/", nil)
		u := must(url.Parse("http://localhost" + test.Path))(t)
		r.URL = &url.URL{Path: u.Path, RawQuery: u.RawQuery}
		rec := try(quietPlumbing().Wrap(outer.Serve), r)
		equal(t, fmt.Sprint(rec.Code, " ", rec.Body, " ", rec.Header().Get("Allow")),
			fmt.Sprint(test.Status, " ", cmp.Or(bodies[test.Body], test.Body), " ", test.Allow), "%s %s", test.Method,
			test.Path)
		if rec.Header().Get("Content-Type") != "application/json" || rec.Header().Get("Location") != "" {
			t.Errorf("%s %s: headers %v", test.Method, test.Path, rec.Header())
		}
		if rec.Code >= 400 && r.Pattern != "" {
			t.Errorf("%s %s: pattern %q is left for the log", test.Method, test.Path, r.Pattern)
		}
	}
}

func TestHeadWorksWhereGetDoes(t *testing.T) {
	server := httptest.NewServer(quietPlumbing().Wrap(contactsMux().Serve))
	defer server.Close()
	resp, _ := read(t)(http.Head(server.URL + "/v1/contacts/7"))
	if resp.StatusCode != 200 || resp.ContentLength <= 0 {
		t.Errorf("%d, length %d", resp.StatusCode, resp.ContentLength)
	}
}

// wrapped is a writer that a middleware between two muxes might add.
type wrapped struct{ http.ResponseWriter }

func (w wrapped) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func TestMuxBehindAnotherWriter(t *testing.T) {
	inner := NewMux()
	inner.Handle("GET /here", func(w http.ResponseWriter, _ *http.Request) error {
		Note(w, 5, 6)
		if RequestID(w) == "" {
			t.Error("no request id behind two writers")
		}
		return WriteJSON(w, 200, []byte(`{}`))
	})
	lines := new(logLines)
	handler := lines.plumbing().Wrap(func(w http.ResponseWriter, r *http.Request) error {
		return inner.Serve(wrapped{w}, r)
	})
	for path, status := range map[string]int{"/here": 200, "/elsewhere": 404} {
		rec := try(handler, httptest.NewRequest("GET", path, nil))
		equal(t, rec.Code, status, "%s (%v)", path, rec.Body)
		if line := lines.last(t); path == "/here" && (line["account"] != 5.0 || line["route"] != "/here") {
			t.Errorf("log line %v", line)
		}
	}
}

func TestMuxChoosesTheRenderer(t *testing.T) {
	pages := NewMux()
	pages.RenderErrors(func(w http.ResponseWriter, _ *http.Request, err error) {
		status, message := ErrorHeaders(w.Header(), err)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		w.Write([]byte("<p>" + message + "</p>"))
	})
	pages.Handle("GET /page", func(http.ResponseWriter, *http.Request) error { panic("a page broke") })
	root := NewMux()
	root.Handle("/v1/{rest...}", contactsMux().Serve)
	root.Handle("/{rest...}", pages.Serve)
	for path, want := range map[string]string{
		"/page":   "<p>Something went wrong on our side. Please try again later.</p>",
		"/nopage": "<p>Not found.</p>",
		"/v1/no":  `{"message":"Not found."}`,
	} {
		rec := try(quietPlumbing().Wrap(root.Serve), httptest.NewRequest("GET", path, nil))
		equal(t, rec.Body.String(), want, "%s: %s", path, rec.Body)
	}
}
