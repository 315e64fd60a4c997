package console

import (
	"encoding/json"
	"strings"
	"time"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/text"
	"donorbook/internal/store/move"
)

// row is a change in words; what says what was changed.
func (p people) row(a *history.Activity, what string) activityRow {
	row := activityRow{At: a.OccurredAt(), Note: a.Note(), Undone: a.Undone}
	if a.Channel != history.ConsoleChannel && a.Channel != history.OtherChannel && a.Channel != history.CommandChannel { // of the last one the name tells
		row.Channel = channelWords[a.Channel]
	}
	did := didWords(a, what)
	lines := linesOf(a, did != "")
	undid := a.Undoes != 0 && a.Kind != history.DidNote
	switch {
	case did == "" && len(lines) == 0:
		did = "changed " + what
	case did == "" && len(lines) == 1:
		did, lines = lines[0], nil
	case did == "" && !undid:
		did = "made " + shownCount(len(lines)) + " changes"
	}
	switch {
	case undid && did == "":
		did = "undid an earlier change"
	case undid:
		did = "undid an earlier change: " + did
	}
	row.Sentence = p.name(a) + " " + did + "."
	if a.Kind == history.DidLose {
		row.Sentence = "This part of the history was lost."
	}
	for _, line := range lines {
		row.Lines = append(row.Lines, capital(line)+".")
	}
	return row
}

// linesOf says what became of each field. Where a sentence tells of the change, it has said what the change is about, and all of a member.
func linesOf(a *history.Activity, told bool) (lines []string) {
	if told && a.Noun == history.UserNoun {
		return nil
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
			lines = append(lines, strings.TrimPrefix(change.Field, tagPrefix)+" the tags "+quotedTags(tags))
		default:
			if a.Noun == history.GiftNoun && change.Field == "Status" {
				change.Before, change.After = strings.ToLower(spoken(change.Before)), strings.ToLower(spoken(change.After))
			}
			lines = append(lines, changeWords(change))
		}
		changes = changes[max(1, len(tags)):]
	}
	return lines
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

var channelWords = map[history.Channel]string{history.APIChannel: "API", history.ImportChannel: "Import", history.BulkChannel: "Many at once"}

// didWords say what was done, "" where the fields that have changed say it.
func didWords(a *history.Activity, what string) string {
	switch a.Noun {
	case history.UserNoun:
		return userWords(a)
	case history.FieldNoun:
		switch a.Kind {
		case history.DidArchive:
			return "ended " + what
		case history.DidRestore:
			return "brought back " + what
		}
	case history.JobNoun:
		return "began this " + jobWords[jobKind(a)]
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
	case history.DidMerge:
		if a.Channel == history.ImportChannel {
			return "merged imported data into " + what
		}
		return "sent " + what + " again, and the data was merged in"
	case history.DidErase:
		return "erased a person at their request"
	case history.DidExport:
		return exportWords(a)
	case history.DidImport:
		return "brought all data back from an export"
	case history.DidNote:
		return noteWords(a)
	case history.DidGive, history.DidRefund, history.DidPlan:
		return mentionWords(a)
	}
	return ""
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
	return "exported " + plural(e.Rows, strings.TrimSuffix(strings.ReplaceAll(e.What, "transactions", "gifts"), "s"))
}

func noteWords(a *history.Activity) string {
	switch {
	case a.Undoes != 0:
		return "removed a note, or put it back"
	case a.Undone:
		return "wrote a note, which was removed"
	}
	return "wrote a note"
}

func mentionWords(a *history.Activity) string {
	gift := a.Gift()
	amount := text.MoneyOf(gift.Amount.String(), gift.Currency)
	switch {
	case a.Noun == history.GiftNoun:
		return ""
	case a.Kind == history.DidPlan && gift.Plan == "": // its data was erased
		return "added a recurring plan"
	case a.Kind == history.DidPlan:
		return "added a recurring plan of " + amount + " " + strings.ToLower(spoken(gift.Frequency))
	case gift.Gift == "": // as above
		return "recorded a gift"
	case a.Kind == history.DidRefund && strings.HasPrefix(gift.Amount.String(), "-"):
		return "undid a refund of " + text.MoneyOf(gift.Amount.String()[1:], gift.Currency)
	case a.Kind == history.DidRefund:
		return "recorded a refund of " + amount
	case gift.Before == gift.Amount:
		return "corrected a gift of " + amount
	case gift.Before != "":
		return "corrected the amount of a gift from " + text.MoneyOf(gift.Before.String(), gift.Currency) + " to " + amount
	case gift.Status == string(giving.Cancelled):
		return "canceled a gift of " + amount
	case gift.Status != string(giving.Succeeded):
		return "recorded a gift of " + amount + " (" + strings.ToLower(spoken(gift.Status)) + ")"
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
func changeWords(c doc.Change) string {
	before, after := spokenTimes(c.Before, c.After)
	before, after = shortened(before, activityValue, 0), shortened(after, activityValue, 0)
	if label, ok := strings.CutSuffix(c.Field, " added"); ok {
		return "added " + lowered(label) + " " + quoted(after, "")
	}
	if label, ok := strings.CutSuffix(c.Field, " removed"); ok {
		return "removed " + lowered(label) + " " + quoted(before, "")
	}
	label := lowered(c.Field)
	switch {
	case before == after: // as far as it is shown
		return "changed " + label
	case before == "":
		return "set " + label + " to " + quoted(after, "")
	case after == "":
		return "removed " + label + " " + quoted(before, "")
	}
	return "changed " + label + " from " + quoted(before, "") + " to " + quoted(after, "")
}

// spokenTimes are two times as people read them: the days, or the moments of the same day. Other values are as they are.
func spokenTimes(before, after string) (string, string) {
	was, is := spokenTime(before, shownDay), spokenTime(after, shownDay)
	if was == is && before != after {
		return spokenTime(before, shownMoment), spokenTime(after, shownMoment)
	}
	return was, is
}

func spokenTime(text string, shown func(time.Time) string) string {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return shown(at)
	}
	return text
}

// lowered is a label inside a sentence. Names keep their capital letters.
func lowered(label string) string {
	switch label {
	case "Twitter", "LinkedIn", "Facebook":
		return label
	}
	if len(label) > 1 && label[1] >= 'a' && label[1] <= 'z' {
		return strings.ToLower(label[:1]) + label[1:]
	}
	return label
}
