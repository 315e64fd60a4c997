// Package campaign has what an organization asks money for: what a campaign is, what a file or a form may say about it,
// its HTML and its web address. It knows no contact and no gift; what gifts come to is given to it as a number.
package campaign

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/picture"
	"donorbook/internal/crm/text"
)

// Campaign is something that an account asks money for. It is public: anyone who knows its URL may see it.
type Campaign struct {
	ID          int64
	AccountID   string // public id of the owner
	Type        string // general, collect, fundraise or event
	Title       string
	Subtitle    string // "" is unset here and in every text below
	Description string // sanitized HTML
	Slug        string // unique in the service
	Goal        int64  // in cents
	Currency    string // ISO 4217
	Logo        string
	Cover       *Cover    // nil where there is none
	EndAt       time.Time // zero where it has no end
	CreatedAt   time.Time
	UpdatedAt   time.Time
	Event       *Event // nil where there is none

	// What givers get in return, for their receipts; "none" for nothing.
	Benefit      string
	BenefitValue int64 // in cents

	// What came in before Donorbook counted gifts: the opening balance, as it was imported or typed.
	OpeningRaised int64 // in cents
	OpeningDonors int64
	Given         Given // what its gifts add to that

	// What is kept beside the document.
	Status      string // draft, published or closed
	PaymentLink string // where people donate
	ListedAt    int64  // its place in lists, oldest first across accounts: the microsecond of its creation
}

// Public is what anyone may see of a campaign. Of a private event that is its title. If the campaign is the event, the
// rest of the campaign stays private too: its texts, pictures and dates tell where and when.
func (c Campaign) Public() Campaign {
	if c.Event == nil || !c.Event.Private {
		return c
	}
	c.Event = &Event{Title: c.Event.Title, Private: true}
	if c.Type == EventCampaign {
		return Campaign{Type: c.Type, Title: c.Title, Event: c.Event, Status: c.Status}
	}
	return c
}

// Cover is the image or video at the top of a campaign.
type Cover struct {
	Type   string // image or video
	URL    string
	Source string // upload, youtube, vimeo, twitch or facebook
}

// Event is where and when the people of a campaign meet. Its times are UTC; the time zone is the one to show them in.
type Event struct {
	Title             string
	Type              string
	LocationName      string
	AddressFormatted  string
	GooglePlaceID     string
	StartAt, EndAt    time.Time
	Timezone          string // IANA name
	Details           string // sanitized HTML
	Private           bool
	TicketsRequired   bool
	Livestream        *Livestream
	LivestreamStartAt time.Time
	LivestreamEndAt   time.Time
}

// Livestream is how an event is watched from afar.
type Livestream struct {
	URL, Type, Location, Platform, EmbedURL string
	Scheduled                               bool
}

// Input is what a row of a file or a form says about a campaign. A nil field was not sent; a pointer to
// nothing ("", 0, false, no time, no object) was sent to clear the field.
type Input struct {
	Type, Title, Subtitle, Description, Slug *string
	Goal, Raised                             *int64 // in cents
	Donors                                   *int64
	Currency, Logo                           *string
	Cover                                    **Cover
	EndAt, CreatedAt, UpdatedAt              *time.Time
	Event                                    **Event
	Status, PaymentLink                      *string
	Benefit                                  *string
	BenefitValue                             *int64            // in cents
	Beneficiaries                            *[]string         // public ids of accounts
	Pictures                                 []picture.Picture // that were uploaded for it
	// the version of what the change is about; "" for whatever is there
	Seen string
}

// typeNames and statusNames are what clients of other services call the types and the states of campaigns.
var (
	typeNames = map[string]string{
		"standard": "collect", "donation": "collect", "donation_form": "collect", "form": "collect",
		"appeal":     "collect",
		"fundraiser": "fundraise", "fundraising": "fundraise", "peer_to_peer": "fundraise", "p2p": "fundraise",
		"team": "fundraise", "crowdfunding": "fundraise",
		"ticketed_event": EventCampaign, "ticketing": EventCampaign, "general_fund": "general", "fund": "general",
	}
	statusNames = map[string]string{
		"active": Published, "live": Published, "unpublished": Draft, "inactive": Draft, "ended": Closed,
		"completed": Closed, "archived": Closed,
	}
)

const (
	defaultCampaignType = "collect"

	// EventCampaign is the type of a campaign whose givers may get something in return, such as a dinner.
	EventCampaign = "event"

	maxBeneficiaries = 1000
)

// Table is a campaign, field by field. A new field is a line here, and a field in the two types above.
var Table = doc.Table[*Campaign, *Input]{
	doc.Kept[*Campaign, *Input]("account_id", doc.String(doc.MaxText),
		func(c *Campaign) *string { return &c.AccountID }),
	doc.Sent("type", "Type", called(typeNames, doc.Among("general", "collect", "fundraise",
		"event").Or(defaultCampaignType)), func(c *Campaign) *string { return &c.Type },
		func(in *Input) **string { return &in.Type }),
	doc.Sent("title", "Title", doc.String(doc.MaxText).Needed(), func(c *Campaign) *string { return &c.Title },
		func(in *Input) **string { return &in.Title }),
	doc.Sent("subtitle", "Subtitle", doc.String(doc.MaxText), func(c *Campaign) *string { return &c.Subtitle },
		func(in *Input) **string { return &in.Subtitle }),
	doc.Sent("description", "Description", htmlText(), func(c *Campaign) *string { return &c.Description },
		func(in *Input) **string { return &in.Description }),
	doc.Sent("slug", "Web address", slugKind(), func(c *Campaign) *string { return &c.Slug },
		func(in *Input) **string { return &in.Slug }),
	// never anything to escape
	doc.Derived[*Campaign, *Input]("url", func(dst []byte, c *Campaign) []byte {
		return append(append(append(dst,
			`"/`...), c.Slug...), '"')
	}),
	doc.Sent("goal", "Goal", cents, func(c *Campaign) *int64 { return &c.Goal },
		func(in *Input) **int64 { return &in.Goal }),
	doc.Sent("raised", "Raised before Donorbook", cents, func(c *Campaign) *int64 { return &c.OpeningRaised },
		func(in *Input) **int64 { return &in.Raised }),
	doc.Sent("donors", "Donors before Donorbook", count, func(c *Campaign) *int64 { return &c.OpeningDonors },
		func(in *Input) **int64 { return &in.Donors }),
	doc.Sent("currency", "Currency", currencyKind().Or(text.DefaultCurrency),
		func(c *Campaign) *string { return &c.Currency }, func(in *Input) **string { return &in.Currency }),
	doc.Sent("logo", "Logo image", pictureLink(), func(c *Campaign) *string { return &c.Logo },
		func(in *Input) **string { return &in.Logo }),
	doc.Sent("cover", "Cover", doc.Nested(coverTable), func(c *Campaign) **Cover { return &c.Cover },
		func(in *Input) ***Cover { return &in.Cover }),
	doc.Sent("end_at", "End date", endTime(), func(c *Campaign) *time.Time { return &c.EndAt },
		func(in *Input) **time.Time { return &in.EndAt }),
	doc.Sent("created_at", "Creation", createdTime(), func(c *Campaign) *time.Time { return &c.CreatedAt },
		func(in *Input) **time.Time { return &in.CreatedAt }).InFiles(),
	doc.Sent("updated_at", "Last change", campaignTime.Staying(), func(c *Campaign) *time.Time { return &c.UpdatedAt },
		func(in *Input) **time.Time { return &in.UpdatedAt }).InFiles().
		NotBefore("created_at", func(in *Input) (start, end time.Time) {
			return valueOf(in.CreatedAt),
				valueOf(in.UpdatedAt)
		}),
	doc.Sent("event", "Event", doc.Nested(eventTable), func(c *Campaign) **Event { return &c.Event },
		func(in *Input) ***Event { return &in.Event }),
	doc.Sent(benefitField, "Given in return", doc.String(doc.MaxText), func(c *Campaign) *string { return &c.Benefit },
		func(in *Input) **string { return &in.Benefit }),
	doc.Sent(benefitValueField, "Its value", cents, func(c *Campaign) *int64 { return &c.BenefitValue },
		func(in *Input) **int64 { return &in.BenefitValue }),
	doc.Sent("status", "Status", called(statusNames, doc.Among(Draft, Published, Closed).Or(Published)),
		func(c *Campaign) *string { return &c.Status },
		func(in *Input) **string { return &in.Status }).InColumn().InFiles(),
	doc.Sent("payment_link", "Payment link", secureLink(doc.PaymentURL),
		func(c *Campaign) *string { return &c.PaymentLink },
		func(in *Input) **string { return &in.PaymentLink }).InColumn(),
	beneficiariesField(),
}

const benefitField, benefitValueField = "benefit", "benefit_value"

var campaignFields = Table.Paths()

var coverTable = doc.Table[*Cover, *Cover]{
	doc.Part("type", "type", doc.Among("image", "video").Or("image").Choice(),
		func(c *Cover) *string { return &c.Type }),
	coverURL(),
	doc.Part("source", "source", doc.Among("upload", "youtube", "vimeo", "twitch", "facebook").Or("upload").Choice(),
		func(c *Cover) *string { return &c.Source }),
}

var eventTable = doc.Table[*Event, *Event]{
	doc.Part("title", "title", eventTitle(), func(e *Event) *string { return &e.Title }),
	doc.Part("type", "format", doc.String(doc.MaxText).Or("in_person").Choice(),
		func(e *Event) *string { return &e.Type }),
	doc.Part("location_name", "Venue", doc.String(doc.MaxText), func(e *Event) *string { return &e.LocationName }),
	doc.Part("address_formatted", "address", doc.String(doc.MaxText),
		func(e *Event) *string { return &e.AddressFormatted }),
	doc.Part("google_place_id", "Google place ID", doc.String(doc.MaxText),
		func(e *Event) *string { return &e.GooglePlaceID }),
	eventTime("start_at", "start", campaignTime, func(e *Event) *time.Time { return &e.StartAt }),
	eventTime("end_at", "end", endTime(), func(e *Event) *time.Time { return &e.EndAt }).
		NotBefore("start_at", func(e *Event) (start, end time.Time) { return e.StartAt, e.EndAt }),
	doc.Part("timezone", "time zone", doc.Matching(text.IsTimezone, doc.Timezone),
		func(e *Event) *string { return &e.Timezone }),
	doc.Part("details", "Details for guests", htmlText(), func(e *Event) *string { return &e.Details }),
	doc.Part("private", "private", doc.YesNo, func(e *Event) *bool { return &e.Private }),
	doc.Part("tickets_required", "tickets", doc.YesNo, func(e *Event) *bool { return &e.TicketsRequired }),
	doc.Part("livestream", "livestream", doc.Nested(livestreamTable),
		func(e *Event) **Livestream { return &e.Livestream }),
	eventTime("livestream_start_at", "Stream start", campaignTime,
		func(e *Event) *time.Time { return &e.LivestreamStartAt }),
	eventTime("livestream_end_at", "Stream end", endTime(), func(e *Event) *time.Time { return &e.LivestreamEndAt }).
		NotBefore("livestream_start_at", func(e *Event) (start, end time.Time) {
			return e.LivestreamStartAt,
				e.LivestreamEndAt
		}),
}

var livestreamTable = doc.Table[*Livestream, *Livestream]{
	doc.Part("url", "Watch link", doc.Link(), func(l *Livestream) *string { return &l.URL }),
	doc.Part("type", "Stream type", doc.String(doc.MaxText), func(l *Livestream) *string { return &l.Type }),
	doc.Part("location", "Stream location", doc.String(doc.MaxText),
		func(l *Livestream) *string { return &l.Location }),
	doc.Part("platform", "platform", doc.String(doc.MaxText), func(l *Livestream) *string { return &l.Platform }),
	doc.Part("embed_url", "Embed link", doc.Link(), func(l *Livestream) *string { return &l.EmbedURL }),
	doc.Part("scheduled", "scheduled", doc.YesNo, func(l *Livestream) *bool { return &l.Scheduled }),
}

// coverURL is needed, and is that of an image unless the cover is a video.
func coverURL() doc.Field[*Cover, *Cover] {
	f := doc.Part("url", "Cover image or video", doc.Link(), func(c *Cover) *string { return &c.URL })
	video, image := f.Check, doc.Part("url", "", pictureLink(), func(c *Cover) *string { return &c.URL }).Check
	f.Check = func(c *doc.Checker, at doc.Place, cover *Cover) {
		if cover.URL == "" {
			c.AddAt(at, "url", doc.Required)
		}
		if cover.Type == "image" {
			image(c, at, cover)
		} else {
			video(c, at, cover)
		}
	}
	return f
}

// eventTime is a time that a form shows as a clock at the event does.
func eventTime(name, label string, k doc.Kind[time.Time], in func(*Event) *time.Time) doc.Field[*Event, *Event] {
	f := doc.Part(name, label, k, in)
	f.Fill = func(e *Event, at doc.Place, set doc.Setter) { set(at.Field(name), localTimeText(*in(e), e.Timezone)) }
	return f
}

// createdTime keeps the creation within the years in which its microsecond is a positive integer that every JSON client
// holds exactly: it becomes the id.
func createdTime() doc.Kind[time.Time] {
	return campaignTime.Staying().And(func(c *doc.Checker, at doc.Place, name string, t *time.Time) {
		if !t.IsZero() && (t.Year() < 1971 || t.Year() > 2199) {
			c.AddAt(at, name, "must be between the years 1971 and 2199")
		}
	})
}

// beneficiariesField is a list of accounts, which is kept elsewhere.
func beneficiariesField() doc.Field[*Campaign, *Input] {
	return doc.Field[*Campaign, *Input]{
		Stored: doc.Stored[*Campaign]{Name: "beneficiaries", Label: "Beneficiary", Plural: "Beneficiaries"},
		Read: func(r *doc.Reader, in *Input) {
			ids := []string{}
			r.List(maxBeneficiaries, func() { ids = append(ids, r.Text()) })
			in.Beneficiaries = &ids
		},
		Take: func(form doc.Form, _ doc.Place, in *Input) {
			in.Beneficiaries = differentWords(form.Value("beneficiaries"))
		},
		Check: func(c *doc.Checker, _ doc.Place, in *Input) { in.checkBeneficiaries(c) },
	}
}

func (in *Input) checkBeneficiaries(c *doc.Checker) {
	if in.Beneficiaries == nil {
		return
	}
	if len(*in.Beneficiaries) > maxBeneficiaries {
		c.Add("beneficiaries", doc.TooMany, maxBeneficiaries)
		return
	}
	kept := []string{}
	var seen text.Set
	for i, id := range *in.Beneficiaries {
		if !access.IsAccountID(id) {
			c.AddAt(doc.ElementOf("beneficiaries", i), "", "must be an account id of 16 letters and digits")
		}
		if seen.Add(id) {
			kept = append(kept, id)
		}
	}
	*in.Beneficiaries = kept
}

// Validate checks everything about the input that does not depend on the stored campaign, sanitizes its HTML and
// fills in the defaults of a cover and an event. New campaigns need a title. faults are those found while reading.
func (in *Input) Validate(faults *doc.Invalid, isNew bool) error {
	c := doc.NewChecker(faults, isNew)
	Table.Check(c, doc.Place{}, in)
	doc.SortFaults(&c.Invalid, campaignFields)
	return c.Err()
}

// CheckNew is the fault of an input that was validated as a change, when there is nothing to change.
func (in *Input) CheckNew() error {
	if in.Title == nil || *in.Title == "" {
		return doc.NewInvalid("title", doc.Required)
	}
	return nil
}

// New makes a campaign of an input that was validated as a new one. The store finds the slug,
// the first of SlugCandidates that is free, and gives the id.
func New(in Input, account access.Account, id int64, slug string, now time.Time) Campaign {
	listedAt := in.listedAt(now)
	now = now.UTC().Truncate(time.Second)
	c := Campaign{
		ID: id, AccountID: account.ID, Type: defaultCampaignType, Currency: text.DefaultCurrency, Status: Published,
		ListedAt:  listedAt,
		CreatedAt: now, UpdatedAt: now,
	}
	c.apply(&in, now)
	c.Slug = slug
	c.UpdatedAt = text.ChangeTime(c.UpdatedAt, c.CreatedAt) // a creation in the future may have been sent
	return c
}

// Update is the campaign with what was sent: present keys overwrite, missing ones stay, null goes back to the
// default. A cover and an event are replaced whole. Where nothing changes, updated_at stays as well.
func (c Campaign) Update(in Input, now time.Time) Campaign {
	next := c
	next.apply(&in, now)
	before, _ := c.AppendBody(nil)
	if after, _ := next.AppendBody(nil); valueOf(in.UpdatedAt).IsZero() &&
		(!bytes.Equal(before, after) || next.Status != c.Status) {
		next.UpdatedAt = text.ChangeTime(now, c.UpdatedAt)
	}
	next.UpdatedAt = text.ChangeTime(next.UpdatedAt, next.CreatedAt)
	return next
}

func (c *Campaign) apply(in *Input, now time.Time) {
	for i := range Table {
		if patch := Table[i].Patch; patch != nil {
			patch(c, in, now)
		}
	}
	if c.Event != nil && c.Event.Title == "" {
		event := *c.Event
		event.Title = c.Title
		c.Event = &event
	}
}

func valueOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// Append appends the wire form of a campaign whose stored body is given. The public base URL is that of the request,
// the gifts are counted elsewhere, and the status is kept beside it, so all are put in here. The code, which is the
// slug, comes after what is specified.
func Append(dst []byte, id int64, body []byte, urlAt int, baseURL string, given Given, status string) []byte {
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendInt(dst, id, 10)
	quoted, err := jsontext.AppendQuote(nil, strings.TrimSuffix(baseURL, "/"))
	if err != nil {
		panic(fmt.Sprintf("campaign: the base URL is not UTF-8: %v", err))
	}
	base := string(quoted[1 : len(quoted)-1])
	dst = appendPictures(dst, body[:urlAt], base)
	dst = given.appendTo(append(dst, base...), body[urlAt:], base)
	slug, _, _ := bytes.Cut(body[urlAt+1:], []byte(`"`))
	dst = append(append(dst[:len(dst)-1], `,"code":"`...), slug...)
	return append(append(append(dst, `","status":"`...), status...), `"}`...)
}

// AppendBody appends everything of the wire form that follows the id, with a url that lacks the base. This is what
// the store keeps, together with urlAt: how many bytes of it come before the place where the base URL belongs.
func (c *Campaign) AppendBody(dst []byte) (body []byte, urlAt int) {
	start := len(dst)
	for i := range Table {
		f := &Table[i]
		isBenefit := f.Name == benefitField || f.Name == benefitValueField
		// as in documents from before there were benefits
		if f.Append == nil || isBenefit && c.Benefit == "" && c.BenefitValue == 0 {
			continue
		}
		dst = append(append(append(dst, `,"`...), f.Name...), `":`...)
		if f.Name == "url" {
			urlAt = len(dst) + 1 - start
		}
		dst = f.Append(dst, c)
	}
	return append(dst, '}'), urlAt
}

// Parse reads a stored body back.
func Parse(id int64, body []byte) (Campaign, error) {
	c := Campaign{ID: id}
	if err := doc.ReadStored(body, func(r *doc.Reader, key string) { Table.Load(r, key, &c) }); err != nil {
		return Campaign{}, fmt.Errorf("campaign %d: %w", id, err)
	}
	return c, nil
}

// Relation is why an account may list a campaign, as a set of bits.
type Relation int64

const (
	Own        Relation = 1 << iota // the account owns it
	Benefiting                      // the account is a beneficiary
	Chapter                         // an account below owns it, at any depth
)

// While is the relation to a campaign with a status: those it benefits learn of it once it is published.
func (r Relation) While(status string) Relation {
	if status == Draft && r&Own == 0 {
		r &^= Benefiting
	}
	return r
}

// Scope is which campaigns a list shows.
type Scope string

const (
	OwnCampaigns        Scope = ""
	BenefitingCampaigns Scope = "benefiting"
	ChapterCampaigns    Scope = "chapters"
	AllCampaigns        Scope = "all"
)

// Scopes are all scopes.
var Scopes = []Scope{OwnCampaigns, BenefitingCampaigns, ChapterCampaigns, AllCampaigns}

var campaignMasks = map[Scope]Relation{
	OwnCampaigns: Own, BenefitingCampaigns: Benefiting, ChapterCampaigns: Chapter,
	AllCampaigns: Own | Benefiting | Chapter,
}

// scopeAliases are what clients of other services call the scopes; null is one that they have not set.
var scopeAliases = map[string]Scope{"null": OwnCampaigns, "owned": OwnCampaigns, "beneficiary": BenefitingCampaigns,
	"chapter": ChapterCampaigns}

// ParseScope reads the query parameter scope of the campaign list; "" is the default.
func ParseScope(s string) (Scope, error) {
	if scope, ok := scopeAliases[s]; ok {
		return scope, nil
	}
	if campaignMasks[Scope(s)] == 0 {
		return OwnCampaigns, doc.NewInvalid("scope", doc.OneOf, "benefiting, chapters, all")
	}
	return Scope(s), nil
}

// Mask is the relations of which a campaign must have one to be listed.
func (s Scope) Mask() Relation { return campaignMasks[s] }

// Version names the state that a campaign is in. Whom it benefits and where people donate is no part of what the API
// shows of it, but people change it on the same form.
func (c *Campaign) Version(beneficiaries []string) string {
	body, _ := c.AppendBody(nil)
	return doc.VersionOf(append(body, strings.Join(beneficiaries, " ")+" "+c.PaymentLink...))
}

// Differences compares a campaign with what it became.
func (c *Campaign) Differences(after *Campaign) doc.Differences {
	return doc.Compare(Table, c, after)
}

var (

	// Limit counts the campaigns of an organization and of all its chapters.
	Limit = doc.Limit{Max: 10_000,
		Reached: "This organization and its chapters have 10,000 campaigns, the most they can have. Edit one that has ended instead of creating another."}
)
