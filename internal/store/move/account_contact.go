package move

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

type (
	contactKept struct {
		MatchKeys []string `json:"match_keys"`
		Revision  int64    `json:"revision"`
		LastGift  int64    `json:"last_gift"`
	}
	changeLine struct {
		Revision int64           `json:"revision"`
		Noun     string          `json:"noun"`
		Kind     string          `json:"kind"`
		ID       int64           `json:"id"`
		Undoes   int64           `json:"undoes"`
		Job      int64           `json:"job"`
		At       time.Time       `json:"at"`
		Channel  string          `json:"door"`
		Actor    string          `json:"actor"`
		Data     json.RawMessage `json:"data"`
	}
	mergeLine struct {
		ID       int64  `json:"id"`
		Survivor int64  `json:"survivor_id"`
		Other    int64  `json:"other_id"`
		Last     int64  `json:"last"`
		Sent     string `json:"sent"`
		Review   int64  `json:"review"`
		Undone   int64  `json:"undone"`
		At       int64  `json:"at"`
		Moving   bool   `json:"moving,omitempty"` // not all gifts have moved yet
		Choice   string `json:"choice,omitempty"`
		Place    int64  `json:"place,omitempty"` // where it is not at its own change
	}
	dismissedLine struct { // contacts that are not the same person
		A       int64 `json:"contact_id_a"`
		B       int64 `json:"contact_id_b"`
		DigestA int64 `json:"digest_a"`
		DigestB int64 `json:"digest_b"`
	}
)

func exportContacts(x *accountExport, w *LineWriter) error {
	var read []*store.StoredContact
	return store.EachStored(x.conn, x.account.Number, func(s *store.StoredContact) error {
		read = append(read, s)
		return s.Damage
	}, func() error {
		for _, s := range read {
			if err := w.document(crm.AppendContact(nil, s.ID, s.Body),
				contactKept{store.SplitKeys(s.MatchKeys), s.Revision, s.LastGift}); err != nil {
				return err
			}
		}
		read = read[:0]
		x.progress("contacts", w.Rows, x.row.ContactSeq)
		return nil
	})
}

func readContact(r *accountReader, h *head[int64, contactKept], body []byte) (importLine, error) {
	if r.contacts++; doc.IDSeq(h.ID) != r.contacts {
		return nil, problem("is not the next contact: contacts are numbered without gaps")
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
		err = problem("has a negative number under kept")
	}
	return func(w *accountWriter) error {
		made := c.WithDerivedKeys() // the file may be of an earlier release
		made.ID, made.MergedInto = w.id(c.ID), w.id(c.MergedInto)
		rows := find.ContactRows(&made, w.Number)
		w.stage(made.ID, rows, func() error {
			w.done.Contacts++
			return store.PlaceContact(w.Unit, store.Trace{Revision: w.revision(h.Kept.Revision),
				LastGift: h.Kept.LastGift}, made, rows)
		})
		return nil
	}, err
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

const sqlChangesFrom = store.ChangeColumns + ` AND revision > $2 AND revision <= $3 ORDER BY revision LIMIT 1000`

func exportHistory(x *accountExport, w *LineWriter) error {
	for last, more := int64(0), true; more; {
		more = false
		err := x.conn.Each(func(r db.Row) error {
			c := store.ScanChange(r)
			last, more = c.Revision, true
			x.progress("history", c.Revision, x.row.Revision)
			return w.encode(lineOf(&c))
		}, sqlChangesFrom, x.account.Number, last, x.row.Revision)
		if err != nil {
			return err
		}
	}
	return nil
}

// lineOf is a row of the record as files have it.
func lineOf(c *store.Change) changeLine {
	line := changeLine{Revision: c.Revision, Noun: c.Noun.String(), Kind: c.Kind.String(), ID: c.ID, Undoes: c.Undoes,
		Job: c.Job,
		At:  c.At, Channel: c.Channel.String(), Actor: c.Who}
	if c.Data != "" {
		line.Data = json.RawMessage(c.Data)
	}
	return line
}

// maxActor is how long a name may be that the history keeps.
const maxActor = 1000

func readChange(r *accountReader, l *changeLine) (importLine, error) {
	about, nounErr := history.ParseNoun(l.Noun)
	kind, kindErr := history.ParseKind(l.Kind)
	channel, channelErr := history.ParseChannel(l.Channel)
	if err := cmp.Or(nounErr, kindErr, channelErr); err != nil {
		return nil, err
	}
	switch r.revision++; {
	case l.Revision != r.revision:
		return nil, problem("is not the next change: changes are numbered without gaps")
	case min(l.Undoes, l.ID, l.Job) < 0 || l.Undoes >= l.Revision:
		return nil, problem("names a change that does not come before it")
	case len(l.Actor) > maxActor || len(l.Data) > 0 && l.Data[0] != '{' && l.Data[0] != '[' && string(l.Data) != "null":
		return nil, problem("does not say who made the change, or what it was")
	}
	numbered := slices.ContainsFunc(r.nouns, func(n *noun) bool { return n.numbered == about })
	if numbered && l.ID != 0 {
		if err := r.own(l.ID); err != nil {
			return nil, err
		}
	}
	return func(w *accountWriter) error {
		c := store.Change{Revision: w.revision(l.Revision), Noun: about, Kind: kind, ID: l.ID,
			Undoes: w.revision(l.Undoes), Job: l.Job, At: l.At, Channel: channel, Who: l.Actor}
		switch {
		case numbered:
			c.ID = w.id(l.ID)
		case about == history.CampaignNoun:
			c.ID = cmp.Or(w.campaigns[l.ID], l.ID) // one that was deleted keeps its id
		}
		if string(l.Data) != "null" {
			c.Data = string(w.data(json.RawMessage(l.Data)))
		}
		w.Revision = c.Revision
		w.Insert(store.ChangeTable, store.ChangeValues(&c, w.Number)...)
		return nil
	}, nil
}

func exportMerges(x *accountExport, w *LineWriter) error {
	return x.conn.EachOf(store.MergeTable, x.account.Number, func(row []any) error {
		at := func(i int) int64 { return row[i].(int64) }
		return w.encode(lineOfMerge(&store.Merge{ID: at(1), Survivor: at(2), Other: at(3), Last: at(4),
			Sent: row[5].(string), Review: store.Review(at(6)), Undone: at(7), At: store.Moment(at(8)), Moving: at(9),
			Choice: row[10].(string), Place: at(11)}))
	})
}

func lineOfMerge(m *store.Merge) mergeLine {
	place := m.Place
	if place == m.ID {
		place = 0
	}
	return mergeLine{m.ID, m.Survivor, m.Other, m.Last, m.Sent, int64(m.Review), m.Undone, store.Seconds(m.At),
		m.Moving != 0, m.Choice, place}
}

func readMerge(r *accountReader, l *mergeLine) (importLine, error) {
	m := store.Merge{ID: l.ID, Survivor: l.Survivor, Other: l.Other, Last: l.Last, Sent: l.Sent,
		Review: store.Review(l.Review), Undone: l.Undone, At: store.Moment(l.At), Choice: l.Choice,
		Place: cmp.Or(l.Place, l.ID)}
	err := cmp.Or(r.known(m.ID), r.known(m.Last), r.known(m.Place), r.known(m.Undone), r.refers(m.Survivor, 0))
	if err == nil && m.Other != 0 {
		err = r.refers(m.Other, 0)
	}
	if err == nil && (m.ID <= r.merges || m.Last < m.ID || m.Review < store.NoReview || m.Review > store.ReviewKept) {
		err = problem("is not a merge, or is out of order")
	}
	if _, wrong := crm.ReadMergeChoice(m.Choice, m.Survivor, m.Other); err == nil && (wrong != nil || m.Place > m.ID) {
		err = problem("is a merge that cannot have happened")
	}
	if err == nil && l.Moving && m.Other == 0 {
		err = problem("is not a merge that moves gifts")
	}
	if err == nil && m.Other != 0 && m.Undone == 0 && r.merged[m.Other] != m.Survivor {
		err = problem("is about a contact that was not merged into the survivor")
	}
	if r.merges = m.ID; err == nil && m.SentDocument() != "" {
		var sent crm.Contact
		if sent, err = store.SentContact(m.Sent, r.now); err == nil {
			err = sent.CheckImported(r.fields, r.now)
		}
	}
	return func(w *accountWriter) error {
		made := m
		// one that the history has forgotten keeps its number, too
		made.ID, made.Last, made.Undone, made.Place = w.revision(m.ID), w.revision(m.Last), w.revision(m.Undone),
			w.revision(m.Place)
		made.Survivor, made.Other = w.id(m.Survivor), w.id(m.Other)
		made.Moving = -store.Flag(l.Moving) // until the account is complete, and a job goes on (merges.Resume)
		w.Insert(store.MergeTable, made.Values(w.Number)...)
		return nil
	}, err
}

// exportDismissed writes which contacts a person has called different people. Other pairs are found again.
func exportDismissed(x *accountExport, w *LineWriter) error {
	at := store.DuplicateTable.At
	return x.conn.EachOf(store.DuplicateTable, x.account.Number, func(row []any) error {
		if row[at("state")].(int64) == 0 {
			return nil
		}
		return w.encode(dismissedLine{row[1].(int64), row[2].(int64), row[at("digest_a")].(int64),
			row[at("digest_b")].(int64)})
	})
}

func readDismissed(r *accountReader, l *dismissedLine) (importLine, error) {
	err := cmp.Or(r.refers(l.A, 0), r.refers(l.B, 0))
	if pair := [2]int64{l.A, l.B}; err == nil && (l.A >= l.B || slices.Compare(pair[:], r.dismissed[:]) <= 0) {
		err = problem("must name two contacts, the older one first, after those before it")
	} else {
		r.dismissed = pair
	}
	return func(w *accountWriter) error {
		w.Insert(store.DuplicateTable, w.Number, w.id(l.A), w.id(l.B), -w.id(l.A), int64(0), int64(0), "", "", int64(1),
			l.DigestA, l.DigestB)
		return nil
	}, err
}
