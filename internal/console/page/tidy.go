package page

import (
	"donorbook/internal/crm"
	"donorbook/internal/store/merges"
)

// TidyView is what is to be done about contacts that may be there twice.
type TidyView struct {
	Sure    int64 // groups that are surely one person
	Reviews int64 // merges to look at
}

// ToTidy counts what the pages of contacts and the home page mention.
func (r *Request) ToTidy() (view TidyView, err error) {
	if view.Sure, err = r.Store.SureGroups(r.Context(), r.Account()); err != nil {
		return view, err
	}
	_, reviews, err := r.Store.Merges(r.Context(), r.Account(), merges.Filter{Review: true}, crm.PageRequest{Page: 1, PerPage: 1})
	view.Reviews = reviews.Total
	return view, err
}
