package store
type campaignCache struct{}
