package api

import (
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
)

// Method, path, name and permission of every operation, once as the server has them and once as openapi.yaml does.
func TestRoutesAndDocumentListTheSameOperations(t *testing.T) {
	var served []string
	for _, route := range routes {
		name := runtime.FuncForPC(reflect.ValueOf(route.handle).Pointer()).Name()
		name = name[strings.LastIndexByte(name, '.')+1:]
		served = append(served, route.pattern+" "+name+" "+strings.Join(route.permission.Names(), " "))
	}
	document, err := openapi3.NewLoader().LoadFromFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var described []string
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			var permissions []string
			if operation.Security != nil {
				for _, way := range *operation.Security {
					permissions = append(permissions, way["key"]...)
				}
			}
			described = append(described, method+" "+path+" "+operation.OperationID+" "+strings.Join(permissions, " "))
		}
	}
	slices.Sort(served)
	slices.Sort(described)
	if difference := cmp.Diff(described, served); difference != "" {
		t.Errorf("openapi.yaml (-) and the routes (+) differ:\n%s", difference)
	}
}
