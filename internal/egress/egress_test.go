package egress

import (
	"errors"
	"net"
	"testing"
)

// TestRefused proves that no notation of an address leads to this machine, its link or a metadata service, and that no
// other address is refused.
func TestRefused(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	own := func() ([]net.Addr, error) {
		return []net.Addr{&net.IPNet{IP: net.IPv4(192, 0, 2, 7), Mask: net.CIDRMask(24, 32)}}, nil
	}
	for host, refused := range map[string]bool{
		"127.0.0.1": true, "127.1.2.3": true, "localhost": true, "0.0.0.0": true, "0.1.2.3": true, "::": true, "::1": true,
		"::ffff:127.0.0.1": true, "::ffff:169.254.169.254": true, "169.254.169.254": true, "169.254.170.2": true,
		"fe80::1": true, "fd00:ec2::254": true, "64:ff9b::a9fe:a9fe": true, "64:ff9b::7f00:1": true, "::7f00:1": true,
		"2002:7f00:1::": true, "224.0.0.1": true, "100.100.100.200": true, "192.0.2.7": true, "::ffff:192.0.2.7": true,
		"192.0.2.8": false, "10.0.0.1": false, "2001:db8::1": false, "64:ff9b::808:808": false,
	} {
		d := &Dialer{Own: own}
		var err error
		if host == "localhost" {
			_, err = d.DialContext(t.Context(), "tcp", net.JoinHostPort(host, port))
		} else {
			err = d.control(t.Context(), "tcp4", net.JoinHostPort(host, port), nil)
		}
		var no *Refused
		if errors.As(err, &no) != refused {
			t.Errorf("%s: %v", host, err)
		}
	}
	d := &Dialer{Own: func() ([]net.Addr, error) { return nil, errors.New("unknown") }}
	var no *Refused
	if _, err := d.DialContext(t.Context(), "tcp", "192.0.2.8:1"); !errors.As(err, &no) {
		t.Errorf("where the own addresses are unknown: %v", err)
	}
	d = &Dialer{Except: []string{listener.Addr().String()}}
	conn, err := d.DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatalf("a proxy of the administrator: %v", err)
	}
	conn.Close()
}
