package api

import (
	"encoding/json"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/web"
)

// Method, path, name and permission of every operation, once as the server has them and once as the document does.
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
