package crm

import (
	"fmt"

	"golang.org/x/text/currency"
)

func decimalsOf(code string) int {
	unit, err := currency.ParseISO(code)
	if err != nil {
		return 2
	}
	scale, _ := currency.Standard.Rounding(unit)
	return scale
}

func cell(campaign, period int64, currency string, contact int64) string {
	return fmt.Sprintf("%016d/%08d/%s/%09d", campaign, period, currency, contact%1_000_000_000)
}
