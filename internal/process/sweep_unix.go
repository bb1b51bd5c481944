//go:build !linux && !windows

package process

import "syscall"

// sweep ends what is left of the command's process group.
func (d *Driver) sweep(g *group, _ int) { syscall.Kill(-g.id, syscall.SIGKILL) }
