package move

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/giving"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/campaigns"
	"donorbook/internal/store/contacts"
	"donorbook/internal/store/gifts"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/people"
)

// What the lines of files say beside the wire forms.
type (
	AccountLine struct {
		ID          string       `json:"id"`
		Name        string       `json:"name"`
		CreatedAt   time.Time    `json:"created_at"`
		Currency    string       `json:"currency"`
		Timezone    string       `json:"timezone,omitempty"`
		Address     string       `json:"address"`
		TaxID       string       `json:"tax_id"`
		HistoryDays int64        `json:"history_days"`
		NoReturn    bool         `json:"no_return,omitempty"`
		Logo        string       `json:"logo,omitempty"` // the address of a picture
		Email       string       `json:"email,omitempty"`
		Website     string       `json:"website,omitempty"`
		Donors      string       `json:"public_donors,omitempty"`
		Sequences   accountCount `json:"sequences"`
	}
	// accountCount is how far an account has counted, so that no number is given out again.
	accountCount struct {
		Campaigns int64 `json:"campaigns"`
		Keys      int64 `json:"keys"`
		Fields    int64 `json:"custom_fields"`
		Segments  int64 `json:"segments"`
		Jobs      int64 `json:"jobs"`
		Oldest    int64 `json:"oldest_revision"`
		Revision  int64 `json:"revision"`
	}
	fieldLine struct {
		ID          int64  `json:"id"`
		Title       string `json:"title"`
		Description string `json:"description"`
		Type        string `json:"type"`
		Options     string `json:"options"`
		Place       int64  `json:"place"`
		CreatedAt   int64  `json:"created_at"`
		EndedAt     int64  `json:"ended_at"`
	}
	segmentLine struct {
		ID        int64  `json:"id"`
		Name      string `json:"name"`
		Query     string `json:"query"`
		Actor     string `json:"actor"`
		CreatedAt int64  `json:"created_at"`
	}
	campaignKept struct {
		Status        string    `json:"status"`
		PaymentLink   string    `json:"payment_link"`
		ListedAt      int64     `json:"listed_at"`
		OpeningRaised int64     `json:"opening_raised"` // in cents
		OpeningDonors int64     `json:"opening_donors"`
		Revision      int64     `json:"revision"`
		OldSlugs      []oldSlug `json:"old_slugs"`
	}
	oldSlug struct {
		Slug   string `json:"slug"`
		LeftAt int64  `json:"left_at"`
	}
	pictureLine struct {
		Name     string `json:"name"`
		Campaign int64  `json:"campaign_id"` // 0 where it is the logo of the organization
		Body     []byte `json:"body"`
	}
	contactKept struct {
		MatchKeys []string `json:"match_keys"`
		Revision  int64    `json:"revision"`
		LastGift  int64    `json:"last_gift"`
	}
	documentKept struct {
		Revision int64 `json:"revision"`
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
	}
	apartLine struct { // contacts that are not the same person
		A       int64 `json:"contact_id_a"`
		B       int64 `json:"contact_id_b"`
		DigestA int64 `json:"digest_a"`
		DigestB int64 `json:"digest_b"`
	}
	memberLine struct {
		Name  string `json:"name"`
		Email string `json:"email"`
		Role  string `json:"role"`
	}
	keyLine struct {
		Name        string   `json:"name"`
		Permissions []string `json:"permissions"`
		Revoked     bool     `json:"revoked"`
	}
)

const (
	sqlSegmentRows = `SELECT id, name, query, actor, created_at FROM segment WHERE account_id = $1 ORDER BY id`
	sqlSlugsLeft   = `SELECT slug, left_at FROM campaign_slug WHERE campaign_id = $1 ORDER BY left_at, slug`
	sqlRevisionOf  = `SELECT revision FROM campaign WHERE id = $1`
	sqlChangesFrom = store.ChangeColumns + ` AND revision > $2 AND revision <= $3 ORDER BY revision LIMIT 1000`
)

// accountExport is an export of an account under way. It reads one snapshot, so that all files agree.
type accountExport struct {
	conn     db.Conn
	account  access.Account
	row      store.Tally
	moving   bool // gifts still move to another clock
	progress db.Progress
	create   func(name string) (io.WriteCloser, error)
	manifest Manifest
}

// ExportAccount writes all data of an account into files that create makes, and returns the manifest, which is to be written when all
// else is in place.
func (s *MoveStore) ExportAccount(ctx context.Context, account access.Account, create func(name string) (io.WriteCloser, error), progress db.Progress) (Manifest, error) {
	if err := s.recordExport(ctx, account.Number, Exported{What: "account", Format: "jsonl"}); err != nil {
		return Manifest{}, err
	}
	members, err := s.Members(ctx, account.Number)
	if err != nil {
		return Manifest{}, err
	}
	keys, err := s.Keys(ctx, account.Number)
	if err != nil {
		return Manifest{}, err
	}
	x := &accountExport{account: account, progress: progress, create: create}
	x.manifest = Manifest{Format: manifestFormat, Version: manifestVersion, ExportedAt: s.Now().UTC().Format(time.RFC3339),
		Account: ManifestAccount{account.ID, account.Number, account.Name}, Files: []ManifestFile{}}
	err = s.Db.LongView(ctx, func(c db.Conn) (err error) {
		x.conn = c
		if x.row, err = store.ReadTally(c, account.Number); err != nil {
			return err
		}
		if x.moving, err = jobs.ZoneMoving(c, account.Number); err != nil {
			return err
		}
		for _, file := range []struct {
			name  string
			write func(*LineWriter) error
		}{
			{AccountFile, x.settings}, {FieldFile, x.fields}, {SegmentFile, x.segments}, {CampaignFile, x.campaigns}, {PictureFile, x.pictures}, {ContactFile, x.contacts},
			{PlanFile, x.plans}, {GiftFile, x.gifts}, {HistoryFile, x.history}, {MergeFile, x.merges}, {ApartFile, x.apart},
			{memberFile, func(w *LineWriter) error {
				return encodeAll(w, members, func(m access.Member) any { return memberLine{m.User.Name, m.User.Email, m.Role.String()} })
			}},
			{keyFile, func(w *LineWriter) error {
				return encodeAll(w, keys, func(k access.Key) any { return keyLine{k.Name, k.Permissions.Names(), !k.RevokedAt.IsZero()} })
			}},
		} {
			written, err := WriteFile(create, file.name, file.write)
			if err != nil {
				return err
			}
			x.manifest.Files = append(x.manifest.Files, written)
		}
		return nil
	})
	return x.manifest, store.Translate(err)
}

func (x *accountExport) settings(w *LineWriter) error {
	line := AccountLine{ID: x.account.ID, Name: x.account.Name, CreatedAt: x.account.CreatedAt, Currency: x.row.Currency, Timezone: x.row.Timezone,
		Sequences: accountCount{x.row.CampaignSeq, x.row.KeySeq, x.row.FieldSeq, x.row.SegmentSeq, x.row.JobSeq, x.row.Oldest, x.row.Revision}}
	settings, err := people.AccountSettings(x.conn, x.account.Number)
	if err != nil {
		return err
	}
	line.Address, line.TaxID, line.HistoryDays, line.NoReturn = settings.Address, settings.TaxID, settings.HistoryDays, settings.NoReturn
	line.Logo = settings.Logo
	line.Email, line.Website, line.Donors = settings.Email, settings.Website, string(settings.PublicDonors)
	return w.encode(line)
}

func (x *accountExport) fields(w *LineWriter) error {
	fields, err := contacts.ReadCustomFields(x.conn, x.account.Number)
	if err != nil {
		return err
	}
	return encodeAll(w, fields.All, func(f custom.Field) any {
		return fieldLine{f.ID, f.Title, f.Description, string(f.Type), store.JoinKeys(f.Options), f.Place, store.Seconds(f.CreatedAt), store.Seconds(f.EndedAt)}
	})
}

func (x *accountExport) segments(w *LineWriter) error {
	return x.conn.Each(func(r db.Row) error {
		return w.encode(segmentLine{r.Int(0), r.Text(1), r.Text(2), r.Text(3), r.Int(4)})
	}, sqlSegmentRows, x.account.Number)
}

// campaigns are those of the account itself: an account has few.
func (x *accountExport) campaigns(w *LineWriter) error {
	readable, err := campaigns.ReadableCampaigns(x.conn, x.account.Number)
	for _, one := range readable {
		if err != nil {
			return err
		}
		if one.Owner == x.account.Number {
			err = x.campaign(w, one.ID)
		}
	}
	return err
}

func (x *accountExport) campaign(w *LineWriter, id int64) error {
	campaign, err := campaigns.ParseFound(campaigns.FindCampaign(x.conn, campaigns.SQLCampaignRow, id))
	if err != nil {
		return err
	}
	kept := campaignKept{Status: campaign.Status, PaymentLink: campaign.PaymentLink, ListedAt: campaign.ListedAt,
		OpeningRaised: campaign.OpeningRaised, OpeningDonors: campaign.OpeningDonors}
	if kept.Revision, err = x.conn.Int(sqlRevisionOf, id); err != nil {
		return err
	}
	if kept.OldSlugs, err = db.List(x.conn, func(r db.Row) oldSlug { return oldSlug{r.Text(0), r.Int(1)} }, sqlSlugsLeft, id); err != nil {
		return err
	}
	return w.document(campaigns.MadeCampaign{Campaign: campaign}.Append(nil), kept)
}

// pictures are all sizes of the pictures that were uploaded.
func (x *accountExport) pictures(w *LineWriter) error {
	return x.conn.EachOf(store.PictureTable, x.account.Number, func(row []any) error {
		name, body := row[1].(string), row[3].([]byte)
		if err := store.IntactPicture(name, store.Checksum(body), row[4].(int64)); err != nil {
			return err
		}
		return w.encode(pictureLine{name, row[2].(int64), body})
	})
}

// settleLastGift works out when a contact gave last by the clock that the organization has now: while gifts still move to it, the row may have the time
// of another one.
func (x *accountExport) settleLastGift(s *contacts.Stored) error {
	if !x.moving || s.LastGift == 0 {
		return nil
	}
	s.LastGift = 0
	return x.conn.Each(func(r db.Row) error {
		s.LastGift = gifts.Later(s.LastGift, cmp.Or(giving.GiftClock(gifts.OnClock(r.Int(0)), x.row.Location()).Unix(), 1))
		return nil
	}, gifts.SQLGivenTimes, x.account.Number, s.ID)
}

func (x *accountExport) contacts(w *LineWriter) error {
	var read []*contacts.Stored
	return contacts.EachStored(x.conn, x.account.Number, func(s *contacts.Stored) error {
		read = append(read, s)
		return s.Damage
	}, func() error {
		for _, s := range read {
			if err := x.settleLastGift(s); err != nil {
				return err
			}
			if err := w.document(crm.AppendContact(nil, s.ID, s.Body), contactKept{store.SplitKeys(s.MatchKeys), s.Revision, s.LastGift}); err != nil {
				return err
			}
		}
		read = read[:0]
		x.progress("contacts", w.Rows, x.row.ContactSeq)
		return nil
	})
}

func (x *accountExport) plans(w *LineWriter) error {
	return x.documents(w, "plans", sqlPlansByID, x.row.PlanSeq, func(r db.Row) ([]byte, int64, error) {
		_, p := gifts.ScanPlan(r)
		if p.Damage != nil {
			return nil, 0, p.Damage
		}
		return p.Append(nil), p.Revision, nil
	})
}

func (x *accountExport) gifts(w *LineWriter) error {
	return x.documents(w, "gifts", gifts.SQLGiftsByID, x.row.GiftSeq, func(r db.Row) ([]byte, int64, error) {
		_, g := gifts.ScanGift(r)
		if g.Damage != nil {
			return nil, 0, g.Damage
		}
		return gifts.GiftDocument{Gift: g.Gift, Slug: r.Text(10)}.Append(nil), g.Revision, nil
	})
}

// documents writes gifts or plans, which are numbered without a gap. A bounded number is read with each statement.
func (x *accountExport) documents(w *LineWriter, what, sql string, seq int64, read func(db.Row) (line []byte, revision int64, err error)) error {
	for from := int64(0); from < seq; from += PieceRows {
		err := x.conn.Each(func(r db.Row) error {
			line, revision, err := read(r)
			if err != nil {
				return err
			}
			return w.document(line, documentKept{revision})
		}, sql, x.account.Number, gifts.SeqIDs(x.account.Number, from+1, min(from+PieceRows, seq)))
		if err != nil {
			return err
		}
		x.progress(what, w.Rows, seq)
	}
	return nil
}

func (x *accountExport) history(w *LineWriter) error {
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

func (x *accountExport) merges(w *LineWriter) error {
	return x.conn.EachOf(store.MergeTable, x.account.Number, func(row []any) error {
		at := func(i int) int64 { return row[i].(int64) }
		return w.encode(mergeLine{at(1), at(2), at(3), at(4), row[5].(string), at(6), at(7), at(8), at(9) != 0})
	})
}

// apart writes which contacts a person has called different people. Other pairs are found again.
func (x *accountExport) apart(w *LineWriter) error {
	at := store.DuplicateTable.At
	return x.conn.EachOf(store.DuplicateTable, x.account.Number, func(row []any) error {
		if row[at("state")].(int64) == 0 {
			return nil
		}
		return w.encode(apartLine{row[1].(int64), row[2].(int64), row[at("digest_a")].(int64), row[at("digest_b")].(int64)})
	})
}

// lineOf is a row of the record as files have it.
func lineOf(c *store.Change) changeLine {
	line := changeLine{Revision: c.Revision, Noun: c.Noun.String(), Kind: c.Kind.String(), ID: c.ID, Undoes: c.Undoes, Job: c.Job,
		At: c.At, Channel: c.Channel.String(), Actor: c.Who}
	if c.Data != "" {
		line.Data = json.RawMessage(c.Data)
	}
	return line
}
