package operate

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/internal/localsecret"
	"zerodag/internal/program"
	"zerodag/internal/term"
)

const maxSecret = 16 * 1024

type secret struct{ key, value string }

// secretReader converts --set items to secrets, in order.
type secretReader struct {
	*secretsCommand
	values   []secret
	consumed bool // stdin
}

func (c *secretsCommand) readSet() ([]secret, error) {
	r := &secretReader{secretsCommand: c}
	for _, item := range c.set {
		if err := r.item(item); err != nil {
			return nil, err
		}
	}
	for _, v := range r.values {
		if err := localsecret.CheckKey(v.key); err != nil {
			return nil, err
		}
		if len(v.value) > maxSecret {
			return nil, program.UsageError(fmt.Errorf("Invalid secret value for key: %s", v.key))
		}
	}
	return r.values, nil
}

func (r *secretReader) item(item string) error {
	key, value, hasValue := strings.Cut(item, "=")
	switch {
	case item == "" || item == "@" || hasValue && key == "" || value == "@":
		return program.UsageError(fmt.Errorf("--set %q must be KEY, KEY=VALUE, KEY=@FILE, KEY=-, @FILE or @-", item))
	case item[0] == '@':
		return r.several(item[1:])
	case !hasValue:
		text, err := r.ask(key)
		if err != nil {
			return err
		}
		return r.add(key, text, "--set")
	case value == "-":
		text, err := r.stdin()
		if err != nil {
			return err
		}
		return r.add(key, localsecret.Text(text), "--set")
	case strings.HasPrefix(value, "-"):
		return program.UsageError(fmt.Errorf("the value of '%s' begins with -: use --set %s=@FILE", key, key))
	case strings.HasPrefix(value, "@"):
		text, err := os.ReadFile(value[1:])
		if err != nil {
			return fmt.Errorf("read secret: %w", err)
		}
		return r.add(key, localsecret.Text(text), "--set")
	}
	return r.add(key, value, "--set")
}

// several reads a mapping of secrets from a file; - is stdin.
func (r *secretReader) several(file string) error {
	if file == "-" {
		text, err := r.stdin()
		if err != nil {
			return err
		}
		return r.mapping("stdin", text)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read secrets: %w", err)
	}
	return r.mapping("file: "+file, text)
}

func (r *secretReader) add(key, value, source string) error {
	if slices.ContainsFunc(r.values, func(v secret) bool { return v.key == key }) {
		if source == "--set" {
			return program.UsageError(fmt.Errorf("Duplicate --set secret key: '%s'", key))
		}
		return program.UsageError(fmt.Errorf("Duplicate secret key: '%s' in %s", key, source))
	}
	r.values = append(r.values, secret{key, value})
	return nil
}

// stdin reads all of stdin, once.
func (r *secretReader) stdin() ([]byte, error) {
	if r.consumed {
		return nil, program.UsageError(errors.New("Can only read once from stdin"))
	}
	r.consumed = true
	text, err := io.ReadAll(r.In)
	if err != nil {
		return nil, fmt.Errorf("read stdin: %w", err)
	}
	return text, nil
}

// mapping adds the keys and values of YAML or JSON text.
func (r *secretReader) mapping(source string, text []byte) error {
	v, err := dig.ParseYAML(source, text)
	if err != nil {
		return err
	}
	m, ok := v.(*param.Map)
	if !ok {
		return program.UsageError(fmt.Errorf("Invalid key/value in %s", source))
	}
	for key, v := range m.All() {
		var value string
		switch v := v.(type) {
		case string:
			value = v
		case *param.Map, []param.Value, nil:
			return program.UsageError(fmt.Errorf("Invalid key/value in %s", source))
		default:
			value = param.Text(v)
		}
		if err := r.add(key, value, source); err != nil {
			return err
		}
	}
	return nil
}

// ask requests a value on the terminal, without showing it.
func (r *secretReader) ask(key string) (string, error) {
	if r.consumed {
		return "", program.UsageError(errors.New("Stdin already read"))
	}
	file, ok := term.Keyboard(r.In)
	if !ok {
		return "", fmt.Errorf("cannot prompt for the value of '%s' without a terminal: use --set %s=- or --set %s=@FILE", key, key, key)
	}
	fmt.Fprint(r.Err, key+":")
	value, err := term.ReadHidden(file)
	fmt.Fprintln(r.Err)
	if err != nil {
		return "", fmt.Errorf("read secret: %w", err)
	}
	return value, nil
}
