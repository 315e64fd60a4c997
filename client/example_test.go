package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"donorbook/client"
)

// open is a client of the server that the examples run against.
func open() *client.Client {
	c, err := client.New(os.Getenv("DONORBOOK_URL"), os.Getenv("DONORBOOK_KEY"),
		client.WithCAFile(os.Getenv("DONORBOOK_CA")))
	check(err)
	return c
}

// check ends an example that fails.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func ExampleNew() {
	// A server with a public certificate needs no WithCAFile.
	c, err := client.New(os.Getenv("DONORBOOK_URL"), os.Getenv("DONORBOOK_KEY"),
		client.WithCAFile(os.Getenv("DONORBOOK_CA")))
	if err != nil {
		log.Fatal(err)
	}
	page, err := c.Contacts.Page(context.Background(), client.ContactFilter{}, 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(page.Total, "contacts")
	// Output: 0 contacts
}

func ExampleContacts() {
	ctx, c := context.Background(), open()
	contact, _, err := c.Contacts.Create(ctx, client.ContactInput{
		FirstName: "Amelia",
		LastName:  "Okafor",
		Emails:    []client.Email{{Type: "personal", Value: "amelia@example.org"}},
		Tags:      []string{"newsletter"},
	})
	check(err)
	// The same email again: the data is merged into the first contact.
	_, merged, err := c.Contacts.Create(ctx, client.ContactInput{
		FirstName: "Amelia",
		LastName:  "Okafor-Reyes",
		Emails:    []client.Email{{Value: "Amelia@example.org"}},
	})
	check(err)
	fmt.Println("merged:", merged)

	_, _, err = c.Contacts.Create(ctx, client.ContactInput{FirstName: "Cleo", LastName: "Marsh"})
	check(err)
	_, err = c.Contacts.Update(ctx, contact.ID, client.ContactChange{Company: client.Set("Blue Heron Books")})
	check(err)
	_, err = c.Contacts.AddTags(ctx, contact.ID, "volunteer")
	check(err)
	for found, err := range c.Contacts.List(ctx, client.ContactFilter{Email: new("amelia@example.org")}) {
		check(err)
		fmt.Println(found.FirstName, found.LastName, found.Company, found.Tags)
	}
	// Output:
	// merged: true
	// Amelia Okafor-Reyes Blue Heron Books [newsletter volunteer]
}

func ExampleContacts_Archive() {
	ctx, c := context.Background(), open()
	contact, err := c.Contacts.ForceCreate(ctx, client.ContactInput{FirstName: "Ben", LastName: "Achterberg"})
	check(err)
	check(c.Contacts.Archive(ctx, contact.ID))
	_, err = c.Contacts.Get(ctx, contact.ID)
	var refused *client.Error
	fmt.Println(errors.As(err, &refused), refused.Status)

	contact, err = c.Contacts.Restore(ctx, contact.ID)
	check(err)
	fmt.Println(contact.FirstName, "is archived:", !contact.ArchivedAt.IsZero())
	// Output:
	// true 403
	// Ben is archived: false
}

func ExampleCampaigns() {
	ctx, c := context.Background(), open()
	campaign, err := c.Campaigns.Create(ctx, client.CampaignInput{Title: "Winter Coat Drive", Goal: "18000"})
	check(err)
	_, err = c.Campaigns.Update(ctx, campaign.ID, client.CampaignChange{Goal: client.Set[client.Money]("20000.50")})
	check(err)
	for campaign, err := range c.Campaigns.List(ctx, client.CampaignFilter{}) {
		check(err)
		fmt.Println(campaign.Title, campaign.Slug, campaign.Goal, campaign.Currency)
	}
	check(c.Campaigns.Delete(ctx, campaign.ID))
	// Output: Winter Coat Drive winter-coat-drive 20000.5 USD
}

func ExampleTransactions() {
	ctx, c := context.Background(), open()
	gift, err := c.Transactions.Create(ctx, client.TransactionInput{
		Amount:       "50.25",
		Method:       "check",
		TransactedAt: "2026-01-31",
		FirstName:    "Chidi",
		LastName:     "Anagonye",
		Email:        "chidi@example.org",
	})
	check(err)
	gift, err = c.Transactions.Refund(ctx, gift.ID, "0.25")
	check(err)
	for _, entry := range gift.Transactions {
		fmt.Println(entry.Amount, gift.Currency)
	}
	contact, err := c.Contacts.Get(ctx, gift.ContactID)
	check(err)
	fmt.Println(contact.FirstName, "has given", contact.Stats.TotalContributions)
	// Output:
	// 50.25 USD
	// -0.25 USD
	// Chidi has given 50
}

func ExamplePlans() {
	ctx, c := context.Background(), open()
	plan, err := c.Plans.Create(ctx, client.PlanInput{
		Amount:    "25",
		Frequency: "monthly",
		Method:    "direct_debit",
		StartAt:   "2026-01-31",
		FirstName: "Dana",
		LastName:  "Ito",
	})
	check(err)
	// A gift for the plan moves its next date on.
	_, err = c.Transactions.Create(ctx, client.TransactionInput{
		Amount: "25", Method: "direct_debit", TransactedAt: "2026-01-31", ContactID: plan.ContactID, PlanID: plan.ID,
	})
	check(err)
	for plan, err := range c.Plans.List(ctx) {
		check(err)
		fmt.Println(plan.FirstName, plan.Amount, plan.Frequency, plan.NextBillDate.Format("2006-01-02"))
	}
	// Output: Dana 25 monthly 2026-02-28
}

func ExampleTags() {
	ctx, c := context.Background(), open()
	_, _, err := c.Tags.Rename(ctx, "volunteer", "Volunteers 2027")
	check(err)
	_, err = c.Tags.Delete(ctx, "newsletter")
	check(err)
	for tag, err := range c.Tags.List(ctx, client.TagFilter{}) {
		check(err)
		fmt.Println(tag.Name, tag.Contacts)
	}
	// Output: Volunteers 2027 1
}

func ExampleMerges() {
	ctx, c := context.Background(), open()
	kept, err := c.Contacts.ForceCreate(ctx, client.ContactInput{FirstName: "Eve", LastName: "Moss",
		Company: "Moss & Co"})
	check(err)
	other, err := c.Contacts.ForceCreate(ctx, client.ContactInput{FirstName: "Eva", LastName: "Moss",
		Company: "Moss Gardens"})
	check(err)
	_, err = c.Contacts.AddNote(ctx, kept.ID, client.NoteInput{Note: "Has two records."})
	check(err)
	contact, id, err := c.Contacts.MergeWith(ctx, kept.ID,
		client.MergeInput{ContactID: other.ID, Fields: map[string]int64{"company": other.ID}})
	check(err)
	fmt.Println(contact.FirstName, contact.Company)
	for merge, err := range c.Merges.List(ctx, client.MergeFilter{ContactID: &other.ID, Undone: new(false)}) {
		check(err)
		fmt.Println(merge.ID == id, merge.SurvivorID == kept.ID)
	}
	undone, err := c.Merges.Undo(ctx, id)
	check(err)
	fmt.Println(undone.Survivor.Company, undone.Other.Company)
	for activity, err := range c.Contacts.Activities(ctx, kept.ID, client.ActivityFilter{}) {
		check(err)
		fmt.Printf("%s %q\n", activity.Type, activity.Data.Note)
	}
	// Output:
	// Eve Moss Gardens
	// true true
	// Moss & Co Moss Gardens
	// created ""
	// note "Has two records."
	// merged ""
	// unmerged ""
}

func ExampleError() {
	c := open()
	_, _, err := c.Contacts.Create(context.Background(),
		client.ContactInput{LastName: "Okafor", Emails: []client.Email{{Value: "amelia at example"}}})
	var refused *client.Error
	if errors.As(err, &refused) {
		fmt.Println(refused.Status, refused.Fields["first_name"])
		fmt.Println(refused.Status, refused.Fields["emails.0.value"])
	}
	// Output:
	// 422 [The first_name field is required.]
	// 422 [The emails.0.value field must be a valid email address.]
}
