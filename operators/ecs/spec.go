package ecs

import (
	"context"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/aws"
)

// spec is the ECS task that the parameters describe.
type spec struct {
	definition, cluster, container string
	launchType, platform           string
	providers                      []types.CapacityProviderStrategyItem
	subnets, groups                []string
	publicIP                       bool
	command                        []string
	env                            []types.KeyValuePair
	cpu, memory                    int64 // 0: the definition's
	tags                           []types.Tag
}

func read(p *operators.Params) (spec, error) {
	var s spec
	var err error
	if s.definition, err = p.String("_command"); err != nil {
		return s, err
	}
	if s.definition == "" {
		return s, param.Errorf("ecs> needs a task definition: FAMILY, FAMILY:REVISION or an ARN")
	}
	if s.cluster, err = p.StringOr("cluster", "default"); err != nil {
		return s, err
	}
	if s.container, err = p.StringOr("container", ""); err != nil {
		return s, err
	}
	if err := s.readPlace(p); err != nil {
		return s, err
	}
	return s, s.readOverrides(p)
}

// readPlace reads where the task runs.
func (s *spec) readPlace(p *operators.Params) error {
	var err error
	if s.launchType, err = p.StringOr("launch_type", ""); err != nil {
		return err
	}
	s.launchType = strings.ToUpper(s.launchType)
	if s.launchType != "" && !slices.Contains(types.LaunchType("").Values(), types.LaunchType(s.launchType)) {
		return param.Errorf("Illegal launch_type: %s: use FARGATE, EC2, EXTERNAL or MANAGED_INSTANCES", s.launchType)
	}
	if s.providers, err = operators.ReadOr(p, "capacity_provider", asProviders, nil); err != nil {
		return err
	}
	if s.launchType != "" && len(s.providers) > 0 {
		return param.Errorf("Setting both 'launch_type' and 'capacity_provider' is invalid")
	}
	if s.platform, err = p.StringOr("platform_version", ""); err != nil {
		return err
	}
	if s.subnets, err = operators.ReadOr(p, "subnets", operators.ListOf, nil); err != nil {
		return err
	}
	if s.groups, err = operators.ReadOr(p, "security_groups", operators.ListOf, nil); err != nil {
		return err
	}
	if s.publicIP, err = p.BoolOr("assign_public_ip", false); err != nil {
		return err
	}
	if len(s.subnets) == 0 && (len(s.groups) > 0 || s.publicIP) {
		return param.Errorf("'security_groups' and 'assign_public_ip' need 'subnets'")
	}
	return nil
}

// asProviders reads the name of a capacity provider, or a list of {name, weight, base}.
func asProviders(key string, v param.Value) ([]types.CapacityProviderStrategyItem, error) {
	if name, isText := v.(string); isText {
		return []types.CapacityProviderStrategyItem{{CapacityProvider: &name, Weight: 1}}, nil
	}
	list, err := param.AsList(key, v)
	if err != nil {
		return nil, err
	}
	items := make([]types.CapacityProviderStrategyItem, len(list))
	for i, e := range list {
		m, err := param.AsMap(key, e)
		if err != nil {
			return nil, err
		}
		p := operators.NewParams(m)
		name, err := p.String("name")
		if err != nil {
			return nil, err
		}
		weight, err := p.Int32Or("weight", 1)
		if err != nil {
			return nil, err
		}
		base, err := p.Int32Or("base", 0)
		if err != nil {
			return nil, err
		}
		items[i] = types.CapacityProviderStrategyItem{CapacityProvider: &name, Weight: weight, Base: base}
	}
	return items, nil
}

// readOverrides reads the settings that differ from the definition.
func (s *spec) readOverrides(p *operators.Params) error {
	var err error
	if s.command, err = operators.ReadOr(p, "command", operators.ListOf, nil); err != nil {
		return err
	}
	env, err := operators.ReadOr(p, "env", param.AsMap, nil)
	if err != nil {
		return err
	}
	for name, v := range env.All() {
		value, err := aws.AsMessage(name, v)
		if err != nil {
			return err
		}
		s.env = append(s.env, types.KeyValuePair{Name: &name, Value: &value})
	}
	if s.cpu, err = p.IntOr("cpu", 0); err != nil {
		return err
	}
	if s.memory, err = p.IntOr("memory", 0); err != nil {
		return err
	}
	tags, err := operators.ReadOr(p, "tags", param.AsMap, nil)
	if err != nil {
		return err
	}
	for name, v := range tags.All() {
		value, err := aws.AsMessage(name, v)
		if err != nil {
			return err
		}
		s.tags = append(s.tags, types.Tag{Key: &name, Value: &value})
	}
	return nil
}

// input returns the request to run one task; startedBy is used to find it, and token makes repeated requests identical.
func (s spec) input(container, startedBy, token string) *ecs.RunTaskInput {
	in := &ecs.RunTaskInput{TaskDefinition: &s.definition, Cluster: &s.cluster, Count: new(int32(1)), StartedBy: &startedBy, ClientToken: &token,
		LaunchType: types.LaunchType(s.launchType), CapacityProviderStrategy: s.providers, Tags: s.tags}
	if s.platform != "" {
		in.PlatformVersion = &s.platform
	}
	if len(s.subnets) > 0 {
		vpc := &types.AwsVpcConfiguration{Subnets: s.subnets, SecurityGroups: s.groups, AssignPublicIp: types.AssignPublicIpDisabled}
		if s.publicIP {
			vpc.AssignPublicIp = types.AssignPublicIpEnabled
		}
		in.NetworkConfiguration = &types.NetworkConfiguration{AwsvpcConfiguration: vpc}
	}
	overrides := &types.TaskOverride{}
	if s.cpu > 0 {
		overrides.Cpu = new(strconv.FormatInt(s.cpu, 10))
	}
	if s.memory > 0 {
		overrides.Memory = new(strconv.FormatInt(s.memory, 10))
	}
	if len(s.command) > 0 || len(s.env) > 0 {
		overrides.ContainerOverrides = []types.ContainerOverride{{Name: &container, Command: s.command, Environment: s.env}}
	}
	in.Overrides = overrides
	return in
}

// define reads the definition: whose exit code counts, and where its output goes.
func (j *job) define(ctx context.Context) error {
	out, err := j.describeTaskDefinition(ctx, &ecs.DescribeTaskDefinitionInput{TaskDefinition: &j.spec.definition})
	if err != nil {
		return err
	}
	j.log = ""
	var essential, all []string
	for _, c := range out.TaskDefinition.ContainerDefinitions {
		all = append(all, sdk.ToString(c.Name))
		if c.Essential == nil || *c.Essential {
			essential = append(essential, sdk.ToString(c.Name))
		}
	}
	switch {
	case j.spec.container != "" && !slices.Contains(all, j.spec.container):
		return operators.Failf("ecs>: %s has no container %s: its containers are %s", j.spec.definition, j.spec.container, strings.Join(all, ", "))
	case j.spec.container != "":
		j.container = j.spec.container
	case len(essential) == 1:
		j.container = essential[0]
	default:
		return operators.Failf("ecs>: %s has %d essential containers: write in 'container' which one decides the outcome: %s", j.spec.definition, len(essential), strings.Join(all, ", "))
	}
	for _, c := range out.TaskDefinition.ContainerDefinitions {
		if sdk.ToString(c.Name) == j.container {
			j.log = logOf(c)
		}
	}
	return nil
}

// logOf returns where the output of a container is in CloudWatch Logs, without its task's id; "" if it is elsewhere.
func logOf(c types.ContainerDefinition) string {
	if c.LogConfiguration == nil || c.LogConfiguration.LogDriver != types.LogDriverAwslogs {
		return ""
	}
	group, prefix := c.LogConfiguration.Options["awslogs-group"], c.LogConfiguration.Options["awslogs-stream-prefix"]
	if group == "" || prefix == "" {
		return ""
	}
	return group + " " + prefix + "/" + sdk.ToString(c.Name)
}
