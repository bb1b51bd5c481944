package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"
)

// network are what Lambda does with a function's role to place it in a VPC.
var network = []string{"ec2:CreateNetworkInterface", "ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets", "ec2:DeleteNetworkInterface",
	"ec2:AssignPrivateIpAddresses", "ec2:UnassignPrivateIpAddresses"}

// createNetwork makes the security group of functions in a VPC, unless some are named:
// anything may go out, nothing may come in.
func (z *stack) createNetwork() {
	if z.VPC == "" || len(z.SecurityGroups) > 0 {
		return
	}
	g := awsec2.NewCfnSecurityGroup(z.Stack, jsii.String("SecurityGroup"), &awsec2.CfnSecurityGroupProps{
		GroupName: z.name("operators"), GroupDescription: jsii.String("zerodag: functions that run operators"), VpcId: jsii.String(z.VPC),
		SecurityGroupEgress: []any{&awsec2.CfnSecurityGroup_EgressProperty{IpProtocol: jsii.String("-1"), CidrIp: jsii.String("0.0.0.0/0")}}})
	z.SecurityGroups = []string{*g.AttrGroupId()}
}

// allowNetwork lets Lambda place a function, and not the function itself do the same.
func (z *stack) allowNetwork(role awsiam.Role, function *string) {
	everything := &[]*string{jsii.String("*")} // an interface has no name before it is made
	role.AddToPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{Actions: jsii.Strings(network...), Resources: everything}))
	itself := z.FormatArn(&awscdk.ArnComponents{Service: jsii.String("lambda"), Resource: jsii.String("function"), ResourceName: function,
		ArnFormat: awscdk.ArnFormat_COLON_RESOURCE_NAME})
	role.AddToPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{Effect: awsiam.Effect_DENY, Actions: jsii.Strings(network...), Resources: everything,
		Conditions: &map[string]any{"ArnEquals": map[string]any{"lambda:SourceFunctionArn": itself}}}))
}

// place puts a function into the VPC.
func (z *stack) place(f awslambda.Function) {
	f.Node().DefaultChild().(awslambda.CfnFunction).SetVpcConfig(&awslambda.CfnFunction_VpcConfigProperty{
		SubnetIds: jsii.Strings(z.Subnets...), SecurityGroupIds: jsii.Strings(z.SecurityGroups...)})
}
