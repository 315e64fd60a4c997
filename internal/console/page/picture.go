package page

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/picture"
	"donorbook/internal/web"
)

// PictureField is a picture in a form, as the template "picture-field" draws it: a file, or the address of one of another site. A form holds the address of
// what was uploaded before under a name of its own, so that people see no addresses of ours.
type PictureField struct {
	Name  string // the field that has the address
	Label string
	kind  picture.Kind
}

// The pictures of forms.
var (
	CoverField       = PictureField{"cover.url", "Cover image", picture.Cover}
	LogoField        = PictureField{"logo", "Logo", picture.Logo}
	StoryPicture     = PictureField{"story", "Picture for the story", picture.Cover} // it becomes part of the text, at its end
	CampaignPictures = []PictureField{CoverField, LogoField, StoryPicture}
)

// File is the control for a file, Kept holds the address of what was uploaded before, and Remove is a box.
func (p PictureField) File() string { return p.Name + "_file" }

func (p PictureField) Kept() string { return p.Name + "_kept" }

func (p PictureField) Remove() string { return p.Name + "_remove" }

// KeepPictures moves the addresses of pictures that were uploaded out of the fields for those of other sites. The files of a form that is refused are
// chosen again.
func (f *Form) KeepPictures(lost []picture.Picture) {
	for _, p := range CampaignPictures {
		address := f.Value(p.Name)
		switch {
		case slices.ContainsFunc(lost, func(made picture.Picture) bool { return made.Address == address }):
			f.Fail(p.File(), "Choose the "+strings.ToLower(p.Label)+" again.")
			f.Set(p.Name, "")
		case picture.IsAddress(address) && f.Fault(p.Name, "") == "":
			f.Set(p.Kept(), address)
			f.Set(p.Name, "")
		}
	}
}

// Address is the address of a picture by what a person did last: chosen a file, typed an address, ticked the box, or nothing.
func (f *Form) Address(p PictureField, made map[string]picture.Picture) string {
	switch typed := f.Value(p.Name); {
	case made[p.Name].Address != "":
		return made[p.Name].Address
	case typed != "" || f.Value(p.Remove()) != "":
		return typed
	}
	return f.Value(p.Kept())
}

// Forms with files are sent in parts.
const (
	maxParts    = 64 << 20 // bytes of all, so that a file that is too large gets an answer beside its field
	pictureBusy = "Too many images are being uploaded right now. Choose the image again in a moment."
)

var errLargeForm = &web.Error{Status: http.StatusRequestEntityTooLarge, Message: "The form is too large. Nothing was changed."}

// EachPart reads the parts of a form. What is no file becomes a field, up to so many bytes of all; file gets the others.
func (f *Form) EachPart(body io.Reader, contentType string, left int64, file func(*multipart.Part) error) error {
	_, params, err := mime.ParseMediaType(contentType)
	parts := multipart.NewReader(io.LimitReader(body, maxParts), params["boundary"])
	for n := 0; err == nil; n++ {
		var part *multipart.Part
		if part, err = parts.NextPart(); errors.Is(err, io.EOF) {
			return nil
		}
		switch {
		case err != nil:
		case n >= MaxValues:
			err = errLargeForm
		case strings.Contains(part.Header.Get("Content-Disposition"), "filename"): // an empty one where no file was chosen
			if part.FileName() != "" {
				err = file(part)
			}
		default:
			var text []byte
			var value string
			if text, err = io.ReadAll(io.LimitReader(part, left+1)); err == nil {
				value, err = typed(string(text))
			}
			if left -= int64(len(text)); left < 0 {
				err = errLargeForm
			}
			f.Fields.Add(part.FormName(), value)
		}
	}
	if known := (*web.Error)(nil); errors.As(err, &known) {
		return err
	}
	return &web.Error{Status: http.StatusBadRequest, Message: "The form didn’t arrive completely. Nothing was changed. Go back and submit it again.", Err: err}
}

// ReceivePictures reads a form with files, and draws them. A file that is refused is a fault of the form, which keeps what was typed. The files of a form are in
// memory one at a time.
func (r *Request) ReceivePictures(fields ...PictureField) (made map[string]picture.Picture, err error) {
	made = make(map[string]picture.Picture)
	kind := r.Header.Get("Content-Type")
	if !strings.HasPrefix(kind, "multipart/form-data") {
		return made, nil // without files, and read already
	}
	size, most := r.ContentLength, int64(RecordForm)
	if size < 0 || size > picture.MaxFile {
		size = picture.MaxFile + 1
	}
	busy := web.Hold(r.W, int(size)) != nil
	if busy { // what was typed is read nevertheless
		most = OwnForm
	}
	var file bytes.Buffer
	err = r.Form.EachPart(web.PacedBody(r.W, r.Request), kind, most, func(part *multipart.Part) error {
		for _, p := range fields {
			if part.FormName() != p.File() || made[p.Name].Address != "" {
				continue
			}
			if busy {
				r.Form.Fail(p.File(), pictureBusy)
				return nil
			}
			file.Reset()
			file.Grow(int(size) + bytes.MinRead)
			if _, err := file.ReadFrom(io.LimitReader(part, picture.MaxFile+1)); err != nil {
				return err
			}
			p.draw(r, file.Bytes(), made)
		}
		return nil
	})
	return made, err
}

// draw makes a picture of a file, or a fault of the form.
func (p PictureField) draw(r *Request, file []byte, made map[string]picture.Picture) {
	drawn, err := r.Store.MakePicture(r.Context(), r.Account(), file, p.kind, p.File())
	var invalid *doc.Invalid
	switch {
	case err == nil:
		made[p.Name] = drawn
	case errors.As(err, &invalid):
		for _, fault := range invalid.Faults {
			fault.Label = p.Label
			r.Form.addFaults(fault)
		}
	default: // too many wait, or the server is about to stop
		r.Form.Fail(p.File(), pictureBusy)
	}
}

// sourceSet names all sizes of a picture, for a browser to choose from; "" for one of another site.
func sourceSet(address any) string {
	text, _ := address.(string)
	if shown, ok := address.(shownImage); ok {
		text = string(shown)
	}
	return picture.SourceSet(text)
}
