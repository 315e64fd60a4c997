package giving

import (
	"errors"

	"donorbook/internal/console/page"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/store"
)

// receiptsView is what the page of a gift says about its receipts.
type receiptsView struct {
	All []thanks.Receipt // the latest first
	Can bool             // one can be made
}

func receiptsOf(r *page.Request, g *giving.Gift) (v receiptsView, err error) {
	v.Can = g.Receipt == "" && g.HasArrived()
	v.All, err = r.Store.ReceiptsOf(r.Context(), r.Account(), g.ID)
	return v, err
}

// MakeReceipt makes the receipt for a gift, and shows it.
func MakeReceipt(r *page.Request, record store.GiftRecord) error {
	made, err := r.Store.IssueReceipt(r.Context(), r.Account(), record.Code)
	return r.Done(err, r.Path("/receipts/"+made.Receipt), page.Notice{Text: "Receipt " + made.Receipt + " is ready to print or download."})
}

func ReceiptOf(r *page.Request) (thanks.Receipt, error) {
	return r.Store.Receipt(r.Context(), r.Account(), r.PathValue("receipt"))
}

// ReceiptPage shows a receipt as it is printed.
func ReceiptPage(r *page.Request, receipt thanks.Receipt) error {
	return r.Render("receipt", page.View{Title: "Receipt " + receipt.Code(), Section: "gifts", Form: r.Form, Data: receipt})
}

// ReceiptPDF sends a receipt as a file.
func ReceiptPDF(r *page.Request, receipt thanks.Receipt) error {
	if err := r.HoldDownload(); err != nil {
		return err
	}
	page.BeginDownload(r.W, store.ReceiptName(&receipt), "pdf")
	return store.WriteReceipt(r.W, store.PaperOf(r.Currency()), &receipt)
}

const receiptsPerPage = 50

// receiptListView are the receipts of a year.
type receiptListView struct {
	Tabs     []page.Tab
	Receipts []thanks.Receipt
	Pager    page.Pager
	Found    string
}

func ReceiptsPage(r *page.Request) error {
	r.Form.Fields = r.URL.Query()
	year := yearOf(r.Form, int64(r.Today().Year()), int64(r.Today().Year()))
	view := receiptListView{Tabs: givingTabs(r, "receipts")}
	if len(r.Form.Faults) == 0 {
		l := r.List(r.Path("/receipts"), page.PageParameter, receiptsPerPage)
		all, total, err := r.Store.Receipts(r.Context(), r.Account(), int(year), l.PageRequest)
		if err != nil {
			return err
		}
		view.Receipts, view.Pager, view.Found = all, l.Pager(total), page.Plural(total, "receipt")
	}
	return r.Render("receipts", page.View{Title: "Receipts", Section: "gifts", Form: r.Form, Data: view})
}

// wordingView is the form of what receipts say.
type wordingView struct {
	Form    *page.Form
	Fields  []string
	Preview *thanks.Receipt // with the latest gift; nil where there is none
	Missing string          // why there can be none
}

func WordingPage(r *page.Request) error {
	settings, err := r.Store.AccountSettings(r.Context(), r.Account())
	if err != nil {
		return err
	}
	w := settings.Receipts
	view := wordingView{Form: r.Form, Fields: thanks.ReceiptFields()}
	r.Form.SetUnsent("receipt_form", w.Form)
	r.Form.SetUnsent("receipt_place", w.Place)
	r.Form.SetUnsent("receipt_signer", w.Signer)
	r.Form.SetUnsent("receipt_text", w.Text)
	if r.Form.Value("receipt_text") == "" {
		r.Form.Set("receipt_text", thanks.DefaultText)
	}
	latest, err := r.Store.LatestGifts(r.Context(), r.Account(), giving.GiftFilter{Counted: true}, 1)
	if err == nil && len(latest) > 0 {
		var preview thanks.Receipt
		preview, err = r.Store.PreviewReceipt(r.Context(), r.Account(), &latest[0].Gift, nil)
		if refused := new(doc.Invalid); errors.As(err, &refused) {
			view.Missing, err = refused.Error(), nil
		} else {
			view.Preview = &preview
		}
	}
	if err != nil {
		return err
	}
	return r.Render("receipt_wording", page.View{Title: "Receipts", Section: "settings", Form: r.Form, Data: view})
}

func SaveWording(r *page.Request) error {
	w := thanks.Wording{Form: r.Form.Value("receipt_form"), Place: r.Form.Value("receipt_place"), Signer: r.Form.Value("receipt_signer"), Text: r.Form.Value("receipt_text")}
	err := r.Store.SetAccountSettings(r.Context(), r.Account(), access.AccountSettingsInput{Receipts: &w})
	return r.Done(err, r.Path("/settings/receipts"), page.Notice{Text: "Receipts saved."})
}
