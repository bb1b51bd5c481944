// Package scope shows a deployment to callers who may use only some projects of a site: everything that belongs to
// another project does not exist for them, as if it were in another site.
//
// The API wraps the ports of a deployment for such a caller. It must hide by default: a method that finds or lists
// objects of projects is wrapped here, and no endpoint has to check anything itself. Methods whose argument is an
// object found by such a method are passed through.
package scope
