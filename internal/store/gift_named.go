package store

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/db"
)

// ContactNamed is the active contact of an account with an id, an email or a phone. One that several contacts have is a
// fault of the field contact.
func (s *Store) ContactNamed(ctx context.Context, account int64, name, region string) (int64, error) {
	if id, err := strconv.ParseInt(name, 10, 64); err == nil {
		if err := s.CheckContact(ctx, account, id); err == nil || !errors.Is(err, crm.ErrNotFound) {
			return id, archivedFault(err)
		}
	}
	key, ok := crm.MatchKey(name, region)
	if !ok {
		return 0, Fault("contact", noContact)
	}
	ids, err := Snapshot(ctx, s, func(c db.Conn) ([]int64, error) {
		found, err := db.List(c, func(r db.Row) int64 { return r.Int(1) }, SQLMatch, account, []string{key})
		if err != nil || len(found) == 0 {
			return nil, err
		}
		return db.List(c, Number, SQLActive, account, found)
	})
	slices.Sort(ids)
	switch {
	case err != nil:
		return 0, err
	case len(ids) == 0:
		return 0, Fault("contact", noContact)
	case len(ids) > 1:
		return 0, Fault("contact", "is the email or phone of several contacts: use an id, such as %v or %v", ids[0],
			ids[1])
	}
	return ids[0], nil
}

const noContact doc.Rule = "must be the id, an email or a phone of one of the account's active contacts"

func archivedFault(err error) error {
	if errors.Is(err, crm.ErrArchived) {
		return Fault("contact", "is the id of an archived contact: restore the contact first")
	}
	return err
}

// CampaignNamed is the campaign of an account with an id, a slug, which may be one that it had before, or a title that
// no other one has. Where there is none, it is a fault of the field campaign.
func (s *Store) CampaignNamed(ctx context.Context, account int64, name string) (int64, error) {
	return (&CampaignNames{Store: s, Account: account}).Find(ctx, name)
}

// CampaignNames finds campaigns by what people call them, and remembers what it has found.
type CampaignNames struct {
	Store   *Store
	Account int64
	titles  map[string][]int64 // in small letters; nil while they are not known
	made    int                // campaigns
	known   Cache[string, campaignAnswer]
}

// campaignAnswer is the campaign that a name stands for, or why it stands for none.
type campaignAnswer struct {
	id  int64
	err error
}

// maxName is how long a name may be that is looked up. No title is longer.
const maxName = 1000

const noCampaign doc.Rule = "must be the id, the slug or the title of one of the account's campaigns"

func (n *CampaignNames) Find(ctx context.Context, name string) (int64, error) {
	if len(name) > maxName {
		return 0, Fault("campaign", noCampaign)
	}
	found, known := n.known.Get(name)
	if known {
		return found.id, found.err
	}
	found.id, found.err = n.lookUp(ctx, name)
	var refused *doc.Invalid
	if found.err == nil || errors.As(found.err, &refused) {
		n.known.Keep(name, found, maxName)
	}
	return found.id, found.err
}

// IsNoCampaign tells whether a name stands for no campaign, so that one may be made.
func IsNoCampaign(err error) bool {
	var refused *doc.Invalid
	return errors.As(err, &refused) && refused.Faults[0].Rule == noCampaign
}

// maxMade is how many campaigns an import makes: a column of something else has many more values.
const maxMade = 100

const tooManyMade doc.Rule = "names a campaign that does not exist, and an import creates at most %v. Create the campaign first, or check whether this column names campaigns"

// Make makes a campaign with a title that stands for none, in a unit of work that advance does. One that another node
// or a person has made meanwhile is the one.
func (n *CampaignNames) Make(ctx context.Context, title string,
	advance func(Needs, func(*Tx) error) error,
) (id int64, err error) {
	in := draftOf(title)
	if err := n.mayMake(&in); err != nil {
		return 0, err
	}
	currency, err := n.Store.Currency(ctx, n.Account)
	if err != nil {
		return 0, err
	}
	now := n.Store.Now()
	err = Repeat(func() error {
		owner, above, err := n.Store.Ancestry(ctx, n.Account)
		if err != nil {
			return err
		}
		return advance(Needs{Also: above}, func(t *Tx) error {
			titles, err := readTitles(t.Conn, n.Account)
			if err != nil {
				return err
			}
			if id, err = titled(titles[titleKey(title)]); !IsNoCampaign(err) {
				return err
			}
			in := draftOf(title)
			in.Currency = &currency
			id, err = Family{Tx: t, Owner: owner, Above: above, Now: now}.Create(in)
			return err
		})
	})
	if err == nil {
		n.keepMade(title, id)
	}
	return id, err
}

// Try is Make for a dry run. Its campaign is 0, which is none.
func (n *CampaignNames) Try(title string) (int64, error) {
	in := draftOf(title)
	err := n.mayMake(&in)
	if err == nil {
		n.keepMade(title, 0)
	}
	return 0, err
}

// draftOf is a campaign that a file names. A person says when the public may see it.
func draftOf(title string) campaign.Input {
	status := string(campaign.Draft)
	return campaign.Input{Title: &title, Status: &status}
}

func (n *CampaignNames) mayMake(in *campaign.Input) error {
	switch {
	case n.made >= maxMade:
		return Fault("campaign", tooManyMade, maxMade)
	case in.Validate(nil, true) != nil:
		return Fault("campaign", noCampaign)
	}
	return nil
}

func (n *CampaignNames) keepMade(title string, id int64) {
	n.made++
	n.known.Keep(title, campaignAnswer{id: id}, maxName)
	n.titles[titleKey(title)] = []int64{id}
}

func (n *CampaignNames) lookUp(ctx context.Context, name string) (int64, error) {
	number, _ := strconv.ParseInt(name, 10, 64) // 0 is no id
	for _, ask := range []struct {
		sql string
		arg any
	}{{SQLCampaignRow, number}, {SQLSlug, name}, {SQLCampaignByOldSlug, name}} {
		row, err := Find(ctx, n.Store, crm.ErrNotFound, func(r db.Row) [2]int64 { return [2]int64{r.Int(0), r.Int(1)} },
			ask.sql, ask.arg)
		switch {
		case err == nil && row[1] == n.Account:
			return row[0], nil
		case err != nil && !errors.Is(err, crm.ErrNotFound):
			return 0, err
		}
	}
	if n.titles == nil {
		titles, err := Snapshot(ctx, n.Store, func(c db.Conn) (map[string][]int64, error) {
			return readTitles(c,
				n.Account)
		})
		if err != nil {
			return 0, err
		}
		n.titles = titles
	}
	return titled(n.titles[titleKey(name)])
}

// titled is the only one of the campaigns with a title.
func titled(all []int64) (int64, error) {
	switch len(all) {
	case 0:
		return 0, Fault("campaign", noCampaign)
	case 1:
		return all[0], nil
	default:
		return 0, Fault("campaign", "is the title of several campaigns: use an id, such as %v or %v", all[0], all[1])
	}
}

// titleKey is what titles are compared by.
func titleKey(title string) string { return strings.ToLower(strings.TrimSpace(title)) }

// readTitles reads the titles of an account's own campaigns.
func readTitles(c db.Conn, account int64) (map[string][]int64, error) {
	titles := make(map[string][]int64)
	all, err := db.List(c, func(r db.Row) [2]int64 { return [2]int64{r.Int(0), r.Int(1)} }, SQLReaderCampaigns, account)
	if err != nil {
		return nil, err
	}
	for some := range slices.Chunk(all, 200) {
		var own []int64
		for _, one := range some {
			if campaign.Relation(one[1])&campaign.Own != 0 {
				own = append(own, one[0])
			}
		}
		if len(own) == 0 {
			continue
		}
		names, err := db.List(c, scanCampaignName, SQLOwnCampaigns, account, own)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if key := titleKey(name.Title); key != "" { // a damaged one has no title
				titles[key] = append(titles[key], name.ID)
			}
		}
	}
	return titles, nil
}
