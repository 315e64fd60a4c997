package oapi

import (
	"context"
	"net/http"
	"os"
	"testing"
)

// oapi-codegen makes client.gen.go beside this file.
func TestTheGeneratedClientWorks(t *testing.T) {
	authorize := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+os.Getenv("DONORBOOK_KEY"))
		return nil
	}
	client, err := NewClientWithResponses(os.Getenv("DONORBOOK_URL"), WithRequestEditorFn(authorize))
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()

	first, last := "Grace", "Hopper" // pointers, because a company has neither
	created, err := client.CreateContactWithResponse(ctx, nil,
		ContactInput{FirstName: &first, LastName: &last, Tags: &[]string{"navy"}})
	if err != nil || created.JSON201 == nil {
		t.Fatalf("create: %v %s", err, created.Body)
	}
	id := created.JSON201.Id

	const amount float64 = 1_234_567.89 // a float32 does not hold the cents
	gift, err := client.CreateTransactionWithResponse(ctx, nil,
		TransactionInput{Amount: amount, Method: "check", TransactedAt: "2026-01-31", ContactId: &id})
	if err != nil || gift.JSON201 == nil || gift.JSON201.Donated != amount {
		t.Fatalf("gift: %v %s", err, gift.Body)
	}

	all, most := ListContactsParamsScope("all"), 100
	list, err := client.ListContactsWithResponse(ctx, &ListContactsParams{Scope: &all, PerPage: &most})
	if err != nil || list.JSON200 == nil || list.JSON200.Meta.Total == 0 {
		t.Fatalf("list: %v %s", err, list.Body)
	}

	refused, err := client.CreateContactWithResponse(ctx, nil, ContactInput{LastName: &last})
	if err != nil || refused.JSON422 == nil || refused.JSON422.Errors["first_name"] == nil {
		t.Fatalf("a contact without a first name: %v %s", err, refused.Body)
	}
}
