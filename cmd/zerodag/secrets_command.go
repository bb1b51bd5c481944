package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"zerodag/internal/client"
	"zerodag/internal/files"
)

type secretsCommand struct {
	remote
	project     string
	local       bool
	set, delete []string
}

// newSecrets keeps the secrets of a project or of this machine.
func newSecrets(s streams) *cobra.Command {
	c := &secretsCommand{remote: remote{streams: s}}
	cmd := &cobra.Command{
		Use:     "secrets (--project NAME | --local) [--set KEY=VALUE... | --delete KEY...]",
		Aliases: []string{"secret"},
		Short:   "List, set or delete secrets of a project or of this machine",
		Long: `List, set or delete secrets of a project, or of this machine for ` + "`zerodag run`" + `.

  --set KEY         asks for the value
  --set KEY=VALUE
  --set KEY=@FILE   the content of a file
  --set KEY=-       the content of stdin
  --set @FILE       all keys and values of a YAML or JSON file
  --set @-          the same from stdin`,
	}
	flags := cmd.Flags()
	flags.StringVar(&c.project, "project", "", "`NAME` of the project")
	flags.BoolVar(&c.local, "local", false, "secrets of this machine")
	flags.StringArrayVar(&c.set, "set", nil, "set a secret: `KEY=VALUE` (several may follow)")
	flags.StringArrayVar(&c.delete, "delete", nil, "delete a secret: `KEY` (several may follow)")
	return c.command(cmd, 0, 1<<20, func(ctx context.Context, args []string) error {
		if err := c.takeRest(args); err != nil {
			return err
		}
		if len(c.delete) > 0 {
			c.delete = strings.Split(strings.Join(c.delete, ","), ",") // no key holds a comma
		}
		switch {
		case len(c.set) > 0 && len(c.delete) > 0:
			return usageError{errors.New("Please specify only one of --set or --delete")}
		case c.local:
			return c.change(ctx, localStore{dir: filepath.Join(configFolder(), "secrets")})
		case c.project != "":
			return c.change(ctx, nil)
		}
		return usageError{errors.New("Please specify either --project or --local")}
	})
}

// takeRest gives what follows --set or --delete without an option of its own to it.
func (c *secretsCommand) takeRest(args []string) error {
	switch {
	case len(args) == 0:
	case len(c.set) > 0:
		c.set = append(c.set, args...)
	case len(c.delete) > 0:
		c.delete = append(c.delete, args...)
	default:
		return usageError{fmt.Errorf("unexpected argument: %s", args[0])}
	}
	return nil
}

// secretStore is where secrets are kept.
type secretStore interface {
	list(ctx context.Context) ([]string, error)
	set(ctx context.Context, key, value string) error
	delete(ctx context.Context, key string) error
}

// change does what was asked for, in a store or, when it is nil, in the project's.
func (c *secretsCommand) change(ctx context.Context, store secretStore) error {
	values, err := c.readSet()
	if err != nil {
		return err
	}
	if err := checkDelete(c.delete); err != nil {
		return err
	}
	if err := c.begin(); err != nil {
		return err
	}
	if store == nil {
		if err := c.open(ctx); err != nil {
			return err
		}
		project, err := c.Project(ctx, c.project)
		if err != nil {
			return err
		}
		store = projectStore{c.Client, project.ID}
	}
	for _, v := range values {
		if err := store.set(ctx, v.key, v.value); err != nil {
			return err
		}
		c.hint("Secret '%s' set", v.key)
	}
	if err := c.deleteAll(ctx, store); err != nil {
		return err
	}
	if len(values)+len(c.delete) > 0 {
		return nil
	}
	keys, err := store.list(ctx)
	if err != nil {
		return err
	}
	return c.show(keys, func(p printer) {
		for _, key := range keys {
			p.line("%s", key)
		}
	})
}

// deleteAll deletes the secrets that were named. One that there is not is no error, as in the original, but told.
func (c *secretsCommand) deleteAll(ctx context.Context, store secretStore) error {
	if len(c.delete) == 0 {
		return nil
	}
	var there []string
	told := !asDigdag()
	if told {
		var err error
		there, err = store.list(ctx)
		told = err == nil // who may not list may delete all the same
	}
	for _, key := range c.delete {
		if err := store.delete(ctx, key); err != nil {
			return err
		}
		if !told || slices.Contains(there, key) {
			c.hint("Secret '%s' deleted", key)
			continue
		}
		near := ""
		if name := likely(key, there); name != "" {
			near = ": did you mean " + name + "?"
		}
		fmt.Fprintf(c.err, "warning: there is no secret '%s', and nothing was deleted%s\n", key, near)
	}
	return nil
}

func checkDelete(keys []string) error {
	for i, key := range keys {
		if slices.Contains(keys[:i], key) {
			return usageError{fmt.Errorf("Duplicate --delete secret key: '%s'", key)}
		}
		if err := checkKey(key); err != nil {
			return err
		}
	}
	return nil
}

// checkKey applies the rule of wire.md 3.2.
func checkKey(key string) error {
	const segment = `(?:[a-zA-Z]|[a-zA-Z][a-zA-Z0-9_-]*[a-zA-Z0-9])`
	if len(key) > 255 || !regexp.MustCompile(`^`+segment+`(?:\.`+segment+`)*$`).MatchString(key) {
		return usageError{fmt.Errorf("Invalid secret key: %s", key)}
	}
	return nil
}

type projectStore struct {
	server  *client.Client
	project client.ID
}

func (s projectStore) list(ctx context.Context) ([]string, error) {
	return s.server.Secrets(ctx, s.project)
}

func (s projectStore) set(ctx context.Context, key, value string) error {
	return s.server.SetSecret(ctx, s.project, key, value)
}

func (s projectStore) delete(ctx context.Context, key string) error {
	return s.server.DeleteSecret(ctx, s.project, key)
}

// localStore keeps each secret in a file of its name, for its owner's eyes only.
type localStore struct{ dir string }

func (s localStore) list(context.Context) ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list secrets: %w", err)
	}
	keys := []string{}
	for _, e := range entries {
		if checkKey(e.Name()) == nil {
			keys = append(keys, e.Name())
		}
	}
	return keys, nil
}

func (s localStore) set(_ context.Context, key, value string) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("set secret: %w", err)
	}
	return files.WriteSecret(filepath.Join(s.dir, key), []byte(value))
}

func (s localStore) delete(_ context.Context, key string) error {
	if err := os.Remove(filepath.Join(s.dir, key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete secret: %w", err)
	}
	return nil
}
