package move

import (
	"cmp"
	"slices"
	"time"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/picture"
	"donorbook/internal/crm/text"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/store"
)

// What an organization has beside people and gifts: settings, custom fields, pictures, members and keys.
type (
	AccountLine struct {
		ID        string       `json:"id"`
		Name      string       `json:"name"`
		CreatedAt time.Time    `json:"created_at"`
		Currency  string       `json:"currency"`
		Timezone  string       `json:"timezone,omitempty"`
		Address   string       `json:"address"`
		TaxID     string       `json:"tax_id"`
		NoReturn  bool         `json:"no_return,omitempty"`
		Logo      string       `json:"logo,omitempty"` // the address of a picture
		Email     string       `json:"email,omitempty"`
		Website   string       `json:"website,omitempty"`
		Donors    string       `json:"public_donors,omitempty"`
		Receipts  receiptWords `json:"receipts,omitzero"`
		Donations string       `json:"donations,omitempty"` // a document
		Sequences accountCount `json:"sequences"`
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
	pictureLine struct {
		Name     string `json:"name"`
		Campaign int64  `json:"campaign_id"` // 0 where it is the logo of the organization
		Body     []byte `json:"body"`
	}
	receiptWords struct {
		Form   string `json:"form"`
		Place  string `json:"place"`
		Signer string `json:"signer"`
		Text   string `json:"text"`
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

// counter is how far an account has counted one kind of record, and what its files say of that.
type counter struct{ counted, kept *int64 }

func (q *accountCount) counters(a *store.Tally) []counter {
	return []counter{{&a.CampaignSeq, &q.Campaigns}, {&a.KeySeq, &q.Keys}, {&a.FieldSeq, &q.Fields},
		{&a.SegmentSeq, &q.Segments}, {&a.JobSeq, &q.Jobs}}
}

func exportSettings(x *accountExport, w *LineWriter) error {
	line := AccountLine{ID: x.account.ID, Name: x.account.Name, CreatedAt: x.account.CreatedAt,
		Currency: x.row.Currency, Timezone: x.row.Timezone,
		Sequences: accountCount{Oldest: x.row.Oldest, Revision: x.row.Revision}}
	for _, c := range line.Sequences.counters(&x.row) {
		*c.kept = *c.counted
	}
	settings, err := store.AccountSettings(x.conn, x.account.Number)
	if err != nil {
		return err
	}
	line.Address, line.TaxID, line.NoReturn = settings.Address, settings.TaxID, settings.NoReturn
	line.Logo = settings.Logo
	line.Email, line.Website, line.Donors, line.Receipts, line.Donations = settings.Email, settings.Website,
		string(settings.PublicDonors), receiptWords(settings.Receipts), settings.Donations
	return w.encode(line)
}

func readSettings(r *accountReader, l *AccountLine) (importLine, error) {
	if r.row > 1 {
		return nil, &FileProblem{File: AccountFile, Reason: oneLine}
	}
	r.line = *l
	q := r.line.Sequences
	strange := slices.ContainsFunc(q.counters(&store.Tally{}),
		func(c counter) bool { return *c.kept < 0 || *c.kept > doc.MaxSeq })
	if q.Oldest < 1 || q.Revision < q.Oldest-1 || strange {
		return nil, problem("does not have the account's counters")
	}
	if year := r.line.CreatedAt.Year(); year < 1970 || year > 2199 {
		return nil, problem("does not say when the account was created")
	}
	name, err := access.AccountName(r.line.Name)
	if err != nil {
		return nil, err
	}
	r.line.Name, r.revision = name, q.Oldest-1
	if r.line.Logo != "" && !picture.IsAddress(r.line.Logo) {
		return nil, problem("has a logo that is not among the pictures")
	}
	r.lack(0, r.line.Logo)
	currency, address, tax := r.line.Currency, r.line.Address, r.line.TaxID
	zone := cmp.Or(r.line.Timezone, text.DefaultTimezone)
	in := access.AccountSettingsInput{Currency: &currency, Timezone: &zone, Address: &address, TaxID: &tax,
		Email: &r.line.Email, Website: &r.line.Website, PublicDonors: &r.line.Donors}
	words := thanks.Wording(r.line.Receipts)
	in.Receipts = &words
	if err := in.Validate(); err != nil {
		return nil, err
	}
	forms, err := donate.ParseSettings(r.line.Donations)
	if err == nil && forms.Document() != r.line.Donations {
		err = problem(notWritten)
	}
	if err == nil {
		err = forms.Validate(currency)
	}
	return func(*accountWriter) error { return nil }, err // they are written at the end
}

func readField(r *accountReader, l *fieldLine) (importLine, error) {
	f := custom.Field{ID: l.ID, Title: l.Title, Description: l.Description, Type: custom.FieldType(l.Type),
		Options: store.SplitKeys(l.Options), Place: l.Place,
		CreatedAt: store.Moment(l.CreatedAt), EndedAt: store.Moment(l.EndedAt)}
	if err := f.CheckImported(r.fields); err != nil {
		return nil, err
	}
	r.fields = custom.NewFields(0, append(r.fields.All, f))
	return func(w *accountWriter) error {
		w.FieldSeq = max(w.FieldSeq, l.ID)
		w.Insert(store.FieldTable, w.Number, l.ID, l.Title, l.Description, l.Type, l.Options, l.Place, l.CreatedAt,
			l.EndedAt)
		return nil
	}, nil
}

// pictures are all sizes of the pictures that were uploaded.
func exportPictures(x *accountExport, w *LineWriter) error {
	return x.conn.EachOf(store.PictureTable, x.account.Number, func(row []any) error {
		name, body := row[1].(string), row[3].([]byte)
		if err := store.IntactPicture(name, store.Checksum(body), row[4].(int64)); err != nil {
			return err
		}
		return w.encode(pictureLine{name, row[2].(int64), body})
	})
}

// lack notes that a campaign has pictures, or the organization where it is 0. Their files come after it.
func (r *accountReader) lack(campaign int64, addresses ...string) {
	for _, name := range picture.Names(addresses...) {
		r.pictures[name] = campaign
	}
}

func readPicture(r *accountReader, l *pictureLine) (importLine, error) {
	if campaign, lacks := r.pictures[l.Name]; !lacks || campaign != l.Campaign {
		return nil, problem("is a picture that its campaign does not use, or that was already listed")
	}
	delete(r.pictures, l.Name)
	return func(w *accountWriter) error {
		w.Insert(store.PictureTable, w.Number, l.Name, w.campaigns[l.Campaign], l.Body, store.Checksum(l.Body))
		return nil
	}, picture.File{Name: l.Name, Body: l.Body}.Check()
}

func exportMembers(x *accountExport, w *LineWriter) error {
	return encodeAll(w, x.members, func(m access.Member) any {
		return memberLine{m.User.Name, m.User.Email,
			m.Role.String()}
	})
}

func exportKeys(x *accountExport, w *LineWriter) error {
	return encodeAll(w, x.keys, func(k access.Key) any {
		return keyLine{k.Name, k.Permissions.Names(),
			!k.RevokedAt.IsZero()}
	})
}
