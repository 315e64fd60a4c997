package console

import (
	"errors"
	"fmt"

	"donorbook/internal/crm"
)

// Route is a line of the route tables, for tests that try all of them.
type Route struct {
	Pattern string
	Role    crm.Role // 0: whoever has signed in
}

// MemberRoutes, UserRoutes and StrangerRoutes are the whole console.
func MemberRoutes() (all []Route) {
	for _, r := range routes {
		all = append(all, Route{below(root+"/o/{org}", r.pattern), r.role})
	}
	return all
}

func UserRoutes() (all []Route) {
	for _, r := range userRoutes {
		all = append(all, Route{below(root, r.pattern), r.role})
	}
	return all
}

func StrangerRoutes() (all []Route) {
	all = append(all, Route{"GET " + root + "/static/{file}", 0})
	for _, r := range strangerRoutes {
		all = append(all, Route{below(root, r.pattern), 0})
	}
	return all
}

// ParsePages parses every page, of which the program parses each when it is shown.
func ParsePages() error {
	found, err := findPages("US")
	for name, parse := range found {
		if _, parseErr := parse(); parseErr != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", name, parseErr))
		}
	}
	return err
}
