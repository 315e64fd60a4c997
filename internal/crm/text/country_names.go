package text

// countryNames are the codes of three and of two letters of each country, and its names in English, German and French.
// A test compares them with Unicode's.
const countryNames = `
ABW AW Aruba
AFG AF Afghanistan
AGO AO Angola
AIA AI Anguilla
ALA AX Åland Islands|Ålandinseln|Îles Åland
ALB AL Albania|Albanien|Albanie
AND AD Andorra|Andorre
ARE AE United Arab Emirates|Vereinigte Arabische Emirate|Émirats arabes unis
ARG AR Argentina|Argentinien|Argentine
ARM AM Armenia|Armenien|Arménie
ASM AS American Samoa|Amerikanisch-Samoa|Samoa américaines
ATA AQ Antarctica|Antarktis|Antarctique
ATF TF French Southern Territories|Französische Süd- und Antarktisgebiete|Terres australes françaises
ATG AG Antigua & Barbuda|Antigua und Barbuda|Antigua-et-Barbuda
AUS AU Australia|Australien|Australie
AUT AT Austria|Österreich|Autriche
AZE AZ Azerbaijan|Aserbaidschan|Azerbaïdjan
BDI BI Burundi
BEL BE Belgium|Belgien|Belgique
BEN BJ Benin|Bénin
BES BQ Caribbean Netherlands|Bonaire, Sint Eustatius und Saba|Pays-Bas caribéens
BFA BF Burkina Faso
BGD BD Bangladesh|Bangladesch
BGR BG Bulgaria|Bulgarien|Bulgarie
BHR BH Bahrain|Bahreïn
BHS BS Bahamas
BIH BA Bosnia & Herzegovina|Bosnien und Herzegowina|Bosnie-Herzégovine
BLM BL St. Barthélemy|Saint-Barthélemy
BLR BY Belarus|Biélorussie
BLZ BZ Belize
BMU BM Bermuda|Bermudes
BOL BO Bolivia|Bolivien|Bolivie
BRA BR Brazil|Brasilien|Brésil
BRB BB Barbados|Barbade
BRN BN Brunei|Brunei Darussalam|Brunéi Darussalam
BTN BT Bhutan|Bhoutan
BVT BV Bouvet Island|Bouvetinsel|Île Bouvet
BWA BW Botswana|Botsuana
CAF CF Central African Republic|Zentralafrikanische Republik|République centrafricaine
CAN CA Canada|Kanada
CCK CC Cocos (Keeling) Islands|Kokosinseln|Îles Cocos
CHE CH Switzerland|Schweiz|Suisse
CHL CL Chile|Chili
CHN CN China|Chine
CIV CI Côte d’Ivoire
CMR CM Cameroon|Kamerun|Cameroun
COD CD Congo - Kinshasa|Kongo-Kinshasa|Congo-Kinshasa
COG CG Congo - Brazzaville|Kongo-Brazzaville|Congo-Brazzaville
COK CK Cook Islands|Cookinseln|Îles Cook
COL CO Colombia|Kolumbien|Colombie
COM KM Comoros|Komoren|Comores
CPV CV Cape Verde|Cabo Verde|Cap-Vert
CRI CR Costa Rica
CUB CU Cuba|Kuba
CUW CW Curaçao
CXR CX Christmas Island|Weihnachtsinsel|Île Christmas
CYM KY Cayman Islands|Kaimaninseln|Îles Caïmans
CYP CY Cyprus|Zypern|Chypre
CZE CZ Czechia|Tschechien|Tchéquie
DEU DE Germany|Deutschland|Allemagne
DJI DJ Djibouti|Dschibuti
DMA DM Dominica|Dominique
DNK DK Denmark|Dänemark|Danemark
DOM DO Dominican Republic|Dominikanische Republik|République dominicaine
DZA DZ Algeria|Algerien|Algérie
ECU EC Ecuador|Équateur
EGY EG Egypt|Ägypten|Égypte
ERI ER Eritrea|Érythrée
ESH EH Western Sahara|Westsahara|Sahara occidental
ESP ES Spain|Spanien|Espagne
EST EE Estonia|Estland|Estonie
ETH ET Ethiopia|Äthiopien|Éthiopie
FIN FI Finland|Finnland|Finlande
FJI FJ Fiji|Fidschi|Fidji
FLK FK Falkland Islands|Falklandinseln|Îles Malouines
FRA FR France|Frankreich
FRO FO Faroe Islands|Färöer|Îles Féroé
FSM FM Micronesia|Mikronesien|États fédérés de Micronésie
GAB GA Gabon|Gabun
GBR GB United Kingdom|Vereinigtes Königreich|Royaume-Uni
GEO GE Georgia|Georgien|Géorgie
GGY GG Guernsey|Guernesey
GHA GH Ghana
GIB GI Gibraltar
GIN GN Guinea|Guinée
GLP GP Guadeloupe
GMB GM Gambia|Gambie
GNB GW Guinea-Bissau|Guinée-Bissau
GNQ GQ Equatorial Guinea|Äquatorialguinea|Guinée équatoriale
GRC GR Greece|Griechenland|Grèce
GRD GD Grenada|Grenade
GRL GL Greenland|Grönland|Groenland
GTM GT Guatemala
GUF GF French Guiana|Französisch-Guayana|Guyane française
GUM GU Guam
GUY GY Guyana
HKG HK Hong Kong SAR China|Sonderverwaltungsregion Hongkong|R.A.S. chinoise de Hong Kong
HMD HM Heard & McDonald Islands|Heard und McDonaldinseln|Îles Heard et McDonald
HND HN Honduras
HRV HR Croatia|Kroatien|Croatie
HTI HT Haiti|Haïti
HUN HU Hungary|Ungarn|Hongrie
IDN ID Indonesia|Indonesien|Indonésie
IMN IM Isle of Man|Île de Man
IND IN India|Indien|Inde
IOT IO British Indian Ocean Territory|Britisches Territorium im Indischen Ozean|Territoire britannique de l’océan Indien
IRL IE Ireland|Irland|Irlande
IRN IR Iran
IRQ IQ Iraq|Irak
ISL IS Iceland|Island|Islande
ISR IL Israel|Israël
ITA IT Italy|Italien|Italie
JAM JM Jamaica|Jamaika|Jamaïque
JEY JE Jersey
JOR JO Jordan|Jordanien|Jordanie
JPN JP Japan|Japon
KAZ KZ Kazakhstan|Kasachstan
KEN KE Kenya|Kenia
KGZ KG Kyrgyzstan|Kirgisistan|Kirghizistan
KHM KH Cambodia|Kambodscha|Cambodge
KIR KI Kiribati
KNA KN St. Kitts & Nevis|St. Kitts und Nevis|Saint-Christophe-et-Niévès
KOR KR South Korea|Südkorea|Corée du Sud
KWT KW Kuwait|Koweït
LAO LA Laos
LBN LB Lebanon|Libanon|Liban
LBR LR Liberia|Libéria
LBY LY Libya|Libyen|Libye
LCA LC St. Lucia|Sainte-Lucie
LIE LI Liechtenstein
LKA LK Sri Lanka
LSO LS Lesotho
LTU LT Lithuania|Litauen|Lituanie
LUX LU Luxembourg|Luxemburg
LVA LV Latvia|Lettland|Lettonie
MAC MO Macau SAR China|Sonderverwaltungsregion Macau|R.A.S. chinoise de Macao
MAF MF St. Martin|Saint-Martin
MAR MA Morocco|Marokko|Maroc
MCO MC Monaco
MDA MD Moldova|Republik Moldau|Moldavie
MDG MG Madagascar|Madagaskar
MDV MV Maldives|Malediven
MEX MX Mexico|Mexiko|Mexique
MHL MH Marshall Islands|Marshallinseln|Îles Marshall
MKD MK Macedonia|Mazedonien|Macédoine
MLI ML Mali
MLT MT Malta|Malte
MMR MM Myanmar (Burma)|Myanmar|Myanmar (Birmanie)
MNE ME Montenegro|Monténégro
MNG MN Mongolia|Mongolei|Mongolie
MNP MP Northern Mariana Islands|Nördliche Marianen|Îles Mariannes du Nord
MOZ MZ Mozambique|Mosambik
MRT MR Mauritania|Mauretanien|Mauritanie
MSR MS Montserrat
MTQ MQ Martinique
MUS MU Mauritius|Maurice
MWI MW Malawi
MYS MY Malaysia|Malaisie
MYT YT Mayotte
NAM NA Namibia|Namibie
NCL NC New Caledonia|Neukaledonien|Nouvelle-Calédonie
NER NE Niger
NFK NF Norfolk Island|Norfolkinsel|Île Norfolk
NGA NG Nigeria|Nigéria
NIC NI Nicaragua
NIU NU Niue
NLD NL Netherlands|Niederlande|Pays-Bas
NOR NO Norway|Norwegen|Norvège
NPL NP Nepal|Népal
NRU NR Nauru
NZL NZ New Zealand|Neuseeland|Nouvelle-Zélande
OMN OM Oman
PAK PK Pakistan
PAN PA Panama
PCN PN Pitcairn Islands|Pitcairninseln|Îles Pitcairn
PER PE Peru|Pérou
PHL PH Philippines|Philippinen
PLW PW Palau|Palaos
PNG PG Papua New Guinea|Papua-Neuguinea|Papouasie-Nouvelle-Guinée
POL PL Poland|Polen|Pologne
PRI PR Puerto Rico|Porto Rico
PRK KP North Korea|Nordkorea|Corée du Nord
PRT PT Portugal
PRY PY Paraguay
PSE PS Palestinian Territories|Palästinensische Autonomiegebiete|Territoires palestiniens
PYF PF French Polynesia|Französisch-Polynesien|Polynésie française
QAT QA Qatar|Katar
REU RE Réunion|La Réunion
ROU RO Romania|Rumänien|Roumanie
RUS RU Russia|Russland|Russie
RWA RW Rwanda|Ruanda
SAU SA Saudi Arabia|Saudi-Arabien|Arabie saoudite
SDN SD Sudan|Soudan
SEN SN Senegal|Sénégal
SGP SG Singapore|Singapur|Singapour
SGS GS South Georgia & South Sandwich Islands|Südgeorgien und die Südlichen Sandwichinseln|Géorgie du Sud et îles Sandwich du Sud
SHN SH St. Helena|Sainte-Hélène
SJM SJ Svalbard & Jan Mayen|Spitzbergen und Jan Mayen|Svalbard et Jan Mayen
SLB SB Solomon Islands|Salomonen|Îles Salomon
SLE SL Sierra Leone
SLV SV El Salvador|Salvador
SMR SM San Marino|Saint-Marin
SOM SO Somalia|Somalie
SPM PM St. Pierre & Miquelon|St. Pierre und Miquelon|Saint-Pierre-et-Miquelon
SRB RS Serbia|Serbien|Serbie
SSD SS South Sudan|Südsudan|Soudan du Sud
STP ST São Tomé & Príncipe|São Tomé und Príncipe|Sao Tomé-et-Principe
SUR SR Suriname
SVK SK Slovakia|Slowakei|Slovaquie
SVN SI Slovenia|Slowenien|Slovénie
SWE SE Sweden|Schweden|Suède
SWZ SZ Swaziland|Swasiland
SXM SX Sint Maarten|Saint-Martin (partie néerlandaise)
SYC SC Seychelles|Seychellen
SYR SY Syria|Syrien|Syrie
TCA TC Turks & Caicos Islands|Turks- und Caicosinseln|Îles Turques-et-Caïques
TCD TD Chad|Tschad|Tchad
TGO TG Togo
THA TH Thailand|Thaïlande
TJK TJ Tajikistan|Tadschikistan|Tadjikistan
TKL TK Tokelau|Tokélaou
TKM TM Turkmenistan|Turkménistan
TLS TL Timor-Leste|Timor oriental
TON TO Tonga
TTO TT Trinidad & Tobago|Trinidad und Tobago|Trinité-et-Tobago
TUN TN Tunisia|Tunesien|Tunisie
TUR TR Turkey|Türkei|Turquie
TUV TV Tuvalu
TWN TW Taiwan|Taïwan
TZA TZ Tanzania|Tansania|Tanzanie
UGA UG Uganda|Ouganda
UKR UA Ukraine
UMI UM U.S. Outlying Islands|Amerikanische Überseeinseln|Îles mineures éloignées des États-Unis
URY UY Uruguay
USA US United States|Vereinigte Staaten|États-Unis
UZB UZ Uzbekistan|Usbekistan|Ouzbékistan
VAT VA Vatican City|Vatikanstadt|État de la Cité du Vatican
VCT VC St. Vincent & Grenadines|St. Vincent und die Grenadinen|Saint-Vincent-et-les-Grenadines
VEN VE Venezuela
VGB VG British Virgin Islands|Britische Jungferninseln|Îles Vierges britanniques
VIR VI U.S. Virgin Islands|Amerikanische Jungferninseln|Îles Vierges des États-Unis
VNM VN Vietnam
VUT VU Vanuatu
WLF WF Wallis & Futuna|Wallis und Futuna|Wallis-et-Futuna
WSM WS Samoa
YEM YE Yemen|Jemen|Yémen
ZAF ZA South Africa|Südafrika|Afrique du Sud
ZMB ZM Zambia|Sambia|Zambie
ZWE ZW Zimbabwe|Simbabwe`
