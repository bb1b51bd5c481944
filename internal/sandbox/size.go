package sandbox

import (
	"math"
	"strings"

	"zerodag/engine/param"
	"zerodag/operators"
)

// fargate lists the sizes that Fargate offers: vCPU units and the memory in MiB that each may have.
var fargate = []struct{ cpu, least, most, step int }{
	{256, 512, 2048, 512}, {512, 1024, 4096, 1024}, {1024, 2048, 8192, 1024}, {2048, 4096, 16384, 1024},
	{4096, 8192, 30720, 1024}, {8192, 16384, 61440, 4096}, {16384, 32768, 122880, 8192},
}

// For returns the class of machines for a command whose task has the sandbox b. The receiver is the default class.
func (c Class) For(b operators.Sandbox) (Class, error) {
	if b.Image != "" {
		c.Image = b.Image
	}
	if b.Docker.Has("build") {
		return c, param.Errorf("docker: Fargate cannot build images: push an image to a registry, and name it (docker: {image: …})")
	}
	if c.Image == "" {
		return c, param.Errorf("no image is set for the command: name one (docker: {image: …}), or deploy with a default (image: … in the file of the stage)")
	}
	c.Role, c.Spot = b.Role, b.Spot || c.Spot
	if b.CPU > 0 || b.Memory > 0 || b.Disk > 0 {
		return c.sized(b)
	}
	return c, nil
}

// sized returns the class of the smallest machine that satisfies the command's request.
func (c Class) sized(b operators.Sandbox) (Class, error) {
	c.Own = true
	cpu, memory := int(math.Ceil(b.CPU*1024)), int(math.Ceil(float64(b.Memory)/(1<<20)))
	if b.Disk > 0 {
		c.Disk = max(21, int(math.Ceil(float64(b.Disk)/(1<<30)))+5) // in addition to the image
	}
	if c.Disk > 200 {
		return c, param.Errorf("sandbox: Fargate machines have at most 200 GiB of disk, including the image: %s is too much", operators.Size(b.Disk))
	}
	for _, f := range fargate {
		if f.cpu < cpu || f.most < memory {
			continue
		}
		steps := (max(memory, f.least) - f.least + f.step - 1) / f.step
		size := f.least + steps*f.step
		if f.cpu == 256 && size == 1536 {
			size = 2048
		}
		c.CPU, c.Memory = f.cpu, size
		return c, nil
	}
	return c, param.Errorf("sandbox: Fargate machines have at most 16 vCPUs and 120 GiB of memory: %s is too much", strings.TrimSpace(text(b)))
}

func text(b operators.Sandbox) string {
	out := ""
	if b.CPU > 0 {
		out += param.Text(b.CPU) + " vCPUs "
	}
	if b.Memory > 0 {
		out += operators.Size(b.Memory)
	}
	return out
}
