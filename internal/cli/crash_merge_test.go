package cli

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
)

// TestKillDuringMerges: a merge that was answered is there after kill -9, and no merge is half done.
func TestKillDuringMerges(t *testing.T) { eachEngine(t, killDuringMerges) }

func killDuringMerges(t *testing.T, e engine) {
	const pairs = 60
	data := e.data(t)
	_, key := newKey(t, data)
	p := serve(t, data)
	ids := make([][2]string, pairs)
	for i := range ids {
		for side := range ids[i] {
			a := p.call(key, http.StatusCreated, "POST", "/v1/contacts?force_create=true", fmt.Sprintf(`{"first_name":"P%d","last_name":"S%d","external_ids":[{"source":"old","value":"%[1]d-%[2]d"}]}`, i, side))
			ids[i][side] = fmt.Sprint(decode[struct{ ID int64 }](t, a.body).ID)
		}
		p.call(key, http.StatusCreated, "POST", "/v1/transactions", fmt.Sprintf(`{"contact_id":%s,"amount":5,"method":"cash","transacted_at":"2026-01-31"}`, ids[i][1]))
	}
	var merged atomic.Int64
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := range ids {
			a, err := p.send(key, "POST", "/v1/contacts/"+ids[i][0]+"/merge", `{"contact_id":`+ids[i][1]+`}`)
			if err != nil || a.status != http.StatusOK {
				return
			}
			merged.Add(1)
		}
	}()
	p.waitFor("some merges", func() bool { return merged.Load() > pairs/6 })
	p.kill()
	<-ended

	p = serve(t, data)
	for i := range ids {
		a := must(p.send(key, "GET", "/v1/contacts/"+ids[i][1], ""))(t)
		gifts := p.call(key, http.StatusOK, "GET", "/v1/transactions?contact_id="+ids[i][0], "")
		moved := len(decode[struct{ Data []struct{ ID string } }](t, gifts.body).Data) == 1
		if isMerged := a.status == http.StatusForbidden; isMerged != moved || int64(i) < merged.Load() && !isMerged {
			t.Errorf("pair %d of %d that were answered: merged %v, and its gift has moved %v", i, merged.Load(), isMerged, moved)
		}
	}
	t.Logf("%d of %d merges were answered", merged.Load(), pairs)
	p.stop()
	wantSound(t, data)
}
