package wire

import "zerodag/internal/host"

// Notice is a notification that is not delivered.
type Notice struct {
	ID        ID      `json:"id"`
	AttemptID *ID     `json:"attemptId"`
	Project   *string `json:"project"`
	Workflow  *string `json:"workflow"`
	Channel   string  `json:"channel"`
	Kind      *string `json:"kind"`
	Message   string  `json:"message"`
	CreatedAt Moment  `json:"createdAt"`
	Tries     int     `json:"tries"`
	Error     *string `json:"error"`
	RetryAt   Moment  `json:"retryAt"`   // null: it was given up on
	GivenUpAt Moment  `json:"givenUpAt"` // null: it will be retried
}

// NoticeOf shows a notification.
func NoticeOf(n host.StoredNotice) Notice {
	r := Notice{ID: ID(n.ID), Project: TextOrNull(n.Project), Workflow: TextOrNull(n.Workflow), Channel: n.Channel, Kind: TextOrNull(string(n.Kind)), Message: n.Message, CreatedAt: Moment(n.CreatedAt),
		Tries: n.Tries, Error: TextOrNull(n.Error), RetryAt: Moment(n.Due), GivenUpAt: Moment(n.GivenUpAt)}
	if n.Attempt != 0 {
		r.AttemptID = new(ID(n.Attempt))
	}
	return r
}
