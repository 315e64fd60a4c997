package demo

import (
	"context"
	"embed"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/picture"
)

// pictures are drawn for the demo: the files are made of the SVG drawings beside them.
//
//go:embed pictures/*.webp pictures/*.png
var pictures embed.FS

// picture is stored as one that someone uploads.
func (m *maker) picture(ctx context.Context, account access.Account, file string, kind picture.Kind) (picture.Picture, error) {
	data, err := pictures.ReadFile("pictures/" + file)
	if err != nil {
		return picture.Picture{}, err
	}
	return m.store.MakePicture(ctx, account.Number, data, kind, file)
}

// cover gives a campaign the cover of a name.
func (m *maker) cover(ctx context.Context, account access.Account, in *campaign.Input, name string) error {
	made, err := m.picture(ctx, account, name+".webp", picture.Cover)
	cover := &campaign.Cover{Type: "image", Source: "upload", URL: made.Address}
	in.Cover, in.Pictures = &cover, append(in.Pictures, made)
	return err
}

// illustrate puts the picture of a name at the end of a story.
func (m *maker) illustrate(ctx context.Context, account access.Account, in *campaign.Input, name, shows string) error {
	made, err := m.picture(ctx, account, name+".webp", picture.Cover)
	if err == nil {
		*in.Description = campaign.AddPicture(*in.Description, made.Address, shows)
		in.Pictures = append(in.Pictures, made)
	}
	return err
}
