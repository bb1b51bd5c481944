package td

import (
	"context"
	"time"

	"zerodag/engine/param"
	"zerodag/operators"
)

// saved is the job of `td_run>`: a query saved in Treasure Data.
type saved struct {
	name   string
	number int64 // if there is no name
	at     time.Time
	rows   wanted
}

func readSaved(w *work) (job, error) {
	s := &saved{}
	command, err := operators.Read(w.params, "_command", func(_ string, v param.Value) (param.Value, error) { return v, nil })
	if err != nil {
		return nil, err
	}
	switch x := command.(type) {
	case string:
		if s.name = x; x == "" {
			return nil, param.Errorf(`Invalid saved query reference: ""`)
		}
	case int64:
		s.number = x
	case float64:
		s.number = int64(x)
	default:
		return nil, param.Errorf("Invalid saved query reference: %s", param.Text(x))
	}
	if s.at, err = operators.ReadOr(w.params, "session_time", asInstant, w.SessionTime); err != nil {
		return nil, err
	}
	s.rows, err = w.wanted()
	return s, err
}

// asInstant reads a time with an offset.
func asInstant(key string, v param.Value) (time.Time, error) {
	text, err := param.AsString(key, v)
	if err != nil {
		return time.Time{}, err
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, param.Errorf("'%s' must be a time with an offset, such as 2016-01-01T00:00:00+00:00, not %q", key, text)
	}
	return at, nil
}

func (s *saved) start(ctx context.Context, w *work, domainKey string) (string, error) {
	const form = "2006-01-02T15:04:05Z"
	if s.name != "" {
		id, err := w.client.RunSaved(ctx, s.name, s.at, domainKey)
		if err == nil {
			w.log(operators.Info, "Started a saved query name=%s with time=%s, job id=%s", s.name, s.at.UTC().Format(form), id)
		}
		return id, err
	}
	id, err := w.client.RunSavedID(ctx, s.number, s.at, domainKey)
	if err == nil {
		w.log(operators.Info, "Started a saved query id=%d with time=%s, job id=%s", s.number, s.at.UTC().Format(form), id)
	}
	return id, err
}

func (s *saved) finish(ctx context.Context, w *work, done ended) (operators.Result, error) {
	return w.use(ctx, done, s.rows, nil)
}
