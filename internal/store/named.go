package store

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// ContactNamed is the active contact of an account with an id, an email or a phone. One that several contacts have is a fault of the
// field contact.
func (s *Store) ContactNamed(ctx context.Context, account int64, name, region string) (int64, error) {
	if id, err := strconv.ParseInt(name, 10, 64); err == nil {
		if err := s.CheckContact(ctx, account, id); err == nil || !errors.Is(err, crm.ErrNotFound) {
			return id, archivedFault(err)
		}
	}
	key, ok := crm.MatchKey(name, region)
	if !ok {
		return 0, fault("contact", noContact)
	}
	ids, err := snapshot(ctx, s, func(c db.Conn) ([]int64, error) {
		found, err := db.List(c, func(r db.Row) int64 { return r.Int(1) }, sqlMatch, account, []string{key})
		if err != nil || len(found) == 0 {
			return nil, err
		}
		return db.List(c, number, sqlActive, account, found)
	})
	slices.Sort(ids)
	switch {
	case err != nil:
		return 0, err
	case len(ids) == 0:
		return 0, fault("contact", noContact)
	case len(ids) > 1:
		return 0, fault("contact", "is the email or the phone of several contacts: name one by its id, such as %v or %v", ids[0], ids[1])
	}
	return ids[0], nil
}

const noContact crm.Rule = "must be the id, an email or a phone of one of the account's active contacts"

func archivedFault(err error) error {
	if errors.Is(err, crm.ErrArchived) {
		return fault("contact", "is the id of an archived contact: restore the contact first")
	}
	return err
}

// CampaignNamed is the campaign of an account with an id, a slug, which may be one that it had before, or a title that no other one has. Where
// there is none, it is a fault of the field campaign.
func (s *Store) CampaignNamed(ctx context.Context, account int64, name string) (int64, error) {
	number, _ := strconv.ParseInt(name, 10, 64) // 0 is no id
	for _, ask := range []struct {
		sql string
		arg any
	}{{sqlCampaignRow, number}, {sqlSlug, name}, {sqlCampaignByOldSlug, name}} {
		row, err := find(ctx, s, crm.ErrNotFound, func(r db.Row) [2]int64 { return [2]int64{r.Int(0), r.Int(1)} }, ask.sql, ask.arg)
		switch {
		case err == nil && row[1] == account:
			return row[0], nil
		case err != nil && !errors.Is(err, crm.ErrNotFound):
			return 0, err
		}
	}
	return s.campaignTitled(ctx, account, name)
}

// campaignTitled is the only campaign of an account with a title, in any letter case.
func (s *Store) campaignTitled(ctx context.Context, account int64, title string) (found int64, err error) {
	all, err := list(ctx, s, func(r db.Row) [2]int64 { return [2]int64{r.Int(0), r.Int(1)} }, sqlReaderCampaigns, account)
	if err != nil {
		return 0, err
	}
	var own []int64
	for _, c := range all {
		if crm.Relation(c[1])&crm.Own != 0 {
			own = append(own, c[0])
		}
	}
	for some := range slices.Chunk(own, 200) {
		names, err := list(ctx, s, scanCampaignName, sqlOwnCampaigns, account, some)
		if err != nil {
			return 0, err
		}
		for _, name := range names {
			switch {
			case !strings.EqualFold(strings.TrimSpace(name.Title), title):
			case found != 0:
				return 0, fault("campaign", "is the title of several campaigns: name one by its id, such as %v or %v", found, name.ID)
			default:
				found = name.ID
			}
		}
	}
	if found == 0 {
		err = fault("campaign", noCampaign)
	}
	return found, err
}

const noCampaign crm.Rule = "must be the id, the slug or the title of one of the account's campaigns"
