package deployment

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscognito"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/jsii-runtime-go"

	"zerodag/internal/env"
)

// people is the user pool of a stage.
type people struct {
	pool   awscognito.CfnUserPool
	client awscognito.CfnUserPoolClient
	secret awssecretsmanager.CfnSecret
}

// How long Cognito's tokens are valid, in minutes: the API reads an ID token once and requests no newer one.
const (
	tokenMinutes   = 5
	refreshMinutes = 60 // Cognito's minimum
)

// stageTag distinguishes the user pool from others of the account in policies, because its ARN contains no name.
const stageTag = "zerodag-stage"

// passwordLength is the minimum length of passwords in the pool.
const passwordLength = 14

// createPeople creates the user pool with which users sign in, if that is enabled: no one can sign up without an
// invitation, and groups determine what a user may do. Like the table, it stays when the stack is deleted. The API has
// an address before its functions are created, so the pool's client can refer to the address, and the functions can
// refer to the client.
func (d *Deployment) createPeople() {
	if !d.Cognito {
		return
	}
	protected := "INACTIVE"
	if d.Settings.DeletionProtection {
		protected = "ACTIVE"
	}
	factor, factors := map[string]string{"optional": "OPTIONAL", "required": "ON", "off": "OFF"}[d.CognitoMFA], &[]*string{jsii.String("SOFTWARE_TOKEN_MFA")}
	if d.CognitoMFA == "off" {
		factors = nil
	}
	pool := awscognito.NewCfnUserPool(d.scope, jsii.String("People"), &awscognito.CfnUserPoolProps{
		UserPoolName: d.name("people"), UserPoolTags: map[string]*string{stageTag: jsii.String(d.Stage)}, UserPoolTier: jsii.String("ESSENTIALS"), DeletionProtection: &protected,
		AdminCreateUserConfig: &awscognito.CfnUserPool_AdminCreateUserConfigProperty{AllowAdminCreateUserOnly: jsii.Bool(true), InviteMessageTemplate: d.invitation()},
		UsernameAttributes:    jsii.Strings("email"), AutoVerifiedAttributes: jsii.Strings("email"),
		UsernameConfiguration: &awscognito.CfnUserPool_UsernameConfigurationProperty{CaseSensitive: jsii.Bool(false)},
		Schema:                &[]any{&awscognito.CfnUserPool_SchemaAttributeProperty{Name: jsii.String("email"), Required: jsii.Bool(true), Mutable: jsii.Bool(true)}},
		// A changed address counts only once it is verified, because grants may name addresses.
		UserAttributeUpdateSettings: &awscognito.CfnUserPool_UserAttributeUpdateSettingsProperty{AttributesRequireVerificationBeforeUpdate: jsii.Strings("email")},
		AccountRecoverySetting: &awscognito.CfnUserPool_AccountRecoverySettingProperty{
			RecoveryMechanisms: &[]any{&awscognito.CfnUserPool_RecoveryOptionProperty{Name: jsii.String("verified_email"), Priority: jsii.Number(1)}}},
		Policies: &awscognito.CfnUserPool_PoliciesProperty{PasswordPolicy: &awscognito.CfnUserPool_PasswordPolicyProperty{
			MinimumLength: jsii.Number(passwordLength), RequireLowercase: jsii.Bool(true), RequireUppercase: jsii.Bool(true), RequireNumbers: jsii.Bool(true), RequireSymbols: jsii.Bool(true),
			TemporaryPasswordValidityDays: jsii.Number(3)}},
		MfaConfiguration: &factor, EnabledMfas: factors,
	})
	pool.ApplyRemovalPolicy(d.keepProtected(), nil)
	prefix := d.CognitoDomain
	if prefix == "" {
		prefix = "zerodag-" + d.Stage + "-" + *d.stack.Account()
	}
	awscognito.NewCfnUserPoolDomain(d.scope, jsii.String("PeopleDomain"), &awscognito.CfnUserPoolDomainProps{Domain: &prefix, UserPoolId: pool.Ref()})
	for _, name := range d.Groups() {
		awscognito.NewCfnUserPoolGroup(d.scope, jsii.String("PeopleGroup"+groupID(name)), &awscognito.CfnUserPoolGroupProps{UserPoolId: pool.Ref(), GroupName: jsii.String(name)})
	}
	client := awscognito.NewCfnUserPoolClient(d.scope, jsii.String("PeopleClient"), &awscognito.CfnUserPoolClientProps{
		UserPoolId: pool.Ref(), ClientName: d.name("page"), GenerateSecret: jsii.Bool(true), SupportedIdentityProviders: jsii.Strings("COGNITO"),
		AllowedOAuthFlowsUserPoolClient: jsii.Bool(true), AllowedOAuthFlows: jsii.Strings("code"), AllowedOAuthScopes: jsii.Strings("openid", "email", "profile"),
		CallbackUrLs: jsii.Strings(d.address() + env.CallbackPath), LogoutUrLs: jsii.Strings(d.address() + "/"),
		// People can sign in only on Cognito's page: the calls by which programs send a password are disabled.
		ExplicitAuthFlows:          jsii.Strings("ALLOW_REFRESH_TOKEN_AUTH"),
		PreventUserExistenceErrors: jsii.String("ENABLED"), EnableTokenRevocation: jsii.Bool(true),
		ReadAttributes: jsii.Strings("email", "email_verified"), WriteAttributes: jsii.Strings("email"),
		IdTokenValidity: jsii.Number(tokenMinutes), AccessTokenValidity: jsii.Number(tokenMinutes), RefreshTokenValidity: jsii.Number(refreshMinutes),
		TokenValidityUnits: &awscognito.CfnUserPoolClient_TokenValidityUnitsProperty{IdToken: jsii.String("minutes"), AccessToken: jsii.String("minutes"), RefreshToken: jsii.String("minutes")},
	})
	// CloudFormation passes on the client's secret directly: neither the template nor a variable of a function has it.
	// The name ends in the client's ID because the name of a deleted secret stays reserved for weeks.
	secret := awssecretsmanager.NewCfnSecret(d.scope, jsii.String("PeopleSecret"), &awssecretsmanager.CfnSecretProps{
		Name: jsii.String(d.secretName(client)), Description: jsii.String("The secret that identifies the API of stage " + d.Stage + " to its user pool"), SecretString: client.AttrClientSecret(), KmsKeyId: d.keyARN()})
	d.people = &people{pool, client, secret}
	d.output("UserPool", pool.Ref(), "The user pool for signing in: docs/aws.md explains how to add users")
	d.output("SignInPage", jsii.String("https://"+prefix+".auth."+*d.stack.Region()+".amazoncognito.com"), "The sign-in page of the user pool, to which the web console redirects")
}

// groupID returns the name of a group in the template, where names may only have letters and digits.
func groupID(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
		return fmt.Sprintf("X%x", sha256.Sum256([]byte(name)))[:17]
	}
	return name
}

// invitation returns the mail to a user whom an administrator has added.
func (d *Deployment) invitation() *awscognito.CfnUserPool_InviteMessageTemplateProperty {
	return &awscognito.CfnUserPool_InviteMessageTemplateProperty{
		EmailSubject: jsii.String("You can sign in to zerodag (" + d.Stage + ")"),
		EmailMessage: jsii.String("You can sign in at " + d.address() + "/ as {username}. Your temporary password is {####}. It is valid for three days."),
	}
}

// address returns the address of the API for browsers.
func (d *Deployment) address() string {
	switch {
	case d.OIDCAddress != "":
		return d.OIDCAddress
	case d.Domain != "":
		return "https://" + d.Domain
	}
	return *d.api.address()
}

// secretName returns the name of a client's secret.
func (d *Deployment) secretName(c awscognito.CfnUserPoolClient) string {
	return *d.name("oidc-") + *c.Ref()
}

// provider returns the provider for sign-ins, or none if they are not enabled.
func (d *Deployment) provider() env.OIDC {
	switch {
	case d.people != nil:
		return env.OIDC{Issuer: *d.people.pool.AttrProviderUrl(), Client: *d.people.client.Ref(), Address: d.address(), Name: d.OIDCName, Groups: "cognito:groups", Grants: d.Grants(),
			Secret: env.SecretReference(d.secretName(d.people.client))}
	case d.OIDCIssuer != "":
		return env.OIDC{Issuer: d.OIDCIssuer, Client: d.OIDCClient, Address: d.OIDCAddress, Name: d.OIDCName, Groups: d.OIDCGroups, Grants: d.OIDCGrants}
	}
	return env.OIDC{}
}

// onClientSecret returns the parameter with the secret by which an identity provider recognizes the API.
func onClientSecret(d *Deployment) []*string {
	switch {
	case d.people != nil:
		return d.parameter(env.SecretReference(d.secretName(d.people.client)))
	case d.OIDCIssuer != "":
		return d.parameter(env.Keys(d.Stage) + env.ClientSecret)
	}
	return nil
}

// onPeopleSecret returns the secret that this parameter refers to.
func onPeopleSecret(d *Deployment) []*string {
	if d.people == nil {
		return nil
	}
	return []*string{d.people.secret.Ref()}
}
