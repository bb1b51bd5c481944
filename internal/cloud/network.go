package cloud

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"zerodag/internal/egress"
	"zerodag/operators"
)

// network returns the network through which tasks connect. It blocks the function's own machine, where Lambda's
// interface would accept a response from any caller that has a request's id, and services that trust any caller on that
// machine. In tests, where AWS itself is simulated on this machine, there is nothing to protect: in that case, it
// returns nil, which means the machine's network.
func network(account aws.Config) operators.Network {
	if account.BaseEndpoint == nil {
		return &egress.Dialer{}
	}
	at, err := url.Parse(*account.BaseEndpoint)
	if err != nil {
		return &egress.Dialer{}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", at.Hostname())
	if err != nil || slices.ContainsFunc(addresses, func(a netip.Addr) bool { return !a.Unmap().IsLoopback() }) {
		return &egress.Dialer{}
	}
	return nil
}
