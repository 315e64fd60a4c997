package book

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/merges"
)

// mergeModel is an account whose contacts are made, changed, merged and taken apart at random, through two nodes, while gifts come in.
type mergeModel struct {
	giftModel
	merged []int64 // merges that stand, as far as the model knows
	undone []int64 // undos
}

// changedTimes are when documents were changed, which a merge and its undo do.
var changedTimes = regexp.MustCompile(`,"updated_at":"[^"]*Z?"(,"merged_into"|,"erased_at"|,"type"|}$)`)

// everything are all rows of an account that people can tell apart: documents, keys, sums, sets and words, without when and by which change they became so.
func everything(t testing.TB, s *Book, account int64) (rows []string) {
	t.Helper()
	skipped := " revision updated_at checksum "
	err := s.View(t.Context(), func(c db.Conn) error {
		for _, table := range []*db.Table{store.ContactTable, store.IndexTable, store.SetTable, store.TagTable, store.GiftTable, store.PlanTable, store.ReferenceTable, store.GivingTable} {
			err := c.EachOf(table, account, func(row []any) error {
				text := table.Name
				for i, column := range table.Columns {
					if body, isBody := row[i].([]byte); isBody && table == store.ContactTable {
						text += " " + changedTimes.ReplaceAllString(string(body), "$1")
					} else if !strings.Contains(skipped, " "+column.Name+" ") {
						text += fmt.Sprintf(" %s=%s", column.Name, fmt.Sprint(row[i]))
					}
				}
				rows = append(rows, text)
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func wantState(t testing.TB, what string, got, want []string) {
	t.Helper()
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s:\n%s", what, diff)
	}
}

// totals are the sums of the account as a whole, which no merge may change.
func totals(t testing.TB, s *Book, account int64) (sums []string) {
	for _, row := range everything(t, s, account) {
		if cell, isSum := strings.CutPrefix(row, "giving "); isSum && giving.CellContact(strings.Fields(strings.ReplaceAll(cell, "cell=", ""))[1]) == 0 {
			sums = append(sums, regexp.MustCompile(` donors=\d+`).ReplaceAllString(row, "")) // two donors become one
		}
	}
	return sums
}

// person makes a contact with values that others may have, too.
func (m *mergeModel) person() string {
	n := func(max int) int { return m.random.IntN(max) }
	maybe := func(text string) string {
		if n(3) == 0 {
			return ""
		}
		return text
	}
	return fmt.Sprintf(`{"first_name":"First%d","last_name":"Last%d"`, n(4), n(4)) + maybe(fmt.Sprintf(`,"company":"C%d","note":"Note %d"`, n(5), n(30))) +
		maybe(fmt.Sprintf(`,"emails":[{"value":"e%d@example.org"},{"value":"E%d@example.org","type":"work"}]`, n(12), n(12))) + maybe(fmt.Sprintf(`,"phones":["+1212555%04d"]`, n(12))) +
		maybe(fmt.Sprintf(`,"addresses":[{"city":"City %d"},{"city":"City %d","zipcode":"1000%d"}]`, n(4), n(4), n(4))) + maybe(fmt.Sprintf(`,"tags":["t%d","t%d"]`, n(6), n(6))) +
		maybe(fmt.Sprintf(`,"do_not_mail":%v,"dob":"1/%d/1980"`, n(2) == 0, n(3)+1)) + maybe(fmt.Sprintf(`,"title":"T%d","prefix":"P%d"`, n(3), n(3)))
}

func (m *mergeModel) newPerson() {
	m.names++
	body := m.person()
	if m.random.IntN(2) == 0 {
		body += fmt.Sprintf(`,"external_ids":[{"source":"old","value":"%d"}]`, m.names)
	}
	m.contacts = append(m.contacts, createAs(m, m.node(), m.account.Number, body+"}", crm.Force).ID)
}

// mergeTwo merges two contacts, and checks that nothing is lost, that the sums stay, and, now and then, that the undo makes everything as it was, and the undo of that merges again.
func (m *mergeModel) mergeTwo() (what string, err error) {
	s, o := pick(&m.giftModel, m.contacts), pick(&m.giftModel, m.contacts)
	in := crm.MergeInput{Contact: o, MergeChoice: crm.MergeChoice{PreferOther: m.random.IntN(2) == 0, Fields: map[string]int64{pick(&m.giftModel, []string{"company", "first_name", "emails", "dob", "do_not_mail"}): pick(&m.giftModel, []int64{s, o})}}}
	what = fmt.Sprintf("merge %d into %d %v", o, s, in.MergeChoice)
	before, sums := everything(m, m.nodes[0], m.account.Number), totals(m, m.nodes[0], m.account.Number)
	was, err := m.node().ContactRecord(m.Context(), m.account.Number, s)
	if err != nil {
		m.Fatal(err)
	}
	other, err := m.node().ContactRecord(m.Context(), m.account.Number, o)
	if err != nil {
		m.Fatal(err)
	}
	preview, previewErr := m.node().PreviewMerge(m.Context(), m.account.Number, s, in, "US")
	made, err := m.node().Merge(m.Context(), m.account.Number, s, in, "US")
	if fmt.Sprint(err) != fmt.Sprint(previewErr) {
		m.Fatalf("%s: %v, and the preview says %v", what, err, previewErr)
	}
	if err != nil {
		wantState(m, what+" was refused: "+err.Error(), everything(m, m.nodes[0], m.account.Number), before)
		return what, err
	}
	is, err := m.node().ContactRecord(m.Context(), m.account.Number, s)
	if err != nil {
		m.Fatal(err)
	}
	if is.Stats, is.UpdatedAt = preview.Merged.Stats, preview.Merged.UpdatedAt; string(is.AppendBody(nil)) != string(preview.Merged.AppendBody(nil)) {
		m.Errorf("%s: the preview was\n%s\nand is\n%s", what, preview.Merged.AppendBody(nil), is.AppendBody(nil))
	}
	m.wantNothingLost(what, &was, &other, &is, preview.Lost)
	wantState(m, what+" changes what was given", totals(m, m.nodes[0], m.account.Number), sums)
	if m.random.IntN(3) > 0 {
		m.merged = append(m.merged, made.Merge)
		return what, nil
	}
	after := everything(m, m.nodes[0], m.account.Number)
	undone, err := m.node().UndoMerge(m.Context(), m.account.Number, made.Merge, "US")
	if err != nil || len(undone.Left) > 0 {
		m.Fatalf("the undo of %s: %v, left %v", what, err, undone.Left)
	}
	wantState(m, "the undo of "+what, everything(m, m.nodes[0], m.account.Number), before)
	row, err := m.node().MergeOf(m.Context(), m.account.Number, made.Merge)
	if err != nil {
		m.Fatal(err)
	}
	again, err := m.node().UndoMerge(m.Context(), m.account.Number, row.Undone, "US")
	if err != nil {
		m.Fatalf("the undo of the undo of %s: %v", what, err)
	}
	archivedAt := regexp.MustCompile(`"archived_at":"[^"]*"`)
	dated := func(rows []string) []string {
		return strings.Split(archivedAt.ReplaceAllString(strings.Join(rows, "\n"), ""), "\n")
	}
	wantState(m, "the undo of the undo of "+what, dated(everything(m, m.nodes[0], m.account.Number)), dated(after))
	m.merged = append(m.merged, again.Survivor.Merge)
	return what, nil
}

// wantNothingLost looks for each value of both contacts in the merged one, or among those that the preview said would be lost.
func (m *mergeModel) wantNothingLost(what string, was, other, is *crm.Contact, lost []crm.Lost) {
	m.Helper()
	for _, c := range []*crm.Contact{was, other} {
		for _, f := range crm.ContactTexts {
			text := f.Text(c)
			told := slices.ContainsFunc(lost, func(l crm.Lost) bool { return l.Contact == c.ID && l.Value == text })
			if text != "" && !strings.Contains(f.Text(is), text) && !told {
				m.Errorf("%s: %s %q of contact %d is lost: %q, %+v", what, f.Name, text, c.ID, f.Text(is), lost)
			}
		}
		for _, key := range c.MatchKeys {
			if !slices.Contains(is.MatchKeys, key) {
				m.Errorf("%s: the key %q of contact %d is lost", what, key, c.ID)
			}
		}
		for _, tag := range c.Tags {
			if !slices.Contains(is.Tags, tag) {
				m.Errorf("%s: the tag %q of contact %d is lost", what, tag, c.ID)
			}
		}
		if c.DoNotMail && !is.DoNotMail && !slices.ContainsFunc(lost, func(l crm.Lost) bool { return l.Field == "Do not mail" }) {
			m.Errorf("%s: do_not_mail of contact %d is lost", what, c.ID)
		}
	}
}

func (m *mergeModel) step() (what string, err error) {
	ctx, account := m.Context(), m.account.Number
	switch n := m.random.IntN(100); {
	case n < 15 || len(m.contacts) < 4:
		m.newPerson()
		return "person", nil
	case n < 20:
		made := create(m, m.node(), account, m.person()+"}") // which may be merged
		if made.Merged {
			if made.Merge == 0 {
				m.Error("a create that was merged has no merge to undo")
			}
			m.merged = append(m.merged, made.Merge)
		} else {
			m.contacts = append(m.contacts, made.ID)
		}
		return "create", nil
	case n < 30:
		id := pick(&m.giftModel, m.contacts)
		_, err := m.node().UpdateContact(ctx, account, id, input(m, m.person()+"}"))
		return fmt.Sprint("edit ", id), err
	case n < 50:
		return m.mergeTwo()
	case n < 60 && len(m.merged) > 0:
		sums := totals(m, m.nodes[0], account)
		id := pick(&m.giftModel, m.merged)
		undone, err := m.node().UndoMerge(ctx, account, id, "US")
		if err == nil {
			m.undone = append(m.undone, m.undoOf(id))
			if !slices.Contains(m.contacts, undone.Other.ID) {
				m.contacts = append(m.contacts, undone.Other.ID)
			}
		}
		wantState(m, "an undo changes what was given", totals(m, m.nodes[0], account), sums)
		return fmt.Sprint("undo ", id), err
	case n < 63 && len(m.undone) > 0:
		id := pick(&m.giftModel, m.undone)
		again, err := m.node().UndoMerge(ctx, account, id, "US")
		if err == nil {
			m.merged = append(m.merged, again.Survivor.Merge)
		}
		return fmt.Sprint("undo the undo ", id), err
	}
	return m.giftModel.step()
}

func (m *mergeModel) undoOf(merge int64) int64 {
	row, err := m.node().MergeOf(m.Context(), m.account.Number, merge)
	if err != nil {
		m.Fatal(err)
	}
	return row.Undone
}

// Whatever is done to contacts and gifts, nothing is lost by a merge, its undo is exact, and all that is derived stays right.
func TestMergesAndTheirUndoKeepEverything(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		seed := rand.Uint64()
		m := &mergeModel{giftModel: giftModel{T: t, nodes: []*Book{a, b}, random: rand.New(rand.NewPCG(seed, 7)), account: newAccount(t, a), now: time.Now()}}
		t.Logf("seed %d", seed)
		for _, title := range []string{"Gala", "Coats"} {
			made, err := a.CreateCampaign(t.Context(), m.account, campaign.Input{Title: &title})
			if err != nil {
				t.Fatal(err)
			}
			m.campaigns = append(m.campaigns, made)
		}
		done, faults := 0, map[string]int{}
		for i := 0; i < 250 && !t.Failed(); i++ {
			what, err := m.step()
			kind, _, _ := strings.Cut(what, " ")
			var refused *doc.Invalid
			if err != nil && !errors.As(err, &refused) && !errors.Is(err, crm.ErrArchived) {
				t.Fatalf("step %d: %s: %v", i, what, err)
			}
			if err != nil {
				faults[kind]++
			} else {
				done++
			}
			if i%50 == 49 {
				checkGiving(t, a, m.account, m.contacts)
				if found, _ := checkAll(t, a, false); len(found) > 0 {
					t.Fatalf("after %d steps, the last one %s: %q", i, what, found)
				}
			}
			if t.Failed() {
				t.Logf("step %d: %s: %v", i, what, err)
			}
		}
		list, result, err := b.Merges(t.Context(), m.account.Number, merges.Filter{Newest: true}, crm.PageRequest{Page: 1, PerPage: 100})
		if err != nil || result.Total < 10 || len(list) == 0 {
			t.Errorf("%d merges: %v", result.Total, err)
		}
		t.Logf("%d steps done, refused %v, %d merges", done, faults, result.Total)
	})
}
