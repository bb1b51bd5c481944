package settings

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"zerodag/internal/env"
)

// Settings holds the settings of one deployment. Default returns the values that a file need not set; the schema and
// stages/example.yaml contain the same comments.
type Settings struct {
	// Stage names the deployment; an account may have several. It is the name of the file.
	Stage string `yaml:"-"`

	Architecture       string            `yaml:"architecture" enum:"arm64,x86_64" doc:"architecture of the functions; arm64 is 20% cheaper"`
	Memory             int               `yaml:"memory" least:"256" most:"10240" doc:"memory of executor, agent and upload in MiB; 1769 MiB is one vCPU"`
	Agents             int               `yaml:"agents" least:"2" most:"1000" doc:"maximum number of concurrent runs of tasks"`
	Executors          int               `yaml:"executors" least:"0" most:"1000" doc:"maximum number of attempts that advance concurrently; 0 is half of agents, at least 2"`
	Reserve            bool              `yaml:"reserve" doc:"reserves concurrency for each function; 100 must remain for the rest of the account"`
	LeaseSeconds       int               `yaml:"leaseSeconds" least:"5" most:"600" doc:"lease of a task in seconds; a crash is detected after that time"`
	AttemptLimit       int               `yaml:"attemptLimit" least:"1" most:"1000000" doc:"maximum number of unfinished attempts of a site"`
	TaskLimit          int               `yaml:"taskLimit" least:"1" most:"100000" doc:"maximum number of tasks of an attempt"`
	AttemptDays        int               `yaml:"attemptDays" least:"0" most:"3650" doc:"days that attempts and their sessions are kept after their end; 0 keeps them forever"`
	ArchiveDays        int               `yaml:"archiveDays" least:"0" most:"3650" doc:"days that unused archives are kept after the next revision; 0 keeps them forever"`
	AuditDays          int               `yaml:"auditDays" least:"0" most:"3650" doc:"days that the audit log is kept; 0 keeps it forever"`
	LogDays            int               `yaml:"logDays" least:"1" most:"3650" doc:"days that task logs are kept"`
	SmallLogs          bool              `yaml:"smallLogs" doc:"also stores logs of up to 1 KB as objects: 5 dollars a million"`
	TaskLogFormat      string            `yaml:"taskLogFormat" enum:"short,digdag" doc:"format of the lines in task logs; digdag includes the thread and the Java class, as in Digdag"`
	BusEvents          string            `yaml:"busEvents" enum:"all,ends,failures,none" doc:"events that are sent to the bus: 1 dollar a million"`
	WarmThroughput     int               `yaml:"warmThroughput" least:"0" most:"40000" doc:"write units a second, and three times as many read units, that the table and its indexes can handle immediately; AWS charges once for an increase and never lowers it; 0: the default for new tables, 4000"`
	AlarmEmail         string            `yaml:"alarmEmail" doc:"email address that receives alarms and notifications; empty: no one receives them until you subscribe to the topic"`
	MetricsOf          []string          `yaml:"metricsOf" doc:"projects, and workflows as PROJECT/WORKFLOW, with their own metrics in CloudWatch: up to 90 cents a month each"`
	Traces             string            `yaml:"traces" doc:"destination of a trace of each attempt: none, xray, or the URL of an OTLP receiver over HTTP"`
	Dashboard          bool              `yaml:"dashboard" doc:"creates a CloudWatch dashboard: 3 dollars a month, the first three of an account are free"`
	DeletionProtection bool              `yaml:"deletionProtection" doc:"protects the table, and the user pool if there is one, from deletion; they remain if the first deploy fails, and the next deploy imports the table"`
	CloudWatchDays     int               `yaml:"cloudWatchDays" least:"1" most:"3653" doc:"retention of the log groups in CloudWatch, in days: 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288 or 3653"`
	Gradual            string            `yaml:"gradual" enum:"none,AllAtOnce,Canary10Percent5Minutes,Canary10Percent10Minutes,Canary10Percent15Minutes,Canary10Percent30Minutes,Linear10PercentEvery1Minute,Linear10PercentEvery2Minutes,Linear10PercentEvery3Minutes,Linear10PercentEvery10Minutes" doc:"how a deploy moves calls to new versions of the functions: a CodeDeploy configuration that rolls back if the new versions fail. none: all calls at once, without rollback"`
	Tags               map[string]string `yaml:"tags" doc:"tags of every resource, and of the machines and task definitions that the stage creates"`
	KMSKey             string            `yaml:"kmsKey" doc:"ARN of a customer-managed KMS key that encrypts everything the stage stores; docs/aws.md has its key policy. Empty: AWS's own keys, which are free"`
	Qualifier          string            `yaml:"qualifier" doc:"qualifier of the CDK bootstrap that deploys the stage (cdk bootstrap --qualifier)"`
	Boundary           string            `yaml:"permissionsBoundary" doc:"name of the policy that limits the permissions of every role of the stage; empty: no limit"`

	Domain       string   `yaml:"domain" doc:"custom domain name for the API; requires certificate"`
	Certificate  string   `yaml:"certificate" doc:"ARN of a certificate for domain, in the region of the stage"`
	HostedZone   Zone     `yaml:"hostedZone" doc:"the zone of Route 53 that gets a record for domain; without it, create the record yourself as the output DomainTarget describes"`
	API          string   `yaml:"api" enum:"public,private" doc:"whether the API is reachable from the internet, or only from the networks of apiEndpoints; private requires domain, certificate and apiEndpoints, and machinesUrl: domain if commands run on Fargate"`
	APIEndpoints []string `yaml:"apiEndpoints" prefix:"vpce-" doc:"interface endpoints for execute-api through which a private API is reached"`
	MachinesURL  string   `yaml:"machinesUrl" enum:"api,domain" doc:"how machines reach the API: through its execute-api address, or through domain, which a VPC with an execute-api endpoint requires"`
	DomainOnly   bool     `yaml:"domainOnly" doc:"disables the execute-api address, so that all requests use domain; requires machinesUrl: domain"`

	IAMGrants []string `yaml:"iamGrants" doc:"permissions of principals that sign requests (--iam): ARN=ROLE, ARN=ROLE/SITE or ARN=ROLE/SITE/PROJECT (more projects after further slashes), where ARN is a role, a user, or arn:aws:iam::ACCOUNT:root for a whole account; the first match applies; empty: every principal is an owner"`

	OIDCIssuer  string   `yaml:"oidcIssuer" doc:"URL of an identity provider (OpenID Connect) for signing in to the web console; its client secret is the parameter /zerodag-keys/STAGE/oidc"`
	OIDCClient  string   `yaml:"oidcClient" doc:"client ID of the deployment at the provider"`
	OIDCAddress string   `yaml:"oidcAddress" doc:"address of the API as browsers call it, https://...; register oidcAddress/api/x/session/oidc/callback with the provider"`
	OIDCName    string   `yaml:"oidcName" doc:"name of the provider on the sign-in button"`
	OIDCGroups  string   `yaml:"oidcGroups" doc:"the claim of id tokens that lists groups; Cognito has cognito:groups"`
	OIDCGrants  []string `yaml:"oidcGrants" doc:"who may sign in: WHO=ROLE, WHO=ROLE/SITE or WHO=ROLE/SITE/PROJECT (more projects after further slashes), where WHO is an email address, @DOMAIN or group:NAME; the first match applies"`

	Cognito       bool   `yaml:"cognito" doc:"creates a Cognito user pool for signing in to the web console; leave oidcIssuer and oidcClient empty"`
	CognitoDomain string `yaml:"cognitoDomain" doc:"first part of the address of its sign-in page, unique in the region; empty is zerodag-STAGE-ACCOUNT"`
	CognitoMFA    string `yaml:"cognitoMfa" enum:"optional,required,off" doc:"whether users need a second factor, a code from an app"`

	VPC                   string   `yaml:"vpc" doc:"VPC of executor, agent and machines (vpc-...); default: machines run in the default VPC of the account; empty: machines run in a VPC that the stage creates"`
	Subnets               []string `yaml:"subnets" prefix:"subnet-" doc:"subnets of vpc"`
	SecurityGroups        []string `yaml:"securityGroups" prefix:"sg-" doc:"security groups of executor and agent in vpc; empty: the stage creates a group that allows all outbound traffic"`
	CommandSecurityGroups []string `yaml:"commandSecurityGroups" prefix:"sg-" doc:"security groups of machines in vpc; empty: the stage creates a group that allows all outbound traffic"`
	PublicIP              bool     `yaml:"publicIp" doc:"gives machines in vpc a public IP address; in the other networks they always have one"`

	Commands              string   `yaml:"commands" enum:"fargate,none" doc:"where commands (sh>, py> ...) run"`
	Image                 string   `yaml:"image" doc:"image of commands that set none"`
	FetchImage            string   `yaml:"fetchImage" doc:"image of the small container that downloads the runner before a machine starts; must contain sh, wget and sha256sum"`
	Repositories          []string `yaml:"repositories" doc:"private repositories (ECR) that images may come from: names in this account, or ARNs; * is every repository of the account"`
	PullThrough           []string `yaml:"pullThrough" doc:"repository prefixes of the account's pull-through cache rules, such as ecr-public"`
	CommandCPU            int      `yaml:"commandCpu" least:"256" most:"16384" doc:"CPU units of a machine whose command sets no size; 1024 units are one vCPU"`
	CommandMemory         int      `yaml:"commandMemory" least:"512" most:"122880" doc:"memory of such a machine in MiB"`
	CommandArchitecture   string   `yaml:"commandArchitecture" enum:"x86_64,arm64" doc:"architecture of images; arm64 is 20% cheaper"`
	TaskRoles             []string `yaml:"taskRoles" doc:"roles that commands may have: SITE/PROJECT=ARN, SITE/*=ARN, or an ARN alone for every project of every site"`
	Spot                  bool     `yaml:"spot" doc:"runs machines on Fargate Spot, which is cheaper, but AWS may reclaim them"`
	AllowSpot             bool     `yaml:"allowSpot" doc:"lets individual commands request such machines (sandbox: {spot: true}); spot and allowSpot require the service-linked role of ECS in the account (zerodag aws doctor)"`
	CommandFunction       bool     `yaml:"commandFunction" doc:"also creates a function that runs commands (sandbox: {executor: lambda})"`
	CommandFunctionMemory int      `yaml:"commandFunctionMemory" least:"512" most:"10240" doc:"memory of that function in MiB; 1769 MiB is one vCPU"`
	Microvms              string   `yaml:"microvms" enum:"none,allowed,default" doc:"experimental: Lambda MicroVMs (arm64) run commands. allowed: only with sandbox: {executor: microvm}; default: also commands without an executor, image, size or role"`
	MicrovmMemory         int      `yaml:"microvmMemory" least:"512" most:"8192" doc:"memory in MiB that a MicroVM is billed for at least: 512, 1024, 2048, 4096 or 8192; it may use four times as much, and has one vCPU for every 2 GiB of that"`
	MicrovmDockerfile     string   `yaml:"microvmDockerfile" doc:"Dockerfile for the image of MicroVMs, relative to the folder in which the CDK runs; must start from an image of public.ecr.aws/lambda/microvms. Empty: Amazon Linux with Python"`
	MicrovmBaseVersion    string   `yaml:"microvmBaseVersion" doc:"version of Lambda's base image al2023-1 (aws lambda-microvms list-managed-microvm-image-versions)"`
	MicrovmConnector      string   `yaml:"microvmConnector" doc:"ARN of the network connector through which MicroVMs reach the API and the internet; empty: directly"`
}

// Zone is a public hosted zone of Route 53.
type Zone struct {
	ID   string `yaml:"id"`
	Name string `yaml:"name"`
}

// CDKQualifier is the qualifier of a bootstrap that names none.
const CDKQualifier = "hnb659fds"

// XRay is the value of traces for AWS X-Ray.
const XRay = env.XRay

// leastWarm is how many write units per second every on-demand table accepts from the start.
const leastWarm = 4000

// DefaultVPC is the value for the network that every account has.
const DefaultVPC = "default"

// Default returns a stage's settings when its file is empty.
func Default(stage string) Settings {
	return Settings{
		Stage: stage, Architecture: "arm64", Memory: 512, Agents: 100, LeaseSeconds: 60, AttemptLimit: 100, TaskLimit: 1000,
		LogDays: 90, TaskLogFormat: "short", BusEvents: "all", DeletionProtection: true, Qualifier: CDKQualifier, CloudWatchDays: 30, Gradual: "none", API: "public", MachinesURL: "api", Traces: "none",
		Commands: "fargate", Image: "public.ecr.aws/docker/library/python:3.13-slim", FetchImage: "public.ecr.aws/docker/library/alpine:3.22", Repositories: []string{"*"},
		CommandCPU: 1024, CommandMemory: 2048, CommandArchitecture: "x86_64", CommandFunctionMemory: 1769,
		Microvms: "none", MicrovmMemory: 512, MicrovmBaseVersion: "1",
		OIDCName: "single sign-on", OIDCGroups: "groups", CognitoMFA: "optional",
	}
}

// Reserved returns how many concurrent calls `reserve` sets aside for each function, by the name of the function.
func (s Settings) Reserved() map[string]int {
	return map[string]int{"api": 50, "runners": 50, "upload": 10, "tick": 10, "executor": s.EventConcurrency(), "agent": s.Agents}
}

// EventConcurrency returns how many attempts can advance at the same time.
func (s Settings) EventConcurrency() int {
	if s.Executors > 0 {
		return max(s.Executors, 2) // Lambda's minimum
	}
	return max(s.Agents/2, 2)
}

// Placed reports whether functions that run operators are in a VPC.
func (s Settings) Placed() bool { return s.VPC != "" && s.VPC != DefaultVPC }

// HasSpot reports whether Fargate Spot machines can be launched.
func (s Settings) HasSpot() bool { return s.Spot || s.AllowSpot }

// Private reports whether the API is reachable only from private networks.
func (s Settings) Private() bool { return s.API == "private" }

// HasMicrovms reports whether commands may run in Lambda MicroVMs.
func (s Settings) HasMicrovms() bool { return s.Microvms != "none" }

// IsGradual reports whether CodeDeploy moves calls to new versions of functions.
func (s Settings) IsGradual() bool { return s.Gradual != "none" }

// HasMachines reports whether commands run on Fargate.
func (s Settings) HasMachines() bool { return s.Commands == "fargate" }

var stageName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,17}$`)

// Validate returns what is wrong with the settings as a whole, or nil. It also checks the limits of single values,
// because programs set them without a file.
func (s Settings) Validate() error {
	for _, check := range []func() error{s.names, s.bounds, s.images, s.watching, s.metrics, s.microvms, s.tags, s.roles, s.principals, s.signIn, s.agree} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (s Settings) names() error {
	if err := checkStage(s.Stage); err != nil {
		return err
	}
	if !qualifier().MatchString(s.Qualifier) {
		return fmt.Errorf("qualifier must be 1 to 10 letters and digits but is %q", s.Qualifier)
	}
	return nil
}

// watching checks logs, their key and traces.
func (s Settings) watching() error {
	if days := retentions(); !slices.Contains(days, s.CloudWatchDays) {
		return fmt.Errorf("cloudWatchDays must be a retention that CloudWatch accepts (%s) but is %d", strings.Trim(fmt.Sprint(days), "[]"), s.CloudWatchDays)
	}
	if s.KMSKey != "" && !key().MatchString(s.KMSKey) {
		return fmt.Errorf("kmsKey must be the ARN of a key, arn:aws:kms:REGION:ACCOUNT:key/ID, but is %q", s.KMSKey)
	}
	if u, err := url.Parse(s.Traces); s.Traces != "none" && s.Traces != XRay && (err != nil || u.Scheme != "https" || u.Host == "") {
		return fmt.Errorf("traces must be none, xray or a URL that begins with https:// but is %q", s.Traces)
	}
	return nil
}

func (s Settings) metrics() error {
	if len(s.MetricsOf) > mostMetrics {
		return fmt.Errorf("metricsOf must name at most %d projects and workflows but names %d", mostMetrics, len(s.MetricsOf))
	}
	for _, name := range s.MetricsOf {
		if project, workflow, both := strings.Cut(name, "/"); project == "" || both && workflow == "" || len(name) > mostName {
			return fmt.Errorf("metricsOf must name projects, or workflows as PROJECT/WORKFLOW, in at most %d bytes, but has %q", mostName, name)
		}
	}
	return nil
}

func (s Settings) roles() error {
	if s.Boundary != "" && !policyName().MatchString(s.Boundary) {
		return fmt.Errorf("permissionsBoundary must be the name of a policy, not its ARN, but is %q", s.Boundary)
	}
	for _, role := range s.TaskRoles {
		if _, _, err := env.TaskRole(role); err != nil {
			return fmt.Errorf("taskRoles: %w", err)
		}
	}
	return nil
}

// key matches the ARN of a KMS key. IAM policies cannot name a key by its ID or alias.
var key = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]{1,64}$`)
})

// retentions lists the retention periods that CloudWatch accepts (PutRetentionPolicy), in days.
func retentions() []int {
	return []int{1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653}
}

// registries holds the patterns of image and repository names, compiled on first use.
var registries = sync.OnceValue(func() (forms struct{ name, arn, prefix, image *regexp.Regexp }) {
	forms.name = regexp.MustCompile(`^[a-z0-9*?][a-z0-9*?._/-]{0,255}$`)
	forms.arn = regexp.MustCompile(`^arn:aws[a-z-]*:ecr:[a-z0-9*-]+:([0-9]{12}|\*):repository/[a-z0-9*?][a-z0-9*?._/-]{0,255}$`)
	forms.prefix = regexp.MustCompile(`^[a-z0-9][a-z0-9._/-]{0,29}$`)
	forms.image = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._:/@-]{0,254}$`)
	return forms
})

// images checks the settings about images and registries.
func (s Settings) images() error {
	forms := registries()
	for name, image := range map[string]string{"image": s.Image, "fetchImage": s.FetchImage} {
		if !forms.image.MatchString(image) {
			return fmt.Errorf("%s must name an image but is %q", name, image)
		}
	}
	for _, name := range s.Repositories {
		if !forms.name.MatchString(name) && !forms.arn.MatchString(name) {
			return fmt.Errorf("repositories must be names of repositories, or ARNs, arn:aws:ecr:REGION:ACCOUNT:repository/NAME, but has %q", name)
		}
	}
	for _, prefix := range s.PullThrough {
		if !forms.prefix.MatchString(prefix) {
			return fmt.Errorf("pullThrough must be prefixes of repositories, such as ecr-public, but has %q", prefix)
		}
	}
	return nil
}

// microvmForms holds the patterns of settings about MicroVMs, compiled on first use.
var microvmForms = sync.OnceValue(func() (forms struct{ connector, version *regexp.Regexp }) {
	forms.connector = regexp.MustCompile(`^arn:aws[a-z-]*:lambda:[a-z0-9-]+:([0-9]{12}|aws):network-connector:[a-zA-Z0-9_:-]{1,100}$`)
	forms.version = regexp.MustCompile(`^[0-9A-Za-z._-]{1,64}$`)
	return forms
})

// microvms checks the settings about MicroVMs.
func (s Settings) microvms() error {
	switch sizes := []int{512, 1024, 2048, 4096, 8192}; {
	case s.HasMicrovms() && !s.HasMachines():
		return errors.New("microvms requires commands: fargate, for commands that MicroVMs cannot run")
	case !slices.Contains(sizes, s.MicrovmMemory):
		return fmt.Errorf("microvmMemory must be 512, 1024, 2048, 4096 or 8192, the sizes that Lambda has, but is %d", s.MicrovmMemory)
	case !microvmForms().version.MatchString(s.MicrovmBaseVersion):
		return fmt.Errorf("microvmBaseVersion must be a version of Lambda's base image but is %q", s.MicrovmBaseVersion)
	case s.MicrovmConnector != "" && !microvmForms().connector.MatchString(s.MicrovmConnector):
		return fmt.Errorf("microvmConnector must be the ARN of a network connector, arn:aws:lambda:REGION:ACCOUNT:network-connector:NAME, but is %q", s.MicrovmConnector)
	}
	return nil
}

// tag matches the names and values of tags that every AWS service accepts. It is compiled on first use.
var tag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\p{L}\p{Z}\p{N}_.:/=+@-]*$`) })

// tags checks the tags. ECS would reject a bad one only when the first machine starts.
func (s Settings) tags() error {
	if len(s.Tags) > mostTags {
		return fmt.Errorf("at most %d tags are allowed, because AWS allows 50 and the stage adds some, but there are %d", mostTags, len(s.Tags))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Tags)) {
		value := s.Tags[name]
		switch {
		case name == "" || utf8.RuneCountInString(name) > 128 || !tag().MatchString(name) || strings.HasPrefix(strings.ToLower(name), "aws:"):
			return fmt.Errorf("names of tags must be 1 to 128 letters, digits, spaces and _.:/=+-@ that do not start with aws:, but one is %q", name)
		case utf8.RuneCountInString(value) > 256 || !tag().MatchString(value):
			return fmt.Errorf("values of tags must be at most 256 letters, digits, spaces and _.:/=+-@, but %s is %q", name, value)
		}
	}
	return nil
}

// mostMetrics limits the bill for metrics of projects and workflows, and the environment of the functions.
const mostMetrics = 50

// mostName is the longest dimension value that CloudWatch accepts, in bytes.
const mostName = 1024

// mostTags leaves room for the tags that a launch adds.
const mostTags = 40

// qualifier matches the qualifiers that `cdk bootstrap --qualifier` accepts.
var qualifier = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9]{1,10}$`) })

// policyName matches the name of a managed policy in IAM.
var policyName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\w+=,.@-]{1,128}$`) })

// right matches the end of a grant. A role that acts on all sites cannot be limited to projects.
const right = `((metrics|owner)(/[0-9]{1,18})?|(viewer|operator|developer|admin)(/[0-9]{1,18}(/[^/,=\n]+)*)?)$`

// grant matches a grant of a role. It is compiled when it is needed, so that other commands of the program do not pay
// for it.
var grant = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(group:[^,\n]+|[^@\s,*?]*@[^@\s,*?]+)=` + right)
})

// principal matches a grant to an IAM principal.
var principal = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^arn:aws[a-z-]*:iam::[0-9]{12}:(root|(role|user)/([!-~]+/)?[\w+=,.@-]{1,128})=` + right)
})

// principals validates the grants to IAM principals.
func (s Settings) principals() error {
	known := map[string]bool{}
	for _, g := range s.IAMGrants {
		if !principal().MatchString(g) {
			return fmt.Errorf("iamGrants must be ARN=ROLE, ARN=ROLE/SITE or ARN=ROLE/SITE/PROJECT, where ARN is arn:aws:iam::ACCOUNT:role/NAME, arn:aws:iam::ACCOUNT:user/NAME or arn:aws:iam::ACCOUNT:root, but has %q", g)
		}
		arn := g[:strings.LastIndex(g, "=")]
		if known[arn] {
			return fmt.Errorf("iamGrants must name each principal once, but names %s twice", arn)
		}
		known[arn] = true
	}
	return nil
}

// Grants lists who may sign in and with which role. If a user pool is created and no grants are set, its groups are the
// roles.
func (s Settings) Grants() []string {
	if s.Cognito && len(s.OIDCGrants) == 0 {
		return []string{"group:owner=owner", "group:admin=admin", "group:developer=developer", "group:operator=operator", "group:viewer=viewer"}
	}
	return s.OIDCGrants
}

// Groups returns the groups that the grants name, each once, in order.
func (s Settings) Groups() (list []string) {
	for _, g := range s.Grants() {
		if group, is := strings.CutPrefix(g[:strings.LastIndex(g, "=")], "group:"); is && !slices.Contains(list, group) {
			list = append(list, group)
		}
	}
	return list
}

// userPool holds the patterns that Cognito accepts. They are compiled when they are needed.
var userPool = sync.OnceValue(func() (forms struct{ domain, group *regexp.Regexp }) {
	forms.domain = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	forms.group = regexp.MustCompile(`^[\p{L}\p{M}\p{S}\p{N}\p{P}]{1,128}$`)
	return forms
})

// cognito checks the settings of a user pool.
func (s Settings) cognito() error {
	if !s.Cognito {
		if s.CognitoDomain != "" {
			return errors.New("cognitoDomain must be given together with cognito: true, which creates the user pool")
		}
		return nil
	}
	if s.OIDCIssuer != "" || s.OIDCClient != "" {
		return errors.New("cognito: true creates an identity provider: remove oidcIssuer and oidcClient, or set cognito: false to use an existing provider")
	}
	domain := s.CognitoDomain
	if domain == "" {
		domain = "zerodag-" + s.Stage
	}
	for _, word := range []string{"aws", "amazon", "cognito"} {
		if strings.Contains(domain, word) {
			return fmt.Errorf("cognitoDomain must not contain %s, which AWS reserves, but is %q", word, domain)
		}
	}
	if !userPool().domain.MatchString(domain) {
		return fmt.Errorf("cognitoDomain must be at most 63 lower-case letters, digits and hyphens but is %q", domain)
	}
	if s.OIDCAddress != "" && !strings.HasPrefix(s.OIDCAddress, "https://") {
		return fmt.Errorf("oidcAddress must be a URL that begins with https:// but is %q", s.OIDCAddress)
	}
	if err := s.grants(); err != nil {
		return err
	}
	for _, group := range s.Groups() {
		if !userPool().group.MatchString(group) {
			return fmt.Errorf("oidcGrants must name groups as Cognito allows them, with at most 128 characters and no spaces, but has %q", group)
		}
	}
	return nil
}

// grants checks the form of all grants.
func (s Settings) grants() error {
	for _, g := range s.OIDCGrants {
		if !grant().MatchString(g) {
			return fmt.Errorf("oidcGrants must be WHO=ROLE, WHO=ROLE/SITE or WHO=ROLE/SITE/PROJECT, where WHO is an e-mail address, @DOMAIN or group:NAME, but has %q", g)
		}
	}
	return nil
}

// signIn checks the settings for sign-ins with an identity provider.
func (s Settings) signIn() error {
	if err := s.cognito(); err != nil || s.Cognito {
		return err
	}
	if s.OIDCIssuer == "" {
		if s.OIDCClient != "" || s.OIDCAddress != "" || len(s.OIDCGrants) > 0 {
			return errors.New("oidcClient, oidcAddress and oidcGrants must be given together with oidcIssuer, the identity provider")
		}
		return nil
	}
	for name, address := range map[string]string{"oidcIssuer": s.OIDCIssuer, "oidcAddress": s.OIDCAddress} {
		if !strings.HasPrefix(address, "https://") {
			return fmt.Errorf("%s must be a URL that begins with https:// but is %q", name, address)
		}
	}
	if s.OIDCClient == "" || len(s.OIDCGrants) == 0 {
		return errors.New("oidcIssuer must be given together with oidcClient and with oidcGrants, which lists who may sign in")
	}
	return s.grants()
}

// checkStage refuses names that are not valid for a stage, or for a file in the folder of stages.
func checkStage(name string) error {
	if !stageName.MatchString(name) {
		return fmt.Errorf("stage must be at most 18 lower-case letters, digits and hyphens, and begin with a letter, but is %q", name)
	}
	return nil
}

// agree checks settings that depend on each other.
func (s Settings) agree() error {
	for _, check := range []func() error{s.agreeOnAPI, s.agreeOnZone, s.agreeOnNetwork} {
		if err := check(); err != nil {
			return err
		}
	}
	if s.WarmThroughput != 0 && s.WarmThroughput < leastWarm {
		return fmt.Errorf("warmThroughput must be 0 or at least %d, which every new table has, but is %d", leastWarm, s.WarmThroughput)
	}
	return nil
}

// onDomain reports whether all callers of the API can use its domain.
func (s Settings) onDomain() bool {
	return s.Domain != "" && (!s.HasMachines() || s.MachinesURL == "domain")
}

func (s Settings) agreeOnAPI() error {
	switch {
	case (s.Domain == "") != (s.Certificate == ""):
		return fmt.Errorf("domain must be given together with certificate, the ARN of its certificate, but is %q", s.Domain)
	case s.Private() != (len(s.APIEndpoints) > 0):
		return errors.New("api: private must be given together with apiEndpoints, the interface endpoints through which it is reached")
	case s.Private() && !s.onDomain():
		return errors.New("api: private requires domain and certificate, and machinesUrl: domain if commands run on Fargate")
	case s.Private() && s.HostedZone != Zone{}:
		return errors.New("hostedZone is only for a public API: the record of a private API belongs in a private zone and points to an endpoint (docs/aws.md)")
	case s.MachinesURL == "domain" && s.Domain == "":
		return errors.New("machinesUrl: domain requires domain and certificate")
	case s.DomainOnly && !s.onDomain():
		return errors.New("domainOnly requires domain and certificate, and machinesUrl: domain if commands run on Fargate")
	}
	return nil
}

func (s Settings) agreeOnZone() error {
	zone := s.HostedZone
	switch {
	case zone == Zone{}:
	case zone.ID == "" || zone.Name == "":
		return fmt.Errorf("hostedZone must have an id and a name but is %+v", zone)
	case s.Domain == "" || s.Domain != zone.Name && !strings.HasSuffix(s.Domain, "."+zone.Name):
		return fmt.Errorf("hostedZone must be the zone of domain %q but is %s", s.Domain, zone.Name)
	}
	return nil
}

func (s Settings) agreeOnNetwork() error {
	switch {
	case s.Placed() && (!strings.HasPrefix(s.VPC, "vpc-") || len(s.Subnets) == 0):
		return fmt.Errorf("vpc must be %s, or an ID vpc-... given together with subnets, but is %q", DefaultVPC, s.VPC)
	case !s.Placed() && len(s.Subnets)+len(s.SecurityGroups)+len(s.CommandSecurityGroups) > 0:
		return fmt.Errorf("subnets, securityGroups and commandSecurityGroups must be given together with vpc, the ID of their VPC")
	case s.VPC == DefaultVPC && !s.HasMachines():
		return fmt.Errorf("vpc: %s is only for machines that run commands, but commands is %s", DefaultVPC, s.Commands)
	}
	return nil
}
