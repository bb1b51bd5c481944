package connection

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"zerodag/internal/client"
	"zerodag/internal/configuration"
	"zerodag/internal/iam"
	"zerodag/internal/program"
)

// Choice holds what a command's options and the configuration specify about the server to use.
type Choice struct {
	configuration.Flags
	Endpoint, Context string
	BasicAuth, Token  string
	IAM               bool
	Headers           []string
	NoCheck, NoCert   bool

	Settings configuration.Settings // nil until they are read
}

// Register adds the options that choose a server to a command's flags.
func (c *Choice) Register(flags *pflag.FlagSet) {
	flags.StringVarP(&c.Endpoint, "endpoint", "e", "", "`URL` of the server (default: environment variable ZERODAG_ENDPOINT, the context in use, client.http.endpoint in the configuration, or "+client.DefaultEndpoint+")")
	flags.StringVar(&c.Context, "context", "", "`NAME` of a server that `zerodag context` lists (default: environment variable ZERODAG_CONTEXT, then the context in use)")
	flags.StringArrayVarP(&c.Headers, "header", "H", nil, "add a header: `KEY=VALUE[,KEY=VALUE...]` (may be repeated)")
	flags.StringVar(&c.BasicAuth, "basic-auth", "", "log in as `USER:PASSWORD`")
	flags.StringVar(&c.Token, "token", "", "bearer `TOKEN` (default: environment variable ZERODAG_TOKEN)")
	flags.BoolVar(&c.IAM, "iam", false, "sign requests with AWS credentials (default: environment variable ZERODAG_IAM, or client.http.iam in the configuration)")
	flags.BoolVar(&c.NoCheck, "disable-version-check", false, "do not check whether the server works with this version")
	flags.BoolVar(&c.NoCert, "disable-cert-validation", false, "accept any certificate that the server presents")
}

// server decides which server is used. The command line takes precedence over the environment, followed by the context
// in use and the configuration, unless the command line names a configuration that contains the endpoint. When the
// program is called as Digdag, there is no context in use, because scripts written for Digdag do not expect one.
func (c *Choice) server(env func(string) string, warn io.Writer) (endpoint string, named *Server, err error) {
	configured := c.Settings[configuration.EndpointKey]
	_, byFlag := c.Flagged()[configuration.EndpointKey]
	var name string
	switch {
	case c.Endpoint != "" && c.Context != "":
		return "", nil, program.UsageError(errors.New("--endpoint and --context cannot be used together"))
	case c.Endpoint != "":
		return c.Endpoint, nil, nil
	case c.Context != "":
		name = c.Context
	case env("ZERODAG_ENDPOINT") != "":
		return env("ZERODAG_ENDPOINT"), nil, nil
	case env("ZERODAG_CONTEXT") != "":
		name = env("ZERODAG_CONTEXT")
	case byFlag, c.Config != "" && configured != "", program.AsDigdag():
		return configured, nil, nil
	default:
		if name, err = InUse(); err != nil || name == "" {
			return configured, nil, err
		}
	}
	if named, err = Load(name); err != nil {
		return "", nil, err
	}
	if named.warning != "" {
		fmt.Fprintf(warn, "warning: %s\n", named.warning)
	}
	return named.Endpoint, named, nil
}

// Connect creates the client for the chosen server and the given version of this program. It sends no request yet. It
// writes a warning to warn if other users can read the token.
func (c *Choice) Connect(version string, warn io.Writer) (*client.Client, error) {
	endpoint, named, err := c.server(os.Getenv, warn)
	if err != nil {
		return nil, err
	}
	way, err := c.access(os.Getenv, named)
	if err != nil {
		return nil, err
	}
	header, err := c.allHeaders(way)
	if err != nil {
		return nil, err
	}
	if way == (access{}) && header.Get("Authorization") != "" {
		way.source = "the header Authorization that was given"
	}
	o := client.Options{
		Endpoint: endpoint,
		Header:   header,
		Agent:    "zerodag/" + version + " (" + runtime.GOOS + ")",
		Insecure: c.NoCert,
		NoDirect: strings.EqualFold(strings.TrimSpace(c.Settings["client.http.disable_direct_download"]), "true"),
		Env:      os.Getenv,
		Access:   way.String(),
	}
	if way.iam {
		o.Sign = iam.New(context.Background()).Sign
	}
	return client.New(o)
}

// allHeaders returns the headers from the configuration, overridden by headers from the command line.
func (c *Choice) allHeaders(way access) (http.Header, error) {
	header := http.Header{}
	for _, key := range slices.Sorted(maps.Keys(c.Settings)) {
		if name, ok := strings.CutPrefix(key, "client.http.headers."); ok {
			header.Set(name, c.Settings[key])
		}
	}
	if way.token != "" {
		header.Set("Authorization", "Bearer "+way.token)
	}
	if err := AddHeaders(header, c.Headers, c.BasicAuth); err != nil {
		return nil, err
	}
	return header, nil
}

// AddHeaders adds values of the form KEY=VALUE, as Digdag's parser splits them, and a user with a password, if any.
func AddHeaders(header http.Header, values []string, basicAuth string) error {
	pairs, err := configuration.SplitPairs("--header", values)
	if err != nil {
		return err
	}
	for _, p := range pairs {
		if p.Key == "" {
			return program.UsageError(fmt.Errorf("--header =%s has no name: it must have the form NAME=VALUE", p.Value))
		}
		header.Set(p.Key, p.Value)
	}
	if basicAuth == "" {
		return nil
	}
	if user, password, ok := strings.Cut(basicAuth, ":"); !ok || user == "" || password == "" {
		return program.UsageError(errors.New("Expected format: username:password"))
	}
	header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(basicAuth)))
	return nil
}
