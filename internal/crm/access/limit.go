package access

import "donorbook/internal/crm/doc"

// How many there may be of what lets people and programs in.
var (
	KeyLimit = doc.Limit{Max: 200,
		Reached: "This organization has 200 active API keys, the most it can have. Revoke one that is no longer used, then create the new one."}

	InvitationLimit = doc.Limit{Max: 100,
		Reached: "This organization has 100 open invitations, the most it can have. Cancel one, or wait until one is used or expires."}

	MemberLimit = doc.Limit{Max: 1_000,
		Reached: "This organization has 1,000 members, the most it can have. An owner must remove one before another can join."}

	// ChapterLimit counts all chapters of an organization, at any level.
	ChapterLimit = doc.Limit{Max: 1_000,
		Reached: "This organization has 1,000 chapters, the most it can have. Rename and reuse one that is no longer needed."}

	// LevelLimit is how deep chapters may lie below their organization.
	LevelLimit = doc.Limit{Max: 10,
		Reached: "A chapter can be at most 10 levels below its organization. Choose a parent that is higher up."}
)

const (
	// KeptKeys is how many of the newest keys stay in the list after they have ended. An older key stays while it is
	// active.
	KeptKeys = 1_000

	// MaxSessions is how many browsers a user may be signed in with. One more signs out the one that was not used for
	// longest.
	MaxSessions = 100
)
