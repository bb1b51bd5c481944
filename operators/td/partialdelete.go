package td

import (
	"context"
	"strconv"
	"strings"
	"time"

	"zerodag/engine/param"
	"zerodag/operators"
)

// partialDelete is the job of `td_partial_delete>`.
type partialDelete struct {
	table    string
	from, to time.Time
}

func readPartialDelete(w *work) (job, error) {
	d := &partialDelete{}
	var err error
	if d.table, err = w.params.String("_command"); err != nil {
		return nil, err
	}
	if d.from, err = w.timestamp("from"); err != nil {
		return nil, err
	}
	if d.to, err = w.timestamp("to"); err != nil {
		return nil, err
	}
	if d.from.Unix()%3600 != 0 || d.to.Unix()%3600 != 0 {
		return nil, param.Errorf("'from' and 'to' parameters must be whole hours")
	}
	return d, nil
}

// timestamp reads seconds since 1970, or a time in the workflow's zone unless it has an offset.
func (w *work) timestamp(key string) (time.Time, error) {
	return operators.Read(w.params, key, func(_ string, v param.Value) (time.Time, error) {
		switch x := v.(type) {
		case int64:
			return time.Unix(x, 0), nil
		case string:
			return w.timestampText(key, x)
		}
		return time.Time{}, param.Errorf("Not a valid timestamp for key '%s': '%s'", key, param.Text(v))
	})
}

func (w *work) timestampText(key, text string) (time.Time, error) {
	if text != "" && strings.Trim(text, "0123456789") == "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return time.Time{}, invalidTimestamp(key, text)
		}
		return time.Unix(seconds, 0), nil
	}
	for _, form := range []string{"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04Z07:00"} {
		if at, err := time.Parse(form, text); err == nil {
			return at, nil
		}
	}
	for _, form := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if at, err := time.ParseInLocation(form, text, w.SessionTime.Location()); err == nil {
			return at, nil
		}
	}
	return time.Time{}, invalidTimestamp(key, text)
}

func invalidTimestamp(key, text string) error {
	return param.Errorf("Invalid timestamp format for key '%s': %s (write seconds since 1970, or a time such as 2016-01-01T00:00:00)", key, text)
}

func (d *partialDelete) start(ctx context.Context, w *work, domainKey string) (string, error) {
	id, err := w.client.PartialDelete(ctx, w.database, d.table, d.from, d.to, domainKey)
	if err == nil {
		w.log(operators.Info, "Started partial delete job id=%s", id)
	}
	return id, err
}

func (*partialDelete) finish(context.Context, *work, ended) (operators.Result, error) {
	return operators.Result{}, nil
}
