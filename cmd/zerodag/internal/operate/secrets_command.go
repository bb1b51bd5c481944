package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/client"
	"zerodag/internal/localsecret"
	"zerodag/internal/program"
	"zerodag/internal/remedy"
	"zerodag/internal/term"
)

type secretsCommand struct {
	cli.Remote
	project     string
	local       bool
	site        bool
	projects    []string // for site secrets
	set, delete []string
}

// NewSecrets returns the command that manages the secrets of a project, of the site or of this machine.
func NewSecrets(s cli.Streams) *cobra.Command {
	c := &secretsCommand{Remote: cli.Remote{Streams: s}}
	cmd := &cobra.Command{
		Use:     "secrets (--project NAME | --site-wide | --local) [--set KEY=VALUE... | --delete KEY...] | secrets rekey",
		Aliases: []string{"secret"},
		Short:   "List, set or delete secrets of a project, of the site or of this machine",
		Long: `List, set or delete secrets of a project, of the whole site, or of this machine for ` + "`zerodag run`" + `.

  --set KEY         asks for the value
  --set KEY=VALUE
  --set KEY=@FILE   the content of a file
  --set KEY=-       the content of stdin
  --set @FILE       all keys and values of a YAML or JSON file
  --set @-          the same from stdin

All projects of the site can use a secret that is set with --site-wide, or those that
--projects names. A project's own secret takes precedence over one of the site.

  rekey             encrypts all secrets of the server with its current key (owner)

If a file or stdin has one line, its line end is not part of the secret. Several lines are kept unchanged.`,
	}
	flags := cmd.Flags()
	flags.StringVar(&c.project, "project", "", "`NAME` of the project")
	flags.BoolVar(&c.site, "site-wide", false, "use secrets that the projects of the site share")
	flags.StringSliceVar(&c.projects, "projects", nil, "with --site-wide --set: the only projects that may use the secrets: `NAME,NAME`")
	flags.BoolVar(&c.local, "local", false, "secrets of this machine")
	flags.StringArrayVar(&c.set, "set", nil, "set a secret: `KEY=VALUE` (several may follow)")
	flags.StringArrayVar(&c.delete, "delete", nil, "delete a secret: `KEY` (several may follow)")
	return c.Command(cmd, 0, 1<<20, func(ctx context.Context, args []string) error {
		if len(args) == 1 && args[0] == "rekey" && len(c.set)+len(c.delete) == 0 && c.project == "" && !c.local && !c.site {
			return c.rekey(ctx)
		}
		if err := c.takeRest(args); err != nil {
			return err
		}
		if len(c.delete) > 0 {
			c.delete = strings.Split(strings.Join(c.delete, ","), ",") // no key contains a comma
		}
		switch {
		case len(c.set) > 0 && len(c.delete) > 0:
			return program.UsageError(errors.New("Please specify only one of --set or --delete"))
		case len(c.projects) > 0 && (!c.site || len(c.set) == 0):
			return program.UsageError(errors.New("--projects limits secrets of the site: use it with --site-wide and --set"))
		case c.site && (c.local || c.project != ""), c.local && c.project != "":
			return program.UsageError(errors.New("Please specify only one of --project, --site-wide and --local"))
		case c.local, c.site, c.project != "":
			return c.change(ctx)
		}
		return program.UsageError(errors.New("Please specify --project, --site-wide or --local"))
	})
}

// rekey encrypts all secrets of the server with its current key.
func (c *secretsCommand) rekey(ctx context.Context) error {
	if err := c.Open(ctx); err != nil {
		return err
	}
	done, err := c.Rekey(ctx)
	if err != nil {
		return err
	}
	if err := c.Show(done, func(p cli.Printer) {
		p.Line("Encrypted %d of %s with the current key.", done.Changed, term.Counted(done.Secrets, "secret"))
		for _, s := range done.Unreadable {
			of := "of project " + string(s.ProjectID)
			if s.ProjectID == "0" {
				of = "of all projects"
			}
			p.Line("Unreadable: %s %s on site %s", s.Key, of, s.Site)
		}
	}); err != nil {
		return err
	}
	if done.UnreadableCount > 0 {
		return fmt.Errorf("none of the server's keys decrypts %s: add the missing key to digdag.secret-decryption-keys and repeat this command, or set these secrets again", term.Counted(done.UnreadableCount, "secret"))
	}
	c.Hint("No secret needs another key. Remove the old key from the configuration of all servers.")
	return nil
}

// takeRest adds arguments that follow --set or --delete to that option.
func (c *secretsCommand) takeRest(args []string) error {
	switch {
	case len(args) == 0:
	case len(c.set) > 0:
		c.set = append(c.set, args...)
	case len(c.delete) > 0:
		c.delete = append(c.delete, args...)
	default:
		return program.UsageError(fmt.Errorf("unexpected argument: %s", args[0]))
	}
	return nil
}

// secretStore stores secrets.
type secretStore interface {
	List(ctx context.Context) ([]client.Secret, error)
	Set(ctx context.Context, key, value string) error
	Delete(ctx context.Context, key string) error
}

// store returns the store for the secrets that the options name.
func (c *secretsCommand) store(ctx context.Context) (secretStore, error) {
	if c.local {
		return machineStore{localsecret.Open()}, nil
	}
	if err := c.Open(ctx); err != nil {
		return nil, err
	}
	if c.site {
		return siteStore{c.Client, c.projects}, nil
	}
	project, err := c.Project(ctx, c.project)
	if err != nil {
		return nil, err
	}
	return projectStore{c.Client, project.ID}, nil
}

// change performs the requested change, or lists the secrets.
func (c *secretsCommand) change(ctx context.Context) error {
	values, err := c.readSet()
	if err != nil {
		return err
	}
	if err := checkDelete(c.delete); err != nil {
		return err
	}
	if err := c.Begin(); err != nil {
		return err
	}
	store, err := c.store(ctx)
	if err != nil {
		return err
	}
	for _, v := range values {
		if err := store.Set(ctx, v.key, v.value); err != nil {
			return err
		}
		c.Hint("Secret '%s' set", v.key)
	}
	if err := c.deleteAll(ctx, store); err != nil {
		return err
	}
	if len(values)+len(c.delete) > 0 {
		return nil
	}
	list, err := store.List(ctx)
	if err != nil {
		return err
	}
	return c.Show(list, func(p cli.Printer) {
		for _, s := range list {
			switch {
			case len(s.Projects) > 0:
				p.Line("%s  (only %s)", s.Key, strings.Join(s.Projects, ", "))
			case s.Source == "site" && !c.site && !program.AsDigdag():
				p.Line("%s  (of the site)", s.Key)
			default:
				p.Line("%s", s.Key)
			}
		}
	})
}

// deleteAll deletes the named secrets. As in Digdag, a missing one is not an error, but it is reported.
func (c *secretsCommand) deleteAll(ctx context.Context, store secretStore) error {
	if len(c.delete) == 0 {
		return nil
	}
	var there []string
	told := !program.AsDigdag()
	if told {
		var err error
		var list []client.Secret
		list, err = store.List(ctx)
		for _, s := range list {
			if c.project == "" || s.Source == "project" {
				there = append(there, s.Key)
			}
		}
		told = err == nil // a user who may not list secrets may still delete them
	}
	for _, key := range c.delete {
		if err := store.Delete(ctx, key); err != nil {
			return err
		}
		if !told || slices.Contains(there, key) {
			c.Hint("Secret '%s' deleted", key)
			continue
		}
		near := ""
		if name := remedy.Near(key, there); name != "" {
			near = ": did you mean " + name + "?"
		}
		fmt.Fprintf(c.Err, "warning: there is no secret '%s', and nothing was deleted%s\n", key, near)
	}
	return nil
}

func checkDelete(keys []string) error {
	for i, key := range keys {
		if slices.Contains(keys[:i], key) {
			return program.UsageError(fmt.Errorf("Duplicate --delete secret key: '%s'", key))
		}
		if err := localsecret.CheckKey(key); err != nil {
			return err
		}
	}
	return nil
}

// machineStore keeps this machine's secrets.
type machineStore struct{ localsecret.Folder }

func (s machineStore) List(ctx context.Context) ([]client.Secret, error) {
	keys, err := s.Folder.List(ctx)
	list := make([]client.Secret, len(keys))
	for i, key := range keys {
		list[i] = client.Secret{Key: key, Source: "machine"}
	}
	return list, err
}

// siteStore keeps the site's secrets, for some projects or all.
type siteStore struct {
	server   *client.Client
	projects []string
}

func (s siteStore) List(ctx context.Context) ([]client.Secret, error) {
	return s.server.SiteSecrets(ctx)
}

func (s siteStore) Set(ctx context.Context, key, value string) error {
	return s.server.SetSiteSecret(ctx, key, value, s.projects)
}

func (s siteStore) Delete(ctx context.Context, key string) error {
	return s.server.DeleteSiteSecret(ctx, key)
}

type projectStore struct {
	server  *client.Client
	project client.ID
}

func (s projectStore) List(ctx context.Context) ([]client.Secret, error) {
	return s.server.Secrets(ctx, s.project)
}

func (s projectStore) Set(ctx context.Context, key, value string) error {
	return s.server.SetSecret(ctx, s.project, key, value)
}

func (s projectStore) Delete(ctx context.Context, key string) error {
	return s.server.DeleteSecret(ctx, s.project, key)
}
