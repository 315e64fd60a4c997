package book

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/picture"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/move"
)

// world is a source with some of everything.
type world struct {
	family
	keys, revoked []string // secrets
	staff
}

// newWorld fills a store: contacts of all kinds in a large account, in small ones and in none, campaigns and keys.
func newWorld(t *testing.T, s *Book, contacts int) (w world) {
	t.Helper()
	ctx := t.Context()
	w.family = newFamily(t, s)
	fillContacts(t, s, w.root.Number, contacts)
	shirt := define(t, s, w.root.Number, "Größe", custom.SelectField, "S", "M")
	must(s.UpdateContact(ctx, w.root.Number, doc.MakeID(w.root.Number, 1),
		input(t, `{"custom_fields":{"`+shirt.Key()+`":"M"}}`)))(t)
	for i := range 12 { // created in the same way as all others
		document(t, s, w.chapter.Number, i, crm.Force)
	}
	merged := create(t, s, w.chapter.Number,
		`{"first_name":"Zoë","emails":[{"value":"P3@example.org"}],"tags":["naïve","日本語","東京\u3000支部","a\u00a0b"]}`)
	must(s.RemoveTags(ctx, w.chapter.Number, merged.ID, []string{"日本語"}))(t)
	for seq := range int64(4) {
		archive(t, s, w.chapter.Number, doc.MakeID(w.chapter.Number, 5+seq))
	}
	restore(t, s, w.chapter.Number, doc.MakeID(w.chapter.Number, 6))
	mustImport(t, s, w.below,
		`[{"title":"Kept","slug":"kept","goal":12.5},{"title":"Für alle 🎗","beneficiaries":["`+w.stranger.ID+`","`+
			w.root.ID+`"]}]`)
	shown := withCover(draw(t, s, w.chapter, picture.Cover, 450))
	shown.Title = ptr("Shown")
	must(s.CreateCampaign(ctx, w.chapter, shown))(t)
	mustImport(t, s, w.root, `[{"title":"Gala","type":"event","event":{"start_at":"2027-01-31 18:00:00"}}]`)
	for _, account := range []access.Account{w.root, w.root, w.chapter} {
		for _, list := range []*[]string{&w.keys, &w.revoked} {
			key, secret, err := s.CreateKey(ctx, account.Number,
				access.KeyInput{Name: "Schlüssel", Permissions: access.ContactsRead})
			if err == nil && list == &w.revoked {
				err = s.RevokeKey(ctx, key.ID)
			}
			succeed(t, err)
			*list = append(*list, secret)
		}
	}
	w.staff = newPeople(t, s, w.root, w.chapter)
	return w
}

func document(t testing.TB, s *Book, account int64, i int, mode crm.CreateMode) {
	t.Helper()
	createAs(t, s, account, personBody(i), mode)
}

// personBody is a contact of one of several kinds.
func personBody(i int) string {
	switch i % 10 {
	case 0:
		return fmt.Sprintf(`{"first_name":"Only %d"}`, i)
	case 1:
		return fmt.Sprintf(
			`{"first_name":"李 %d","last_name":"O'Brien \"\\\u2028 🎉","tags":["t%d","Überraschung","z"],"company":"A & B <c>"}`, i, i%50)
	case 2:
		return fmt.Sprintf(
			`{"first_name":"Two","phones":[{"type":"cell","value":"(617) 555-%04d"},{"value":"+44 20 7946 %04d"}],"dob":"02/29/2000"}`, i%10000, i%10000)
	default:
		return fmt.Sprintf(`{"first_name":"P%d","last_name":"Müller","emails":[{"value":"p%d@example.org"},{"type":"work","value":"W%d@Example.com"}],
			"addresses":[{"address_1":"%d Elm Street","city":"Zürich","country":"CHE"}],"tags":["board","t%d"]}`, i, i,
			i, i, i%50)
	}
}

// fillContacts writes many contacts into an empty account, a few hundred with each commit, every seventh of them
// archived.
func fillContacts(t testing.TB, s *Book, account int64, n int) {
	t.Helper()
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	var made []crm.Contact
	for i := range n {
		made = append(made, must(crm.NewContact(input(t, personBody(i+1)), at))(t))
	}
	i := 0
	for part := range slices.Chunk(made, 500) {
		succeed(t, s.Update(t.Context(), account, store.Needs{}, func(x *store.Tx) error {
			for _, contact := range part {
				id, err := store.InsertContact(x, account, contact)
				if i++; err == nil && i%7 == 0 {
					var s *store.StoredContact
					if s, err = store.Load(x, account, id); err == nil {
						_, err = store.ChangeContact(x, s, 0, func(c crm.Contact) (crm.Contact, error) {
							return c.Archive(at.Add(time.Hour)), nil
						})
					}
				}
				if err != nil {
					return err
				}
			}
			return nil
		}))
	}
}

// sameAnswers asks two stores for everything and checks that the bytes are the same.
func sameAnswers(t *testing.T, a, b *Book) {
	t.Helper()
	ctx := t.Context()
	accounts := must(a.Accounts(ctx))(t)
	equal(t, must(b.Accounts(ctx))(t), accounts, "the accounts")
	equal(t, len(accounts) == 0, false)
	for _, account := range accounts {
		number := account.Number
		equal(t, must(b.Keys(ctx, number))(t), must(a.Keys(ctx, number))(t), "the keys")
		_, total := listBytes(t, a, number, crm.All, 1, 1)
		step, sizes := int64(1), []int64{100, 37}
		if total > 10_000 {
			step, sizes = 97, sizes[:1] // the pages have all of them
		}
		for seq := int64(1); seq <= total+step; seq += step {
			one, err := a.Contact(ctx, number, doc.MakeID(number, seq), nil)
			two, err2 := b.Contact(ctx, number, doc.MakeID(number, seq), nil)
			if !bytes.Equal(one, two) || fmt.Sprint(err) != fmt.Sprint(err2) || seq > total && err == nil {
				t.Fatalf("contact %d is\n%s, %v, and\n%s, %v", seq, one, err, two, err2)
			}
		}
		for size := int64(1); total <= 50 && size <= 100; size++ {
			sizes = append(sizes, size)
		}
		for _, size := range sizes {
			for _, scope := range []crm.ContactScope{crm.Active, crm.Archived, crm.All} {
				samePages(t, size, a, b, func(s *Book, page crm.PageRequest) ([]byte, store.ListResult, error) {
					return s.Contacts(ctx, number, scope, page, nil, nil)
				})
			}
		}
		for _, size := range []int64{1, 2, 100} {
			for _, scope := range campaign.Scopes {
				samePages(t, size, a, b, func(s *Book, page crm.PageRequest) ([]byte, store.ListResult, error) {
					return s.Campaigns(ctx, number, scope, page, "https://x.org", nil, nil)
				})
			}
		}
	}
}

func samePages(t *testing.T, size int64, a, b *Book,
	read func(*Book, crm.PageRequest) ([]byte, store.ListResult, error)) {
	t.Helper()
	for page := (crm.PageRequest{Page: 1, PerPage: size}); ; page.Page++ {
		one, found := must2(read(a, page))(t)
		two, other := must2(read(b, page))(t)
		if !bytes.Equal(one, two) || found != other {
			t.Fatalf("page %+v is\n%s, %+v, and\n%s, %+v", page, one, found, two, other)
		}
		if page.Page > page.LastPage(found.Total) { // one past the end
			return
		}
	}
}

func mustCopy(t *testing.T, from, to store.Options, o move.CopyOptions) move.CopyReport {
	t.Helper()
	return must(move.Copy(t.Context(), from, to, o))(t)
}

// eachWay runs a test for every pair of engines.
func eachWay(t *testing.T, test func(t *testing.T, from, to store.Options)) {
	t.Helper()
	eachWayOf(t, testEngines, test)
}

func eachWayOf(t *testing.T, engines []testEngine, test func(t *testing.T, from, to store.Options)) {
	t.Helper()
	t.Parallel()
	for _, from := range engines {
		for _, to := range engines {
			t.Run(from.name+" to "+to.name, func(t *testing.T) {
				t.Parallel()
				test(t, from.empty(t), to.options(t))
			})
		}
	}
}

func TestACopyAnswersLikeItsSourceAndGoesOn(t *testing.T) {
	eachWayOf(t, bothEngines, func(t *testing.T, from, to store.Options) {
		a := open(t, from)
		w := newWorld(t, a, 600)
		report := mustCopy(t, from, to, move.CopyOptions{})
		equal(t, report.Tables[0], move.TableCount{Table: "contact", Rows: 612})
		equal(t, len(report.Accounts), 4)
		b := open(t, to)
		sameAnswers(t, a, b)
		samePeople(t, a, b, w)

		for _, secret := range w.keys {
			equal(t, must(b.Authenticate(t.Context(), secret))(t), must(a.Authenticate(t.Context(), secret))(t))
		}
		for _, secret := range w.revoked {
			nobody(t)(b.Authenticate(t.Context(), secret))
		}
		d := create(t, b, w.root.Number, `{"emails":[{"value":"P594@EXAMPLE.org"}]}`)
		next := create(t, b, w.root.Number, `{"first_name":"New"}`)
		key, _ := must2(b.CreateKey(t.Context(), w.root.Number, access.KeyInput{Name: "K"}))(t)
		expect(t, "who is found by an email, and the next contact, key, campaign and account",
			fmt.Sprint("true 594 601 5 3 ", w.stranger.Number+1), d.Merged, doc.IDSeq(d.ID), doc.IDSeq(next.ID),
			doc.IDSeq(key.ID), doc.IDSeq(newCampaignID(t, b, w.below, "New")), newAccount(t, b).Number)
		equal(t, mustImport(t, b, w.below, `[{"title":"Kept","slug":"kept","goal":99}]`).Updated, 1,
			"a copied campaign was not updated")
	})
}

func TestACopyIsOneMoment(t *testing.T) {
	eachWay(t, func(t *testing.T, from, to store.Options) {
		a := open(t, from)
		account := newAccount(t, a)
		fillContacts(t, a, account.Number, 50)
		wrote := false
		mustCopy(t, from, to, move.CopyOptions{Progress: func(p move.CopyProgress) {
			if !wrote {
				wrote = true
				create(t, a, account.Number, `{"first_name":"Late","tags":["late"]}`)
				archive(t, a, account.Number, doc.MakeID(account.Number, 1))
				newAccount(t, a)
			}
		}})
		b := open(t, to)
		equal(t, len(must(b.Accounts(t.Context()))(t)), 1, "there are accounts")
		if _, total := listBytes(t, b, account.Number, crm.All, 1, 1); total != 50 {
			t.Errorf("there are %d contacts", total)
		}
		get(t, b, account.Number, doc.MakeID(account.Number, 1))
	})
}

// A table or a column that a later step adds must not be forgotten. Derived data is derived again in the target.
func TestACopyKnowsEveryTableAndColumn(t *testing.T) {
	t.Parallel()
	s := open(t, bothEngines[1].options(t))
	kinds := map[string]db.Kind{"bigint": db.IntKind, "smallint": db.IntKind, "text": db.TextKind,
		"bytea": db.BytesKind}
	got, want := map[string][]db.Column{}, map[string][]db.Column{}
	err := s.View(t.Context(), func(c db.Conn) error {
		return c.Each(func(r db.Row) error {
			got[r.Text(0)] = append(got[r.Text(0)], db.Column{Name: r.Text(1), Kind: kinds[r.Text(2)]})
			return nil
		}, `SELECT CAST(table_name AS TEXT), CAST(column_name AS TEXT), CAST(data_type AS TEXT)
			FROM information_schema.columns
			WHERE table_schema = 'public' AND table_name NOT IN ('schema_version', 'contact_search', 'derived') ORDER BY table_name, ordinal_position`)
	})
	for _, table := range store.Schema.Tables {
		want[table.Name] = table.Columns
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v: copied (-), in the database (+):\n%s", err, diff)
	}
}

// A server that was started only to look at it has printed a setup link, and nothing else. The link ends with the
// copy: the copied data has its own users. An invitation of an account is more than that.
func TestACopyTakesATargetThatWasOnlyLookedAt(t *testing.T) {
	eachWay(t, func(t *testing.T, from, to store.Options) {
		a, b := open(t, from), open(t, to)
		copied, link := setupToken(t, a), setupToken(t, b)
		newAccount(t, a)
		tamper(t, to, `INSERT INTO invitation (hash, account_id, email, role, invited_by, created_at, expires_at)
			VALUES ('x', 7, '', 0, 0, 0, 0)`)
		refuses(t, "an invitation", move.ErrNotEmpty)(move.Copy(t.Context(), from, to, move.CopyOptions{}))
		tamper(t, to, `DELETE FROM invitation WHERE hash = 'x'`)
		mustCopy(t, from, to, move.CopyOptions{})
		refuses(t, "the target's link", crm.ErrNotFound)(b.SetupOffer(t.Context(), link))
		equal(t, len(must(b.SetupOffer(t.Context(), copied))(t).Accounts), 1, "the source's link")
	})
}
