package operators

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"zerodag/engine/param"
)

// Sandbox describes where a command runs, and its limits. Zero means the deployment's default.
type Sandbox struct {
	Executor  string        // one of Executors; "" is the deployment's, or docker if Docker is set
	Docker    *param.Map    // `docker:` as written (commands.md#docker); nil for none
	Image     string        // of Docker
	CPU       float64       // vCPUs
	Memory    int64         // bytes
	Disk      int64         // bytes that it may write to its workspace
	Time      time.Duration // after which it is terminated
	Processes int           // at the same time
	Output    int64         // bytes of stdout and stderr
	Role      string        // in AWS, for the command: one that the deployment allows
	Spot      bool          // on capacity that may be reclaimed
	Fresh     bool          // on a machine on which nothing else has run
}

// The command executors.
const (
	InProcess = "process"
	InDocker  = "docker"
	OnFargate = "fargate"
	OnLambda  = "lambda"
	OnMicrovm = "microvm"
)

// Executors returns the values of `sandbox: {executor: …}`.
func Executors() []string { return []string{InProcess, InDocker, OnFargate, OnLambda, OnMicrovm} }

// sandbox returns the sandbox of the task.
func (t *Task) sandbox() (Sandbox, error) { return ReadSandbox(t.Params) }

// ReadSandbox reads `docker` and `sandbox` of parameters.
func ReadSandbox(p *Params) (Sandbox, error) {
	docker, err := ReadOr(p, "docker", param.AsMap, nil)
	if err != nil {
		return Sandbox{}, err
	}
	tree, err := ReadOr(p, "sandbox", param.AsMap, param.New())
	if err != nil {
		return Sandbox{}, err
	}
	s := Sandbox{Docker: docker}
	if docker != nil {
		if s.Image, err = NewParams(docker).StringOr("image", ""); err != nil {
			return Sandbox{}, err
		}
	}
	if err := s.read(NewParams(tree)); err != nil {
		return Sandbox{}, err
	}
	for _, key := range tree.Keys() {
		if !slices.Contains(SandboxKeys(), key) {
			return Sandbox{}, param.Errorf("sandbox: unknown key %q: valid keys are %s", key, strings.Join(SandboxKeys(), ", "))
		}
	}
	return s, nil
}

// DockerKeys returns the keys of `docker:`.
func DockerKeys() []string {
	return []string{"image", "build", "build_options", "run_options", "pull_always", "selinux", "docker"}
}

// SandboxKeys returns the keys of `sandbox:`.
func SandboxKeys() []string {
	return []string{"executor", "cpu", "memory", "disk", "timeout", "processes", "output", "role", "spot", "fresh"}
}

func (s *Sandbox) read(p *Params) (err error) {
	if s.Executor, err = p.StringOr("executor", ""); err != nil {
		return err
	}
	if s.Executor != "" && !slices.Contains(Executors(), s.Executor) {
		return param.Errorf("sandbox: executor must be one of %s but is %q", strings.Join(Executors(), ", "), s.Executor)
	}
	if s.CPU, err = ReadOr(p, "cpu", cpus, 0); err != nil {
		return err
	}
	if s.Memory, err = ReadOr(p, "memory", sizeOf, 0); err != nil {
		return err
	}
	if s.Disk, err = ReadOr(p, "disk", sizeOf, 0); err != nil {
		return err
	}
	if s.Output, err = ReadOr(p, "output", sizeOf, 0); err != nil {
		return err
	}
	if s.Time, err = ReadOr(p, "timeout", param.AsDuration, 0); err != nil {
		return err
	}
	processes, err := p.IntOr("processes", 0)
	if err != nil {
		return err
	}
	if processes < 0 || processes > 1<<20 {
		return param.Errorf("sandbox: processes must be a number up to %d but is %d", 1<<20, processes)
	}
	s.Processes = int(processes)
	if s.Role, err = p.StringOr("role", ""); err != nil {
		return err
	}
	if s.Spot, err = p.BoolOr("spot", false); err != nil {
		return err
	}
	s.Fresh, err = p.BoolOr("fresh", false)
	return err
}

func cpus(key string, v param.Value) (float64, error) {
	text, err := param.AsString(key, v)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n > 0 && n <= 1024) {
		return 0, param.Errorf("sandbox: %s must be a number of vCPUs, such as 0.5, but is %s", key, text)
	}
	return n, nil
}

var sizeForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d+(?:\.\d+)?)([kmgt])(?:i?b)?$`) })

func sizeOf(key string, v param.Value) (int64, error) {
	text, err := param.AsString(key, v)
	if err != nil {
		return 0, err
	}
	n, err := ParseSize(text)
	if err != nil {
		return 0, param.Errorf("sandbox: %s %v", key, err)
	}
	return n, nil
}

// ParseSize reads a number of bytes in docker's notation: 512m, 2g.
func ParseSize(text string) (int64, error) {
	m := sizeForm().FindStringSubmatch(strings.ToLower(text))
	if m == nil {
		return 0, fmt.Errorf("must be a size with a unit, such as 512m or 2g, but is %s", text)
	}
	n, err := strconv.ParseFloat(m[1], 64)
	bytes := n * float64(int64(1)<<(10*(1+strings.Index("kmgt", m[2]))))
	if err != nil || bytes < 1 || bytes > 1<<60 {
		return 0, fmt.Errorf("cannot be %s", text)
	}
	return int64(bytes), nil
}

// Size formats bytes in the users' notation.
func Size(bytes int64) string {
	for i, unit := range []string{"TiB", "GiB", "MiB", "KiB"} {
		if one := int64(1) << (10 * (4 - i)); bytes >= one {
			return strconv.FormatFloat(math.Round(float64(bytes)/float64(one)*10)/10, 'f', -1, 64) + " " + unit
		}
	}
	return strconv.FormatInt(bytes, 10) + " bytes"
}

// Reasons why commands are terminated, the same for every executor.

// TooLong reports that a command exceeded its time limit.
func TooLong(limit time.Duration) string {
	return fmt.Sprintf("The command took longer than %v and was killed (sandbox: timeout)", limit)
}

// OutOfMemory reports that a command exceeded its memory limit; 0 means that the limit is unknown.
func OutOfMemory(limit int64) string {
	if limit == 0 {
		return "The command ran out of memory and was killed: give it more (sandbox: memory)"
	}
	return fmt.Sprintf("The command ran out of memory with %s and was killed: give it more (sandbox: memory)", Size(limit))
}

// TooMuchOutput reports that a command wrote too much.
func TooMuchOutput(limit int64) string {
	return fmt.Sprintf("The command wrote more than %s to its log and was killed: write less, or write to a file (sandbox: output)", Size(limit))
}

// TooManyProcesses reports that a command had too many processes.
func TooManyProcesses(limit int) string {
	return fmt.Sprintf("The command had more than %d processes and was killed (sandbox: processes)", limit)
}

// TooMuchDisk reports that a command wrote too many bytes to its workspace.
func TooMuchDisk(limit int64) string {
	return fmt.Sprintf("The command wrote more than %s to its workspace and was killed (sandbox: disk)", Size(limit))
}
