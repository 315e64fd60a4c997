package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store/book"
	"donorbook/internal/store/duplicates"
	"donorbook/internal/store/merges"
)

// operation is one operation of the API. From here come the route and its order of refusals, what is named as ignored, and the path in the OpenAPI document,
// whose prose, schemas and examples are in openapi.yaml under the same name.
type operation struct {
	route      string // method and path
	name       string
	permission access.Permission
	id         *idKind  // of what {id} or {tag} names; nil for none
	tagged     bool     // it reads or changes one document that has an ETag
	query      []string // parameters that it knows
	body       bodyKind
	handle     handler
	also       string // another method and the name that it has there: clients of other services know no other
}

type handler func(*API, http.ResponseWriter, *http.Request, call) error

// bodyKind is what an operation does with a body.
type bodyKind int

const (
	noBody     bodyKind = iota // ignores it
	maybeBody                  // takes one, and changes nothing, or all, without it
	neededBody                 // needs one
)

// idKind is what the last name in a path stands for.
type idKind struct {
	name      string // in the path
	parameter string // in the OpenAPI document
	own       string // what an id must be one of, in the answer 403; "" for what that says by itself
	parse     func(c *call, text string) bool
	check     func(a *API, ctx context.Context, c call) error // whether the client may change what it names; nil where no body is read
}

var (
	contactID  = &idKind{"id", "contactId", "", (*call).takeNumber, (*API).checkContact}
	campaignID = &idKind{"id", "campaignId", "your account's own campaigns", (*call).takeNumber, (*API).checkCampaign}
	giftID     = &idKind{"id", "transactionId", "your account's transactions", (*call).takeCode, (*API).checkGift}
	planID     = &idKind{"id", "planId", "your account's plans", (*call).takeCode, (*API).checkPlan}
	mergeID    = &idKind{"id", "mergeId", "your account's merges", (*call).takeNumber, nil}
	tagName    = &idKind{"tag", "tagName", "", (*call).takeName, (*API).checkTag}
	occasion   = &idKind{"occasion", "occasion", "", (*call).takeOccasion, nil}
)

// operations are in the order of the OpenAPI document.
var operations = []operation{
	{route: "GET /v1/contacts", name: "listContacts", permission: access.ContactsRead, query: paged(append(find.Parameters(), anyField, "scope")), handle: lists((*API).listContacts)},
	{route: "POST /v1/contacts", name: "createContact", permission: access.ContactsWrite, query: []string{"force_create"}, body: neededBody, handle: changes((*API).createContact)},
	{route: "GET /v1/contacts/{id}", name: "getContact", permission: access.ContactsRead, id: contactID, tagged: true, handle: (*API).getContact},
	{route: "PATCH /v1/contacts/{id}", name: "updateContact", also: "PUT putContact", permission: access.ContactsWrite, id: contactID, tagged: true, body: maybeBody, handle: changes((*API).updateContact)},
	{route: "DELETE /v1/contacts/{id}", name: "archiveContact", permission: access.ContactsWrite, id: contactID, tagged: true, handle: (*API).archiveContact},
	{route: "PATCH /v1/contacts/{id}/restore", name: "restoreContact", also: "POST restoreContactByPost", permission: access.ContactsWrite, id: contactID, tagged: true, handle: changes((*API).restoreContact)},
	{route: "POST /v1/contacts/{id}/tags/add", name: "addTags", permission: access.ContactsWrite, id: contactID, tagged: true, body: neededBody, handle: changesTags((*book.Book).AddTags)},
	{route: "POST /v1/contacts/{id}/tags/sync", name: "syncTags", permission: access.ContactsWrite, id: contactID, tagged: true, body: neededBody, handle: changesTags((*book.Book).SyncTags)},
	{route: "POST /v1/contacts/{id}/tags/remove", name: "removeTags", permission: access.ContactsWrite, id: contactID, tagged: true, body: neededBody, handle: changesTags((*book.Book).RemoveTags)},
	{route: "GET /v1/contacts/{id}/activities", name: "listActivities", permission: access.ContactsRead, id: contactID, query: paged(crm.SortParameters), handle: lists((*API).listActivities)},
	{route: "POST /v1/contacts/{id}/activities", name: "addNote", permission: access.ContactsWrite, id: contactID, tagged: true, body: neededBody, handle: changes((*API).addNote)},
	{route: "POST /v1/contacts/{id}/merge", name: "mergeContact", permission: access.ContactsWrite, id: contactID, tagged: true, body: neededBody, handle: changes((*API).mergeContact)},
	{route: "GET /v1/duplicates", name: "listDuplicates", permission: access.ContactsRead, query: paged(duplicates.Parameters), handle: lists((*API).listDuplicates)},
	{route: "GET /v1/merges", name: "listMerges", permission: access.ContactsRead, query: paged(merges.Parameters, crm.SortParameters), handle: lists((*API).listMerges)},
	{route: "POST /v1/merges/{id}/undo", name: "undoMerge", permission: access.ContactsWrite, id: mergeID, handle: changes((*API).undoMerge)},
	{route: "GET /v1/custom-fields", name: "listCustomFields", permission: access.ContactsRead, query: paged(), handle: lists((*API).listCustomFields)},
	{route: "GET /v1/tags", name: "listTags", permission: access.ContactsRead, query: paged([]string{"q"}), handle: lists((*API).listTags)},
	{route: "PATCH /v1/tags/{tag}", name: "renameTag", also: "PUT putTag", permission: access.ContactsWrite, id: tagName, body: maybeBody, handle: changes((*API).renameTag)},
	{route: "DELETE /v1/tags/{tag}", name: "deleteTag", permission: access.ContactsWrite, id: tagName, handle: (*API).deleteTag},
	{route: "GET /v1/campaigns", name: "listCampaigns", permission: access.CampaignsRead, query: paged([]string{"scope"}), handle: lists((*API).listCampaigns)},
	{route: "POST /v1/campaigns", name: "createCampaign", permission: access.CampaignsWrite, body: neededBody, handle: changes((*API).createCampaign)},
	{route: "GET /v1/campaigns/{id}", name: "getCampaign", permission: access.CampaignsRead, id: campaignID, tagged: true, handle: (*API).getCampaign},
	{route: "PATCH /v1/campaigns/{id}", name: "updateCampaign", also: "PUT putCampaign", permission: access.CampaignsWrite, id: campaignID, tagged: true, body: maybeBody, handle: changes((*API).updateCampaign)},
	{route: "DELETE /v1/campaigns/{id}", name: "deleteCampaign", permission: access.CampaignsWrite, id: campaignID, tagged: true, handle: (*API).deleteCampaign},
	{route: "GET /v1/transactions", name: "listTransactions", permission: access.TransactionsRead, query: paged(giving.GiftParameters(), crm.SortParameters, []string{"scope"}), handle: lists((*API).listTransactions)},
	{route: "POST /v1/transactions", name: "createTransaction", permission: access.TransactionsWrite, body: neededBody, handle: changes((*API).createTransaction)},
	{route: "GET /v1/transactions/{id}", name: "getTransaction", permission: access.TransactionsRead, id: giftID, tagged: true, handle: (*API).getTransaction},
	{route: "PATCH /v1/transactions/{id}", name: "updateTransaction", also: "PUT putTransaction", permission: access.TransactionsWrite, id: giftID, tagged: true, body: maybeBody, handle: changes((*API).updateTransaction)},
	{route: "POST /v1/transactions/{id}/refund", name: "refundTransaction", permission: access.TransactionsWrite, id: giftID, tagged: true, body: maybeBody, handle: movesMoney((*book.Book).RefundGift)},
	{route: "POST /v1/transactions/{id}/refund/undo", name: "undoRefund", permission: access.TransactionsWrite, id: giftID, tagged: true, body: maybeBody, handle: movesMoney((*book.Book).UndoRefund)},
	{route: "POST /v1/transactions/{id}/void", name: "voidTransaction", permission: access.TransactionsWrite, id: giftID, tagged: true, body: neededBody, handle: changes((*API).voidTransaction)},
	{route: "POST /v1/transactions/{id}/void/undo", name: "undoVoid", permission: access.TransactionsWrite, id: giftID, tagged: true, handle: changes((*API).undoVoid)},
	{route: "GET /v1/donations", name: "listDonations", permission: access.TransactionsRead, query: paged(donate.FilterParameters), handle: lists((*API).listDonations)},
	{route: "GET /v1/receipts", name: "listReceipts", permission: access.TransactionsRead, query: paged([]string{"year"}), handle: lists((*API).listReceipts)},
	{route: "POST /v1/transactions/{id}/receipt", name: "issueReceipt", permission: access.TransactionsWrite, id: giftID, tagged: true, handle: changes((*API).issueReceipt)},
	{route: "GET /v1/transactions/{id}/receipt", name: "getReceipt", permission: access.TransactionsRead, id: giftID, handle: (*API).getReceipt},
	{route: "GET /v1/templates", name: "listTemplates", permission: access.TransactionsRead, query: paged(), handle: lists((*API).listTemplates)},
	{route: "GET /v1/templates/{occasion}", name: "getTemplate", permission: access.TransactionsRead, id: occasion, handle: (*API).getTemplate},
	{route: "PATCH /v1/templates/{occasion}", name: "updateTemplate", also: "PUT putTemplate", permission: access.TransactionsWrite, id: occasion, body: maybeBody, handle: changes((*API).updateTemplate)},
	{route: "DELETE /v1/templates/{occasion}", name: "resetTemplate", permission: access.TransactionsWrite, id: occasion, handle: (*API).resetTemplate},
	{route: "GET /v1/templates/{occasion}/preview", name: "previewTemplate", permission: access.TransactionsRead, id: occasion, query: []string{"transaction_id"}, handle: (*API).previewTemplate},
	{route: "GET /v1/plans", name: "listPlans", permission: access.TransactionsRead, query: paged(giving.PlanParameters(), crm.SortParameters), handle: lists((*API).listPlans)},
	{route: "POST /v1/plans", name: "createPlan", permission: access.TransactionsWrite, body: neededBody, handle: changes((*API).createPlan)},
	{route: "GET /v1/plans/{id}", name: "getPlan", permission: access.TransactionsRead, id: planID, tagged: true, handle: (*API).getPlan},
	{route: "PATCH /v1/plans/{id}", name: "updatePlan", also: "PUT putPlan", permission: access.TransactionsWrite, id: planID, tagged: true, body: maybeBody, handle: changes((*API).updatePlan)},
}

// paged are the parameters of a list.
func paged(names ...[]string) []string { return append(slices.Concat(names...), "page", "per_page") }

// withOthers are the operations under all of their methods.
func withOthers(all []operation) (whole []operation) {
	for _, op := range all {
		whole = append(whole, op)
		if method, name, other := strings.Cut(op.also, " "); other {
			op.route, op.name = method+" "+op.path(), name
			whole = append(whole, op)
		}
	}
	return whole
}

func (op *operation) method() string { method, _, _ := strings.Cut(op.route, " "); return method }
func (op *operation) path() string   { _, path, _ := strings.Cut(op.route, " "); return path }

// isRepeatable tells whether requests may have an Idempotency-Key. Other methods ignore it.
func (op *operation) isRepeatable() bool {
	return op.method() != http.MethodGet && op.method() != http.MethodDelete
}

// ignoresBody tells whether a body is read for nothing. That of a GET is not read: no client sends one.
func (op *operation) ignoresBody() bool { return op.body == noBody && op.method() != http.MethodGet }

func (c *call) takeNumber(text string) (ok bool) {
	c.id, ok = parseID(text)
	return ok
}

func (c *call) takeCode(text string) bool {
	c.code = text
	return giving.IsCode(text)
}

func (c *call) takeName(text string) bool {
	c.code = text
	return true
}

// The checks report an error of a body or a query only to a client that may see what the path names: errors of the resource come first.

func (a *API) checkContact(ctx context.Context, c call) error {
	return a.store.CheckContact(ctx, c.who.Account, c.id)
}

func (a *API) checkCampaign(ctx context.Context, c call) error {
	found, err := a.store.Campaign(ctx, c.who.Account, c.id)
	if err == nil && found.Relation&campaign.Own == 0 {
		err = crm.ErrNotFound
	}
	return err
}

func (a *API) checkGift(ctx context.Context, c call) error {
	_, err := a.store.Gift(ctx, c.who.Account, c.code, nil)
	return err
}

func (a *API) checkPlan(ctx context.Context, c call) error {
	_, err := a.store.Plan(ctx, c.who.Account, c.code)
	return err
}

func (a *API) checkTag(ctx context.Context, c call) error {
	_, err := a.store.TagSize(ctx, c.who.Account, c.code)
	return tagRefusal(err)
}
