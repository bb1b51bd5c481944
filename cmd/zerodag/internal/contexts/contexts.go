// Package contexts contains the commands that name servers and choose the server that other commands use.
//
// It must not send a request.
package contexts

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/connection"
	"zerodag/internal/program"
	"zerodag/internal/term"
)

// New returns the command that manages the servers that a user works with.
func New(s cli.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "context",
		Short: "Name servers and choose which one commands use",
		Example: "  zerodag context set prod -e https://flows.example.com --token -\n  zerodag context use prod\n  zerodag status\n" +
			"  zerodag status --context staging",
		RunE: func(c *cobra.Command, args []string) error { return list(c, s, args) },
	}
	c.AddCommand(newList(s), newSet(s), newUse(s), newDelete(s))
	return c
}

func newList(s cli.Streams) *cobra.Command {
	return &cobra.Command{Use: "list", Short: "List contexts and show which one is in use", RunE: func(c *cobra.Command, args []string) error { return list(c, s, args) }}
}

func list(cmd *cobra.Command, s cli.Streams, args []string) error {
	if len(args) > 0 {
		return cli.WrongCount(cmd, s, args, 0)
	}
	names, err := connection.Names()
	if err != nil {
		return err
	}
	current, err := connection.InUse()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		fmt.Fprintln(s.Err, "There are no contexts. `zerodag context set NAME -e URL` creates one.")
		return nil
	}
	t := term.NewTable(term.Column{Title: "IN USE"}, term.Column{Title: "NAME", Name: true}, term.Column{Title: "ENDPOINT", Name: true}, term.Column{Title: "CREDENTIALS"})
	for _, name := range names {
		mark := ""
		if name == current {
			mark = "*"
		}
		c, err := connection.Load(name)
		if err != nil { // the others are still shown
			t.Add(mark, name, "broken: set it again or delete it", "-")
			continue
		}
		t.Add(mark, name, c.Endpoint, c.Who())
	}
	columns, ink := term.Look(s.Out)
	fmt.Fprint(s.Out, t.Text(false, columns, ink))
	return nil
}

func newSet(s cli.Streams) *cobra.Command {
	set := connection.Server{}
	c := &cobra.Command{Use: "set NAME -e URL", Short: "Create or change a context"}
	c.Flags().StringVarP(&set.Endpoint, "endpoint", "e", "", "`URL` of the server")
	c.Flags().StringVar(&set.Token, "token", "", "bearer `TOKEN`; - reads it from stdin")
	c.Flags().BoolVar(&set.IAM, "iam", false, "sign requests with AWS credentials")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return cli.WrongCount(cmd, s, args, 1)
		}
		if set.IAM && set.Token != "" {
			return program.UsageError(errors.New("--iam and --token cannot be used together"))
		}
		c, err := connection.Load(args[0])
		if err != nil {
			if err := connection.CheckName(args[0]); err != nil {
				return err
			}
			c = &connection.Server{Name: args[0]}
		}
		if err := moveTo(c, set.Endpoint, cmd.Flags().Changed("token")); err != nil {
			return program.UsageError(err)
		}
		if set.Token == "-" {
			if set.Token, err = readLine(s); err != nil {
				return err
			}
		}
		if set.IAM || set.Token != "" {
			c.IAM, c.Token = set.IAM, set.Token
		}
		if err := c.Save(); err != nil {
			return err
		}
		fmt.Fprintf(s.Err, "Context %s is %s. To use it: zerodag context use %s\n", c.Name, c.Endpoint, term.ShellWord(c.Name))
		return nil
	}
	return c
}

// moveTo sets the server address of a context; "" keeps the current one. The token of a previous server is removed.
func moveTo(c *connection.Server, endpoint string, newToken bool) error {
	if endpoint != "" && c.Endpoint != "" && endpoint != c.Endpoint && !newToken {
		c.Token = ""
	}
	c.Endpoint = cmp.Or(endpoint, c.Endpoint)
	if c.Endpoint == "" {
		return errors.New("--endpoint is required: the URL of the server")
	}
	return connection.CheckAddress(c.Endpoint)
}

func newUse(s cli.Streams) *cobra.Command {
	c := &cobra.Command{Use: "use NAME", Short: "Choose the context that commands use; - for none", ValidArgsFunction: cli.CompleteContexts}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return cli.WrongCount(cmd, s, args, 1)
		}
		if args[0] == "-" {
			if err := connection.Leave(); err != nil {
				return err
			}
			fmt.Fprintln(s.Err, "No context is in use.")
			return nil
		}
		c, err := connection.Load(args[0])
		if err != nil {
			return err
		}
		if err := c.Use(); err != nil {
			return err
		}
		fmt.Fprintf(s.Err, "Commands now use %s: %s\n", c.Name, c.Endpoint)
		return nil
	}
	return c
}

func newDelete(s cli.Streams) *cobra.Command {
	c := &cobra.Command{Use: "delete NAME", Short: "Delete a context", ValidArgsFunction: cli.CompleteContexts}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return cli.WrongCount(cmd, s, args, 1)
		}
		if err := connection.Forget(args[0]); err != nil {
			return err
		}
		fmt.Fprintf(s.Err, "Deleted context: %s\n", args[0])
		return nil
	}
	return c
}

// readLine reads a secret that is typed or piped.
func readLine(s cli.Streams) (string, error) {
	var text bytes.Buffer
	one := make([]byte, 1)
	for {
		n, err := s.In.Read(one)
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
	return "", errors.New("read the token: stdin is empty")
}
