package organization

import (
	"cmp"
	"slices"
	"strings"

	"donorbook/internal/console/page"
	"donorbook/internal/crm/access"
)

// chaptersView is the organization and everything below it.
type chaptersView struct {
	Form    *page.Form // of a new chapter
	Parents []page.Option
	Root    *chapterNode // and what of the tree is on this page
	Pager   page.Pager
	Back    string // the page number, for forms that lead back here
}

// chapterNode is one box of the tree.
type chapterNode struct {
	Account access.Account
	Name    string // as it is stored, or as it was typed and refused
	Fault   string
	Role    access.Role // of the user who looks, 0 for none
	Here    bool
	Below   []*chapterNode
	Owner   bool // may rename
}

// ChaptersPage shows the organization and its chapters. A form that was refused is that of a new chapter, or the new name of one.
func ChaptersPage(r *page.Request) error {
	chapters, err := r.Store.Chapters(r.Context(), r.Membership.Account)
	if err != nil {
		return err
	}
	memberships, err := r.Store.Memberships(r.Context(), r.Session.User.ID)
	if err != nil {
		return err
	}
	roles := map[int64]access.Role{}
	for _, m := range memberships {
		roles[m.Account.Number] = m.Role
	}
	view := chaptersView{Form: r.Form.IfSentTo("/chapters"), Parents: chapterOptions(r.Membership.Account, chapters), Back: r.SamePage("")}
	shown := page.Paged(r, chapters, r.Path("/chapters"), page.PageParameter)
	view.Pager = shown.Pager
	nodes := map[int64]*chapterNode{}
	for _, a := range append([]access.Account{r.Membership.Account}, withAncestors(chapters, shown.Rows)...) {
		n := &chapterNode{Account: a, Name: a.Name, Role: roles[a.Number], Here: a.Number == r.Account(), Owner: r.Membership.Role >= access.Owner}
		if r.Form.SentTo("/chapters/" + a.ID) {
			n.Name, n.Fault = r.Form.Value("name"), r.Form.FirstFault("name", "Name")
		}
		nodes[a.Number] = n
		if above := nodes[a.Parent]; above != nil && !n.Here { // it comes before what is below it
			above.Below = append(above.Below, n)
		}
	}
	view.Root = nodes[r.Account()]
	return r.Render("chapters", page.View{Title: "Chapters", Section: "chapters", Form: r.Form, Data: view})
}

// chapterOptions are the accounts that a new chapter may be made below, indented by their level.
func chapterOptions(root access.Account, chapters []access.Account) []page.Option {
	all, level := []page.Option{{Value: root.ID, Label: root.Name}}, map[int64]int{}
	for _, a := range chapters {
		level[a.Number] = level[a.Parent] + 1
		all = append(all, page.Option{Value: a.ID, Label: strings.Repeat("\u2003", level[a.Number]) + a.Name})
	}
	return all
}

// withAncestors puts the chapters above the first one of a page before it. All the others have theirs on the page already.
func withAncestors(chapters, shown []access.Account) []access.Account {
	if len(shown) == 0 {
		return nil
	}
	accounts := map[int64]access.Account{}
	for _, a := range chapters {
		accounts[a.Number] = a
	}
	all := slices.Clone(shown)
	for above, found := accounts[shown[0].Parent]; found; above, found = accounts[above.Parent] {
		all = slices.Insert(all, 0, above)
	}
	return all
}

func CreateChapter(r *page.Request) error {
	parent := cmp.Or(r.Form.Value("parent"), r.Membership.Account.ID)
	chapter, err := r.Store.CreateChapter(r.Once(r.Always("/chapters", "The chapter was created.")), r.Membership.Account, r.Session.User.ID, parent, r.Form.Value("name"))
	return r.Done(err, r.Path("/chapters"), page.Notice{Text: chapter.Name + " created. You are its owner."})
}

func RenameChapter(r *page.Request) error {
	err := r.Store.RenameAccount(r.Context(), r.Membership.Account, r.PathValue("chapter"), r.Form.Value("name"))
	return r.Done(err, r.SamePage(r.Path("/chapters")), page.Notice{Text: "Renamed to " + r.Form.Value("name") + "."})
}
