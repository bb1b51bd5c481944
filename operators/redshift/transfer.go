package redshift

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/sql"
)

// transfer is a COPY or an UNLOAD.
type transfer struct {
	what     string                           // in words
	begin    func(id string) string           // start of the statement, before the credentials
	options  []string                         // after them
	grants   func(id string) ([]grant, error) // the permissions that the credentials need
	manifest string                           // the list of files to load: "s3://...", "" for none
	clears   func(id string) (place, error)   // files that an earlier run left there; nil for none

	temporary bool  // credentials are created only for this task
	seconds   int64 // how long the temporary keys are valid
}

func (c *transfer) statement(id string, k keys) string {
	return strings.Join(append([]string{c.begin(id), "CREDENTIALS " + literal(k.text())}, c.options...), "\n")
}

// oneEscape matches a character that is written with a backslash: '\t' is a tab.
var oneEscape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\\([tnrbf\\]|[0-7]{3})$`) })

// literal quotes a string for Redshift, in which a backslash is an escape character.
func literal(text string) string {
	if !oneEscape().MatchString(text) {
		text = strings.ReplaceAll(text, `\`, `\\`)
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// option is an option of a statement: its parameter and how it is written there.
type option struct {
	key   string
	write func(p *operators.Params, key string) (string, error)
}

// readOptions returns the SQL of the options that are set, in order.
func readOptions(p *operators.Params, list []option) ([]string, error) {
	var texts []string
	for _, o := range list {
		text, err := o.write(p, o.key)
		if err != nil {
			return nil, err
		}
		if text != "" {
			texts = append(texts, text)
		}
	}
	return texts, nil
}

func flag(word string) func(*operators.Params, string) (string, error) {
	return func(p *operators.Params, key string) (string, error) {
		on, err := p.BoolOr(key, false)
		if !on {
			return "", err
		}
		return word, err
	}
}

func text(word string) func(*operators.Params, string) (string, error) {
	return func(p *operators.Params, key string) (string, error) {
		if !p.Has(key) {
			return "", nil
		}
		value, err := p.String(key)
		return word + " " + literal(value), err
	}
}

func number(word string) func(*operators.Params, string) (string, error) {
	return func(p *operators.Params, key string) (string, error) {
		if !p.Has(key) {
			return "", nil
		}
		n, err := p.Int(key)
		return fmt.Sprintf("%s %d", word, n), err
	}
}

// csvOption reads an option that may name a quote character; empty text stands for the default one.
func csvOption(p *operators.Params, key string) (string, error) {
	if !p.Has(key) {
		return "", nil
	}
	quote, err := p.String(key)
	if quote == "" {
		return "CSV", err
	}
	return "CSV QUOTE " + literal(quote), err
}

var plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9]+$`) })

// bare returns an option whose value is not quoted.
func bare(word string) func(*operators.Params, string) (string, error) {
	return func(p *operators.Params, key string) (string, error) {
		if !p.Has(key) {
			return "", nil
		}
		value, err := p.String(key)
		if err == nil && !plainWord().MatchString(value) {
			err = param.Errorf("Parameter '%s' must consist of letters and digits: %s", key, value)
		}
		return word + " " + value, err
	}
}

// onOff returns an option with ON, OFF, TRUE or FALSE.
func onOff(word string) func(*operators.Params, string) (string, error) {
	return func(p *operators.Params, key string) (string, error) {
		if !p.Has(key) {
			return "", nil
		}
		value, err := p.String(key)
		if err != nil {
			return "", err
		}
		switch up := strings.ToUpper(value); up {
		case "ON", "OFF", "TRUE", "FALSE":
			return word + " " + up, nil
		}
		return "", param.Errorf("Parameter '%s' must be ON, OFF, TRUE or FALSE: %s", key, value)
	}
}

// apart refuses mutually exclusive options, which it recognizes by their first words.
func apart(options []string, pairs [][2]string) error {
	there := map[string]bool{}
	for _, o := range options {
		word, _, _ := strings.Cut(strings.TrimPrefix(o, "FORMAT AS "), " ")
		there[word] = true
	}
	for _, pair := range pairs {
		if there[pair[0]] && there[pair[1]] {
			return param.Errorf("%s can't be used with %s", pair[0], pair[1])
		}
	}
	return nil
}

// readTransfer reads what COPY and UNLOAD have in common.
func readTransfer(w *task) error {
	var err error
	if w.copy.temporary, err = w.params.BoolOr("temp_credentials", true); err != nil {
		return err
	}
	if w.copy.seconds, err = w.params.IntOr("session_duration", 10800); err != nil {
		return err
	}
	if w.copy.seconds < 900 || w.copy.seconds > 129600 {
		return param.Errorf("Parameter 'session_duration' must be from 900 to 129600 seconds: %d", w.copy.seconds)
	}
	w.query, err = sql.ReadStrict(w.params)
	return err
}
