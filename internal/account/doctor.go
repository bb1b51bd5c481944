package account

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"zerodag/infra/settings"
	"zerodag/internal/awscall"
)

// Level is the result of a check.
type Level string

// The levels: a deploy will work, will work but hit a limit, may or may not work, or will fail.
const (
	OK      Level = "ok"
	Advice  Level = "advice"
	Unknown Level = "unknown"
	Fail    Level = "fail"
)

// Finding is the result of one check.
type Finding struct {
	Check  string `json:"check" yaml:"check"`
	Level  Level  `json:"level" yaml:"level"`
	What   string `json:"what" yaml:"what"`                         // the current situation
	Change string `json:"change,omitempty" yaml:"change,omitempty"` // the necessary change, with the command
}

// Minimum values needed for a deploy.
const (
	leastBootstrap = 6   // required version of the CDK's bootstrap stack
	leastLeft      = 100 // concurrency that Lambda wants to keep for functions without a reservation
	leastStorage   = 150 // MB of code while Lambda stores two releases in addition to $LATEST
	otherFunctions = 20  // concurrency for the API, the tick and uploads in addition to both queues
)

// Codes of service quotas.
const (
	onDemandCPUs = "L-3032A538"
	spotCPUs     = "L-36FBB829"
	vpcQuota     = "L-F678F1CE"
)

// Doctor checks whether deploying a stage with these settings will succeed and whether the stage will stay up. If the
// credentials do not permit a check, its finding reports that, and the other checks continue. An error means that AWS
// does not respond at all.
func (a *Account) Doctor(ctx context.Context, s settings.Settings) ([]Finding, error) {
	who, err := a.sts.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return nil, fmt.Errorf("identify the AWS credentials: %w", err)
	}
	deployed, err := a.Deployed(ctx, s.Stage)
	if err != nil {
		return nil, err
	}
	stage := Finding{"stage", OK, s.Stage + " is not deployed yet", ""}
	switch deployed {
	case Yes:
		stage.What = s.Stage + " is or was deployed: its table exists"
	case NotAllowed:
		stage.Level, stage.What = Unknown, "whether "+s.Stage+" is deployed is unknown: these credentials lack the permission dynamodb:DescribeTable on its table"
	}
	list := []Finding{{"account", OK, fmt.Sprintf("%s in %s, as %s", aws.ToString(who.Account), a.config.Region, aws.ToString(who.Arn)), ""}, stage}
	for _, c := range []struct {
		name  string
		needs bool
		look  func(context.Context, settings.Settings) (Finding, error)
	}{
		{"bootstrap", true, a.bootstrap},
		{"concurrency", true, a.concurrency},
		{"code storage", s.IsGradual(), a.storage},
		{"ecs role", s.HasMachines(), a.role},
		{"fargate", s.HasMachines(), a.cpus},
		{"vpcs", s.HasMachines() && s.VPC == "" && deployed == No, a.network},
		{"endpoints", s.HasMachines() && s.VPC != "" && !s.Private() && (s.MachinesURL == "api" || s.HostedZone.ID == ""), a.endpoints},
		{"api endpoints", s.Private(), a.entrances},
		{"microvms", s.HasMicrovms(), a.microvms},
		{"secrets", true, a.throughput},
	} {
		if !c.needs {
			continue
		}
		f, err := c.look(ctx, s)
		if err != nil {
			f = Finding{Level: Unknown, What: err.Error()}
		}
		f.Check = c.name
		list = append(list, f)
	}
	return list, nil
}

// bootstrap checks the stack that the CDK deploys with.
func (a *Account) bootstrap(ctx context.Context, s settings.Settings) (Finding, error) {
	who, err := a.sts.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return Finding{}, err
	}
	command := fmt.Sprintf("npx aws-cdk@2 bootstrap aws://%s/%s", aws.ToString(who.Account), a.config.Region)
	if s.Qualifier != settings.CDKQualifier {
		command += fmt.Sprintf(" --qualifier %[1]s --toolkit-stack-name CDKToolkit-%[1]s", s.Qualifier)
	}
	out, err := a.ssm.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String("/cdk-bootstrap/" + s.Qualifier + "/version")})
	var missing *ssmtypes.ParameterNotFound
	if errors.As(err, &missing) {
		return Finding{Level: Fail, What: "the region is not bootstrapped for the CDK with the qualifier " + s.Qualifier, Change: command}, nil
	}
	if err != nil {
		return Finding{}, err
	}
	text := aws.ToString(out.Parameter.Value)
	if version, _ := strconv.Atoi(text); version < leastBootstrap { // a version that is not a number also counts as too old
		return Finding{Level: Fail, What: fmt.Sprintf("bootstrap version %s is too old: %d is required", text, leastBootstrap), Change: command}, nil
	}
	return Finding{Level: OK, What: "version " + text}, nil
}

// concurrency compares the concurrency for both queues, or the reserved concurrency, with the account's limit.
func (a *Account) concurrency(ctx context.Context, s settings.Settings) (Finding, error) {
	out, err := a.lambda.GetAccountSettings(ctx, &lambda.GetAccountSettingsInput{})
	if err != nil {
		return Finding{}, err
	}
	most, free := int(out.AccountLimit.ConcurrentExecutions), int(aws.ToInt32(out.AccountLimit.UnreservedConcurrentExecutions))
	wanted := s.Agents + s.EventConcurrency() + otherFunctions
	if s.Reserve {
		wanted = 0
		for name, n := range s.Reserved() {
			own, err := a.reserved(ctx, s.Stage, name)
			if err != nil {
				return Finding{}, err
			}
			wanted, free = wanted+n, free+own // an update releases the concurrency that the stage has now
		}
	}
	const raise = "aws service-quotas request-service-quota-increase --service-code lambda --quota-code L-B99A9384 --desired-value 1000"
	what := fmt.Sprintf("Lambda runs %d functions at a time, %d of them not reserved; this stage takes up to %d", most, free, wanted)
	fitting := max((free-otherFunctions)*2/3, 2)
	switch {
	case s.Reserve && free < wanted+leastLeft:
		return Finding{Level: Fail, What: what + fmt.Sprintf(" and reserves them, but %d must remain unreserved", leastLeft), Change: "reserve: false in the file of the stage, or " + raise}, nil
	case !s.Reserve && free <= s.Agents+s.EventConcurrency():
		return Finding{Level: Fail, What: what + ": tasks could use them all and leave none for the API", Change: fmt.Sprintf("agents: %d in the file of the stage, or %s", fitting, raise)}, nil
	case free < wanted:
		return Finding{Level: Advice, What: what + ": functions would be throttled", Change: fmt.Sprintf("agents: %d in the file of the stage, or %s", fitting, raise)}, nil
	}
	return Finding{Level: OK, What: what}, nil
}

// storage checks whether Lambda has room for the versions of a gradual deploy.
func (a *Account) storage(ctx context.Context, _ settings.Settings) (Finding, error) {
	out, err := a.lambda.GetAccountSettings(ctx, &lambda.GetAccountSettingsInput{})
	if err != nil {
		return Finding{}, err
	}
	const mega = 1_000_000
	used, most := out.AccountUsage.TotalCodeSize/mega, out.AccountLimit.TotalCodeSize/mega
	what := fmt.Sprintf("Lambda stores %d MB of code in this region; the quota is %d MB", used, most)
	if most-used < leastStorage {
		return Finding{Level: Fail, What: what + fmt.Sprintf("; the versions of a gradual deploy take up to %d MB", leastStorage),
			Change: "gradual: none in the file of the stage, delete unused functions and versions, or ask AWS for a higher quota (Function and layer storage)"}, nil
	}
	return Finding{Level: OK, What: what}, nil
}

// reserved returns the current reservation of one of a stage's functions; 0 if it is not deployed.
func (a *Account) reserved(ctx context.Context, stage, function string) (int, error) {
	out, err := a.lambda.GetFunctionConcurrency(ctx, &lambda.GetFunctionConcurrencyInput{FunctionName: aws.String("zerodag-" + stage + "-" + function)})
	var missing *lambdatypes.ResourceNotFoundException
	if errors.As(err, &missing) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return int(aws.ToInt32(out.ReservedConcurrentExecutions)), nil
}

// ecsRole is the service-linked role for ECS. With spot capacity, a cluster cannot be created without it; otherwise,
// ECS creates both.
const ecsRole = "AWSServiceRoleForECS"

// hasRole reports whether ECS has been used in the account.
func (a *Account) hasRole(ctx context.Context) (bool, error) {
	var answer struct{}
	err := a.calls.Query(ctx, a.global(), url.Values{"Action": {"GetRole"}, "Version": {"2010-05-08"}, "RoleName": {ecsRole}}, &answer)
	var no *awscall.Refusal
	if errors.As(err, &no) && no.Code == "NoSuchEntity" {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look up the service-linked role of ECS: %w", err)
	}
	return true, nil
}

// role checks whether a cluster can be created.
func (a *Account) role(ctx context.Context, s settings.Settings) (Finding, error) {
	there, err := a.hasRole(ctx)
	if err != nil {
		return Finding{}, err
	}
	switch {
	case !there && !s.HasSpot():
		return Finding{Level: OK, What: "the account has no service-linked role for ECS yet; ECS creates it with the first cluster"}, nil
	case !there:
		return Finding{Level: Fail, What: "the account has no service-linked role for ECS, which spot requires: the first deploy would fail", Change: "aws iam create-service-linked-role --aws-service-name ecs.amazonaws.com"}, nil
	}
	return Finding{Level: OK, What: ecsRole}, nil
}

// CreateRole creates the service-linked role for ECS. If the role already exists, that is not an error. If the
// credentials lack the permission to check, CreateRole does nothing, and Doctor reports the missing permission.
func (a *Account) CreateRole(ctx context.Context) error {
	there, err := a.hasRole(ctx)
	if isDenied(err) {
		return nil
	}
	if err != nil || there {
		return err
	}
	var answer struct{}
	err = a.calls.Query(ctx, a.global(), url.Values{"Action": {"CreateServiceLinkedRole"}, "Version": {"2010-05-08"}, "AWSServiceName": {"ecs.amazonaws.com"}}, &answer)
	var no *awscall.Refusal
	if errors.As(err, &no) && no.Code == "InvalidInput" { // another process was faster
		return nil
	}
	if isDenied(err) {
		return nil // Doctor reports that it is missing
	}
	if err != nil {
		return fmt.Errorf("create the service-linked role of ECS: %w", err)
	}
	return nil
}

// quota reads a quota. In some regions, quotas that were never raised have no applied value.
func (a *Account) quota(ctx context.Context, of, code string) (float64, error) {
	var answer struct{ Quota struct{ Value float64 } }
	in, to := map[string]string{"ServiceCode": of, "QuotaCode": code}, a.calls.Regional("servicequotas")
	err := a.calls.Call(ctx, to, "ServiceQuotasV20190624.GetServiceQuota", in, &answer)
	if err != nil {
		if otherwise := a.calls.Call(ctx, to, "ServiceQuotasV20190624.GetAWSDefaultServiceQuota", in, &answer); otherwise != nil {
			return 0, fmt.Errorf("read the quota %s of %s: %w", code, of, err)
		}
	}
	return answer.Quota.Value, nil
}

// cpus compares the size of one machine with the vCPUs that Fargate allows the account.
func (a *Account) cpus(ctx context.Context, s settings.Settings) (Finding, error) {
	code, kind := onDemandCPUs, "on demand"
	if s.Spot {
		code, kind = spotCPUs, "Spot"
	}
	most, err := a.quota(ctx, "fargate", code)
	if err != nil {
		return Finding{}, err
	}
	one := float64(s.CommandCPU) / 1024
	f := Finding{Level: OK, What: fmt.Sprintf("Fargate runs %g vCPUs %s: %d machines of %g vCPUs at a time", most, kind, int(most/one), one)}
	raise := "aws service-quotas request-service-quota-increase --service-code fargate --quota-code " + code + " --desired-value 100"
	if most < one {
		f.Level, f.Change = Fail, "commandCpu: "+strconv.Itoa(int(most*1024))+" in the file of the stage, or "+raise
	} else if most/one < 10 { // the number of machines that one attempt may have (package sandbox)
		f.Level, f.Change = Advice, "the commands of one attempt may use ten machines; other commands wait: "+raise
	}
	return f, nil
}

// network checks whether there is room for the VPC that the stage would create.
func (a *Account) network(ctx context.Context, _ settings.Settings) (Finding, error) {
	most, err := a.quota(ctx, "vpc", vpcQuota)
	if err != nil {
		return Finding{}, err
	}
	n, err := a.vpcs(ctx)
	if err != nil {
		return Finding{}, err
	}
	f := Finding{Level: OK, What: fmt.Sprintf("%d of %g VPCs exist, and this stage creates one", n, most)}
	if float64(n) >= most {
		f.Level, f.Change = Fail, "vpc: default in the file of the stage, or aws service-quotas request-service-quota-increase --service-code vpc --quota-code "+vpcQuota+" --desired-value "+strconv.Itoa(n+5)
	}
	return f, nil
}

// endpoints checks whether machines in a VPC can reach the API. An interface endpoint for execute-api with private DNS
// captures every execute-api address in its VPC, and serves only private APIs.
func (a *Account) endpoints(ctx context.Context, s settings.Settings) (Finding, error) {
	vpc := s.VPC
	if vpc == settings.DefaultVPC {
		var answer struct {
			VPCs []struct {
				ID string `xml:"vpcId"`
			} `xml:"vpcSet>item"`
		}
		form := url.Values{"Action": {"DescribeVpcs"}, "Version": {"2016-11-15"}, "Filter.1.Name": {"is-default"}, "Filter.1.Value.1": {"true"}}
		if err := a.calls.Query(ctx, a.calls.Regional("ec2"), form, &answer); err != nil {
			return Finding{}, fmt.Errorf("look up the default VPC: %w", err)
		}
		if len(answer.VPCs) == 0 {
			return Finding{Level: Fail, What: "the region has no default VPC", Change: "aws ec2 create-default-vpc, or remove vpc from the file of the stage: the stage then creates its own network"}, nil
		}
		vpc = answer.VPCs[0].ID
	}
	var answer struct {
		Endpoints []struct {
			ID      string `xml:"vpcEndpointId"`
			Private bool   `xml:"privateDnsEnabled"`
		} `xml:"vpcEndpointSet>item"`
	}
	form := url.Values{"Action": {"DescribeVpcEndpoints"}, "Version": {"2016-11-15"}, "Filter.1.Name": {"vpc-id"}, "Filter.1.Value.1": {vpc},
		"Filter.2.Name": {"service-name"}, "Filter.2.Value.1": {"com.amazonaws." + a.config.Region + ".execute-api"}}
	if err := a.calls.Query(ctx, a.calls.Regional("ec2"), form, &answer); err != nil {
		return Finding{}, fmt.Errorf("list the endpoints of %s: %w", vpc, err)
	}
	for _, e := range answer.Endpoints {
		switch {
		case e.Private && s.MachinesURL != "api":
			return Finding{Level: Advice, What: fmt.Sprintf("%s has the endpoint %s for execute-api with private DNS: a CNAME for %s would resolve to it", vpc, e.ID, s.Domain),
				Change: "hostedZone in the file of the stage, or an alias record for " + s.Domain + " in Route 53"}, nil
		case e.Private:
			return Finding{Level: Fail, What: fmt.Sprintf("%s has the endpoint %s for execute-api with private DNS: it would reject the requests of machines with status 403", vpc, e.ID),
				Change: "machinesUrl: domain in the file of the stage, with domain, certificate and hostedZone"}, nil
		}
	}
	return Finding{Level: OK, What: vpc + " has no endpoint that blocks machines from the API"}, nil
}

// microvms checks that the region has Lambda MicroVMs, and the version of the base image that the stage builds on.
func (a *Account) microvms(ctx context.Context, s settings.Settings) (Finding, error) {
	const name, gone = "al2023-1", "RECALLED"
	arn := fmt.Sprintf("arn:%s:lambda:%s:aws:microvm-image:%s", a.partition(), a.config.Region, name)
	path, query := "/2025-09-09/managed-microvm-images/"+url.PathEscape(arn)+"/versions", url.Values{}
	var versions []string
	for {
		var page struct {
			Items []struct {
				Version string `json:"imageVersion"`
				Status  string `json:"status"`
			} `json:"items"`
			Next string `json:"nextToken"`
		}
		var refused *awscall.Refusal
		err := a.calls.Get(ctx, a.calls.Regional("lambda"), path, query, &page)
		if errors.As(err, &refused) && noService(refused) {
			return Finding{Level: Fail, What: "the region has no Lambda MicroVMs with the base image " + name, Change: "microvms: none in the file of the stage, or another region"}, nil
		}
		if err != nil {
			return Finding{}, fmt.Errorf("list the versions of the base image of MicroVMs: %w", err)
		}
		for _, v := range page.Items {
			if v.Version == s.MicrovmBaseVersion && v.Status != gone {
				if v.Status == "DEPRECATED" {
					return Finding{Level: Advice, What: fmt.Sprintf("version %s of the base image %s is deprecated", v.Version, name), Change: "microvmBaseVersion in the file of the stage: a later version"}, nil
				}
				return Finding{Level: OK, What: fmt.Sprintf("the region has version %s of the base image %s", v.Version, name)}, nil
			}
			if v.Status != gone {
				versions = append(versions, v.Version)
			}
		}
		if page.Next == "" {
			break
		}
		query.Set("nextToken", page.Next)
	}
	has := "none"
	if len(versions) > 0 {
		has = strings.Join(versions, ", ")
	}
	return Finding{Level: Fail, What: fmt.Sprintf("the base image %s has no usable version %s in this region; usable versions: %s", name, s.MicrovmBaseVersion, has),
		Change: "microvmBaseVersion in the file of the stage: one of these versions"}, nil
}

// noService reports whether the region lacks the service or the image. Lambda answers an unknown path with 403 and the
// message that it cannot determine the operation.
func noService(r *awscall.Refusal) bool {
	return r.Status == http.StatusNotFound || r.Code == "UnknownOperationException" || strings.Contains(r.Message, "Unable to determine service/operation name")
}

// entrances checks the endpoints through which a private API is reached: each must exist, belong to API Gateway and be
// available.
func (a *Account) entrances(ctx context.Context, s settings.Settings) (Finding, error) {
	type endpoint struct {
		ID      string `xml:"vpcEndpointId"`
		Service string `xml:"serviceName"`
		State   string `xml:"state"`
	}
	var answer struct {
		Endpoints []endpoint `xml:"vpcEndpointSet>item"`
	}
	service := "com.amazonaws." + a.config.Region + ".execute-api"
	form := url.Values{"Action": {"DescribeVpcEndpoints"}, "Version": {"2016-11-15"}, "Filter.1.Name": {"vpc-endpoint-id"}}
	for i, id := range s.APIEndpoints {
		form.Set(fmt.Sprintf("Filter.1.Value.%d", i+1), id)
	}
	if err := a.calls.Query(ctx, a.calls.Regional("ec2"), form, &answer); err != nil {
		return Finding{}, fmt.Errorf("describe the endpoints %s: %w", strings.Join(s.APIEndpoints, ", "), err)
	}
	for _, id := range s.APIEndpoints {
		i := slices.IndexFunc(answer.Endpoints, func(e endpoint) bool { return e.ID == id })
		switch {
		case i < 0:
			return Finding{Level: Fail, What: "the account has no endpoint " + id, Change: "apiEndpoints in the file of the stage"}, nil
		case answer.Endpoints[i].Service != service:
			return Finding{Level: Fail, What: fmt.Sprintf("%s is an endpoint for %s", id, answer.Endpoints[i].Service), Change: "apiEndpoints in the file of the stage: endpoints for " + service}, nil
		case answer.Endpoints[i].State != "available":
			return Finding{Level: Advice, What: fmt.Sprintf("%s is %s: the API cannot be reached through it until it is available", id, answer.Endpoints[i].State)}, nil
		}
	}
	return Finding{Level: OK, What: fmt.Sprintf("the API is reached through %s; the DNS record of %s must point there", strings.Join(s.APIEndpoints, ", "), s.Domain)}, nil
}

// vpcs counts the region's VPCs.
func (a *Account) vpcs(ctx context.Context) (int, error) {
	count := 0
	form := url.Values{"Action": {"DescribeVpcs"}, "Version": {"2016-11-15"}, "MaxResults": {"1000"}}
	for {
		var page struct {
			VPCs []struct {
				ID string `xml:"vpcId"`
			} `xml:"vpcSet>item"`
			NextToken string `xml:"nextToken"`
		}
		if err := a.calls.Query(ctx, a.calls.Regional("ec2"), form, &page); err != nil {
			return 0, fmt.Errorf("list the VPCs: %w", err)
		}
		count += len(page.VPCs)
		if page.NextToken == "" {
			return count, nil
		}
		form.Set("NextToken", page.NextToken)
	}
}

// throughput checks the rate at which secrets may be read.
func (a *Account) throughput(ctx context.Context, _ settings.Settings) (Finding, error) {
	const setting = "/ssm/parameter-store/high-throughput-enabled"
	out, err := a.ssm.GetServiceSetting(ctx, &ssm.GetServiceSettingInput{SettingId: aws.String(setting)})
	if err != nil {
		return Finding{}, err
	}
	if aws.ToString(out.ServiceSetting.SettingValue) != "true" {
		return Finding{Level: Advice, What: "the whole account can read 40 secrets a second; tasks wait when more are needed",
			Change: "aws ssm update-service-setting --setting-id " + setting + " --setting-value true (5 cents for 10,000 requests)"}, nil
	}
	return Finding{Level: OK, What: "high throughput is enabled for the Parameter Store"}, nil
}
