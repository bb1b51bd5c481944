package conformance

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// open lets all users write to a folder and to everything made in it: each command may run as a different user, and in
// some cases several commands write to the same file.
func open(folder string) error {
	if err := os.Chmod(folder, 0o777); err != nil {
		return err
	}
	const user, group, other = 0x01, 0x04, 0x20
	acl := binary.LittleEndian.AppendUint32(nil, 2) // the version of the form
	for _, tag := range []uint16{user, group, other} {
		acl = binary.LittleEndian.AppendUint16(acl, tag)
		acl = binary.LittleEndian.AppendUint16(acl, 7) // rwx
		acl = binary.LittleEndian.AppendUint32(acl, 0xffffffff)
	}
	if err := syscall.Setxattr(folder, "system.posix_acl_default", acl, 0); err != nil && !errors.Is(err, syscall.ENOTSUP) {
		return fmt.Errorf("open %s to all users: %w", folder, err)
	}
	return nil
}
