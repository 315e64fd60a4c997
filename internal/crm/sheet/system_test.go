package sheet

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/crm/giving"
)

// giftsSaid is each row of a file of gifts: who, how much, when, what became of it, how, for what, and by which ids; or why it is not recorded.
func giftsSaid(t *testing.T, file, region string) (said []string) {
	t.Helper()
	f, err := openGiftFile([]byte(file), "gifts.csv", nil, region)
	if err != nil {
		return []string{err.Error()}
	}
	for {
		row, err := f.next()
		if errors.Is(err, io.EOF) {
			return said
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := row.Validate(region, importDay.AddDate(0, 8, 0)); err != nil {
			word := "rejected: "
			if row.IsNoGift() {
				word = "skipped: "
			}
			said = append(said, word+err.Error())
			continue
		}
		said = append(said, giftSaid(row))
		if row.ExternalID == nil {
			continue
		}
		if match := row.Match(); match != nil {
			if err := match.Validate(region, importDay.AddDate(0, 8, 0)); err != nil {
				t.Error(err)
			}
			said = append(said, giftSaid(match))
		}
	}
}

func giftSaid(row *GiftRow) string {
	who := strings.Join(strings.Fields(value(row.Giver.Prefix)+" "+row.Giver.PersonName().String()+" "+value(row.Giver.Suffix)), " ")
	if row.Anonymous {
		who = "anonymous"
	}
	text := fmt.Sprintf("%s <%s> %s %s %s", who, value(row.Email), fmt.Sprint(float64(*row.Amount)/10000)+value(row.Currency), row.Time().Format("2006-01-02"), *row.Method)
	if row.IsRefund() {
		text += " refund of " + row.Filed.RefundOf
	}
	if status := value(row.Status); status != "" && status != string(giving.Succeeded) {
		text += " " + status
	}
	if row.Filed.Back != nil {
		text += " went back"
	}
	if row.CampaignName != "" {
		text += " for " + row.CampaignName
	}
	if row.Fee != nil && *row.Fee != 0 {
		text += fmt.Sprint(" fee ", float64(*row.Fee)/10000)
	}
	if row.ExternalID != nil {
		text += " #" + *row.ExternalID
	}
	if row.Filed.Plan != "" {
		text += " plan " + row.Filed.Plan
	}
	for _, left := range row.LeftOut {
		text += " without " + left.Column
	}
	if row.Giver.DoNotEmail != nil {
		text += " do_not_email"
	}
	return text
}

// judged is a file as another system or people write it, in testdata/systems, and each of its rows as a person judges it.
type judged struct {
	region string
	want   []string
}

func (f judged) read(t *testing.T, of, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/systems/" + of + "/" + strings.NewReplacer(" ", "_", "'", "").Replace(name) + "." + strings.ToLower(f.region) + ".csv")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var giftFiles = map[string]judged{
	"benevity with volunteers": {"US", []string{
		"Anita Desai <anita.desai@example.com> 50USD 2026-08-03 other for River Aid General #BNV001A without Donation Frequency",
		"Globex <> 50USD 2026-08-03 other for River Aid General #BNV001A:match",
		"anonymous <> 20USD 2026-08-05 other for River Aid General fee 0.4 #BNV002A",
		"Initech <> 100USD 2026-08-07 other for River Aid General #BNV003A",
		"Marco Bianchi <marco.b@example.com> 1000USD 2026-08-11 other for River Aid General fee 19 #BNV004A",
		"Globex <> 1000USD 2026-08-11 other for River Aid General #BNV004A:match",
		"skipped: The row names the rows below it, or adds up those above it.",
		"skipped: The row names the rows below it, or adds up those above it.",
		"skipped: The row names the rows below it, or adds up those above it.",
		"skipped: The row names the rows below it, or adds up those above it.",
	}},
	"bloomerang transactions": {"US", []string{
		"Lily Chen <lily.chen@example.com> 50 2026-01-03 check for 2026 Annual #1",
		"Fin Doyle <fin.doyle@example.com> 1000 2026-01-04 other pending for Capital Campaign #2",
		"Fin Doyle <fin.doyle@example.com> 250 2026-01-04 card for Capital Campaign #3",
		"Fin Doyle <fin.doyle@example.com> 250 2026-04-04 card for Capital Campaign #4",
		"Fin Doyle <fin.doyle@example.com> 250 2026-07-04 other cancelled for Capital Campaign #5",
		"Harbor Rotary Club <> 750 2026-01-09 ach for 2026 Annual #6",
		"Paul & Nora Ibsen <ibsens@example.com> 30 2026-01-10 other pending for 2026 Annual #7",
		"Paul & Nora Ibsen <ibsens@example.com> 30 2026-01-10 card for 2026 Annual #8",
		"Lily Chen <lily.chen@example.com> 50 2026-01-20 check refund of  for 2026 Annual #9",
		"Sam Quinn <sam.quinn@example.com> 0 2026-02-02 in_kind #10",
	}},
	"donorperfect pledges": {"US", []string{
		"Harold Nakamura <harold.n@example.com> 1200 2026-01-05 other pending for BUILDING #50010",
		"Harold Nakamura <harold.n@example.com> 100 2026-02-05 check for BUILDING #50011",
		"Harold Nakamura <harold.n@example.com> 100 2026-03-05 check for BUILDING #50012",
		"Lakeside Credit Union <> 2500 2026-03-09 card for GENERAL #50013",
		"Dot Kimball <dot@example.com> 0 2026-03-10 in_kind for GENERAL #50014",
		"Ray Voss <> 20 2026-03-11 card refund of  for GENERAL #50015",
		"Ray Voss <> 20 2026-03-01 card for GENERAL #50016",
		"Ann Lee <> 10 2026-03-12 cash for GENERAL #50017",
	}},
	"stripe balance history": {"US", []string{
		"anonymous <> 50USD 2026-04-01 other fee 1.75 #txn_1",
		"anonymous <> 200USD 2026-04-02 other fee 6.1 #txn_2",
		"anonymous <> 75USD 2026-04-03 other fee 2.48 #txn_3",
		"skipped: The Type field says this row is not a gift.",
		"anonymous <> 200USD 2026-04-09 other refund of  #txn_5",
		"anonymous <> 90USD 2026-04-12 other fee 2.91 #txn_6",
		"skipped: The Type field says this row is not a gift.",
		"skipped: The Type field says this row is not a gift.",
	}},
	"a savings bank": {"DE", []string{
		"Jürgen Weiß <> 150EUR 2026-03-02 other",
		"Marlies Özdemir <> 30EUR 2026-03-03 other",
		"skipped: The Betrag field says that money was paid out, which is not a gift.",
		"skipped: The Betrag field says that money was paid out, which is not a gift.",
		"Schröder Bau GmbH <> 2500EUR 2026-03-06 other",
		"Marlies Özdemir <> 33.5EUR 2026-03-09 other refund of ",
		"anonymous <> 412.35EUR 2026-03-10 other",
		"Dr. Eva und Peter Lorenz <> 100EUR 2026-03-11 other",
	}},
	"raisers edge requests": {"US", []string{
		"Mr. Robert J. Fallon Jr. <> 3000 2026-01-12 other pending for Endowment #G-9001",
		"Mr. Robert J. Fallon Jr. <> 750 2026-01-12 check for Endowment #G-9002",
		"Mr. Robert J. Fallon Jr. <> 750 2026-04-12 check for Endowment #G-9003",
		"Ms. Gloria Estes <> 20 2026-02-01 card pending for Annual Fund #G-9004 do_not_email",
		"Ms. Gloria Estes <> 20 2026-02-01 card for Annual Fund #G-9005 do_not_email",
		"The Whitcomb Trust <> 12480.5 2026-02-15 stock for Endowment #G-9006 do_not_email",
		"Dr. & Mrs. Alan Kay <> 200 2026-02-20 cash for Annual Fund #G-9007",
		"Mr. Robert J. Fallon Jr. <> 750 2026-06-01 other pending for Endowment #G-9008",
		"Mr. Robert J. Fallon Jr. <> 1500 2026-09-01 other cancelled for Endowment #G-9009",
		"Mrs. Opal Tran <> 0 2026-03-05 in_kind for Annual Fund #G-9010",
		"Mrs. Opal Tran <> 50000 2026-03-06 other pending for Endowment #G-9011",
	}},
	"a form's report":               {"US", []string{"MARIA DELGADO <maria@example.org> 100 2026-03-14 card for Spring fee 3.5 #Q1", "Mr. and Mrs. Paul Greene <> 250 2026-03-15 check for Gala #Q2 do_not_email", "Harbor Rotary Club <> 0 2026-03-16 in_kind for Gala #Q3"}},
	"a German club":                 {"DE", []string{"Herr Hans Müller <> 50EUR 2026-01-02 direct_debit for Brunnen #1", "Schröder Bau <> 1250EUR 2026-01-13 bank_transfer for Brunnen #2 do_not_email", "Frau Dr. Sabine Groß <> 0 2026-01-15 in_kind #4", "Herr Hans Müller <> 5EUR 2026-01-16 cash #5", "skipped: The row names the rows below it, or adds up those above it."}},
	"a list of Spain":               {"ES", []string{"José Luis García Pérez <jl@example.org> 30EUR 2026-01-05 direct_debit do_not_email", "Fundación Acme <info@example.org> 500EUR 2026-01-07 bank_transfer went back"}},
	"a journal of pledges":          {"US", []string{"Mr. and Mrs. Paul Greene <> 100 2026-02-01 other for Capital #T-3", "Mr. and Mrs. Paul Greene <> 1200 2026-01-05 other pending for Capital #T-1", "Dr. & Mrs. Alan Kay <> 500 2026-03-10 other cancelled for Capital #T-5"}},
	"a payroll report":              {"US", []string{"Ann Lee <ann@example.org> 25USD 2026-02-10 other for River fee 0.1 #8A1", "Globex <> 25USD 2026-02-10 other for River #8A1:match", "skipped: The row names the rows below it, or adds up those above it."}},
	"a statement of a savings bank": {"DE", []string{"ERIKA MUSTERMANN <> 100EUR 2026-03-02 other", "Klaus und Petra Weber <> 15EUR 2026-03-03 other"}},
	"a church":                      {"US", []string{"Kim <> 50 2026-01-04 other for General", "Reed <> 100 2026-01-11 other for General"}},
	"neoncrm":                       {"US", []string{"Rosa Diaz <rosa@example.org> 150 2026-03-14 card for Spring #9001", "Liam Ng <> 75 2026-03-15 check went back for Spring #9002", `rejected: The Donation Status field says "DEFERRED", which is unknown: choose what it means, one of succeeded, pending, failed, cancelled, refunded, partly refunded, disputed, test.`}},
	"kindful":                       {"US", []string{"Amy Lee <amy@example.org> 25 2026-02-01 card for Annual #k1", "Bo Li <bo@example.org> 40 2026-02-02 check went back for Annual #k2", "Acme Inc. <> 99 2026-02-03 cash failed #k3"}},
	"keela":                         {"US", []string{"Ana Ruiz <ana@example.org> 1200CAD 2026-01-31 card for Gala #t1", "Ben King <> 20CAD 2026-02-01 bank_transfer pending for Gala #t2 without Donor: Primary Email"}},
	"networkforgood":                {"US", []string{"Zoe Okafor <zoe@example.org> 50 2026-01-05 card for Roof fee 1.5 #N-1"}},
	"etapestry":                     {"US", []string{"Mr. and Mrs. Paul Greene <paul@example.org> 60 2026-01-07 check for Unrestricted #R-1", "The Kay Family Foundation <> 2500 2026-01-08 check for Unrestricted #R-2"}},
	"virtuous":                      {"US", []string{"Dr. & Mrs. Alan Kay <> 80USD 2026-01-09 card for Wells #ch_5", "Anonymous <> 10USD 2026-01-10 cash #502"}},
	"funraise":                      {"US", []string{"Pia Roth <pia@example.org> 30 2026-03-01 card fee 0.9 #f1", "Otto Lang <otto@example.org> 15 2026-03-02 ach failed fee 0.5 #f2"}},
	"classy":                        {"US", []string{"Mia Fox <mia@example.org> 100USD 2026-03-01 card for Run fee 4.2 #c1", "Mia Fox <mia@example.org> 20USD 2026-03-02 card went back for Run #c2"}},
	"zeffy":                         {"US", []string{"Ida Wu <ida@example.org> 35 2026-03-01 card for Tea #Z-1", "Jon Wu <jon@example.org> 45 2026-03-02 card went back for Tea #Z-2"}},
	"every.org":                     {"US", []string{"Kai Tan <kai@example.org> 10 2026-04-01 bank_transfer fee 0.1 #e1", "anonymous <> 5 2026-04-02 card fee 0.3 #e2"}},
	"benevity":                      {"US", []string{"Lea Roy <lea@example.org> 100USD 2026-01-15 other for River fee 2.9 #B1", "Globex <> 100USD 2026-01-15 other for River #B1:match", "anonymous <> 20USD 2026-01-16 other for River fee 0.58 #B2"}},
	"facebook":                      {"US", []string{"Noa Ben <noa@example.org> 25USD 2026-02-01 other #fb1"}},
	"gofundme":                      {"US", []string{"Pat O'Neil <pat@example.org> 50 2026-02-03 other #g1", "anonymous <> 5 2026-02-04 other #g2"}},
	"quickbooks":                    {"US", []string{"Ana Ruiz <> 100 2026-01-05 other #1001", "Schröder Bau GmbH <> 250 2026-01-06 other #1002"}},
	"german":                        {"DE", []string{"Schröder Bau GmbH <> 1500EUR 2026-01-05 bank_transfer for Dach #B-1", "Frau Erika Groß <erika@example.org> 20.5EUR 2026-01-06 direct_debit #B-2"}},
	"french":                        {"FR", []string{"M. et Mme Martin <martin@example.org> 50EUR 2026-04-03 check for Toit #1001", "Zoé Lefèvre <> 20EUR 2026-04-04 bank_transfer cancelled #1002"}},
	"spanish":                       {"ES", []string{"Ana Ruiz Gil <ana@example.org> 1000.5 2026-01-31 bank_transfer #R1"}},
	"raisers edge nxt": {"US", []string{
		"Mr. Harold T. Winthrop III <> 1250 2026-03-04 check for Capital #G-77001",
		"The Winthrop Family Foundation <> 5000 2026-03-05 other pending for Capital #G-77002",
		"The Winthrop Family Foundation <> 500 2026-03-06 ach for Capital #G-77003",
	}},
	"npsp": {"US", []string{
		"Eleanor Marsh <emarsh@example.org> 150 2026-02-11 card for Winter Appeal #006Dn00000A1b2c",
		"Lakeside Bank <> 2500 2026-02-12 check pending #006Dn00000A1b2d",
		"Ivan Ruiz <> 75 2026-02-13 other cancelled for Winter Appeal #006Dn00000A1b2e",
	}},
	"stripe balance": {"US", []string{
		"Rae Hart <rae@example.org> 40USD 2026-05-01 other fee 1.46 #txn_1",
		"anonymous <> 15USD 2026-05-02 other refund of  #txn_2",
		"skipped: The reporting_category field says this row is not a gift.",
		"skipped: The reporting_category field says this row is not a gift.",
	}},
	"square": {"US", []string{
		"Nina Petrov <> 60 2026-03-07 other fee 1.66 #tx9A",
		"anonymous <> 20 2026-03-07 other #tx9B",
		"Nina Petrov <> 60 2026-03-08 other refund of  fee 1.66 #tx9C",
	}},
	"venmo": {"US", []string{
		"Jess Moore <> 35 2026-02-03 other fee 0.77 #3301",
		"skipped: The Type field says this row is not a gift.",
		"skipped: The Amount (total) field says that money was paid out, which is not a gift.",
	}},
	"a parish": {"US", []string{
		"Ngozi & Emeka Okoye <> 150 2026-02-01 other for Tithes",
		"anonymous <> 82.35 2026-02-01 other for General",
		"Piet Van der Berg <> 40 2026-02-08 other for Missions",
	}},
	"a club by direct debit": {"DE", []string{
		"Ayşe Özdemir <> 60EUR 2026-02-01 direct_debit",
		"Karl-Heinz Grün <> 60EUR 2026-02-01 direct_debit failed",
		"Lisa Ackermann <> 25.5EUR 2026-02-15 bank_transfer",
	}},
	"tax receipts": {"FR", []string{
		"Mme Zoé Lefèvre <zoe@example.fr> 120EUR 2026-01-12 check #2026-0001",
		"M. Jean-Luc Durand <> 1500EUR 2026-01-25 bank_transfer #2026-0002",
		"Boulangerie Durand SARL <> 80EUR 2026-02-02 in_kind #2026-0003",
	}},
	"dues of an ong": {"ES", []string{
		"María José Ortega Ruiz <mj@example.es> 15EUR 2026-02-05 other",
		"Iván Peña Soto <> 30EUR 2026-02-05 other went back",
		"Construcciones Peña S.L. <info@example.es> 1200EUR 2026-02-06 other pending",
	}},
	"a statement in two columns": {"US", []string{
		"skipped: The Deposits field is empty: no money has come.",
		"MARIA LOPEZ <> 75 2026-02-04 other",
		"skipped: The Withdrawals field says that money was paid out, which is not a gift.",
		"skipped: The Withdrawals field says that money was paid out, which is not a gift.",
		"anonymous <> 200 2026-02-07 other",
		"skipped: The Deposits field is empty: no money has come.",
	}},
	"a statement with zelle": {"US", []string{
		"JOHN Q PUBLIC <> 100 2026-03-02 other",
		"anonymous <> 250 2026-03-03 check",
		"skipped: The Type field says this row is not a gift.",
		"JANE ROE <> 50 2026-03-05 other",
	}},
	"payroll with a match": {"US", []string{
		"Ann Lee <ann@example.org> 25USD 2026-02-10 other for River #8A1 without Donation Frequency",
		"Apple <> 25USD 2026-02-10 other for River #8A1:match",
		"Acme Inc <> 10USD 2026-02-12 other for River #8A3",
		"skipped: The row names the rows below it, or adds up those above it.",
	}},
	"a report by customers": {"US", []string{
		"skipped: The row names the rows below it, or adds up those above it.",
		"Ana Lopez <> 100 2026-01-05 other #1001",
		"Ana Lopez <> 50 2026-02-05 other #1002",
		"skipped: The row names the rows below it, or adds up those above it.",
		"skipped: The row names the rows below it, or adds up those above it.",
		"Baker Supply Inc. <> 750 2026-02-11 other #1003",
		"skipped: The row names the rows below it, or adds up those above it.",
		"skipped: The row names the rows below it, or adds up those above it.",
		"skipped: The row names the rows below it, or adds up those above it.",
	}},
	"donorperfect": {"US", []string{
		"Fred Abt <> 25 2026-03-01 check for GEN #7001",
		"Gia Abt <> 100 2026-03-02 card for GEN #7002",
	}},
	"littlegreenlight": {"US", []string{
		"Ann Tate <> 50 2026-03-01 check for Annual #5501",
		"Elm Diner, Inc. <> 250 2026-03-02 card for Annual #ch_88",
	}},
	"planning center": {"US", []string{
		"Bea Fox <bea@example.org> 75 2026-03-01 card for General Fund fee 1.91 #150001",
		"The Hall Family <> 40 2026-03-01 check for Missions #150002",
		"Otis Lane <otis@example.org> 120 2026-03-02 ach went back for General Fund fee 0.25 #150003",
		"anonymous <> 312.55 2026-03-02 cash for General Fund #150004",
	}},
	"a cooperative bank": {"DE", []string{
		"Petra Schulz <> 1050EUR 2026-03-03 other",
		"skipped: The Betrag field says that money was paid out, which is not a gift.",
		"skipped: The Betrag field says that money was paid out, which is not a gift.",
		"Bäckerei Kranz GmbH <> 30EUR 2026-03-06 other",
	}},
	"givebutter with covered fees": {"US", []string{
		"Ada Wynn <ada@example.org> 103.2 2026-04-01 card for Spring Gala fee 3.2 #GB-1",
		"Bo Xu <bo@example.org> 20 2026-04-01 card went back for Spring Gala fee 0.9 #GB-2 plan pl-1",
		"Cy Yates <cy@example.org> 30 2026-04-01 ach failed for Spring Gala #GB-3",
	}},
	"xero": {"US", []string{
		"skipped: The Gross field is empty: no money has come.",
		"Cedar Bank <> 1000 2026-01-05 other #G-1",
		"Dana Elm <> 45 2026-02-09 other #G-2",
		"Dana Elm <> 45 2026-02-11 other refund of  #G-3",
		"skipped: The row names the rows below it, or adds up those above it.",
		"skipped: The row names the rows below it, or adds up those above it.",
	}},
	"batches of a church": {"US", []string{
		"Fay Gore <> 200 2026-03-08 check for General, Missions #77120",
		"Gus Hart <> 35 2026-03-08 cash for General #77121",
		"anonymous <> 88.1 2026-03-09 cash for General #77122",
		"skipped: The row names the rows below it, or adds up those above it.",
	}},
	"paypal": {"DE", []string{
		"Jana Vogel <jana@example.org> 25EUR 2026-03-05 other fee 0.97 #8AB12345CD678901E",
		"skipped: The Typ field says this row is not a gift.",
		"Jana Vogel <verein@example.org> 25EUR 2026-03-07 other refund of 8AB12345CD678901E #8AB12345CD678903G",
		`rejected: The Typ field says "Zahlung im Einzugsverfahren mit Zahlungsrechnung", which is unknown: choose what it means, one of gift, pledge, payment, refund, write off, no gift.`,
		"Lena Busch <lena@example.org> 10EUR 2026-03-09 other fee 0.5 #8AB12345CD678905J plan I-ABC123",
	}},
	"justgiving": {"GB", []string{
		"Mrs Olive Pratt <olive@example.org> 25GBP 2026-03-14 other fee 0.55 #D10001",
		"anonymous <> 10GBP 2026-03-15 other fee 0.35 #D10002",
		"Mr Ravi Shah <ravi@example.org> 40GBP 2026-03-31 other went back fee 0.75 #D10003 do_not_email",
	}},
	"invoices by customer": {"US", []string{
		"skipped: The row names the rows below it, or adds up those above it.",
		"Alder Foundation <> 5000 2026-01-15 other #2001",
		"skipped: The row names the rows below it, or adds up those above it.",
		"skipped: The row names the rows below it, or adds up those above it.",
		"Birch Betty <> 250 2026-02-20 other pending #2002",
		"skipped: The Transaction type field says this row is not a gift.",
		"skipped: The row names the rows below it, or adds up those above it.",
		"skipped: The row names the rows below it, or adds up those above it.",
		"skipped: The row names the rows below it, or adds up those above it.",
	}},
	"things and money": {"DE", []string{
		"Familie Horn <> 80EUR 2026-01-03 in_kind #SB-1",
		"Frau Dr. Ute Kern <> 150EUR 2026-01-10 other #SB-2",
		"Kern & Söhne OHG <> 1000EUR 2026-01-12 other #SB-3",
		"anonymous <> 12.5EUR 2026-01-15 cash",
	}},
	"dons en Suisse": {"CH", []string{
		"Madame Anne-Lise Favre <al.favre@example.ch> 100CHF 2026-01-12 other for Accueil",
		"Monsieur Beat Zürcher <> 1250.5CHF 2026-01-15 bank_transfer for Accueil",
		"Fondation du Léman <info@leman.example.ch> 5000CHF 2026-01-20 bank_transfer for Jardin",
		"skipped: The row names the rows below it, or adds up those above it.",
	}},
	"brightfunds": {"US", []string{
		"Ann Lee <ann@example.org> 50 2026-02-01 other for River",
		"Initech <> 50 2026-02-01 other for River",
		"anonymous <> 15 2026-02-03 other for River",
	}},
	"donately": {"US", []string{
		"Ren Sol <ren@example.org> 50USD 2026-03-03 other for Kits fee 1.75 #ch_9",
		"Sky Tan <sky@example.org> 10USD 2026-03-04 other went back for Kits fee 0.59 #ch_10",
	}},
	"stripe with metadata": {"US", []string{
		"Uri Vale <uri@example.org> 40USD 2026-02-01 card for Wells fee 1.46 #ch_3A1",
		"Vi Ward <vi@example.org> 30USD 2026-02-02 card went back for Wells fee 1.17 #ch_3B2",
		"Wes Yo <wes@example.org> 75EUR 2026-02-03 card went back for Wells fee 2.47 #ch_3C3",
		"Xa Zim <xa@example.org> 20USD 2026-02-04 card failed for Wells #ch_3D4",
	}},
	"givewp": {"US", []string{
		"Sia Tran <sia@example.org> 25USD 2026-04-02 other #ch_3A",
		"Uma Voss <uma@example.org> 50USD 2026-04-03 other pending #3002",
		"Test Er <test@example.org> 5USD 2026-04-03 other #3003",
	}},
	"tithely": {"US", []string{
		"Gil Ham <gil@example.org> 52 2026-04-12 card for Tithes fee 1.81 #T1",
		"Ivy Jo <ivy@example.org> 15 2026-04-12 card for Missions fee 0.74 #T2",
		"Ivy Jo <ivy@example.org> 15 2026-04-13 card refund of  for Missions #T3",
		"skipped: The Transaction Type field says this row is not a gift.",
	}},
	"facebook with refunds": {"US", []string{
		"Ana Bell <ana@example.org> 15USD 2026-02-01 other #c-1",
		"Ana Bell <ana@example.org> 15USD 2026-02-02 other refund of  #c-2",
		"anonymous <> 20EUR 2026-02-03 other #c-3",
	}},
	"givelively": {"US", []string{
		"Mia Soto <mia@example.org> 100 2026-05-02 other for Meals fee 3.25 #L-1",
		"Mia Soto <mia@example.org> 20 2026-05-02 other for Housing fee 0.75 #L-2",
		"anonymous <> 10 2026-05-03 other went back fee 0.45 #L-3",
	}},
	"donativos": {"ES", []string{
		"Lucía García López <lucia@example.es> 50EUR 2026-02-02 bank_transfer #R-1",
		"Aceites del Sur S.L. <info@aceites.example.es> 2000EUR 2026-02-13 bank_transfer #R-2",
		"Andrés Ruiz Mora <> 15EUR 2026-02-14 direct_debit went back #R-3",
		"skipped: The row names the rows below it, or adds up those above it.",
	}},
	"a Swiss bank": {"CH", []string{
		"Ruth Keller <> 120CHF 2026-02-05 bank_transfer",
		"Meier AG <> 1500CHF 2026-02-06 bank_transfer",
		"skipped: The Gutschrift in CHF field is empty: no money has come.",
		"skipped: The row names the rows below it, or adds up those above it.",
	}},
	"helloasso": {"FR", []string{
		"Chloé Bernard <chloe@example.fr> 60EUR 2026-03-05 card #12",
		"Hugo Petit <hugo@example.fr> 15EUR 2026-03-06 card went back #70002",
		"Léa Roux <lea@example.fr> 1200EUR 2026-03-07 bank_transfer #13",
	}},
	"canadahelps": {"CA", []string{
		"MARIE TREMBLAY <marie@example.org> 100 2026-01-12 other for General fee 3.75 #9911771",
		"Maple Goods Ltd. <office@maple.example.org> 250 2026-01-13 other for General fee 10 #9911790",
		"anonymous <> 30 2026-01-14 other for General fee 1.2 #9911802",
	}},
	"pledges with references": {"US", []string{
		"Grant Ives <> 1200 2026-01-02 other pending for Annual Fund #501",
		"Grant Ives <> 300 2026-01-15 check for Annual Fund #502",
		"Holly Trust <> 2512.11 2026-02-01 stock for Annual Fund #503",
		"Jo Kane <> 20 2026-02-02 card pending for Annual Fund #504",
		"Jo Kane <> 20 2026-02-03 card for Annual Fund #505",
		"Grant Ives <> 900 2026-03-01 other cancelled for Annual Fund #506",
	}},
	"kindful by type": {"US", []string{
		"Amy Lee <amy@example.org> 25 2026-02-01 card for Annual #ch_1A2",
		"Bo Li <bo@example.org> 40 2026-02-02 check went back for Annual",
		"Acme Inc. <> 99 2026-02-03 cash for Annual",
	}},
	"a list of Austria": {"DE", []string{
		"Huber Franz <> 50EUR 2026-01-07 other for Hütte",
		"Mag. Eva Moser <> 120.5EUR 2026-01-08 other for Hütte",
		"Gasthof Post KG <> 1000EUR 2026-01-09 bank_transfer",
		"skipped: The row names the rows below it, or adds up those above it.",
	}},
	"donorperfect with pledges": {"US", []string{
		"Fred Abt <fred@example.org> 25 2026-03-01 check for ANNUAL #7001",
		"Oak Hardware <> 1200 2026-03-02 other pending for ANNUAL #7002",
		"Oak Hardware <> 100 2026-03-03 card for ANNUAL #7003",
	}},
	"networkforgood with fees": {"US", []string{
		"Zoe Okafor <zoe@example.org> 52 2026-01-05 other for Roof page fee 2 #N-10001",
		"anonymous <> 25 2026-01-06 other for Roof page fee 1.25 #N-10002",
	}},
	"a statement with deposits": {"US", []string{
		"JOHN Q PUBLIC <> 100 2026-03-02 other",
		"skipped: The Amount field says that money was paid out, which is not a gift.",
		"anonymous <> 250 2026-03-04 other",
		"skipped: The Amount field says that money was paid out, which is not a gift.",
	}},
	"a statement": {"ES", []string{
		"Lucia Garcia Lopez <> 50EUR 2026-03-05 other",
		"skipped: The IMPORTE EUR field says that money was paid out, which is not a gift.",
		"Pedro Ruiz <> 25EUR 2026-03-07 other",
	}},
	"benevity with summary": {"US", []string{
		"Lea Roy <lea@example.org> 100USD 2026-01-15 other for River #AB1",
		"Globex <> 100USD 2026-01-15 other for River #AB1:match",
		"anonymous <> 50USD 2026-01-16 card for River fee 1.5 #AB2",
		"Initech <> 25USD 2026-01-17 other for River #AB3",
		"skipped: The row names the rows below it, or adds up those above it.",
	}},
	"gofundme with tips": {"US", []string{
		"Pat O'Neil <pat@example.org> 50 2026-02-03 other fee 1.75 #g-1001",
		"anonymous <> 5 2026-02-04 other fee 0.45 #g-1002",
	}},
	"bank": {"DE", []string{"Erika Groß <> 50EUR 2026-01-05 other", "Karl Weiß <> 25EUR 2026-01-06 other"}},
}

// TestGiftsOfManySystems: each row has the right person, amount, day and fate.
func TestGiftsOfManySystems(t *testing.T) {
	t.Parallel()
	for name, f := range giftFiles {
		if said := giftsSaid(t, f.read(t, "gifts", name), f.region); !slices.Equal(said, f.want) {
			t.Errorf("%s is\n%s\nwant\n%s", name, strings.Join(said, "\n"), strings.Join(f.want, "\n"))
		}
	}
}
