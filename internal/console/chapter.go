package console

import (
	"cmp"
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
func (r *request) chaptersPage() error {
	chapters, err := r.store.Chapters(r.Context(), r.membership.Account)
	if err != nil {
		return err
	}
	memberships, err := r.store.Memberships(r.Context(), r.session.User.ID)
	if err != nil {
		return err
	}
	roles := map[int64]access.Role{}
	for _, m := range memberships {
		roles[m.Account.Number] = m.Role
	}
	view := chaptersView{Form: r.form.ifSentTo("/chapters"), Parents: chapterOptions(r.membership.Account, chapters), Back: r.samePage("")}
	shown := paged(r, chapters, r.path("/chapters"), pageParameter)
	view.Pager = shown.Pager
	nodes := map[int64]*chapterNode{}
	for _, a := range append([]access.Account{r.membership.Account}, withAncestors(chapters, shown.Rows)...) {
		n := &chapterNode{Account: a, Name: a.Name, Role: roles[a.Number], Here: a.Number == r.account(), Owner: r.membership.Role >= access.Owner}
		if r.form.sentTo("/chapters/" + a.ID) {
			n.Name, n.Fault = r.form.Value("name"), r.form.firstFault("name", "Name")
		}
		nodes[a.Number] = n
		if above := nodes[a.Parent]; above != nil && !n.Here { // it comes before what is below it
			above.Below = append(above.Below, n)
		}
	}
	view.Root = nodes[r.account()]
	return r.render("chapters", page{Title: "Chapters", Section: "chapters", Form: r.form, Data: view})
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

func (r *request) createChapter() error {
	parent := cmp.Or(r.form.Value("parent"), r.membership.Account.ID)
	chapter, err := r.store.CreateChapter(r.once(r.always("/chapters", "The chapter was created.")), r.membership.Account, r.session.User.ID, parent, r.form.Value("name"))
	if err != nil {
		return err
	}
	return r.redirect(r.path("/chapters"), notice{Text: chapter.Name + " created. You are its owner."})
}

func (r *request) renameChapter() error {
	if err := r.store.RenameAccount(r.Context(), r.membership.Account, r.PathValue("chapter"), r.form.Value("name")); err != nil {
		return err
	}
	return r.redirect(r.samePage(r.path("/chapters")), notice{Text: "Renamed to " + r.form.Value("name") + "."})
}
