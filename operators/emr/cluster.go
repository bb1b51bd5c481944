package emr

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/emr"
	"github.com/aws/aws-sdk-go-v2/service/emr/types"

	"zerodag/engine/param"
	"zerodag/operators"
)

// readCluster reads the mapping `cluster` as the request for a new cluster, without its steps.
func readCluster(s *stage, m *param.Map) (*emr.RunJobFlowInput, []*program, error) {
	o := operators.NewParams(m)
	in := &emr.RunJobFlowInput{Tags: []types.Tag{{Key: new("DIGDAG_CLUSTER_ID"), Value: &s.tag}}}
	for _, f := range []struct {
		key, otherwise string
		to             **string
	}{{"name", "Digdag", &in.Name}, {"release", "emr-5.2.0", &in.ReleaseLabel}, {"logs", "", &in.LogUri},
		{"cluster_role", "EMR_EC2_DefaultRole", &in.JobFlowRole}, {"service_role", "EMR_DefaultRole", &in.ServiceRole}} {
		text, err := o.StringOr(f.key, f.otherwise)
		if err != nil {
			return nil, nil, err
		}
		*f.to = optional(text)
	}
	in.Name = new(deref(in.Name) + " (" + s.tag + ")")
	applications, err := operators.ReadOr(o, "applications", operators.ListOf, []string{"Hadoop", "Hive", "Spark", "Flink"})
	if err != nil {
		return nil, nil, err
	}
	for _, name := range applications {
		in.Applications = append(in.Applications, types.Application{Name: &name})
	}
	visible, err := o.BoolOr("visible", true)
	if err != nil {
		return nil, nil, err
	}
	in.VisibleToAllUsers = &visible
	if in.Configurations, err = readConfigurations(s, o); err != nil {
		return nil, nil, err
	}
	if in.Instances, err = readInstances(s, o); err != nil {
		return nil, nil, err
	}
	actions, programs, err := readBootstrap(s, o)
	in.BootstrapActions = actions
	return in, programs, err
}

func readInstances(s *stage, o *operators.Params) (*types.JobFlowInstancesConfig, error) {
	in := &types.JobFlowInstancesConfig{}
	terminate, err := o.BoolOr("auto_terminate", true)
	if err != nil {
		return nil, err
	}
	in.KeepJobFlowAliveWhenNoSteps = new(!terminate)
	protected, err := o.BoolOr("termination_protected", false)
	if err != nil {
		return nil, err
	}
	in.TerminationProtected = &protected
	zone, err := o.StringOr("availability_zone", "")
	if err != nil {
		return nil, err
	}
	if zone != "" {
		in.Placement = &types.PlacementType{AvailabilityZone: &zone}
	}
	m, err := operators.Read(o, "ec2", param.ParseMap)
	if err != nil {
		return nil, err
	}
	ec2 := operators.NewParams(m)
	key, err := ec2.String("key")
	if err != nil {
		return nil, err
	}
	in.Ec2KeyName = &key
	for name, to := range map[string]**string{"subnet_id": &in.Ec2SubnetId, "emr_managed_master_security_group": &in.EmrManagedMasterSecurityGroup,
		"emr_managed_slave_security_group": &in.EmrManagedSlaveSecurityGroup, "service_access_security_group": &in.ServiceAccessSecurityGroup} {
		text, err := ec2.StringOr(name, "")
		if err != nil {
			return nil, err
		}
		*to = optional(text)
	}
	for name, to := range map[string]*[]string{"additional_master_security_groups": &in.AdditionalMasterSecurityGroups,
		"additional_slave_security_groups": &in.AdditionalSlaveSecurityGroups} {
		if *to, err = operators.ReadOr(ec2, name, operators.ListOf, nil); err != nil {
			return nil, err
		}
	}
	in.InstanceGroups, err = readGroups(s, ec2, in.Ec2SubnetId != nil)
	return in, err
}

// readGroups reads the master, core and task groups; groups without machines are omitted.
func readGroups(s *stage, ec2 *operators.Params, subnet bool) ([]types.InstanceGroupConfig, error) {
	kind := map[bool][2]string{true: {"m4.2xlarge", "m4.xlarge"}, false: {"m3.2xlarge", "m3.xlarge"}}[subnet]
	var groups []types.InstanceGroupConfig
	add := func(m *param.Map, name, machine string, role types.InstanceRoleType) error {
		g, err := readGroup(s, operators.NewParams(m), name, machine, role)
		if err == nil && *g.InstanceCount > 0 {
			groups = append(groups, g)
		}
		return err
	}
	master, err := operators.ReadOr(ec2, "master", param.ParseMap, param.New())
	if err != nil {
		return nil, err
	}
	if err := add(master, "Master", kind[0], types.InstanceRoleTypeMaster); err != nil {
		return nil, err
	}
	core, err := operators.ReadOr(ec2, "core", param.ParseMap, param.New())
	if err != nil {
		return nil, err
	}
	if err := add(core, "Core", kind[1], types.InstanceRoleTypeCore); err != nil {
		return nil, err
	}
	tasks, err := operators.ReadOr(ec2, "task", param.ParseList, nil)
	if err != nil {
		return nil, err
	}
	for i, v := range tasks {
		m, err := param.ParseMap("task", v)
		if err != nil {
			return nil, err
		}
		if err := add(m, fmt.Sprintf("Task %d", i+1), kind[1], types.InstanceRoleTypeTask); err != nil {
			return nil, err
		}
	}
	return groups, nil
}

func readGroup(s *stage, o *operators.Params, name, machine string, role types.InstanceRoleType) (types.InstanceGroupConfig, error) {
	g := types.InstanceGroupConfig{InstanceRole: role}
	for key, f := range map[string]struct {
		otherwise string
		to        **string
	}{"name": {name, &g.Name}, "type": {machine, &g.InstanceType}, "bid_price": {"", &g.BidPrice}} {
		text, err := o.StringOr(key, f.otherwise)
		if err != nil {
			return g, err
		}
		*f.to = optional(text)
	}
	market, err := o.StringOr("market", "")
	if err != nil {
		return g, err
	}
	g.Market = types.MarketType(strings.ToUpper(market))
	count, err := o.Int32Or("count", 0)
	if err != nil {
		return g, err
	}
	if role == types.InstanceRoleTypeMaster {
		count = 1
	}
	g.InstanceCount = &count
	if g.Configurations, err = readConfigurations(s, o); err != nil {
		return g, err
	}
	ebs, err := operators.ReadOr(o, "ebs", param.ParseMap, nil)
	if err != nil || ebs == nil {
		return g, err
	}
	g.EbsConfiguration, err = readEBS(operators.NewParams(ebs))
	return g, err
}

func readEBS(o *operators.Params) (*types.EbsConfiguration, error) {
	in := &types.EbsConfiguration{}
	if o.Has("optimized") {
		optimized, err := o.BoolOr("optimized", false)
		if err != nil {
			return nil, err
		}
		in.EbsOptimized = &optimized
	}
	devices, err := operators.ReadOr(o, "devices", param.ParseList, nil)
	if err != nil {
		return nil, err
	}
	for _, v := range devices {
		m, err := param.ParseMap("devices", v)
		if err != nil {
			return nil, err
		}
		d, err := readDevice(operators.NewParams(m))
		if err != nil {
			return nil, err
		}
		in.EbsBlockDeviceConfigs = append(in.EbsBlockDeviceConfigs, d)
	}
	return in, nil
}

func readDevice(o *operators.Params) (types.EbsBlockDeviceConfig, error) {
	var d types.EbsBlockDeviceConfig
	m, err := operators.Read(o, "volume_specification", param.ParseMap)
	if err != nil {
		return d, err
	}
	volume := operators.NewParams(m)
	kind, err := volume.String("type")
	if err != nil {
		return d, err
	}
	size, err := volume.Int32("size_in_gb")
	if err != nil {
		return d, err
	}
	d.VolumeSpecification = &types.VolumeSpecification{VolumeType: &kind, SizeInGB: &size}
	if volume.Has("iops") {
		iops, err := volume.Int32("iops")
		if err != nil {
			return d, err
		}
		d.VolumeSpecification.Iops = &iops
	}
	if o.Has("volumes_per_instance") {
		n, err := o.Int32("volumes_per_instance")
		if err != nil {
			return d, err
		}
		d.VolumesPerInstance = &n
	}
	return d, nil
}

// readConfigurations reads `configurations`: mappings, or names of files that contain lists of mappings in AWS's form,
// whose keys are capitalized.
func readConfigurations(s *stage, o *operators.Params) ([]types.Configuration, error) {
	list, err := operators.ReadOr(o, "configurations", param.ParseList, nil)
	if err != nil {
		return nil, err
	}
	var out []types.Configuration
	for _, v := range list {
		name, isText := v.(string)
		if !isText || strings.HasPrefix(strings.TrimSpace(name), "{") {
			c, err := readConfiguration(v, "classification", "properties", "configurations")
			if err != nil {
				return nil, err
			}
			out = append(out, c)
			continue
		}
		more, err := configurationFile(s, name)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

func configurationFile(s *stage, name string) ([]types.Configuration, error) {
	path, err := s.task.FileName(name)
	if err != nil {
		return nil, err
	}
	content, err := s.task.Files.Read(path)
	if err != nil {
		return nil, s.task.FileError(path, err)
	}
	text, err := s.task.Template(string(content))
	if err != nil {
		return nil, param.Errorf("%v in %s", err, name)
	}
	list, err := param.ParseList(name, text)
	if err != nil {
		return nil, err
	}
	out := make([]types.Configuration, len(list))
	for i, v := range list {
		if out[i], err = readConfiguration(v, "Classification", "Properties", "Configurations"); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func readConfiguration(v param.Value, classification, properties, configurations string) (types.Configuration, error) {
	var c types.Configuration
	m, err := param.ParseMap(configurations, v)
	if err != nil {
		return c, err
	}
	o := operators.NewParams(m)
	name, err := o.String(classification)
	if err != nil {
		return c, err
	}
	c.Classification = &name
	values, err := operators.ReadOr(o, properties, param.ParseMap, nil)
	if err != nil {
		return c, err
	}
	for key, v := range values.All() {
		if c.Properties == nil {
			c.Properties = map[string]string{}
		}
		if c.Properties[key], err = param.AsString(key, v); err != nil {
			return c, err
		}
	}
	list, err := operators.ReadOr(o, configurations, param.ParseList, nil)
	if err != nil {
		return c, err
	}
	for _, v := range list {
		inner, err := readConfiguration(v, classification, properties, configurations)
		if err != nil {
			return c, err
		}
		c.Configurations = append(c.Configurations, inner)
	}
	return c, nil
}

// readBootstrap reads the actions that run on every machine before the first step.
func readBootstrap(s *stage, o *operators.Params) ([]types.BootstrapActionConfig, []*program, error) {
	list, err := operators.ReadOr(o, "bootstrap", param.ParseList, nil)
	if err != nil {
		return nil, nil, err
	}
	var actions []types.BootstrapActionConfig
	var programs []*program
	for i, v := range list {
		if name, isText := v.(string); isText && !strings.HasPrefix(strings.TrimSpace(name), "{") {
			v = param.New("path", name)
		}
		m, err := param.ParseMap("bootstrap", v)
		if err != nil {
			return nil, nil, err
		}
		action, p, err := readAction(s, operators.NewParams(m), i)
		if err != nil {
			return nil, nil, err
		}
		actions = append(actions, action)
		if p != nil {
			programs = append(programs, p)
		}
	}
	return actions, programs, nil
}

// readAction reads one action; a script on S3 that needs nothing else runs directly.
func readAction(s *stage, o *operators.Params, i int) (types.BootstrapActionConfig, *program, error) {
	var action types.BootstrapActionConfig
	p := newProgram(s, "bootstrap", i)
	script, err := p.required(o, "path")
	if err != nil {
		return action, nil, err
	}
	name, err := o.StringOr("name", script.name)
	if err != nil {
		return action, nil, err
	}
	action.Name = &name
	if err := p.rest(o); err != nil {
		return action, nil, err
	}
	if script.uri != "" && p.bare() {
		action.ScriptBootstrapAction = &types.ScriptBootstrapActionConfig{Path: &script.uri, Args: p.plain}
		return action, nil, nil
	}
	args, plain := p.command, p.plain
	p.command, p.plain = nil, nil
	if err := p.script(script); err != nil {
		return action, nil, err
	}
	p.command, p.plain = append(p.command, args...), append(p.plain, plain...)
	runner, config, err := p.finish()
	action.ScriptBootstrapAction = &types.ScriptBootstrapActionConfig{Path: &runner, Args: []string{config}}
	return action, p, err
}
