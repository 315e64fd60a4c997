package cli

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"donorbook/internal/config"
	"donorbook/internal/crm"
	"donorbook/internal/store"
)

// The demo is a believable organization with two chapters, some 200 contacts who came over a year and a half, and a dozen
// campaigns. It goes through the same functions as everybody's data.

const (
	demoName    = "Harbor Light Foundation"
	demoKeyName = "Demo"
)

//go:embed demo_campaigns.json
var demoCampaigns []byte

// demoBranch is one account of the demo.
type demoBranch struct {
	name     string
	contacts int
	archived int
	rows     []int // of demo_campaigns.json, oldest first
	places   []demoPlace
}

type demoPlace struct {
	city, state, zip, areaCode string
}

var demoBranches = []demoBranch{
	{demoName, 160, 6, []int{4, 0, 2, 1, 3}, []demoPlace{
		{"Boston", "MA", "02110", "617"}, {"Cambridge", "MA", "02139", "857"}, {"Providence", "RI", "02903", "401"}, {"Hartford", "CT", "06103", "860"},
	}},
	{"Harbor Light Portland", 25, 1, []int{5, 6, 7, 8}, []demoPlace{{"Portland", "ME", "04101", "207"}, {"South Portland", "ME", "04106", "207"}}},
	{"Harbor Light Vermont", 20, 1, []int{9, 10, 11}, []demoPlace{{"Burlington", "VT", "05401", "802"}, {"Winooski", "VT", "05404", "802"}}},
}

// demoTag is a tag and how many of a hundred contacts have it.
type demoTag struct {
	name  string
	share int
}

// demoRegion is where the phone numbers of the demo are from, whatever the server's setting is.
const demoRegion = "US"

// fillDemo fills an empty database, or finds the demo that is there. The store has the given clock.
func fillDemo(ctx context.Context, s *store.Store, clock *demoClock, log *slog.Logger) (crm.Account, error) {
	accounts, err := s.Accounts(ctx)
	if err != nil {
		return crm.Account{}, err
	}
	if len(accounts) == 0 {
		root, err := makeDemo(ctx, s, clock, log)
		if err != nil {
			return root, fmt.Errorf("the demo was not finished: %w", err)
		}
		return root, nil
	}
	at := slices.IndexFunc(accounts, func(a crm.Account) bool { return a.Name == demoName && a.Parent == 0 })
	if at < 0 {
		return crm.Account{}, &config.Problem{Flag: "demo", Reason: "needs an empty database, and this one has accounts: use another (--data or --database)"}
	}
	log.Info("the demo is there already", "account", accounts[at].ID)
	return accounts[at], checkDemo(ctx, s, accounts[at])
}

// checkDemo finds a demo that was interrupted: the campaigns of the last branch are what is made last.
func checkDemo(ctx context.Context, s *store.Store, root crm.Account) error {
	want := 0
	for _, branch := range demoBranches {
		want += len(branch.rows)
	}
	_, found, err := s.Campaigns(ctx, root.Number, crm.AllCampaigns, crm.PageRequest{Page: 1, PerPage: 1}, "", nil, nil)
	if err == nil && found.Total < int64(want) {
		err = &config.Problem{Flag: "demo", Reason: "an earlier start was interrupted before the demo was complete: use another database (--data or --database)"}
	}
	return err
}

// demoKey replaces the demo's key: the value of an earlier one is known to nobody.
func demoKey(ctx context.Context, s *store.Store, root crm.Account) (secret string, err error) {
	keys, err := s.Keys(ctx, root.Number)
	if err != nil {
		return "", err
	}
	for _, key := range keys {
		if key.Name == demoKeyName && key.RevokedAt.IsZero() {
			if err := s.RevokeKey(ctx, key.ID); err != nil {
				return "", err
			}
		}
	}
	_, secret, err = s.CreateKey(ctx, root.Number, crm.KeyInput{Name: demoKeyName, Permissions: crm.AllPermissions})
	return secret, err
}

func makeDemo(ctx context.Context, s *store.Store, clock *demoClock, log *slog.Logger) (root crm.Account, err error) {
	now := clock.at
	random := rand.New(rand.NewPCG(1843, 7)) // the same people every time
	numbers := demoNumbers{}
	for i, branch := range demoBranches {
		log.Info("filling the demo", "account", branch.name, "contacts", branch.contacts, "campaigns", len(branch.rows))
		clock.at = now.AddDate(0, -demoMonths, i-len(demoBranches)) // one after the other, before anybody comes
		account, err := s.CreateAccount(ctx, branch.name, root.ID)
		if err != nil {
			return root, err
		}
		if root.ID == "" {
			root = account
			if err := demoPrograms(ctx, s, root, clock, now); err != nil {
				return root, err
			}
		}
		if err := branch.fill(ctx, s, account, clock, now, random, numbers); err != nil {
			return root, err
		}
		if err := branch.importCampaigns(ctx, s, account, root, clock, now); err != nil {
			return root, err
		}
	}
	return root, nil
}

// demoPrograms makes the keys of the organization's own programs. Nobody has their values.
func demoPrograms(ctx context.Context, s *store.Store, root crm.Account, clock *demoClock, now time.Time) error {
	clock.at = now.AddDate(0, -5, 0)
	for _, in := range []crm.KeyInput{
		{Name: "Website sign-up form", Permissions: crm.ContactsWrite},
		{Name: "Newsletter export", Permissions: crm.ContactsRead, ExpiresAt: now.AddDate(0, 7, 0)},
	} {
		if _, _, err := s.CreateKey(ctx, root.Number, in); err != nil {
			return err
		}
	}
	return nil
}

func (b demoBranch) fill(ctx context.Context, s *store.Store, account crm.Account, clock *demoClock, now time.Time, random *rand.Rand, numbers demoNumbers) error {
	var archived []int64
	for i, at := range demoTimes(now, b.contacts) {
		clock.at = at
		in := b.person(i, random, numbers)
		if err := in.Validate(nil, true, demoRegion, time.Now()); err != nil {
			return err
		}
		made, err := s.CreateContact(ctx, account.Number, in, crm.Dedupe)
		if err != nil {
			return err
		}
		if i%(b.contacts/b.archived) == 7 {
			archived = append(archived, made.ID)
		}
	}
	for _, id := range archived {
		if err := s.ArchiveContact(ctx, account.Number, id); err != nil {
			return err
		}
	}
	return nil
}

// importCampaigns makes the campaigns one by one, so that each has a day on which it began.
func (b demoBranch) importCampaigns(ctx context.Context, s *store.Store, account, root crm.Account, clock *demoClock, now time.Time) error {
	document := strings.ReplaceAll(string(demoCampaigns), "{organization}", root.ID)
	all, err := crm.DecodeCampaigns([]byte(document))
	if err != nil {
		return err
	}
	for i, row := range b.rows {
		clock.at = now.AddDate(0, -3*(len(b.rows)-i), 11)
		if _, err := s.ImportCampaigns(ctx, account, all[row:row+1]); err != nil {
			return err
		}
	}
	return nil
}

var (
	demoFirst = strings.Fields(`Amelia Noah Priya Liam Sofia Mateo Grace Omar Hannah Kenji Zoë Daniel Fatima Lucas Ingrid
		Samuel Chloé Jorge Naomi Elijah Maya Andrés Ruth Tomás Leila Peter Yuki Abigail Kwame Elena Walter Aisha Henry
		Camila Björn Evelyn Ravi Nora Marcus Linh`)
	demoLast = strings.Fields(`Okafor Sullivan Nguyễn Martínez Cohen Patel Johansson Williams Rossi Kowalski Haddad Brown
		O'Brien Tanaka Silva Müller Ahmed Carter Lefèvre Jackson Novak Moreau Fitzgerald Park Adeyemi Thompson Castillo
		Schmidt Reyes Bennett`)
	demoStreets   = strings.Fields(`Atlantic Beacon Chestnut Commercial Congress Elm Fairview Franklin Harbor Linden Maple Prospect Summer Walnut Water`)
	demoCompanies = []string{"", "", "", "Northeast Credit Union", "Tidewater Architects", "Seacoast Dental", "Blue Heron Books", "Granite State Power", "Commonwealth Tutoring"}
	demoTitles    = []string{"Director", "Program Manager", "Owner", "Accountant", "Teacher", "Nurse Practitioner"}
	demoNotes     = []string{"", "Asked for receipts by post.", "", "", "Came to the gala with two friends.\nLikes to hear how the shelter is doing; call in the evening.", "", "Speaks Portuguese. Offered to translate letters."}
	demoTags      = []demoTag{{"newsletter", 62}, {"monthly donor", 34}, {"volunteer", 27}, {"gala 2025", 22}, {"alumni", 17}, {"lapsed", 13}, {"peer fundraiser", 11}, {"corporate partner", 8}, {"major donor", 6}, {"board", 4}}
)

// demoNumbers counts the numbers given out in each area code: 555-0100 to 555-0199 are nobody's.
type demoNumbers map[string]int

func (b demoBranch) person(i int, random *rand.Rand, numbers demoNumbers) crm.ContactInput {
	pick := func(list []string) string { return list[random.IntN(len(list))] }
	first, last := demoFirst[i%len(demoFirst)], demoLast[(i*7+i/len(demoFirst))%len(demoLast)]
	in := crm.ContactInput{FirstName: &first, LastName: &last}
	place := b.places[random.IntN(len(b.places))]

	emails := []crm.Email{{Type: "personal", Value: crm.Slug(first) + "." + crm.Slug(last) + "@example.org"}}
	if company := pick(demoCompanies); company != "" {
		title := pick(demoTitles)
		in.Company, in.Title = &company, &title
		emails = append(emails, crm.Email{Type: "work", Value: fmt.Sprintf("%s%d@%s.example", crm.Slug(first), i, crm.Slug(company))})
	}
	in.Emails = &emails
	if n := numbers[place.areaCode]; n < 100 && random.IntN(5) > 0 {
		numbers[place.areaCode]++
		in.Phones = &[]crm.Phone{{Type: []string{"cell", "home", "work"}[random.IntN(3)], Value: fmt.Sprintf("(%s) 555-01%02d", place.areaCode, n)}}
	}
	in.Addresses = &[]crm.Address{{
		Line1: fmt.Sprintf("%d %s Street", 1+random.IntN(480), pick(demoStreets)),
		City:  place.city, State: place.state, Zipcode: place.zip, Country: "USA",
	}}
	if random.IntN(3) == 0 {
		dob := fmt.Sprintf("%02d/%02d/%d", 1+random.IntN(12), 1+random.IntN(28), 1942+random.IntN(60))
		in.DOB = &dob
	}
	in.Note = &demoNotes[i%len(demoNotes)]
	var tags []string
	for _, tag := range demoTags {
		if random.IntN(100) < tag.share {
			tags = append(tags, tag.name)
		}
	}
	in.Tags = &tags
	return in
}
