package book

import (
	"testing"

	"donorbook/internal/crm/sheet"
	"donorbook/internal/store/jobs"
)

// lookAt is what the first rows of a file tell about its columns.
func lookAt(t testing.TB, file string) *sheet.Look {
	t.Helper()
	survey := must(jobs.SurveyRows(t.Context(), openTable(t, file)))(t)
	return survey.Look
}

func importMoney(t *testing.T, s *Book, account int64, file string, spec jobs.FileImport) jobs.Import {
	t.Helper()
	im, _, err := s.ImportFile(t.Context(), account, openTable(t, file), spec, 0, true, func(jobs.ImportProgress) {})
	if err != nil || im.State != jobs.JobDone {
		t.Fatal(im.State, err)
	}
	return im
}
