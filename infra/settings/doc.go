// Package settings defines the settings of a deployment on AWS: their defaults and limits, and how they are read from
// the file of a stage.
//
// The CDK app, programs that embed the deployment in their own app, and `zerodag aws` read the same settings. It must
// never import the CDK, which would make the command line larger and slower.
package settings
