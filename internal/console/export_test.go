package console

import (
	"errors"
	"fmt"

	"donorbook/internal/console/page"
	"donorbook/internal/crm/access"
)

// Route is a line of the route tables, for tests that try all of them.
type Route struct {
	Pattern string
	Role    access.Role // 0: any signed-in user
	Button  bool        // a form without a page of its own
}

// MemberRoutes, UserRoutes and StrangerRoutes are the whole console.
func MemberRoutes() []Route {
	return routesFor(func(role access.Role) bool { return role > user })
}

func UserRoutes() []Route {
	return routesFor(func(role access.Role) bool { return role == user })
}

func StrangerRoutes() []Route {
	all := routesFor(func(role access.Role) bool { return role == stranger })
	return append(all, Route{Pattern: "GET " + page.Root + "/static/{file}"})
}

func routesFor(is func(access.Role) bool) (all []Route) {
	for _, r := range routes {
		if is(r.role) {
			all = append(all, Route{r.pattern(), max(r.role, 0), r.method == "POST" && r.page == nil})
		}
	}
	return all
}

// ParsePages parses every page; the program parses each one when it is first shown.
func ParsePages() error {
	found, err := page.FindTemplates("US", folders...)
	for name, parse := range found {
		if _, parseErr := parse(); parseErr != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", name, parseErr))
		}
	}
	return err
}

// Uploading tells whether a file of an account is arriving.
func (c *Console) Uploading(account int64) bool {
	end, err := c.site.Uploads.Begin(account)
	if err == nil {
		end()
	}
	return err != nil
}
