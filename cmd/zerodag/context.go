package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/magiconair/properties"
	"github.com/spf13/cobra"

	"zerodag/internal/files"
)

// serverContext is a server that the user has given a name: where it is and who one is for it. Its
// credentials are used with its own address only.
type serverContext struct {
	name, endpoint, token string
	iam                   bool
	warning               string // others can read, or could read, the token in its file
}

// Keys of the file of a context.
const (
	endpointKey = "client.http.endpoint"
	iamKey      = "client.http.iam"
	tokenKey    = "client.http.token" // #nosec G101 -- the name of a key
)

// contextFolder holds a file for each context, and currentContext the name of the one in use.
func contextFolder() string  { return filepath.Join(configFolder(), "contexts") }
func currentContext() string { return filepath.Join(configFolder(), "context") }

// checkContextName refuses what would be a file elsewhere.
func checkContextName(name string) error {
	if name == "" || strings.HasPrefix(name, ".") || strings.ContainsAny(name, "/\\\x00\r\n") {
		return usageError{fmt.Errorf("%q is no name of a context: use letters, digits, - and _", name)}
	}
	return nil
}

// loadContext reads a context; the error names those that there are.
func loadContext(name string) (*serverContext, error) {
	if err := checkContextName(name); err != nil {
		return nil, err
	}
	path := filepath.Join(contextFolder(), name)
	text, warning, err := files.ReadKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		names, _ := contextNames() // what there is; none where the folder cannot be read
		hint := "zerodag context set " + shellWord(name) + " -e URL makes it"
		if len(names) > 0 {
			hint = "there are " + strings.Join(names, ", ")
		}
		return nil, fmt.Errorf("there is no context %s (%s)", name, hint)
	}
	if err != nil {
		return nil, fmt.Errorf("read context %s: %w", name, err)
	}
	s := settings{}
	if err := s.addText(path, string(text)); err != nil {
		return nil, err
	}
	c := &serverContext{name: name, endpoint: s[endpointKey], token: s[tokenKey]}
	if c.token != "" {
		c.warning = warning
	}
	if c.iam, err = enabled("key "+iamKey+" of "+path, s[iamKey]); err != nil {
		return nil, err
	}
	if c.endpoint == "" {
		return nil, fmt.Errorf("context %s has no %s in %s (zerodag context set %s -e URL gives it one)", name, endpointKey, path, shellWord(name))
	}
	if err := checkAddress(c.endpoint); err != nil {
		return nil, fmt.Errorf("context %s has a wrong %s in %s: %w", name, endpointKey, path, err)
	}
	return c, nil
}

// checkAddress refuses what is no address of a server, and one that has what lists should not show.
func checkAddress(endpoint string) error {
	if strings.Contains(endpoint, "@") {
		return errors.New("put no user and password into the address of a context, which lists show: use --token or --iam")
	}
	full := endpoint
	if !strings.Contains(full, "://") {
		full = "http://" + full
	}
	u, err := url.Parse(full)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%q is no address of a server: write it like https://flows.example.com or 127.0.0.1:65432", endpoint)
	}
	return nil
}

// save writes a context, for its owner's eyes only.
func (c *serverContext) save() error {
	p := properties.NewProperties()
	p.DisableExpansion = true
	pairs := [][2]string{{endpointKey, c.endpoint}, {tokenKey, c.token}}
	if c.iam {
		pairs = append(pairs, [2]string{iamKey, "true"})
	}
	for _, pair := range pairs {
		if pair[1] == "" {
			continue
		}
		if _, _, err := p.Set(pair[0], pair[1]); err != nil {
			return fmt.Errorf("save context %s: %w", c.name, err)
		}
	}
	var text bytes.Buffer
	if _, err := p.Write(&text, properties.UTF8); err != nil {
		return fmt.Errorf("save context %s: %w", c.name, err)
	}
	return files.WriteSecret(filepath.Join(contextFolder(), c.name), text.Bytes())
}

// who says how requests show who makes them.
func (c *serverContext) who() string {
	switch {
	case c.iam:
		return "AWS credentials"
	case c.token != "":
		return "token"
	}
	return "-"
}

// contextNames are those of all contexts, sorted.
func contextNames() ([]string, error) {
	list, err := os.ReadDir(contextFolder())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list contexts: %w", err)
	}
	var names []string
	for _, e := range list {
		if e.Type().IsRegular() && checkContextName(e.Name()) == nil {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// contextInUse is the name that `context use` has chosen; "" for none.
func contextInUse() (string, error) {
	text, err := os.ReadFile(currentContext())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("find the context in use: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// chooseServer decides which server is meant: the command line over the environment over the context in use
// over the configuration, unless the command line names a configuration that says it. Called as the original
// there is no context in use: its scripts know none.
func (r *remote) chooseServer(env func(string) string) (endpoint string, c *serverContext, err error) {
	configured := r.settings[endpointKey]
	_, byFlag := r.flagged()[endpointKey]
	var name string
	switch {
	case r.endpoint != "" && r.context != "":
		return "", nil, usageError{errors.New("--endpoint and --context cannot be used together")}
	case r.endpoint != "":
		return r.endpoint, nil, nil
	case r.context != "":
		name = r.context
	case env("ZERODAG_ENDPOINT") != "":
		return env("ZERODAG_ENDPOINT"), nil, nil
	case env("ZERODAG_CONTEXT") != "":
		name = env("ZERODAG_CONTEXT")
	case byFlag, r.config != "" && configured != "", asDigdag():
		return configured, nil, nil
	default:
		if name, err = contextInUse(); err != nil || name == "" {
			return configured, nil, err
		}
	}
	if c, err = loadContext(name); err != nil {
		return "", nil, err
	}
	if c.warning != "" {
		fmt.Fprintf(r.err, "warning: %s\n", c.warning)
	}
	return c.endpoint, c, nil
}

// newContext keeps the servers that a user works with.
func newContext(s streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "context",
		Short: "Name servers and choose the one that commands talk to",
		Example: "  zerodag context set prod -e https://flows.example.com --token -\n  zerodag context use prod\n  zerodag status\n" +
			"  zerodag status --context staging",
		RunE: func(c *cobra.Command, args []string) error { return listContexts(c, s, args) },
	}
	c.AddCommand(newContextList(s), newContextSet(s), newContextUse(s), newContextDelete(s))
	return c
}

func newContextList(s streams) *cobra.Command {
	return &cobra.Command{Use: "list", Short: "Show the contexts, and which one is in use", RunE: func(c *cobra.Command, args []string) error { return listContexts(c, s, args) }}
}

func listContexts(cmd *cobra.Command, s streams, args []string) error {
	if len(args) > 0 {
		return wrongCount(cmd, s, args, 0)
	}
	names, err := contextNames()
	if err != nil {
		return err
	}
	current, err := contextInUse()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		fmt.Fprintln(s.err, "There is no context: zerodag context set NAME -e URL makes one.")
		return nil
	}
	t := newTable(column{title: "IN USE"}, column{title: "NAME", name: true}, column{title: "ENDPOINT", name: true}, column{title: "SHOWS"})
	for _, name := range names {
		mark := ""
		if name == current {
			mark = "*"
		}
		c, err := loadContext(name)
		if err != nil { // the others are shown all the same
			t.add(mark, name, "broken: make it anew, or delete it", "-")
			continue
		}
		t.add(mark, name, c.endpoint, c.who())
	}
	columns, ink := look(s.out)
	fmt.Fprint(s.out, t.text(false, columns, ink))
	return nil
}

func newContextSet(s streams) *cobra.Command {
	set := serverContext{}
	c := &cobra.Command{Use: "set NAME -e URL", Short: "Make a context, or change one"}
	c.Flags().StringVarP(&set.endpoint, "endpoint", "e", "", "`URL` of the server")
	c.Flags().StringVar(&set.token, "token", "", "bearer `TOKEN`; - reads it from stdin")
	c.Flags().BoolVar(&set.iam, "iam", false, "sign requests with AWS credentials")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return wrongCount(cmd, s, args, 1)
		}
		if set.iam && set.token != "" {
			return usageError{errors.New("--iam and --token cannot be used together")}
		}
		c, err := loadContext(args[0])
		if err != nil {
			if err := checkContextName(args[0]); err != nil {
				return err
			}
			c = &serverContext{name: args[0]}
		}
		if set.endpoint != "" && c.endpoint != "" && set.endpoint != c.endpoint && !cmd.Flags().Changed("token") {
			c.token = "" // it was for the other server
		}
		c.endpoint = cmp.Or(set.endpoint, c.endpoint)
		if c.endpoint == "" {
			return usageError{errors.New("--endpoint is required: where is the server?")}
		}
		if err := checkAddress(c.endpoint); err != nil {
			return usageError{err}
		}
		if set.token == "-" {
			if set.token, err = readLine(s); err != nil {
				return err
			}
		}
		if set.iam || set.token != "" {
			c.iam, c.token = set.iam, set.token
		}
		if err := c.save(); err != nil {
			return err
		}
		fmt.Fprintf(s.err, "Context %s is %s. zerodag context use %s makes it the one in use.\n", c.name, c.endpoint, shellWord(c.name))
		return nil
	}
	return c
}

func newContextUse(s streams) *cobra.Command {
	c := &cobra.Command{Use: "use NAME", Short: "Choose the context that commands use; - for none", ValidArgsFunction: completeContexts}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return wrongCount(cmd, s, args, 1)
		}
		if args[0] == "-" {
			if err := os.Remove(currentContext()); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("leave the context in use: %w", err)
			}
			fmt.Fprintln(s.err, "No context is in use.")
			return nil
		}
		c, err := loadContext(args[0])
		if err != nil {
			return err
		}
		if err := files.WriteAtomic(currentContext(), []byte(c.name+"\n")); err != nil {
			return err
		}
		fmt.Fprintf(s.err, "Commands use %s from now on: %s\n", c.name, c.endpoint)
		return nil
	}
	return c
}

func newContextDelete(s streams) *cobra.Command {
	c := &cobra.Command{Use: "delete NAME", Short: "Forget a context", ValidArgsFunction: completeContexts}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return wrongCount(cmd, s, args, 1)
		}
		name := args[0]
		names, err := contextNames()
		if err != nil {
			return err
		}
		if !slices.Contains(names, name) { // the error says which there are
			_, err := loadContext(name)
			return err
		}
		current, err := contextInUse()
		if err != nil {
			return err
		}
		if current == name {
			if err := os.Remove(currentContext()); err != nil {
				return fmt.Errorf("forget context %s: %w", name, err)
			}
		}
		if err := os.Remove(filepath.Join(contextFolder(), name)); err != nil {
			return fmt.Errorf("forget context %s: %w", name, err)
		}
		fmt.Fprintf(s.err, "Context %s is forgotten.\n", name)
		return nil
	}
	return c
}

// readLine reads a secret that somebody types or pipes.
func readLine(s streams) (string, error) {
	var text bytes.Buffer
	one := make([]byte, 1)
	for {
		n, err := s.in.Read(one)
		if n > 0 && one[0] != '\n' {
			text.WriteByte(one[0])
		}
		if err != nil || n > 0 && one[0] == '\n' {
			break
		}
	}
	if line := strings.TrimSpace(text.String()); line != "" {
		return line, nil
	}
	return "", errors.New("read the token: stdin has none")
}

// completeContexts proposes the names of contexts.
func completeContexts(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	names, _ := contextNames() // a shell that completes has no place for errors
	return names, cobra.ShellCompDirectiveNoFileComp
}
