package campaigns

import (
	"cmp"

	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/picture"
	"donorbook/internal/store"
)

// pictures are the files that a campaign needs and does not have. It may show a picture in many places.
func (c *campaignChange) pictures(of *campaign.Campaign, uploaded []picture.Picture) (files []picture.File, err error) {
	became := make(map[string]string)
	of.EachPicture(func(field string, address *string) {
		was := *address
		if _, seen := became[was]; !seen {
			more, failed := store.NewFiles(c.Conn, c.owner.Number, cmp.Or(of.ID, store.NoCampaign), field, address, uploaded)
			if files, err = append(files, more...), FirstOrFaults(err, failed); failed != nil {
				return
			}
			became[was] = *address
		}
		*address = became[was]
	})
	return files, err
}

// savePictures writes the pictures of a campaign, and removes those that it has no longer.
func (c *campaignChange) savePictures(p campaignPlan) {
	var was, is []string
	if p.old != nil {
		was = p.old.Pictures()
	}
	if is = p.campaign.Pictures(); p.deleted {
		was, is = is, nil
	}
	store.SavePictures(c.Tx, c.owner.Number, p.campaign.ID, p.pictures, was, is)
}
