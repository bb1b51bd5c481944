package aws

import "context"

// Operation is a service operation bound to an SDK client. Tasks hold the operations that they call instead of the
// client: a client in a struct that becomes an interface links every operation of its service
// (docs/adr/0021-what-a-function-links.md).
type Operation[In, Out, Options any] func(ctx context.Context, in *In, options ...func(*Options)) (*Out, error)
