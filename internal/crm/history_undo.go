package crm

import (
	"encoding/json"
	"time"
)

// Undo takes a change of the contact back.
func (c Contact) Undo(kind ChangeKind, d Differences, _ string, now time.Time) (undone Contact, left []string, err error) {
	if kind == DidCreate {
		return c.Archive(now), nil, nil
	}
	for _, one := range d {
		if one.Field != "tags" {
			continue
		}
		tags := c.Tags[:one.At:one.At]
		for _, out := range one.Out {
			var name string
			_ = json.Unmarshal(out, &name)
			tags = append(tags, name)
		}
		c.Tags = append(tags, c.Tags[one.At+len(one.In):]...)
	}
	c.UpdatedAt = changeTime(now, c.UpdatedAt)
	return c, nil, nil
}
