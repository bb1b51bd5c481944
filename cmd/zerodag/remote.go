package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"zerodag/internal/client"
	"zerodag/internal/iam"
)

// remote is a command that talks to a server.
type remote struct {
	commonFlags
	streams
	endpoint, basicAuth, token string
	context                    string
	iam                        bool
	headers                    []string
	noCheck, noCert            bool
	format                     string
	settings                   settings
	*client.Client
}

// clientCommands are those that talk to a server.
func clientCommands(s streams) []*cobra.Command {
	return []*cobra.Command{
		newProjects(s), newWorkflows(s), newStart(s), newRetry(s), newFork(s), newKill(s), newPause(s), newUnpause(s), newDelete(s),
		newStatus(s), newWatch(s), newSessions(s), newAttempts(s), newAttempt(s), newTasks(s),
		newSchedules(s), newReschedule(s), newBackfill(s), newEnable(s), newDisable(s),
		newPush(s), newUpload(s), newArchive(s), newDownload(s), newLog(s), newSecrets(s), newImport(s), newTokens(s), newPool(s), newAdmin(s), newWhoami(s), newVersion(s), newContext(s),
	}
}

// command makes c a client command, which takes from least to most arguments.
func (r *remote) command(c *cobra.Command, least, most int, do func(ctx context.Context, args []string) error) *cobra.Command {
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return wrongCount(cmd, r.streams, args, most)
		}
		if err := r.checkFormat(); err != nil {
			return err
		}
		err := do(cmd.Context(), args)
		if err != nil && cmd.Context().Err() != nil {
			return errors.New("interrupted")
		}
		attempt := ""
		if strings.Contains(cmd.Use, "attempt-id") && len(args) > 0 {
			attempt = args[0]
		}
		return r.explain(cmd.Context(), err, attempt)
	}
	flags := c.Flags()
	flags.StringVarP(&r.endpoint, "endpoint", "e", "", "`URL` of the server (default: environment variable ZERODAG_ENDPOINT, the context in use, client.http.endpoint of the configuration, or "+client.DefaultEndpoint+")")
	flags.StringVar(&r.context, "context", "", "`NAME` of the server, see `zerodag context` (default: environment variable ZERODAG_CONTEXT, or the context in use)")
	flags.StringArrayVarP(&r.headers, "header", "H", nil, "add a header: `KEY=VALUE[,KEY=VALUE...]` (may be repeated)")
	flags.StringVar(&r.basicAuth, "basic-auth", "", "`USER:PASSWORD`")
	flags.StringVar(&r.token, "token", "", "bearer `TOKEN` (default: environment variable ZERODAG_TOKEN)")
	flags.BoolVar(&r.iam, "iam", false, "sign requests with AWS credentials (default: environment variable ZERODAG_IAM, or client.http.iam of the configuration)")
	flags.BoolVar(&r.noCheck, "disable-version-check", false, "do not ask the server whether it works with this version")
	flags.BoolVar(&r.noCert, "disable-cert-validation", false, "accept any certificate of the server")
	r.registerFormat(c)
	r.register(c)
	_ = c.RegisterFlagCompletionFunc("context", completeContexts) // the flag is there
	return c
}

// begin reads the configuration, before anything is done.
func (r *remote) begin() error {
	if !r.ours() {
		banner(r.err)
	}
	var err error
	if r.settings, err = r.load(); err == nil {
		r.tell(r.err, r.settings)
	}
	return err
}

// open is ready to talk to the server, which was asked whether it works with us.
func (r *remote) open(ctx context.Context) error {
	if r.settings == nil {
		if err := r.begin(); err != nil {
			return err
		}
	}
	if err := r.connect(); err != nil {
		return err
	}
	if r.noCheck {
		return nil
	}
	return r.checkVersion(ctx)
}

// connect makes the client; nothing is sent yet.
func (r *remote) connect() error {
	endpoint, named, err := r.chooseServer(os.Getenv)
	if err != nil {
		return err
	}
	way, err := r.findAccess(os.Getenv, named)
	if err != nil {
		return err
	}
	header, err := r.allHeaders(way)
	if err != nil {
		return err
	}
	if way == (access{}) && header.Get("Authorization") != "" {
		way.source = "the header Authorization that was given"
	}
	o := client.Options{
		Endpoint: endpoint,
		Header:   header,
		Agent:    "zerodag/" + version() + " (" + runtime.GOOS + ")",
		Insecure: r.noCert,
		NoDirect: strings.EqualFold(strings.TrimSpace(r.settings["client.http.disable_direct_download"]), "true"),
		Env:      os.Getenv,
		Access:   way.String(),
	}
	if way.iam {
		o.Sign = iam.New(context.Background()).Sign
	}
	r.Client, err = client.New(o)
	return err
}

// allHeaders are those of the configuration, then of the command line over them.
func (r *remote) allHeaders(way access) (http.Header, error) {
	header := http.Header{}
	for _, key := range sortedKeys(r.settings) {
		if name, ok := strings.CutPrefix(key, "client.http.headers."); ok {
			header.Set(name, r.settings[key])
		}
	}
	if way.token != "" {
		header.Set("Authorization", "Bearer "+way.token)
	}
	if err := addHeaders(header, r.headers, r.basicAuth); err != nil {
		return nil, err
	}
	return header, nil
}

func addHeaders(header http.Header, values []string, basicAuth string) error {
	pairs, err := splitPairs("--header", values)
	if err != nil {
		return err
	}
	for _, p := range pairs {
		if p.key == "" {
			return usageError{fmt.Errorf("--header =%s names no header: it must be of the form NAME=VALUE", p.value)}
		}
		header.Set(p.key, p.value)
	}
	if basicAuth == "" {
		return nil
	}
	if user, password, ok := strings.Cut(basicAuth, ":"); !ok || user == "" || password == "" {
		return usageError{errors.New("Expected format: username:password")}
	}
	header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(basicAuth)))
	return nil
}

// checkVersion ends the command when the server does not work with this client. When it
// only recommends a newer one, a person is stopped and a script is warned.
func (r *remote) checkVersion(ctx context.Context) error {
	k, err := r.Check(ctx)
	if err != nil {
		return err
	}
	versions := fmt.Sprintf("(client: %s, server: %s)", client.APIVersion, k.ServerVersion)
	const remedy = "install a version of zerodag that fits the server, or try --disable-version-check"
	switch {
	case !k.APICompatible:
		return fmt.Errorf("This client version is not API compatible to the server %s.\nhint: %s", versions, remedy)
	case !k.UpgradeRecommended:
		return nil
	}
	batch, err := r.batchMode()
	if err != nil {
		return err
	}
	if !batch {
		return fmt.Errorf("This client version is obsoleted. It is recommended to upgrade %s.\nhint: %s", versions, remedy)
	}
	fmt.Fprintf(r.err, "warning: This client version is obsoleted. This client is subject to be incompatible and stop working in near future %s.\nhint: %s\n", versions, remedy)
	return nil
}

func (r *remote) batchMode() (bool, error) {
	switch mode := r.settings["io.digdag.cli.versionCheckMode"]; mode {
	case "":
		in, ok := r.in.(*os.File)
		return !ok || !term.IsTerminal(int(in.Fd())), nil
	case "batch":
		return true, nil
	case "interactive":
		return false, nil
	}
	return false, errors.New("io.digdag.cli.versionCheckMode must be batch or interactive")
}
