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
	body, ok := undamaged(r, column)
	if !ok {
		return nil, &Damaged{Table: "contact", ID: id, Account: crm.IDAccount(id)}
	}
	return body, nil
}

// campaignBody is contactBody for a campaign.
func campaignBody(r db.Row, column int, id int64) ([]byte, error) {
	body, ok := undamaged(r, column)
	if !ok {
		return nil, &Damaged{Table: "campaign", ID: id}
	}
	return body, nil
}

func undamaged(r db.Row, column int) (body []byte, ok bool) {
	body = r.Bytes(column)
	return body, checksum(body) == r.Int(column+1)
}

// parseCampaign reads a campaign whose document and checksum are in two columns.
func parseCampaign(r db.Row, column int, id int64) (crm.Campaign, error) {
	body, err := campaignBody(r, column, id)
	if err != nil {
		return crm.Campaign{}, err
	}
	return crm.ParseCampaign(id, body)
}
