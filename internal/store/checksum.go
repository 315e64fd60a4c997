package store

import (
	"fmt"
	"hash/crc32"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// castagnoli is CRC-32C, which processors compute with an instruction of their own.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is kept with each document, so that one that was damaged on the disk is noticed before it is served or changed.
func checksum(body []byte) int64 { return int64(crc32.Checksum(body, castagnoli)) }

// Damaged is a stored document that is not what was written.
type Damaged struct {
	Document string // which one, for the log
}

func (d *Damaged) Error() string {
	return d.Document + " is damaged: its document does not match its checksum. Run donorbook check, and restore the document from a backup"
}

// contactBody is the document of a contact in a column of a row, which its checksum follows. It is valid until the next row.
func contactBody(r db.Row, column int, id int64) ([]byte, error) {
	body := r.Bytes(column)
	if checksum(body) != r.Int(column+1) {
		return nil, damagedContact(id)
	}
	return body, nil
}

// campaignBody is contactBody for a campaign.
func campaignBody(r db.Row, column int, id int64) ([]byte, error) {
	body := r.Bytes(column)
	if checksum(body) != r.Int(column+1) {
		return nil, damagedCampaign(id)
	}
	return body, nil
}

// parseCampaign reads a campaign whose document and checksum are in two columns.
func parseCampaign(r db.Row, column int, id int64) (crm.Campaign, error) {
	body, err := campaignBody(r, column, id)
	if err != nil {
		return crm.Campaign{}, err
	}
	return crm.ParseCampaign(id, body)
}

func damagedContact(id int64) error {
	return &Damaged{fmt.Sprintf("contact %d of account number %d", id, crm.IDAccount(id))}
}

func damagedCampaign(id int64) error { return &Damaged{fmt.Sprintf("campaign %d", id)} }
