package move

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// noun is one kind of record that the files of an account have, described once: its file, how its records become lines,
// how a line is checked and becomes a record again, and the tables that have its rows. Exports, imports, discards,
// erasures and people's own files are loops over nouns.
type noun struct {
	file   string
	shown  string // what a person is told while its lines are imported, "" for few of them
	tables []*db.Table
	export func(*accountExport, *LineWriter) error
	read   func(r *accountReader, line []byte) (importLine, error) // nil where its records do not come back
	// tells whether files without it are those of an earlier version
	lacks func(r *accountReader) bool
	end   func(r *accountReader) (reason string) // what is wrong with the whole file
	// how its records hold data of people, nil where they hold none
	person *personal
	// what of it may name people, and has to be looked through
	search []erasureLook

	numbered history.Noun                // in the history, where the number of the account is in its ids
	seq      func(a *store.Tally) *int64 // how many there have been; nil where an empty account may have counted, too
}

// nouns are in the order in which their files are written and read: what others refer to comes first.
var nouns = []*noun{
	{file: AccountFile, export: exportSettings, read: line(readSettings), end: func(r *accountReader) string {
		if r.row != 1 {
			return oneLine
		}
		return ""
	}},
	{file: FieldFile, tables: []*db.Table{store.FieldTable}, export: exportRows(store.FieldTable),
		read: line(readField)},
	{file: CampaignFile, shown: "campaigns", export: exportCampaigns, read: document(readCampaign),
		seq: func(a *store.Tally) *int64 { return &a.CampaignSeq }},
	{file: PictureFile, tables: []*db.Table{store.PictureTable}, export: exportPictures, read: line(readPicture),
		lacks: func(r *accountReader) bool { return len(r.pictures) == 0 },
		end: func(r *accountReader) string {
			if len(r.pictures) > 0 {
				return "lacks " + slices.Min(slices.Collect(maps.Keys(r.pictures)))
			}
			return ""
		}},
	segmentNoun,
	{file: TemplateFile, tables: []*db.Table{store.TemplateTable}, export: exportRows(store.TemplateTable),
		read: line(readTemplate), lacks: always},
	{file: ContactFile, shown: "contacts", tables: []*db.Table{store.ContactTable, store.IndexTable, store.SetTable,
		store.TagTable}, export: exportContacts, read: document(readContact), person: contactData,
		numbered: history.ContactNoun, seq: func(a *store.Tally) *int64 { return &a.ContactSeq }},
	{file: PlanFile, shown: "plans", tables: []*db.Table{store.PlanTable, store.ReferenceTable}, export: exportPlans,
		read: document(readPlan), person: planData,
		numbered: history.PlanNoun, seq: func(a *store.Tally) *int64 { return &a.PlanSeq }},
	{file: GiftFile, shown: "gifts", tables: []*db.Table{store.GiftTable, store.GivingTable}, export: exportGifts,
		read: document(readGift), person: giftData,
		search:   []erasureLook{{"givers", (*eraser).givers}, {"loose gifts", (*eraser).looseGifts}},
		numbered: history.GiftNoun, seq: func(a *store.Tally) *int64 { return &a.GiftSeq }},
	receiptNoun,
	{file: HistoryFile, shown: "history", export: exportHistory, read: line(readChange), person: changeData,
		end: func(r *accountReader) string {
			if r.revision != r.line.Sequences.Revision {
				return "does not end with the last change of the account"
			}
			return ""
		}},
	{file: MergeFile, tables: []*db.Table{store.MergeTable}, export: exportMerges, read: line(readMerge), lacks: always,
		person: mergeData, search: []erasureLook{{"sent", (*eraser).sent}}},
	{file: DismissedFile, tables: []*db.Table{store.DuplicateTable, store.DuplicateRunTable}, export: exportDismissed,
		read: line(readDismissed), lacks: always},
	// which no file has: it tells what this server has done
	{person: mailData, search: []erasureLook{{"mails", (*eraser).mails}}},
	{person: donationData, search: []erasureLook{{"donations", (*eraser).donations}}}, // the same
	{file: memberFile, export: exportMembers},
	{file: keyFile, export: exportKeys, numbered: history.KeyNoun},
}

const oneLine = "must have one line, with the account's settings and counters"

func always(*accountReader) bool { return true }

// exportRows writes the rows of a table as they are, but for the account.
func exportRows(table *db.Table) func(*accountExport, *LineWriter) error {
	return func(x *accountExport, w *LineWriter) error {
		return x.conn.EachOf(table, x.account.Number, func(row []any) error {
			line := []byte("{")
			for i, column := range table.Columns[1:] {
				value, err := plainJSON(row[i+1])
				if err != nil {
					return err
				}
				line = append(append(append(line, `"`+column.Name+`":`...), value...), ',')
			}
			line[len(line)-1] = '}'
			return w.write(line)
		})
	}
}

// placeOf is the place of a file among nouns, -1 for none.
func placeOf(file string) int {
	return slices.IndexFunc(nouns, func(n *noun) bool { return file != "" && n.file == file })
}

// line reads lines that are values of a type. What an export would not write is refused.
func line[L any](read func(*accountReader, *L) (importLine, error)) func(*accountReader, []byte) (importLine, error) {
	return func(r *accountReader, text []byte) (importLine, error) {
		l := new(L)
		if err := json.Unmarshal(text, l); err != nil {
			return nil, err
		}
		again, err := plainJSON(l)
		if err != nil {
			return nil, err
		}
		write, err := read(r, l)
		if err == nil && !bytes.Equal(again, text) {
			err = problem(notWritten)
		}
		return write, err
	}
}

// notWritten is what is wrong with a line that means something else than it says, such as one with a field twice.
const notWritten = "is not what an export would write"

// head is what the line of a document says beside the document itself. Contacts and campaigns have a number for an id,
// gifts and plans a text.
type head[ID, Kept any] struct {
	ID       ID    `json:"id"`
	Campaign int64 `json:"campaign_id"` // of a gift
	Kept     Kept  `json:"kept"`
}

// document reads lines that are documents. body is as a document is stored: what comes before its first field is left
// out when it is read.
func document[ID, Kept any](
	read func(r *accountReader, h *head[ID, Kept], body []byte) (importLine, error),
) func(*accountReader, []byte) (importLine, error) {
	return func(r *accountReader, text []byte) (importLine, error) {
		h := new(head[ID, Kept])
		if err := json.Unmarshal(text, h); err != nil {
			return nil, err
		}
		if text[0] != '{' {
			return nil, problem("is not a JSON object")
		}
		id, idErr := plainJSON(h.ID)
		kept, keptErr := plainJSON(h.Kept)
		if err := errors.Join(idErr, keptErr); err != nil {
			return nil, err
		}
		written := bytes.HasPrefix(text, slices.Concat([]byte(`{"id":`), id, []byte(","))) &&
			bytes.HasSuffix(text, slices.Concat([]byte(`,"kept":`), kept, []byte("}")))
		text[0] = ','
		write, err := read(r, h, text)
		if err == nil && !written {
			err = problem(notWritten)
		}
		return write, err
	}
}

// asProblem makes what is wrong with a line a problem of it.
func asProblem(err error) error {
	var faults *doc.Invalid
	var known *FileProblem
	switch {
	case errors.As(err, &faults):
		return problem("is refused: " + faults.Error())
	case errors.As(err, &known):
		return err
	}
	return problem(err.Error())
}

// problem is what is wrong with the line that is read.
func problem(reason string) error { return &FileProblem{Reason: reason} }
