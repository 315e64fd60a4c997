package console

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"donorbook/internal/crm/access"
)

// chaptersView is the organization and everything below it.
type chaptersView struct {
	Form    *form // of a new chapter
	Parents []option
	Root    *chapterNode // and what of the tree is on this page
	Pager   pager
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

// chaptersPage shows the organization and its chapters. A form that was refused is that of a new chapter, or the new name of one.
func (c *Console) chaptersPage(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	chapters, err := c.store.Chapters(r.Context(), v.membership.Account)
	if err != nil {
		return err
	}
	memberships, err := c.store.Memberships(r.Context(), v.session.User.ID)
	if err != nil {
		return err
	}
	roles := map[int64]access.Role{}
	for _, m := range memberships {
		roles[m.Account.Number] = m.Role
	}
	view := chaptersView{Form: f.ifSentTo("/chapters"), Parents: chapterOptions(v.membership.Account, chapters), Back: samePage("", r)}
	shown := paged(chapters, r, v.path("/chapters"), pageParameter)
	view.Pager = shown.Pager
	nodes := map[int64]*chapterNode{}
	for _, a := range append([]access.Account{v.membership.Account}, withAncestors(chapters, shown.Rows)...) {
		n := &chapterNode{Account: a, Name: a.Name, Role: roles[a.Number], Here: a.Number == v.account(), Owner: v.membership.Role >= access.Owner}
		if f.sentTo("/chapters/" + a.ID) {
			n.Name, n.Fault = f.Value("name"), f.firstFault("name", "Name")
		}
		nodes[a.Number] = n
		if above := nodes[a.Parent]; above != nil && !n.Here { // it comes before what is below it
			above.Below = append(above.Below, n)
		}
	}
	view.Root = nodes[v.account()]
	return c.render(w, r, v, "chapters", page{Title: "Chapters", Section: "chapters", Form: f, Data: view})
}

// chapterOptions are the accounts that a new chapter may be made below, indented by their level.
func chapterOptions(root access.Account, chapters []access.Account) []option {
	all, level := []option{{Value: root.ID, Label: root.Name}}, map[int64]int{}
	for _, a := range chapters {
		level[a.Number] = level[a.Parent] + 1
		all = append(all, option{Value: a.ID, Label: strings.Repeat("\u2003", level[a.Number]) + a.Name})
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

func (c *Console) createChapter(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	parent := cmp.Or(f.Value("parent"), v.membership.Account.ID)
	chapter, err := c.store.CreateChapter(r.Context(), v.membership.Account, v.session.User.ID, parent, f.Value("name"))
	if err != nil {
		return err
	}
	return redirect(w, r, v.path("/chapters"), notice{Text: chapter.Name + " created. You are its owner."})
}

func (c *Console) renameChapter(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	if err := c.store.RenameAccount(r.Context(), v.membership.Account, r.PathValue("chapter"), f.Value("name")); err != nil {
		return err
	}
	return redirect(w, r, samePage(v.path("/chapters"), r), notice{Text: "The name is now " + f.Value("name") + "."})
}
