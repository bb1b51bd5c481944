package microvm

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// The parts of the service's data types that are used, with the service's own names.

type runRequest struct {
	ImageIdentifier          string   `json:"imageIdentifier"`
	ClientToken              string   `json:"clientToken"`
	IngressNetworkConnectors []string `json:"ingressNetworkConnectors"`
	EgressNetworkConnectors  []string `json:"egressNetworkConnectors"`
	Logging                  logging  `json:"logging"`
	MaximumDurationInSeconds int      `json:"maximumDurationInSeconds"`
	RunHookPayload           string   `json:"runHookPayload"`
}

// logging is a union; only one of its members is used.
type logging struct {
	Disabled struct{} `json:"disabled"`
}

// item is a MicroVM. StartedAt is in seconds.
type item struct {
	MicrovmID   string  `json:"microvmId"`
	State       string  `json:"state"`
	StateReason string  `json:"stateReason"`
	StartedAt   float64 `json:"startedAt"`
}

// The states of a MicroVM that has ended or is about to end.
const (
	terminating = "TERMINATING"
	terminated  = "TERMINATED"
)

func (i item) started() time.Time { return time.UnixMilli(int64(i.StartedAt * 1000)) }

// pageSize is how many MicroVMs a list page contains: the service's maximum.
const pageSize = "50"

func (c *client) run(ctx context.Context, in runRequest) (item, error) {
	var out item
	err := c.call(ctx, http.MethodPost, root, nil, in, &out)
	return out, err
}

func (c *client) get(ctx context.Context, id string) (item, error) {
	var out item
	err := c.call(ctx, http.MethodGet, root+"/"+url.PathEscape(id), nil, nil, &out)
	return out, err
}

func (c *client) terminate(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, root+"/"+url.PathEscape(id), nil, nil, nil)
}

// live lists the MicroVMs of an image that are neither terminated nor terminating.
func (c *client) live(ctx context.Context, image string) ([]item, error) {
	var list []item
	query := url.Values{"imageIdentifier": {image}, "maxResults": {pageSize}}
	for {
		var page struct {
			Items     []item `json:"items"`
			NextToken string `json:"nextToken"`
		}
		if err := c.call(ctx, http.MethodGet, root, query, nil, &page); err != nil {
			return nil, err
		}
		list = append(list, slices.DeleteFunc(page.Items, func(i item) bool { return i.State == terminating || i.State == terminated })...)
		if page.NextToken == "" {
			return list, nil
		}
		query.Set("nextToken", page.NextToken)
	}
}
