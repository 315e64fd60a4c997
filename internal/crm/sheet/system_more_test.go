package sheet

import "maps"

// moreGiftFiles are like giftFiles: each file taught a rule.
var moreGiftFiles = map[string]judged{
	"venmo with charges": {"US", []string{
		"skipped: The row names the rows below it, or adds up those above it.",
		"Tara Wolfe <> 40 2026-06-01 venmo fee 0.86 #4101",
		"Uma Reyes <> 200 2026-06-02 venmo fee 3.9 #4102",
		"skipped: The Amount (total) field says that money was paid out, which is not a gift.",
		"skipped: The Type field says this row is not a gift.",
		"Vic Stone <> 100 2026-06-05 other pending #4105",
		"skipped: The row names the rows below it, or adds up those above it.",
	}},
	"zeffy in honour": {"CA", []string{
		"Gabrielle Roy <gab@example.ca> 60CAD 2026-06-02 card for Tea #zp-1",
		"Hal Ito <hal@example.ca> 25CAD 2026-06-03 direct_debit for Tea #zp-2 do_not_email",
		"Ina Jung <ina@example.ca> 90CAD 2026-06-04 card went back for Tea #zp-3 do_not_email",
		"skipped: The row names the rows below it, or adds up those above it.",
	}},
	"paypal avant commission": {"FR", []string{
		"Élise Moreau <elise@example.fr> 60EUR 2026-06-03 other fee 1.29 #9FR00001",
		"skipped: The Type field says this row is not a gift.",
		"Marc Petit <marc@example.fr> 15EUR 2026-06-05 other fee 0.69 #9FR00003 plan I-AB12",
		"Marc Petit <don@asso.example> 15EUR 2026-06-06 other refund of 9FR00003 fee 0.34 #9FR00004",
	}},
	"a direct bank": {"DE", []string{
		"skipped: The Betrag field says that money was paid out, which is not a gift.",
		"Hanna Ritter <> 75EUR 2026-06-29 other",
		"Tom Berger <> 60EUR 2026-06-28 other refund of ",
		"Bäckerei Huber GmbH & Co. KG <> 500EUR 2026-06-27 other",
		"Tom Berger <> 60EUR 2026-06-26 other",
	}},
	"fundraisebox": {"DE", []string{
		"Frau Dr. Greta Holm <greta@example.de> 50EUR 2026-06-01 card for Wald fee 1.45 #FB-1",
		"Herr Heinz Igel <heinz@example.de> 120EUR 2026-06-02 bank_transfer pending for Wald #FB-2 do_not_email",
		"Herr Iven Jahn <iven@example.de> 15EUR 2026-06-03 direct_debit cancelled for Wald #FB-3 do_not_email",
		"Frau Jana Kehl <jana.k@example.de> 25EUR 2026-06-04 direct_debit failed for Wald #FB-4",
		"Kehl & Söhne GmbH <info@kehl.example> 2500EUR 2026-06-05 paypal fee 37.6 #FB-5 do_not_email",
	}},
	"twingle": {"DE", []string{
		"Frau Lea Maas <lea@example.de> 35EUR 2026-06-01 paypal for Herbst #TW-77A do_not_email",
		"Herr Prof. Dr. Max Nagel <max.n@example.de> 100EUR 2026-06-02 direct_debit for Herbst #TW-77B",
		"Noa Ott <noa.o@example.de> 20EUR 2026-06-03 card cancelled for Herbst #TW-77C",
	}},
	"networkforgood with event dates": {"US", []string{
		"Opal Price <opal@example.org> 50 2026-06-01 card for General #NFG-1 do_not_email",
		"Quin Ross <quin@example.org> 25 2026-06-02 card for General fee 0.75 #NFG-2",
		"anonymous <> 10 2026-06-03 card went back for General fee 0.3 #NFG-3",
	}},
	"stripe balance with disputes": {"US", []string{
		"Mona Field <mona@example.org> 50USD 2026-06-01 card fee 1.75 #txn_1PkLm8a1",
		"Nils Berg <nils@example.org> 120USD 2026-06-02 card fee 3.78 #txn_1PkLm8b2",
		"Nils Berg <nils@example.org> 120USD 2026-06-02 card refund of  #txn_1PkLm8r2",
		"Olga Finn <olga@example.org> 80USD 2026-06-03 card fee 2.62 #txn_1PkLm8c3",
		"Olga Finn <olga@example.org> 80USD 2026-06-20 card refund of  fee 15 #txn_1PkLm8d3",
		"Pete Hall <pete@example.org> 30USD 2026-06-04 card fee 1.17 #txn_1PkLm8d4",
		"skipped: The Reporting Category field says this row is not a gift.",
		"skipped: The Reporting Category field says this row is not a gift.",
	}},
	"pledges without links": {"US", []string{
		"Olive Pratt <olive@example.org> 75 2026-06-01 check for Annual",
		"Roy Quill Jr. <roy@example.org> 600 2026-06-02 other pending for Annual",
		"Roy Quill Jr. <roy@example.org> 50 2026-06-03 card for Annual #ch_77",
		"Seaside Inn LLC <> 300 2026-06-04 in_kind for Annual",
		"Olive Pratt <olive@example.org> 12 2026-06-05 cash",
	}},
	"socios": {"ES", []string{
		"Inés Torres Vega <ines@example.es> 12EUR 2026-06-05 direct_debit #2026/101",
		"Jaime Ureña Gil <jaime@example.es> 20EUR 2026-06-05 direct_debit went back #2026/102 do_not_email",
		"Ferretería Luna S.L. <luna@example.es> 1250.5EUR 2026-06-18 bank_transfer #2026/103",
		"skipped: The row names the rows below it, or adds up those above it.",
	}},
	"helloasso with a newsletter": {"FR", []string{
		"Maëlle Girard <maelle@example.fr> 50EUR 2026-06-05 card for Forêt #12",
		"Noé Henry <noe@example.fr> 10EUR 2026-06-06 card went back for Forêt #13 do_not_email",
		"Odile Isnard <odile@example.fr> 1500EUR 2026-06-07 direct_debit for Forêt #14 do_not_email",
		"Paul Jacob <paul.j@example.fr> 20EUR 2026-06-08 card failed for Forêt #15",
	}},
	"bloomerang with refunds": {"US", []string{
		"Ivo Park <ivo@example.org> 80 2026-06-01 card for Annual #3001 do_not_email",
		"Jan & Kit Quist <jan@example.org> 240 2026-06-02 other pending for Annual #3002",
		"Jan & Kit Quist <jan@example.org> 20 2026-06-10 check for Annual #3003",
		"Linden Co-op <> 0 2026-06-11 in_kind #3004",
		"Ivo Park <ivo@example.org> 15 2026-06-12 card went back for Annual #3005 do_not_email",
		"Ivo Park <ivo@example.org> 15 2026-06-13 card refund of  for Annual #3006 do_not_email",
	}},
	"donately by subscription": {"US", []string{
		"Amir Batt <amir@example.org> 103.5 2026-06-01 card for Kits fee 3.5 #don_a1 do_not_email",
		"Cleo Dean <cleo@example.org> 20 2026-06-02 card went back for Kits fee 0.88 #don_a2 plan sub_2",
		"Ezra Flynn <> 50 2026-06-03 check pending for Kits #don_a3",
	}},
	"keela transactions": {"CA", []string{
		"Ana Cruz <ana.c@example.ca> 1000CAD 2026-06-01 card for Gala #KT1",
		"Birch Dental <office@birch.example> 250CAD 2026-06-02 check for Gala #KT2 do_not_email",
		"Ana Cruz <ana.c@example.ca> 40CAD 2026-06-03 card went back for Gala #KT3 plan KR1",
		"Dee Eng <dee@example.ca> 60CAD 2026-06-04 other pending for Gala #KT4 do_not_email",
	}},
}

func init() { maps.Copy(giftFiles, moreGiftFiles) }
