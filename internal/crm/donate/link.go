package donate

// Link is the end of an address at which a giver looks at a monthly gift. With a secret it works for a while; one without, as in an old mail, only offers to send another.
type Link struct {
	Account, Donation string // their public ids
	Secret            string
}

func (l Link) String() string { return l.Account + l.Donation + l.Secret }

const maxSecret = 64

// ParseLink reads a link; ok is false where it is none.
func ParseLink(link string) (l Link, ok bool) {
	if len(link) < 2*idLength || len(link) > 2*idLength+maxSecret {
		return l, false
	}
	l = Link{link[:idLength], link[idLength : 2*idLength], link[2*idLength:]}
	return l, IsID(l.Account) && IsID(l.Donation)
}
