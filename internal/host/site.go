package host

import "context"

// siteKey is the context key for the site.
type siteKey struct{}

// WithSite returns a context for work that a site's caller requested. A store may share its connections fairly among
// sites.
func WithSite(ctx context.Context, site int64) context.Context {
	return context.WithValue(ctx, siteKey{}, site)
}

// SiteOf returns the site whose caller requested the work, or false for the deployment's own work.
func SiteOf(ctx context.Context) (site int64, requested bool) {
	site, requested = ctx.Value(siteKey{}).(int64)
	return site, requested
}
