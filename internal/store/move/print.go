package move

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/mail"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/db"
	"donorbook/internal/pdf"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

// Print is what is printed for people: a letter with the text of the organization, a statement of what they gave, or a
// label with their address.
type Print struct {
	What     string // letters, statements, or the name of a sheet of labels
	Year     int64  // of statements
	ByZip    bool   // sorted by postal code, and not by name
	A4       bool
	Archived bool // people who were archived get theirs, too
	Receipts bool // each thank-you has its receipt behind it
	Anyway   bool // one person was asked for: whether they want letters does not count
}

// The kinds of print beside labels.
const (
	PrintLetters    = "letters"
	PrintStatements = "statements"
)

// Sheet is a sheet of labels that shops have.
type Sheet struct {
	Name, Label string
	pdf.Sheet
}

const mm = pdf.Millimeter

// Sheets are the sheets of labels.
var Sheets = []Sheet{
	{"5160", "Avery 5160 (Letter, 3 × 10)", pdf.Sheet{Paper: pdf.Letter, Columns: 3, Rows: 10, Left: 13.5, Top: 36,
		Width: 189, Height: 72, Across: 198, Down: 72}},
	{"l7160", "Avery Zweckform L7160 (A4, 3 × 7, 63.5 × 38.1 mm)",
		pdf.Sheet{Paper: pdf.A4, Columns: 3, Rows: 7, Left: 7.25 * mm, Top: 15.15 * mm, Width: 63.5 * mm,
			Height: 38.1 * mm, Across: 66 * mm, Down: 38.1 * mm}},
	{"3474", "Avery Zweckform 3474 (A4, 3 × 8, 70 × 37 mm)",
		pdf.Sheet{Paper: pdf.A4, Columns: 3, Rows: 8, Top: 0.5 * mm, Width: 70 * mm, Height: 37 * mm, Across: 70 * mm,
			Down: 37 * mm}},
}

func (p *Print) sheet() *Sheet {
	if at := slices.IndexFunc(Sheets, func(s Sheet) bool { return s.Name == p.What }); at >= 0 {
		return &Sheets[at]
	}
	return nil
}

// Known tells whether there is such a print.
func (p *Print) Known() bool {
	return p.What == PrintLetters || p.What == PrintStatements || p.sheet() != nil
}

// namedBoxed is how many of those who cannot be drawn are named.
const namedBoxed = 5

// maxPrinted is how many people one file has at most.
const maxPrinted = 50_000

// tooManyPrinted is the fault of a list that no one would print.
const tooManyPrinted doc.Rule = "A file has at most 50,000 people. Filter the list first."

// Printing is a PDF file that is about to be written. Who is in it, and who is not and why, was decided before.
type Printing struct {
	Print
	Left  map[crm.Unreached]int64
	Boxed int64         // of whose name or address the file shows boxes
	Such  []crm.Contact // the first of them
	First crm.Contact   // with whom it begins
	first string        // by which it is sorted
	head  store.Letterhead
	all   []printed
}

// printed is one person in the order of the file.
type printed struct {
	key           string
	contact, gift int64
}

// Count is how many people are in the file.
func (p *Printing) Count() int64 { return int64(len(p.all)) }

func (p *Printing) leaves(c *crm.Contact) crm.Unreached {
	if p.Archived && !c.Erased() {
		*c = c.Restore(c.UpdatedAt)
	}
	switch {
	case p.Anyway && !c.Erased():
		return ""
	case p.What == PrintStatements:
		return c.NoLetter()
	}
	return c.NoPost()
}

func (p *Printing) add(c *crm.Contact, gift int64) {
	key := find.SortName(c)
	if len(c.Addresses) > 0 && p.ByZip {
		a := &c.Addresses[0]
		country, zip := strings.ToUpper(a.Country), strings.ToUpper(strings.TrimSpace(a.Zipcode))
		if country == p.head.Settings.Home() {
			country = "" // as where none is said
		}
		key = country + "\x00" + cmp.Or(zip, "\xff") + "\x00" + key
	} else if p.ByZip {
		key = "\xff" + key // those without an address are last
	}
	p.all = append(p.all, printed{key, c.ID, gift})
	if !pdf.Draws(strings.Join(c.PostLines(p.head.Settings.Home()), " ")) {
		if p.Boxed++; p.Boxed <= namedBoxed {
			p.Such = append(p.Such, *c)
		}
	}
	if len(p.all) == 1 || key < p.first {
		p.First, p.first = *c, key
	}
}

// PreparePrint decides who of a selection is in a file.
func (s *MoveStore) PreparePrint(ctx context.Context, account int64, of jobs.Selection, how Print) (*Printing, error) {
	p := &Printing{Print: how, Left: map[crm.Unreached]int64{}}
	set, err := s.Selected(ctx, account, of)
	if err != nil {
		return nil, err
	}
	if how.What == PrintStatements {
		gave, err := s.DonorSet(ctx, account, how.Year)
		if err != nil {
			return nil, err
		}
		all := set.Count()
		if set.And(&gave); all > set.Count() {
			p.Left[jobs.GaveNothing] = all - set.Count()
		}
	}
	if set.Count() > maxPrinted {
		return nil, store.Fault("", tooManyPrinted)
	}
	if p.head, err = s.Letterhead(ctx, account); err != nil {
		return nil, err
	}
	return p, InParts(account, &set, func(ids []int64) error {
		return eachOf(ctx, s, account, ids, sqlContactsByID, func(r db.Row) (*store.StoredContact, int, error) {
			c := store.ScanContact(r)
			return c, len(c.Body), nil
		}, filled, func(c *store.StoredContact) error {
			why := crm.Unreadable
			if c.Damage == nil {
				why = p.leaves(&c.Contact)
			}
			if why != "" {
				p.Left[why]++
			} else {
				p.add(&c.Contact, 0)
			}
			return nil
		}, func(int) error { return nil })
	})
}

// PrintLettersOf are the letters that a job has noted: thanks for gifts, or statements.
func (s *MoveStore) PrintLettersOf(ctx context.Context, account int64, j jobs.Job, how Print) (*Export, error) {
	m, letters, err := s.LettersOf(ctx, &j)
	if err != nil {
		return nil, err
	}
	how.Receipts = m.Receipts
	if how.What, how.Year, how.Anyway = PrintLetters, m.Year, true; m.Year != 0 {
		how.What = PrintStatements
	}
	p := &Printing{Print: how}
	if p.head, err = s.Letterhead(ctx, account); err != nil {
		return nil, err
	}
	for some := range slices.Chunk(letters, PieceRows) {
		found, err := store.Snapshot(ctx, s.JobStore.Store, func(c db.Conn) ([]crm.Contact, error) {
			return store.LoadContacts(c, account, store.Collect(some, func(l jobs.Letter) int64 { return l.Contact }))
		})
		if err != nil {
			return nil, err
		}
		byID := store.Keyed(found, func(c crm.Contact) int64 { return c.ID })
		for _, l := range some {
			if c, known := byID[l.Contact]; known && !c.Erased() {
				p.add(&c, l.Gift)
			}
		}
	}
	return s.PrintFile(ctx, account, p)
}

// PrintFile is the file. It is noted that it leaves.
func (s *MoveStore) PrintFile(ctx context.Context, account int64, p *Printing) (*Export, error) {
	what := p.What
	if p.sheet() != nil {
		what = "labels"
	}
	slices.SortStableFunc(p.all, func(a, b printed) int {
		return cmp.Or(strings.Compare(a.key, b.key), cmp.Compare(a.contact, b.contact))
	})
	e, err := s.Prepared(ctx, account, what, &Export{Rows: p.Count(), How: ExportOptions{Format: "pdf"}})
	if err != nil {
		return nil, err
	}
	today := s.JobStore.Now().In(e.zone)
	e.file = func(ctx context.Context, w io.Writer, progress func(done, total int64)) error {
		return s.writePrint(ctx, account, p, today, w, progress)
	}
	return e, nil
}

// printedAtOnce is how many people are printed before the file goes on: someone who reads it slowly holds no one up.
const printedAtOnce = 50

func (s *MoveStore) writePrint(ctx context.Context, account int64, p *Printing, today time.Time, w io.Writer,
	progress func(done, total int64),
) error {
	var text bytes.Buffer
	size := pdf.Letter
	if p.A4 {
		size = pdf.A4
	}
	sheet := p.sheet()
	if sheet != nil {
		size = sheet.Paper
	}
	d, made := pdf.New(&text, size, p.head.Organization), s.NewStatements(account, p.Year)
	flush := func() error { _, err := text.WriteTo(w); return err }
	atOnce := printedAtOnce
	if sheet != nil {
		atOnce = sheet.Count()
	}
	for done := 0; done < len(p.all); {
		some := p.all[done:min(done+atOnce, len(p.all))]
		var labels [][]string
		err := s.Heavy.Again(ctx, account, func() error {
			found, err := store.Snapshot(ctx, s.JobStore.Store, func(c db.Conn) ([]crm.Contact, error) {
				return store.LoadContacts(c, account, store.Collect(some,
					func(one printed) int64 { return one.contact }))
			})
			byID := store.Keyed(found, func(c crm.Contact) int64 { return c.ID })
			labels = nil
			for i := 0; i < len(some) && err == nil; i++ {
				c, known := byID[some[i].contact]
				switch {
				case !known || c.Erased(): // meanwhile
				case sheet != nil:
					labels = append(labels, c.PostLines(p.head.Settings.Home()))
				case p.What == PrintStatements:
					var gave giving.Statement
					if gave, err = made.Of(ctx, c.ID); err == nil {
						p.statement(d, &c, &gave, today)
					}
				case some[i].gift != 0:
					err = s.printThanks(ctx, account, d, p, &c, some[i].gift, today)
				default:
					p.letter(d, &c, p.head.Text(thanks.Letter).Write(&thanks.Facts{Contact: &c,
						Organization: p.head.Organization, Day: today}).Says, today)
				}
			}
			return err
		})
		if err == nil && len(labels) > 0 {
			d.Labels(sheet.Sheet, body, labels)
		}
		if err == nil {
			err = flush()
		}
		if err != nil {
			return err
		}
		done += len(some)
		progress(int64(done), p.Count())
	}
	if err := d.Close(); err != nil {
		return err
	}
	return flush()
}

// printThanks prints the thank-you for a gift, perhaps with its receipt, unless it was given back meanwhile.
func (s *MoveStore) printThanks(ctx context.Context, account int64, d *pdf.Document, p *Printing, c *crm.Contact,
	gift int64, today time.Time,
) error {
	found, err := store.List(ctx, s.JobStore.Store, func(r db.Row) *store.GiftRecord {
		g,
			_ := store.ScanGiftRecord(r)
		return &g
	}, store.SQLGiftsByID, account, []int64{gift})
	if err != nil || len(found) == 0 || !found[0].HasArrived() {
		return err
	}
	g := found[0]
	y, err := s.ThankYou(ctx, account, &g.Gift, "")
	if err != nil {
		return err
	}
	p.letter(d, c, y.Says, today)
	if !p.Receipts || g.Receipt == "" {
		return nil
	}
	r, err := s.Receipt(ctx, account, g.Receipt)
	if err == nil {
		store.DrawReceipt(d, &r)
	}
	return err
}

var (
	body  = pdf.Style{Size: 11}
	small = pdf.Style{Size: 9}
)

// begin begins the sheet of a contact: who writes, to whom, and when.
func (p *Printing) begin(d *pdf.Document, c *crm.Contact, today time.Time) {
	d.Page()
	d.Paragraph(pdf.Style{Size: 13, Bold: true}, p.head.Organization)
	if p.head.Settings.Address != "" {
		d.Paragraph(small, strings.Join(strings.Split(p.head.Settings.Address, "\n"), " · "))
	}
	if p.head.Settings.TaxID != "" && p.What == PrintStatements {
		d.Paragraph(small, "Tax ID: "+p.head.Settings.TaxID)
	}
	d.Address(c.PostLines(p.head.Settings.Home())...)
	d.Paragraph(pdf.Style{Size: 11, Align: pdf.Right}, today.Format("January 2, 2006"))
	d.Space(14)
}

func (p *Printing) letter(d *pdf.Document, c *crm.Contact, says []mail.Line, today time.Time) {
	p.begin(d, c, today)
	for _, line := range says {
		d.Paragraph(body, line.Printed())
		d.Space(8)
	}
}

func (p *Printing) statement(d *pdf.Document, c *crm.Contact, s *giving.Statement, today time.Time) {
	p.begin(d, c, today)
	d.Paragraph(pdf.Style{Size: 14, Bold: true}, "Giving statement for "+strconv.FormatInt(s.Year, 10))
	d.Space(8)
	d.Table(pdf.Style{Size: 10}, []pdf.Column{{Title: "Date", Share: 3}, {Title: "For", Share: 6},
		{Title: "Method", Share: 4}, {Title: "Amount", Share: 4, Align: pdf.Right}}, func(yield func([]string) bool) {
		for _, g := range s.Gifts {
			amount := cmp.Or(g.Amount, "Non-cash")
			if g.Refunded != "" {
				amount += "\n" + g.Paid + " less " + g.Refunded + " refunded"
			}
			if !yield([]string{g.At.Format("Jan 2, 2006"), cmp.Or(g.Campaign, "General"), g.Method, amount}) {
				return
			}
		}
	})
	d.Rule()
	if total := s.Total(); total != "" {
		d.Paragraph(pdf.Style{Size: 11, Bold: true, Align: pdf.Right}, "Total "+total)
	}
	d.Space(12)
	for _, sentence := range s.Says(p.head.Organization, p.head.Settings.NoReturn) {
		d.Paragraph(pdf.Style{Size: 10}, sentence)
		d.Space(4)
	}
}
