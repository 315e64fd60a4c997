package sheet

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/giving"
	tables "donorbook/internal/table"
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
		who := strings.TrimSpace(value(row.Giver.Prefix) + " " + row.Giver.PersonName().String())
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
		for _, left := range row.LeftOut {
			text += " without " + left.Column
		}
		if row.Giver.DoNotEmail != nil {
			text += " do_not_email"
		}
		said = append(said, text)
	}
}

// giftFiles are files as other systems and people write them, and each of their rows judged by a person.
var giftFiles = map[string]struct {
	region, file string
	want         []string
}{
	"a form's report": {"US", "Transaction ID,Date (EST),Form Name,Campaign Page Name,Transaction Status,Payment Type,Total Charged ($),Donation Amount ($),Processing Fee,Net Deposit,Donor First Name,Donor Last Name,Donor Email,Donor Phone Number,Opt In To Emails,Anonymous?\n" +
		"Q1,03/14/2026 04:15:22 PM,Appeal,Spring,Accepted,Visa,103.50,100.00,3.50,96.50,MARIA,DELGADO,maria@example.org,n/a,Yes,No\nQ2,03/15/2026 09:00:00 AM,Gala,Gala,Accepted,Check,250.00,250.00,0,250.00,Mr. and Mrs. Paul,Greene,-,none,No,No\n" +
		"Q3,03/16/2026 09:00:00 AM,Gala,Gala,Accepted,In Kind,0.00,0.00,0,0,Harbor Rotary,Club,,,,No\n",
		[]string{"MARIA DELGADO <maria@example.org> 100 2026-03-14 card for Spring fee 3.5 #Q1", "Mr. and Mrs. Paul Greene <> 250 2026-03-15 check for Gala #Q2", "Harbor Rotary Club <> 0 2026-03-16 in_kind for Gala #Q3"}},
	"a German club": {"DE", "Spendennr;Eingangsdatum;Spender-Nr.;Anrede;Name;Straße;PLZ Ort;Betrag in EUR;Zahlungsart;Spendenzweck;Werbesperre\n" +
		"1;02.01.2026;10023;Herr;Müller, Hans;Hauptstr. 5;01067 Dresden;50,00;Lastschrift;Brunnen;nein\n2;13.01.2026;10024;Firma;Schröder Bau;;;1.250,00;Überweisung;Brunnen;ja\n4;15.01.2026;10026;Frau;Dr. Sabine Groß;;;;Sachspende;;nein\n5;16.01.2026;10023;Herr;Müller, Hans;;;5,00;Bar;;nein\nSumme;;;;;;;1.305,00;;;\n",
		[]string{"Herr Hans Müller <> 50EUR 2026-01-02 direct_debit for Brunnen #1", "Schröder Bau <> 1250EUR 2026-01-13 bank_transfer for Brunnen #2 do_not_email", "Frau Dr. Sabine Groß <> 0 2026-01-15 in_kind #4", "Herr Hans Müller <> 5EUR 2026-01-16 cash #5", "skipped: The type field says this row is not a gift."}},
	"a list of Spain": {"ES", "Fecha,Nombre,Apellidos,DNI/NIF,Correo electrónico,C.P.,Importe,Forma de pago,Periodicidad,Estado,No desea publicidad\n" +
		"05/01/2026,José Luis,García Pérez,12345678Z,jl@example.org,28013,\"30,00 €\",Domiciliación,Mensual,Cobrado,Sí\n07/01/2026,Fundación Acme,,G12345678,info@example.org,,500 €,Transferencia,Única,Devuelto,\n",
		[]string{"José Luis García Pérez <jl@example.org> 30EUR 2026-01-05 direct_debit do_not_email", "Fundación Acme <info@example.org> 500EUR 2026-01-07 bank_transfer went back"}},
	"a journal of pledges": {"US", "Account Number,Account Name,Journal Entry Type,Date,Transaction #,Pledge Transaction #,Received,Pledged,Campaign,Gift Type\n" +
		"501,Mr. and Mrs. Paul Greene,Payment,2/1/2026,T-3,T-1,$100.00,,Capital,Check\n501,Mr. and Mrs. Paul Greene,Pledge,1/5/2026,T-1,,,\"$1,200.00\",Capital,\n503,\"Kay, Dr. & Mrs. Alan\",Write-off,3/10/2026,T-5,T-4,,$500.00,Capital,\n",
		[]string{"Mr. and Mrs. Paul Greene <> 100 2026-02-01 other for Capital #T-3", "Mr. and Mrs. Paul Greene <> 1200 2026-01-05 other pending for Capital #T-1", "Dr. & Mrs. Alan Kay <> 500 2026-03-10 other cancelled for Capital #T-5"}},
	"a payroll report": {"US", "Donations Report,\nCharity ID,840\nCompany,Project,Donation Date,Donor First Name,Donor Last Name,Email,Transaction ID,Currency,Total Donation to be Acknowledged,Match Amount,Cause Support Fee,Merchant Fee\n" +
		"Globex,River,2026-02-10T09:01:02Z,Ann,Lee,ann@example.org,8A1,USD,25.00,25.00,0.50,0.10\nTotals,,,,,,,,25.00,25.00,0.50,\n",
		[]string{"Ann Lee <ann@example.org> 25USD 2026-02-10 other for River fee 0.1 #8A1", "skipped: The type field says this row is not a gift."}},
	"a statement of a savings bank": {"DE", "Auftragskonto;Buchungstag;Valutadatum;Buchungstext;Verwendungszweck;Beguenstigter/Zahlungspflichtiger;Betrag;Waehrung\nDE1;02.03.26;02.03.26;GUTSCHR. UEBERWEISUNG;SPENDE;ERIKA MUSTERMANN;100,00;EUR\nDE1;03.03.26;03.03.26;DAUERAUFTRAG;Spende;Weber, Klaus und Petra;15,00;EUR\n",
		[]string{"ERIKA MUSTERMANN <> 100EUR 2026-03-02 other", "Klaus und Petra Weber <> 15EUR 2026-03-03 other"}},
	"a church": {"US", "Family Name,Giving Date,Fund Name,Ck #,Cash,Check,Total Contribution\nKim,1/4/26,General,1044,,50.00,50.00\nReed,1/11/26,General,2201,,100,100.00\n",
		[]string{"Kim <> 50 2026-01-04 other for General", "Reed <> 100 2026-01-11 other for General"}},
	"neoncrm": {"US", "Donation ID,Account ID,Full Name (F),Email 1,Donation Date,Donation Amount,Donation Status,Tender Type,Campaign Name,Fund Name,Donor Note\n" +
		"9001,12,Rosa Diaz,rosa@example.org,03/14/2026,150.00,SUCCEEDED,Credit Card (Online),Spring,General,Thanks\n9002,13,Liam Ng,,03/15/2026,75.00,REFUNDED,Check,Spring,,\n9003,14,Harbor Rotary Club,,03/16/2026,500,DEFERRED,Check,,,\n",
		[]string{"Rosa Diaz <rosa@example.org> 150 2026-03-14 card for Spring #9001", "Liam Ng <> 75 2026-03-15 check went back for Spring #9002", `rejected: The Donation Status field says "DEFERRED", which is unknown: choose what it means, one of succeeded, pending, failed, cancelled, refunded, partly refunded, disputed, test.`}},
	"kindful": {"US", "Kindful Transaction ID,External Transaction ID,First Name,Last Name,Company Name,Email,Amount,Transaction Date,Transaction Type,Campaign,Fund,Status Friendly,Check #\n" +
		"k1,ch_9,Amy,Lee,,amy@example.org,25.00,2026-02-01,credit,Annual,General,Succeeded,\nk2,,Bo,Li,,bo@example.org,40.00,2026-02-02,check,Annual,General,Refunded,1187\nk3,,,,Acme Inc.,,99,2026-02-03,cash,,,Failed,\n",
		[]string{"Amy Lee <amy@example.org> 25 2026-02-01 card for Annual #k1", "Bo Li <bo@example.org> 40 2026-02-02 check went back for Annual #k2", "Acme Inc. <> 99 2026-02-03 cash failed #k3"}},
	"keela": {"US", "Transaction ID,Donor: First Name,Donor: Last Name,Donor: Primary Email,Donation Amount (CAD),Date of Donation,Payment Type,Donation Status,Campaign\n" +
		"t1,Ana,Ruiz,ana@example.org,\"1,200.00\",2026-01-31,Visa,Completed,Gala\nt2,Ben,King,not an email,20,2026-02-01,E-Transfer,Pending,Gala\n",
		[]string{"Ana Ruiz <ana@example.org> 1200CAD 2026-01-31 card for Gala #t1", "Ben King <> 20CAD 2026-02-01 bank_transfer pending for Gala #t2 without Donor: Primary Email"}},
	"networkforgood": {"US", "Donation Report\nGenerated 2/1/2026\n\nDonation Id,Donor First Name,Donor Last Name,Donor Email,Donation Date (EST),Donation Amount,Processing Fee,Net Amount,Payment Method,Designation,Donation Status\n" +
		"N-1,Zoe,Okafor,zoe@example.org,1/5/2026 9:00 PM,50.00,1.50,48.50,Credit Card,Roof,Settled\n",
		[]string{"Zoe Okafor <zoe@example.org> 50 2026-01-05 card for Roof fee 1.5 #N-1"}},
	"etapestry": {"US", "Account Name,Sort Name,Email,Date,Type,Received,Fund,Approach,Gift Type,Check #,Reference Number\n" +
		"Mr. and Mrs. Paul Greene,\"Greene, Paul\",paul@example.org,1/7/2026,Gift,$60.00,Unrestricted,Mail,Check,1203,R-1\nThe Kay Family Foundation,\"Kay Family Foundation\",,1/8/2026,Gift,\"$2,500.00\",Unrestricted,Mail,Check,77,R-2\n",
		[]string{"Mr. and Mrs. Paul Greene <paul@example.org> 60 2026-01-07 check for Unrestricted #R-1", "The Kay Family Foundation <> 2500 2026-01-08 check for Unrestricted #R-2"}},
	"virtuous": {"US", "Gift Id,Transaction Id,Contact Id,Contact Name,Gift Date,Gift Type,Amount,Currency Code,Project,Segment,Batch\n" +
		"501,ch_5,88,Dr. & Mrs. Alan Kay,2026-01-09T00:00:00,Credit,80,USD,Wells,Email,B1\n502,,89,Anonymous,2026-01-10T00:00:00,Cash,10,USD,,,B1\n",
		[]string{"Dr. & Mrs. Alan Kay <> 80USD 2026-01-09 card for Wells #ch_5", "Anonymous <> 10USD 2026-01-10 other #502"}},
	"funraise": {"US", "Transaction Id,Supporter Id,First Name,Last Name,Email,Amount,Platform Fee Amount,Payment Method,Transaction Status,Transaction Date,Form Name,Recurring Id\n" +
		"f1,7,Pia,Roth,pia@example.org,30,0.9,Apple Pay,Complete,2026-03-01 10:00:00,Home,\nf2,8,Otto,Lang,otto@example.org,15,0.5,ACH,Failed,2026-03-02 10:00:00,Home,\n",
		[]string{"Pia Roth <pia@example.org> 30 2026-03-01 card fee 0.9 #f1", "Otto Lang <otto@example.org> 15 2026-03-02 ach failed fee 0.5 #f2"}},
	"classy": {"US", "Transaction ID,Supporter First Name,Supporter Last Name,Supporter Email,Gross Transaction Amount,Currency,Transaction Date (UTC),Transaction Status,Payment Type,Campaign Name,Total Fees,Net Transaction Amount\n" +
		"c1,Mia,Fox,mia@example.org,100.00,USD,2026-03-01 10:00:00,success,credit_card,Run,4.20,95.80\nc2,Mia,Fox,mia@example.org,20.00,USD,2026-03-02 10:00:00,refunded,credit_card,Run,0,20\n",
		[]string{"Mia Fox <mia@example.org> 100USD 2026-03-01 card for Run fee 4.2 #c1", "Mia Fox <mia@example.org> 20USD 2026-03-02 card went back for Run #c2"}},
	"zeffy": {"US", "Date (America/New_York),Total Amount,Refund Amount,Payment Status,Payment Method,First Name,Last Name,Email,Company Name,Campaign Title,Receipt #\n" +
		"2026-03-01 10:00,$35.00,$0.00,Succeeded,card,Ida,Wu,ida@example.org,,Tea,Z-1\n2026-03-02 10:00,$45.00,$45.00,Refunded,card,Jon,Wu,jon@example.org,,Tea,Z-2\n",
		[]string{"Ida Wu <ida@example.org> 35 2026-03-01 card for Tea #Z-1", "Jon Wu <jon@example.org> 45 2026-03-02 card went back for Tea #Z-2"}},
	"every.org": {"US", "Donation ID,Donor Name,Donor Email,Amount,Frequency,Date,Payment Source,Designation,Public Testimony,Net Amount\n" +
		"e1,Kai Tan,kai@example.org,10.00,Monthly,2026-04-01,Bank,,,9.90\ne2,,,5.00,One-time,2026-04-02,Credit card,,,4.7\n",
		[]string{"Kai Tan <kai@example.org> 10 2026-04-01 bank_transfer fee 0.1 #e1", "anonymous <> 5 2026-04-02 card fee 0.3 #e2"}},
	"benevity": {"US", "Donations Report,,,,,,\nCharity Name,River Aid,,,,,\nCompany,Project,Donation Date,Donor First Name,Donor Last Name,Email,Transaction ID,Currency,Donation Amount,Match Amount,Merchant Fee\n" +
		"Globex,River,2026-01-15T00:00:00Z,Lea,Roy,lea@example.org,B1,USD,100.00,100.00,2.90\nGlobex,River,2026-01-16T00:00:00Z,Not shared by donor,Not shared by donor,Not shared by donor,B2,USD,20.00,0.00,0.58\n",
		[]string{"Lea Roy <lea@example.org> 100USD 2026-01-15 other for River fee 2.9 #B1", "Globex <> 20USD 2026-01-16 other for River fee 0.58 #B2"}},
	"facebook": {"US", "Payment ID,Charge Date,Charge Time,Donation Amount,FB Fee,Net Payout Amount,Payout Currency,Sender Currency,Fundraiser Title,Campaign ID,First Name,Last Name,Email Address,Charge Action Type\n" +
		"fb1,2026-02-01,10:00,25.00,0,25.00,USD,USD,Birthday,99,Noa,Ben,noa@example.org,Settle\n",
		[]string{"Noa Ben <noa@example.org> 25USD 2026-02-01 other #fb1"}},
	"gofundme": {"US", "Donor,Donor Email,Amount,Date,Donation ID,Comment\nPat O'Neil,pat@example.org,$50,\"Feb 3, 2026\",g1,Go!\nAnonymous,,$5,\"Feb 4, 2026\",g2,\n",
		[]string{"Pat O'Neil <pat@example.org> 50 2026-02-03 other #g1", "anonymous <> 5 2026-02-04 other #g2"}},
	"quickbooks": {"US", "River Aid\nSales by Customer Detail\n\"January - March, 2026\"\n\nDate,Transaction Type,Num,Customer,Memo/Description,Amount,Balance\n" +
		"01/05/2026,Payment,1001,Ana Ruiz,Gala,100.00,100.00\n01/06/2026,Sales Receipt,1002,Schröder Bau GmbH,,250.00,350.00\n",
		[]string{"Ana Ruiz <> 100 2026-01-05 other #1001", "Schröder Bau GmbH <> 250 2026-01-06 other #1002"}},
	"german": {"DE", "Spendenliste 2026;;;;;;\nBelegnummer;Spender;Spendendatum;Betrag in EUR;Zahlungsweg;Zweck;E-Mail-Adresse\nB-1;Schröder Bau GmbH;05.01.2026;1.500,00;Überweisung;Dach;\nB-2;Frau Erika Groß;06.01.2026;20,50;Lastschrift;;erika@example.org\n",
		[]string{"Schröder Bau GmbH <> 1500EUR 2026-01-05 bank_transfer for Dach #B-1", "Frau Erika Groß <erika@example.org> 20.5EUR 2026-01-06 direct_debit #B-2"}},
	"french": {"FR", "N° de don;Donateur;Courriel;Date du don;Montant (€);Mode de règlement;Affectation;Statut\n1001;M. et Mme Martin;martin@example.org;03/04/2026;50,00;Chèque;Toit;Encaissé\n1002;Zoé Lefèvre;;04/04/2026;20,00;Virement;;Annulé\n",
		[]string{"M. et Mme Martin <martin@example.org> 50EUR 2026-04-03 check for Toit #1001", "Zoé Lefèvre <> 20EUR 2026-04-04 bank_transfer cancelled #1002"}},
	"spanish": {"ES", "Número de recibo;Nombre;Apellidos;Correo electrónico;Fecha de donación;Importe;Forma de pago;Estado\nR1;Ana;Ruiz Gil;ana@example.org;31/01/2026;1.000,50;Transferencia;Completado\n",
		[]string{"Ana Ruiz Gil <ana@example.org> 1000.5 2026-01-31 bank_transfer #R1"}},
	"bank": {"DE", "Buchungstag;Wertstellung;Auftraggeber/Empfänger;Verwendungszweck;Betrag;Währung;Buchungstext\n05.01.2026;05.01.2026;Erika Groß;Spende Dach;50,00;EUR;Gutschrift\n06.01.2026;06.01.2026;Karl Weiß;Spende;25,00;EUR;Gutschrift\n",
		[]string{"Erika Groß <> 50EUR 2026-01-05 other", "Karl Weiß <> 25EUR 2026-01-06 other"}},
}

// TestGiftsOfManySystems: each row has the right person, amount, day and fate.
func TestGiftsOfManySystems(t *testing.T) {
	t.Parallel()
	for name, f := range giftFiles {
		if said := giftsSaid(t, f.file, f.region); !slices.Equal(said, f.want) {
			t.Errorf("%s is\n%s\nwant\n%s", name, strings.Join(said, "\n"), strings.Join(f.want, "\n"))
		}
	}
}

// contactFiles are files of people, and what becomes of each row.
var contactFiles = map[string]struct {
	region, file string
	want         []string
}{
	"mailchimp unsubscribed": {"US", "Email Address,First Name,Last Name,UNSUB_TIME,UNSUB_REASON,OPTIN_TIME\nana@example.org,Ana,Ruiz,2024-02-03 10:11:12,N,2023-01-01 00:00:00\nben@example.org,,,,,2023-01-01 00:00:00\n",
		[]string{"Ana Ruiz [ana@example.org] do_not_email", " [ben@example.org]"}},
	"constant contact": {"US", "Email address,Email status,First name,Last name,Home phone\na@example.org,Unsubscribed,Ana,Ruiz,617-555-0100\nb@example.org,Active,Ben,King,\nc@example.org,Subscribed,Cy,Fox,\n",
		[]string{"Ana Ruiz [a@example.org] do_not_email", "Ben King [b@example.org]", "Cy Fox [c@example.org]"}},
	"hubspot": {"US", "Record ID,First Name,Last Name,Email,Phone Number,Unsubscribed from all email,Lifecycle Stage,Contact owner\n101,Ana,Ruiz,a@example.org,617-555-0100,Yes,Lead,Jo\n102,Ben,King,b@example.org,,No,Lead,Jo\n",
		[]string{"Ana Ruiz [a@example.org] do_not_email", "Ben King [b@example.org]"}},
	"outlook": {"US", "First Name,Last Name,Company,Job Title,Business Street,Business City,Business State,Business Postal Code,Business Phone,Mobile Phone,E-mail Address,E-mail 2 Address\nAna,Ruiz,Acme,Director,1 Main St,Boston,MA,2139,617-555-0100,617-555-0101,a@example.org,ana@home.example.org\n",
		[]string{"Ana Ruiz (Acme) [a@example.org ana@home.example.org] 1 Main St Boston MA 02139"}},
	"a list of a small charity": {"US", "OUR DONORS\n\nDonor Name,Preferred Email,Pref. Phone,Do Not Solicit,Opt Out,Birthday\nMr. and Mrs. Paul Greene,paul@example.org,617-555-0100,,X,1/31/50\nHarbor Rotary Club,club@example.org,,Yes,,\nCher,cher@example.org,,,,\n",
		[]string{"Mr. and Mrs. Paul Greene [paul@example.org] born 1950-01-31 do_not_email", "Harbor Rotary Club [club@example.org] do_not_mail do_not_email do_not_call", "Cher [cher@example.org]"}},
	"german": {"DE", "Anrede;Name;Vorname;E-Mail;PLZ;Ort;Werbesperre\nHerr;Groß;Karl;karl@example.org;1067;Dresden;ja\n;Schröder Bau GmbH;;;80331;München;nein\n",
		[]string{"Herr Karl Groß [karl@example.org] Dresden 01067 do_not_mail do_not_email do_not_call", "Schröder Bau GmbH [] München 80331"}},
	"french": {"FR", "Civilité;Nom;Prénom;Adresse électronique;Désinscrit;Abonné à la lettre\nMme;Lefèvre;Zoé;zoe@example.org;oui;\nM.;Martin;Luc;luc@example.org;non;non\n",
		[]string{"Mme Zoé Lefèvre [zoe@example.org] do_not_email", "M. Luc Martin [luc@example.org] do_not_email"}},
	"subscribed": {"US", "Name,Email,Subscribed\nAna Ruiz,a@example.org,No\nBen King,b@example.org,Yes\n", []string{"Ana Ruiz [a@example.org] do_not_email", "Ben King [b@example.org]"}},
}

// TestPeopleOfManySystems: each row is the right person, reached in the right ways.
func TestPeopleOfManySystems(t *testing.T) {
	t.Parallel()
	for name, f := range contactFiles {
		r, err := tables.OpenWith(strings.NewReader(f.file), int64(len(f.file)), "people.csv", tables.Options{Header: FindHeader})
		if err != nil {
			t.Fatal(name, err)
		}
		m := Contacts.Recognize(r.Header(), nil, lookAt([]byte(f.file), "people.csv"))
		var said []string
		for cells, _, err := r.Next(); err == nil; cells, _, err = r.Next() {
			in := Contacts.Rows(m, f.region).Input(cells)
			if _, err := in.ValidateRow(nil, f.region, today); err != nil {
				said = append(said, "rejected: "+err.Error())
				continue
			}
			c, err := crm.NewContact(in, today)
			if err != nil {
				t.Fatal(name, err)
			}
			text := strings.TrimSpace(c.Prefix + " " + c.PersonName().String())
			if c.Company != "" && !c.IsCompany {
				text += " (" + c.Company + ")"
			}
			var emails []string
			for _, email := range c.Emails {
				emails = append(emails, email.Value)
			}
			text += " " + fmt.Sprint(emails)
			for _, a := range c.Addresses {
				text += " " + strings.Join(strings.Fields(a.Line1+" "+a.City+" "+a.State+" "+a.Zipcode), " ")
			}
			if !c.DOB.IsZero() {
				text += " born " + c.DOB.Format("2006-01-02")
			}
			for mark, is := range map[string]bool{"a do_not_mail": c.DoNotMail, "b do_not_email": c.DoNotEmail, "c do_not_call": c.DoNotCall} {
				if is {
					text += "\x00" + mark
				}
			}
			parts := strings.Split(text, "\x00")
			slices.Sort(parts[1:])
			for i := range parts[1:] {
				parts[i+1] = parts[i+1][2:]
			}
			said = append(said, strings.Join(parts, " "))
		}
		if !slices.Equal(said, f.want) {
			t.Errorf("%s, as %v, is\n%s\nwant\n%s", name, m, strings.Join(said, "\n"), strings.Join(f.want, "\n"))
		}
	}
}

// synonyms are other words for words of headings.
var synonyms = map[string][]string{"Donation": {"Gift", "Contribution"}, "Gift": {"Donation"}, "Amount": {"Amt"}, "Donor": {"Constituent", "Supporter"}, "Email": {"E-mail", "EMAIL ADDRESS"}, "Supporter": {"Donor"}, "ID": {"Number", "No.", "#"}, "Id": {"ID", "Number"}, "Date": {"DATE"}, "Betrag": {"Summe"}, "Payment": {"Pmt"}}

// TestHeadingsMayBeCalledOtherwise: other words for the same, another order, more columns and a title above change nothing.
func TestHeadingsMayBeCalledOtherwise(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for name, f := range giftFiles {
		r, err := openGiftFile([]byte(f.file), "gifts.csv", nil, f.region)
		if err != nil {
			t.Fatal(name, err)
		}
		header := slices.Clone(r.Header())
		var rows [][]string
		for cells, _, err := r.Next(); err == nil; cells, _, err = r.Next() {
			rows = append(rows, slices.Clone(cells))
		}
		for range 5 {
			changed := slices.Clone(header)
			for i, heading := range changed {
				words := strings.Split(heading, " ")
				for j, word := range words {
					if others := synonyms[word]; others != nil && random.IntN(2) == 0 {
						words[j] = others[random.IntN(len(others))]
					}
				}
				changed[i] = strings.Join(words, " ")
			}
			order := random.Perm(len(header))
			var file strings.Builder
			file.WriteString("\"Report of all gifts, as of today\"\n\n")
			write := func(cells []string, more string) {
				for _, at := range order {
					file.WriteString(`"` + strings.ReplaceAll(cells[at], `"`, `""`) + `";`)
				}
				file.WriteString(`"` + more + "\"\n")
			}
			write(changed, "Shirt size")
			for _, row := range rows {
				write(row, "XL")
			}
			if said := giftsSaid(t, file.String(), f.region); !slices.Equal(withoutNames(said), withoutNames(f.want)) {
				t.Errorf("%s, as\n%s\nis\n%s\nwant\n%s", name, file.String(), strings.Join(said, "\n"), strings.Join(f.want, "\n"))
			}
		}
	}
}

// withoutNames leaves out what names columns.
func withoutNames(said []string) (all []string) {
	for _, text := range said {
		text, _, _ = strings.Cut(text, " without ")
		if strings.HasPrefix(text, "rejected") {
			text = "rejected"
		}
		all = append(all, text)
	}
	return all
}
