package client

import (
	"context"
	"net/http"
	"time"
)

// Notice is a notification that has not been delivered.
type Notice struct {
	ID        ID         `json:"id"`
	AttemptID *ID        `json:"attemptId"`
	Project   *string    `json:"project"`
	Workflow  *string    `json:"workflow"`
	Channel   string     `json:"channel"`
	Kind      *string    `json:"kind"`
	Message   string     `json:"message"`
	CreatedAt time.Time  `json:"createdAt"`
	Tries     int        `json:"tries"`
	Error     *string    `json:"error"`
	RetryAt   *time.Time `json:"retryAt"`   // nil: the server gave up on delivery
	GivenUpAt *time.Time `json:"givenUpAt"` // nil: delivery will be retried
}

// Notices lists up to most undelivered notifications, oldest first: the site's or, unless attempt is "", the attempt's.
func (c *Client) Notices(ctx context.Context, attempt ID, most int) (all []Notice, err error) {
	for last := ID(""); len(all) < most; last = all[len(all)-1].ID {
		var list struct{ Notices []Notice }
		if err := c.get(ctx, "/api/x/notices", query("attempt", string(attempt), "last_id", string(last)), &list); err != nil || len(list.Notices) == 0 {
			return all, err
		}
		all = append(all, list.Notices...)
	}
	return all[:most], nil
}

// RetryNotices resends all notifications that the server gave up on, and returns how many there were.
func (c *Client) RetryNotices(ctx context.Context) (int, error) {
	return c.retryNotices(ctx, "/api/x/notices/retry")
}

// RetryNotice resends a notification, and returns 0 if it is already being sent.
func (c *Client) RetryNotice(ctx context.Context, id ID) (int, error) {
	return c.retryNotices(ctx, path("api", "x", "notices", string(id), "retry"))
}

func (c *Client) retryNotices(ctx context.Context, path string) (int, error) {
	var answer struct{ Notices int }
	err := c.send(ctx, http.MethodPost, path, nil, struct{}{}, &answer)
	return answer.Notices, err
}

// Alerts contains the notification channels and routes.
type Alerts struct {
	Channels []AlertChannel `json:"channels"`
	Routes   []AlertRoute   `json:"routes"`
}

// AlertChannel is a receiver of notifications.
type AlertChannel struct {
	Name        string     `json:"name"`
	Type        string     `json:"type"`
	Waiting     int        `json:"waiting"`
	DeliveredAt *time.Time `json:"deliveredAt"` // nil: never
	FailedAt    *time.Time `json:"failedAt"`    // nil: never
	Error       *string    `json:"error"`       // of the last failure
}

// AlertRoute selects notifications for channels; empty lists select all.
type AlertRoute struct {
	Name      string   `json:"name"`
	Channels  []string `json:"channels"`
	Sites     []int64  `json:"sites"`
	Projects  []string `json:"projects"`
	Workflows []string `json:"workflows"`
	Tags      []string `json:"tags"`
	Kinds     []string `json:"kinds"`
	Quiet     *float64 `json:"quiet"` // seconds; nil: nothing is summarized
}

// AlertTest is the outcome of a test.
type AlertTest struct {
	Channel   string  `json:"channel"`
	Delivered bool    `json:"delivered"`
	Answer    *string `json:"answer"`
	Error     *string `json:"error"`
}

// Alerts lists the notification channels and routes.
func (c *Client) Alerts(ctx context.Context) (a Alerts, err error) {
	return a, c.get(ctx, "/api/x/alerts", nil, &a)
}

// SendTestAlert sends a notification now to a channel, or to all channels of a route.
func (c *Client) SendTestAlert(ctx context.Context, name string) ([]AlertTest, error) {
	var answer struct{ Tests []AlertTest }
	err := c.send(ctx, http.MethodPost, path("api", "x", "alerts", name, "test"), nil, struct{}{}, &answer)
	return answer.Tests, err
}
