package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"strings"
	"testing"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/picture"
)

// uploaded is a picture that someone has uploaded for a campaign.
func uploaded(t *testing.T, s *server, account access.Account) picture.Picture {
	t.Helper()
	var file bytes.Buffer
	succeed(t, png.Encode(&file, image.NewGray(image.Rect(0, 0, 500, 200))))
	made := must(s.store.MakePicture(t.Context(), account.Number, file.Bytes(), picture.Cover, "cover.url"))(t)
	return made
}

// Pictures in the story and in what guests read have addresses of this server, too.
func TestACampaignAnswersTheAddressesOfPicturesInItsTexts(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		account := newAccount(t, s.store, "Harbor", "")
		key := newKey(t, s.store, account)
		made := uploaded(t, s, account)
		title, story := `Gala <img src="/pictures/`, `<p>Dinner</p><p><img src="`+made.Address+`" alt="src=&#34;/pictures/"></p>`
		event := &campaign.Event{Details: story}
		stored := must(s.store.CreateCampaign(t.Context(), account, campaign.Input{Title: &title, Description: &story, Event: &event, Pictures: []picture.Picture{made}}))(t)
		path, shown := fmt.Sprintf("/v1/campaigns/%d", stored.ID), strings.Replace(story, `src="`, `src="`+s.url, 1)
		sent, _ := json.Marshal(map[string]any{"description": shown, "event": map[string]any{"details": shown}})
		for i, a := range []answer{s.ask(t, "GET", path, key, ""), s.ask(t, "PATCH", path, key, string(sent)), s.ask(t, "GET", path, key, "")} {
			var got struct {
				Title       string
				Description string
				Event       struct{ Details string }
			}
			if err := json.Unmarshal([]byte(a.body), &got); err != nil || got.Title != title || got.Description != strings.Replace(shown, `">`, `"/>`, 1) && got.Description != shown || got.Event.Details != got.Description {
				t.Errorf("answer %d: %d %s, %v", i, a.status, a.body, err)
			}
		}
		after, err := s.store.Campaign(t.Context(), account.Number, stored.ID)
		if err != nil || after.Campaign.Description != stored.Description || after.Campaign.UpdatedAt != stored.UpdatedAt {
			t.Errorf("a story that was sent back is %s, %v", after.Campaign.Description, err)
		}
		if a := s.ask(t, "PATCH", path, key, `{"description":"<img src='/pictures/aaaaaaaaaaaaaaaaaaaaaaaaaa-400.jpg'>"}`); a.status != 422 || !strings.Contains(a.body, "no longer exists here") {
			t.Errorf("a story with a picture that is not there: %d %s", a.status, a.body)
		}
	})
}

// A picture that was uploaded has an address like any other, and a client that sends it back changes nothing.
func TestACampaignAnswersTheAddressOfItsPicture(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		account := newAccount(t, s.store, "Harbor", "")
		key := newKey(t, s.store, account)
		cover := uploaded(t, s, account)
		title, shown := "Gala \",\"logo\":\"/pictures/", &campaign.Cover{Type: "image", URL: cover.Address, Source: "upload"}
		made := must(s.store.CreateCampaign(t.Context(), account, campaign.Input{Title: &title, Cover: &shown, Pictures: []picture.Picture{cover}}))(t)
		path, address := fmt.Sprintf("/v1/campaigns/%d", made.ID), s.url+cover.Address
		answers := []answer{s.ask(t, "GET", path, key, ""), s.ask(t, "GET", "/v1/campaigns", key, ""), s.ask(t, "PATCH", path, key, `{"subtitle":"New"}`),
			s.ask(t, "PATCH", path, key, `{"cover":{"url":"`+address+`"}}`)}
		s.ask(t, "POST", "/v1/transactions", key, fmt.Sprintf(`{"first_name":"Ann","last_name":"Lee","amount":5,"method":"cash","campaign_id":%d}`, made.ID))
		answers = append(answers, s.ask(t, "GET", path, key, "")) // its numbers are added when it is read
		for i, a := range answers {
			if !strings.Contains(a.body, `"cover":{"type":"image","url":"`+address+`","source":"upload"}`) || !json.Valid([]byte(a.body)) || strings.Count(a.body, s.url+picture.Root) != 1 {
				t.Errorf("answer %d: %d %s", i, a.status, a.body)
			}
		}
		if logo := "https://images.example.org/x.png"; !strings.Contains(s.ask(t, "PATCH", path, key, `{"logo":"`+logo+`"}`).body, `"logo":"`+logo+`"`) {
			t.Error("an image of another site is not kept as it is")
		}
		if a := s.ask(t, "PATCH", path, key, `{"logo":"`+s.url+picture.Root+`aaaaaaaaaaaaaaaaaaaaaaaaaa-400.jpg"}`); a.status != 422 || !strings.Contains(a.body, "no longer exists here") {
			t.Errorf("a picture that is not there: %d %s", a.status, a.body)
		}
		if a := s.ask(t, "POST", "/v1/campaigns", key, `{"title":"Twin","cover":{"url":"`+address+`"}}`); a.status != 201 || strings.Contains(a.body, address) || !strings.Contains(a.body, `"url":"`+s.url+picture.Root) {
			t.Errorf("another campaign with the same picture: %d %s", a.status, a.body)
		}
	})
}
