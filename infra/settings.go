package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// settings are the context parameters of a deployment: `cdk deploy -c name=value`.
type settings struct {
	Stage          string // stage: names the deployment; several may be in one account
	Architecture   string // architecture: arm64 or x86_64
	Memory         int    // memory: MiB of executor and agent
	LogDays        int    // logDays: how long task logs are kept
	Attempts       int    // attemptLimit: unfinished attempts of a site
	TaskLimit      int    // taskLimit: tasks of an attempt
	Lease          int    // leaseSeconds: of a task
	Concurrency    int    // agents: at most so many at once
	Domain         string // domain and certificate: a name of your own for the API
	Certificate    string // ARN
	Email          string // alarmEmail: who is told of alarms
	Announce       string // busEvents: what is put on the bus: all, ends, failures or none
	SmallLogs      bool   // smallLogs: also small logs go to the bucket
	Adopt          bool   // adopt: table and buckets of an earlier deployment of this stage are taken over
	VPC            string // vpc, subnets and securityGroups: where operators run; none is Lambda's own network
	Subnets        []string
	SecurityGroups []string          // none: one is made
	Tags           map[string]string // tags: name=value,name=value
	Commands       bool              // commands: fargate, or none
	Image          string            // image: of commands that name none
	CommandCPU     int               // commandCpu and commandMemory: of their machines; 1024 is a vCPU, and MiB
	CommandMemory  int
	// commandArchitecture: of their images, x86_64 or arm64
	CommandArchitecture string
	TaskRoles           []string // taskRoles: ARNs of roles that commands may have
	Spot                bool     // spot: machines may be taken away, and are cheaper
	PublicIP            bool     // publicIp: machines in the VPC that was named have an address of their own
	CommandFunction     bool     // commandFunction: also a function runs commands (sandbox: {executor: lambda})
	FunctionMemory      int      // commandFunctionMemory: of it, MiB; 1769 is a vCPU
	Assets              string   // assets: folder of the built functions
}

// reader collects the first wrong value.
type reader struct {
	node constructs.Node
	err  error
}

func (r *reader) text(name, otherwise string) string {
	if v, ok := r.node.TryGetContext(jsii.String(name)).(string); ok && v != "" {
		return v
	}
	return otherwise
}

func (r *reader) number(name string, otherwise, least, most int) int {
	var n int
	switch v := r.node.TryGetContext(jsii.String(name)).(type) {
	case nil:
		return otherwise
	case float64:
		n = int(v)
	case string:
		var err error
		if n, err = strconv.Atoi(v); err != nil {
			r.wrong(name, fmt.Sprintf("a number between %d and %d", least, most), v)
			return otherwise
		}
	}
	if n < least || n > most {
		r.wrong(name, fmt.Sprintf("a number between %d and %d", least, most), fmt.Sprint(n))
	}
	return n
}

// list reads ids, separated by commas.
func (r *reader) list(name, prefix string) []string {
	text := r.text(name, "")
	if text == "" {
		return nil
	}
	list := strings.Split(text, ",")
	for _, id := range list {
		if !strings.HasPrefix(id, prefix) {
			r.wrong(name, prefix+"...,"+prefix+"...", text)
		}
	}
	return list
}

func (r *reader) wrong(name, form, value string) {
	if r.err == nil {
		r.err = fmt.Errorf("context parameter %s must be %s but is %q", name, form, value)
	}
}

var stageName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,17}$`)

func readSettings(node constructs.Node) (settings, error) {
	r := &reader{node: node}
	s := settings{
		Stage:          r.text("stage", "main"),
		Architecture:   r.text("architecture", "arm64"),
		Memory:         r.number("memory", 512, 256, 10240),
		LogDays:        r.number("logDays", 90, 1, 3650),
		Attempts:       r.number("attemptLimit", 100, 1, 1_000_000),
		TaskLimit:      r.number("taskLimit", 1000, 1, 100_000),
		Lease:          r.number("leaseSeconds", 60, 5, 600),
		Concurrency:    r.number("agents", 100, 2, 1000),
		Domain:         r.text("domain", ""),
		Certificate:    r.text("certificate", ""),
		Email:          r.text("alarmEmail", ""),
		Announce:       r.text("busEvents", "all"),
		SmallLogs:      r.text("smallLogs", "false") == "true",
		Adopt:          r.text("adopt", "false") == "true",
		VPC:            r.text("vpc", ""),
		Subnets:        r.list("subnets", "subnet-"),
		SecurityGroups: r.list("securityGroups", "sg-"),
		Assets:         r.text("assets", "bin/functions"),
		Tags:           map[string]string{},
		Commands:       r.text("commands", "fargate") == "fargate",
		Image:          r.text("image", "public.ecr.aws/docker/library/python:3.13"),
		CommandCPU:     r.number("commandCpu", 1024, 256, 16384),
		CommandMemory:  r.number("commandMemory", 2048, 512, 122880),

		CommandArchitecture: r.text("commandArchitecture", "x86_64"),
		TaskRoles:           r.list("taskRoles", "arn:"),
		Spot:                r.text("spot", "false") == "true",
		PublicIP:            r.text("publicIp", "false") == "true",
		CommandFunction:     r.text("commandFunction", "false") == "true",
		FunctionMemory:      r.number("commandFunctionMemory", 1769, 512, 10240),
	}
	if !stageName.MatchString(s.Stage) {
		r.wrong("stage", "lower-case letters, digits and hyphens, at most 18", s.Stage)
	}
	if !slices.Contains([]string{"all", "ends", "failures", "none"}, s.Announce) {
		r.wrong("busEvents", "all, ends, failures or none", s.Announce)
	}
	if s.Architecture != "arm64" && s.Architecture != "x86_64" {
		r.wrong("architecture", "arm64 or x86_64", s.Architecture)
	}
	if s.CommandArchitecture != "arm64" && s.CommandArchitecture != "x86_64" {
		r.wrong("commandArchitecture", "arm64 or x86_64", s.CommandArchitecture)
	}
	if text := r.text("commands", "fargate"); text != "fargate" && text != "none" {
		r.wrong("commands", "fargate or none", text)
	}
	if (s.Domain == "") != (s.Certificate == "") {
		r.wrong("domain", "given together with certificate, the ARN of one for it", s.Domain)
	}
	if s.VPC != "" && (!strings.HasPrefix(s.VPC, "vpc-") || len(s.Subnets) == 0) {
		r.wrong("vpc", "an id, vpc-..., given together with subnets", s.VPC)
	}
	if s.VPC == "" && len(s.Subnets)+len(s.SecurityGroups) > 0 {
		r.wrong("vpc", "given together with subnets and securityGroups", s.VPC)
	}
	if tags := r.text("tags", ""); tags != "" {
		for pair := range strings.SplitSeq(tags, ",") {
			name, value, ok := strings.Cut(pair, "=")
			if !ok {
				r.wrong("tags", "name=value,name=value", tags)
			}
			s.Tags[name] = value
		}
	}
	return s, r.err
}

func goArchitecture(architecture string) string {
	if architecture == "arm64" {
		return "arm64"
	}
	return "amd64"
}
