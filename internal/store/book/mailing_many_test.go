//go:build drill

package book

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/move"
)

// manyStatements is enough for several units of work and several pieces of the file; what is held must not depend on
// it.
const manyStatements = 600

// gauge throws away what is written, and notes what is held meanwhile.
type gauge struct{ written, looked, most int64 }

func (g *gauge) Write(p []byte) (int, error) {
	if g.written += int64(len(p)); g.written-g.looked > 200_000 {
		g.looked, g.most = g.written, max(g.most, inUse())
	}
	return len(p), nil
}

// Statements for everyone are mailed or noted as letters a few at a time: a person sees how far that is, can stop it,
// and the file with the letters is written page by page. However many there are, little is in memory.
func TestStatementsForEveryoneTakeLittleMemory(t *testing.T) {
	for _, e := range testEngines {
		// alone: what others hold would count
		t.Run(e.name, func(t *testing.T) { statementsForEveryone(t, open(t, e.empty(t))) })
	}
}

func statementsForEveryone(t *testing.T, s *Book) {
	s.UseRelay(new(postOffice))
	account := newAccount(t, s).Number
	var file strings.Builder
	file.WriteString("Name,Email,Street,City,ZIP,Amount,Date,Gift ID\n")
	for i := range manyStatements {
		fmt.Fprintf(&file, "Pat P%d,%s,%d Mill Lane,Riverton,97001,%d,2025-03-04,g%d\n", i,
			[]string{"", fmt.Sprintf("p%d@example.org", i)}[i%2], i, 5+i%90, i)
	}
	if done, rejected := imported(t, s, account, file.String(), false); done.Created != manyStatements {
		t.Fatalf("%+v %v", done, rejected)
	}
	set, err := s.Selected(t.Context(), account, jobs.Selection{All: true, Scope: crm.Active})
	if err != nil {
		t.Fatal(err)
	}
	before := inUse()
	j, err := s.BeginMailing(t.Context(), account, jobs.Mailing{Year: 2025}, set)
	if err != nil {
		t.Fatal(err)
	}
	var at jobs.MailingProgress
	var most int64
	steps, worker := 0, jobs.NewJobWorker(s.JobStore)
	for busy := true; busy; steps++ {
		if busy, err = worker.Round(t.Context(), func(err error) { t.Error(err) }); err != nil {
			t.Fatal(err)
		}
		now, err := s.Job(t.Context(), account, j.ID)
		done := at.Done()
		if err != nil || json.Unmarshal(now.Progress, &at) != nil || at.Done() < done || at.Total != manyStatements ||
			now.Working() && !now.Stoppable() {
			t.Fatalf("%v %+v after %d", err, at, done)
		}
		most = max(most, inUse())
	}
	if steps < 4 || at.Mailed != manyStatements/2 || at.Letters != manyStatements/2 {
		t.Errorf("%d steps: %+v", steps, at)
	}
	ended, err := s.Job(t.Context(), account, j.ID)
	if err != nil {
		t.Fatal(err)
	}
	letters, err := s.PrintLettersOf(t.Context(), account, ended, move.Print{ByZip: true})
	out := new(gauge)
	if err == nil {
		err = letters.Write(t.Context(), out, func(_, _ int64) {})
	}
	if err != nil || out.written < manyStatements*300 {
		t.Errorf("%v: a file of %d bytes", err, out.written)
	}
	t.Logf("%d steps; the job holds %d KB more than before, the file %d KB", steps, (most-before)>>10,
		(out.most-before)>>10)
	if limit := int64(20 << 20); most-before > limit || out.most-before > limit {
		t.Errorf("the job holds %d bytes more than before, and the file %d", most-before, out.most-before)
	}
}
