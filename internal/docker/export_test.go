package docker

import (
	"zerodag/engine/param"
	"zerodag/operators"
)

// Arguments returns the command line for a command in a project's root.
func Arguments(d *Driver, root string, options *param.Map, s operators.Sandbox) []string {
	read, err := d.read(options)
	if err != nil {
		panic(err)
	}
	r := &run{driver: d, settings: read, root: root, name: "zerodag-x", command: operators.Command{Args: []string{"/bin/sh", "x"}, Sandbox: s}}
	return r.arguments(read.image, []string{"A"}, "/dev/null")
}
