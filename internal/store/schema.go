package store

import (
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/db"
	"donorbook/internal/store/steps"
)

// The tables, each described once. Times are seconds since 1970 (of accounts, and of campaigns in lists: microseconds),
// 0 where there is none.
var (
	ContactTable = db.NewTable("contact", "account_id id",
		"archived match_keys:text body:bytes checksum created_at updated_at sort_name:text given revision last_gift custom")
	IndexTable = db.NewTable("contact_index", "account_id key:text id", "")
	WordsTable = db.NewSearch("contact_search")
	SetTable   = db.NewTable("contact_set", "account_id name:text block", "size bits:bytes")
	TagTable   = db.NewCounter("tag", "account_id fold:text name:text", "contacts", "size")

	CampaignTable = db.NewTable("campaign", "id",
		"account_id slug:text url_at body:bytes checksum cell:text status:text payment_link:text listed_at revision")
	ReaderTable  = db.NewTable("campaign_reader", "account_id campaign_id", "relation")
	SlugTable    = db.NewTable("campaign_slug", "slug:text", "campaign_id left_at")
	PictureTable = db.NewTable("picture", "account_id name:text", "campaign_id body:bytes checksum")

	GiftTable = db.NewTable("gift", "account_id id",
		"contact_id campaign_id plan_id status method currency:text net given_at code:text body:bytes checksum revision ahead thank")
	PlanTable = db.NewTable("plan", "account_id id",
		"contact_id campaign_id status next_bill code:text body:bytes checksum revision")
	ReferenceTable = db.NewTable("external_reference", "account_id reference:text", "id")
	GivingTable    = db.NewTable("giving", "account_id cell:text", "entries gifts amount recurring donors")

	ChangeTable = db.NewTable("change", "account_id revision",
		"noun kind id undoes job at channel actor:text data:text")
	MergeTable = db.NewTable("contact_merge", "account_id id",
		"survivor other last sent:text review undone at moving choice:text place")
	FieldTable = db.NewTable("custom_field", "account_id id",
		"title:text description:text type:text options:text place created_at ended_at")
	SegmentTable = db.NewTable("segment", "account_id id", "name:text query:text actor:text created_at")
	JobTable     = db.NewTable("job", "account_id id",
		"kind:text state:text actor:text channel created_at updated_at spec:text progress:text first last undo")
	JobPartTable = db.NewTable("job_part", "account_id job_id number", "data:bytes")
	JobRowTable  = db.NewTable("job_row", "account_id job_id number", "outcome:text contact_id data:text")
	MappingTable = db.NewTable("column_mapping", "account_id header:text", "mapping:text used_at")

	DuplicateTable = db.NewTable("duplicate", "account_id a b",
		"person level probability reasons:text against:text state digest_a digest_b")
	DuplicateRunTable = db.NewTable("duplicate_run", "account_id",
		"revision at busy learned contacts changed model:text")

	TemplateTable = db.NewTable("template", "account_id occasion:text", "subject:text body:text amount")

	ReceiptTable = db.NewTable("receipt", "account_id id",
		"gift_id amount currency:text issued_at voided_at replaced_by said:text")

	MailTable = db.NewTable("mail", "account_id id",
		"kind:text about:text recipient:text said:text error:text tries created_at due_at ended_at")

	ConnectionTable = db.NewTable("connection", "account_id",
		"provider:text live hint:text host:text secret:bytes fault:text since due_at created_at")
	DonationTable = db.NewTable("donation", "account_id id:text",
		"number campaign_id state:text doubt:text settled:text fault:text wish:text email:text charged covered currency:text provider:text live attempt:text session:text payment:text plan:text code:text plan_code:text version looked_at due_at manage:text manage_until card:text created_at updated_at")
	EventTable = db.NewTable("provider_event", "account_id id:text",
		"kind:text noun:text object:text error:text tries received_at due_at")

	answerTable = db.NewTable("request_answer", "account_id key:text",
		"fingerprint:bytes status header:text body:bytes created_at document:text")

	KeyTable = db.NewTable("api_key", "account_id id",
		"name:text hint:text hash:bytes permissions created_at last_used_at expires_at revoked_at")
	InvitationTable = db.NewTable("invitation", "hash:text",
		"account_id email:text role invited_by created_at expires_at")
	UserTable    = db.NewTable("app_user", "id", "login:text email:text name:text password:text opened created_at")
	ResetTable   = db.NewTable("password_reset", "hash:text", "user_id expires_at")
	SessionTable = db.NewTable("user_session", "hash:text",
		"user_id account_id address:text agent:text created_at seen_at expires_at")
	MemberTable = db.NewTable("member", "account_id user_id", "role created_at seen_at")
	TallyTable  = db.NewTable("account_tally", "account_id",
		"contact_seq contact_active key_seq campaign_revision gift_seq plan_seq currency:text campaign_seq set_revision revision oldest job_seq field_seq segment_seq timezone:text importing answer_bytes last_created")
	SettingTable = db.NewTable("account_setting", "account_id",
		"address:text tax_id:text no_return logo:text email:text website:text public_donors:text receipt_form:text receipt_place:text receipt_signer:text receipt_text:text donations:text")
	AccountTable = db.NewTable("account", "account_id", "public_id:text name:text parent created_at")
)

// Schema is everything that a database of ours has. What makes data reachable comes last, since a copy fills the tables
// in this order.
var Schema = newSchema()

func newSchema() db.Schema {
	ContactTable.Words, ContactTable.WordsOf = WordsTable, wordsOfRow
	AccountTable.NameOf = func(row []any) (id, name string) { return row[1].(string), row[2].(string) }
	InvitationTable.Transient = "account_id = 0" // setup links
	AccountTable.Everywhere, MemberTable.Everywhere = true, true
	return db.Schema{
		Steps: steps.All, Squashed: steps.Squashed, Since: steps.Since,
		Tables: []*db.Table{
			ContactTable, IndexTable, SetTable, TagTable, CampaignTable, ReaderTable, SlugTable, PictureTable,
			PlanTable, GiftTable,
			ReferenceTable, GivingTable, ChangeTable, MergeTable, DuplicateTable, DuplicateRunTable, FieldTable,
			SegmentTable, JobTable, JobPartTable, JobRowTable, MappingTable, TemplateTable, ReceiptTable, MailTable,
			ConnectionTable, DonationTable, EventTable, answerTable, KeyTable, InvitationTable, UserTable, ResetTable,
			SessionTable,
			MemberTable, SettingTable, TallyTable, AccountTable,
		},
		Derived: db.Derived{Name: "contacts", Version: find.WordsVersion}, // book.Open says how
	}
}

// Distribution are the commands that spread the tables over several machines, and a query for those that were
// forgotten.
func Distribution() (commands []string, forgotten string) {
	return Schema.Distribution(TallyTable), db.ForgottenTables
}

// wordsOfRow are the words of a contact in a row of its table.
func wordsOfRow(row []any) (string, error) {
	account, id := row[0].(int64), row[1].(int64)
	contact, err := crm.ParseContact(id, row[ContactTable.At("body")].([]byte),
		SplitKeys(row[ContactTable.At("match_keys")].(string)))
	return find.ContactRows(&contact, account).Words, err
}

// Match keys hold no line feed: no email, phone number or external id can.
func JoinKeys(keys []string) string { return strings.Join(keys, "\n") }

func SplitKeys(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// Damaged is a stored document that is not what was written.
type Damaged = db.Damaged

func Checksum(body []byte) int64 { return db.Checksum(body) }

// DocumentIn is the document in a column of a row, which its checksum follows, with the error that says whether it is
// damaged. It is valid until the next row.
func DocumentIn(table *db.Table, r db.Row, column int, id int64) ([]byte, error) {
	body := r.Bytes(column)
	return body, Intact(table, id, body, r.Int(column+1))
}

// Intact compares a document with its checksum.
func Intact(table *db.Table, id int64, body []byte, sum int64) error {
	switch {
	case Checksum(body) == sum:
		return nil
	case table == CampaignTable: // its id may be of no account
		return &Damaged{Table: table.Name, ID: id}
	}
	return &Damaged{Table: table.Name, ID: id, Account: doc.IDAccount(id)}
}

// ContactBody is the document of a contact in a column of a row.
func ContactBody(r db.Row, column int, id int64) ([]byte, error) {
	return DocumentIn(ContactTable, r, column, id)
}
