package channel

import (
	"context"

	"zerodag/engine/param"
	"zerodag/internal/notice"
)

// Hook sends notices as JSON to a service's address.
type Hook struct {
	url     string
	secrets []string
	payload func(message, *param.Map) *param.Map
	// judge returns the error that the body of a successful response contains; nil means that there is none.
	judge func(notice.Request, notice.Answer) error
}

// Send implements notice.Sender.
func (h Hook) Send(ctx context.Context, fields *param.Map) (string, error) {
	r := notice.Request{URL: h.url, Secrets: h.secrets, Body: param.AppendJSON(nil, h.payload(read(fields), fields))}
	answer, err := r.Do(ctx)
	if err == nil && h.judge != nil {
		err = h.judge(r, answer)
	}
	if err != nil {
		return "", err
	}
	return answer.Status, nil
}
