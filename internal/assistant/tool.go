package assistant

import "github.com/modelcontextprotocol/go-sdk/mcp"

// tool is one operation of the API as an assistant sees it. What it takes comes from the OpenAPI document.
type tool struct {
	name, title, description string
	operation                string // operationId
	effect                   effect
}

// effect is what a tool does to the records, beyond what the method of its operation says.
type effect int

const (
	overwrites effect = 1 << iota // values may be replaced or removed
	repeats                       // the same call again changes nothing more
)

var tools = []tool{
	{"find_contacts", "Find contacts", "Finds contacts by filters, one page at a time. Without a filter it lists all of them.", "listContacts", 0},
	{"get_contact", "Get a contact", "Shows one contact with its details, tags and what it has given.", "getContact", 0},
	{"create_contact", "Create a contact", "Creates a contact. If an active contact has one of the emails or phone numbers, the details are merged into it instead: " +
		"values that you send overwrite the old ones.", "createContact", overwrites},
	{"update_contact", "Change a contact", "Changes the fields that you send and leaves the others alone. Lists (emails, phones, addresses, tags) are replaced as a whole; " +
		"use add_tags and remove_tags for single tags.", "updateContact", overwrites | repeats},
	{"add_tags", "Add tags", "Adds tags to a contact.", "addTags", repeats},
	{"remove_tags", "Remove tags", "Removes tags from a contact.", "removeTags", overwrites | repeats},
	{"archive_contact", "Archive a contact", "Archives a contact: it is no longer found or changed until it is restored. Its gifts stay.", "archiveContact", overwrites | repeats},
	{"restore_contact", "Restore a contact", "Makes an archived contact active again.", "restoreContact", repeats},
	{"merge_contacts", "Merge contacts", "Merges another contact into the one with this id, with its gifts and plans. Ask the person first, and tell them the id of the merge: it can be undone.", "mergeContact", overwrites},
	{"list_duplicates", "List duplicates", "Lists pairs of contacts that may be the same person, most likely first, with reasons for and against.", "listDuplicates", 0},
	{"list_merges", "List merges", "Lists merges of contacts, including those made when a new contact or an imported row matched by email or phone.", "listMerges", 0},
	{"undo_merge", "Undo a merge", "Restores both contacts of a merge as they were.", "undoMerge", overwrites},
	{"list_custom_fields", "List custom fields", "Lists the fields that the organization has added to its contacts, with their types and options.", "listCustomFields", 0},
	{"list_tags", "List tags", "Lists the tags in use, with how many contacts have each.", "listTags", 0},
	{"list_campaigns", "List campaigns", "Lists fundraising campaigns with their goals and what they have raised.", "listCampaigns", 0},
	{"get_campaign", "Get a campaign", "Shows one campaign with its goal and what it has raised.", "getCampaign", 0},
	{"list_gifts", "List gifts", "Lists gifts (transactions), oldest first, by contact, campaign, plan, status, method or date.", "listTransactions", 0},
	{"get_gift", "Get a gift", "Shows one gift (transaction) with its payments and refunds.", "getTransaction", 0},
	{"record_gift", "Record a gift", "Records a gift that was made or pledged. It takes no payment. The donor is contact_id, or a name with an email or a phone number, " +
		"which finds or creates the contact. Send an external_id if the gift has an id elsewhere: then it cannot be recorded twice.", "createTransaction", 0},
	{"refund_gift", "Refund a gift", "Refunds a gift, or the given amount of it. Money that was paid online goes back to the donor; any other refund is only recorded.", "refundTransaction", overwrites},
	{"undo_refund", "Undo a refund", "Undoes a refund of a gift, or the given amount of it, that was recorded by mistake or whose money came back. It collects no money.", "undoRefund", overwrites},
	{"list_plans", "List recurring plans", "Lists what contacts have agreed to give regularly.", "listPlans", 0},
}

// described is the tool in the words of the protocol.
func (t tool) described(op operation) *mcp.Tool {
	description := t.description
	if op.permission != "" {
		description += " The key needs the permission " + op.permission + "."
	}
	destructive, open := t.effect&overwrites != 0, false
	return &mcp.Tool{
		Name: t.name, Title: t.title, Description: description, InputSchema: op.schema,
		Annotations: &mcp.ToolAnnotations{
			ReadOnlyHint: op.readOnly(), DestructiveHint: &destructive, IdempotentHint: op.readOnly() || t.effect&repeats != 0, OpenWorldHint: &open,
		},
	}
}
