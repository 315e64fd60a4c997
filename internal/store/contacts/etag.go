package contacts

import (
	"context"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store"
)

// ETag names the state that a contact is in.
func (d Document) ETag() doc.ETag { return d.Tag }

func (s *Stored) etag(a *store.Account) doc.ETag {
	tag := doc.ETag{Revision: s.Revision, Checksum: s.Checksum}
	if s.Custom != 0 {
		tag.Fields = a.FieldSeq
	}
	return tag
}

type matchKey struct{}

// IfMatch is a context in which a contact is changed only if its tag is one of those that a header lists.
func IfMatch(ctx context.Context, tags []string) context.Context {
	return context.WithValue(ctx, matchKey{}, tags)
}

// conditionOf tells whether a contact is in the state that a change needs, in the transaction of the change.
func conditionOf(ctx context.Context) func(*store.Account, *Stored) error {
	tags, conditional := ctx.Value(matchKey{}).([]string)
	return func(a *store.Account, s *Stored) error {
		if conditional && !s.etag(a).Matches(tags) {
			return crm.ErrNotMatched
		}
		return nil
	}
}
