package projectfiles

import (
	"archive/tar"
	"errors"

	"zerodag/internal/host"
)

// Admit returns the error with which Pack would fail for the project, or with which Inspect would refuse its archive.
// It reads no file's content, unless the archive may be larger than limits.Compressed.
func (p Project) Admit(copyOutgoing bool, limits Limits) error {
	limits = limits.orDefault()
	u := &unpacking{limits: limits, seen: map[string]byte{}}
	k := &packer{project: p, Packing: Packing{CopyOutgoing: copyOutgoing}, archive: judge{u}, headersOnly: true}
	if err := k.all(); err != nil {
		return refusalOr(err)
	}
	if u.total+int64(u.entries)*perEntry <= limits.Compressed {
		return nil
	}
	_, err := p.Pack(&atMost{left: limits.Compressed, refusal: compressedRefusal(limits.Compressed)}, k.Packing)
	return refusalOr(err)
}

// refusalOr returns the refusal in an error, as Inspect would return it, or the error.
func refusalOr(err error) error {
	var refused *host.Error
	if errors.As(err, &refused) {
		return refused
	}
	return err
}

// judge checks the entries of an archive without writing it.
type judge struct{ u *unpacking }

func (j judge) WriteHeader(h *tar.Header) error { return j.u.entry(h, nil) }
func (j judge) Write(b []byte) (int, error)     { return len(b), nil }

// atMost discards a limited number of bytes.
type atMost struct {
	left    int64
	refusal error
}

func (w *atMost) Write(b []byte) (int, error) {
	if w.left -= int64(len(b)); w.left < 0 {
		return 0, w.refusal
	}
	return len(b), nil
}

// IsRefusal reports whether an error from Admit is a refusal of the archive, rather than a failure to create it.
func IsRefusal(err error) bool {
	var refused *host.Error
	return errors.As(err, &refused)
}
