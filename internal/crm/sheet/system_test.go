package sheet

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/crm/giving"
	"donorbook/internal/rig/assert"
)

// giftsSaid is each row of a file of gifts: who, how much, when, what became of it, how, for what, and by which ids; or
// why it is not recorded.
func giftsSaid(t *testing.T, file, region string) (said []string) {
	t.Helper()
	f, err := openGiftFile([]byte(file), "gifts.csv", nil, region)
	if err != nil {
		return []string{err.Error()}
	}
	for {
		row, err := f.next()
		if errors.Is(err, io.EOF) {
			return said
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := row.Validate(region, importDay.AddDate(0, 8, 0)); err != nil {
			word := "rejected: "
			if row.IsNoGift() {
				word = "skipped: "
			}
			said = append(said, word+err.Error())
			continue
		}
		said = append(said, giftSaid(row))
		if row.ExternalID == nil {
			continue
		}
		if match := row.Match(); match != nil {
			if err := match.Validate(region, importDay.AddDate(0, 8, 0)); err != nil {
				t.Error(err)
			}
			said = append(said, giftSaid(match))
		}
	}
}

func giftSaid(row *GiftRow) string {
	who := strings.Join(strings.Fields(value(row.Giver.Prefix)+" "+row.Giver.PersonName().String()+" "+
		value(row.Giver.Suffix)), " ")
	if row.Anonymous {
		who = "anonymous"
	}
	text := fmt.Sprintf("%s <%s> %s %s %s", who, value(row.Email),
		fmt.Sprint(float64(*row.Amount)/10000)+value(row.Currency), row.Time().Format("2006-01-02"), *row.Method)
	if row.IsRefund() {
		text += " refund of " + row.Filed.RefundOf
	}
	if status := value(row.Status); status != "" && status != string(giving.Succeeded) {
		text += " " + status
	}
	if row.Filed.Back != nil {
		text += " went back"
	}
	if row.CampaignName != "" {
		text += " for " + row.CampaignName
	}
	if row.Fee != nil && *row.Fee != 0 {
		text += fmt.Sprint(" fee ", float64(*row.Fee)/10000)
	}
	if row.ExternalID != nil {
		text += " #" + *row.ExternalID
	}
	if row.Filed.Plan != "" {
		text += " plan " + row.Filed.Plan
	}
	for _, left := range row.LeftOut {
		text += " without " + left.Column
	}
	if row.Giver.DoNotEmail != nil {
		text += " do_not_email"
	}
	return text
}

// judged is a file as another system or people write it, and each of its rows as a person judges it.
type judged struct {
	file, region string
	said         func(t *testing.T, file, region string) []string
	want         []string
}

// judgedFiles are those in testdata/systems: those of a country have its two letters before the last dot.
func judgedFiles(t *testing.T) map[string]judged {
	all := map[string]judged{}
	for of, said := range map[string]func(*testing.T, string, string) []string{"gifts": giftsSaid,
		"people": peopleSaid} {
		for _, path := range assert.Must(filepath.Glob("testdata/systems/" + of + "/*.csv"))(t) {
			name := strings.TrimSuffix(path, ".csv")
			want := strings.TrimSuffix(string(assert.Must(os.ReadFile(name+".want"))(t)), "\n")
			region := strings.ToUpper(strings.TrimPrefix(filepath.Ext(name), "."))
			all[path] = judged{string(assert.Must(os.ReadFile(path))(t)), region, said, strings.Split(want, "\n")}
		}
	}
	if len(all) < 140 {
		t.Fatalf("there are %d files", len(all))
	}
	return all
}

// Each row of a file of many systems has the right person, reached in the right ways, amount, day and fate.
func TestFilesOfManySystems(t *testing.T) {
	t.Parallel()
	for name, f := range judgedFiles(t) {
		if said := f.said(t, f.file, f.region); !slices.Equal(said, f.want) {
			t.Errorf("%s is\n%s\nwant\n%s", name, strings.Join(said, "\n"), strings.Join(f.want, "\n"))
		}
	}
}
