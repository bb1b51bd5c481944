package main

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// The versions of interfaces that have one.
const (
	stackVersion   = "2010-05-15"
	roleVersion    = "2010-05-08"
	networkVersion = "2016-11-15"
	metricVersion  = "2010-08-01"
)

// stackTag is the tag that CloudFormation gives to what it makes, and runTag the one that the stack of a
// run gives.
const (
	stackTag = "aws:cloudformation:stack-name"
	runTag   = "zerodag-run"
)

func (a *account) stacks(ctx context.Context) (names []string, err error) {
	status, _, err := a.stackStatus(ctx)
	if err != nil || status == "" || status == "DELETE_COMPLETE" {
		return nil, err
	}
	return []string{a.prefix()}, nil
}

// stackStatus is "" where there is no stack.
func (a *account) stackStatus(ctx context.Context) (status, why string, err error) {
	var out struct {
		Status string `xml:"DescribeStacksResult>Stacks>member>StackStatus"`
		Why    string `xml:"DescribeStacksResult>Stacks>member>StackStatusReason"`
	}
	err = a.form(ctx, "cloudformation", stackVersion, "DescribeStacks", url.Values{"StackName": {a.prefix()}}, &out)
	var r *refusal
	if errors.As(err, &r) && strings.Contains(r.message, "does not exist") {
		return "", "", nil
	}
	return out.Status, out.Why, err
}

// removeStack deletes the stack and waits for that. A deletion that failed is begun once more in the
// next round: a network interface of a machine may need an hour, and mostly needs a minute.
func (a *account) removeStack(ctx context.Context, name string) error {
	var none struct{}
	if err := a.form(ctx, "cloudformation", stackVersion, "DeleteStack", url.Values{"StackName": {name}}, &none); err != nil {
		return err
	}
	for {
		status, why, err := a.stackStatus(ctx)
		switch {
		case err != nil || status == "" || status == "DELETE_COMPLETE":
			return err
		case status == "DELETE_FAILED":
			return fmt.Errorf("CloudFormation says %s", why)
		}
		if err := a.wait(ctx); err != nil {
			return fmt.Errorf("its status is %s: %w", status, err)
		}
	}
}

func (a *account) roles(ctx context.Context) (names []string, err error) {
	for marker := ""; ; {
		var page struct {
			Names  []string `xml:"ListRolesResult>Roles>member>RoleName"`
			More   bool     `xml:"ListRolesResult>IsTruncated"`
			Marker string   `xml:"ListRolesResult>Marker"`
		}
		form := url.Values{"MaxItems": {"1000"}}
		if marker != "" {
			form.Set("Marker", marker)
		}
		if err := a.form(ctx, "iam", roleVersion, "ListRoles", form, &page); err != nil {
			return nil, err
		}
		names = append(names, page.Names...)
		if !page.More {
			return a.owned(names), nil
		}
		marker = page.Marker
	}
}

// ec2 lists what is in the network of the stage, by names of tags or groups that the CDK gives: "x*"
// stands for all that begin so. Of each it returns the first field with a name, which is its id.
func (a *account) ec2(ctx context.Context, action, id, filter, value string) (ids []string, err error) {
	form := url.Values{"Filter.1.Name": {filter}, "Filter.1.Value.1": {value}}
	for {
		var page struct {
			Parts []struct {
				XMLName xml.Name
				Text    string `xml:",chardata"`
				Items   []struct {
					Fields []struct {
						XMLName xml.Name
						Text    string `xml:",chardata"`
					} `xml:",any"`
				} `xml:"item"`
			} `xml:",any"`
		}
		if err := a.form(ctx, "ec2", networkVersion, action, form, &page); err != nil {
			return nil, err
		}
		next := ""
		for _, part := range page.Parts {
			if part.XMLName.Local == "nextToken" {
				next = part.Text
			}
			for _, item := range part.Items {
				for _, f := range item.Fields {
					if f.XMLName.Local == id {
						ids = append(ids, f.Text)
					}
				}
			}
		}
		if next == "" {
			return ids, nil
		}
		form.Set("NextToken", next)
	}
}

func (a *account) vpcs(ctx context.Context) ([]string, error) {
	return a.ec2(ctx, "DescribeVpcs", "vpcId", "tag:Name", "Zerodag-"+a.stage+"/*")
}

func (a *account) groups(ctx context.Context) ([]string, error) {
	return a.ec2(ctx, "DescribeSecurityGroups", "groupId", "group-name", a.prefix()+"-*")
}

// interfaces are those of machines: of the stage's groups, none of which can be deleted before its
// interfaces.
func (a *account) interfaces(ctx context.Context) (all []string, err error) {
	groups, err := a.groups(ctx)
	if err != nil {
		return nil, err
	}
	for _, group := range groups {
		ids, err := a.ec2(ctx, "DescribeNetworkInterfaces", "networkInterfaceId", "group-id", group)
		if err != nil {
			return nil, err
		}
		all = append(all, ids...)
	}
	return all, nil
}

func (a *account) apis(ctx context.Context) (names []string, err error) {
	for next := ""; ; {
		var page struct {
			Items []struct {
				Name  string `json:"name"`
				APIID string `json:"apiId"`
			} `json:"items"`
			NextToken string `json:"nextToken"`
		}
		path := "/v2/apis?maxResults=500"
		if next != "" {
			path += "&nextToken=" + url.QueryEscape(next)
		}
		if err := a.path(ctx, http.MethodGet, "apigateway", path, &page); err != nil {
			return nil, err
		}
		for _, x := range page.Items {
			if a.owns(x.Name) {
				names = append(names, x.APIID+" "+x.Name)
			}
		}
		if next = page.NextToken; next == "" {
			return names, nil
		}
	}
}

func (a *account) alarms(ctx context.Context) (names []string, err error) {
	form := url.Values{"AlarmNamePrefix": {a.prefix() + "-"}}
	for {
		var page struct {
			Names []string `xml:"DescribeAlarmsResult>MetricAlarms>member>AlarmName"`
			Next  string   `xml:"DescribeAlarmsResult>NextToken"`
		}
		if err := a.form(ctx, "monitoring", metricVersion, "DescribeAlarms", form, &page); err != nil {
			return nil, err
		}
		if names = append(names, page.Names...); page.Next == "" {
			return names, nil
		}
		form.Set("NextToken", page.Next)
	}
}

func (a *account) dashboards(ctx context.Context) (names []string, err error) {
	form := url.Values{"DashboardNamePrefix": {a.prefix() + "-"}}
	for {
		var page struct {
			Names []string `xml:"ListDashboardsResult>DashboardEntries>member>DashboardName"`
			Next  string   `xml:"ListDashboardsResult>NextToken"`
		}
		if err := a.form(ctx, "monitoring", metricVersion, "ListDashboards", form, &page); err != nil {
			return nil, err
		}
		if names = append(names, page.Names...); page.Next == "" {
			return names, nil
		}
		form.Set("NextToken", page.Next)
	}
}

// logGroups are the stack's, and those that a service makes when something logs after the end.
func (a *account) logGroups(ctx context.Context) (names []string, err error) {
	for _, prefix := range []string{"/zerodag/" + a.stage, "/aws/vendedlogs/zerodag/" + a.stage, "/aws/lambda/" + a.prefix(), "/aws/ecs/containerinsights/" + a.prefix()} {
		in := map[string]any{"logGroupNamePrefix": prefix}
		for {
			var page struct {
				LogGroups []struct{ LogGroupName string }
				NextToken string
			}
			if err := a.target(ctx, "logs", "Logs_20140328.DescribeLogGroups", in, &page); err != nil {
				return nil, err
			}
			for _, g := range page.LogGroups {
				if a.owns(g.LogGroupName) || a.owns(last(g.LogGroupName, "/")) {
					names = append(names, g.LogGroupName)
				}
			}
			if page.NextToken == "" {
				break
			}
			in["nextToken"] = page.NextToken
		}
	}
	return names, nil
}

func (a *account) removeLogGroup(ctx context.Context, name string) error {
	return a.target(ctx, "logs", "Logs_20140328.DeleteLogGroup", map[string]any{"logGroupName": name}, nil)
}

// listedByName are services whose resources are found by the other lists, which show what is there. That
// of tags also shows for a while what was removed.
const listedByName = " apigateway cloudformation cloudwatch cognito-idp dynamodb ec2 ecs events iam lambda logs s3 scheduler secretsmanager sns sqs ssm "

// keyValue is a tag.
type keyValue struct{ Key, Value string }

// tagged is what the stack has made in services that no other list looks into.
func (a *account) tagged(ctx context.Context) (arns []string, err error) {
	for tag, value := range map[string]string{stackTag: a.prefix(), runTag: a.stage} {
		in := map[string]any{"TagFilters": []any{map[string]any{"Key": tag, "Values": []string{value}}}}
		for {
			var page struct {
				ResourceTagMappingList []struct {
					ResourceARN string
					Tags        []keyValue
				}
				PaginationToken string
			}
			if err := a.target(ctx, "tagging", "ResourceGroupsTaggingAPI_20170126.GetResources", in, &page); err != nil {
				return nil, err
			}
			for _, x := range page.ResourceTagMappingList {
				parts := strings.SplitN(x.ResourceARN, ":", 4)
				if len(parts) == 4 && slices.Contains(x.Tags, keyValue{tag, value}) && !strings.Contains(listedByName, " "+parts[2]+" ") && !slices.Contains(arns, x.ResourceARN) {
					arns = append(arns, x.ResourceARN)
				}
			}
			if page.PaginationToken == "" {
				break
			}
			in["PaginationToken"] = page.PaginationToken
		}
	}
	return arns, nil
}

// userPools are by name; LocalStack has none.
func (a *account) userPools(ctx context.Context) (names []string, err error) {
	if a.near {
		return nil, nil
	}
	in := map[string]any{"MaxResults": 60}
	for {
		var page struct {
			UserPools []struct{ ID, Name string }
			NextToken string
		}
		if err := a.target(ctx, "cognito-idp", "AWSCognitoIdentityProviderService.ListUserPools", in, &page); err != nil {
			return nil, err
		}
		for _, x := range page.UserPools {
			if a.owns(x.Name) {
				names = append(names, x.Name+" "+x.ID)
			}
		}
		if page.NextToken == "" {
			return names, nil
		}
		in["NextToken"] = page.NextToken
	}
}

// removeUserPool takes away first what keeps a pool from being deleted: its protection, and the address of its pages.
func (a *account) removeUserPool(ctx context.Context, name string) error {
	id := last(name, " ")
	var pool struct{ UserPool struct{ Domain string } }
	if err := a.target(ctx, "cognito-idp", "AWSCognitoIdentityProviderService.DescribeUserPool", map[string]any{"UserPoolId": id}, &pool); err != nil {
		return err
	}
	if domain := pool.UserPool.Domain; domain != "" {
		if err := a.target(ctx, "cognito-idp", "AWSCognitoIdentityProviderService.DeleteUserPoolDomain", map[string]any{"UserPoolId": id, "Domain": domain}, nil); err != nil {
			return err
		}
	}
	if err := a.target(ctx, "cognito-idp", "AWSCognitoIdentityProviderService.UpdateUserPool", map[string]any{"UserPoolId": id, "DeletionProtection": "INACTIVE", "AutoVerifiedAttributes": []string{"email"}}, nil); err != nil {
		return err
	}
	return a.target(ctx, "cognito-idp", "AWSCognitoIdentityProviderService.DeleteUserPool", map[string]any{"UserPoolId": id}, nil)
}

// secrets are those of Secrets Manager, by name.
func (a *account) secrets(ctx context.Context) (names []string, err error) {
	in := map[string]any{"MaxResults": 100, "Filters": []any{map[string]any{"Key": "name", "Values": []string{a.prefix()}}}}
	for {
		var page struct {
			SecretList []struct{ Name string }
			NextToken  string
		}
		if err := a.target(ctx, "secretsmanager", "secretsmanager.ListSecrets", in, &page); err != nil {
			return nil, err
		}
		for _, x := range page.SecretList {
			names = append(names, x.Name)
		}
		if page.NextToken == "" {
			return a.owned(names), nil
		}
		in["NextToken"] = page.NextToken
	}
}

func (a *account) removeSecret(ctx context.Context, name string) error {
	return a.target(ctx, "secretsmanager", "secretsmanager.DeleteSecret", map[string]any{"SecretId": name, "ForceDeleteWithoutRecovery": true}, nil)
}
