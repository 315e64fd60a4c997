package client

// LimitAnswers makes all clients read no more than n bytes of an answer, until restore is called.
func LimitAnswers(n int64) (restore func()) {
	before := maxAnswer
	maxAnswer = n
	return func() { maxAnswer = before }
}
