package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// AccountImport says how the files of an account are brought back.
type AccountImport struct {
	Into     string      // the public id of an account that is empty; "" makes a new one
	Progress db.Progress // of each kind of record
}

// AccountImported is what an import has made.
type AccountImported struct {
	Account                           crm.Account
	Renumbered                        bool     // its ids begin with another number than before
	Contacts, Gifts, Plans, Campaigns int64    // that it has
	Slugs                             []string // new addresses of campaigns whose own were taken
}

// ErrAccountNotEmpty refuses to mix the data of two accounts.
var ErrAccountNotEmpty = errors.New("the account is not empty: import into a new one, or into one without contacts, campaigns, gifts and plans")

// ImportAccount brings the files of an account back, all of them in one transaction or nothing. Ids stay where the number of the account is
// free, and so does its public id; otherwise their sequence numbers stay.
func (s *Store) ImportAccount(ctx context.Context, files fs.FS, how AccountImport) (made AccountImported, err error) {
	manifest, err := ReadManifest(files)
	if err != nil {
		return made, err
	}
	var into crm.Account
	if how.Into != "" {
		if into, err = s.Account(ctx, how.Into); err != nil {
			return made, err
		}
	}
	change := authored(ctx, s.now(), func(t *tx) (err error) {
		m := accountImport{tx: t, ctx: ctx, files: files, manifest: &manifest, progress: how.Progress, into: into}
		made, err = m.run(s)
		return err
	})
	err = s.db.LongUpdate(ctx, func(b db.Batch) error { return change(b.(*tx)) })
	return made, translate(err)
}

// accountImport is an import of an account under way.
type accountImport struct {
	*tx
	ctx      context.Context
	files    fs.FS
	manifest *Manifest
	progress db.Progress
	into     crm.Account

	a         *accountUnit
	line      accountLine
	shift     int64           // from a revision of the files to one of ours
	campaigns map[int64]int64 // ids, as they were and as they are
	gifts     []crm.Gift      // that are not in the sums yet
	rows      int64           // of the file that is read
	made      AccountImported
}

func (m *accountImport) run(s *Store) (AccountImported, error) {
	steps := []struct {
		file, what string
		read       func(line []byte) error
		after      func() error
	}{
		{accountFile, "", func(line []byte) error { return parseLine(line, &m.line) }, func() error { return m.begin(s) }},
		{fieldFile, "", m.field, nil},
		{campaignFile, "campaigns", m.campaign, nil},
		{segmentFile, "", m.segment, nil},
		{contactFile, "contacts", m.contact, m.flush},
		{planFile, "plans", m.plan, m.flush},
		{giftFile, "gifts", m.gift, m.flush},
		{historyFile, "history", m.change, m.flush},
	}
	for _, step := range steps {
		m.rows = 0
		total := m.manifest.rows(step.file)
		err := m.manifest.eachLine(m.files, step.file, func(line []byte) error {
			if err := step.read(line); err != nil {
				return err
			}
			if m.rows++; step.what != "" {
				m.progress(step.what, m.rows, total)
			}
			if m.rows%importedAtOnce == 0 {
				if err := m.flush(); err != nil {
					return err
				}
			}
			return m.ctx.Err()
		})
		if err == nil && step.after != nil {
			err = step.after()
		}
		if err != nil {
			return m.made, err
		}
	}
	return m.made, m.end()
}

// importedAtOnce is how many records are in memory before they are written.
const importedAtOnce = 500

func (m *Manifest) rows(name string) int64 {
	for _, f := range m.Files {
		if f.Name == name {
			return f.Rows
		}
	}
	return 0
}

// flush writes what is in memory, and forgets it.
func (m *accountImport) flush() error {
	if err := m.countGifts(); err != nil {
		return err
	}
	m.writeGiving(m.a)
	m.writeSets(m.a)
	if err := m.Flush(); err != nil {
		return err
	}
	m.a.contacts, m.a.sets = make(map[int64]*stored), make(contactSets)
	clear(m.a.gifts.rows)
	clear(m.a.plans.rows)
	clear(m.a.references.rows)
	clear(m.a.giving.rows)
	return nil
}

// countGifts adds gifts to all sums, which are looked up together.
func (m *accountImport) countGifts() error {
	var cells []string
	for i := range m.gifts {
		s := shareOf(&m.gifts[i])
		cells = append(append(cells, s.cells()...), s.neighbors()...)
	}
	if err := m.a.giving.load(m.tx, m.a.account, cells); err != nil {
		return err
	}
	for i := range m.gifts {
		if err := m.moveGift(m.a, nil, &m.gifts[i]); err != nil {
			return err
		}
	}
	m.gifts = m.gifts[:0]
	return nil
}

// begin finds or makes the account, and refuses one that has anything.
func (m *accountImport) begin(s *Store) (err error) {
	if m.rows != 1 || m.line.Sequences.Oldest < 1 {
		return &FileProblem{File: accountFile, Reason: "must have one line, with the settings of the account and how far it has counted"}
	}
	m.campaigns = make(map[int64]int64)
	if m.made.Account = m.into; m.into.Number == 0 {
		if m.made.Account, err = m.newAccount(s); err != nil {
			return err
		}
		m.insertAccount(&m.made.Account, "")
	}
	if m.a, err = m.lock(m.made.Account.Number); err != nil {
		return err
	}
	if a := m.a; a.contactSeq+a.giftSeq+a.planSeq+a.campaignSeq+a.fieldSeq+a.segmentSeq+a.jobSeq > 0 {
		return ErrAccountNotEmpty
	}
	switch {
	case m.into.Number == 0:
		m.a.oldest, m.a.revision = m.line.Sequences.Oldest, m.line.Sequences.Oldest-1
	case m.line.Sequences.Oldest > 1:
		return &FileProblem{File: historyFile, Reason: "no longer begins with the first change: import into a new account"}
	}
	m.made.Renumbered = m.a.account != m.manifest.Account.Number
	m.shift = m.a.revision - (m.line.Sequences.Oldest - 1)
	m.a.touch(m.tx)
	m.a.currency, m.a.timezone = m.line.Currency, cmp.Or(m.line.Timezone, crm.DefaultTimezone)
	m.saveSettings(m.a.account, crm.AccountSettings{Address: m.line.Address, TaxID: m.line.TaxID, HistoryDays: m.line.HistoryDays, NoReturn: m.line.NoReturn})
	return nil
}

// newAccount has the number and the public id that it had, where both are free. A number below the last one was given out before.
func (m *accountImport) newAccount(s *Store) (account crm.Account, err error) {
	if account, err = crm.NewAccount(m.line.Name, crm.Account{}, s.now()); err != nil {
		return account, err
	}
	if account.Number, err = m.nextAccount(); err != nil {
		return account, err
	}
	account.CreatedAt = m.line.CreatedAt
	number := m.manifest.Account.Number
	taken, err := m.Exists(sqlTally, number)
	if err == nil && !taken && number >= account.Number {
		account.Number = number
	}
	if err == nil {
		taken, err = m.Exists(sqlAccountByID, m.line.ID)
	}
	if err == nil && !taken && crm.IsAccountID(m.line.ID) {
		account.ID = m.line.ID
	}
	return account, err
}

// id is an id of the files as it is from now on; 0 is none.
func (m *accountImport) id(id int64) (int64, error) {
	if id != 0 && foreign(m.manifest.Account.Number, id) {
		return 0, &FileProblem{Reason: "has the id of another account"}
	}
	if id == 0 {
		return 0, nil
	}
	return crm.MakeID(m.a.account, crm.IDSeq(id)), nil
}

// ofContact finds the contact of a gift or a plan under its new id.
func (m *accountImport) ofContact(id *int64) (err error) {
	if *id, err = m.id(*id); err == nil && (*id == 0 || crm.IDSeq(*id) > m.a.contactSeq) {
		err = &FileProblem{Reason: "names a contact that " + contactFile + " does not have"}
	}
	return err
}

// revision is a revision of the files as it is from now on; 0 is none.
func (m *accountImport) revision(revision int64) int64 {
	if revision == 0 {
		return 0
	}
	return revision + m.shift
}

func (m *accountImport) field(line []byte) error {
	var f fieldLine
	if err := parseLine(line, &f); err != nil {
		return err
	}
	m.a.fieldSeq = max(m.a.fieldSeq, f.ID)
	m.Insert(fieldTable, m.a.account, f.ID, f.Title, f.Description, f.Type, f.Options, f.Place, f.CreatedAt, f.EndedAt)
	return nil
}

func (m *accountImport) segment(line []byte) error {
	var g segmentLine
	if err := parseLine(line, &g); err != nil {
		return err
	}
	id, err := m.id(g.ID)
	if err != nil {
		return err
	}
	m.a.segmentSeq = max(m.a.segmentSeq, crm.IDSeq(id))
	m.Insert(segmentTable, m.a.account, id, g.Name, crm.RenumberedQuery(g.Query, m.campaigns), g.Actor, g.CreatedAt)
	return nil
}

// asStored is a line as a document is stored: what comes before its first field is left out when it is read.
func asStored(line []byte) ([]byte, error) {
	if len(line) == 0 || line[0] != '{' {
		return nil, &FileProblem{Reason: "is not a JSON object"}
	}
	line[0] = ','
	return line, nil
}

func (m *accountImport) contact(line []byte) error {
	var known struct {
		ID   int64       `json:"id"`
		Kept contactKept `json:"kept"`
	}
	err := parseLine(line, &known)
	if err != nil {
		return err
	}
	id, err := m.id(known.ID)
	if err != nil {
		return err
	}
	if crm.IDSeq(id) != m.a.contactSeq+1 {
		return &FileProblem{Reason: "is not the next contact: contacts are numbered without a gap"}
	}
	body, err := asStored(line)
	if err != nil {
		return err
	}
	c, err := crm.ParseContact(id, body, known.Kept.MatchKeys)
	if err != nil {
		return &FileProblem{Reason: err.Error()}
	}
	at := trace{revision: m.revision(known.Kept.Revision), version: known.Kept.Version, lastGift: known.Kept.LastGift}
	m.made.Contacts++
	return m.placeContact(m.a, c, at)
}

// placeContact writes a contact as it was, under the next sequence number.
func (t *tx) placeContact(a *accountUnit, c crm.Contact, at trace) error {
	if err := t.moveSets(a, c.ID, nil, setsOf(&c)); err != nil {
		return err
	}
	a.touch(t)
	a.listRevision++
	a.contactSeq++
	if c.Archived() {
		t.Insert(archivalTable, a.account, a.listRevision, c.ID, int64(1))
	} else {
		a.contactActive++
	}
	t.countTags(a.account, c, 1)
	t.writeContact(t.Insert, a, a.listRevision, at, c, c.AppendBody(make([]byte, 0, usualBody)))
	t.insertKeys(a, c.ID, c.MatchKeys)
	t.Insert(wordsTable, a.account, c.ID, c.SearchDocument(a.account))
	return nil
}

func (m *accountImport) plan(line []byte) error {
	code, kept, body, err := m.document(line)
	if err != nil {
		return err
	}
	p, err := crm.ParsePlan(codeID(m.a.account, code), code, body)
	if err != nil {
		return &FileProblem{Reason: err.Error()}
	}
	if err := cmp.Or(m.ofContact(&p.Contact), m.ofCampaign(&p.Campaign)); err != nil {
		return err
	}
	m.made.Plans++
	m.a.planSeq = max(m.a.planSeq, crm.IDSeq(p.ID))
	m.writePlan(m.Insert, m.a, m.revision(kept.Revision), &p)
	m.moveReference(m.a, planReference, "", p.ExternalID, p.ID)
	return nil
}

func (m *accountImport) gift(line []byte) error {
	code, kept, body, err := m.document(line)
	if err != nil {
		return err
	}
	var campaign struct {
		ID int64 `json:"campaign_id"`
	}
	body[0] = '{'
	err = parseLine(body, &campaign)
	body[0] = ','
	if err != nil {
		return err
	}
	g, err := crm.ParseGift(codeID(m.a.account, code), code, campaign.ID, body)
	if err != nil {
		return &FileProblem{Reason: err.Error()}
	}
	if err := cmp.Or(m.ofContact(&g.Contact), m.ofCampaign(&g.Campaign)); err != nil {
		return err
	}
	m.made.Gifts++
	m.a.giftSeq = max(m.a.giftSeq, crm.IDSeq(g.ID))
	m.writeGift(m.Insert, m.a, m.revision(kept.Revision), &g)
	m.moveReference(m.a, giftReference, "", g.ExternalID, g.ID)
	m.gifts = append(m.gifts, g)
	return nil
}

// document is what all documents with a public id have in common.
func (m *accountImport) document(line []byte) (code string, kept documentKept, body []byte, err error) {
	var known struct {
		ID   string       `json:"id"`
		Kept documentKept `json:"kept"`
	}
	if err = parseLine(line, &known); err == nil {
		body, err = asStored(line)
	}
	if err == nil && codeID(m.a.account, known.ID) == 0 {
		err = &FileProblem{Reason: "has no id of 16 letters and digits"}
	}
	return known.ID, known.Kept, body, err
}

// ofCampaign finds the campaign of a gift or a plan under its new id; 0 is none.
func (m *accountImport) ofCampaign(id *int64) error {
	is, known := m.campaigns[*id]
	if *id != 0 && !known {
		return &FileProblem{Reason: "names a campaign that " + campaignFile + " does not have"}
	}
	*id = is
	return nil
}

func (m *accountImport) change(line []byte) error {
	var l changeLine
	if err := parseLine(line, &l); err != nil {
		return err
	}
	noun, nounErr := crm.ParseNoun(l.Noun)
	kind, kindErr := crm.ParseChangeKind(l.Kind)
	door, doorErr := crm.ParseDoor(l.Door)
	if err := cmp.Or(nounErr, kindErr, doorErr); err != nil {
		return &FileProblem{Reason: err.Error()}
	}
	c := Change{Revision: m.revision(l.Revision), Noun: noun, Kind: kind, ID: l.ID, Prev: m.revision(l.Prev), Undoes: m.revision(l.Undoes),
		Job: l.Job, At: l.At, Door: door, Who: l.Actor}
	if c.Revision != m.a.revision+1 {
		return &FileProblem{Reason: "is not the next change: changes are numbered without a gap"}
	}
	switch noun {
	case crm.ContactNoun, crm.GiftNoun, crm.PlanNoun, crm.KeyNoun, crm.SegmentNoun:
		id, err := m.id(l.ID)
		if err != nil {
			return err
		}
		c.ID = id
	case crm.CampaignNoun:
		c.ID = cmp.Or(m.campaigns[l.ID], l.ID) // one that was deleted keeps its id
	}
	if string(l.Data) != "null" {
		c.Data = string(m.data(l.Data))
	}
	m.a.revision++
	m.Insert(changeTable, changeValues(&c, m.a.account)...)
	return nil
}

// data is what a change says, with the ids in it as they are from now on.
func (m *accountImport) data(data json.RawMessage) json.RawMessage {
	var exported Exported
	if json.Unmarshal(data, &exported) == nil && exported.Contact != 0 {
		exported.Contact, _ = m.id(exported.Contact)
		return jsonOf(exported)
	}
	differences, err := crm.ParseDifferences(string(data))
	if err != nil || !m.made.Renumbered || !differences.Has("contact_id") && !differences.Has("campaign_id") {
		return data
	}
	for i, d := range differences {
		if d.Field == "contact_id" || d.Field == "campaign_id" {
			differences[i].Before, differences[i].After = m.idText(d.Field, d.Before), m.idText(d.Field, d.After)
		}
	}
	return json.RawMessage(differences.Text())
}

func (m *accountImport) idText(field string, text json.RawMessage) json.RawMessage {
	var id int64
	if json.Unmarshal(text, &id) != nil || id == 0 {
		return text
	}
	is := cmp.Or(m.campaigns[id], id)
	if moved, err := m.id(id); field == "contact_id" && err == nil {
		is = moved
	}
	out, _ := json.Marshal(is) // a number
	return out
}

// end counts on from where the account has been, and notes where it came from.
func (m *accountImport) end() error {
	q := m.line.Sequences
	if m.a.revision != m.revision(q.Revision) {
		return &FileProblem{File: historyFile, Reason: "does not end with the last change of the account"}
	}
	m.a.fieldSeq, m.a.segmentSeq, m.a.jobSeq = max(m.a.fieldSeq, q.Fields), max(m.a.segmentSeq, q.Segments), q.Jobs
	m.a.campaignSeq, m.a.keySeq = max(m.a.campaignSeq, q.Campaigns), max(m.a.keySeq, q.Keys)
	m.record(m.a, crm.SettingNoun, 0, crm.DidImport, 0, "")
	return nil
}
