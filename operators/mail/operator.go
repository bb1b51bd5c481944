// Package mail implements `mail>`: it sends a message over SMTP. Agents that may open connections run it. It must
// connect only to the server that the task or the host names.
package mail

import (
	"context"

	"zerodag/engine/param"
	"zerodag/operators"
)

// Operator returns `mail>`.
func Operator() operators.Operator {
	return operators.Operator{Name: "mail", Summary: "sends an email over SMTP", Retries: true, Run: run}
}

func run(ctx context.Context, t *operators.Task) (operators.Result, error) {
	p, err := t.Params.WithDefaults("mail")
	if err != nil {
		return operators.Result{}, err
	}
	host := operators.NewParams(t.Config.Map("mail"))
	m, err := readMessage(t, p, host)
	if err != nil {
		return operators.Result{}, err
	}
	s, err := findServer(t, p, host)
	if err != nil {
		return operators.Result{}, err
	}
	if m.from, err = readFrom(p, host); err != nil {
		return operators.Result{}, err
	}
	if m.attachments, err = attachments(t, p); err != nil {
		return operators.Result{}, err
	}
	if err := s.send(ctx, m); err != nil {
		if ctx.Err() != nil {
			return operators.Result{}, ctx.Err()
		}
		return operators.Result{}, operators.Causedf(err, "send mail through %s: %v", s.address(), err)
	}
	return operators.Result{}, nil
}

// readMessage reads everything but the sender and the attachments of a message.
func readMessage(t *operators.Task, p, host *operators.Params) (*message, error) {
	m := &message{date: t.Now, id: operators.Derived(t.IdempotencyKey(), t.SessionUUID, t.Dispatch)}
	var err error
	if m.body, err = t.CommandText(p, "body"); err != nil {
		return nil, err
	}
	if m.subject, err = withDefault(p, host, "subject"); err != nil {
		return nil, err
	}
	if m.to, err = operators.Read(p, "to", oneOrMore); err != nil {
		return nil, err
	}
	if m.cc, err = operators.ReadOr(p, "cc", addresses, nil); err != nil {
		return nil, err
	}
	if m.bcc, err = operators.ReadOr(p, "bcc", addresses, nil); err != nil {
		return nil, err
	}
	if len(m.to)+len(m.cc)+len(m.bcc) == 0 {
		return nil, operators.Faultf("send failed", "No recipient addresses")
	}
	m.html, err = p.BoolOr("html", false)
	return m, err
}

// withDefault reads a parameter for which the host may have a default.
func withDefault(p, host *operators.Params, key string) (string, error) {
	if !p.Has(key) && host.Has(key) {
		return host.String(key)
	}
	return p.String(key)
}

func readFrom(p, host *operators.Params) (address, error) {
	from, err := withDefault(p, host, "from")
	if err != nil {
		return address{}, err
	}
	return parseAddress(from)
}

func attachments(t *operators.Task, p *operators.Params) ([]attachment, error) {
	list, err := operators.ReadOr(p, "attach_files", param.AsList, nil)
	if err != nil {
		return nil, err
	}
	var files []attachment
	for _, v := range list {
		m, err := param.AsMap("attach_files", v)
		if err != nil {
			return nil, err
		}
		a, err := readAttachment(t, operators.NewParams(m))
		if err != nil {
			return nil, err
		}
		files = append(files, a)
	}
	return files, nil
}
