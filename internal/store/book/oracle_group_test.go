package book

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/history"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

// undoGroup undoes a job: one that is begun by a person, and gone on with by another.
func (o *oracle) undoGroup(job int64) {
	undo, err := o.UndoJob(store.By(o.Context(), history.ConsoleChannel, "bob@example.org"), o.Number, job,
		"US", false)
	if err != nil {
		o.fault("undo of a group", "%v", err)
	}
	if again, err := o.UndoWhole(o.Context(), o.Number, job, "US", func(done, total int64) {
		if done < 0 || done > total {
			o.fault("progress of an undo", "%d of %d", done, total)
		}
	}); err != nil || again.ID != undo.ID {
		o.fault("undo of a group", "it went on as job %d: %v", again.ID, err)
	}
	o.work()
	if undo, err = o.Job(o.Context(), o.Number, undo.ID); err != nil || undo.State != jobs.JobDone {
		o.fault("undo of a group", "%v: it is %s", err, undo.State)
	}
}

// modelBulk is a change of many contacts.
type modelBulk struct {
	job   int64
	edits map[int64]*event
}

// bulk tags two contacts. It is undone at once, after which everything is as before, or later.
func (o *oracle) bulk(st oracleStep) {
	a, b := o.giver(st.A), o.giver(st.B)
	if a == 0 || b == 0 {
		return
	}
	before := o.rows()
	tag := o.value(4 + st.C>>2%2)
	ids := slices.Compact([]int64{a, b})
	edits := map[int64]*event{}
	for _, id := range ids {
		if !o.contacts[id].says().set[tag] {
			edits[id] = &event{add: []string{tag}}
		}
	}
	done := bulk(o, o.Book, o.Number, jobs.Selection{IDs: ids}, crm.BulkTag, strings.TrimPrefix(tag, "tag:"))
	o.say("bulk job %d: tag %s on %s %s", done.Job, tag, o.name(a), o.name(b))
	if done.Changed != int64(len(edits)) {
		o.fault("bulk change", "%d contacts were changed, want %d", done.Changed, len(edits))
	}
	switch {
	case done.Changed == 0:
	case st.C>>3%2 == 0:
		o.say("undone at once")
		o.undoGroup(done.Job)
		o.same("a bulk change and its undo", before)
	default:
		for id, e := range edits {
			o.contacts[id].events = append(o.contacts[id].events, e)
		}
		o.bulks = append(o.bulks, modelBulk{done.Job, edits})
	}
}

// undoBulk undoes a change of many contacts: each has lost what it got, unless it had lost it before.
func (o *oracle) undoBulk(st oracleStep) {
	if len(o.bulks) == 0 {
		return
	}
	i := st.A % len(o.bulks)
	one := o.bulks[i]
	for id := range one.edits {
		if c := o.contacts[id]; c.into != 0 || c.archived || c.erased {
			return
		}
	}
	j, err := o.Job(o.Context(), o.Number, one.job)
	if err != nil || !j.Undoable() {
		return // too old
	}
	if _, err := o.UndoJob(o.Context(), o.Number, one.job, "US", false); o.refused("undo of a bulk change",
		err) {
		return
	}
	o.work()
	o.say("undo bulk job %d", one.job)
	for id, e := range one.edits {
		o.contacts[id].says()
		u := &event{cancels: e}
		if o.contacts[id].says().set[e.add[0]] {
			u.out = e.add
		}
		o.contacts[id].events = append(o.contacts[id].events, u)
	}
	o.bulks = slices.Delete(o.bulks, i, i+1)
}

// retag renames or deletes a tag of all contacts, also of archived ones and of those that were merged. It is undone
// at once, or stays.
func (o *oracle) retag(st oracleStep) {
	from, to := o.value(4+st.A%2), ""
	switch st.B % 3 {
	case 0:
		to = o.value(4 + (st.A+1)%2)
	case 1:
		to = fmt.Sprintf("tag:v%s", o.word)
	}
	before := o.rows()
	var done jobs.TagChange
	var err error
	name, becomes := strings.TrimPrefix(from, "tag:"), strings.TrimPrefix(to, "tag:")
	if to == "" {
		done, err = o.RenameTags(o.Context(), o.Number, "", name)
	} else {
		done, err = o.RenameTags(o.Context(), o.Number, becomes, name)
	}
	if o.refused("tag", err) {
		return
	}
	o.say("%s becomes %q", from, to)
	if done.Job != 0 && st.B>>4%4 == 0 {
		o.say("undone at once")
		o.undoGroup(done.Job)
		o.same("a rename of a tag and its undo", before)
		return
	}
	for _, id := range o.ids {
		if c := o.contacts[id]; !c.erased && c.says().set[from] {
			c.events = append(c.events, &event{rename: [2]string{from, to}})
		}
	}
}

// segment saves a filter, renames one, or deletes one.
func (o *oracle) segment(st oracleStep) {
	ids := slices.Sorted(maps.Keys(o.segments))
	o.names++
	name := fmt.Sprintf("s%s%d.", o.word, o.names)
	switch n := st.A % 4; {
	case n < 2 || len(ids) == 0:
		v := o.value([]int{0, 1, 4, 5}[st.B%4])
		kind, value, _ := strings.Cut(v, ":")
		made, err := find.NewSegment(name, kind+"="+value, "US")
		if err != nil {
			o.Fatal(err)
		}
		if made, err = o.CreateSegment(o.Context(), o.Number, made); o.refused("segment", err) {
			return
		}
		o.segments[made.ID] = modelSegment{name, v}
		o.say("segment %d: %s", made.ID, v)
	case n == 2:
		id := ids[st.B%len(ids)]
		if !o.refused("segment", o.RenameSegment(o.Context(), o.Number, id, name)) {
			o.segments[id] = modelSegment{name, o.segments[id].value}
		}
	default:
		id := ids[st.B%len(ids)]
		if _, err := o.DeleteSegment(o.Context(), o.Number, id); !o.refused("segment", err) {
			delete(o.segments, id)
		}
	}
}

type modelSegment struct{ name, value string }

// readSegments compares what is saved with the model. A filter by what an erased person had may be gone.
func (o *oracle) readSegments(erased []int64) {
	all := must(o.Segments(o.Context(), o.Number))(o)
	found := map[int64]modelSegment{}
	for _, s := range all {
		kind, value, _ := strings.Cut(s.Query, "=")
		found[s.ID] = modelSegment{s.Name, kind + ":" + strings.ReplaceAll(value, "%40", "@")}
	}
	maps.DeleteFunc(o.segments, func(id int64, s modelSegment) bool {
		_, there := found[id]
		return !there && slices.ContainsFunc(erased, func(id int64) bool { return o.contacts[id].had(s.value) })
	})
	if !maps.Equal(found, o.segments) {
		o.fault("segments", "they are %v, want %v", found, o.segments)
	}
}

// importPeople imports a file. It is undone at once, after which those it made are archived and all others are as
// before, or it stays.
func (o *oracle) importPeople(st oracleStep) {
	if len(o.ids) >= 6 {
		return
	}
	file, parts := "first_name,last_name,email,company,tags\n", []saying{}
	for _, n := range []int{st.A, st.B} {
		o.names++
		s := newSaying()
		email, tag := o.value(n%2), o.value(4+n>>1%2)
		s.set[email], s.set[tag], s.text["company"] = true, true, fmt.Sprintf("Co%s%d.", o.word, o.names)
		parts = append(parts, s)
		file += fmt.Sprintf("F,L,%s,%s,%s\n", strings.TrimPrefix(email, "email:"), s.text["company"],
			strings.TrimPrefix(tag, "tag:"))
	}
	before, known := o.says(), o.lastMerge()
	rows := openTable(o, file)
	spec := importOf(rows, jobs.MergeExisting)
	spec.SHA256, spec.FileIsRight = fmt.Sprintf("%x", sha256.Sum256([]byte(file))), st.C>>2%2 == 0
	im, _, err := o.ImportFile(o.Context(), o.Number, rows, spec, 0, false, func(jobs.ImportProgress) {})
	if o.refused("import", err) {
		return
	}
	o.say("import, the file is right: %v\n%s", spec.FileIsRight, file)
	for v := range parts[0].set {
		o.filed[v] = true
	}
	for v := range parts[1].set {
		o.filed[v] = true
	}
	if st.C>>3%2 == 0 {
		o.say("undone at once")
		if im.First != 0 {
			o.undoGroup(im.ID)
		}
		o.sameSays("import and undo", before)
		return
	}
	one := o.noteImport(parts, known, map[bool]mergeRule{true: overwrite, false: complete}[spec.FileIsRight])
	one.job = im.ID
	if im.First != 0 {
		o.imports = append(o.imports, one)
	}
}

// modelImport is an import that stays for a while: what its rows became part of, and whom they made.
type modelImport struct {
	job    int64
	merges map[int64]int64 // with their survivors
	made   []int64
}

// undoImport undoes an import. What was changed since stays, and is listed; everything else is as if the import had
// not been.
func (o *oracle) undoImport(st oracleStep) {
	if len(o.imports) == 0 {
		return
	}
	i := st.A % len(o.imports)
	one := o.imports[i]
	undo, err := o.UndoJob(o.Context(), o.Number, one.job, "US", false)
	if o.refused("undo of an import", err) {
		return
	}
	o.imports = slices.Delete(o.imports, i, i+1)
	o.work()
	rows := must(o.JobRows(o.Context(), o.Number, undo.ID, 0, 100))(o)
	kept := map[int64]bool{}
	for _, row := range rows {
		kept[row.Contact] = true
	}
	o.say("undo of import job %d, %d contacts stay", one.job, len(kept))
	for merge, survivor := range one.merges {
		if e := o.eventOf(merge); e != nil && !kept[survivor] && !o.contacts[survivor].erased && !e.undone {
			e.undone = true
			o.merges = slices.DeleteFunc(o.merges, func(m int64) bool { return m == merge })
		}
	}
	for _, id := range one.made {
		if c := o.contacts[id]; !kept[id] && !c.erased {
			c.archived = true
		}
	}
}

// sure merges contacts that are surely the same person, and undoes that at once.
func (o *oracle) sure(st oracleStep) {
	if st.B%3 != 0 {
		return
	}
	before := o.rows()
	succeed(o, o.FindDuplicates(o.Context(), o.Number, func(float64) {}))
	j, err := o.MergeSure(o.Context(), o.Number, "US", nil)
	if o.refused("merge of sure pairs", err) {
		return
	}
	o.work()
	if j, err = o.Job(o.Context(), o.Number, j.ID); err != nil || j.State != jobs.JobDone {
		o.fault("merge of sure pairs", "%v: %s", err, j.State)
	}
	o.say("merge of sure pairs: %s", j.Progress)
	if j.First != 0 {
		o.undoGroup(j.ID)
	}
	o.same("a merge of sure pairs and its undo", before)
}

// noteImport finds out whom the rows of a file became part of, and whom they made.
func (o *oracle) noteImport(parts []saying, known int64, rule mergeRule) (one modelImport) {
	one.merges = map[int64]int64{}
	page, _, err := o.ContactPage(o.Context(), o.Number, crm.Active, crm.PageRequest{Page: 1, PerPage: 100})
	if err != nil {
		o.fault("list", "%v", err)
	}
	made := slices.DeleteFunc(page, func(c crm.Contact) bool { return slices.Contains(o.ids, c.ID) })
	slices.SortFunc(made, func(a, b crm.Contact) int { return int(a.ID - b.ID) })
	merged := must(store.List(o.Context(), o.Store, store.ScanMerge, store.SQLMergesAfter, o.Number, known,
		int64(10)))(o)
	for _, part := range parts {
		company := part.text["company"]
		if i := slices.IndexFunc(merged, func(m store.Merge) bool {
			return strings.Contains(m.Sent,
				company)
		}); i >= 0 {
			m := merged[i]
			o.note(m.Survivor, &event{merge: m.ID, rule: rule, parts: part})
			one.merges[m.ID] = m.Survivor
			o.say("merge %d: a row into %s", m.ID, o.name(m.Survivor))
		} else if i := slices.IndexFunc(made, func(c crm.Contact) bool {
			return part.set["email:"+
				c.Emails[0].Value]
		}); i >= 0 {
			o.add(made[i].ID, part)
			one.made = append(one.made, made[i].ID)
			o.say("a row made %s", o.name(made[i].ID))
			made = slices.Delete(made, i, i+1)
		} else {
			o.say("a row says nothing new")
		}
	}
	return one
}

// lastMerge is the last merge of the account.
func (o *oracle) lastMerge() (last int64) {
	all := must(store.List(o.Context(), o.Store, store.ScanMerge, store.SQLMergesAfter, o.Number, int64(0),
		int64(1000)))(o)
	for _, m := range all {
		last = m.ID
	}
	return last
}

// sameSays: each contact of the model says what it said.
func (o *oracle) sameSays(what string, before map[int64]string) {
	after := o.says()
	for id, was := range before {
		if after[id] != was {
			o.fault(what, "%s was\n  %s\nis\n  %s", o.name(id), was, after[id])
		}
	}
}

// tags compares how many contacts have each tag with the model.
func (o *oracle) tags() {
	want := map[string]int64{}
	for _, id := range o.ids {
		if c := o.contacts[id]; c.into == 0 && !c.erased && !c.archived {
			for _, tag := range c.says().values("tag") {
				want[tag]++
			}
		}
	}
	all, _, err := o.Tags(o.Context(), o.Number, "", crm.PageRequest{Page: 1, PerPage: 100})
	if err != nil {
		o.fault("tags", "%v", err)
	}
	got := map[string]int64{}
	for _, tag := range all {
		got[tag.Name] = tag.Contacts
	}
	if !maps.Equal(got, want) {
		o.fault("tags", "they are %v, want %v", got, want)
	}
}
