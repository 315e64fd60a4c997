package api

import (
	"encoding/json"
	"net/http/httptest"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/web"
)

func TestAFingerprintIsThatOfOneRequest(t *testing.T) {
	seen := map[string]string{}
	for _, method := range []string{"POST", "PATCH", "PUT"} {
		for _, target := range []string{"/v1/contacts", "/v1/contacts?a=1", "/v1/contacts?a=1&b=2", "/v1/contacts?b=2&a=1", "/v1/contacts%3Fa=1", "/v1/tags"} {
			for _, body := range []string{"", "{}", "{} ", `{"a":1}`} {
				request := method + " " + target + " " + body
				sum := string(fingerprint(httptest.NewRequest(method, target, nil), []byte(body)))
				if other, known := seen[sum]; known {
					t.Errorf("%s has the fingerprint of %s", request, other)
				}
				seen[sum] = request
			}
		}
	}
}

// Method, path, name and permission of every operation, in the server and in the document.
func TestRoutesAndDocumentListTheSameOperations(t *testing.T) {
	var served []string
	for _, route := range routes {
		name := runtime.FuncForPC(reflect.ValueOf(route.handle).Pointer()).Name()
		name = name[strings.LastIndexByte(name, '.')+1:]
		served = append(served, route.pattern+" "+name+" "+strings.Join(route.permission.Names(), " "))
	}
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string
			Security    []map[string][]string
		}
	}
	if err := json.Unmarshal(web.Gunzip(openapiJSON), &document); err != nil {
		t.Fatal(err)
	}
	var described []string
	for path, methods := range document.Paths {
		for method, operation := range methods {
			var permissions []string
			for _, way := range operation.Security {
				permissions = append(permissions, way["key"]...)
			}
			described = append(described, strings.ToUpper(method)+" "+path+" "+operation.OperationID+" "+strings.Join(permissions, " "))
		}
	}
	slices.Sort(served)
	slices.Sort(described)
	if difference := cmp.Diff(described, served); difference != "" {
		t.Errorf("the document (-) and the routes (+) differ:\n%s", difference)
	}
}
