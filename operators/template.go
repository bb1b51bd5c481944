package operators

import (
	"zerodag/engine/param"
)

// CommandText returns the content that an operator's command refers to: a file in the working folder with `${...}`
// evaluated, or the text under `data` of a mapping, or, without a command, the parameter alias (language.md 1.7, "File
// templates").
func (t *Task) CommandText(p *Params, alias string) (string, error) {
	if !p.Has("_command") {
		return p.String(alias)
	}
	command, _ := p.Get("_command")
	if mapping, isMap := command.(*param.Map); isMap {
		return NewParams(mapping).String("data")
	}
	file, err := p.String("_command")
	if err != nil {
		return "", err
	}
	name, err := t.FileName(file)
	if err != nil {
		return "", param.Errorf("%v: %s", err, file)
	}
	content, err := t.Files.Read(name)
	if err != nil {
		return "", t.FileError(name, err)
	}
	text, err := t.Template(string(content))
	if err != nil {
		return "", param.Errorf("%v in %s", err, file)
	}
	return text, nil
}

// ListOf reads a list of string values.
func ListOf(key string, v param.Value) ([]string, error) {
	list, err := param.AsList(key, v)
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(list))
	for i, e := range list {
		if texts[i], err = param.AsString(key, e); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// OptionalSecret returns a secret, or "" if there is none.
func (t *Task) OptionalSecret(key string) (string, error) {
	value, _, err := t.Secrets.Get(key)
	return value, err
}
