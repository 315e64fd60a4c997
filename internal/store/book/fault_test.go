package book

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

// faulty is an organization in which one statement fails, once.
type faulty struct {
	*testing.T
	s          *Book
	account    access.Account
	a, b       int64 // contacts
	gift       string
	pledge     string
	plan       string
	campaign   int64
	merge, tag int64 // a merge, and a change of tags, that can be undone

	fails, ran int // which of the reads of changes fails, 0 for none, and how many there were
}

var errFault = errors.New("this read fails")

func newFaulty(t *testing.T, s *Book) *faulty {
	f := &faulty{T: t, s: s, account: newAccount(t, s)}
	account := f.account.Number
	f.a, f.b = twoOf(t, s, account)
	third := createAs(t, s, account,
		`{"first_name":"Thom","last_name":"Reed","emails":["thom@example.org"],"tags":["choir","board"]}`, crm.Force).ID
	title := "Roof"
	made := must(s.CreateCampaign(t.Context(), f.account, campaign.Input{Title: &title}))(t)
	f.campaign = made.ID
	give := func(more string) string {
		return giveNow(t, s, account, fmt.Sprintf(`,"contact_id":%d,"campaign_id":%d%s`, f.b, f.campaign, more)).Code
	}
	f.gift, f.pledge = give(`,"external_id":"G1"`), give(`,"external_id":"P1","status":"pending"`)
	f.plan = newPlan(t, s, account,
		fmt.Sprintf(`{"contact_id":%d,"amount":9,"method":"card","frequency":"monthly","start_at":"2026-01-05"}`,
			f.b)).Code
	issue(t, s, account, f.gift)
	f.merge = mergeOf(t, s, account, f.a, third)
	tagged := must(s.AddTags(t.Context(), account, f.b, []string{"board"}))(t)
	f.tag = tagged.Tag.Revision
	return f
}

// watch has a read of the changes that follow fail.
func (f *faulty) watch(fails int) {
	f.fails, f.ran = fails, 0
	f.s.Db.Observe(recorded(f.s, db.Observer{Before: func(sql string) error {
		if !strings.HasPrefix(sql, "SELECT") {
			return nil
		}
		if f.ran++; f.ran == f.fails {
			return errFault
		}
		return nil
	}}))
}

var (
	anyCode = regexp.MustCompile(`\b[0-9A-Za-z]{16}\b`)
	anyID   = regexp.MustCompile(`\w*\d{6,}\w*`)
	// columns that differ between organizations
	ofOneRun = " account_id checksum sha256 public_id name key_seq fingerprint fold "
)

// state is everything that is stored about the organization, whatever its numbers are.
func (f *faulty) state() (rows []string) {
	f.watch(0)
	id := regexp.MustCompile(fmt.Sprintf(`\b%d(0000\d{5})\b`, doc.MakeID(f.account.Number, 0)/1e9))
	succeed(f, f.s.View(f.Context(), func(c db.Conn) error {
		rows = nil
		for _, table := range store.Schema.Tables {
			if table.Columns[0].Name != "account_id" || table.Key == 1 {
				continue
			}
			err := c.EachOf(table, f.account.Number, func(row []any) error {
				text := table.Name
				for i, column := range table.Columns {
					if body, isBody := row[i].([]byte); isBody && table != store.SetTable {
						row[i] = string(body)
					}
					if !strings.Contains(ofOneRun, " "+column.Name+" ") {
						text += fmt.Sprintf(" %s=%v", column.Name, row[i])
					}
				}
				rows = append(rows, id.ReplaceAllString(anyCode.ReplaceAllString(text, "CODE"), "#$1"))
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}))
	slices.Sort(rows)
	return rows
}

func (f *faulty) giftInput(body string, isNew bool) giving.GiftInput {
	return giftInput(f, body, isNew, f.s.Now())
}

// give is a change that records a gift.
func (f *faulty) give(more string) error {
	in := f.giftInput(`{"amount":50,"method":"check","transacted_at":"2026-01-31"`+more+`}`, true)
	return errOf(f.s.CreateGift(f.Context(), f.account.Number, in))
}

// file is a change that imports a file of gifts.
func (f *faulty) file(text string) error {
	spec := giftImportOf(openTable(f, text))
	return errOf2(f.s.ImportFile(f.Context(), f.account.Number, openTable(f, text), spec, 0, true,
		func(jobs.ImportProgress) {}))
}

// faultyChanges are the operations. Each makes a change that can be done twice.
var faultyChanges = map[string]func(f *faulty) error{
	"create": func(f *faulty) error {
		in := input(f,
			`{"first_name":"New","emails":["new@example.org","tom@example.org"],"tags":["choir","new"],"external_ids":[{"source":"old","value":"9"}]}`)
		return errOf(f.s.CreateContact(f.Context(), f.account.Number, in, crm.Dedupe))
	},
	"update": func(f *faulty) error {
		in := input(f,
			`{"first_name":"Tim","emails":["tim@example.org"],"tags":["board","late"],"external_ids":[{"source":"old","value":"7"}]}`)
		return errOf(f.s.UpdateContact(f.Context(), f.account.Number, f.b, in))
	},
	"tag": func(f *faulty) error {
		return errOf(f.s.AddTags(f.Context(), f.account.Number, f.a, []string{"board", "quartet"}))
	},
	"archive": func(f *faulty) error {
		return f.s.ArchiveContact(f.Context(), f.account.Number, f.b)
	},
	"merge": func(f *faulty) error {
		return errOf(f.s.Merge(f.Context(), f.account.Number, f.a, into(f.b), "US"))
	},
	"undo a merge": func(f *faulty) error {
		return errOf(f.s.UndoMerge(f.Context(), f.account.Number, f.merge, "US"))
	},
	"undo a change": func(f *faulty) error {
		return errOf2(f.s.UndoChange(f.Context(), f.account.Number, f.b, f.tag, "US"))
	},
	"bulk": func(f *faulty) error {
		return errOf(f.s.BulkChange(f.Context(), f.account.Number, jobs.Selection{IDs: []int64{f.a, f.b}},
			crm.BulkAction{Kind: crm.BulkTag, Tags: []string{"quartet"}}))
	},
	"rename a tag": func(f *faulty) error {
		return errOf(f.s.RenameTags(f.Context(), f.account.Number, "board", "choir"))
	},
	"give": func(f *faulty) error {
		return f.give(fmt.Sprintf(`,"contact_id":%d,"campaign_id":%d`, f.a, f.campaign))
	},
	"give by name": func(f *faulty) error {
		return f.give(`,"first_name":"Tom","last_name":"Reed","email":"tom@example.org"`)
	},
	"give again": func(f *faulty) error {
		return f.give(fmt.Sprintf(`,"contact_id":%d,"external_id":"G1","campaign_id":%d`, f.b, f.campaign))
	},
	"give by a plan": func(f *faulty) error {
		return f.give(fmt.Sprintf(`,"contact_id":%d,"plan_id":%q`, f.b,
			f.plan))
	},
	"give at once": func(f *faulty) error {
		var inputs []*giving.GiftInput
		for _, id := range []string{"M1", "M2"} {
			in := f.giftInput(fmt.Sprintf(
				`{"amount":5,"method":"check","transacted_at":"2026-01-20","external_id":%q,"first_name":"Tom","last_name":"Reed","email":"tom@example.org","campaign_id":%d}`, id, f.campaign), true)
			inputs = append(inputs, &in)
		}
		outcomes, err := f.s.CreateGifts(f.Context(), f.account.Number, inputs)
		for _, o := range outcomes {
			if o.Refused != nil {
				err = o.Refused
			}
		}
		return err
	},
	"refund": func(f *faulty) error {
		amount := int64(100)
		return errOf(f.s.RefundGift(f.Context(), f.account.Number, f.gift, &amount, ""))
	},
	"correct": func(f *faulty) error {
		in := f.giftInput(fmt.Sprintf(`{"contact_id":%d,"campaign_id":null,"correction":true,"amount":7}`, f.a), false)
		return errOf(f.s.UpdateGift(f.Context(), f.account.Number, f.gift, in))
	},
	"settle": func(f *faulty) error {
		in := f.giftInput(`{"status":"succeeded"}`, false)
		return errOf(f.s.UpdateGift(f.Context(), f.account.Number, f.pledge, in))
	},
	"thank": func(f *faulty) error {
		return errOf(f.s.ThankFor(f.Context(), f.account.Number, f.gift,
			store.Thank{How: giving.ThankedLetter, Again: true, Receipt: true}))
	},
	"campaign": func(f *faulty) error {
		title := "Tower"
		return errOf(f.s.UpdateCampaign(f.Context(), f.account, f.campaign, campaign.Input{Title: &title}))
	},
	"erase": func(f *faulty) error {
		return errOf(f.s.EraseContact(f.Context(), f.account.Number, f.b))
	},
	"file of a payment of a pledge": func(f *faulty) error {
		return f.file(
			"Gift ID,Pledge ID,Name,Email,Date,Amount,Type\nG7,P1,Tom Reed,tom@example.org,2026-01-05,20,Pledge payment\nG8,P1,Tom Reed,tom@example.org,2026-01-06,10,Pledge payment\n")
	},
	"file of a refund": func(f *faulty) error {
		return f.file(toldHeader + toldRow("R1", "-20", "", "", "G1") + toldRow("R2", "-5", "", "",
			"G9") + toldRow("G9", "30", "Paid", "", ""))
	},
}

// done does a change twice, as one batch, where fails is the read that fails. It tells what came of that.
func (f *faulty) done(name string, times, fails int) (errs []error) {
	change := func() error { return faultyChanges[name](f) }
	if strings.HasPrefix(name, "file") { // which comes again until it is in
		f.watch(fails)
		err := change()
		if errors.Is(err, errFault) {
			err = change()
		}
		return []error{err}
	}
	changes := slices.Repeat([]func() error{change}, times)
	f.watch(fails)
	return together(f.T, f.s, f.account.Number, changes...)
}

// TestAReadThatFailsLeavesNoWrongBelief: whichever read of a change fails, what is done again in the same batch is
// done as if it had not, and a change hears of no reason but that.
func TestAReadThatFailsLeavesNoWrongBelief(t *testing.T) {
	s := newBook(t)
	stopClock(s)
	each := 1
	if _, onSQLite := s.Db.LogSize(); !onSQLite {
		each = 12 // the same rules, and every statement takes a round trip
	}
	for i, name := range slices.Sorted(maps.Keys(faultyChanges)) {
		right := make(map[int][]string) // what is stored, by how often the change was done
		var errs []error
		reads := 0
		for times := range 3 {
			f := newFaulty(t, s)
			if times > 0 {
				errs, reads = f.done(name, times, 0), f.ran
			}
			right[times] = f.state()
		}
		for fails := 1 + i%each; fails <= reads; fails += each {
			f := newFaulty(t, s)
			times := 0
			for n, err := range f.done(name, 2, fails) {
				switch {
				case err == nil:
					times++
				case !errors.Is(err, errFault) && (errs[n] == nil ||
					anyID.ReplaceAllString(err.Error(), "") != anyID.ReplaceAllString(errs[n].Error(), "")):
					t.Errorf("%s, where read %d of %d fails: change %d hears %.500v", name, fails, reads, n, err)
				}
			}
			equal(t, f.state(), right[times],
				"%s, where read %d of %d fails, done %d times: without the fault (-), with it (+)", name, fails, reads,
				times)
		}
	}
	checked(t, s)
}

// TestADecisionThatIsMadeAgainBeginsWithWhatWasRead: a database may take a unit of work back, and what is so may have
// changed when it is decided again.
func TestADecisionThatIsMadeAgainBeginsWithWhatWasRead(t *testing.T) {
	s, node := twoNodes(t)
	account := newAccount(t, s)
	tom := create(t, s, account.Number, `{"first_name":"Tom","last_name":"Reed","emails":["tom@example.org"]}`).ID
	promise := func(id string) string {
		return giveNow(t, node, account.Number, fmt.Sprintf(`,"contact_id":%d,"external_id":%q,"status":"pending"`,
			tom, id)).Code
	}
	first := promise("P1")
	wrote, isBack, changed := false, false, false
	s.Db.Observe(recorded(s, db.Observer{
		Wrote: func(sql string) { wrote = wrote || strings.Contains(sql, "INTO gift ") },
		Committing: func() error {
			if !wrote || isBack {
				return nil
			}
			isBack = true
			return db.ErrAgain
		},
		Writing: func() {
			if !isBack || changed {
				return
			}
			changed = true // the donor promises anew
			must(node.UpdateGift(t.Context(), account.Number, first,
				giftInput(t, `{"status":"cancelled"}`, false, node.Now())))(t)
			promise("P2")
		},
	}))
	imported(t, s, account.Number,
		"Gift ID,Name,Email,Date,Amount,Type\nG1,Tom Reed,tom@example.org,"+s.Now().Format(
			"2006-01-02")+",50,Pledge payment\n", false)
	if !changed {
		t.Error("the unit of work was not begun again")
	}
	for _, g := range ledgerOf(t, s, account.Number) {
		if g.ExternalID == "P2" && g.Status == giving.Pending {
			t.Error("the payment is not of the pledge that is open")
		}
	}
	checked(t, s)
}

func TestErrorsOfTheDatabaseHaveTheNamesThatCallersKnow(t *testing.T) {
	t.Parallel()
	for from, want := range map[error]error{db.ErrUnavailable: crm.ErrUnavailable, db.ErrNotFound: crm.ErrNotFound,
		db.ErrTaken: crm.ErrTaken} {
		cause := fmt.Errorf("the cause: %w", from)
		got := store.Translate(cause)
		wantError(t, from.Error(), got, want)
		wantError(t, from.Error(), got, cause)
		equal(t, got.Error(), cause.Error(), "%v lost its cause", from)
	}
	if other := errors.New("other"); store.Translate(other) != other || store.Translate(nil) != nil {
		t.Error("an error without another name must stay as it is")
	}
}

func TestAChangeThatIsTakenIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		refused error
		times   int // that it is refused
		tries   int
		want    error
	}{
		{db.ErrTaken, 3, 4, nil},
		{store.ErrAgain, 3, 4, nil},
		{db.ErrTaken, 1000, 20, db.ErrTaken},
		{access.EmailTaken(), 1000, 1, access.EmailTaken()},
	} {
		tries := 0
		err := store.Repeat(func() error {
			if tries++; tries <= test.times {
				return test.refused
			}
			return nil
		})
		if tries != test.tries || fmt.Sprint(err) != fmt.Sprint(test.want) {
			t.Errorf("%v, refused %d times: tried %d times, %v", test.refused, test.times, tries, err)
		}
	}
}
