package move

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"hash/maphash"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/picture"
	"donorbook/internal/crm/text"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
	"donorbook/internal/store/gifts"
	"donorbook/internal/store/jobs"
)

// importedFiles are the files of an account that are imported, in the order in which they are read.
var importedFiles = []string{AccountFile, FieldFile, CampaignFile, PictureFile, SegmentFile, ContactFile, PlanFile, GiftFile, HistoryFile, MergeFile, ApartFile}

// importLine writes a line that was checked.
type importLine func(*accountWriter) error

// accountReader reads the files of an account and checks each line as if a client had sent it, and by those before it. It needs no database.
type accountReader struct {
	files    fs.FS
	manifest *Manifest
	region   string
	now      time.Time

	row       int64 // of the file that is read
	line      AccountLine
	fields    *custom.Fields
	segments  []find.Segment
	campaigns map[int64]bool
	pictures  map[string]int64 // campaigns, by the names of the files that they lack
	contacts  int64            // sequence number of the last one
	plans     int64
	gifts     int64
	revision  int64           // of the last change
	merges    int64           // the last one
	merged    map[int64]int64 // the contacts that others were merged into

	seed       maphash.Seed
	references map[uint64]bool // external ids, by their hashes
}

func newAccountReader(files fs.FS, manifest *Manifest, region string, now time.Time) *accountReader {
	return &accountReader{files: files, manifest: manifest, region: cmp.Or(region, "US"), now: now, fields: custom.NewFields(0, nil), campaigns: make(map[int64]bool), pictures: make(map[string]int64),
		merges: math.MinInt64, merged: make(map[int64]int64), seed: maphash.MakeSeed(), references: make(map[uint64]bool)}
}

// each reads all lines, and gives each of them to take with what writes it. At the end of a file it gives nil.
func (r *accountReader) each(ctx context.Context, take func(file string, line int64, size int, write importLine) error) error {
	reads := map[string]func(line []byte) (importLine, error){
		AccountFile: r.settings, FieldFile: r.field, CampaignFile: r.campaign, PictureFile: r.picture, SegmentFile: r.segment, ContactFile: r.contact, PlanFile: r.plan, GiftFile: r.gift, HistoryFile: r.change, MergeFile: r.merge, ApartFile: r.apart,
	}
	for _, file := range importedFiles {
		r.row = 0
		if file == PictureFile && !r.manifest.lists(file) && len(r.pictures) == 0 {
			continue // the files are from before there were pictures
		}
		if (file == MergeFile || file == ApartFile) && !r.manifest.lists(file) {
			continue // the same of merges
		}
		err := r.manifest.eachLine(r.files, file, func(line []byte) error {
			r.row++
			size := len(line)
			write, err := reads[file](line)
			if err != nil {
				return asProblem(err)
			}
			return errors.Join(take(file, r.row, size, write), ctx.Err())
		})
		switch {
		case err != nil:
			return err
		case file == AccountFile && r.row != 1:
			return &FileProblem{File: file, Reason: "must have one line, with the settings of the account and how far it has counted"}
		case file == PictureFile && len(r.pictures) > 0:
			return &FileProblem{File: file, Reason: "lacks " + slices.Min(slices.Collect(maps.Keys(r.pictures)))}
		case file == HistoryFile && r.revision != r.line.Sequences.Revision:
			return &FileProblem{File: file, Reason: "does not end with the last change of the account"}
		}
		if err := take(file, r.row, 0, nil); err != nil {
			return err
		}
	}
	return nil
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

func (r *accountReader) settings(line []byte) (importLine, error) {
	if err := json.Unmarshal(line, &r.line); err != nil {
		return nil, err
	}
	q := r.line.Sequences
	if q.Oldest < 1 || q.Revision < q.Oldest-1 || min(q.Campaigns, q.Keys, q.Fields, q.Segments, q.Jobs) < 0 || max(q.Campaigns, q.Keys, q.Fields, q.Segments, q.Jobs) > doc.MaxSeq {
		return nil, problem("does not say how far the account has counted")
	}
	if year := r.line.CreatedAt.Year(); year < 1970 || year > 2199 {
		return nil, problem("does not say when the account was made")
	}
	name, err := access.AccountName(r.line.Name)
	if err != nil {
		return nil, err
	}
	r.line.Name, r.revision = name, q.Oldest-1
	if r.line.Logo != "" && !picture.IsAddress(r.line.Logo) {
		return nil, problem("has a logo that is no picture of the files")
	}
	r.lack(0, r.line.Logo)
	currency, address, tax, days := r.line.Currency, r.line.Address, r.line.TaxID, string(jobs.JSONOf(r.line.HistoryDays))
	zone := cmp.Or(r.line.Timezone, text.DefaultTimezone)
	in := access.AccountSettingsInput{Currency: &currency, Timezone: &zone, Address: &address, TaxID: &tax, HistoryDays: &days, Email: &r.line.Email, Website: &r.line.Website, PublicDonors: &r.line.Donors}
	if err := in.Validate(); err != nil {
		return nil, err
	}
	return func(*accountWriter) error { return nil }, nil // they are written at the end
}

func (r *accountReader) field(line []byte) (importLine, error) {
	var l fieldLine
	if err := json.Unmarshal(line, &l); err != nil {
		return nil, err
	}
	f := custom.Field{ID: l.ID, Title: l.Title, Description: l.Description, Type: custom.FieldType(l.Type), Options: store.SplitKeys(l.Options), Place: l.Place,
		CreatedAt: store.Moment(l.CreatedAt), EndedAt: store.Moment(l.EndedAt)}
	if err := f.CheckImported(r.fields); err != nil {
		return nil, err
	}
	r.fields = custom.NewFields(0, append(r.fields.All, f))
	return func(w *accountWriter) error {
		w.a.FieldSeq = max(w.a.FieldSeq, l.ID)
		w.Insert(store.FieldTable, w.a.Account, l.ID, l.Title, l.Description, l.Type, l.Options, l.Place, l.CreatedAt, l.EndedAt)
		return nil
	}, nil
}

func (r *accountReader) segment(line []byte) (importLine, error) {
	var l segmentLine
	if err := json.Unmarshal(line, &l); err != nil {
		return nil, err
	}
	made, err := find.NewSegment(l.Name, l.Query, r.region)
	if err == nil {
		err = cmp.Or(find.SegmentLimit.Check(int64(len(r.segments)), 1), r.own(l.ID))
	}
	if err != nil {
		return nil, err
	}
	for _, other := range r.segments {
		if other.ID == l.ID || other.IsCalled(made.Name) {
			return nil, problem("has the id or the name of a segment before it")
		}
	}
	made.ID = l.ID
	r.segments = append(r.segments, made)
	return func(w *accountWriter) error {
		id := w.id(l.ID)
		w.a.SegmentSeq = max(w.a.SegmentSeq, doc.IDSeq(id))
		w.Insert(store.SegmentTable, w.a.Account, id, made.Name, find.RenumberedQuery(made.Query, w.campaigns), l.Actor, l.CreatedAt)
		return nil
	}, nil
}

// lack notes that a campaign has pictures, or the organization where it is 0. Their files come after it.
func (r *accountReader) lack(campaign int64, addresses ...string) {
	for _, name := range picture.Names(addresses...) {
		r.pictures[name] = campaign
	}
}

func (r *accountReader) picture(line []byte) (importLine, error) {
	var l pictureLine
	if err := json.Unmarshal(line, &l); err != nil {
		return nil, err
	}
	if campaign, lacks := r.pictures[l.Name]; !lacks || campaign != l.Campaign {
		return nil, problem("is a picture that its campaign does not have, or has already")
	}
	delete(r.pictures, l.Name)
	return func(w *accountWriter) error {
		w.Insert(store.PictureTable, w.a.Account, l.Name, w.campaigns[l.Campaign], l.Body, store.Checksum(l.Body))
		return nil
	}, picture.File{Name: l.Name, Body: l.Body}.Check()
}

// own refuses an id that the account has not given out.
func (r *accountReader) own(id int64) error {
	if store.Foreign(r.manifest.Account.Number, id) {
		return problem("has the id of another account")
	}
	return nil
}

// known refuses a change of a document that the history cannot have.
func (r *accountReader) known(revision int64) error {
	if revision < 0 || revision > r.line.Sequences.Revision {
		return problem("names a change that " + HistoryFile + " does not have")
	}
	return nil
}

// head is what the line of a document says beside the document itself. Contacts and campaigns have a number for an id, gifts and plans a text.
type head[ID, Kept any] struct {
	ID       ID    `json:"id"`
	Campaign int64 `json:"campaign_id"` // of a gift
	Kept     Kept  `json:"kept"`
}

// readDocument reads the line of a document. body is as the document is stored: what comes before its first field is left out when it is read.
func readDocument[ID, Kept any](line []byte) (h head[ID, Kept], body []byte, err error) {
	if err = json.Unmarshal(line, &h); err == nil && line[0] != '{' {
		err = problem("is not a JSON object")
	}
	if err == nil {
		line[0] = ','
	}
	return h, line, err
}

func (r *accountReader) contact(line []byte) (importLine, error) {
	h, body, err := readDocument[int64, contactKept](line)
	if err != nil {
		return nil, err
	}
	if r.contacts++; doc.IDSeq(h.ID) != r.contacts {
		return nil, problem("is not the next contact: contacts are numbered without a gap")
	}
	c, err := crm.ParseContact(h.ID, body, h.Kept.MatchKeys)
	if err == nil {
		err = cmp.Or(r.own(h.ID), c.CheckImported(r.fields, r.now), r.known(h.Kept.Revision))
	}
	if err == nil && c.MergedInto != 0 {
		err = r.mergedInto(&c)
	}
	for _, id := range c.ExternalIDs {
		if err == nil {
			err = r.isNew(crm.ExternalPrefix, id.Key())
		}
	}
	if err == nil && h.Kept.LastGift < 0 {
		err = problem("is kept with a number below zero")
	}
	return func(w *accountWriter) error {
		made := c
		made.ID, made.MergedInto = w.id(c.ID), w.id(c.MergedInto)
		rows := find.ContactRows(&made, w.a.Account)
		w.stage(made.ID, rows, func() error {
			w.done.Contacts++
			return contacts.PlaceContact(w.Tx, w.a, contacts.Trace{Revision: w.revision(h.Kept.Revision), LastGift: h.Kept.LastGift}, made, rows)
		})
		return nil
	}, err
}

// numbered is the sequence number of a gift or a plan. Both are in ascending order.
func (r *accountReader) numbered(code string, last *int64) (err error) {
	seq, ok := giving.CodeSeq(code)
	switch {
	case !ok:
		err = problem("has no id of 16 letters and digits")
	case seq <= *last:
		err = problem("has the number of one before it, or a smaller one")
	}
	*last = seq
	return err
}

// refers refuses a document of a contact or a campaign that the files do not have; 0 is no campaign.
func (r *accountReader) refers(contact, campaign int64) error {
	switch {
	case store.Foreign(r.manifest.Account.Number, contact) || doc.IDSeq(contact) > r.contacts:
		return problem("names a contact that " + ContactFile + " does not have")
	case campaign != 0 && !r.campaigns[campaign]:
		return problem("names a campaign that " + CampaignFile + " does not have")
	}
	return nil
}

// isNew refuses an external id that a record before it has. It is known by 64 bits of a hash that is another one each time: a file that is refused for no
// reason, once in ten million times where it has a million of them, is accepted when it is read again.
func (r *accountReader) isNew(kind, external string) error {
	hash := maphash.String(r.seed, kind+external)
	if external != "" && r.references[hash] {
		return problem("has the external id of a record before it")
	}
	r.references[hash] = true
	return nil
}

func (r *accountReader) plan(line []byte) (importLine, error) {
	h, body, err := readDocument[string, documentKept](line)
	if err != nil {
		return nil, err
	}
	p, err := giving.ParsePlan(gifts.CodeID(r.manifest.Account.Number, h.ID), h.ID, body)
	if err == nil {
		err = cmp.Or(r.numbered(h.ID, &r.plans), r.known(h.Kept.Revision), r.refers(p.Contact, p.Campaign), p.CheckImported(r.now), r.isNew(find.PlanReference, p.ExternalID))
	}
	return func(w *accountWriter) error {
		made := p
		made.ID, made.Contact, made.Campaign = w.id(p.ID), w.id(p.Contact), w.campaigns[p.Campaign]
		w.a.PlanSeq = doc.IDSeq(made.ID)
		w.done.Plans++
		return gifts.PutPlan(w.Tx, w.a, &made, w.revision(h.Kept.Revision))
	}, err
}

func (r *accountReader) gift(line []byte) (importLine, error) {
	h, body, err := readDocument[string, documentKept](line)
	if err != nil {
		return nil, err
	}
	g, err := giving.ParseGift(gifts.CodeID(r.manifest.Account.Number, h.ID), h.ID, h.Campaign, body)
	if err == nil {
		err = cmp.Or(r.numbered(h.ID, &r.gifts), r.known(h.Kept.Revision), r.refers(g.Contact, g.Campaign), g.CheckImported(r.now), r.isNew(find.GiftReference, g.ExternalID))
	}
	if plan := g.Plan(); err == nil && plan != 0 && doc.IDSeq(plan) > r.plans {
		err = problem("names a plan that " + PlanFile + " does not have")
	}
	return func(w *accountWriter) error {
		made := g
		made.ID, made.Contact, made.Campaign = w.id(g.ID), w.id(g.Contact), w.campaigns[g.Campaign]
		made.Local = giving.GiftClock(g.At, w.a.Location())
		w.stage(made.ID, find.GiftRows(&made), func() error {
			w.a.GiftSeq, w.givers[made.Contact] = doc.IDSeq(made.ID), true
			w.done.Gifts++
			return gifts.PutGift(w.Tx, w.a, &made, w.revision(h.Kept.Revision))
		})
		return nil
	}, err
}

// maxActor is how long a name may be that the history keeps.
const maxActor = 1000

func (r *accountReader) change(line []byte) (importLine, error) {
	var l changeLine
	if err := json.Unmarshal(line, &l); err != nil {
		return nil, err
	}
	noun, nounErr := history.ParseNoun(l.Noun)
	kind, kindErr := history.ParseKind(l.Kind)
	channel, channelErr := history.ParseChannel(l.Channel)
	if err := cmp.Or(nounErr, kindErr, channelErr); err != nil {
		return nil, err
	}
	switch r.revision++; {
	case l.Revision != r.revision:
		return nil, problem("is not the next change: changes are numbered without a gap")
	case min(l.Undoes, l.ID, l.Job) < 0 || l.Undoes >= l.Revision:
		return nil, problem("names a change that is not before it")
	case len(l.Actor) > maxActor || len(l.Data) > 0 && l.Data[0] != '{' && l.Data[0] != '[' && string(l.Data) != "null":
		return nil, problem("does not say who made the change, or what it was")
	}
	numbered := noun == history.ContactNoun || noun == history.GiftNoun || noun == history.PlanNoun || noun == history.KeyNoun || noun == history.SegmentNoun
	if numbered && l.ID != 0 {
		if err := r.own(l.ID); err != nil {
			return nil, err
		}
	}
	return func(w *accountWriter) error {
		c := store.Change{Revision: w.revision(l.Revision), Noun: noun, Kind: kind, ID: l.ID, Undoes: w.revision(l.Undoes), Job: l.Job, At: l.At, Channel: channel, Who: l.Actor}
		switch {
		case numbered:
			c.ID = w.id(l.ID)
		case noun == history.CampaignNoun:
			c.ID = cmp.Or(w.campaigns[l.ID], l.ID) // one that was deleted keeps its id
		}
		if string(l.Data) != "null" {
			c.Data = string(w.data(json.RawMessage(l.Data)))
		}
		w.a.Revision = c.Revision
		w.Insert(store.ChangeTable, store.ChangeValues(&c, w.a.Account)...)
		return nil
	}, nil
}

// mergedInto refuses a contact that was merged into none that is left in the end: following it would never end.
func (r *accountReader) mergedInto(c *crm.Contact) error {
	for at := c.MergedInto; at != 0; at = r.merged[at] {
		if at == c.ID || !c.Archived() {
			return problem("cannot have been merged into contact " + strconv.FormatInt(c.MergedInto, 10))
		}
	}
	r.merged[c.ID] = c.MergedInto
	return r.own(c.MergedInto)
}

func (r *accountReader) merge(line []byte) (importLine, error) {
	var l mergeLine
	if err := json.Unmarshal(line, &l); err != nil {
		return nil, err
	}
	m := store.Merge{ID: l.ID, Survivor: l.Survivor, Other: l.Other, Last: l.Last, Sent: l.Sent, Review: store.Review(l.Review), Undone: l.Undone, At: store.Moment(l.At)}
	err := cmp.Or(r.known(max(m.ID, 0)), r.known(max(m.Last, 0)), r.known(max(m.Undone, 0)), r.refers(m.Survivor, 0))
	if err == nil && m.Other != 0 {
		err = r.refers(m.Other, 0)
	}
	if err == nil && (m.ID <= r.merges || m.ID > 0 && m.Last < m.ID || m.Review < store.NoReview || m.Review > store.ReviewKept) {
		err = problem("is no merge that comes after the one before it")
	}
	if err == nil && l.Moving && (m.Other == 0 || m.ID <= 0) {
		err = problem("is no merge that moves gifts")
	}
	if err == nil && m.Other != 0 && m.Undone == 0 && r.merged[m.Other] != m.Survivor {
		err = problem("is about a contact that was not merged into the survivor")
	}
	if r.merges = m.ID; err == nil && m.SentDocument() != "" {
		var sent crm.Contact
		if sent, err = contacts.SentContact(m.Sent, r.now); err == nil {
			err = sent.CheckImported(r.fields, r.now)
		}
	}
	return func(w *accountWriter) error {
		made := m
		made.ID, made.Last, made.Undone = w.mergeID(m.ID), w.mergeID(m.Last), w.mergeID(m.Undone)
		made.Survivor, made.Other = w.id(m.Survivor), w.id(m.Other)
		made.Moving = -contacts.Flag(l.Moving) // until the account is complete, and a job goes on (merges.Resume)
		w.Insert(store.MergeTable, made.Values(w.a.Account)...)
		return nil
	}, err
}

func (r *accountReader) apart(line []byte) (importLine, error) {
	var l apartLine
	if err := json.Unmarshal(line, &l); err != nil {
		return nil, err
	}
	err := cmp.Or(r.refers(l.A, 0), r.refers(l.B, 0))
	if err == nil && l.A >= l.B {
		err = problem("must name two contacts, the older one first")
	}
	return func(w *accountWriter) error {
		w.Insert(store.DuplicateTable, w.a.Account, w.id(l.A), w.id(l.B), -w.id(l.A), int64(0), int64(0), "", "", int64(1), l.DigestA, l.DigestB)
		return nil
	}, err
}
