// Package demo fills an empty database with a believable organization: two chapters, some 200 contacts who came over two years, a dozen
// campaigns, and what these people gave. It is stored by the same functions as real data.
package demo

import (
	"context"
	_ "embed" // the demo's data
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/config"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/picture"
	"donorbook/internal/crm/text"
	"donorbook/internal/store/book"
)

const (
	Name  = "Harbor Light Foundation" // of the organization
	Email = "demo@example.org"        // of the user that a newcomer signs in as

	keyName     = "Demo"
	lastKey     = "Newsletter export" // of the organization's own
	phoneRegion = "US"                // of the phone numbers, whatever the server's setting is
	timezone    = "America/New_York"  // of Boston, and of the chapters

	// The first gift and the first plan have the ids that the OpenAPI document has in its examples.
	giftCode = "hT3vQ9xKb2"
	planCode = "Wm4kPz81Lq"
)

//go:embed demo.json
var file []byte

// content is what demo.json holds: the organization comes first, then its chapters.
type content struct {
	Branches []struct {
		Name               string
		Contacts, Archived int
		Places             []town
		Campaigns          []json.RawMessage // oldest first
		Twins              []twin
	}
	FirstNames []string `json:"first_names"`
	LastNames  []string `json:"last_names"`
	Streets    []string
	Companies  []string
	Titles     []string
	Notes      []string
	Tags       []struct {
		Name    string
		Percent int // of the contacts
	}
	Colleagues []struct{ Name, Email, Role string } // no one knows their passwords
}

// twin is a contact whom someone has entered a second time: by a form, a phone call or a scanned letter.
type twin struct {
	Of        string   // first and last name of the other
	FirstName string   `json:"first_name"`
	LastName  string   `json:"last_name"`
	Same      []string // fields
}

type town struct {
	City, State, Zipcode string
	AreaCode             string `json:"area_code"`
}

func readContent() (d content) {
	if err := json.Unmarshal(file, &d); err != nil {
		panic(err) // it is part of the program
	}
	return d
}

// body is that of a request which creates the twin.
func (t *twin) body(people map[string]map[string]any) (map[string]any, error) {
	other, known := people[t.Of]
	if !known {
		return nil, fmt.Errorf("there is no %s to be entered twice", t.Of)
	}
	body := map[string]any{"first_name": t.FirstName, "last_name": t.LastName}
	for _, field := range t.Same {
		if body[field] = other[field]; other[field] == nil {
			return nil, fmt.Errorf("%s has no %s", t.Of, field)
		}
	}
	return body, nil
}

// Fill fills an empty database, or finds the demo in it. The store must have the given clock.
func Fill(ctx context.Context, s *book.Book, clock *Clock, log *slog.Logger) (access.Account, error) {
	accounts, err := s.Accounts(ctx)
	if err != nil {
		return access.Account{}, err
	}
	if len(accounts) == 0 {
		m := maker{
			content: readContent(), store: s, clock: clock, now: clock.at.In(text.Location(timezone)), log: log,
			random: rand.New(rand.NewPCG(1843, 7)), // the same people every time
			giving: rand.New(rand.NewPCG(1843, 8)), // beside, so that what they give does not change who they are
			phones: map[string]int{},
		}
		if err := m.make(ctx); err != nil {
			return m.root, fmt.Errorf("the demo was not finished: %w", err)
		}
		return m.root, nil
	}
	at := slices.IndexFunc(accounts, func(a access.Account) bool { return a.Name == Name && a.Parent == 0 })
	if at < 0 {
		return access.Account{}, &config.Problem{Flag: "demo", Reason: "needs an empty database, and this one has accounts: use another (--data or --database)"}
	}
	log.Info("the demo is there already", "account", accounts[at].ID)
	return accounts[at], checkComplete(ctx, s, accounts[at])
}

// checkComplete finds a demo that was interrupted: its keys are made last.
func checkComplete(ctx context.Context, s *book.Book, root access.Account) error {
	keys, err := s.Keys(ctx, root.Number)
	if err == nil && !slices.ContainsFunc(keys, func(k access.Key) bool { return k.Name == lastKey }) {
		err = &config.Problem{Flag: "demo", Reason: "an earlier start was interrupted before the demo was complete: use another database (--data or --database)"}
	}
	return err
}

// maker fills a database.
type maker struct {
	content
	store  *book.Book
	clock  *Clock
	now    time.Time
	log    *slog.Logger
	random *rand.Rand
	giving *rand.Rand
	missed int            // givers who have missed a payment
	plans  int            // that were made
	phones map[string]int // how many were used of each area code: 555-0100 to 555-0199 belong to no one
	root   access.Account

	chapter int // of the organization, 0 for itself, which alone has a gala
}

func (m *maker) make(ctx context.Context) error {
	for i, branch := range m.Branches {
		m.log.Info("filling the demo", "account", branch.Name, "contacts", branch.Contacts, "campaigns", len(branch.Campaigns))
		m.clock.at = m.now.AddDate(0, -monthsBack, i-len(m.Branches)) // one after the other, before the first contact
		account, err := m.store.CreateAccount(ctx, branch.Name, m.root.ID)
		if err != nil {
			return err
		}
		if m.chapter = i; i == 0 {
			m.root = account
		}
		if err := m.settle(ctx, account); err != nil {
			return err
		}
		campaigns, err := m.createCampaigns(ctx, account, branch.Campaigns)
		if err != nil {
			return err
		}
		givers, archive, err := m.createContacts(ctx, account, branch.Contacts, branch.Archived, branch.Places, branch.Twins)
		if err != nil {
			return err
		}
		if err := m.createGifts(ctx, account, givers, campaigns); err != nil {
			return err
		}
		for _, id := range archive {
			if err := m.store.ArchiveContact(ctx, account.Number, id); err != nil {
				return err
			}
		}
		m.clock.at = m.now
		if err := m.store.FindDuplicates(ctx, account.Number, nil); err != nil { // so that a newcomer need not wait for it
			return err
		}
	}
	return m.createKeys(ctx)
}

// donationForms are those of the organization, which also takes payments that the demo pretends, and of its chapters: one takes checks alone, and one has no way to give yet.
var donationForms = []donate.Settings{
	{Cover: donate.OfferCover, Rate: donate.Rate{Points: 290, Fixed: 30}, Consent: "Send me news from the harbor by email, about once a month.", Check: "Harbor Light Foundation\n48 Wharf Street\nBoston, MA 02110"},
	{Check: "Harbor Light Portland\n88 Commercial Street\nPortland, ME 04101"},
	{NoMonthly: true},
}

// settle says what statements and public pages tell about an account.
func (m *maker) settle(ctx context.Context, account access.Account) error {
	logo, err := m.picture(ctx, account, "logo.png", picture.Logo)
	if err != nil {
		return err
	}
	zone, address, taxID := timezone, "48 Wharf Street\nBoston, MA 02110", fmt.Sprintf("00-00018%02d", 43+m.chapter) // no one has such a number
	email, donors := "giving@harborlight.example", string(access.DonorAmounts)
	if err := m.store.SaveDonationSettings(ctx, account.Number, donationForms[m.chapter]); err != nil {
		return err
	}
	noReturn := true
	return m.store.SetAccountSettings(ctx, account.Number, access.AccountSettingsInput{
		Timezone: &zone, Address: &address, TaxID: &taxID, Logo: &logo, Email: &email, PublicDonors: &donors,
		NoReturn: &noReturn,
	})
}

// createKeys makes the keys of the organization's own programs. No one knows their secrets.
func (m *maker) createKeys(ctx context.Context) error {
	m.clock.at = m.now.AddDate(0, -5, 0)
	for _, in := range []access.KeyInput{
		{Name: "Website sign-up form", Permissions: access.ContactsWrite},
		{Name: lastKey, Permissions: access.ContactsRead, ExpiresAt: m.now.AddDate(0, 7, 0)},
	} {
		if _, _, err := m.store.CreateKey(ctx, m.root.Number, in); err != nil {
			return err
		}
	}
	return nil
}

// createContacts makes the people of an account. Some of them will be archived, and some of the last ones were there before.
func (m *maker) createContacts(ctx context.Context, account access.Account, contacts, archived int, places []town, twins []twin) (givers []donor, archive []int64, err error) {
	people := map[string]map[string]any{}
	for i, at := range arrivals(m.now, contacts) {
		m.clock.at = at
		leaves := i%(contacts/archived) == 7
		giver, mode := m.giver(at, leaves), crm.Dedupe
		person := m.person(i, places, giver.tags(m.now))
		people[fmt.Sprint(person["first_name"], " ", person["last_name"])] = person
		if left := contacts - i; left%3 == 0 && left/3 <= len(twins) {
			giver.habit, giver.atGala, mode = gaveOnce, false, crm.Force
			if person, err = twins[len(twins)-left/3].body(people); err != nil {
				return nil, nil, err
			}
		}
		body, err := json.Marshal(person)
		if err != nil {
			return nil, nil, err
		}
		in, faults, err := crm.DecodeContact(doc.NewBody(body))
		if err == nil {
			err = in.Validate(faults, true, phoneRegion, time.Now())
		}
		if err != nil {
			return nil, nil, err
		}
		in.Note = &m.Notes[i%len(m.Notes)] // which no request of the API sets
		made, err := m.store.CreateContact(ctx, account.Number, in, mode)
		if err != nil {
			return nil, nil, err
		}
		giver.id = made.ID
		givers = append(givers, giver)
		if leaves {
			archive = append(archive, made.ID)
		}
	}
	return givers, archive, nil
}

// createCampaigns makes the campaigns one by one, oldest first, so that each begins on its own day and their ids are in the order of the
// list. Dates in the file are relative to today.
func (m *maker) createCampaigns(ctx context.Context, account access.Account, campaigns []json.RawMessage) (made []drive, err error) {
	var inputs []campaign.Input
	var order []int
	gala := galaDay(m.now, 0)
	for _, one := range campaigns {
		row := strings.NewReplacer("{organization}", m.root.ID, "{last gala}", fmt.Sprint(gala.Year()), "{next gala}", fmt.Sprint(gala.Year()+1)).Replace(string(one))
		row = relativeDay.ReplaceAllStringFunc(row, func(day string) string {
			days, _ := strconv.Atoi(day[1 : len(day)-2])
			return m.now.AddDate(0, 0, days).Format(time.DateOnly)
		})
		var sketch struct {
			Demo  drive
			EndAt string `json:"end_at"`
		}
		if err := json.Unmarshal([]byte(row), &sketch); err != nil {
			return nil, err
		}
		c := sketch.Demo
		if c.from = m.now.AddDate(0, -c.Began, 11); c.Gala == "last" {
			c.from = gala.AddDate(0, -3, 0)
		}
		if sketch.EndAt != "" {
			c.until, _, _ = text.ParseMoment(sketch.EndAt)
		}
		in, err := campaign.DecodeAll([]byte("[" + row + "]"))
		if err == nil && c.Cover != "" {
			err = m.cover(ctx, account, &in[0], c.Cover)
		}
		if err == nil && c.Picture != "" {
			err = m.illustrate(ctx, account, &in[0], c.Picture, c.Shows)
		}
		if err != nil {
			return nil, err
		}
		made, inputs, order = append(made, c), append(inputs, in[0]), append(order, len(order))
	}
	slices.SortStableFunc(order, func(i, j int) int { return made[i].from.Compare(made[j].from) })
	for _, i := range order {
		m.clock.at = made[i].from
		stored, err := m.store.CreateCampaign(ctx, account, inputs[i])
		if err != nil {
			return nil, err
		}
		made[i].id = stored.ID
	}
	return made, nil
}

// relativeDay is a day that many days from now.
var relativeDay = regexp.MustCompile(`\{[+-]\d+d\}`)

// person is the body of a request that creates a contact.
func (m *maker) person(i int, places []town, tags []string) map[string]any {
	pick := func(list []string) string { return list[m.random.IntN(len(list))] }
	first, last := m.FirstNames[i%len(m.FirstNames)], m.LastNames[(i*7+i/len(m.FirstNames))%len(m.LastNames)]
	place := places[m.random.IntN(len(places))]
	emails := []map[string]string{{"type": "personal", "value": campaign.Slug(first) + "." + campaign.Slug(last) + "@example.org"}}
	body := map[string]any{"first_name": first, "last_name": last}
	if company := pick(m.Companies); company != "" {
		body["company"], body["title"] = company, pick(m.Titles)
		emails = append(emails, map[string]string{"type": "work", "value": fmt.Sprintf("%s%d@%s.example", campaign.Slug(first), i, campaign.Slug(company))})
	}
	body["emails"] = emails
	if n := m.phones[place.AreaCode]; n < 100 && m.random.IntN(5) > 0 {
		m.phones[place.AreaCode]++
		body["phones"] = []map[string]string{{"type": pick([]string{"cell", "home", "work"}), "value": fmt.Sprintf("(%s) 555-01%02d", place.AreaCode, n)}}
	}
	body["addresses"] = []map[string]string{{
		"address_1": fmt.Sprintf("%d %s Street", 1+m.random.IntN(480), pick(m.Streets)),
		"city":      place.City, "state": place.State, "zipcode": place.Zipcode, "country": "USA",
	}}
	if m.random.IntN(3) == 0 {
		body["dob"] = fmt.Sprintf("%02d/%02d/%d", 1+m.random.IntN(12), 1+m.random.IntN(28), 1942+m.random.IntN(60))
	}
	tags = slices.Clone(tags)
	for _, tag := range m.Tags {
		if m.random.IntN(100) < tag.Percent {
			tags = append(tags, tag.Name)
		}
	}
	body["tags"] = append([]string{}, tags...) // null is refused
	return body
}

// NewKey replaces the demo's key: no one has kept the secret of an earlier one.
func NewKey(ctx context.Context, s *book.Book, root access.Account) (secret string, err error) {
	keys, err := s.Keys(ctx, root.Number)
	if err != nil {
		return "", err
	}
	for _, key := range keys {
		if key.Name == keyName && key.RevokedAt.IsZero() {
			if err := s.RevokeKey(ctx, key.ID); err != nil {
				return "", err
			}
		}
	}
	_, secret, err = s.CreateKey(ctx, root.Number, access.KeyInput{Name: keyName, Permissions: access.AllPermissions})
	return secret, err
}

// NewPassword gives the user of the demo a new password: no one has kept that of an earlier start. If there is no such user yet, it
// makes one, with colleagues.
func NewPassword(ctx context.Context, s *book.Book, root access.Account) (password string, err error) {
	password = access.RandomPassword()
	if err := s.ResetPassword(ctx, Email, password); !errors.Is(err, crm.ErrNotFound) {
		return password, err
	}
	user, err := s.CreateUser(ctx, root, access.Owner, access.UserInput{Name: "Dana Harper", Email: Email, Password: password})
	if err == nil {
		err = s.OpenAccount(ctx, access.Session{User: user}, root.Number) // the first sign-in leads there
	}
	for _, c := range readContent().Colleagues {
		role, invalid := access.ParseRole(c.Role)
		if err = errors.Join(err, invalid); err == nil {
			_, err = s.CreateUser(ctx, root, role, access.UserInput{Name: c.Name, Email: c.Email, Password: access.RandomPassword()})
		}
	}
	if err != nil {
		return "", err
	}
	return password, joinChapters(ctx, s, root)
}

// joinChapters gives that user another role in each chapter, so that each role can be tried.
func joinChapters(ctx context.Context, s *book.Book, root access.Account) error {
	accounts, err := s.Accounts(ctx)
	roles := []access.Role{access.Editor, access.Viewer}
	for _, account := range accounts {
		if err == nil && account.Parent == root.Number && len(roles) > 0 {
			_, err = s.AddMember(ctx, account, roles[0], Email)
			roles = roles[1:]
		}
	}
	return err
}
