package sheet

import "maps"

// Each of these files taught a rule, too.
var (
	thirdGiftFiles = map[string]judged{
		"a statement": {"FR", []string{
			"MME CLAIRE DUVAL <> 50 2026-04-02 other",
			"skipped: The Débit field says that money was paid out, which is not a gift.",
			"anonymous <> 210 2026-04-06 other",
			"skipped: The row names the rows below it, or adds up those above it.",
		}},
		"a statement with a summary": {"US", []string{
			"skipped: The Amount field is empty: no money has come.",
			"DORA QUILL <> 75 2026-03-04 other",
			"anonymous <> 300 2026-03-09 other",
			"skipped: The Amount field says that money was paid out, which is not a gift.",
		}},
		"actblue": {"US", []string{
			"Lena Ortiz <lena@example.org> 25 2026-03-01 card for riverpage fee 0.99 #900001",
			"Otis Pell <otis@example.org> 250 2026-03-02 card went back for riverpage fee 9.88 #900002",
		}},
		"an online bank": {"DE", []string{
			"Greta Sommer <> 60EUR 2026-04-02 other",
			"skipped: The Type field says this row is not a gift.",
			"Autohaus Lenz GmbH <> 400EUR 2026-04-05 other",
		}},
		"donaciones": {"ES", []string{
			"Carmen Ruiz Sanz <carmen@example.es> 30EUR 2026-04-02 card for Agua fee 0.72 #501",
			"Panadería Sol S.L. <sol@example.es> 1000EUR 2026-04-03 bank_transfer pending for Agua #502 do_not_email",
			"Luis Vega Gil <luis@example.es> 25EUR 2026-04-04 bank_transfer went back for Agua #503 do_not_email",
		}},
		"everyaction": {"US", []string{
			"Ruth Adler <> 50 2026-06-01 card for General #700100 plan RC-5",
			"Baxter Plumbing, Inc. <> 1000 2026-06-02 check for General #700101",
			"Min-jun Cho <> 35 2026-06-03 card went back for General #700102",
		}},
		"gifts of coins": {"US", []string{
			"Nia Obel <nia@example.com> 90 2026-05-01 other fee 1.8 #5f0c-77",
			"anonymous <> 125 2026-05-02 other fee 2.5 #5f0c-78",
		}},
		"grants of funds": {"US", []string{
			"Mr. and Mrs. Grant Hollis <> 5000 2026-01-14 ach #G-55121",
			"The Marigold Fund <> 750 2026-02-02 ach #G-55140",
			"June Odell <> 100 2026-03-20 ach #G-55161",
			"skipped: The row names the rows below it, or adds up those above it.",
		}},
		"kept by hand": {"US", []string{
			"Ed & Fay Nolan <nolans@example.org> 100 2026-01-05 check for General",
			"Helen Gray <helen.g@example.org> 45.5 2026-01-09 card for Boats",
			"First Parish Church <> 1200 2026-01-11 check for General",
			"anonymous <> 20 2026-01-12 cash",
			"skipped: The row names the rows below it, or adds up those above it.",
		}},
		"luminate": {"US", []string{
			"Mr. Abe Zorn <abe@example.org> 100USD 2026-03-15 card for Spring #4401-1",
			"Ms. Bea Yang <bea@example.org> 15USD 2026-03-16 card for Spring #4401-2 plan SG-88 do_not_email",
			"Ms. Bea Yang <bea@example.org> 15USD 2026-03-17 card refund of  for Spring #4401-3 plan SG-88 do_not_email",
			"Cal Xu <cal@example.org> 40USD 2026-03-18 card failed for Spring #4401-4",
		}},
		"orders of a shop": {"US", []string{
			"Lia Moon <lia@example.com> 40USD 2026-03-02 other #c1001.1",
			"Ned Orr <ned@example.com> 25USD 2026-03-03 other went back #c1002.1 do_not_email",
			"Oda Pym <oda@example.com> 60USD 2026-03-04 paypal went back #c1003.1 do_not_email",
		}},
		"payments of a pledge": {"US", []string{
			"Mr. & Mrs. Lee Oak <> 100 2026-02-10 other #T-1",
			"Mr. & Mrs. Lee Oak <> 100 2026-03-10 other #T-2",
		}},
		"pledges by text": {"US", []string{
			"Dee Wray <dee@example.com> 50 2026-04-02 card #BTR-1",
			"Eli Voss <> 30 2026-04-02 other pending",
		}},
		"raisely": {"AU", []string{
			"Mia Chen <mia@example.com> 1050AUD 2026-03-28 card fee 47.25 #b1f0-aa01",
			"Noel Park <noel@example.com> 20AUD 2026-04-03 cash fee 1.2 #b1f0-aa02",
			"Olive Quin <olive@example.com> 15AUD 2026-04-04 card went back fee 0.9 #b1f0-aa03 plan sub-9",
		}},
		"things by item": {"US", []string{
			"Harlow Hardware LLC <info@harlow.example> 640 2026-04-01 in_kind",
			"Ines Jarvis <ines@example.org> 0 2026-04-09 in_kind",
			"Ken Lott <ken@example.org> 25 2026-04-12 other",
		}},
	}
	thirdContactFiles = map[string]judged{
		"boletin": {"ES", []string{
			"Pilar Mora Sáez [pilar@example.es] Barcelona 08001 born 1970-08-12",
			"Quim Font [quim@example.es] Barcelona 08002 do_not_mail do_not_email do_not_call",
		}},
		"breeze": {"US", []string{
			"Dale Parr (Parr Tools) [dale@example.org] 1 Low Rd Salem OR 97301 born 1958-03-09",
			"Edie Parr [] 1 Low Rd Salem OR 97301 born 1961-11-30",
		}},
		"companies and their people": {"DE", []string{
			"Frau Ute Bär [ute@example.de] Am Wall 3 Dresden 01067 born 1951-04-03",
			"Herr Jan Müller (Müller GmbH) [jan@example.de] Werkstr. 9 Hamburg 20095 do_not_mail",
			"Herr Otto Alt [] Am Wall 5 Dresden 01067 born 1930-12-12 do_not_mail deceased",
		}},
		"donorfy": {"GB", []string{
			"Mrs Agnes Boyd [agnes@example.co.uk] 3 Quay Leith EH6 6AA born 1944-06-05 do_not_mail",
			"Boyd & Sons Ltd [office@boyd.example] 4 Quay Leith EH6 6AB do_not_email do_not_call",
			"Mr Hamish Reid [hamish@example.co.uk] do_not_mail do_not_email do_not_call deceased",
		}},
		"last names first": {"US", []string{
			"LOUISE VAN DYKE [lou@example.org hank@example.org] 77 CANAL ST HOLYOKE MA 01040 do_not_mail",
			"TIM O'HARA [] 78 CANAL ST HOLYOKE MA 01040 do_not_call",
			"remark",
		}},
		"nationbuilder": {"US", []string{
			"Ada Moss [ada@example.org] 1 Main St Boston MA 02110 born 1950-02-03",
			"Dr. Bert Q. Nye [bert@example.org bert2@example.org] 2 Main St Boston MA 02110 do_not_email do_not_call",
			"Nye Partners LLC [np@example.org] do_not_mail do_not_email do_not_call",
			"Cora Oak [] 3 Main St Boston MA 02110 do_not_call deceased",
		}},
		"noms et prenoms": {"FR", []string{
			"M. et Mme Paul et Anne ROUX [roux@example.fr] 4 allée des Pins NICE 06000 do_not_email",
			"Mme Maël LE GOFF [mael@example.fr] 5 allée des Pins BOURG-EN-BRESSE 01000 born 1959-08-07 do_not_mail",
		}},
		"thunderbird": {"DE", []string{
			"Anke Lorenz (Lorenz Druck) [anke@example.de anke2@example.de] Weg 3 Berlin 10115",
			"Ruder-Club Nord e.V. [club@example.de]",
		}},
		"wildapricot": {"US", []string{
			"Quin Ross [quin@example.org] 4 Fir St Dover DE 19901 born 1950-01-05",
			"Rae Sage (Sage LLC) [rae@example.org] PO Box 9 Dover DE 19901 do_not_email",
		}},
	}
)

func init() {
	maps.Copy(giftFiles, thirdGiftFiles)
	maps.Copy(contactFiles, thirdContactFiles)
}
