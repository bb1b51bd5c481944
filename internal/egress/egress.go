// Package egress opens the connections of tasks on a server with several users: anywhere except to this machine itself
// and to services that trust callers on this machine.
//
// Hosts pass its Dialer to operators and to the HTTP clients. It checks the address to which a name resolves when the
// connection is made, so no name or redirect can bypass it. It must never resolve a name and connect in two steps.
package egress

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// Refused means that a task may not connect to an address.
type Refused struct{ Address string }

func (r *Refused) Error() string {
	return fmt.Sprintf("%s is an address of the machine that runs this task, or of its cloud's metadata service: tasks must not connect there (on a server: security.local_addresses)", r.Address)
}

// Lasting reports that a retry would also be refused.
func (r *Refused) Lasting() bool { return true }

// Dialer connects to every address that is not local. The zero value is ready to use.
type Dialer struct {
	// Except lists addresses ("127.0.0.1:3128") that the administrator allowed: proxies.
	Except []string
	// Own lists the addresses of this machine; nil queries the system.
	Own func() ([]net.Addr, error)
}

// DialContext is like net.Dialer's DialContext, with a limit of 30 seconds.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	if !slices.Contains(d.Except, address) {
		dialer.ControlContext = d.control
	}
	return dialer.DialContext(ctx, network, address)
}

// control checks the connection's address after names have been resolved.
func (d *Dialer) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp4" && network != "tcp6" {
		return &Refused{address}
	}
	if isLocal(to.Addr()) || d.isOwn(to.Addr()) {
		return &Refused{to.Addr().String()}
	}
	return nil
}

// metadata lists the addresses, other than link-local ones, at which clouds serve a machine's credentials.
var metadata = [...]netip.Addr{
	netip.MustParseAddr("fd00:ec2::254"),   // AWS
	netip.MustParseAddr("fd20:ce::254"),    // Google
	netip.MustParseAddr("100.100.100.200"), // Alibaba
	netip.MustParseAddr("192.0.0.192"),     // Oracle
	netip.MustParseAddr("168.63.129.16"),   // Azure
}

// embedded lists the prefixes of IPv6 addresses that stand for an IPv4 address, and the position of that address in the
// 16 bytes.
var embedded = [...]struct {
	prefix netip.Prefix
	at     int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12},
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12},
	{netip.MustParsePrefix("::/96"), 12},
	{netip.MustParsePrefix("2002::/16"), 2},
}

// isLocal reports whether an address always means the local machine or its link, or belongs to a metadata service.
func isLocal(a netip.Addr) bool {
	a = a.WithZone("").Unmap()
	for _, e := range embedded {
		if e.prefix.Contains(a) {
			b := a.As16()
			return a.IsLoopback() || a.IsUnspecified() || isLocal(netip.AddrFrom4([4]byte(b[e.at:e.at+4])))
		}
	}
	thisNetwork := a.Is4() && a.As4()[0] == 0
	return thisNetwork || a.IsLoopback() || a.IsUnspecified() || a.IsLinkLocalUnicast() || a.IsMulticast() || slices.Contains(metadata[:], a)
}

// isOwn reports whether one of this machine's interfaces has the address: services that listen on all interfaces can be
// reached through it. If the addresses are unknown, any address could be this machine's own.
func (d *Dialer) isOwn(a netip.Addr) bool {
	own := d.Own
	if own == nil {
		own = net.InterfaceAddrs
	}
	list, err := own()
	return err != nil || slices.ContainsFunc(list, func(x net.Addr) bool {
		prefix, err := netip.ParsePrefix(x.String())
		return err == nil && prefix.Addr().Unmap() == a.WithZone("").Unmap()
	})
}
