package crm

import "donorbook/internal/crm/doc"

// Limit is how many of a thing there may be. Each is far above what an organization needs; it keeps lists, pages and memory
// bounded, whatever a program or a person with a bad day does.
type Limit struct {
	Max     int64
	Reached string // says so, and what to do
}

var (
	KeyLimit = Limit{200, "This organization has 200 active API keys, the most it can have. Revoke one that is no longer used, then create the new one."}

	InvitationLimit = Limit{100, "This organization has 100 open invitations, the most it can have. Cancel one, or wait until one is used or expires."}

	MemberLimit = Limit{1_000, "This organization has 1,000 members, the most it can have. An owner must remove one before another can join."}

	// ChapterLimit counts all chapters of an organization, at any level.
	ChapterLimit = Limit{1_000, "This organization has 1,000 chapters, the most it can have. Rename and reuse one that is no longer needed."}

	// LevelLimit is how deep chapters may lie below their organization.
	LevelLimit = Limit{10, "A chapter can be at most 10 levels below its organization. Choose a parent that is higher up."}

	FieldLimit = Limit{100, "This organization has 100 custom fields, the most it can have. End one that is no longer used, then add the new one."}

	// AllFieldsLimit counts those that have ended, too: contacts still have values in them.
	AllFieldsLimit = Limit{1_000, "This organization has had 1,000 custom fields, the most it can have. Bring back one that has ended, and rename it."}

	SegmentLimit = Limit{200, "This organization has 200 segments, the most it can have. Delete one that is no longer used, then save the new one."}

	// CampaignLimit counts the campaigns of an organization and of all its chapters.
	CampaignLimit = Limit{10_000, "This organization and its chapters have 10,000 campaigns, the most they can have. Edit one that has ended instead of creating another."}
)

const (
	// KeptKeys is how many of the newest keys stay in the list after they have ended. An older key stays while it is active.
	KeptKeys = 1_000

	// MaxSessions is how many browsers a user may be signed in with. One more signs out the one that was not used for longest.
	MaxSessions = 100
)

// Check refuses to add more to what exists already.
func (l Limit) Check(existing, more int64) error {
	if existing+more > l.Max {
		return doc.NewInvalid("", doc.Rule(l.Reached))
	}
	return nil
}
