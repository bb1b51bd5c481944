package connection

import (
	"context"
	"errors"
	"fmt"
	"io"

	"zerodag/internal/client"
	"zerodag/internal/term"
)

// CheckVersion returns an error if the server does not work with this client. If the server only recommends a newer
// client, CheckVersion stops an interactive user and warns a script.
func (c *Choice) CheckVersion(ctx context.Context, api *client.Client, in io.Reader, warn io.Writer) error {
	if c.NoCheck {
		return nil
	}
	k, err := api.Check(ctx)
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
	batch, err := c.batchMode(in)
	if err != nil {
		return err
	}
	if !batch {
		return fmt.Errorf("This client version is obsoleted. It is recommended to upgrade %s.\nhint: %s", versions, remedy)
	}
	fmt.Fprintf(warn, "warning: This client version is obsoleted. This client is subject to be incompatible and stop working in near future %s.\nhint: %s\n", versions, remedy)
	return nil
}

func (c *Choice) batchMode(in io.Reader) (bool, error) {
	switch mode := c.Settings["io.digdag.cli.versionCheckMode"]; mode {
	case "":
		_, typed := term.Keyboard(in)
		return !typed, nil
	case "batch":
		return true, nil
	case "interactive":
		return false, nil
	}
	return false, errors.New("io.digdag.cli.versionCheckMode must be batch or interactive")
}
