package console

import (
	"net/http"

	"donorbook/internal/crm"
)

// settingsView is where everything that is set once is found.
type settingsView struct {
	Form        *form
	Above       string // name of the account above, where the user belongs to it
	Keys        int    // in force
	Members     int
	Invitations int
}

func (c *Console) settingsPage(w http.ResponseWriter, r *http.Request, v visit) error {
	f := newForm()
	f.set("name", v.membership.Account.Name)
	return c.showSettings(w, r, v, http.StatusOK, f)
}

func (c *Console) showSettings(w http.ResponseWriter, r *http.Request, v visit, status int, f *form) error {
	view := settingsView{Form: f}
	members, err := c.store.Members(r.Context(), v.account())
	if err != nil {
		return err
	}
	view.Members = len(members)
	if v.membership.Role >= crm.Owner {
		if err := c.countForOwners(r, v, &view); err != nil {
			return err
		}
	}
	if above := v.membership.Account.ParentID; above != "" {
		// Whoever does not belong to the account above is not told its name.
		if m, err := c.store.Membership(r.Context(), v.session.User.ID, above); err == nil {
			view.Above = m.Account.Name
		}
	}
	return c.render(w, r, v, status, "settings", page{Title: "Settings", Section: "settings", Data: view})
}

func (c *Console) countForOwners(r *http.Request, v visit, view *settingsView) error {
	keys, err := c.store.Keys(r.Context(), v.account())
	if err != nil {
		return err
	}
	for _, k := range keys {
		if k.Valid(c.now()) {
			view.Keys++
		}
	}
	invitations, err := c.store.Invitations(r.Context(), v.account())
	view.Invitations = len(invitations)
	return err
}

func (c *Console) renameOrganization(w http.ResponseWriter, r *http.Request, v visit) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	account := v.membership.Account
	if err := c.store.RenameAccount(r.Context(), account, account.ID, f.Value("name")); err != nil {
		if err := f.refuse(err); err != nil {
			return err
		}
		return c.showSettings(w, r, v, http.StatusUnprocessableEntity, f)
	}
	leaveNotice(w, notice{Text: "The name is now " + f.Value("name") + "."})
	return redirect(w, r, v.path("/settings"))
}
