package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"strings"
	"testing"
	"time"

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

// A picture that was uploaded has an address of this server, in texts too, and a client that sends it back changes
// nothing.
func TestACampaignAnswersTheAddressesOfItsPictures(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		account := newAccount(t, s.store, "Harbor", "")
		key := newKey(t, s.store, account)
		made := uploaded(t, s, account)
		address := s.url + made.Address
		title := `Gala ","logo":"/pictures/ <img src="/pictures/`
		cover := &campaign.Cover{Type: "image", URL: made.Address, Source: "upload"}
		story := `<p>Dinner</p><p><img src="` + made.Address + `" alt="src=&#34;/pictures/"/></p>`
		stored := must(s.store.CreateCampaign(t.Context(), account, campaign.Input{
			Title: &title, Description: &story, Event: new(&campaign.Event{Type: "in_person", Details: story}),
			Cover: &cover, Pictures: []picture.Picture{made},
		}))(t)
		path, shown := fmt.Sprintf("/v1/campaigns/%d", stored.ID), strings.Replace(story, made.Address, address, 1)
		patch := func(body string) answer { return s.ask(t, "PATCH", path, key, body) }
		sent := must(json.Marshal(map[string]any{
			"description": shown, "event": map[string]any{"details": shown}, "cover": map[string]any{"url": address},
		}))(t)
		read := s.ask(t, "GET", path, key, "")
		clock.pass(time.Second)
		answers := []answer{read, patch(string(sent)), s.ask(t, "GET", path, key, "")}
		equal(t, answers[2].body, read.body, "what was sent back has changed")
		answers = append(answers, patch(`{"subtitle":"New"}`))
		s.ask(t, "POST", "/v1/transactions", key,
			fmt.Sprintf(`{"first_name":"Ann","last_name":"Lee","amount":5,"method":"cash","campaign_id":%d}`,
				stored.ID))
		answers = append(answers, s.ask(t, "GET", path, key, "")) // its numbers are added when it is read
		for i, a := range answers {
			var got struct {
				Title       string
				Description string
				Event       struct{ Details string }
				Cover       campaign.Cover
			}
			succeed(t, json.Unmarshal([]byte(a.body), &got))
			if got.Title != title || got.Description != shown || got.Event.Details != shown ||
				got.Cover.URL != address {
				t.Errorf("answer %d: %d %s", i, a.status, a.body)
			}
		}
		equal(t, strings.Count(s.ask(t, "GET", "/v1/campaigns", key, "").body, address), 3, "the list")
		const logo = `{"logo":"https://images.example.org/x.png"`
		contains(t, patch(logo+"}").body, logo[1:], "an image of another site is not kept as it is")
		const gone = picture.Root + "aaaaaaaaaaaaaaaaaaaaaaaaaa-400.jpg"
		for _, body := range []string{`{"logo":"` + s.url + gone + `"}`, `{"description":"<img src='` + gone + `'>"}`} {
			a := patch(body)
			equal(t, a.status, 422, "a picture that")
			contains(t, a.body, "no longer exists here", "a picture that")
		}
		twin := s.ask(t, "POST", "/v1/campaigns", key, `{"title":"Twin","cover":{"url":"`+address+`"}}`)
		equal(t, twin.status, 201, "another campaign with the same picture")
		equal(t, strings.Contains(twin.body, address), false, "another campaign with the same picture")
		contains(t, twin.body, `"url":"`+s.url+picture.Root, "another campaign with the same picture")
	})
}
