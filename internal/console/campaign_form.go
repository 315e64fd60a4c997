package console

import (
	"errors"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store"
	"donorbook/internal/store/campaigns"
)

// campaignFormView is the form of a campaign, new or not.
type campaignFormView struct {
	Form          *form
	Title, Name   string // Name is that of the campaign, "" for a new one
	Action, Back  string
	Save          string // what the button says
	Beneficiaries []beneficiary
	EventTypes    []option
	Open          map[string]bool // which folds are, by their names
	Zones         []string
	Currencies    []string
	Cover, Logo   pictureField
}

// Story is what the page will show of the text that was typed.
func (v campaignFormView) Story() template.HTML {
	return template.HTML(campaign.Story(v.Form.Value("description")))
}

// IsHTML tells whether a text of the form is HTML, which light formatting could not say.
func (v campaignFormView) IsHTML(field string) bool { return campaign.IsHTML(v.Form.Value(field)) }

// folds are the parts of the form that few campaigns need, with their fields. They are open where something is wrong in them.
var folds = map[string][]string{
	"page":          {"subtitle", "slug", "type", "logo", logoField.File()},
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

func (r *request) newCampaignPage() error {
	r.form.setUnsent("type", "collect")
	r.form.setUnsent("currency", "USD")
	return r.campaignForm(http.StatusOK, campaign.Campaign{})
}

// previewsStory tells whether the form was only sent to show how the story looks.
func (f *form) previewsStory() bool { return f.Value("do") == "preview" }

// previewStory answers with the story as the page will show it, and without a script with the whole form.
func (r *request) previewStory(old campaign.Campaign) error {
	if r.isPart() {
		return r.renderPart("campaign_form", "story", page{Data: campaignFormView{Form: r.form}})
	}
	return r.campaignForm(http.StatusOK, old)
}

func (r *request) createCampaign() error {
	if r.form.previewsStory() {
		return r.previewStory(campaign.Campaign{})
	}
	var made campaign.Campaign
	in, err := r.readCampaign(campaign.Campaign{})
	if status := campaign.Draft; r.form.Value("status") == status { // one of the two buttons
		in.Status = &status
	}
	if err == nil {
		made, err = r.store.CreateCampaign(r.once(r.shownCampaign), r.membership.Account, in)
	}
	if err != nil {
		return r.refuseCampaign(in, campaign.Campaign{}, err)
	}
	said := stateNotice(made)
	said.Warning = removedWarning(r.form)
	leaveNotice(r.w, said)
	return r.redirect(r.path(campaignPath(made.ID)))
}

func (r *request) shownCampaign(made store.Result) shown {
	return shown{r.path(campaignPath(made.(campaigns.MadeCampaign).ID)), notice{Text: "The campaign was created."}}
}

func (r *request) editCampaignPage(record campaigns.CampaignRecord) (err error) {
	if r.form.path != "" { // it was sent
		return r.campaignForm(http.StatusOK, record.Campaign)
	}
	campaign.FillForm(record.Campaign, record.Beneficiaries, r.membership.Timezone, r.form.set)
	r.form.values["beneficiaries"] = record.Beneficiaries
	known, err := r.knownAccounts()
	if err != nil {
		return err
	}
	var others []string
	for _, id := range record.Beneficiaries {
		if !slices.ContainsFunc(known, func(b beneficiary) bool { return b.ID == id }) {
			others = append(others, id)
		}
	}
	r.form.set(otherField, strings.Join(others, "\n"))
	r.form.set(seenField, record.Version())
	r.form.keepPictures(nil)
	return r.campaignForm(http.StatusOK, record.Campaign)
}

func (r *request) saveCampaign(record campaigns.CampaignRecord) (err error) {
	if r.form.previewsStory() {
		return r.previewStory(record.Campaign)
	}
	old, saved := record.Campaign, campaign.Campaign{}
	in, err := r.readCampaign(old)
	in.Seen = r.form.Value(seenField)
	if err == nil {
		saved, err = r.store.UpdateCampaign(r.Context(), r.membership.Account, old.ID, in)
	}
	if errors.Is(err, crm.ErrChanged) {
		return r.refuseOldCampaign(in)
	}
	if err != nil {
		return r.refuseCampaign(in, old, err)
	}
	leaveNotice(r.w, notice{Text: "“" + saved.Title + "” saved.", Warning: removedWarning(r.form)})
	return r.redirect(r.path(campaignPath(saved.ID)))
}

// readCampaign makes an input of the form that was sent, with its pictures.
func (r *request) readCampaign(old campaign.Campaign) (in campaign.Input, err error) {
	made, err := r.receivePictures(campaignPictures...)
	if err != nil {
		return in, err
	}
	for _, p := range campaignPictures {
		r.form.set(p.Name, r.form.address(p, made))
	}
	in, err = campaign.ReadForm(r.form.campaignValue, old, r.membership.Timezone)
	in.Pictures = slices.Collect(maps.Values(made))
	if err == nil && len(r.form.Faults) > 0 {
		err = errRefused
	}
	return in, err
}

// removedWarning says what was taken out of the texts that were typed, "" for nothing.
func removedWarning(f *form) string {
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
func (r *request) refuseOldCampaign(in campaign.Input) error {
	record, err := r.ownCampaign()
	if err != nil {
		return err
	}
	r.form.failSeen("campaign", record.Version())
	r.form.keepPictures(in.Pictures)
	return r.campaignForm(http.StatusUnprocessableEntity, record.Campaign)
}

// ownCampaign is a campaign that the organization may change. Those that it only sees have no such page.
func (r *request) ownCampaign() (campaigns.CampaignRecord, error) {
	record, err := r.campaignOf()
	if err == nil && record.Relation&campaign.Own == 0 {
		err = crm.ErrNotFound
	}
	return record, err
}

// campaignValue is a field as crm reads it: the boxes and the ids that were typed are one list.
func (f *form) campaignValue(field string) string {
	if field == "beneficiaries" {
		return strings.Join(append(slices.Clone(f.Values(field)), f.Value(otherField)), " ")
	}
	return f.Value(field)
}

// refuseCampaign shows the form again, with what is wrong.
func (r *request) refuseCampaign(in campaign.Input, old campaign.Campaign, err error) error {
	if err := r.form.refuse(err); err != nil {
		return err
	}
	for i, fault := range r.form.Faults {
		number, found := strings.CutPrefix(fault.Field, "beneficiaries.")
		if n, err := strconv.Atoi(number); found && err == nil {
			r.form.Faults[i] = doc.Fault{Field: otherField, Rule: "“%v” isn’t the ID of an organization on this server.", Args: []any{(*in.Beneficiaries)[n]}}
		}
	}
	r.form.keepPictures(in.Pictures)
	return r.campaignForm(http.StatusUnprocessableEntity, old)
}

func (r *request) campaignForm(status int, old campaign.Campaign) error {
	view := campaignFormView{
		Form: r.form, Title: "New campaign", Action: r.path("/campaigns"), Back: r.path("/campaigns"), Save: "Create campaign",
		EventTypes: eventTypes(r.form.Value("event.type")), Zones: timeZones, Currencies: currencyCodes, Cover: coverField, Logo: logoField,
		Open: map[string]bool{"event": r.form.Value("type") == "event" || r.form.says("event."), "livestream": r.form.says("event.livestream"), "other": r.form.says(otherField)},
	}
	for name, fields := range folds {
		view.Open[name] = slices.ContainsFunc(r.form.Faults, func(f doc.Fault) bool { return slices.Contains(fields, f.Field) })
	}
	for _, p := range campaignPictures {
		view.Open[p.Name] = r.form.Value(p.Name)+r.form.fault(p.Name, "") != "" // one of another site, or a wrong one
	}
	if old.ID != 0 {
		view.Title, view.Name, view.Save = "Edit “"+old.Title+"”", old.Title, "Save changes"
		view.Action, view.Back = r.path(campaignPath(old.ID)), r.path(campaignPath(old.ID))
	}
	var err error
	if view.Beneficiaries, err = r.knownAccounts(); err != nil {
		return err
	}
	for i := range view.Beneficiaries {
		view.Beneficiaries[i].Chosen = r.form.Has("beneficiaries", view.Beneficiaries[i].ID)
	}
	return r.render("campaign_form", page{Title: view.Title, Status: status, Section: "campaigns", Data: view})
}

// says tells whether anything is written, or wrong, in a part of the form. A choice always holds something.
func (f *form) says(prefix string) bool {
	for name := range f.values {
		if strings.HasPrefix(name, prefix) && name != "event.type" && f.Value(name) != "" {
			return true
		}
	}
	return slices.ContainsFunc(f.Faults, func(fault doc.Fault) bool { return strings.HasPrefix(fault.Field, prefix) })
}

// eventTypes are the usual ones, and the one that is stored.
func eventTypes(stored string) []option {
	all := spokenOptions("in_person", "virtual", "hybrid")
	if stored != "" && !slices.ContainsFunc(all, func(o option) bool { return o.Value == stored }) {
		all = append(all, option{Value: stored, Label: stored})
	}
	return all
}

// knownAccounts are those that a campaign is most often for: the one above and the chapters. Only its members learn the
// name of the one above.
func (r *request) knownAccounts() (known []beneficiary, err error) {
	if above := r.membership.Account.ParentID; above != "" {
		name := "Your parent organization"
		membership, err := r.store.Membership(r.Context(), r.session.User.ID, above)
		switch {
		case err == nil:
			name = membership.Account.Name
		case !errors.Is(err, crm.ErrNotFound):
			return nil, err
		}
		known = append(known, beneficiary{ID: above, Name: name})
	}
	chapters, err := r.store.Chapters(r.Context(), r.membership.Account)
	for _, chapter := range chapters {
		known = append(known, beneficiary{ID: chapter.ID, Name: chapter.Name})
	}
	return known, err
}
