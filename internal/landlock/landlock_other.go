//go:build !linux

package landlock

// Supported returns ErrUnsupported.
func Supported() error { return ErrUnsupported }

func writable(string) bool { return true }

// Start returns ErrUnsupported: nothing may be started without the restrictions.
func (Rules) Start(string, func() error) error { return ErrUnsupported }
