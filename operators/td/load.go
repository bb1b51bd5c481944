package td

import (
	"context"
	"path"
	"slices"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/td/api"
)

// load is the job of `td_load>`: a bulk load defined by a configuration, or one saved in Treasure Data.
type load struct {
	session string // name of a saved one; "" for a configuration
	config  *param.Map
	source  string // the text from which config was parsed; "" for a parameter
	into    *table
}

func readLoad(w *work) (job, error) {
	p := w.params
	config, err := operators.ReadOr(p, "config", param.AsMap, nil)
	if err != nil {
		return nil, err
	}
	name, err := p.StringOr("name", "")
	if err != nil {
		return nil, err
	}
	command, err := p.StringOr("_command", "")
	if err != nil {
		return nil, err
	}
	switch {
	case config != nil && p.Has("name"):
		return nil, param.Errorf("The parameters config and name cannot both be set")
	case p.Has("_command") && (config != nil || p.Has("name")):
		return nil, param.Errorf("Only the command or one of the config and name params may be set")
	case config == nil && name == "" && command == "":
		return nil, param.Errorf("No parameter is set")
	}
	l := &load{session: name, config: config}
	if isFile := slices.Contains([]string{".yml", ".yaml"}, path.Ext(command)); isFile {
		if err := l.readFile(w); err != nil {
			return nil, err
		}
	} else if command != "" {
		l.session = command
	}
	if l.session != "" {
		p.Get("table") // a saved one has its table in Treasure Data
		return l, nil
	}
	l.into, err = operators.Read(p, "table", asTable)
	return l, err
}

func (l *load) readFile(w *work) error {
	text, err := w.CommandText(w.params, "")
	if err != nil {
		return told("Failed to load bulk load file", err)
	}
	v, err := dig.ParseYAML("td_load>", []byte(text))
	if err != nil {
		return told("Failed to parse yaml file", param.Errorf("%v", err))
	}
	m, isMap := v.(*param.Map)
	if !isMap {
		return param.Errorf("Failed to parse yaml file: it is not a mapping")
	}
	l.config, l.source = m, text
	return nil
}

// told adds Digdag's wording to the error about a mistake in a file; other failures are returned unchanged.
func told(what string, err error) error {
	if config, mine := err.(*param.ConfigError); mine { //nolint:errorlint // an error that wraps one is a different failure
		return param.Errorf("%s: %s", what, config.Message)
	}
	return err
}

func (l *load) start(ctx context.Context, w *work, domainKey string) (string, error) {
	if l.session != "" {
		id, err := w.client.RunSession(ctx, l.session, w.SessionTime, domainKey)
		if err == nil {
			w.log(operators.Info, "Started bulk load session job name=%s, id=%s", l.session, id)
		}
		return id, err
	}
	config, err := withSecrets(w.Task, l.config, l.source)
	if err != nil {
		return "", err
	}
	id, err := w.client.Submit(ctx, api.Job{Type: "bulkload", Database: l.into.in(w.database), Table: l.into.name, DomainKey: domainKey,
		Config: param.AppendJSON(nil, config)})
	if err == nil {
		w.log(operators.Info, "Started bulk load job id=%s", id)
	}
	return id, err
}

func (l *load) finish(context.Context, *work, ended) (operators.Result, error) {
	return operators.Result{}, nil
}
