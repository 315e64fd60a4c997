package book

import (
	"fmt"
	"testing"

	"donorbook/internal/crm/doc"
)

// BenchmarkChange changes contacts by 64 clients at once, in one account and in a thousand: the price of a change, with its history.
func BenchmarkChange(b *testing.B) {
	for _, accounts := range []int{1, 1000} {
		b.Run(fmt.Sprint(accounts), func(b *testing.B) {
			s := openTest(b)
			var ids []int64
			for i := range accounts {
				account := newAccount(b, s).Number
				for range 2000 / accounts {
					ids = append(ids, create(b, s, account, fmt.Sprintf(`{"first_name":"A%d","last_name":"B","emails":[{"value":"a%d@example.org"}],"tags":["a","b"]}`, i, len(ids))).ID)
				}
			}
			clients(b, func(n int64) error {
				id := ids[n*7919%int64(len(ids))]
				_, err := s.UpdateContact(b.Context(), doc.IDAccount(id), id, input(b, fmt.Sprintf(`{"company":"C%d"}`, n)))
				return err
			})
		})
	}
}
