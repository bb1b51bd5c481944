package run

import "context"

type siteKey struct{}

// WithSite returns a context for a site's work; Run does so for each task.
func WithSite(ctx context.Context, site int64) context.Context {
	return context.WithValue(ctx, siteKey{}, site)
}

// SiteOf returns the site for which Run calls an Evaluator; 0 if that is not known.
func SiteOf(ctx context.Context) int64 {
	site, _ := ctx.Value(siteKey{}).(int64)
	return site
}
