package campaigns

import (
	"errors"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/picture"
	"donorbook/internal/store"
)

// campaignFormView is the form of a campaign, new or not.
type campaignFormView struct {
	Form          *page.Form
	Title, Name   string // Name is that of the campaign, "" for a new one
	Action, Back  string
	Save          string // what the button says
	Beneficiaries []beneficiary
	EventTypes    []page.Option
	Open          map[string]bool // which folds are, by their names
	Zones         []string
	Currencies    []string
	Cover, Logo   page.PictureField
	Picture       page.PictureField // for the story
	NoWay         bool              // visitors will not be able to give
}

// Story is what the page will show of the text that was typed.
func (v campaignFormView) Story() template.HTML {
	return template.HTML(campaign.Shown(campaign.Story(v.Form.Value("description"))))
}

// IsHTML tells whether a text of the form is HTML, which light formatting could not say.
func (v campaignFormView) IsHTML(field string) bool { return campaign.IsHTML(v.Form.Value(field)) }

// folds are the parts of the form that few campaigns need, with their fields. They are open where something is wrong in them.
var folds = map[string][]string{
	"page":          {"subtitle", "slug", "type", "logo", page.LogoField.File()},
	"money":         {"currency", "payment_link", "raised", "donors"},
	"beneficiaries": {"beneficiaries", otherField},
}

// Suggestions; every other time zone and currency may be typed.
var (
	timeZones = strings.Fields(`America/New_York America/Chicago America/Denver America/Phoenix America/Los_Angeles America/Anchorage
		Pacific/Honolulu America/Toronto America/Vancouver America/Mexico_City America/Sao_Paulo Europe/London Europe/Dublin Europe/Lisbon
		Europe/Paris Europe/Berlin Europe/Zurich Europe/Madrid Europe/Rome Europe/Warsaw Europe/Athens Europe/Kyiv Asia/Jerusalem Africa/Lagos
		Africa/Nairobi Africa/Johannesburg Asia/Dubai Asia/Kolkata Asia/Singapore Asia/Manila Asia/Tokyo Australia/Sydney Pacific/Auckland UTC`)
	currencyCodes = strings.Fields("USD CAD EUR GBP CHF AUD NZD MXN BRL SEK NOK DKK PLN ILS INR JPY KES NGN PHP ZAR")
)

// otherField takes the ids of accounts that are not in the list of boxes.
const otherField = "other_beneficiaries"

func NewPage(r *page.Request) error {
	r.Form.SetUnsent("type", "collect")
	r.Form.SetUnsent("currency", "USD")
	return campaignForm(r, http.StatusOK, campaign.Campaign{})
}

// previewStory answers with the story as the page will show it, and without a script with the whole form.
func previewStory(r *page.Request, old campaign.Campaign) error {
	if r.IsPart() {
		return r.RenderPart("campaign_form", "story", page.View{Data: campaignFormView{Form: r.Form}})
	}
	return campaignForm(r, http.StatusOK, old)
}

func Create(r *page.Request) error {
	if r.Form.PreviewsStory() {
		return previewStory(r, campaign.Campaign{})
	}
	var made campaign.Campaign
	in, err := readCampaign(r, campaign.Campaign{})
	if status := campaign.Draft; r.Form.Value("status") == status { // one of the two buttons
		in.Status = &status
	}
	if err == nil {
		made, err = r.Store.CreateCampaign(r.Once(shownCampaign(r)), r.Membership.Account, in)
	}
	if err != nil {
		return refuseCampaign(r, in, campaign.Campaign{}, err)
	}
	said := stateNotice(made)
	said.Warning = removedWarning(r.Form)
	page.LeaveNotice(r.W, said)
	return r.Redirect(r.Path(page.CampaignPath(made.ID)))
}

func shownCampaign(r *page.Request) func(store.Result) page.Next {
	return func(made store.Result) page.Next {
		return page.Next{To: r.Path(page.CampaignPath(made.(store.MadeCampaign).ID)), Notice: page.Notice{Text: "The campaign was created."}}
	}
}

func EditPage(r *page.Request, record store.CampaignRecord) (err error) {
	if r.Form.Path != "" { // it was sent
		return campaignForm(r, http.StatusOK, record.Campaign)
	}
	campaign.FillForm(record.Campaign, record.Beneficiaries, r.Membership.Timezone, r.Form.Set)
	r.Form.Fields["beneficiaries"] = record.Beneficiaries
	known, err := knownAccounts(r)
	if err != nil {
		return err
	}
	var others []string
	for _, id := range record.Beneficiaries {
		if !slices.ContainsFunc(known, func(b beneficiary) bool { return b.ID == id }) {
			others = append(others, id)
		}
	}
	r.Form.Set(otherField, strings.Join(others, "\n"))
	r.Form.Set(page.SeenField, record.Version())
	r.Form.KeepPictures(nil)
	return campaignForm(r, http.StatusOK, record.Campaign)
}

func Save(r *page.Request, record store.CampaignRecord) (err error) {
	if r.Form.PreviewsStory() {
		return previewStory(r, record.Campaign)
	}
	old, saved := record.Campaign, campaign.Campaign{}
	in, err := readCampaign(r, old)
	in.Seen = r.Form.Value(page.SeenField)
	if err == nil {
		saved, err = r.Store.UpdateCampaign(r.Context(), r.Membership.Account, old.ID, in)
	}
	if errors.Is(err, crm.ErrChanged) {
		return refuseOldCampaign(r, in)
	}
	if err != nil {
		return refuseCampaign(r, in, old, err)
	}
	page.LeaveNotice(r.W, page.Notice{Text: "“" + saved.Title + "” saved.", Warning: removedWarning(r.Form)})
	return r.Redirect(r.Path(page.CampaignPath(saved.ID)))
}

// readCampaign makes an input of the form that was sent, with its pictures.
func readCampaign(r *page.Request, old campaign.Campaign) (in campaign.Input, err error) {
	made, err := r.ReceivePictures(page.CampaignPictures...)
	if err != nil {
		return in, err
	}
	for _, p := range page.CampaignPictures {
		r.Form.Set(p.Name, r.Form.Address(p, made))
	}
	in, err = campaign.ReadForm(campaignValues(r.Form), old, r.Membership.Timezone)
	in.Pictures = slices.Collect(maps.Values(made))
	if err == nil && len(r.Form.Faults) > 0 {
		err = page.ErrRefused
	}
	return in, err
}

// removedWarning says what was taken out of the texts that were typed, "" for nothing.
func removedWarning(f *page.Form) string {
	kinds := append(campaign.RemovedHTML(f.Value("description")), campaign.RemovedHTML(f.Value("event.details"))...)
	slices.Sort(kinds)
	if kinds = slices.Compact(kinds); len(kinds) == 0 {
		return ""
	}
	warning := "Some HTML isn’t allowed and was removed: " + strings.Join(kinds, ", ") + "."
	if slices.Contains(kinds, "images") || slices.Contains(kinds, "links") {
		warning += " Images and links must start with https://."
	}
	return warning
}

// refuseOldCampaign shows the form again where someone else has changed the campaign since it was opened.
func refuseOldCampaign(r *page.Request, in campaign.Input) error {
	record, err := Own(r)
	if err != nil {
		return err
	}
	r.Form.FailSeen("campaign", record.Version())
	r.Form.KeepPictures(in.Pictures)
	return campaignForm(r, http.StatusUnprocessableEntity, record.Campaign)
}

// Own is a campaign that the organization may change. Those that it only sees have no such page.
func Own(r *page.Request) (store.CampaignRecord, error) {
	record, err := Of(r)
	if err == nil && record.Relation&campaign.Own == 0 {
		err = crm.ErrNotFound
	}
	return record, err
}

// campaignValues are the fields as crm reads them: the boxes and the ids that were typed are one list, and a picture that was uploaded for the story is in it.
func campaignValues(f *page.Form) func(field string) string {
	return func(field string) string {
		if field == "beneficiaries" {
			return strings.Join(append(slices.Clone(f.Values(field)), f.Value(otherField)), " ")
		}
		if address := f.Value(page.StoryPicture.Name); field == "description" && picture.IsAddress(address) {
			return campaign.AddPicture(f.Value(field), address, f.Value("story_shows"))
		}
		return f.Value(field)
	}
}

// refuseCampaign shows the form again, with what is wrong.
func refuseCampaign(r *page.Request, in campaign.Input, old campaign.Campaign, err error) error {
	if err := r.Form.Refuse(err); err != nil {
		return err
	}
	for i, fault := range r.Form.Faults {
		number, found := strings.CutPrefix(fault.Field, "beneficiaries.")
		if n, err := strconv.Atoi(number); found && err == nil {
			r.Form.Faults[i] = doc.Fault{Field: otherField, Rule: "“%v” isn’t the ID of an organization on this server.", Args: []any{(*in.Beneficiaries)[n]}}
		}
	}
	r.Form.KeepPictures(in.Pictures)
	return campaignForm(r, http.StatusUnprocessableEntity, old)
}

func campaignForm(r *page.Request, status int, old campaign.Campaign) error {
	view := campaignFormView{
		Form: r.Form, Title: "New campaign", Action: r.Path("/campaigns"), Back: r.Path("/campaigns"), Save: "Create campaign",
		EventTypes: eventTypes(r.Form.Value("event.type")), Zones: timeZones, Currencies: currencyCodes, Cover: page.CoverField, Logo: page.LogoField, Picture: page.StoryPicture,
		Open: map[string]bool{"event": r.Form.Value("type") == "event" || says(r.Form, "event."), "livestream": says(r.Form, "event.livestream"), "other": says(r.Form, otherField)},
	}
	for name, fields := range folds {
		view.Open[name] = slices.ContainsFunc(r.Form.Faults, func(f doc.Fault) bool { return slices.Contains(fields, f.Field) })
	}
	for _, p := range page.CampaignPictures {
		view.Open[p.Name] = r.Form.Value(p.Name)+r.Form.Fault(p.Name, "") != "" // one of another site, or a wrong one
	}
	if old.ID != 0 {
		view.Title, view.Name, view.Save = "Edit “"+old.Title+"”", old.Title, "Save changes"
		view.Action, view.Back = r.Path(page.CampaignPath(old.ID)), r.Path(page.CampaignPath(old.ID))
	}
	var err error
	if view.NoWay, err = noWay(r, &campaign.Campaign{Status: old.Status, Currency: r.Form.Value("currency"), PaymentLink: r.Form.Value("payment_link")}); err != nil {
		return err
	}
	if view.Beneficiaries, err = knownAccounts(r); err != nil {
		return err
	}
	for i := range view.Beneficiaries {
		view.Beneficiaries[i].Chosen = r.Form.Has("beneficiaries", view.Beneficiaries[i].ID)
	}
	return r.Render("campaign_form", page.View{Title: view.Title, Status: status, Section: "campaigns", Data: view})
}

// says tells whether anything is written, or wrong, in a part of the form. A choice always holds something.
func says(f *page.Form, prefix string) bool {
	for name := range f.Fields {
		if strings.HasPrefix(name, prefix) && name != "event.type" && f.Value(name) != "" {
			return true
		}
	}
	return slices.ContainsFunc(f.Faults, func(fault doc.Fault) bool { return strings.HasPrefix(fault.Field, prefix) })
}

// eventTypes are the usual ones, and the one that is stored.
func eventTypes(stored string) []page.Option {
	all := page.SpokenOptions("in_person", "virtual", "hybrid")
	if stored != "" && !slices.ContainsFunc(all, func(o page.Option) bool { return o.Value == stored }) {
		all = append(all, page.Option{Value: stored, Label: stored})
	}
	return all
}

// knownAccounts are those that a campaign is most often for: the one above and the chapters. Only its members learn the
// name of the one above.
func knownAccounts(r *page.Request) (known []beneficiary, err error) {
	if above := r.Membership.Account.ParentID; above != "" {
		name := "Your parent organization"
		membership, err := r.Store.Membership(r.Context(), r.Session.User.ID, above)
		switch {
		case err == nil:
			name = membership.Account.Name
		case !errors.Is(err, crm.ErrNotFound):
			return nil, err
		}
		known = append(known, beneficiary{ID: above, Name: name})
	}
	chapters, err := r.Store.Chapters(r.Context(), r.Membership.Account)
	for _, chapter := range chapters {
		known = append(known, beneficiary{ID: chapter.ID, Name: chapter.Name})
	}
	return known, err
}
