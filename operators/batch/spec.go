package batch

import (
	"math"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/aws"
)

// spec is the job that the parameters describe.
type spec struct {
	definition, queue, prefix, share string
	parameters, env, tags            map[string]string
	order                            []string // of env
	command                          []string
	resources                        []types.ResourceRequirement
	array, attempts, priority        int64 // 0 for none
	timeout                          time.Duration
}

// nameForm leaves space for the suffix that makes a name unique for each try.
var nameForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,90}$`) })

func read(p *operators.Params) (spec, error) {
	var s spec
	var err error
	if s.definition, err = p.String("_command"); err != nil {
		return s, err
	}
	if s.definition == "" {
		return s, param.Errorf("batch> needs a job definition: NAME, NAME:REVISION or an ARN")
	}
	if s.queue, err = p.String("queue"); err != nil {
		return s, err
	}
	if s.prefix, err = p.StringOr("name", "zerodag"); err != nil {
		return s, err
	}
	if !nameForm().MatchString(s.prefix) {
		return s, param.Errorf("Illegal job name: %s: use at most 91 letters, digits, hyphens and underscores", s.prefix)
	}
	if s.share, err = p.StringOr("share_identifier", ""); err != nil {
		return s, err
	}
	if err := s.readNumbers(p); err != nil {
		return s, err
	}
	return s, s.readOverrides(p)
}

func (s *spec) readNumbers(p *operators.Params) error {
	var err error
	if s.array, err = within(p, "array_size", 2, 10000); err != nil {
		return err
	}
	if s.attempts, err = within(p, "attempts", 1, 10); err != nil {
		return err
	}
	if s.priority, err = within(p, "scheduling_priority", 0, 9999); err != nil {
		return err
	}
	if s.timeout, err = p.DurationOr("timeout", 0); err != nil {
		return err
	}
	if s.timeout != 0 && (s.timeout < time.Minute || s.timeout > math.MaxInt32*time.Second) {
		return param.Errorf("'timeout' of a job must be from 1m to 24855d, got %v", s.timeout)
	}
	return nil
}

// within reads a number, 0 for none.
func within(p *operators.Params, key string, least, most int64) (int64, error) {
	if !p.Has(key) {
		return 0, nil
	}
	n, err := p.Int(key)
	if err == nil && (n < least || n > most) {
		err = param.Errorf("'%s' must be a number from %d to %d, got %d", key, least, most, n)
	}
	return n, err
}

func (s *spec) readOverrides(p *operators.Params) error {
	var err error
	if s.parameters, _, err = texts(p, "parameters"); err != nil {
		return err
	}
	if s.env, s.order, err = texts(p, "env"); err != nil {
		return err
	}
	if s.tags, _, err = texts(p, "tags"); err != nil {
		return err
	}
	if s.command, err = operators.ReadOr(p, "command", operators.ListOf, nil); err != nil {
		return err
	}
	for _, r := range []struct {
		key  string
		kind types.ResourceType
	}{{"vcpus", types.ResourceTypeVcpu}, {"memory", types.ResourceTypeMemory}, {"gpus", types.ResourceTypeGpu}} {
		value, err := p.StringOr(r.key, "")
		if err != nil {
			return err
		}
		if n, err := strconv.ParseFloat(value, 64); value != "" && (err != nil || n <= 0) {
			return param.Errorf("'%s' must be a number above 0, got %s", r.key, value)
		}
		if value != "" {
			s.resources = append(s.resources, types.ResourceRequirement{Type: r.kind, Value: &value})
		}
	}
	return nil
}

// texts reads a mapping of string values, with the order of its keys.
func texts(p *operators.Params, key string) (map[string]string, []string, error) {
	m, err := operators.ReadOr(p, key, param.AsMap, nil)
	if err != nil || m.Len() == 0 {
		return nil, nil, err
	}
	out := map[string]string{}
	for name, v := range m.All() {
		if out[name], err = aws.AsMessage(name, v); err != nil {
			return nil, nil, err
		}
	}
	return out, m.Keys(), nil
}

func (s spec) input(name string) *batch.SubmitJobInput {
	in := &batch.SubmitJobInput{JobName: &name, JobDefinition: &s.definition, JobQueue: &s.queue, Parameters: s.parameters, Tags: s.tags}
	if s.share != "" {
		in.ShareIdentifier = &s.share
	}
	if s.priority > 0 {
		in.SchedulingPriorityOverride = new(int32(s.priority))
	}
	if s.array > 0 {
		in.ArrayProperties = &types.ArrayProperties{Size: new(int32(s.array))}
	}
	if s.attempts > 0 {
		in.RetryStrategy = &types.RetryStrategy{Attempts: new(int32(s.attempts))}
	}
	if s.timeout > 0 {
		in.Timeout = &types.JobTimeout{AttemptDurationSeconds: new(int32(s.timeout / time.Second))}
	}
	if len(s.command) == 0 && len(s.env) == 0 && len(s.resources) == 0 {
		return in
	}
	in.ContainerOverrides = &types.ContainerOverrides{Command: s.command, ResourceRequirements: s.resources}
	for _, key := range s.order {
		in.ContainerOverrides.Environment = append(in.ContainerOverrides.Environment, types.KeyValuePair{Name: &key, Value: new(s.env[key])})
	}
	return in
}
