package page

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/text"
	"donorbook/internal/store/move"
)

// Row is a change in words.
func (n Names) Row(r *Request, a history.Activity) TimelineRow {
	a.Fields = n.fields
	did := n.didWords(&a)
	lines, isCut := n.linesOf(&a, did != "")
	if isCut = isCut || a.Left > 0; len(lines) > activityLines && !n.whole {
		lines, isCut = lines[:activityLines], true
	}
	undid := a.Undoes != 0 && a.Kind != history.DidNote
	switch {
	case did == "" && len(lines) == 0:
		did = "changed " + nounWords[a.Noun]
	case did == "" && len(lines) == 1:
		did, lines = lines[0], nil
	case did == "" && !undid:
		did = "made " + Count(len(lines)) + " changes"
	}
	switch {
	case undid && did == "":
		did = "undid an earlier change"
	case undid:
		did = "undid an earlier change: " + did
	}
	row := TimelineRow{Activity: a, Icon: iconOf(&a), Who: n.People.name(&a), Did: Sentence(did), See: r.mentioned(&a), Via: r.via(&a)}
	if isCut && a.Noun == history.ContactNoun {
		row.More = r.Path(ContactPath(a.ID)) + "/history/" + strconv.FormatInt(a.Revision, 10)
	}
	if a.Kind == history.DidLose {
		row.Who, row.Did = "", "This part of the history is missing."
	}
	for _, line := range lines {
		row.Lines = append(row.Lines, Sentence(Capital(line)))
	}
	return row
}

// Sentence ends words with a period, unless a quotation at their end has one.
func Sentence(words string) string {
	if strings.HasSuffix(words, ".”") {
		return words
	}
	return words + "."
}

// nounWords say what a change was about.
var nounWords = map[history.Noun]string{
	history.ContactNoun: "this contact", history.CampaignNoun: "this campaign", history.GiftNoun: "this gift", history.PlanNoun: "this recurring gift", history.TagNoun: "the tag",
	history.KeyNoun: "the API key", history.SettingNoun: "the settings", history.FieldNoun: "the custom field", history.SegmentNoun: "the segment", history.JobNoun: "the bulk change",
}

// nounIcons are drawn beside changes; those of a contact go by what was done.
var nounIcons = map[history.Noun]string{
	history.CampaignNoun: "flag", history.GiftNoun: "gift", history.PlanNoun: "repeat", history.TagNoun: "tag", history.KeyNoun: "key", history.UserNoun: "person",
	history.SettingNoun: "settings", history.FieldNoun: "settings", history.SegmentNoun: "people", history.JobNoun: "many",
}

var kindIcons = map[history.Kind]string{
	history.DidCreate: "plus", history.DidTag: "tag", history.DidUntag: "tag", history.DidArchive: "archive", history.DidRestore: "undo", history.DidMerge: "people", history.DidJoin: "people",
	history.DidErase: "archive", history.DidGive: "gift", history.DidRefund: "undo", history.DidNote: "note", history.DidExport: "out", history.DidImport: "many", history.DidPlan: "repeat",
}

func iconOf(a *history.Activity) string {
	if a.Undoes != 0 {
		return "undo"
	}
	return cmp.Or(nounIcons[a.Noun], kindIcons[a.Kind], "edit")
}

// linesOf says what became of each field. Where a sentence tells of the change, it has said what the change is about, and all of a member. isCut is that a value is said only in part.
func (n Names) linesOf(a *history.Activity, told bool) (lines []string, isCut bool) {
	switch {
	case told && a.Noun == history.UserNoun:
		return nil, false
	case a.Noun == history.GiftNoun:
		return n.giftLines(a, n.gifts[a.ID].Currency), false
	case a.Noun == history.PlanNoun:
		return n.giftLines(a, n.plans[a.ID].Currency), false
	}
	changes, subject := a.Changes(), ""
	if told && a.Noun != history.ContactNoun {
		subject = a.Subject()
	}
	for len(changes) > 0 {
		change, tags := changes[0], tagsOf(changes)
		switch {
		case subject != "" && (change.Before == subject || change.After == subject):
		case len(tags) > 1:
			lines = append(lines, strings.TrimPrefix(change.Field, tagPrefix)+" the tags "+QuotedTags(tags))
		default:
			if !n.whole {
				before, after := change.Before, change.After
				change.Before, change.After = Shortened(before, activityValue, 0), Shortened(after, activityValue, 0)
				isCut = isCut || change.Before != before || change.After != after
			}
			lines = append(lines, n.changeWords(change))
		}
		changes = changes[max(1, len(tags)):]
	}
	return lines, isCut
}

// giftLines say what became of the fields of a gift or a plan. A field that follows from others is left out.
func (n Names) giftLines(a *history.Activity, currency string) (lines []string) {
	all := doc.KnownDifferences(a.Data)
	for _, d := range all {
		before, after := plainValue(string(d.Before)), plainValue(string(d.After))
		switch say := n.value(d.Field, currency); {
		case d.Field == "refund":
			lines = append(lines, "refunded "+text.MoneyOf(after, currency))
		case d.Field == "refund_undone":
			lines = append(lines, "undid the refund of "+text.MoneyOf(after, currency))
		case d.Field == giving.LearnedIDs:
			var ids []string
			_ = json.Unmarshal(d.After, &ids) // what cannot be read says less
			lines = append(lines, "added the external IDs "+QuotedTags(ids))
		case say != nil:
			before, after = n.spokenTimes(say(before), say(after))
			lines = append(lines, changedWords(Lowered(FieldLabel(d.Field)), before, after))
		}
	}
	return lines
}

// value is how the values of a field of a gift or a plan are said, nil for a field that follows from others.
func (n Names) value(field, currency string) func(string) string {
	switch field {
	case "campaign_id":
		return func(id string) string { return quoted(n.campaigns[ParseID(id)].Title, id) }
	case "contact_id":
		return func(id string) string { return cmp.Or(ContactName(n.contacts[ParseID(id)]), id) }
	case "status", "method", "frequency":
		return Spoken
	case "thanks":
		return func(how string) string {
			return map[string]string{giving.ToThank: "waiting", giving.ThankedMail: "by mail", giving.ThankedLetter: "by letter", giving.ThankedOther: "in another way", giving.ThankedNone: "not needed"}[how]
		}
	case "transacted_at", "check_deposited_at", "start_at", "next_bill_date", "receipt":
		return func(text string) string { return text }
	case "amount", "fee", "fee_covered", "benefit_value":
		return func(written string) string {
			if written == "" || written == "0" {
				return ""
			}
			return text.MoneyOf(written, currency)
		}
	case "dedication":
		return dedicationWords
	case "note", "check_number", "external_id", "plan_id", "benefit":
		return func(text string) string { return quoted(Shortened(text, noticeValue, 0), "") }
	}
	return nil
}

func quoted(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return "“" + text + "”"
}

// plainValue is a value of the history without the signs of the wire form.
func plainValue(value string) string {
	text := ""
	switch {
	case value == "null":
		return ""
	case strings.HasPrefix(value, `"`) && json.Unmarshal([]byte(value), &text) == nil:
		return text
	}
	return value
}

// dedicationWords say whom a gift honors, given the wire form.
func dedicationWords(value string) string {
	var d struct{ Type, Name string }
	if json.Unmarshal([]byte(value), &d) != nil {
		return ""
	}
	return strings.TrimSpace(Spoken(d.Type) + " " + d.Name)
}

const tagPrefix = "Tag "

// tagsOf are the tags that the first changes have added, or removed.
func tagsOf(changes []doc.Change) (tags []string) {
	for _, change := range changes {
		if change.Field != changes[0].Field || !strings.HasPrefix(change.Field, tagPrefix) {
			break
		}
		tags = append(tags, change.Before+change.After)
	}
	return tags
}

var channelWords = map[history.Channel]string{history.APIChannel: "API", history.ImportChannel: "Import", history.BulkChannel: "Bulk change", history.PageChannel: "Donation page"}

// didWords say what was done, "" where the fields that have changed say it.
func (n Names) didWords(a *history.Activity) string {
	what := nounWords[a.Noun]
	switch a.Noun {
	case history.UserNoun:
		return userWords(a)
	case history.FieldNoun:
		switch a.Kind {
		case history.DidArchive:
			return "archived " + what
		case history.DidRestore:
			return "restored " + what
		}
	case history.JobNoun:
		return "started this " + JobWords[jobKind(a)]
	case history.GiftNoun, history.PlanNoun:
		if a.Kind == history.DidErase {
			return "removed the name of an erased person from " + what
		}
	case history.TagNoun:
		if a.Kind == history.DidUpdate {
			changes := a.Changes()
			if len(changes) > 0 {
				return "renamed the tag " + quoted(changes[0].Before, "") + " to " + quoted(changes[0].After, "")
			}
		}
	}
	subject := ""
	if a.Noun != history.ContactNoun && a.Noun != history.CampaignNoun {
		subject = strings.TrimRight(" "+quoted(a.Subject(), ""), " ")
	}
	switch a.Kind {
	case history.DidCreate:
		return verbs[a.Noun].create + " " + what + subject
	case history.DidDelete:
		return verbs[a.Noun].end + " " + what + subject
	case history.DidArchive:
		return "archived " + what
	case history.DidRestore:
		return "restored " + what
	case history.DidJoin:
		return "merged " + what + " into another contact"
	case history.DidDismiss:
		if dismissedFrom(a) == 0 {
			return "marked " + what + " as a possible duplicate again"
		}
		return "marked " + what + " as not a duplicate of another contact"
	case history.DidPart:
		return "undid a merge into " + what
	case history.DidMerge:
		if other := mergedIn(a); other != 0 {
			return "merged " + cmp.Or(ContactName(n.contacts[other]), "another contact") + " into " + what
		}
		if a.Channel == history.ImportChannel {
			return "merged imported data into " + what
		}
		return "added details to " + what
	case history.DidErase:
		return "erased a person at their request"
	case history.DidExport:
		return exportWords(a)
	case history.DidImport:
		return "restored all data from an export"
	case history.DidNote:
		return noteWords(a)
	case history.DidGive, history.DidRefund, history.DidPlan:
		return mentionWords(a)
	}
	return ""
}

// mergedIn is the contact that a change has brought into another one, 0 for none.
func mergedIn(a *history.Activity) int64 {
	if a.Noun != history.ContactNoun || a.Kind != history.DidMerge {
		return 0
	}
	return ParseID(plainValue(string(otherContact(a).Before)))
}

// dismissedFrom is the contact that another one is not a duplicate of from now on, 0 where it may be one again.
func dismissedFrom(a *history.Activity) int64 {
	return ParseID(plainValue(string(otherContact(a).After)))
}

// otherContact is what a change says about the other contact that it is about.
func otherContact(a *history.Activity) doc.Difference {
	for _, d := range doc.KnownDifferences(a.Data) {
		if d.Field == "contact_id" {
			return d
		}
	}
	return doc.Difference{}
}

// verbs say how things begin and end.
var verbs = func() map[history.Noun]struct{ create, end string } {
	all := map[history.Noun]struct{ create, end string }{}
	for noun := range nounWords {
		all[noun] = struct{ create, end string }{"created", "deleted"}
	}
	all[history.ContactNoun] = struct{ create, end string }{"added", "deleted"}
	all[history.GiftNoun] = struct{ create, end string }{"recorded", "deleted"}
	all[history.KeyNoun] = struct{ create, end string }{"created", "revoked"}
	return all
}()

func exportWords(a *history.Activity) string {
	var e move.Exported
	_ = json.Unmarshal([]byte(a.Data), &e) // what cannot be read says less
	switch e.What {
	case "account":
		return "exported all data"
	case "contact":
		return "downloaded the data of one contact"
	}
	return "exported " + Plural(e.Rows, strings.TrimSuffix(strings.ReplaceAll(e.What, "transactions", "gifts"), "s"))
}

func noteWords(a *history.Activity) string {
	switch {
	case a.Undoes != 0:
		return "undid a change to a note"
	case a.Undone:
		return "wrote a note, which was removed"
	}
	return "wrote a note"
}

func mentionWords(a *history.Activity) string {
	gift := a.Gift()
	given, was := gift.Amount.String(), gift.Before.String()
	amount := text.MoneyOf(given, gift.Currency)
	switch {
	case a.Noun == history.GiftNoun:
		return ""
	case a.Kind == history.DidPlan && gift.Plan == "": // its data was erased
		return "set up a recurring gift"
	case a.Kind == history.DidPlan:
		return "set up a recurring gift of " + amount + " " + strings.ToLower(Spoken(gift.Frequency))
	case gift.Gift == "": // as above
		return "recorded a gift"
	case a.Kind == history.DidRefund && strings.HasPrefix(given, "-"):
		return "undid a refund of " + text.MoneyOf(given[1:], gift.Currency)
	case a.Kind == history.DidRefund:
		return "recorded a refund of " + amount
	case was == given:
		return "corrected a gift of " + amount
	case was != "":
		return "corrected the amount of a gift from " + text.MoneyOf(was, gift.Currency) + " to " + amount
	case gift.Status == string(giving.Voided):
		return "voided a gift of " + amount
	case gift.Was == string(giving.Voided):
		return "undid the void of a gift of " + amount
	case gift.Status == string(giving.Cancelled):
		return "canceled a gift of " + amount
	case gift.Status != string(giving.Succeeded):
		return "recorded a gift of " + amount + " (" + strings.ToLower(Spoken(gift.Status)) + ")"
	}
	return "recorded a gift of " + amount
}

// userWords tell of members and invitations.
func userWords(a *history.Activity) string {
	values := map[string]doc.Change{}
	for _, change := range a.Changes() {
		values[change.Field] = change
	}
	invited, isInvitation := values["Invitation"]
	role := values["Role"]
	switch who := a.Subject(); {
	case isInvitation && a.Kind == history.DidCreate:
		return "invited " + invited.After + " as " + role.After
	case isInvitation:
		return "canceled the invitation of " + invited.Before
	case a.Kind == history.DidCreate && who == a.Who:
		return "joined as " + role.After
	case a.Kind == history.DidCreate:
		return "added " + who + " as " + role.After
	case a.Kind == history.DidDelete && who == a.Who:
		return "left the organization"
	case a.Kind == history.DidDelete:
		return "removed " + who
	case role.After != "":
		return "changed the role of " + who + " from " + role.Before + " to " + role.After
	case values["Password"].After != "":
		return "changed the password of " + who
	}
	return ""
}

// changeWords is what happened to a field, as the end of a sentence.
func (n Names) changeWords(c doc.Change) string {
	before, after := c.Before, c.After
	if label, ok := strings.CutSuffix(c.Field, " added"); ok {
		return "added " + Lowered(label) + " " + quoted(after, "")
	}
	if label, ok := strings.CutSuffix(c.Field, " removed"); ok {
		return "removed " + Lowered(label) + " " + quoted(before, "")
	}
	was, is := n.spokenTimes(before, after)
	if was == before && is == after {
		was, is = quoted(was, ""), quoted(is, "")
	}
	return changedWords(Lowered(c.Field), was, is)
}

// changedWords say what a field was before and what it is after.
func changedWords(label, before, after string) string {
	switch {
	case before == after: // as far as it is shown
		return "changed " + label
	case before == "":
		return "set " + label + " to " + after
	case after == "":
		return "removed " + label + " " + before
	}
	return "changed " + label + " from " + before + " to " + after
}

// spokenTimes are two times as people read them, by the clock of the organization: the days, or the moments of the same day. Other values are as they are.
func (n Names) spokenTimes(before, after string) (string, string) {
	day := func(t time.Time) string { return Day(giving.PlanClock(t, n.zone)) }
	was, is := spokenTime(before, day), spokenTime(after, day)
	if was == is && before != after {
		moment := func(t time.Time) string { return shownMoment(t.In(n.zone)) }
		return spokenTime(before, moment), spokenTime(after, moment)
	}
	return was, is
}

func spokenTime(text string, shown func(time.Time) string) string {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return shown(at)
	}
	return text
}

// Lowered is a label inside a sentence. Names keep their capital letters.
func Lowered(label string) string {
	switch label {
	case "Twitter", "LinkedIn", "Facebook":
		return label
	}
	if len(label) > 1 && label[1] >= 'a' && label[1] <= 'z' {
		return strings.ToLower(label[:1]) + label[1:]
	}
	return label
}
