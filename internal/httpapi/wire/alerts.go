package wire

import "zerodag/internal/host"

// Alerts contains the notification channels and routes.
type Alerts struct {
	Channels []AlertChannel `json:"channels"`
	Routes   []AlertRoute   `json:"routes"`
}

// AlertChannel is a receiver of notifications.
type AlertChannel struct {
	Name        string  `json:"name"`
	Type        string  `json:"type"`
	Waiting     int     `json:"waiting"`
	DeliveredAt Moment  `json:"deliveredAt"` // null: never
	FailedAt    Moment  `json:"failedAt"`    // null: never
	Error       *string `json:"error"`
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
	Quiet     *float64 `json:"quiet"` // seconds; null: nothing is summarized
}

// AlertTest is the outcome of a test.
type AlertTest struct {
	Channel   string  `json:"channel"`
	Delivered bool    `json:"delivered"`
	Answer    *string `json:"answer"`
	Error     *string `json:"error"`
}

// AlertsOf returns channels and routes in the API's form.
func AlertsOf(channels []host.NoticeChannel, routes []host.NoticeRoute) Alerts {
	all := Alerts{Channels: []AlertChannel{}, Routes: []AlertRoute{}}
	for _, c := range channels {
		all.Channels = append(all.Channels, AlertChannel{Name: c.Name, Type: c.Type, Waiting: c.Waiting, DeliveredAt: Moment(c.DeliveredAt), FailedAt: Moment(c.FailedAt), Error: TextOrNull(c.Error)})
	}
	for _, r := range routes {
		x := AlertRoute{Name: r.Name, Channels: r.Channels, Sites: append([]int64{}, r.Sites...), Projects: append([]string{}, r.Projects...), Workflows: append([]string{}, r.Workflows...),
			Tags: append([]string{}, r.Tags...), Kinds: []string{}}
		for _, k := range r.Kinds {
			x.Kinds = append(x.Kinds, string(k))
		}
		if r.Quiet > 0 {
			x.Quiet = new(r.Quiet.Seconds())
		}
		all.Routes = append(all.Routes, x)
	}
	return all
}

// AlertTestOf returns a test's outcome in the API's form.
func AlertTestOf(t host.NoticeTest) AlertTest {
	return AlertTest{Channel: t.Channel, Delivered: t.Error == "", Answer: TextOrNull(t.Answer), Error: TextOrNull(t.Error)}
}
