package files

import (
	"fmt"
	"os"
	"syscall"
)

func stampOf(file string) (stamp, error) {
	info, err := os.Lstat(file)
	if err != nil {
		return stamp{}, err
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}, fmt.Errorf("no details of %s", file)
	}
	if info.IsDir() { // the times of a folder change when commands add or remove files
		return stamp{id: int64(s.Ino), mode: info.Mode()}, nil
	}
	return stamp{id: int64(s.Ino), size: info.Size(), changed: s.Ctim.Nano(), mode: info.Mode()}, nil
}
