// Package plainfile reads and writes single files: it reads only regular files of limited size, and replaces a file as a
// whole.
//
// It is for files written by others, because reading a pipe or a device might never end.
package plainfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Open opens a file for reading if it is a regular file of at most the given number of bytes. It does not wait for the
// other end of a pipe, and touches no device.
func Open(open func(name string, flag int, mode fs.FileMode) (*os.File, error), name string, most int64) (*os.File, error) {
	f, err := open(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = notPlain(info)
	}
	if err == nil && info.Size() > most {
		err = tooLarge(most)
	}
	if err != nil {
		f.Close()
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return f, nil
}

func notPlain(info fs.FileInfo) error {
	if info.IsDir() {
		return syscall.EISDIR
	}
	return errors.New("it is not a regular file")
}

func tooLarge(most int64) error {
	return fmt.Errorf("it is larger than the limit of %d bytes", most)
}

// Read reads a file that Open opened, up to the limit even if the file grows in the meantime.
func Read(f *os.File, most int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(content)) > most {
		err = tooLarge(most)
	}
	return content, err
}
