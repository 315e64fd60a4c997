package access

import (
	"strings"

	"donorbook/internal/crm/doc"
)

// Role is what a person may do in an organization. Each one may do what the one before it may.
type Role int64

const (
	Viewer Role = iota + 1 // sees everything but secrets
	Editor                 // changes contacts and campaigns
	Owner                  // decides about people, keys and chapters
)

// Roles are all roles, the mightiest first.
var Roles = []Role{Owner, Editor, Viewer}

// String is the role as people write it.
func (r Role) String() string {
	switch r {
	case Owner:
		return "owner"
	case Editor:
		return "editor"
	case Viewer:
		return "viewer"
	}
	return "none"
}

// ParseRole reads the name of a role.
func ParseRole(name string) (Role, error) {
	for _, role := range Roles {
		if strings.TrimSpace(name) == role.String() {
			return role, nil
		}
	}
	return 0, doc.NewInvalid("role", doc.OneOf, "owner, editor, viewer")
}

// Check refuses a number that is no role.
func (r Role) Check() error {
	if r < Viewer || r > Owner {
		return doc.NewInvalid("role", doc.OneOf, "owner, editor, viewer")
	}
	return nil
}

// CheckChange refuses to take the last owner from an organization. to is 0 for a member who leaves.
func (r Role) CheckChange(to Role, owners int64) error {
	if r == Owner && to != Owner && owners <= 1 {
		return doc.NewInvalid("role", "An organization needs at least one owner. Make someone else an owner first.")
	}
	return nil
}
