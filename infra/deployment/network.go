package deployment

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"

	"zerodag/infra/settings"
)

// network holds the actions that Lambda takes with a function's role to place the function in a VPC.
var network = []string{"ec2:CreateNetworkInterface", "ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets", "ec2:DeleteNetworkInterface",
	"ec2:AssignPrivateIpAddresses", "ec2:UnassignPrivateIpAddresses"}

// createNetwork creates the security group of functions in a VPC unless the settings name some: it allows all outgoing
// traffic and no incoming traffic.
func (d *Deployment) createNetwork() {
	if !d.Placed() || len(d.SecurityGroups) > 0 {
		return
	}
	d.SecurityGroups = []string{*d.outwards("SecurityGroup", "zerodag: functions that run operators", jsii.String(d.VPC))}
}

// outwards returns a security group that allows all outgoing traffic and no incoming traffic. It has no name because a
// group with a name could not be replaced.
func (d *Deployment) outwards(id, what string, vpc *string) *string {
	g := awsec2.NewCfnSecurityGroup(d.scope, jsii.String(id), &awsec2.CfnSecurityGroupProps{GroupDescription: jsii.String(what), VpcId: vpc,
		SecurityGroupEgress: []any{&awsec2.CfnSecurityGroup_EgressProperty{IpProtocol: jsii.String("-1"), CidrIp: jsii.String("0.0.0.0/0")}}})
	return g.AttrGroupId()
}

// commandNetwork returns the network in which machines run: the VPC in the settings, the account's default VPC, or one
// that the stack creates. Their security group is never the operators' group, because scripts may not reach everything
// that pg> may.
func (d *Deployment) commandNetwork() (subnets, groups []*string) {
	const what = "zerodag: machines that run commands; nothing comes in"
	switch {
	case d.VPC == settings.DefaultVPC:
		vpc := awsec2.Vpc_FromLookup(d.scope, jsii.String("DefaultNetwork"), &awsec2.VpcLookupOptions{IsDefault: jsii.Bool(true)})
		for _, s := range *vpc.PublicSubnets() {
			subnets = append(subnets, s.SubnetId())
		}
		return subnets, []*string{d.outwards("CommandGroup", what, vpc.VpcId())}
	case d.Placed() && len(d.CommandSecurityGroups) > 0:
		return *jsii.Strings(d.Subnets...), *jsii.Strings(d.CommandSecurityGroups...)
	case d.Placed():
		return *jsii.Strings(d.Subnets...), []*string{d.outwards("CommandGroup", what, jsii.String(d.VPC))}
	}
	vpc, subnets := d.ownNetwork()
	return subnets, []*string{d.outwards("CommandGroup", what, vpc)}
}

// ownNetwork creates a VPC with public subnets, an internet gateway and a gateway endpoint for S3. All of them are
// free.
func (d *Deployment) ownNetwork() (id *string, subnets []*string) {
	vpc := awsec2.NewCfnVPC(d.scope, jsii.String("CommandNetwork"), &awsec2.CfnVPCProps{
		CidrBlock: jsii.String("10.214.0.0/16"), EnableDnsHostnames: jsii.Bool(true), EnableDnsSupport: jsii.Bool(true), Tags: d.tagged("commands")})
	gateway := awsec2.NewCfnInternetGateway(d.scope, jsii.String("CommandGateway"), &awsec2.CfnInternetGatewayProps{Tags: d.tagged("commands")})
	attached := awsec2.NewCfnVPCGatewayAttachment(d.scope, jsii.String("CommandGatewayAttachment"), &awsec2.CfnVPCGatewayAttachmentProps{
		VpcId: vpc.AttrVpcId(), InternetGatewayId: gateway.AttrInternetGatewayId()})
	table := awsec2.NewCfnRouteTable(d.scope, jsii.String("CommandRoutes"), &awsec2.CfnRouteTableProps{VpcId: vpc.AttrVpcId(), Tags: d.tagged("commands")})
	awsec2.NewCfnRoute(d.scope, jsii.String("CommandRoute"), &awsec2.CfnRouteProps{
		RouteTableId: table.AttrRouteTableId(), DestinationCidrBlock: jsii.String("0.0.0.0/0"), GatewayId: gateway.AttrInternetGatewayId()}).AddDependency(attached)
	for i, letter := range zones(*d.stack.Region()) {
		name := "CommandSubnet" + string(letter)
		subnet := awsec2.NewCfnSubnet(d.scope, jsii.String(name), &awsec2.CfnSubnetProps{VpcId: vpc.AttrVpcId(),
			CidrBlock:        jsii.String(fmt.Sprintf("10.214.%d.0/18", 64*i)),
			AvailabilityZone: awscdk.Fn_Select(jsii.Number(i), awscdk.Fn_GetAzs(nil)), Tags: d.tagged("commands")})
		awsec2.NewCfnSubnetRouteTableAssociation(d.scope, jsii.String(name+"Routes"), &awsec2.CfnSubnetRouteTableAssociationProps{
			SubnetId: subnet.AttrSubnetId(), RouteTableId: table.AttrRouteTableId()})
		subnets = append(subnets, subnet.AttrSubnetId())
	}
	awsec2.NewCfnVPCEndpoint(d.scope, jsii.String("CommandS3"), &awsec2.CfnVPCEndpointProps{VpcId: vpc.AttrVpcId(), VpcEndpointType: jsii.String("Gateway"),
		ServiceName: jsii.String("com.amazonaws." + *d.stack.Region() + ".s3"), RouteTableIds: &[]any{table.AttrRouteTableId()}})
	return vpc.AttrVpcId(), subnets
}

// zones returns the zones of a region in which subnets are created: three, because old accounts have one in which
// Fargate does not run, or two if newer accounts have no third.
func zones(region string) string {
	if region == "us-west-1" {
		return "AB"
	}
	return "ABC"
}

// tagged gives a name to a resource that has none.
func (d *Deployment) tagged(what string) *[]*awscdk.CfnTag {
	return &[]*awscdk.CfnTag{{Key: jsii.String("Name"), Value: d.name(what)}}
}

// allowNetwork lets Lambda place a function in the VPC, without letting the function itself do the same.
func (d *Deployment) allowNetwork(role awsiam.Role, function *string) {
	everything := &[]*string{jsii.String("*")} // an interface has no name before it is created
	role.AddToPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{Actions: jsii.Strings(network...), Resources: everything}))
	itself := d.stack.FormatArn(&awscdk.ArnComponents{Service: jsii.String("lambda"), Resource: jsii.String("function"), ResourceName: function,
		ArnFormat: awscdk.ArnFormat_COLON_RESOURCE_NAME})
	source := any(itself)
	if d.IsGradual() {
		source = versions(itself)
	}
	role.AddToPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{Effect: awsiam.Effect_DENY, Actions: jsii.Strings(network...), Resources: everything,
		Conditions: &map[string]any{"ArnEquals": map[string]any{"lambda:SourceFunctionArn": source}}}))
}

// place puts a function into the VPC.
func (d *Deployment) place(f awslambda.Function) {
	f.Node().DefaultChild().(awslambda.CfnFunction).SetVpcConfig(&awslambda.CfnFunction_VpcConfigProperty{
		SubnetIds: jsii.Strings(d.Subnets...), SecurityGroupIds: jsii.Strings(d.SecurityGroups...)})
}
