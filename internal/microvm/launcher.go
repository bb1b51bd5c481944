package microvm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"zerodag/engine/param"
	"zerodag/internal/border"
	"zerodag/internal/sandbox"
)

// Options are the settings of a Launcher.
type Options struct {
	Image string // ARN of the image, which no other stage uses
	// Connector is the ARN of the network connector of machines; "" means the internet.
	Connector string
	URL       string           // the URL of the API
	Now       func() time.Time // nil means time.Now
}

// Launcher is a sandbox.Launcher and a sandbox.Sweeper. It is safe for concurrent use.
type Launcher struct {
	Options
	client *client
}

// New returns a Launcher for machines of an existing image.
func New(c aws.Config, o Options) *Launcher {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Launcher{Options: o, client: newClient(c)}
}

// Check implements sandbox.Launcher: it refuses nothing, because invalid classes were already refused.
func (l *Launcher) Check(sandbox.Class, sandbox.Owner) error { return nil }

// Launch starts a machine for a runner. A repeated call returns the same machine.
func (l *Launcher) Launch(ctx context.Context, r sandbox.Runner, ticket string) (string, error) {
	in, err := l.request(r, ticket)
	if err != nil {
		return "", err
	}
	made, err := l.client.run(ctx, in)
	if err != nil {
		return "", l.refusal(err)
	}
	return made.MicrovmID, nil
}

// Payload is the input for the program in a machine. It is a nested object, because AWS may add names at the top level.
type Payload struct {
	Zerodag Start `json:"zerodag"`
}

// Start contains the address of the API, the runner's ticket and its number of slots.
type Start struct {
	URL    string `json:"url"`
	Ticket string `json:"ticket"`
	Slots  int    `json:"slots"`
}

// mostPayload is the maximum size that the service accepts, in bytes.
const mostPayload = 4096

// request returns the request, which is always the same for a runner because its client token requires that.
func (l *Launcher) request(r sandbox.Runner, ticket string) (runRequest, error) {
	payload, err := json.Marshal(Payload{Start{URL: l.URL, Ticket: ticket, Slots: r.Of.Slots()}})
	if err != nil {
		return runRequest{}, fmt.Errorf("encode the input of a machine: %w", err)
	}
	if len(payload) > mostPayload {
		return runRequest{}, fmt.Errorf("the input of a machine is %d bytes, but Lambda accepts at most %d: the address of the API is too long", len(payload), mostPayload)
	}
	token := sha256.Sum256([]byte(r.Name()))
	return runRequest{ImageIdentifier: l.Image, ClientToken: hex.EncodeToString(token[:16]), MaximumDurationInSeconds: int(sandbox.MicrovmLife / time.Second),
		IngressNetworkConnectors: []string{l.managed("NO_INGRESS")}, EgressNetworkConnectors: []string{cmp.Or(l.Connector, l.managed("INTERNET_EGRESS"))},
		RunHookPayload: string(payload)}, nil
}

// managed returns the ARN of one of AWS's own network connectors, in the partition and region of the image.
func (l *Launcher) managed(name string) string {
	parts := strings.SplitN(l.Image, ":", 5)
	return strings.Join(parts[:min(len(parts), 4)], ":") + ":aws:network-connector:aws-network-connector:" + name
}

// refusal classifies the error of a launch: either the launch is retried later, or the command fails with a reason.
func (l *Launcher) refusal(err error) error {
	switch code := border.Code(err); {
	case slices.Contains(later(), code):
		return fmt.Errorf("%w: %w", sandbox.ErrBusy, err)
	case code == "ResourceNotFoundException":
		return param.Errorf("Lambda cannot find the MicroVM image of this stage, or an active version of it (%v): deploy the stage again", err)
	case code == "ValidationException":
		return param.Errorf("Lambda cannot start a MicroVM: %v", err)
	case errors.Is(err, errNoService):
		return param.Errorf("Lambda MicroVMs may be unavailable in this region (%v): use a machine instead (sandbox: {executor: fargate})", err)
	}
	return border.Translate("start a MicroVM", err)
}

// later returns the error codes after which a launch may succeed later. A conflict is one of these errors: the machine
// was already started with a different ticket, because the key that signs tickets was changed in the meantime.
func later() []string {
	return []string{"ThrottlingException", "TooManyRequestsException", "ServiceQuotaExceededException", "InsufficientCapacityException", "ConflictException"}
}

// Stop terminates a runner's machine. Without an id it does nothing: the API refuses the ticket of such a machine, and
// Sweep terminates it.
func (l *Launcher) Stop(ctx context.Context, r sandbox.Runner, _ string) error {
	if r.Task == "" {
		return nil
	}
	return l.terminate(ctx, r.Task)
}

func (l *Launcher) terminate(ctx context.Context, id string) error {
	err := l.client.terminate(ctx, id)
	if border.Code(err) == "ResourceNotFoundException" {
		return nil
	}
	return border.Translate("terminate MicroVM "+id, err, "ConflictException")
}
