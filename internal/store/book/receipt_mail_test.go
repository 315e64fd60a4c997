package book

import (
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net"
	netmail "net/mail"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/emersion/go-smtp"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/mail"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/relay"
	"donorbook/internal/store/gifts"
)

// letterbox is an SMTP server that keeps what it takes.
type letterbox struct {
	mu    sync.Mutex
	mails []string
}

func (l *letterbox) NewSession(*smtp.Conn) (smtp.Session, error) { return l, nil }
func (l *letterbox) Reset()                                      {}
func (l *letterbox) Logout() error                               { return nil }
func (l *letterbox) Mail(string, *smtp.MailOptions) error        { return nil }
func (l *letterbox) Rcpt(string, *smtp.RcptOptions) error        { return nil }
func (l *letterbox) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mails = append(l.mails, string(text))
	return err
}

func openLetterbox(t *testing.T) (*letterbox, *relay.Relay) {
	box := new(letterbox)
	server := smtp.NewServer(box)
	at := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	go server.Serve(at) //nolint:errcheck // it ends with the test
	t.Cleanup(func() { _ = server.Close() })
	from, _ := mail.ParseAddress("giving@harbor.example")
	return box, &relay.Relay{Host: "127.0.0.1", Port: at.Addr().(*net.TCPAddr).Port, TLS: relay.Off, From: from}
}

// parts are what a mail consists of, by the type of each, as programs that show mail take it apart.
func parts(t *testing.T, text string) map[string]string {
	t.Helper()
	m := must(netmail.ReadMessage(strings.NewReader(text)))(t)
	found := map[string]string{}
	var open func(header func(string) string, body io.Reader)
	open = func(header func(string) string, body io.Reader) {
		kind, values := must2(mime.ParseMediaType(header("Content-Type")))(t)
		if strings.HasPrefix(kind, "multipart/") {
			for r := multipart.NewReader(body, values["boundary"]); ; {
				part, err := r.NextPart()
				if err == io.EOF {
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				open(part.Header.Get, part)
			}
		}
		if header("Content-Transfer-Encoding") == "base64" {
			body = base64.NewDecoder(base64.StdEncoding, body)
		}
		said := must(io.ReadAll(body))(t)
		found[kind] = string(said)
		found[kind+" name"] = header("Content-Disposition")
	}
	open(m.Header.Get, m.Body)
	return found
}

// A thank-you that goes with a receipt has it as a PDF file: the one that is valid when the mail is sent.
func TestTheReceiptIsAttachedToItsMail(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		box, relay := openLetterbox(t)
		s.UseRelay(relay)
		account := newAccount(t, s).Number
		succeed(t, s.SetAccountSettings(t.Context(), account, access.AccountSettingsInput{TaxID: ptr("12-3456789")}))
		send := func() map[string]string {
			t.Helper()
			before := len(box.mails)
			succeed(t, s.SendDue(t.Context(), "", func(err error) { t.Error(err) }))
			for _, text := range slices.Backward(box.mails[before:]) {
				if !strings.Contains(text, "Your refund from") {
					return parts(t, text)
				}
			}
			return nil
		}
		for i, name := range []string{"محمد", "Nguyễn Thị Ánh", "Zoë 🎉 Ørsted", "Łukasz"} {
			gift := giveNow(t, s, account, `,"first_name":"`+name+`","last_name":"Q","email":"`+fmt.Sprint("q",
				i)+`@example.org","send_receipt":true`)
			if strings.Contains(bodies(t, s), "Receipt number") {
				t.Error("the outbox keeps what a receipt says")
			}
			got := send()
			pages := pagesOf(t, []byte(got["application/pdf"]))
			if gift.Receipt == "" || len(pages) != 1 || !strings.Contains(pages[0], gift.Receipt) ||
				!strings.Contains(pages[0], "12-3456789") ||
				!strings.Contains(got["application/pdf name"], `attachment; filename="receipt-`+gift.Receipt+`.pdf"`) {
				t.Errorf("%d: %s %q %s", i, gift.Receipt, pages, got["application/pdf name"])
			}
			if i == 0 { // a reader of our tests does not turn the direction around
				name = "دمحم"
			}
			expect(t, "is not in", "true", strings.Contains(pages[0], name))
			for _, kind := range []string{"text/plain", "text/html"} {
				expect(t, "it", "true true", strings.Contains(got[kind], gift.Receipt),
					strings.Contains(got[kind], "attached as a PDF file"))
			}
		}
		plain := giveNow(t, s, account, ofAda)
		must(s.ThankFor(t.Context(), account, plain.Code, gifts.Thank{How: "mail"}))(t)
		if got := send(); got["application/pdf"] != "" || got["text/plain"] == "" {
			t.Error("a mail without a receipt has a file")
		}

		// A gift of a plan, of which a part is given back before its mail leaves.
		plan := newPlan(t, s, account, fmt.Sprintf(`{"contact_id":%d,"amount":50,"method":"check","frequency":"monthly"}`, plain.Contact))
		monthly := giveNow(t, s, account, ofAda+`,"plan_id":"`+plan.Code+`","send_receipt":true`)
		must(s.RefundGift(t.Context(), account, monthly.Code, ptr(int64(20_0000)), ""))(t)
		now, err := s.GiftRecord(t.Context(), account, monthly.Code)
		got := send()
		if pages := pagesOf(t, []byte(got["application/pdf"])); err != nil || now.Receipt == monthly.Receipt ||
			!strings.Contains(pages[0], now.Receipt) || !strings.Contains(pages[0], "$30.00") ||
			strings.Contains(pages[0], "VOID") || !strings.Contains(got["text/plain"], "recurring gift") {
			t.Errorf("%v %s %q %s", err, now.Receipt, pages, got["text/plain"])
		}

		// What was given back altogether is not thanked for, and waits again if it comes back.
		back := giveNow(t, s, account, ofAda+`,"send_receipt":true`)
		must(s.RefundGift(t.Context(), account, back.Code, nil, ""))(t)
		if got := send(); got != nil {
			t.Errorf("a refunded gift is thanked for: %v", got)
		}
		expect(t, "wait", "0", waiting(t, s, account))
		must(s.UndoRefund(t.Context(), account, back.Code, nil, ""))(t)
		expect(t, "wait", "1", waiting(t, s, account))
		for _, r := range receiptsOf(t, s, account) {
			if r.VoidedAt.IsZero() == (r.GiftCode == back.Code) && r.GiftCode == back.Code {
				t.Errorf("%s is valid", thanks.ReceiptCode(r.ID))
			}
		}
		wantSound(t, s)
	})
}
