package book

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"slices"
	"strconv"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/picture"
	"donorbook/internal/store"
	"donorbook/internal/store/move"
)

// pictureFile is a picture that someone uploads.
func pictureFile(t testing.TB, width, height int) []byte {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	for x := range width {
		for y := range height {
			m.SetNRGBA(x, y, color.NRGBA{uint8(x * y), uint8(x), uint8(y), 255})
		}
	}
	var b bytes.Buffer
	succeed(t, png.Encode(&b, m))
	return b.Bytes()
}

func draw(t testing.TB, s *Book, account access.Account, kind picture.Kind, width int) picture.Picture {
	t.Helper()
	return must(s.MakePicture(t.Context(), account.Number, pictureFile(t, width, width/2), kind, "cover.url"))(t)
}

// withCover is a change that gives a campaign a cover.
func withCover(p picture.Picture) campaign.Input {
	return campaign.Input{Cover: ptr(&campaign.Cover{Type: "image", URL: p.Address, Source: "upload"}),
		Pictures: []picture.Picture{p}}
}

// served is how many of the files at an address anyone can read, all of them as they were made.
func served(t testing.TB, s *Book, address string, made picture.Picture) (n int) {
	t.Helper()
	for i, name := range picture.Names(address) {
		found, err := s.Picture(t.Context(), name)
		if errors.Is(err, crm.ErrNotFound) {
			continue
		}
		var body bytes.Buffer
		if err == nil {
			err = found.WriteTo(t.Context(), &body)
		}
		if err != nil || int64(body.Len()) != found.Size || made.Files != nil &&
			!bytes.Equal(body.Bytes(), made.Files[i].Body) {
			t.Errorf("%s: %d bytes of %d: %v", name, body.Len(), found.Size, err)
		}
		n++
	}
	return n
}

func TestPicturesLiveAsLongAsWhatShowsThem(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	account := newAccount(t, s)
	first, second, logo := draw(t, s, account, picture.Cover, 1700), draw(t, s, account, picture.Cover, 500),
		draw(t, s, account, picture.Logo, 600)
	there := func(what, want string) {
		t.Helper()
		expect(t, what+": files of the first cover, the second, the logo", want, served(t, s, first.Address, first),
			served(t, s, second.Address, second), served(t, s, logo.Address, logo))
	}
	in := withCover(first)
	in.Title = ptr("Gala")
	gala := must(s.CreateCampaign(ctx, account, in))(t)
	equal(t, gala.Cover.URL, first.Address)
	there("a campaign", "4 0 0")
	succeed(t, s.SetAccountSettings(ctx, account.Number, access.AccountSettingsInput{Logo: &logo}))
	updateCampaign(t, s, account, gala.ID, `{"title":"Gala","subtitle":"Another text"}`)
	there("a change of something else", "4 0 3")
	must(s.UpdateCampaign(ctx, account, gala.ID, withCover(second)))(t)
	there("another cover", "0 3 3")
	// Another campaign gets a copy, whatever becomes of this one.
	twin := createCampaign(t, s, account,
		`{"title":"Twin","cover":{"url":"`+second.Address+`"},"logo":"`+logo.Address+`"}`)
	expect(t, "two campaigns share a picture", "false false", twin.Cover.URL == second.Address,
		twin.Logo == logo.Address)
	succeed(t, s.DeleteCampaign(ctx, account, gala.ID, ""))
	succeed(t, s.SetAccountSettings(ctx, account.Number, access.AccountSettingsInput{Logo: &picture.Picture{}}))
	there("without the campaign and the organization's logo", "0 0 0")
	expect(t, "the copies", "3 3", served(t, s, twin.Cover.URL, second), served(t, s, twin.Logo, logo))
	updateCampaign(t, s, account, twin.ID, `{"title":"Twin","cover":{"url":"https://example.org/x.jpg"},"logo":null}`)
	equal(t, pictureRows(t, s), 0, "files are left")
}

func TestPicturesInAStoryLiveAsLongAsTheStory(t *testing.T) {
	s := newBook(t)
	account := newAccount(t, s)
	kept, cut := draw(t, s, account, picture.Cover, 500), draw(t, s, account, picture.Cover, 300)
	there := func(what, want string) {
		t.Helper()
		expect(t, what, want, served(t, s, kept.Address, kept), served(t, s, cut.Address, cut))
	}
	shows := func(p picture.Picture) string { return `<img src="` + p.Address + `" alt="Harbor">` }
	gala := must(s.CreateCampaign(t.Context(), account, campaign.Input{Title: ptr("Gala"),
		Description: ptr("<p>" + shows(kept) + "</p>" + shows(cut) + shows(kept)),
		Pictures:    []picture.Picture{kept, cut}}))(t)
	there("a story", "3 2")
	twin := createCampaign(t, s, account, fmt.Sprintf(`{"title":"Twin","description":%q}`, shows(kept)+shows(kept)))
	updateCampaign(t, s, account, gala.ID, fmt.Sprintf(`{"title":"Gala","description":%q}`, "<p>Again</p>"+shows(kept)))
	there("a story without the second one", "3 0")
	succeed(t, s.DeleteCampaign(t.Context(), account, gala.ID, ""))
	there("without the story", "0 0")
	copied := twin.Pictures()
	expect(t, "the story of another campaign", "1 false 3", len(copied), copied[0] == kept.Address,
		served(t, s, copied[0], kept))
	rejects(t, "a story shows a picture that is gone")(s.CreateCampaign(t.Context(), account,
		campaign.Input{Title: ptr("Many"), Description: ptr(shows(kept) + shows(kept))}))
}

func pictureRows(t testing.TB, s *Book) int64 { return rowCounts(t.(*testing.T), s)["picture"] }

func TestAnAddressOfAPictureThatIsNotThereIsRefused(t *testing.T) {
	s := newBook(t)
	const lost = "/pictures/aaaaaaaaaaaaaaaaaaaaaaaaaa-400.jpg"
	says(t, "a campaign", "The logo field is the address of a picture that no longer exists here. Upload the picture "+
		"again. (and 1 more error)")(s.CreateCampaign(t.Context(), newAccount(t, s), campaignInput(t,
		`{"title":"Gala","cover":{"url":"`+lost+`"},"logo":"`+lost+`"}`)))
}

// Pictures go where the account goes, and are what they were.
func TestPicturesMoveWithTheirAccount(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	account := newAccount(t, s)
	cover, logo, told := draw(t, s, account, picture.Cover, 900), draw(t, s, account, picture.Logo, 300),
		draw(t, s, account, picture.Cover, 200)
	in := withCover(cover)
	in.Title, in.Description, in.Pictures = ptr("Gala"), ptr(`<p>Dinner</p><img src="`+told.Address+`">`),
		append(in.Pictures, told)
	gala, err := s.CreateCampaign(ctx, account, in)
	if err == nil {
		err = s.SetAccountSettings(ctx, account.Number, access.AccountSettingsInput{Logo: &logo})
	}
	succeed(t, err)
	files := exportAccount(t, s, account)
	made := importAccount(t, s, files, "")
	checked(t, s)
	equal(t, pictureRows(t, s), int64(2*(len(cover.Files)+len(logo.Files)+len(told.Files))), "files of both accounts")
	equal(t, must(s.AccountSettings(ctx, made.Account.Number))(t).Logo, logo.Address, "the logo")
	// One of two accounts with the same pictures loses them; they are still found.
	succeed(t, s.DeleteCampaign(ctx, account, gala.ID, ""))
	equal(t, served(t, s, cover.Address, cover), len(cover.Files), "files are found")
	before := rowCounts(t, s)
	for name, c := range map[string]struct{ file, old, changed string }{
		"a missing file":        {move.PictureFile, cover.Files[1].Name, "bbbbbbbbbbbbbbbbbbbbbbbbbb-800.jpg"},
		"a page for a picture":  {move.PictureFile, `"body":"`, `"body":"PGh0bWw+`},
		"a picture of no one":   {move.CampaignFile, cover.Address, "https://example.org/x.jpg"},
		"an address beside it":  {move.AccountFile, logo.Address, "/pictures/../console"},
		"one without its files": {move.PictureFile, "", ""},
	} {
		changed := unlisted(t, files, c.file)
		if c.old != "" {
			changed = changedFile(t, files, c.file, c.old, c.changed)
		}
		if _, err := s.ImportAccount(ctx, changed, move.AccountImport{Progress: quiet}); err == nil {
			t.Errorf("%s is imported", name)
		}
	}
	equal(t, fmt.Sprint(rowCounts(t, s)), fmt.Sprint(before), "files that were refused have left, want %v", before)
}

func TestACheckKnowsPictures(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	account := newAccount(t, s)
	cover := draw(t, s, account, picture.Cover, 900)
	in := withCover(cover)
	in.Title = ptr("Gala")
	gala := must(s.CreateCampaign(ctx, account, in))(t)
	wants := func(sql string, repaired bool, says string) {
		t.Helper()
		succeed(t, s.Update(ctx, account.Number, store.Needs{},
			func(x *store.Tx) error { return x.Run(sql, account.Number) }))
		found, report := checkAll(t, s, true)
		if !strings.Contains(strings.Join(found, "\n"), says) || (report.Repaired == report.Problems) != repaired {
			t.Errorf("%s: found %q, repaired %d of %d, want %q", sql, found, report.Repaired, report.Problems, says)
		}
	}
	wants(`INSERT INTO picture (account_id, name, campaign_id, body, checksum) SELECT account_id, 'lost-1.jpg', 0,
		body, checksum FROM picture WHERE account_id = $1 AND name LIKE '%-400.jpg'`, true,
		"picture lost-1.jpg: it should not exist")
	wants(`UPDATE picture SET campaign_id = 7 WHERE account_id = $1`, true, "campaign_id is 7, and should be ")
	equal(t, served(t, s, cover.Address, cover), len(cover.Files), "files are left after the repair")
	wants(`UPDATE picture SET checksum = checksum + 1 WHERE account_id = $1 AND name LIKE '%-400.jpg'`, false,
		"-400.jpg: its file is damaged: restore it from a backup")
	small := cover.Files[slices.IndexFunc(cover.Files, func(f picture.File) bool {
		return strings.HasSuffix(f.Name,
			"-400.jpg")
	})]
	found, err := s.Picture(ctx, small.Name)
	var damaged *store.Damaged
	if err == nil {
		err = found.WriteTo(ctx, new(bytes.Buffer))
	}
	equal(t, errors.As(err, &damaged), true, "a damaged picture is served")
	contains(t, err.Error(), "picture "+small.Name+" is damaged", "a damaged picture is served")
	wants(`UPDATE picture SET checksum = checksum - 1 WHERE account_id = $1 AND name LIKE '%-400.jpg'`, true, "")
	wants(`DELETE FROM picture WHERE account_id = $1 AND name LIKE '%-400.jpg'`, false,
		"-400.jpg: its file is missing: restore it from a backup")
	// or the last check of the test finds the same
	if err := s.DeleteCampaign(ctx, account, gala.ID, ""); err != nil {
		t.Fatal(err)
	}
}

// One account draws one picture at a time, and no more than some wait. A small one does not wait for the large ones
// of others.
func TestConcurrentPicturesAreDrawnOneAtATime(t *testing.T) {
	s := openTest(t)
	account := newAccount(t, s)
	letLargeGo := occupied(t, s.Drawing, account.Number+1)
	draw(t, s, account, picture.Logo, 512)
	letLargeGo()
	letGo := occupied(t, s.Sketching, account.Number+1)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.MakePicture(ctx, account.Number, pictureFile(t, 20, 20), picture.Logo, "logo")
		done <- err
	}()
	waitFor(t, s.Sketching, 1)
	if _, err := s.MakePicture(t.Context(), account.Number, []byte("GIF89a"), picture.Logo, "logo"); err == nil ||
		!strings.Contains(err.Error(), "PNG, JPEG or WebP") {
		t.Errorf("what is no picture waits: %v", err)
	}
	cancel()
	wantError(t, "a picture that no one waits for is drawn", <-done, context.Canceled)
	letGo()
	equal(t, len(draw(t, s, account, picture.Logo, 20).Files), 1)
}

// Pictures of older versions have addresses without an account, and those of an account from another server the
// number that it has there. Both are found, and copied.
func TestPicturesAreFoundByOldAddresses(t *testing.T) {
	s := newBook(t)
	account := newAccount(t, s)
	create := func(in campaign.Input) campaign.Campaign {
		in.Title = ptr("Gala")
		return must(s.CreateCampaign(t.Context(), account, in))(t)
	}
	for _, prefix := range []string{"", "4711-"} {
		made := draw(t, s, account, picture.Logo, 200)
		own := strconv.FormatInt(account.Number, 10) + "-"
		if !strings.HasPrefix(made.Address, picture.Root+own) {
			t.Fatalf("the address %s does not tell its account", made.Address)
		}
		made.Address = strings.Replace(made.Address, own, prefix, 1)
		for i := range made.Files {
			made.Files[i].Name = strings.Replace(made.Files[i].Name, own, prefix, 1)
		}
		equal(t, create(withCover(made)).Cover.URL, made.Address, "the address")
		for _, f := range made.Files {
			found := must(s.Picture(t.Context(), f.Name))(t)
			if found.Account != account.Number || found.Size != int64(len(f.Body)) {
				t.Errorf("%s: %+v", f.Name, found)
			}
		}
		copied := withCover(made)
		copied.Pictures = nil
		if other := create(copied); !strings.HasPrefix(other.Cover.URL, picture.Root+own) {
			t.Errorf("a copy is at %s", other.Cover.URL)
		}
	}
}
