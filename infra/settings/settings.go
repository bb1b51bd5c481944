package settings

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"zerodag/internal/env"
)

// Settings are those of one deployment. Default has what a file need not say; the comments are
// those of the schema and of stages/example.yaml.
type Settings struct {
	// Stage names the deployment; several may be in one account. It is the name of the file.
	Stage string `yaml:"-"`

	Architecture       string            `yaml:"architecture" enum:"arm64,x86_64" doc:"of the functions; arm64 is a fifth cheaper"`
	Memory             int               `yaml:"memory" least:"256" most:"10240" doc:"MiB of executor, agent and upload; 1769 is a vCPU"`
	Agents             int               `yaml:"agents" least:"2" most:"1000" doc:"runs of tasks at the same time"`
	Executors          int               `yaml:"executors" least:"0" most:"1000" doc:"attempts that are moved on at the same time; 0 is half of agents, at least 2"`
	Reserve            bool              `yaml:"reserve" doc:"concurrency is set aside for each function; the account must keep 100 besides"`
	LeaseSeconds       int               `yaml:"leaseSeconds" least:"5" most:"600" doc:"lease of a task in seconds; a crash is noticed after that"`
	AttemptLimit       int               `yaml:"attemptLimit" least:"1" most:"1000000" doc:"unfinished attempts of a site"`
	TaskLimit          int               `yaml:"taskLimit" least:"1" most:"100000" doc:"tasks of an attempt"`
	AttemptDays        int               `yaml:"attemptDays" least:"0" most:"3650" doc:"days that attempts and their sessions are kept after their end; 0 is for ever"`
	ArchiveDays        int               `yaml:"archiveDays" least:"0" most:"3650" doc:"days that archives which nothing needs are kept after the next revision; 0 is for ever"`
	AuditDays          int               `yaml:"auditDays" least:"0" most:"3650" doc:"days that the audit log is kept; 0 is for ever"`
	LogDays            int               `yaml:"logDays" least:"1" most:"3650" doc:"days that logs of tasks are kept"`
	SmallLogs          bool              `yaml:"smallLogs" doc:"logs of up to 1 KB are objects, too: 5 dollars a million"`
	BusEvents          string            `yaml:"busEvents" enum:"all,ends,failures,none" doc:"what is put on the bus: 1 dollar a million"`
	AlarmEmail         string            `yaml:"alarmEmail" doc:"who is told of alarms and notices"`
	Dashboard          bool              `yaml:"dashboard" doc:"a dashboard of CloudWatch: 3 dollars a month, the first three of an account are free"`
	DeletionProtection bool              `yaml:"deletionProtection" doc:"the table cannot be deleted; off for the very first deploy, which must be able to undo itself"`
	Tags               map[string]string `yaml:"tags" doc:"of every resource"`

	Domain      string `yaml:"domain" doc:"a name of your own for the API; needs certificate"`
	Certificate string `yaml:"certificate" doc:"ARN of a certificate for domain, in the region of the stage"`
	HostedZone  Zone   `yaml:"hostedZone" doc:"the zone of Route 53 that gets a record for domain; without it the output DomainTarget says what the record is"`

	OIDCIssuer  string   `yaml:"oidcIssuer" doc:"URL of a provider of identities (OpenID Connect) at which people sign in to the page; its client's secret is the parameter /zerodag-keys/STAGE/oidc"`
	OIDCClient  string   `yaml:"oidcClient" doc:"the id by which the provider knows the deployment"`
	OIDCAddress string   `yaml:"oidcAddress" doc:"of the API as browsers call it, https://...; the provider must know oidcAddress/api/x/session/oidc/callback"`
	OIDCName    string   `yaml:"oidcName" doc:"of the provider, on the button"`
	OIDCGroups  string   `yaml:"oidcGroups" doc:"the claim of id tokens that lists groups; Cognito has cognito:groups"`
	OIDCGrants  []string `yaml:"oidcGrants" doc:"who may sign in: WHO=ROLE or WHO=ROLE/SITE, where WHO is an e-mail address, @DOMAIN or group:NAME; the first that fits counts"`

	Cognito       bool   `yaml:"cognito" doc:"a user pool of Cognito is made with the stage, at which people sign in to the page; oidcIssuer and oidcClient stay empty then"`
	CognitoDomain string `yaml:"cognitoDomain" doc:"what the address of its sign-in page begins with, unique in the region; empty is zerodag-STAGE-ACCOUNT"`
	CognitoMFA    string `yaml:"cognitoMfa" enum:"optional,required,off" doc:"whether people have a second factor there, a code of an app"`

	VPC                   string   `yaml:"vpc" doc:"vpc-... of executor, agent and machines; default: machines run in the default VPC of the account; nothing: in one of their own"`
	Subnets               []string `yaml:"subnets" prefix:"subnet-" doc:"of vpc"`
	SecurityGroups        []string `yaml:"securityGroups" prefix:"sg-" doc:"of executor and agent in vpc; none: one is made that lets everything out"`
	CommandSecurityGroups []string `yaml:"commandSecurityGroups" prefix:"sg-" doc:"of machines in vpc; none: one is made that lets everything out"`
	PublicIP              bool     `yaml:"publicIp" doc:"machines in vpc have an address of their own; in the other networks they do"`

	Commands              string   `yaml:"commands" enum:"fargate,none" doc:"where commands (sh>, py> ...) run"`
	Image                 string   `yaml:"image" doc:"of commands that name none"`
	Repositories          []string `yaml:"repositories" doc:"names of private repositories (ECR) of the account that images may come from; * is all"`
	CommandCPU            int      `yaml:"commandCpu" least:"256" most:"16384" doc:"of a machine whose command asks for no size; 1024 is a vCPU"`
	CommandMemory         int      `yaml:"commandMemory" least:"512" most:"122880" doc:"MiB of such a machine"`
	CommandArchitecture   string   `yaml:"commandArchitecture" enum:"x86_64,arm64" doc:"of images; arm64 is a fifth cheaper"`
	TaskRoles             []string `yaml:"taskRoles" doc:"roles that commands may have: SITE/PROJECT=ARN, SITE/*=ARN, or an ARN alone for every project of every site"`
	Spot                  bool     `yaml:"spot" doc:"machines may be taken away, and are cheaper"`
	CommandFunction       bool     `yaml:"commandFunction" doc:"also a function runs commands (sandbox: {executor: lambda})"`
	CommandFunctionMemory int      `yaml:"commandFunctionMemory" least:"512" most:"10240" doc:"MiB of that function; 1769 is a vCPU"`
}

// Zone is a public hosted zone of Route 53.
type Zone struct {
	ID   string `yaml:"id"`
	Name string `yaml:"name"`
}

// DefaultVPC is the word for the network that an account comes with.
const DefaultVPC = "default"

// Default are the settings of a stage whose file says nothing.
func Default(stage string) Settings {
	return Settings{
		Stage: stage, Architecture: "arm64", Memory: 512, Agents: 100, LeaseSeconds: 60, AttemptLimit: 100, TaskLimit: 1000,
		LogDays: 90, BusEvents: "all", DeletionProtection: true,
		Commands: "fargate", Image: "public.ecr.aws/docker/library/python:3.13-slim", Repositories: []string{"*"},
		CommandCPU: 1024, CommandMemory: 2048, CommandArchitecture: "x86_64", CommandFunctionMemory: 1769,
		OIDCName: "single sign-on", OIDCGroups: "groups", CognitoMFA: "optional",
	}
}

// EventConcurrency is how many attempts are moved on at the same time.
func (s Settings) EventConcurrency() int {
	if s.Executors > 0 {
		return max(s.Executors, 2) // Lambda takes no less
	}
	return max(s.Agents/2, 2)
}

// Placed says that functions which run operators are in a VPC.
func (s Settings) Placed() bool { return s.VPC != "" && s.VPC != DefaultVPC }

// HasMachines says that commands run on Fargate.
func (s Settings) HasMachines() bool { return s.Commands == "fargate" }

var stageName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,17}$`)

// Validate says what is wrong with the settings as a whole; nil when nothing is. The bounds of
// single values are checked, too, since programs set them without a file.
func (s Settings) Validate() error {
	if err := checkStage(s.Stage); err != nil {
		return err
	}
	if err := s.bounds(); err != nil {
		return err
	}
	for _, role := range s.TaskRoles {
		if _, _, err := env.TaskRole(role); err != nil {
			return fmt.Errorf("taskRoles: %w", err)
		}
	}
	if err := s.signIn(); err != nil {
		return err
	}
	return s.agree()
}

// grant is who may do what; compiled when it is needed, which no other command of the program pays for.
var grant = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(group:[^,\n]+|[^@\s,*?]*@[^@\s,*?]+)=(viewer|operator|admin|owner)(/[0-9]{1,18})?$`)
})

// Grants say who may sign in and as what. Where a user pool is made and nobody is named, its groups are the roles.
func (s Settings) Grants() []string {
	if s.Cognito && len(s.OIDCGrants) == 0 {
		return []string{"group:owner=owner", "group:admin=admin", "group:operator=operator", "group:viewer=viewer"}
	}
	return s.OIDCGrants
}

// Groups are those that the grants name, each once, in their order.
func (s Settings) Groups() (list []string) {
	for _, g := range s.Grants() {
		if group, is := strings.CutPrefix(g[:strings.LastIndex(g, "=")], "group:"); is && !slices.Contains(list, group) {
			list = append(list, group)
		}
	}
	return list
}

// userPool is what Cognito takes; compiled when it is needed.
var userPool = sync.OnceValue(func() (forms struct{ domain, group *regexp.Regexp }) {
	forms.domain = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	forms.group = regexp.MustCompile(`^[\p{L}\p{M}\p{S}\p{N}\p{P}]{1,128}$`)
	return forms
})

// cognito looks at what says how a user pool is made.
func (s Settings) cognito() error {
	if !s.Cognito {
		if s.CognitoDomain != "" {
			return errors.New("cognitoDomain must be given together with cognito: true, which makes the user pool")
		}
		return nil
	}
	if s.OIDCIssuer != "" || s.OIDCClient != "" {
		return errors.New("cognito makes a provider of identities: oidcIssuer and oidcClient must be empty then, or cognito be false for a provider that there is already")
	}
	domain := s.CognitoDomain
	if domain == "" {
		domain = "zerodag-" + s.Stage
	}
	for _, word := range []string{"aws", "amazon", "cognito"} {
		if strings.Contains(domain, word) {
			return fmt.Errorf("cognitoDomain must not contain %s, which AWS keeps for itself, but is %q", word, domain)
		}
	}
	if !userPool().domain.MatchString(domain) {
		return fmt.Errorf("cognitoDomain must be lower-case letters, digits and hyphens, at most 63, but is %q", domain)
	}
	if s.OIDCAddress != "" && !strings.HasPrefix(s.OIDCAddress, "https://") {
		return fmt.Errorf("oidcAddress must be a URL that begins with https:// but is %q", s.OIDCAddress)
	}
	if err := s.grants(); err != nil {
		return err
	}
	for _, group := range s.Groups() {
		if !userPool().group.MatchString(group) {
			return fmt.Errorf("oidcGrants must name groups as Cognito takes them, at most 128 letters, digits and signs without blanks, but has %q", group)
		}
	}
	return nil
}

// grants looks at the form of all grants.
func (s Settings) grants() error {
	for _, g := range s.OIDCGrants {
		if !grant().MatchString(g) {
			return fmt.Errorf("oidcGrants must be WHO=ROLE or WHO=ROLE/SITE, where WHO is an e-mail address, @DOMAIN or group:NAME, but has %q", g)
		}
	}
	return nil
}

// signIn looks at what says who may sign in at a provider of identities.
func (s Settings) signIn() error {
	if err := s.cognito(); err != nil || s.Cognito {
		return err
	}
	if s.OIDCIssuer == "" {
		if s.OIDCClient != "" || s.OIDCAddress != "" || len(s.OIDCGrants) > 0 {
			return errors.New("oidcClient, oidcAddress and oidcGrants must be given together with oidcIssuer, the provider of identities")
		}
		return nil
	}
	for name, address := range map[string]string{"oidcIssuer": s.OIDCIssuer, "oidcAddress": s.OIDCAddress} {
		if !strings.HasPrefix(address, "https://") {
			return fmt.Errorf("%s must be a URL that begins with https:// but is %q", name, address)
		}
	}
	if s.OIDCClient == "" || len(s.OIDCGrants) == 0 {
		return errors.New("oidcIssuer must be given together with oidcClient and with oidcGrants, which say who may sign in")
	}
	return s.grants()
}

// checkStage refuses what is no name of a stage, nor of a file in the folder of stages.
func checkStage(name string) error {
	if !stageName.MatchString(name) {
		return fmt.Errorf("stage must be lower-case letters, digits and hyphens, at most 18, but is %q", name)
	}
	return nil
}

// agree looks at settings that need each other.
func (s Settings) agree() error {
	switch {
	case (s.Domain == "") != (s.Certificate == ""):
		return fmt.Errorf("domain must be given together with certificate, the ARN of one for it, but is %q", s.Domain)
	case s.HostedZone != Zone{} && (s.HostedZone.ID == "" || s.HostedZone.Name == ""):
		return fmt.Errorf("hostedZone must have an id and a name but is %+v", s.HostedZone)
	case s.HostedZone != Zone{} && (s.Domain == "" || s.Domain != s.HostedZone.Name && !strings.HasSuffix(s.Domain, "."+s.HostedZone.Name)):
		return fmt.Errorf("hostedZone must be the zone of domain %q but is %s", s.Domain, s.HostedZone.Name)
	case s.Placed() && (!strings.HasPrefix(s.VPC, "vpc-") || len(s.Subnets) == 0):
		return fmt.Errorf("vpc must be %s, or an id, vpc-..., given together with subnets, but is %q", DefaultVPC, s.VPC)
	case !s.Placed() && len(s.Subnets)+len(s.SecurityGroups)+len(s.CommandSecurityGroups) > 0:
		return fmt.Errorf("subnets, securityGroups and commandSecurityGroups must be given together with vpc, the id of theirs")
	case s.VPC == DefaultVPC && !s.HasMachines():
		return fmt.Errorf("vpc: %s is about machines of commands, and commands is %s", DefaultVPC, s.Commands)
	}
	return nil
}
