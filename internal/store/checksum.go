package store

import (
	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// Damaged is a stored document that is not what was written.
type Damaged = db.Damaged

func checksum(body []byte) int64 { return db.Checksum(body) }

// contactBody is the document of a contact in a column of a row, which its checksum follows. It is valid until the next row.
func contactBody(r db.Row, column int, id int64) ([]byte, error) {
	return body(r, column, &Damaged{"contact", id, crm.IDAccount(id)})
}

// campaignBody is contactBody for a campaign.
func campaignBody(r db.Row, column int, id int64) ([]byte, error) {
	return body(r, column, &Damaged{Table: "campaign", ID: id})
}

func body(r db.Row, column int, damaged error) ([]byte, error) {
	if body := r.Bytes(column); checksum(body) == r.Int(column+1) {
		return body, nil
	}
	return nil, damaged
}

// parseCampaign reads a campaign whose document and checksum are in two columns.
func parseCampaign(r db.Row, column int, id int64) (crm.Campaign, error) {
	body, err := campaignBody(r, column, id)
	if err != nil {
		return crm.Campaign{}, err
	}
	return crm.ParseCampaign(id, body)
}
