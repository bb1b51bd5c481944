package main

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io/fs"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// certificatesFile is where Debian and most programs, Python's and OpenSSL's among them, look for root certificates.
const certificatesFile = "etc/ssl/certs/ca-certificates.crt"

// own returns the files of the layer with the program. An image without a base also gets the files that programs expect
// on every system: users, a folder for temporary files, and the root certificates that Mozilla trusts. A base image has
// these files already.
func (r *release) own(program []byte) []entry {
	folder := fs.ModeDir | 0o755
	entries := []entry{{name: "usr", mode: folder}, {name: "usr/bin", mode: folder}, {name: "usr/bin/zerodag", content: program, mode: 0o755},
		{name: "var", mode: folder}, {name: "var/lib", mode: folder}, {name: "var/lib/zerodag", mode: fs.ModeDir | 0o700, owner: user}}
	if r.base != "" {
		return entries
	}
	return append([]entry{{name: "tmp", mode: fs.ModeDir | fs.ModeSticky | 0o777}, {name: "etc", mode: folder},
		{name: "etc/passwd", content: fmt.Appendf(nil, "root:x:0:0:root:/root:/sbin/nologin\nzerodag:x:%d:%[1]d:zerodag:/var/lib/zerodag:/sbin/nologin\n", user), mode: 0o644},
		{name: "etc/group", content: fmt.Appendf(nil, "root:x:0:\nzerodag:x:%d:\n", user), mode: 0o644},
		{name: "etc/ssl", mode: folder}, {name: "etc/ssl/certs", mode: folder}, {name: certificatesFile, content: certificates(), mode: 0o644}}, entries...)
}

// certificates returns the root certificates that Mozilla trusts without conditions, which a file cannot state, as PEM.
func certificates() []byte {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer accepts everything
		}
	}
	return text.Bytes()
}
