package wire

// ErrorBody is the body of every error except a conflict with an attempt.
type ErrorBody struct {
	Message string `json:"message"`
	Status  int    `json:"status"`
}
